//! What all calls of a client share by the caller's choice.
//!
//! Rules: plain values with defaults; what the client learns while it runs is not here.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::connections::ConnectionConfig;
use super::endpoint::EndpointError;
use crate::exchange::TailRule;
use crate::http::{self, ProtocolVersion};
use crate::jsonrpc::{self, Completeness, Shape};
use crate::limits::Limits;

/// What all calls of a [`Client`](super::Client) share.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientConfig {
    /// The revision that requests are sent under. Default: 2026-07-28.
    pub version: ProtocolVersion,
    /// Every bound on what is kept of a peer's output.
    pub limits: Limits,
    /// What an unfinished last event is worth (E9).
    pub tail: TailRule,
    /// Take only ids equal in type and value (E15). Default: no.
    pub strict_ids: bool,
    /// Follow 307 and 308 within the origin, at most 3 times a request (E18). Default: no.
    pub follow_redirects: bool,
    /// Let a server's tool annotations count as the caller's word for [`ReissuePolicy::ReplaySafe`]
    /// (F14). Default: no, since the specification says never to decide on them for untrusted servers.
    ///
    /// [`ReissuePolicy::ReplaySafe`]: super::ReissuePolicy::ReplaySafe
    pub trusts_server_hints: bool,
    /// How long a `notifications/cancelled` may take (E11, F9; legacy eras only). Default 5 s.
    pub cancel_timeout: Duration,
    /// How connections are made, kept and read to their end.
    pub connections: ConnectionConfig,
    pub(super) client_info: String,
    pub(super) capabilities: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) replay_safe_methods: BTreeSet<String>,
    pub(super) never_reissued_methods: BTreeSet<String>,
}

/// A value that cannot be used as given. The caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Not a header name (RFC 9110 section 5.1).
    #[error("this is not a header name")]
    HeaderName,
    /// Not a header value (RFC 9110 section 5.5).
    #[error("this is not a header value")]
    HeaderValue,
    /// A header that the client writes itself.
    #[error("the client writes this header itself")]
    HeaderReserved,
    /// Not a JSON object.
    #[error("this is not a JSON object")]
    NotAnObject,
}

/// Why an adapter has no client. Nothing was sent.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Caller: the URL is no endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// Caller: the URL is longer than HTTP can carry, or has characters that it cannot.
    #[error("the URL cannot be sent over HTTP")]
    Unsendable,
    /// Caller: a setting cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Caller: the PEM text holds no certificate, or a broken one.
    #[error("the PEM text holds no certificate")]
    Certificates,
    /// Caller: the proxy's URL is none that can be used.
    #[error("the proxy's URL cannot be used")]
    Proxy,
    /// Platform: its certificates cannot be used.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            version: ProtocolVersion::V2026_07_28,
            limits: Limits::default(),
            tail: TailRule::default(),
            strict_ids: false,
            follow_redirects: false,
            trusts_server_hints: false,
            cancel_timeout: Duration::from_secs(5),
            connections: ConnectionConfig::default(),
            client_info: concat!(r#"{"name":"mcp-sse","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#).to_owned(),
            capabilities: "{}".to_owned(),
            headers: Vec::new(),
            replay_safe_methods: BTreeSet::new(),
            never_reissued_methods: BTreeSet::new(),
        }
    }
}

impl ClientConfig {
    /// Sets [`version`](Self::version).
    #[must_use]
    pub const fn with_version(mut self, version: ProtocolVersion) -> Self {
        self.version = version;
        self
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets [`tail`](Self::tail).
    #[must_use]
    pub const fn with_tail(mut self, tail: TailRule) -> Self {
        self.tail = tail;
        self
    }

    /// Sets [`strict_ids`](Self::strict_ids).
    #[must_use]
    pub const fn with_strict_ids(mut self, strict: bool) -> Self {
        self.strict_ids = strict;
        self
    }

    /// Sets [`follow_redirects`](Self::follow_redirects).
    #[must_use]
    pub const fn with_follow_redirects(mut self, follow: bool) -> Self {
        self.follow_redirects = follow;
        self
    }

    /// Sets [`trusts_server_hints`](Self::trusts_server_hints).
    #[must_use]
    pub const fn with_trusts_server_hints(mut self, trusts: bool) -> Self {
        self.trusts_server_hints = trusts;
        self
    }

    /// Sets [`cancel_timeout`](Self::cancel_timeout).
    #[must_use]
    pub const fn with_cancel_timeout(mut self, timeout: Duration) -> Self {
        self.cancel_timeout = timeout;
        self
    }

    /// Sets [`connections`](Self::connections).
    #[must_use]
    pub const fn with_connections(mut self, connections: ConnectionConfig) -> Self {
        self.connections = connections;
        self
    }

    /// Declares a method safe to repeat (F14).
    #[must_use]
    pub fn with_replay_safe_method(mut self, method: impl Into<String>) -> Self {
        self.replay_safe_methods.insert(method.into());
        self
    }

    /// Vetoes replacements for a method, whatever the policy of a call (F1).
    #[must_use]
    pub fn with_never_reissued_method(mut self, method: impl Into<String>) -> Self {
        self.never_reissued_methods.insert(method.into());
        self
    }

    /// Sends this header with every request, after the client's own.
    ///
    /// # Errors
    /// [`ConfigError`] if it is no header, or one that the client writes itself.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, ConfigError> {
        if !http::is_token(name) {
            return Err(ConfigError::HeaderName);
        }
        if !http::is_field_value(value) {
            return Err(ConfigError::HeaderValue);
        }
        if http::is_reserved(name) {
            return Err(ConfigError::HeaderReserved);
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// Says who the client is: the JSON object that goes into each request's
    /// `io.modelcontextprotocol/clientInfo`. Default: this crate's name and version.
    ///
    /// # Errors
    /// [`ConfigError::NotAnObject`].
    pub fn with_client_info(mut self, json: &str) -> Result<Self, ConfigError> {
        self.client_info = object(json)?;
        Ok(self)
    }

    /// Says what the client can do: the JSON object that goes into each request's
    /// `io.modelcontextprotocol/clientCapabilities`. Default: `{}`.
    ///
    /// # Errors
    /// [`ConfigError::NotAnObject`].
    pub fn with_capabilities(mut self, json: &str) -> Result<Self, ConfigError> {
        self.capabilities = object(json)?;
        Ok(self)
    }
}

fn object(json: &str) -> Result<String, ConfigError> {
    if jsonrpc::shape(json) == Shape::Object && jsonrpc::check(json) == Completeness::Whole {
        Ok(json.to_owned())
    } else {
        Err(ConfigError::NotAnObject)
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers hold credentials: their names are told, their values are not.
        f.debug_struct("ClientConfig")
            .field("version", &self.version)
            .field("headers", &self.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
