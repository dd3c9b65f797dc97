//! What a call gives to its caller: a stream of updates, or a future of the reply alone.
//!
//! Facts reported: none. Steps carried out: `Step::Event` and `Step::Done`, as far as they reach the caller.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use mcp_sse_core::client::{CallError, CallEvent, Done, Reply};

use crate::drive::{Driver, Told};

/// After an answer, so many steps of reading what has come already are made before the caller gets it; a
/// server that goes on sending cannot hold the caller up.
const STEPS_AFTER_ANSWER: u32 = 16;

/// What a call tells its caller.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Update {
    /// A notification, a stray, a replacement: something on the way.
    Event(CallEvent),
    /// The answer. Without [`CallStream::until_end`] nothing comes after it.
    Reply(Reply),
    /// The exchange's end, after the answer; only with [`CallStream::until_end`].
    Done(Done),
}

/// A call under way: its events, then its reply or an error.
///
/// The stream is read only when it is polled: a slow reader stops the server, and nobody else's call; the
/// deadline holds all the same, and is reported when the stream is polled next. Dropping it cancels the call:
/// the connection (HTTP/2: the stream) is closed, and no other.
#[must_use = "nothing happens until the stream is polled"]
pub struct CallStream {
    state: State,
    until_end: bool,
}

enum State {
    Refused(CallError),
    Running {
        driver: Box<Driver>,
        /// The reply, while what has come with it is read.
        reply: Option<Reply>,
        steps_left: u32,
        is_answered: bool,
    },
    Over,
}

impl CallStream {
    pub(crate) fn new(begun: Result<Driver, CallError>) -> Self {
        let state = match begun {
            Ok(driver) => State::Running {
                driver: Box::new(driver),
                reply: None,
                steps_left: STEPS_AFTER_ANSWER,
                is_answered: false,
            },
            Err(error) => State::Refused(error),
        };
        Self { state, until_end: false }
    }

    /// Lets the stream go on after the reply until the exchange ends (within the client's bound of time for
    /// that), and end with [`Update::Done`].
    pub fn until_end(mut self) -> Self {
        self.until_end = true;
        self
    }

    /// Cancels the call, as dropping the stream does, and says how it ended: how far the request had got, and
    /// whether it may have run. `None` if it ended before.
    pub fn cancel(mut self) -> Option<Done> {
        match &mut self.state {
            State::Running { driver, .. } => driver.give_up(),
            _ => None,
        }
    }

    /// The reply alone; events are dropped.
    ///
    /// # Errors
    /// [`CallError`] says whether the request was sent, whether it may have run, and the status.
    pub async fn reply(mut self) -> Result<Reply, CallError> {
        self.until_end = false;
        loop {
            match self.next().await {
                Some(Ok(Update::Reply(reply))) => return Ok(reply),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                // It was polled to its end before.
                None => return Err(CallError::Params),
            }
        }
    }

    /// The reply, and how its exchange ended; events are dropped.
    ///
    /// # Errors
    /// As [`reply`](Self::reply).
    pub async fn reply_and_done(mut self) -> Result<(Reply, Done), CallError> {
        self.until_end = true;
        let mut reply = None;
        loop {
            match (self.next().await, &mut reply) {
                (Some(Ok(Update::Reply(given))), reply) => *reply = Some(given),
                (Some(Ok(Update::Done(done))), reply @ Some(_)) => {
                    if let Some(reply) = reply.take() {
                        return Ok((reply, done));
                    }
                }
                (Some(Ok(_)), _) => {}
                (Some(Err(error)), _) => return Err(error),
                (None, _) => return Err(CallError::Params),
            }
        }
    }

    /// The next update, for those who have no stream combinators at hand.
    pub async fn next(&mut self) -> Option<Result<Update, CallError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for CallStream {
    type Item = Result<Update, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            let State::Running { driver, reply, steps_left, is_answered } = &mut this.state else {
                return Poll::Ready(match std::mem::replace(&mut this.state, State::Over) {
                    State::Refused(error) => Some(Err(error)),
                    _ => None,
                });
            };
            let told = if reply.is_some() && *steps_left == 0 { Poll::Pending } else { driver.poll(cx) };
            match told {
                Poll::Ready(Told::Event(event)) => match Reply::from_event(event) {
                    Ok(answered) if this.until_end => {
                        *is_answered = true;
                        driver.start_draining(true);
                        return Poll::Ready(Some(Ok(Update::Reply(answered))));
                    }
                    Ok(answered) => *reply = Some(answered),
                    Err(event) => {
                        *steps_left -= u32::from(reply.is_some());
                        return Poll::Ready(Some(Ok(Update::Event(event))));
                    }
                },
                Poll::Ready(Told::Done(done)) => {
                    let (reply, is_answered) = (reply.take(), *is_answered);
                    this.state = State::Over;
                    return Poll::Ready(match reply {
                        Some(reply) => Some(Ok(Update::Reply(reply))),
                        None if is_answered => Some(Ok(Update::Done(done))),
                        None => CallError::from_done(done).map(Err),
                    });
                }
                Poll::Pending => {
                    let Some(reply) = reply.take() else {
                        return Poll::Pending;
                    };
                    if let State::Running { driver, .. } = std::mem::replace(&mut this.state, State::Over) {
                        driver.drain_in_background();
                    }
                    return Poll::Ready(Some(Ok(Update::Reply(reply))));
                }
            }
        }
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallStream").field("until_end", &self.until_end).finish_non_exhaustive()
    }
}

/// What comes of a call. It borrows nothing, so that it can be spawned. Dropping it cancels the call.
#[must_use = "nothing happens until the future is polled"]
pub struct CallFuture<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
}

impl<T> CallFuture<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self { future: Box::pin(future) }
    }
}

impl<T> Future for CallFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.future.as_mut().poll(cx)
    }
}

impl<T> fmt::Debug for CallFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture").finish_non_exhaustive()
    }
}
