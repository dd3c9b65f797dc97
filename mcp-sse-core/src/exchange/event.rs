//! The small words of an exchange: what it tells, what it wants next, how a body's end was marked, and what is a
//! caller's mistake.
//!
//! Rule: each variant says what it means for who reads it; what it comes to at last is in `verdict`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;

use super::outcome::Answer;
use super::verdict::Verdict;
use crate::jsonrpc::{Id, Message};

/// How a body's end was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// By the framing itself: the declared length is reached, the last chunk came, HTTP/2 ended the stream
    /// after the declared length.
    Marked,
    /// By nothing but the end of the connection (HTTP/1 without length or chunks) or of the stream (HTTP/2
    /// without a length).
    Unmarked,
    /// It ended below its declared length, or without its last chunk.
    Short,
    /// It did not have its declared length, and the library that found this out threw some of it away. The whole answer
    /// may have been in that, so that the request is not sent again.
    Discarded,
}

/// What the adapter should do next. Advice, not a contract: any input is fine at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Want {
    /// Connect, or take a kept connection, and write the request.
    Send {
        /// Do not take a kept connection: one has just turned out to be closed (E1), or the server that lost the first
        /// request may be closing it. One that calls share (HTTP/2) tells by itself that it is open, and may then carry a
        /// replacement; but not after it has just failed.
        fresh: bool,
    },
    /// Read the response.
    Read,
    /// Nothing more is needed. Reading on for a while lets the connection be used again; closing is as good.
    Drain,
    /// Close the connection (HTTP/2: reset the stream).
    Close,
    /// Nothing: all was read, and the connection may be used again.
    Nothing,
}

/// A caller's mistake: the input was not taken, and nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Misuse {
    /// The exchange has ended; the input was dropped.
    #[error("the exchange has ended")]
    Ended,
    /// Bytes of a body, but no head yet.
    #[error("bytes of a body were given before the head")]
    NoHead,
    /// A second head.
    #[error("a second head was given")]
    SecondHead,
    /// Events wait to be polled: drain [`Exchange::poll_event`](super::Exchange::poll_event) first.
    #[error("events wait to be polled")]
    EventsWaiting,
    /// The state does not know this fact.
    #[error("this fact means nothing at this point")]
    OutOfOrder,
}

/// What an exchange has to tell.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ExchangeEvent {
    /// A notification, as soon as it was complete, once, in order (E21).
    Notification(Message),
    /// A request from the server (E22).
    Request {
        /// The request.
        message: Message,
        /// Whether the era forbids it; then it is never answered.
        is_violation: bool,
    },
    /// The answer, on arrival (E2). Reading may go on; the verdict follows at the end.
    Answer(Box<Answer>),
    /// An answer to something else (E15). Its content is nobody's business here.
    Stray {
        /// Its id, if it has one that is short enough to tell.
        id: Option<Id>,
        /// Its size, in bytes.
        bytes: usize,
    },
    /// A result or an error on a 2024-11-05 channel, which belongs to all requests: the client finds whose it is (H4).
    Response(Message),
    /// The data of the first `endpoint` event of a 2024-11-05 channel, as the server wrote it: to be resolved against the
    /// stream's URL, and judged (H1). Bounded by [`Limits::max_event_bytes`](crate::Limits::max_event_bytes).
    Endpoint(String),
    /// An event passed its limit and was skipped (E14).
    Oversized {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The end. Nothing comes after it.
    Ended(Verdict),
}

impl ExchangeEvent {
    /// Bytes of the body that it keeps.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Notification(message) | Self::Request { message, .. } | Self::Response(message) => {
                message.as_json().len()
            }
            Self::Endpoint(reference) => reference.len(),
            Self::Answer(answer) => answer.message.as_json().len(),
            Self::Stray { .. } | Self::Oversized { .. } | Self::Ended(_) => 0,
        }
    }
}

/// Events in the order they came. One at a time is what there is nearly always, so the first needs no list.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    first: Option<ExchangeEvent>,
    /// Empty without a first.
    rest: VecDeque<ExchangeEvent>,
}

impl Waiting {
    pub(super) fn push(&mut self, event: ExchangeEvent) {
        if self.first.is_none() {
            self.first = Some(event);
        } else {
            self.rest.push_back(event);
        }
    }

    pub(super) fn pop(&mut self) -> Option<ExchangeEvent> {
        let event = self.first.take();
        self.first = self.rest.pop_front();
        event
    }

    pub(super) const fn first(&self) -> Option<&ExchangeEvent> {
        self.first.as_ref()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ExchangeEvent> {
        self.first.iter().chain(&self.rest)
    }
}
