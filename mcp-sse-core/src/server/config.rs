//! What a server is, by its owner's choice.
//!
//! Rules: plain values with defaults; what the server learns while it runs is not here.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::hosts::AllowedHosts;
use super::limits::ServerLimits;
use crate::http::{Era, ProtocolVersion};
use crate::jsonrpc::{Completeness, Shape, check, object_member, shape};

/// What a [`Server`](super::Server) is and allows.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::server::ServerConfig;
///
/// let config = ServerConfig::new(r#"{"name":"clock","version":"1.0.0"}"#)?
///     .with_capabilities(r#"{"tools":{"listChanged":true}}"#)?
///     .with_instructions("Ask for the time.")
///     .with_keep_alive(Some(Duration::from_secs(20)));
/// assert_eq!(config.keep_alive, Some(Duration::from_secs(20)));
/// # Ok::<(), mcp_sse_core::server::ServerConfigError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The hosts and origins that requests may name. Default: the loopback names.
    pub allowed_hosts: AllowedHosts,
    /// The path of the endpoint, such as `/mcp`; any other is answered with 404. Default: none, so that every path is the
    /// endpoint's, for a server that a router has mounted.
    pub path: Option<String>,
    /// The revisions that are spoken, newest first. Default: all five.
    pub versions: Vec<ProtocolVersion>,
    /// A silent stream gets a comment so often, and a call that is not answered for so long gets a stream. Default 15 s:
    /// common proxies give up after 30 to 60.
    pub keep_alive: Option<Duration>,
    /// Whether every answer comes on an event stream, also one that nothing comes before. Under the revisions with
    /// resumption such an answer can be asked for again when the connection is lost. Since 2026-07-28 an error that has a
    /// status of its own (an unknown method, say) is a JSON body nevertheless. Default: no, one JSON body is cheaper.
    pub always_streams: bool,
    /// What is done about a message that has no room on its stream (S5). Default: it is refused to its sender.
    pub when_full: WhenFull,
    /// How long a client waits before it takes up a stream that was closed on purpose (`retry`; 2025-03-26 to 2025-11-25).
    /// Default 1 s.
    pub retry: Duration,
    /// The last segment of the path that messages of 2024-11-05 are posted to, such as `messages`, beside the one that the
    /// stream was asked for under. Default: none, they go to the same path, which every mount and proxy leads here.
    pub message_path: Option<String>,
    /// Every bound on what is kept, and for how long.
    pub limits: ServerLimits,
    pub(super) server_info: String,
    pub(super) capabilities: String,
    pub(super) instructions: Option<String>,
    /// Empty: all are the embedder's to judge.
    pub(super) methods: BTreeSet<String>,
    /// The eras of `versions`, once a server is made of this: it asks often.
    eras: Eras,
}

/// Which eras are spoken.
#[derive(Clone, Copy, Debug, Default)]
struct Eras {
    http_sse: bool,
    legacy: bool,
    modern: bool,
}

/// What is done about a message that has no room on its stream (S5). It is never dropped in silence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// Its sender is told, and the stream goes on.
    #[default]
    Refuse,
    /// Its sender is told, and the stream is cut: its reader must not believe that nothing was missed.
    Close,
}

/// A value that cannot be used as given. The caller's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ServerConfigError {
    /// Not a JSON object.
    #[error("this is not a JSON object")]
    NotAnObject,
}

impl ServerConfig {
    /// A server that says of itself what this JSON object says: a name and a version (`serverInfo`, `Implementation`).
    ///
    /// # Errors
    /// [`ServerConfigError::NotAnObject`].
    pub fn new(server_info: &str) -> Result<Self, ServerConfigError> {
        Ok(Self {
            allowed_hosts: AllowedHosts::loopback(),
            path: None,
            versions: ProtocolVersion::KNOWN.iter().rev().copied().collect(),
            keep_alive: Some(Duration::from_secs(15)),
            always_streams: false,
            when_full: WhenFull::Refuse,
            retry: Duration::from_secs(1),
            message_path: None,
            limits: ServerLimits::default(),
            server_info: object(server_info)?,
            capabilities: "{}".to_owned(),
            instructions: None,
            methods: BTreeSet::new(),
            eras: Eras::default(),
        })
    }

    /// Says what the server can do (`ServerCapabilities`, a JSON object). Subscriptions are honoured for what is said here
    /// to change: `listChanged` of `tools`, `prompts` and `resources`, and `subscribe` of `resources`.
    ///
    /// # Errors
    /// [`ServerConfigError::NotAnObject`].
    pub fn with_capabilities(mut self, capabilities: &str) -> Result<Self, ServerConfigError> {
        self.capabilities = object(capabilities)?;
        Ok(self)
    }

    /// Says how the server is used, for a model to read.
    #[must_use]
    pub fn with_instructions(mut self, instructions: &str) -> Self {
        self.instructions = Some(instructions.to_owned());
        self
    }

    /// Names all methods of requests that the embedder answers; others are refused before it hears of them, as unknown.
    /// Without this, the embedder answers all, and says itself which it does not know.
    #[must_use]
    pub fn with_methods<'m>(mut self, methods: impl IntoIterator<Item = &'m str>) -> Self {
        self.methods.extend(methods.into_iter().map(str::to_owned));
        self
    }

    /// Sets [`allowed_hosts`](Self::allowed_hosts).
    #[must_use]
    pub fn with_allowed_hosts(mut self, allowed: AllowedHosts) -> Self {
        self.allowed_hosts = allowed;
        self
    }

    /// Sets [`path`](Self::path).
    #[must_use]
    pub fn with_path(mut self, path: &str) -> Self {
        self.path = Some(path.to_owned());
        self
    }

    /// Sets [`versions`](Self::versions), newest first whatever their order.
    #[must_use]
    pub fn with_versions(mut self, versions: &[ProtocolVersion]) -> Self {
        self.versions = versions.to_vec();
        self.versions.sort_unstable_by(|a, b| b.cmp(a));
        self.versions.dedup();
        self
    }

    /// Sets [`keep_alive`](Self::keep_alive).
    #[must_use]
    pub const fn with_keep_alive(mut self, interval: Option<Duration>) -> Self {
        self.keep_alive = interval;
        self
    }

    /// Sets [`always_streams`](Self::always_streams).
    #[must_use]
    pub const fn with_always_streams(mut self, always: bool) -> Self {
        self.always_streams = always;
        self
    }

    /// Sets [`when_full`](Self::when_full).
    #[must_use]
    pub const fn with_when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = policy;
        self
    }

    /// Sets [`retry`](Self::retry).
    #[must_use]
    pub const fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = retry;
        self
    }

    /// Sets [`message_path`](Self::message_path).
    #[must_use]
    pub fn with_message_path(mut self, segment: &str) -> Self {
        self.message_path = Some(segment.to_owned());
        self
    }

    /// Sets [`limits`](Self::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: ServerLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The revisions under which a request can be made as it is, without a handshake.
    pub(super) fn modern_versions(&self) -> impl Iterator<Item = ProtocolVersion> {
        self.versions.iter().copied().filter(|version| version.era() == Era::Modern)
    }

    /// What is asked for in `versions` will not change any more.
    pub(super) fn note_eras(&mut self) {
        let speaks = |era| self.versions.iter().any(|version| version.era() == era);
        self.eras = Eras { http_sse: speaks(Era::HttpSse), legacy: speaks(Era::Legacy), modern: speaks(Era::Modern) };
    }

    pub(super) const fn speaks(&self, era: Era) -> bool {
        match era {
            Era::HttpSse => self.eras.http_sse,
            Era::Legacy => self.eras.legacy,
            Era::Modern => self.eras.modern,
        }
    }

    /// Whether the capabilities say so, by this member of that one.
    pub(super) fn is_capable(&self, part: &str, of: &str) -> bool {
        object_member(&self.capabilities, part).and_then(|part| object_member(part, of)) == Some("true")
    }
}

fn object(text: &str) -> Result<String, ServerConfigError> {
    match (shape(text), check(text)) {
        (Shape::Object, Completeness::Whole) => Ok(text.to_owned()),
        _ => Err(ServerConfigError::NotAnObject),
    }
}
