//! The `serve` program, as far as both adapters share it: its options, the list of its tools, and the breaking of responses.
//!
//! Rules: what the tools do is in the examples, which show how a server is written; both do the same, so that a person or a
//! script can use either without knowing which. The first line that is printed is the URL.

mod breaking;
mod options;

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use mcp_sse_core::server::{ServerConfig, ServerConfigError};
pub use options::Settings;
use options::{Invocation, parse};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What the server says of itself.
pub const INFO: &str = r#"{"name":"mcp-sse-serve","version":"0.1.0"}"#;

/// The result of `tools/list`. What 2026-07-28 wants of a list, how long it holds and for whom, does no harm in the others.
pub const TOOLS: &str = include_str!("tools.json");

/// Runs the program with the process's arguments: `serve` serves until it is interrupted.
pub fn main(serve: impl FnOnce(&Settings) -> Result<(), Box<dyn Error>>) -> ExitCode {
    match parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Help) => {
            println!("{}", options::HELP);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Serve(settings)) => match serve(&settings) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("serve: {error}");
                ExitCode::FAILURE
            }
        },
        Err(usage) => {
            eprintln!("serve: {usage}\n\n{}", options::HELP);
            ExitCode::from(2)
        }
    }
}

impl Settings {
    /// The server's configuration, as far as it is a matter of options.
    ///
    /// # Errors
    /// [`ServerConfigError`], if what the server says of itself is no JSON object.
    pub fn config(&self, info: &str) -> Result<ServerConfig, ServerConfigError> {
        let config = ServerConfig::new(info)?.with_path(&self.path).with_always_streams(self.always_streams);
        Ok(if self.versions.is_empty() { config } else { config.with_versions(&self.versions) })
    }

    /// Where the server is to listen. If responses are to be broken, that is behind what breaks them.
    pub fn address(&self) -> SocketAddr {
        if self.breaking.is_some() { (Ipv4Addr::LOCALHOST, 0).into() } else { self.listen }
    }

    /// Tells where the server is found, which listens here: prints its URL.
    ///
    /// # Errors
    /// If what breaks responses cannot listen, or nobody reads the output.
    pub fn announce(&self, server: SocketAddr) -> io::Result<()> {
        let mut public = server;
        if let Some(how) = self.breaking {
            let listener = TcpListener::bind(self.listen)?;
            public = listener.local_addr()?;
            breaking::start(listener, server, how);
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut out = io::stdout().lock();
        writeln!(out, "{scheme}://{public}{}", self.path)?;
        out.flush()
    }

    /// The settings of TLS, if it is to be spoken.
    ///
    /// # Errors
    /// If the files cannot be read, or do not belong together.
    pub fn tls(&self) -> Result<Option<Arc<rustls::ServerConfig>>, Box<dyn Error>> {
        let Some((certificates, key)) = &self.tls else {
            return Ok(None);
        };
        let chain = CertificateDer::pem_slice_iter(&fs::read(certificates)?).collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(&fs::read(key)?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(Some(Arc::new(builder.with_no_client_auth().with_single_cert(chain, key)?)))
    }
}

/// Has `stop` called once the program is interrupted (Ctrl-C) or told to end, on a thread of its own.
///
/// # Errors
/// If the system refuses.
pub fn on_interrupt(stop: impl FnMut() + Send + 'static) -> Result<(), Box<dyn Error>> {
    Ok(ctrlc::set_handler(stop)?)
}
