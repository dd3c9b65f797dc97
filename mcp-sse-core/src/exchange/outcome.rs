//! The words in which a verdict is said: exposure, causes, damages, answers and failures.
//!
//! Rules: a failure says who erred and how far the request had got; sizes and positions are told, a peer's payload is
//! not (the one exception is the excerpt of a failed response, which is bounded and shown escaped). The verdict itself
//! is in `verdict`; deciding happens in `state`.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::http::{ProtocolVersion, ResponseHead, RetryAfter};
use crate::jsonrpc::{Id, Message, ReadError};
use crate::time::Timestamp;

/// How far a request got: the one fact that tells what a repeat would cost.
///
/// Ordered: a later variant got further. It is reported by the adapter, never guessed from an error's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Exposure {
    /// Not one byte was written: it did not run.
    #[default]
    Unsent,
    /// Some bytes were written, not all: the request cannot be whole over there, so it did not run.
    PartlySent,
    /// All bytes were written: it may have run.
    Sent,
    /// The response's head was read: it may have run.
    Headed,
    /// Bytes of the response's body were read: it may have run.
    Streaming,
}

impl Exposure {
    /// Whether a request that got this far may have run on the server.
    #[must_use]
    pub const fn may_have_run(self) -> bool {
        !matches!(self, Self::Unsent | Self::PartlySent)
    }

    /// The name in lower case with underscores, as logs and the `call` program print it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unsent => "unsent",
            Self::PartlySent => "partly_sent",
            Self::Sent => "sent",
            Self::Headed => "headed",
            Self::Streaming => "streaming",
        }
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong on the way, as the adapter saw it. Only for people and logs: decisions follow from the
/// [`Exposure`] and from the bytes, not from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BreakKind {
    /// The host's name could not be resolved.
    Resolve,
    /// No connection could be made.
    Connect,
    /// No connection could be made within the adapter's own limit for that.
    ConnectTimeout,
    /// The proxy opened no tunnel to the host.
    Proxy,
    /// The proxy wants credentials, or others (status 407).
    ProxyAuthentication,
    /// The TLS handshake failed.
    Handshake,
    /// The peer closed the connection where more had to come.
    Closed,
    /// The peer reset the connection or the stream.
    Reset,
    /// The connection ended without TLS's closing alert, so its end proves nothing.
    TlsTruncated,
    /// The response's head, or the framing of its body, is not HTTP.
    Malformed,
    /// The response's head is larger than the adapter's limit.
    HeadTooLarge,
    /// Any other failure of input or output.
    Io,
}

/// What an error of reading or writing a connection says of its end.
#[cfg(feature = "std")]
impl From<&std::io::Error> for BreakKind {
    fn from(error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Self::Reset,
            // Libraries of TLS say so of an end without its alert.
            ErrorKind::UnexpectedEof => Self::TlsTruncated,
            _ => Self::Io,
        }
    }
}

impl fmt::Display for BreakKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "the host name could not be resolved",
            Self::Connect => "no connection could be made",
            Self::ConnectTimeout => "no connection could be made in time",
            Self::Proxy => "the proxy opened no tunnel",
            Self::ProxyAuthentication => "the proxy wants credentials",
            Self::Handshake => "the TLS handshake failed",
            Self::Closed => "the peer closed the connection early",
            Self::Reset => "the peer reset the connection",
            Self::TlsTruncated => "the TLS connection was cut",
            Self::Malformed => "the peer's HTTP is malformed",
            Self::HeadTooLarge => "the response head is too large",
            Self::Io => "input or output failed",
        })
    }
}

/// Why an answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The connection or stream broke.
    Broken(BreakKind),
    /// The body ended as it should, and the answer was not in it.
    Ended,
    /// The body ended before its declared length, its last chunk, or the end of its coded data.
    Short,
    /// The body is the beginning of a JSON text, and nothing but the connection's end marks where it ends.
    Cut,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(kind) => kind.fmt(f),
            Self::Ended => f.write_str("the stream ended without an answer"),
            Self::Short => f.write_str("the body ended short"),
            Self::Cut => f.write_str("the JSON body was cut"),
        }
    }
}

/// What was damaged although the answer was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Damage {
    /// The answer's event had no closing blank line; its JSON was whole.
    UnterminatedEvent,
    /// The connection or stream broke after the answer.
    Broken(BreakKind),
    /// The stream was still open at the deadline, after the answer.
    Stalled,
    /// The body ended before its declared length, its last chunk, or the end of its coded data.
    Short,
    /// The coded body turned out to be corrupt after the answer.
    Corrupt,
    /// The body passed a limit after the answer.
    TooLarge,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnterminatedEvent => f.write_str("the answer's event was not terminated"),
            Self::Broken(kind) => write!(f, "after the answer: {kind}"),
            Self::Stalled => f.write_str("the stream was still open at the deadline"),
            Self::Short => f.write_str("the body ended short"),
            Self::Corrupt => f.write_str("the coded body is corrupt after the answer"),
            Self::TooLarge => f.write_str("the body passed a limit after the answer"),
        }
    }
}

/// How the id of an answer compares with the request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdMatch {
    /// Equal in type and value.
    Exact,
    /// An integer echoed as the string that spells it, or the reverse.
    Coerced,
    /// An error without an id, or with null.
    Absent,
    /// Another id; only under a status of failure, where the HTTP response itself says whose error it is.
    Foreign,
}

/// Facts about an answer that was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerInfo {
    /// The status it arrived under; never rewritten.
    pub status: u16,
    /// How its id compares with the request's.
    pub id_match: IdMatch,
    /// Whether it is a JSON-RPC error.
    pub is_error: bool,
    /// When its bytes arrived; freshness counts from here.
    pub arrived: Timestamp,
    /// Whether status and error code prove a server of 2026-07-28 or later.
    pub proves_modern: bool,
}

/// An answer as it arrived: the message, facts about it, and the head it came under.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The response: a result or an error.
    pub message: Message,
    /// Facts about it.
    pub info: AnswerInfo,
    /// The head of the HTTP response that carried it.
    pub head: ResponseHead,
    /// What was damaged, if it was found in what a break, a cut or a stall left; `None` if it was whole when it
    /// came, which nothing that the stream does afterwards can undo.
    pub damage: Option<Damage>,
}

/// The bound that a body or an event passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SizeLimit {
    /// [`Limits::max_event_bytes`](crate::Limits::max_event_bytes).
    Event,
    /// [`Limits::max_json_bytes`](crate::Limits::max_json_bytes).
    JsonBody,
    /// [`Limits::max_inflated_bytes`](crate::Limits::max_inflated_bytes).
    Inflated,
}

/// The time limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeLimit {
    /// The overall deadline, which nothing moves.
    Deadline,
    /// The idle limit, which only progress of this request moves.
    Idle,
}

/// What was wrong with a message that was JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageProblem {
    /// JSON, but no JSON-RPC answer: another kind of message, or no message at all.
    NotAnAnswer,
    /// An array of messages, in a revision that has none.
    Array,
    /// A message whose envelope is malformed.
    Envelope(ReadError),
}

/// What was wrong with a body's content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodingProblem {
    /// A coding that cannot be undone here.
    Unsupported,
    /// The coded data is corrupt.
    Corrupt,
}

/// A response with a status of failure that is no JSON-RPC error to a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatusFailure {
    /// The response's head: status, `Retry-After`, `WWW-Authenticate`, session id.
    pub head: ResponseHead,
    /// The first bytes of its body, at most [`Limits::max_excerpt_bytes`](crate::Limits::max_excerpt_bytes).
    pub excerpt: Excerpt,
    /// The code of the JSON-RPC error in its body, when what it refuses is no JSON-RPC request.
    pub error_code: Option<i64>,
}

impl StatusFailure {
    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.head.status()
    }

    /// 401: credentials are missing or stale; the head's `WWW-Authenticate` says which are wanted.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status() == 401
    }

    /// 403: the credentials do not suffice.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status() == 403
    }

    /// When the server wants to be asked again.
    #[must_use]
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.head.retry_after()
    }
}

/// Bytes of a peer, for people: bounded when kept, escaped when shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Excerpt(Box<[u8]>);

impl Excerpt {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The bytes as they came.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Excerpt({} bytes)", self.0.len())
    }
}

/// A failed exchange or call: what happened, and how far the request had got.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// What happened.
    pub kind: FailureKind,
    /// How far the request had got.
    pub exposure: Exposure,
}

impl Failure {
    pub(crate) const fn new(kind: FailureKind, exposure: Exposure) -> Self {
        Self { kind, exposure }
    }

    /// Whether the request may have run on the server.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        self.exposure.may_have_run()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        f.write_str(if self.may_have_run() { "; it may have run" } else { "; it did not run" })
    }
}

impl core::error::Error for Failure {}

/// The ways an exchange or a call fails.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// Network: nothing was sent. Trying again is safe.
    Unsent {
        /// What stood in the way.
        cause: BreakKind,
    },
    /// Network: the answer is lost.
    Lost {
        /// How.
        cause: Cause,
        /// For a call: why the replacement could not be sent either.
        replacement: Option<BreakKind>,
    },
    /// Limit: no answer in time.
    Timeout {
        /// Which limit was reached.
        limit: TimeLimit,
    },
    /// Peer: a status of failure.
    Status(Box<StatusFailure>),
    /// Limit: a body or an event passed a bound.
    TooLarge {
        /// Which bound.
        which: SizeLimit,
        /// The bound, in bytes.
        limit: u64,
    },
    /// Peer: the answer is not JSON.
    InvalidJson {
        /// The byte of the body, or of the event's data, at which no JSON text can go on.
        position: usize,
    },
    /// Peer: the answer is JSON, but no answer.
    InvalidMessage {
        /// What is wrong with it.
        problem: Box<MessageProblem>,
    },
    /// Peer: neither JSON nor an event stream.
    ContentType {
        /// The media type's essence, cut and escaped; empty if none was given.
        essence: String,
    },
    /// Peer: the body's content coding.
    ContentCoding {
        /// What is wrong with it.
        problem: CodingProblem,
    },
    /// Peer: it answered, but under another id.
    IdMismatch {
        /// The id it used, if it used one that is short enough to tell.
        got: Option<Id>,
    },
    /// Peer: a response that carries no answer by its status or by its emptiness.
    NoAnswer {
        /// The status.
        status: u16,
    },
    /// Peer: it does not know the session any more (F7); what it says of the request nobody can tell.
    SessionExpired,
    /// Peer: it speaks no revision that the caller allows (F3).
    UnsupportedVersion {
        /// What was offered.
        ours: Vec<ProtocolVersion>,
        /// What the server lists, as far as it names revisions.
        theirs: Vec<ProtocolVersion>,
    },
    /// The handshake that the request needs first came to nothing; the request itself was not sent.
    Handshake {
        /// What became of it.
        problem: Box<HandshakeProblem>,
    },
    /// Caller: cancelled.
    Cancelled,
}

/// Why a handshake came to nothing: `initialize`, or the `endpoint` event of 2024-11-05.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HandshakeProblem {
    /// Peer: it refused `initialize`.
    Refused {
        /// The JSON-RPC error's code.
        code: i64,
    },
    /// Peer: its result of `initialize` names no revision that the caller allows.
    Version {
        /// What it names, if that is a revision.
        theirs: Option<ProtocolVersion>,
    },
    /// Peer: its `endpoint` event is empty, or no reference that can be resolved (H1).
    Endpoint,
    /// Peer: its `endpoint` event leads to another origin (H1).
    ForeignEndpoint,
    /// A request of the handshake failed.
    Failed(FailureKind),
}

impl fmt::Display for HandshakeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { code } => write!(f, "the server refused to initialize (error {code})"),
            Self::Version { theirs: Some(theirs) } => write!(f, "the server speaks {theirs}, which is not allowed"),
            Self::Version { theirs: None } => f.write_str("the server names no known revision"),
            Self::Endpoint => f.write_str("the server's endpoint event is no reference"),
            Self::ForeignEndpoint => f.write_str("the server's endpoint event leads to another origin"),
            Self::Failed(kind) => kind.fmt(f),
        }
    }
}

impl FailureKind {
    /// A status of failure of which only the head is known.
    pub(crate) fn status(head: ResponseHead) -> Self {
        Self::Status(Box::new(StatusFailure { head, excerpt: Excerpt::default(), error_code: None }))
    }

    /// The kind's name in lower case with underscores, as the `call` program prints it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Unsent { .. } => "unsent",
            Self::Lost { .. } => "lost",
            Self::Timeout { .. } => "timeout",
            Self::Status(_) => "status",
            Self::TooLarge { .. } => "too_large",
            Self::InvalidJson { .. } => "invalid_json",
            Self::InvalidMessage { .. } => "invalid_message",
            Self::ContentType { .. } => "content_type",
            Self::ContentCoding { .. } => "content_coding",
            Self::IdMismatch { .. } => "id_mismatch",
            Self::NoAnswer { .. } => "no_answer",
            Self::SessionExpired => "session_expired",
            Self::UnsupportedVersion { .. } => "unsupported_version",
            Self::Handshake { .. } => "handshake",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsent { cause } => write!(f, "not sent: {cause}"),
            Self::Lost { cause, replacement: None } => write!(f, "the answer is lost: {cause}"),
            Self::Lost { cause, replacement: Some(why) } => {
                write!(f, "the answer is lost: {cause}; its replacement was not sent: {why}")
            }
            Self::Timeout { limit: TimeLimit::Deadline } => f.write_str("no answer by the deadline"),
            Self::Timeout { limit: TimeLimit::Idle } => f.write_str("no progress within the idle limit"),
            Self::Status(failure) => write!(f, "the server answered with status {}", failure.status()),
            Self::TooLarge { which: SizeLimit::Event, limit } => write!(f, "an event is larger than {limit} bytes"),
            Self::TooLarge { which: SizeLimit::JsonBody, limit } => {
                write!(f, "the JSON body is larger than {limit} bytes")
            }
            Self::TooLarge { which: SizeLimit::Inflated, limit } => {
                write!(f, "the body inflates to more than {limit} bytes")
            }
            Self::InvalidJson { position } => write!(f, "the server's answer is not JSON at byte {position}"),
            Self::InvalidMessage { problem } => match &**problem {
                MessageProblem::NotAnAnswer => f.write_str("the server's answer is JSON, but no JSON-RPC answer"),
                MessageProblem::Array => f.write_str("the server sent an array, which this revision does not have"),
                MessageProblem::Envelope(error) => write!(f, "the server's answer is malformed: {error}"),
            },
            Self::ContentType { essence } if essence.is_empty() => {
                f.write_str("the response is neither JSON nor an event stream")
            }
            Self::ContentType { essence } => write!(f, "the response is {essence}, neither JSON nor an event stream"),
            Self::ContentCoding { problem: CodingProblem::Unsupported } => {
                f.write_str("the response has a content coding that cannot be undone")
            }
            Self::ContentCoding { problem: CodingProblem::Corrupt } => f.write_str("the coded response is corrupt"),
            Self::IdMismatch { .. } => f.write_str("the server answered under another id"),
            Self::NoAnswer { status } => write!(f, "the response carries no answer (status {status})"),
            Self::SessionExpired => f.write_str("the server does not know the session any more"),
            Self::UnsupportedVersion { ours, theirs } => {
                f.write_str("no revision in common: ours are")?;
                ours.iter().try_for_each(|version| write!(f, " {version}"))?;
                f.write_str(", the server's are")?;
                theirs.iter().try_for_each(|version| write!(f, " {version}"))
            }
            Self::Handshake { problem } => write!(f, "the handshake failed: {problem}"),
            Self::Cancelled => f.write_str("cancelled by the caller"),
        }
    }
}
