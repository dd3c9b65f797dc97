//! Settings of a client: where it connects to, whom it trusts; the rest is the core's.
//!
//! Facts reported: none. Steps carried out: none.
//!
//! Rule: a mistake is reported by `build`, with the first one made.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use mcp_sse_core::client::{
    self as core_client, BuildError, Built, CallOptions, ClientConfig, ConnectionConfig, ErrorReply, Protocol,
    Settings, result_to_json,
};
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::recording::RecordingConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use serde::Serialize;

use crate::client::{Client, Handler, Inner};
use crate::clock::Clock;
use crate::connect::{Connector, Tls};
use crate::proxy::Proxy;

/// Settings of a [`Client`].
#[derive(Debug)]
#[must_use = "nothing is built until `build` is called"]
pub struct ClientBuilder {
    settings: Settings<Handler>,
    certificates: Vec<CertificateDer<'static>>,
    proxies: Matcher,
}

impl ClientBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self { settings: Settings::new(url), certificates: Vec::new(), proxies: Matcher::from_env() }
    }

    /// Sets everything that the core decides by: revision, limits, tail rule, ids, policies by method, connections.
    /// Headers, connections, protocol, handlers and recording that were set before are lost; set them after.
    pub fn config(mut self, config: ClientConfig) -> Self {
        self.settings.set(|_| config);
        self
    }

    /// Sets how connections are made, kept and read to their end: time-outs, bounds, HTTP/2 without TLS.
    pub fn connections(mut self, connections: ConnectionConfig) -> Self {
        self.settings.set(|config| config.with_connections(connections));
        self
    }

    /// Finds out which revision the server speaks, or speaks this one ([`Protocol`]).
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.settings.set(|config| config.with_protocol(protocol));
        self
    }

    /// Answers the server's requests of this method, such as `elicitation/create` (F15; the eras before 2026-07-28). The
    /// handler runs in a task of its own, for each request. It gets the request, and gives what serialises to the result.
    pub fn handle<F, A, R>(mut self, method: &str, handler: F) -> Self
    where
        F: Fn(Message) -> A + Send + Sync + 'static,
        A: Future<Output = Result<R, ErrorReply>> + Send + 'static,
        R: Serialize,
    {
        let handler: Handler = Arc::new(move |message| {
            let answer = handler(message);
            Box::pin(async move { result_to_json(&answer.await?) })
        });
        self.settings.handle(method, handler);
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

    /// Whether to connect through the proxy that the environment names: `HTTPS_PROXY` for `https`, `HTTP_PROXY` for
    /// `http`, else `ALL_PROXY`, but not for the hosts in `NO_PROXY`, as curl reads them (also in small letters; what is
    /// no URL counts as not set; `*` covers names, not addresses). Default: yes. The proxy's own URL is as for [`proxy`](Self::proxy).
    pub fn proxy_from_env(mut self, uses: bool) -> Self {
        self.proxies = if uses { Matcher::from_env() } else { Matcher::builder().build() };
        self
    }

    /// Connects through this proxy, whatever the environment says: `http://host:port`, or with a name and a password
    /// before the host (percent-encoded), which are sent to the proxy alone. Without a port, 80 is meant. Requests to
    /// `http` are given to the proxy, those to `https` go through a tunnel (CONNECT). Proxies of other kinds are
    /// [`BuildError::Proxy`]. If there is no tunnel to be had, nothing was sent.
    pub fn proxy(mut self, url: &str) -> Self {
        self.proxies = Matcher::builder().all(url).build();
        if self.proxies.intercept(&Uri::from_static("http://any.host")).is_none() {
            self.settings.refuse(BuildError::Proxy);
        }
        self
    }

    /// Builds the client. Nothing is connected yet.
    ///
    /// # Errors
    /// [`BuildError`], with the first mistake that was made.
    pub fn build(self) -> Result<Client, BuildError> {
        let Built { endpoint, config, options, handlers, .. } = self.settings.build()?;
        // Each connection looks for its own.
        Proxy::find(&self.proxies, &endpoint, config.connections.http2_prior_knowledge)?;
        let clock = Clock::new();
        let may_need_tls = endpoint.is_tls() || config.allows_foreign_endpoint;
        let tls = may_need_tls.then(|| tls_config(self.certificates)).transpose();
        let tls = tls.map_err(|error| BuildError::Tls(error.to_string()))?;
        let connector = Arc::new(Connector::new(clock, &config, tls, self.proxies));
        // The hasher's keys are random: chance enough for jitter.
        let config = config.with_seed(RandomState::new().hash_one(0));
        let core = Mutex::new(core_client::Client::new(endpoint, config));
        Ok(Client::from_inner(Inner { core, connector, clock, options, handlers, wakers: Mutex::default() }))
    }
}

fn tls_config(certificates: Vec<CertificateDer<'static>>) -> Result<Tls, rustls::Error> {
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
