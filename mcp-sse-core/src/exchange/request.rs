//! What an exchange needs to know of its request, and how it is to behave.
//!
//! Rules: nothing here is sent; building the request's bytes and headers is the client's affair. Defaults
//! follow the specification; each switch says what it changes.

use alloc::string::String;
use core::time::Duration;

use crate::http::ProtocolVersion;
use crate::jsonrpc::{self, Id, Message};
use crate::limits::Limits;
use crate::time::Timestamp;

/// What an exchange needs to know of the message it carries: a request if it has an id, else a notification.
///
/// ```
/// use mcp_sse_core::exchange::Request;
/// use mcp_sse_core::http::ProtocolVersion;
///
/// let request = Request::new("tools/call").with_id(7).with_version(ProtocolVersion::V2025_06_18);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: String,
    /// The id; `None` for a notification.
    pub id: Option<Id>,
    /// The revision it is sent under, which decides what a loss means.
    pub version: ProtocolVersion,
    /// The token under which progress of this request is reported, if it asks for any.
    pub progress_token: Option<Id>,
}

impl Request {
    /// A notification of this method, under 2026-07-28; [`with_id`](Self::with_id) makes it a request.
    #[must_use]
    pub fn new(method: impl Into<String>) -> Self {
        Self { method: method.into(), id: None, version: ProtocolVersion::V2026_07_28, progress_token: None }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Id>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the revision.
    #[must_use]
    pub const fn with_version(mut self, version: ProtocolVersion) -> Self {
        self.version = version;
        self
    }

    /// Sets the progress token.
    #[must_use]
    pub fn with_progress_token(mut self, token: impl Into<Id>) -> Self {
        self.progress_token = Some(token.into());
        self
    }

    /// E12: whether `message` reports progress of this very request.
    pub(super) fn owns_progress(&self, message: &Message) -> bool {
        let Some(ours) = &self.progress_token else {
            return false;
        };
        message.method() == Some("notifications/progress")
            && message
                .params()
                .and_then(|params| jsonrpc::object_member(params, "progressToken"))
                .and_then(Id::parse)
                .is_some_and(|theirs| theirs == *ours)
    }
}

/// What an unfinished last event is worth when the stream ends, breaks or stalls to the deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TailRule {
    /// If its data is the whole answer, the answer was delivered (E9). A JSON object that closes is a prefix
    /// of nothing else, and sending the request again would run it twice.
    #[default]
    Salvage,
    /// HTML's reading: what has no closing blank line is dropped.
    Strict,
}

/// How an exchange behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExchangeConfig {
    /// Every bound on what is kept.
    pub limits: Limits,
    /// What an unfinished last event is worth. Default: its answer, if it holds one.
    pub tail: TailRule,
    /// Take only ids equal in type and value (E15). Default: no, since servers in the field echo `7` as
    /// `"7"`, and failing there makes callers run the call again.
    pub strict_ids: bool,
    /// The moment after which nothing is taken any more; nothing moves it (E11, E12). Default: none.
    pub deadline: Option<Timestamp>,
    /// How long to wait without progress of this very request. Default: not limited.
    pub idle: Option<Duration>,
    /// End with [`Verdict::Redirect`](super::Verdict::Redirect) on 307 and 308, instead of failing (E18).
    /// Default: no.
    pub follow_redirects: bool,
    /// Ask for a fresh connection from the start. The client does for a replacement: the server that lost the first
    /// request may be closing the connection it came on. Default: no.
    pub fresh_connection: bool,
    /// How long the body of a failed response is waited for, from its head on, before its status is told without the
    /// rest (E18). Default 2 s: the body is an excerpt for people, or a short JSON-RPC error.
    pub failed_body_time: Duration,
}

impl Default for ExchangeConfig {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            tail: TailRule::default(),
            strict_ids: false,
            deadline: None,
            idle: None,
            follow_redirects: false,
            fresh_connection: false,
            failed_body_time: Duration::from_secs(2),
        }
    }
}

impl ExchangeConfig {
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

    /// Sets [`deadline`](Self::deadline).
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Timestamp) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets [`idle`](Self::idle).
    #[must_use]
    pub const fn with_idle(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Sets [`failed_body_time`](Self::failed_body_time).
    #[must_use]
    pub const fn with_failed_body_time(mut self, time: Duration) -> Self {
        self.failed_body_time = time;
        self
    }

    /// Sets [`follow_redirects`](Self::follow_redirects).
    #[must_use]
    pub const fn with_follow_redirects(mut self, follow: bool) -> Self {
        self.follow_redirects = follow;
        self
    }
}
