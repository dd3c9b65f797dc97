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
use crate::tape::RecordingConfig;

/// What all calls of a [`Client`](super::Client) share.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClientConfig {
    /// The revision that requests are sent under, or that it is to be found out. Default: 2026-07-28.
    pub protocol: Protocol,
    /// Whether the handshake of earlier revisions is made by the client: `initialize` before the first request, the
    /// session and its end. Default: yes. Without it, requests of these revisions are sent as they are, as servers
    /// without sessions take them.
    pub handshake: bool,
    /// Find out what the server speaks by `server/discover` before the first request, instead of by that request
    /// itself (F6; [`Protocol::Auto`] only). Default: no, since it costs a round trip.
    pub probe: bool,
    /// How long each request of a handshake may take, and how long the `endpoint` event is waited for. Default 30 s:
    /// servers that are started on demand answer late. The deadline of a waiting call holds besides.
    pub handshake_timeout: Duration,
    /// How long calls wait, when a session begins, for its listening stream to open; only a client that handles the
    /// server's requests has one (F15). Default 1 s: a server that can ask there says so at once, and one that says
    /// nothing before it has something to say must not hold up the calls.
    pub listening_timeout: Duration,
    /// How many openings in a row may bring nothing new before a stream of an earlier revision is given up (F11,
    /// F12), and how many channels in a row may bring no message (H5). Default 5.
    pub max_barren_openings: u32,
    /// Let the `endpoint` event of 2024-11-05 lead to another origin (H1). Default: no, since whoever answers the GET
    /// could then have the requests, and what they carry, sent to a third party.
    pub allows_foreign_endpoint: bool,
    /// How many answers to the server's requests may be on their way at once; more requests are refused (F15).
    /// Default 8.
    pub max_answers_in_flight: usize,
    /// What the jitter of waits is computed from; an adapter gives a random number. Default 0.
    pub seed: u64,
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
    /// Whether all that happens is written down, to be had by [`Client::recording`](super::Client::recording). Default: no.
    pub recording: Option<RecordingConfig>,
    pub(super) client_info: String,
    pub(super) capabilities: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) replay_safe_methods: BTreeSet<String>,
    pub(super) never_reissued_methods: BTreeSet<String>,
    pub(super) handled_requests: BTreeSet<String>,
}

/// Which revision is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// This one, or what a server of the same era negotiates instead.
    Fixed(ProtocolVersion),
    /// The newest that both sides have: a request of 2026-07-28 first, then `initialize`, then the channel of
    /// 2024-11-05 (F6). What was found holds for the client's life.
    Auto,
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
            protocol: Protocol::Fixed(ProtocolVersion::LATEST),
            handshake: true,
            probe: false,
            handshake_timeout: Duration::from_secs(30),
            listening_timeout: Duration::from_secs(1),
            max_barren_openings: 5,
            allows_foreign_endpoint: false,
            max_answers_in_flight: 8,
            seed: 0,
            limits: Limits::default(),
            tail: TailRule::default(),
            strict_ids: false,
            follow_redirects: false,
            trusts_server_hints: false,
            cancel_timeout: Duration::from_secs(5),
            connections: ConnectionConfig::default(),
            recording: None,
            client_info: concat!(r#"{"name":"mcp-sse","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#).to_owned(),
            capabilities: "{}".to_owned(),
            headers: Vec::new(),
            replay_safe_methods: BTreeSet::new(),
            never_reissued_methods: BTreeSet::new(),
            handled_requests: BTreeSet::new(),
        }
    }
}

impl ClientConfig {
    /// Sets [`protocol`](Self::protocol).
    #[must_use]
    pub const fn with_protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Speaks this revision: [`Protocol::Fixed`].
    #[must_use]
    pub const fn with_version(self, version: ProtocolVersion) -> Self {
        self.with_protocol(Protocol::Fixed(version))
    }

    /// Sets [`handshake`](Self::handshake).
    #[must_use]
    pub const fn with_handshake(mut self, handshake: bool) -> Self {
        self.handshake = handshake;
        self
    }

    /// Sets [`probe`](Self::probe).
    #[must_use]
    pub const fn with_probe(mut self, probe: bool) -> Self {
        self.probe = probe;
        self
    }

    /// Sets [`handshake_timeout`](Self::handshake_timeout).
    #[must_use]
    pub const fn with_handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Sets [`listening_timeout`](Self::listening_timeout).
    #[must_use]
    pub const fn with_listening_timeout(mut self, timeout: Duration) -> Self {
        self.listening_timeout = timeout;
        self
    }

    /// Sets [`max_barren_openings`](Self::max_barren_openings).
    #[must_use]
    pub const fn with_max_barren_openings(mut self, most: u32) -> Self {
        self.max_barren_openings = most;
        self
    }

    /// Sets [`allows_foreign_endpoint`](Self::allows_foreign_endpoint).
    #[must_use]
    pub const fn with_allows_foreign_endpoint(mut self, allows: bool) -> Self {
        self.allows_foreign_endpoint = allows;
        self
    }

    /// Sets [`max_answers_in_flight`](Self::max_answers_in_flight).
    #[must_use]
    pub const fn with_max_answers_in_flight(mut self, most: usize) -> Self {
        self.max_answers_in_flight = most;
        self
    }

    /// Sets [`seed`](Self::seed).
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Says that the embedder answers the server's requests of this method, by
    /// [`Client::respond`](super::Client::respond) (F15). `ping` is answered by the client, every other method with
    /// -32601.
    #[must_use]
    pub fn with_handled_request(mut self, method: impl Into<String>) -> Self {
        self.handled_requests.insert(method.into());
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

    /// Sets [`recording`](Self::recording).
    #[must_use]
    pub fn with_recording(mut self, recording: RecordingConfig) -> Self {
        self.recording = Some(recording);
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
            .field("protocol", &self.protocol)
            .field("headers", &self.headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
