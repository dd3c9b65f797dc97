//! The server program of the official MCP conformance suite, over either adapter.
//!
//! Rules: what the suite wants to be called is told once, in `tools`, as steps that mean the same to both adapters; each
//! adapter takes the steps and nothing else. Nothing that the library has to do by itself is done here.

mod blocking;
mod tokio;
mod tools;

use std::io;
use std::process::{self, ExitCode};
use std::thread;
use std::time::Duration;

use mcp_sse_core::server::ServerConfig;

pub use self::blocking::serve as serve_blocking;
pub use self::tokio::serve as serve_tokio;

/// Longer than all scenarios take; whoever started the program may have been killed.
const DEADLINE: Duration = Duration::from_secs(600);

/// Runs the program: prints its URL, then serves until it is killed. With `--always-streams` it answers on event streams.
pub fn main(serve: impl FnOnce(ServerConfig) -> io::Result<()>) -> ExitCode {
    thread::spawn(|| {
        thread::sleep(DEADLINE);
        process::exit(1);
    });
    let served = config().and_then(|config| serve(config).map_err(|error| error.to_string()));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn config() -> Result<ServerConfig, String> {
    let streams = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--always-streams") => true,
        Some(other) => return Err(format!("unexpected {other}")),
    };
    let config = ServerConfig::new(tools::INFO).and_then(|config| config.with_capabilities(tools::CAPABILITIES));
    let config = config.map_err(|error| error.to_string())?;
    // The suite waits for as long before it comes back.
    Ok(config.with_path("/mcp").with_always_streams(streams).with_retry(Duration::from_millis(200)))
}
