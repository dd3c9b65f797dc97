//! Settings of a client: where it connects to, whom it trusts, how long it waits.
//!
//! Facts reported: none. Steps carried out: none.
//!
//! Rules: every limit has a name and a default with its reason; a mistake is reported by `build`, with the
//! first one made.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_sse_core::client::{self as core_client, CallOptions, ClientConfig, ConfigError, Endpoint, EndpointError};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

use crate::client::{Client, Inner};
use crate::clock::Clock;
use crate::connect::Connector;
use crate::pool::Pool;

/// Why there is no client. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Caller: the URL is no endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Caller: a setting cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Caller: the PEM text holds no certificate, or a broken one.
    #[error("the PEM text holds no certificate")]
    Certificates,
    /// Platform: its certificates cannot be used.
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
}

/// Settings of a [`Client`].
#[derive(Debug)]
#[must_use = "nothing is built until `build` is called"]
pub struct ClientBuilder {
    url: String,
    config: Result<ClientConfig, BuildError>,
    options: CallOptions,
    certificates: Vec<CertificateDer<'static>>,
    connect_timeout: Duration,
    http2_prior_knowledge: bool,
    drain: Duration,
    drain_bytes: u64,
    max_idle_connections: usize,
    idle_timeout: Duration,
}

impl ClientBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            config: Ok(ClientConfig::default()),
            options: CallOptions::default(),
            certificates: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            http2_prior_knowledge: false,
            drain: Duration::from_millis(500),
            drain_bytes: 256 << 10,
            max_idle_connections: 8,
            idle_timeout: Duration::from_secs(30),
        }
    }

    /// Sets everything that the core decides by: revision, limits, tail rule, ids, policies by method.
    /// Headers that were set before are lost; set them after.
    pub fn config(mut self, config: ClientConfig) -> Self {
        if self.config.is_ok() {
            self.config = Ok(config);
        }
        self
    }

    /// Sends this header with every request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.config = self.config.and_then(|config| Ok(config.with_header(name, value)?));
        self
    }

    /// Sets the options of calls that have none of their own.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Trusts the certificates in this PEM text, besides those that the platform trusts (which follow
    /// `SSL_CERT_FILE` where the platform's store is a file).
    pub fn trust_pem(mut self, pem: &[u8]) -> Self {
        let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match parsed {
            Ok(certificates) if !certificates.is_empty() => self.certificates.extend(certificates),
            _ if self.config.is_ok() => self.config = Err(BuildError::Certificates),
            _ => {}
        }
        self
    }

    /// How long connecting may take: name, addresses and TLS handshake together. Default 10 s: past that a
    /// host is not there. The deadline of a call holds besides.
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long, after an answer, the rest of its stream is read in the background so that the connection can
    /// be used again. Default 500 ms: a server that ends its stream does so at once.
    pub const fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain = timeout;
        self
    }

    /// How many bytes of that rest are read at most if nobody waits for the end. Default 256 KiB: reading more
    /// costs more than the handshake it saves.
    pub const fn drain_bytes(mut self, bytes: u64) -> Self {
        self.drain_bytes = bytes;
        self
    }

    /// Speaks HTTP/2 without TLS, with prior knowledge (RFC 9113 section 3.3). Default: no, HTTP/1.1. Over TLS
    /// the two sides agree on what to speak (ALPN), HTTP/2 if the server has it.
    pub const fn http2_prior_knowledge(mut self, known: bool) -> Self {
        self.http2_prior_knowledge = known;
        self
    }

    /// How many connections are kept. Default 8: more calls than that at once are rare, and they only pay a
    /// handshake. Zero keeps none. HTTP/2 has one that all calls share.
    pub const fn max_idle_connections(mut self, most: usize) -> Self {
        self.max_idle_connections = most;
        self
    }

    /// How long a connection is kept unused. Default 30 s: servers close after about 60.
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Builds the client. Nothing is connected yet.
    ///
    /// # Errors
    /// [`BuildError`], with the first mistake that was made.
    pub fn build(self) -> Result<Client, BuildError> {
        let config = self.config?;
        let endpoint = Endpoint::parse(&self.url)?;
        let clock = Clock::new();
        let tls = if endpoint.is_tls() { Some(tls_config(self.certificates).map_err(BuildError::Tls)?) } else { None };
        let prior_knowledge = self.http2_prior_knowledge && !endpoint.is_tls();
        let connector = Connector {
            clock,
            timeout: self.connect_timeout,
            tls,
            prior_knowledge,
            speaks_http2: AtomicBool::new(prior_knowledge),
            max_head_bytes: config.limits.max_head_bytes,
            sharing: tokio::sync::Mutex::default(),
        };
        Ok(Client::from_inner(Inner {
            core: Mutex::new(core_client::Client::new(endpoint, config)),
            connector,
            pool: Pool::new(clock, self.max_idle_connections, self.idle_timeout),
            clock,
            options: self.options,
            drain: self.drain,
            drain_bytes: self.drain_bytes,
        }))
    }
}

fn tls_config(certificates: Vec<CertificateDer<'static>>) -> Result<Arc<rustls::ClientConfig>, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(certificates, Arc::clone(&provider))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
