//! What a server gives out: what is to be written, and what its embedder is told.
//!
//! Rules: plain values; no payload is shown by `Debug` or `Display` of an error.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::Serialize;

use super::queue::QueueLimit;
use super::{AskId, CallId, ExchangeId, SessionKey};
use crate::http::ProtocolVersion;
use crate::jsonrpc::{Id, Message};

/// What is to be written to one HTTP exchange next.
#[derive(Debug)]
#[non_exhaustive]
pub enum Output {
    /// Nothing now. Ask again once [`poll_wake`](super::Server::poll_wake) names the exchange.
    Wait,
    /// The head. If its body is no stream, that is all: the exchange is forgotten.
    Head(ReplyHead),
    /// Bytes of the body, put at the end of the buffer.
    Bytes,
    /// The body ends as it should. The exchange is forgotten.
    End,
    /// The body ends here and does not end as it should: the connection, or the HTTP/2 stream, is to be closed without
    /// the body's end, so that the reader sees that something is missing. The exchange is forgotten. So it is for one that
    /// is not known.
    Cut,
}

/// The head of a response.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyHead {
    /// The status.
    pub status: u16,
    /// Names and values, ready to be written; `Content-Length`, `Date` and `Connection` are the adapter's affair.
    pub headers: Cow<'static, [(&'static str, Cow<'static, str>)]>,
    /// The body.
    pub body: ReplyBody,
}

/// The body of a response.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyBody {
    /// None.
    Empty,
    /// All of it.
    Whole(Vec<u8>),
    /// It follows by [`poll_output`](super::Server::poll_output).
    Stream,
}

impl ReplyHead {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

impl fmt::Debug for ReplyHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A value may be a session's id.
        f.debug_struct("ReplyHead").field("status", &self.status).field("body", &self.body).finish_non_exhaustive()
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Whole(body) => write!(f, "Whole({} bytes)", body.len()),
            Self::Stream => f.write_str("Stream"),
        }
    }
}

/// What the embedder is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A request to be answered by [`respond`](super::Server::respond).
    Request(Box<IncomingRequest>),
    /// A notification.
    Notification(Box<IncomingNotification>),
    /// The client wants no answer to this call any more, or can get none (S4). It is forgotten: what is said for it from
    /// now on goes nowhere.
    Cancelled {
        /// The call.
        call: CallId,
        /// Why.
        reason: CancelReason,
    },
    /// The client answered what [`ask`](super::Server::ask) asked.
    Reply {
        /// What was asked.
        ask: AskId,
        /// The answer, a result or an error.
        message: Message,
    },
    /// What was asked will not be answered: its session ended, or nobody answered in time.
    AskFailed {
        /// What was asked.
        ask: AskId,
    },
    /// A session of an earlier revision began.
    SessionOpened {
        /// The session.
        session: SessionKey,
    },
    /// It ended. Its calls were cancelled.
    SessionEnded {
        /// The session.
        session: SessionKey,
    },
}

/// Why a call is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelReason {
    /// The client closed the response's stream, which since 2026-07-28 says so; or was cut off because it did not read.
    Gone,
    /// The client said so, by `notifications/cancelled` (before 2026-07-28).
    Asked,
    /// It ran into [`call_timeout`](super::ServerLimits::call_timeout); the client was told.
    Timeout,
    /// Its session ended.
    SessionEnded,
    /// The server was shut down, and the call took longer than that may.
    Shutdown,
}

/// A request from a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IncomingRequest {
    /// Its name here.
    pub call: CallId,
    /// The HTTP exchange that brought it: whoever keeps that has its headers and its peer.
    pub exchange: ExchangeId,
    /// The session it belongs to; none since 2026-07-28.
    pub session: Option<SessionKey>,
    /// The revision it is made under.
    pub version: ProtocolVersion,
    /// The message: method, parameters as raw JSON, id.
    pub message: Message,
    /// The token under which progress is asked for.
    pub progress_token: Option<Id>,
    pub(super) capabilities: Capabilities,
}

/// What a client can do, a JSON object.
#[derive(Clone, Debug)]
pub(super) enum Capabilities {
    /// Here in the message.
    InMessage(Range<usize>),
    /// As its session began with.
    Said(String),
}

impl IncomingRequest {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.message.method().unwrap_or_default()
    }

    /// The parameters, the raw JSON of an object.
    #[must_use]
    pub fn params(&self) -> Option<&str> {
        self.message.params()
    }

    /// What the client can do, a JSON object; empty if it did not say.
    #[must_use]
    pub fn client_capabilities(&self) -> &str {
        match &self.capabilities {
            Capabilities::InMessage(place) => self.message.as_json().get(place.clone()).unwrap_or_default(),
            Capabilities::Said(said) => said,
        }
    }
}

/// A notification from a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IncomingNotification {
    /// The HTTP exchange that brought it.
    pub exchange: ExchangeId,
    /// The session it belongs to; none since 2026-07-28.
    pub session: Option<SessionKey>,
    /// The revision it is made under.
    pub version: ProtocolVersion,
    /// The message.
    pub message: Message,
}

/// An answer to a request.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerAnswer {
    /// A result: the JSON text of an object. What the revision wants of every result is added.
    Result(String),
    /// An error.
    #[non_exhaustive]
    Error {
        /// The code.
        code: i64,
        /// A sentence for people.
        message: Cow<'static, str>,
        /// Raw JSON of any type.
        data: Option<String>,
    },
}

impl ServerAnswer {
    /// A result: the JSON text of an object.
    #[must_use]
    pub fn result(json: impl Into<String>) -> Self {
        Self::Result(json.into())
    }

    /// An error without data.
    #[must_use]
    pub fn error(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Error { code, message: message.into(), data: None }
    }

    /// An error with data, which is raw JSON.
    #[must_use]
    pub fn error_with_data(code: i64, message: impl Into<Cow<'static, str>>, data: impl Into<String>) -> Self {
        Self::Error { code, message: message.into(), data: Some(data.into()) }
    }

    /// A result, serialised: what comes to a JSON object. Anything else is a mistake of the handler's, an internal error.
    #[must_use]
    pub fn of(result: &(impl Serialize + ?Sized)) -> Self {
        serde_json::to_string(result).map_or_else(|_| Self::internal_error(), Self::Result)
    }

    /// The parameters do not fit a type: says where, and nothing of what they are.
    #[must_use]
    pub fn misfit(error: &serde_json::Error) -> Self {
        Self::invalid_params(alloc::format!("Invalid params (line {}, column {})", error.line(), error.column()))
    }

    /// Nobody here knows the method.
    #[must_use]
    pub fn method_not_found() -> Self {
        Self::error(super::refusal::METHOD_NOT_FOUND, "Method not found")
    }

    /// The parameters do not fit; says why.
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::error(super::refusal::INVALID_PARAMS, message)
    }

    /// The handler failed. A constant text: what failed is for the server's log.
    #[must_use]
    pub fn internal_error() -> Self {
        Self::error(super::refusal::INTERNAL_ERROR, "Internal error")
    }

    /// The client did not declare what the request needs: a JSON object in the form of `ClientCapabilities`, such as
    /// `{"sampling":{}}`.
    #[must_use]
    pub fn missing_capability(required: &str) -> Self {
        let data = alloc::format!(r#"{{"requiredCapabilities":{required}}}"#);
        Self::error_with_data(super::refusal::MISSING_CAPABILITY, "Missing required client capability", data)
    }
}

/// So that a handler can use `?` on what refuses by an answer.
impl From<Result<Self, Self>> for ServerAnswer {
    fn from(answer: Result<Self, Self>) -> Self {
        answer.unwrap_or_else(|refusal| refusal)
    }
}

impl fmt::Debug for ServerAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(json) => write!(f, "Result({} bytes)", json.len()),
            Self::Error { code, .. } => write!(f, "Error({code})"),
        }
    }
}

/// What became of a message that was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sent {
    /// It waits for a reader that is there.
    Queued,
    /// Nobody reads now; it is kept for a client that resumes the stream.
    Kept,
    /// Nobody reads, and nobody can come back for it: it went nowhere.
    Dropped,
    /// The client did not ask for such a message (progress, logs, changes): it was not sent.
    Unwanted,
}

/// Why a message was not sent. Nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The call is answered, cancelled or unknown; the session has ended.
    #[error("the call or session has ended")]
    Ended,
    /// Peer: its reader takes nothing, and what waits for it has reached a bound (S5).
    #[error("the stream's queue is full: {limit:?}")]
    Full {
        /// Which bound.
        limit: QueueLimit,
    },
    /// Caller: the message is larger than what may wait.
    #[error("a message of {bytes} bytes is over the bound: {limit:?}")]
    TooLarge {
        /// Its size, in bytes.
        bytes: usize,
        /// Which bound.
        limit: QueueLimit,
    },
    /// The session has no stream on which anybody could be told, nor ever had one.
    #[error("the session has no stream to send on")]
    NoReader,
    /// Caller: what is to be sent is no JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// Caller: the revision has no such message (requests of the server's since 2026-07-28).
    #[error("the revision has no such message")]
    NotInRevision,
}

/// What became of a message for one of those who were to be told (S8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Delivery {
    /// To whom.
    pub to: Recipient,
    /// What became of it.
    pub outcome: Result<Sent, SendError>,
}

/// Who is told of what happens outside of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Recipient {
    /// A session of an earlier revision.
    Session(SessionKey),
    /// A subscription, by its call.
    Subscription(CallId),
}
