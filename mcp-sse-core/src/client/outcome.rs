//! What a call comes to, and what it tells on the way.
//!
//! Rules: one outcome a call; it says how many requests were sent, how far they got, and whether an earlier
//! one may have run. The answer itself is handed out once, on arrival.

use alloc::boxed::Box;
use core::fmt;
use core::time::Duration;

use super::{ExchangeId, HttpRequest};
use crate::exchange::{Answer, AnswerInfo, Cause, Damage, Exposure, Failure};
use crate::jsonrpc::{Id, Message};
use crate::tools::DroppedTool;

/// Names a call of a [`Client`](super::Client).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// What a call tells while it runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallEvent {
    /// A notification, as it came (E21).
    Notification {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// The notification.
        message: Message,
    },
    /// A request from the server (E22).
    Request {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// The request.
        message: Message,
        /// Whether the era forbids it; then it is never answered.
        is_violation: bool,
        /// Whether the embedder is to answer it, by [`Client::respond`](super::Client::respond) (F15). Others are
        /// answered by the client, or refused because too many are under way.
        awaits_reply: bool,
    },
    /// An answer to something else came on this call's stream; or, on a subscription's, a notification that
    /// came before the acknowledgment (F10).
    Stray {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// Its id, if it has one that is short enough to tell.
        id: Option<Id>,
        /// Its size, in bytes.
        bytes: usize,
    },
    /// An event passed its limit and was skipped.
    Oversized {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The request is lost and will be sent again, under a new id (F1).
    Reissue {
        /// The attempt to come, counted from one.
        attempt: u32,
        /// How the request was lost.
        cause: Cause,
        /// How far it had got.
        exposure: Exposure,
    },
    /// The stream is lost, and its rest will be asked for with GET; the request is not sent again (E6, F11).
    Resume {
        /// The attempt whose stream it is, counted from one.
        attempt: u32,
        /// How the stream was lost.
        cause: Cause,
        /// How long is waited first.
        after: Duration,
    },
    /// The server took the subscription (F10): what it leaves out of what was asked for.
    Acknowledged {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// The acknowledgment.
        message: Message,
        /// Whether all that was asked for will be told.
        is_whole: bool,
    },
    /// A tool of a list has headers that the specification forbids; the list that follows is without it (F4).
    ToolDropped {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// Which tool, and why.
        tool: DroppedTool,
    },
    /// The answer, on arrival. The outcome follows when the exchange ends.
    Answer {
        /// The attempt it came on, counted from one.
        attempt: u32,
        /// The answer.
        answer: Box<Answer>,
        /// What was damaged, if it was found in what a break, a cut or a stall left; `None` if it was whole
        /// when it came, which nothing that the stream does afterwards can undo.
        damage: Option<Damage>,
        /// Whether an attempt before this one may have run: then the call may have run twice (F14).
        earlier_may_have_run: bool,
    },
}

impl CallEvent {
    /// A request of the server's that waits for the embedder's answer: its method, its id, and all of it.
    #[must_use]
    pub fn awaiting(&self) -> Option<(&str, &Id, &Message)> {
        match self {
            Self::Request { message, awaits_reply: true, .. } => Some((message.method()?, message.id()?, message)),
            _ => None,
        }
    }
}

/// Numbers, sizes and kinds, for logs: no payload.
impl fmt::Display for CallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |message: &Message| message.as_json().len();
        match self {
            Self::Notification { attempt, message } => {
                write!(f, "attempt {attempt}: a notification of {} bytes", size(message))
            }
            Self::Request { attempt, message, is_violation, .. } => {
                let forbidden = if *is_violation { ", which the revision forbids" } else { "" };
                write!(f, "attempt {attempt}: a request of {} bytes{forbidden}", size(message))
            }
            Self::Stray { attempt, bytes, .. } => {
                write!(f, "attempt {attempt}: an answer to something else, of {bytes} bytes")
            }
            Self::Oversized { attempt, limit } => {
                write!(f, "attempt {attempt}: an event passed the limit of {limit} bytes")
            }
            Self::Reissue { attempt, cause, exposure } => {
                write!(f, "attempt {attempt} begins, since the last one was lost ({exposure}): {cause}")
            }
            Self::Resume { attempt, cause, after } => {
                write!(f, "attempt {attempt}: the stream is asked for again in {} ms: {cause}", after.as_millis())
            }
            Self::Acknowledged { attempt, is_whole, .. } => {
                let extent = if *is_whole { "all" } else { "a part" };
                write!(f, "attempt {attempt}: the subscription is taken, {extent} of it")
            }
            Self::ToolDropped { attempt, tool } => {
                write!(f, "attempt {attempt}: tool {} of the list is dropped: {}", tool.index, tool.reason)
            }
            Self::Answer { attempt, answer, damage, .. } => {
                let (status, bytes) = (answer.info.status, size(&answer.message));
                write!(f, "attempt {attempt}: the answer of {bytes} bytes, status {status}")?;
                damage.map_or(Ok(()), |damage| write!(f, "; {damage}"))
            }
        }
    }
}

/// How a call ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The answer was delivered, and its stream ended as it should or was closed by us, having it.
    Settled(AnswerInfo),
    /// The answer was delivered; something around it was damaged.
    Salvaged {
        /// Facts about the answer.
        answer: AnswerInfo,
        /// What was damaged.
        damage: Damage,
    },
    /// A notification was taken.
    Accepted {
        /// The status.
        status: u16,
    },
    /// Listening has ended as it may: the server closed the subscription with a notice instead of a result, or offers
    /// no stream of that kind (F12; then with the status that says so).
    ListeningEnded {
        /// The status, if the server offers no such stream.
        status: Option<u16>,
    },
    /// No answer. The failure carries the exposure of the attempt that got furthest.
    Failed(Failure),
}

/// A call's end: how, and at what cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Done {
    /// How it ended.
    pub outcome: Outcome,
    /// How many requests were made, those that could not be sent included. A request that was redirected
    /// counts once.
    pub attempts: u32,
    /// How far the one that got furthest had got.
    pub exposure: Exposure,
    /// Whether an attempt before the last may have run: then the call may have run twice (F14).
    pub earlier_may_have_run: bool,
}

impl Outcome {
    /// The kind of outcome in lower case with underscores, a failure's kind for a failure.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::Salvaged { .. } => "salvaged",
            Self::Accepted { .. } => "accepted",
            Self::ListeningEnded { .. } => "listening_ended",
            Self::Failed(failure) => failure.kind.as_str(),
        }
    }
}

/// Numbers and kinds, for logs: no payload.
impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {} attempts ({})", self.outcome.as_str(), self.attempts, self.exposure)?;
        f.write_str(if self.earlier_may_have_run { "; an earlier one may have run" } else { "" })
    }
}

impl Done {
    /// Whether any attempt may have run on the server.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        self.exposure.may_have_run()
    }
}

/// What an adapter is to do next, or to tell its caller.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Step {
    /// Write this request and report what becomes of it to its exchange.
    Send(ExchangeId, Box<HttpRequest>),
    /// Close this exchange's connection (HTTP/2: reset its stream); it has ended.
    Close(ExchangeId),
    /// This exchange has ended, and nothing speaks against using its connection again, once what is left of
    /// its body has been read.
    Release(ExchangeId),
    /// Tell the caller.
    Event(CallId, CallEvent),
    /// Tell the caller that this was all.
    Done(CallId, Done),
    /// A notification was made that goes with this call (`notifications/cancelled`). It is a call of its own,
    /// named second: drive it in the background, as far as possible.
    Background(CallId, CallId),
}
