//! Settings of a client: where it connects to, whom it trusts; the rest is the core's.
//!
//! Rule: a mistake is reported by `build`, with the first one made.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Condvar, Mutex};

use mcp_sse_core::client::{
    self as core_client, BuildError, Built, CallOptions, ClientConfig, ConnectionConfig, ErrorReply, IdleConnections,
    Protocol, Settings, result_to_json,
};
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::recording::RecordingConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use serde::Serialize;

use crate::client::{Background, Client, Handler, Inner};
use crate::clock::Clock;
use crate::connect::Connector;

/// Settings of a [`Client`].
#[derive(Debug)]
#[must_use = "nothing is built until `build` is called"]
pub struct ClientBuilder {
    settings: Settings<Handler>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ClientBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self { settings: Settings::new(url), certificates: Vec::new() }
    }

    /// Sets everything that the core decides by: revision, limits, tail rule, ids, policies by method, connections.
    /// Headers, connections, protocol, handlers and recording that were set before are lost; set them after.
    pub fn config(mut self, config: ClientConfig) -> Self {
        self.settings.set(|_| config);
        self
    }

    /// Sets how connections are made, kept and read to their end: time-outs, bounds.
    pub fn connections(mut self, connections: ConnectionConfig) -> Self {
        self.settings.set(|config| config.with_connections(connections));
        self
    }

    /// Finds out which revision the server speaks, or speaks this one ([`Protocol`]).
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.settings.set(|config| config.with_protocol(protocol));
        self
    }

    /// Answers the server's requests of this method, such as `elicitation/create` (F15; the eras before 2026-07-28). It
    /// gets the request, and gives what serialises to the result. The handler of a request that came on the stream of a
    /// call runs on that call's thread, any other in a thread of its own; it may make calls of the same client.
    pub fn handle<F, R>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(&Message) -> Result<R, ErrorReply> + Send + Sync + 'static,
        R: Serialize,
    {
        self.settings.handle(method, Arc::new(move |message| result_to_json(&handler(message)?)));
        self
    }

    /// Writes down what happens, for a report that can be replayed: [`Client::recording`] gives it. Default: nothing is.
    pub fn record(mut self, recording: RecordingConfig) -> Self {
        self.settings.set(|config| config.with_recording(recording));
        self
    }

    /// Sends this header with every request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.settings.try_set(|config| config.with_header(name, value));
        self
    }

    /// Sets the options of calls that have none of their own.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.settings.set_options(options);
        self
    }

    /// Trusts the certificates in this PEM text, besides those that the platform trusts (which follow
    /// `SSL_CERT_FILE` where the platform's store is a file).
    pub fn trust_pem(mut self, pem: &[u8]) -> Self {
        let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match parsed {
            Ok(certificates) if !certificates.is_empty() => self.certificates.extend(certificates),
            _ => self.settings.refuse(BuildError::Certificates),
        }
        self
    }

    /// Builds the client. Nothing is connected yet.
    ///
    /// # Errors
    /// [`BuildError`], with the first mistake that was made.
    pub fn build(self) -> Result<Client, BuildError> {
        let Built { endpoint, config, options, handlers, .. } = self.settings.build()?;
        if endpoint.as_str().parse::<http::Uri>().is_err() {
            return Err(BuildError::Unsendable);
        }
        let clock = Clock::new();
        let may_need_tls = endpoint.is_tls() || config.allows_foreign_endpoint;
        let tls = may_need_tls.then(|| tls_config(self.certificates)).transpose();
        let tls = tls.map_err(|error| BuildError::Tls(error.to_string()))?;
        let connections = config.connections.clone();
        // The hasher's keys are random: chance enough for jitter.
        let config = config.with_seed(RandomState::new().hash_one(0));
        Ok(Client::from_inner(Inner {
            connector: Connector { clock, timeout: connections.connect_timeout, tls },
            idle: Mutex::new(IdleConnections::new(&connections)),
            buffers: Mutex::default(),
            most_background: connections.max_idle,
            clock,
            options,
            max_head_bytes: config.limits.max_head_bytes,
            core: Mutex::new(core_client::Client::new(endpoint, config)),
            background: Background::default(),
            handlers,
            changed: Condvar::new(),
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
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
