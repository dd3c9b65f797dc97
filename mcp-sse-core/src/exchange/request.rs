//! What an exchange needs to know of its request, and how it is to behave.
//!
//! Rules: nothing here is sent; building the request's bytes and headers is the client's affair. Defaults
//! follow the specification; each switch says what it changes.

use alloc::string::String;
use core::time::Duration;

use crate::http::{Era, ProtocolVersion};
use crate::jsonrpc::{self, Id, Message};
use crate::limits::Limits;
use crate::tape::RecordingConfig;
use crate::time::Timestamp;

/// What an HTTP request is. Only the first kind is known to every era; the others are the legacy eras'.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carries {
    /// A POST of one JSON-RPC message: a request if the [`Request`] has an id, else a notification or a response. Under
    /// 2024-11-05 its own response carries no answer: that comes on the [`Channel`](Self::Channel) (H3).
    #[default]
    Message,
    /// A GET with `Last-Event-ID`, for the rest of a request's stream (E6). The answer is due under the request's id.
    Resumption(Cursor),
    /// A GET of the stream on which a server sends what belongs to no request (F12), from its beginning or from a
    /// cursor. No answer is due, and the [`Request`] has no id.
    Listening(Option<Cursor>),
    /// A GET of the 2024-11-05 channel: first the endpoint to POST to, then all that the server sends (H1 to H5).
    Channel,
    /// A DELETE of a session. Any 2xx is taken, whatever its body.
    Deletion,
}

/// Where a stream is resumed: the id of the last event that came, and how long the server asked to wait (E26).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cursor {
    /// The value of `Last-Event-ID`: 1 to 1,024 characters of 0x20 to 0x7E, with no space at either end. Those are
    /// what an HTTP header can carry as they are; an exchange takes no other as a cursor.
    pub last_event_id: String,
    /// The `retry` that the server last gave.
    pub retry: Option<Duration>,
}

impl Cursor {
    /// A cursor at this event.
    #[must_use]
    pub fn new(last_event_id: impl Into<String>) -> Self {
        Self { last_event_id: last_event_id.into(), retry: None }
    }

    /// Sets [`retry`](Self::retry).
    #[must_use]
    pub const fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }

    /// E26: whether an id can be sent back in a header as it is.
    pub(super) fn can_be(id: &str) -> bool {
        (1..=1024).contains(&id.len())
            && id.bytes().all(|byte| (0x20..=0x7E).contains(&byte))
            && !id.starts_with(' ')
            && !id.ends_with(' ')
    }
}

/// What an exchange needs to know of its HTTP request, and of the message it carries, if it carries one: a request if it
/// has an id, else a notification.
///
/// ```
/// use mcp_sse_core::exchange::{Carries, Cursor, Request};
/// use mcp_sse_core::http::ProtocolVersion;
///
/// let request = Request::new("tools/call").with_id(7).with_version(ProtocolVersion::V2025_06_18);
/// // Its stream broke after the event "e-3": the rest of it is asked for.
/// let rest = request.clone().with_carries(Carries::Resumption(Cursor::new("e-3")));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The method; for a resumption, that of the request whose stream it is. No more than a name for people.
    pub method: String,
    /// What the HTTP request is. Default: a POST of a message.
    pub carries: Carries,
    /// The id under which an answer is due; `None` if none is.
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
        Self {
            method: method.into(),
            carries: Carries::default(),
            id: None,
            version: ProtocolVersion::V2026_07_28,
            progress_token: None,
        }
    }

    /// Sets what the HTTP request is.
    #[must_use]
    pub fn with_carries(mut self, carries: Carries) -> Self {
        self.carries = carries;
        self
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

    /// The cursor that the request starts from, if it has one that its era can use (E26).
    pub(super) fn cursor(&self) -> Option<&Cursor> {
        let cursor = match &self.carries {
            Carries::Resumption(cursor) => Some(cursor),
            Carries::Listening(cursor) => cursor.as_ref(),
            Carries::Message | Carries::Channel | Carries::Deletion => None,
        };
        cursor.filter(|cursor| self.tracks_cursor() && Cursor::can_be(&cursor.last_event_id))
    }

    /// E26: whether event ids are kept.
    pub(super) fn tracks_cursor(&self) -> bool {
        self.version.era() == Era::Legacy
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
    /// The moment after which nothing is taken any more; nothing moves it (E11, E12). That of a
    /// [`Carries::Channel`] ends with the endpoint: the channel then lasts as long as the session. Default: none.
    pub deadline: Option<Timestamp>,
    /// How long to wait without progress of this very request; a stream that belongs to no request has no such limit.
    /// Default: not limited.
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
    /// Whether what happens is written down, to be had by [`Exchange::recording`](super::Exchange::recording). Default: no.
    pub recording: Option<RecordingConfig>,
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
            recording: None,
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

    /// Sets [`recording`](Self::recording).
    #[must_use]
    pub fn with_recording(mut self, recording: RecordingConfig) -> Self {
        self.recording = Some(recording);
        self
    }
}
