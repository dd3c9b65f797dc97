//! What a call gives to its caller: a stream of updates, or a future of the reply alone.
//!
//! Facts reported: none. Steps carried out: `Step::Event` and `Step::Done`, as far as they reach the caller.

use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use mcp_sse_core::client::{CallError, CallEvent, Done, ErrorReply, Reply, RespondError};
use mcp_sse_core::jsonrpc::Id;

use crate::drive::Driver;

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
    /// `None` once all is told.
    begun: Option<Result<Box<Driver>, CallError>>,
    /// The reply, while what has come with it is read.
    reply: Option<Reply>,
    until_end: bool,
}

impl CallStream {
    pub(crate) fn new(begun: Result<Driver, CallError>) -> Self {
        Self { begun: Some(begun.map(Box::new)), reply: None, until_end: false }
    }

    /// Lets the stream go on after the reply until the exchange ends (within the client's bound of time for
    /// that), and end with [`Update::Done`].
    pub fn until_end(mut self) -> Self {
        self.until_end = true;
        if let Some(Ok(driver)) = &self.begun {
            driver.read_to_end();
        }
        self
    }

    /// Cancels the call, as dropping the stream does, and says how it ended: how far the request had got, and
    /// whether it may have run. `None` if it ended before.
    pub fn cancel(mut self) -> Option<Done> {
        self.begun.take()?.ok()?.give_up()
    }

    /// Answers a request of the server's that came on this call and awaits a reply ([`CallEvent::Request`]): the result as
    /// JSON text, or an error. For calls whose events are read; a handler of the client's
    /// ([`ClientBuilder::handle`](crate::ClientBuilder::handle)) answers on any call.
    ///
    /// # Errors
    /// [`RespondError`]; nothing was sent.
    pub fn respond(&self, request: &Id, answer: Result<&str, ErrorReply>) -> Result<(), RespondError> {
        match &self.begun {
            Some(Ok(driver)) => driver.respond(request, answer),
            _ => Err(RespondError::NotAsked),
        }
    }

    /// The reply alone; events are dropped.
    ///
    /// # Errors
    /// [`CallError`] says whether the request was sent, whether it may have run, and the status.
    pub async fn reply(mut self) -> Result<Reply, CallError> {
        self.until_end = false;
        while let Some(update) = self.next().await {
            if let Update::Reply(reply) = update? {
                return Ok(reply);
            }
        }
        Err(CallError::Over)
    }

    /// The reply, and how its exchange ended; events are dropped.
    ///
    /// # Errors
    /// As [`reply`](Self::reply).
    pub async fn reply_and_done(self) -> Result<(Reply, Done), CallError> {
        let (mut this, mut reply) = (self.until_end(), None);
        while let Some(update) = this.next().await {
            match update? {
                Update::Event(_) => {}
                Update::Reply(given) => reply = Some(given),
                Update::Done(done) => return done.into_reply(reply),
            }
        }
        Err(CallError::Over)
    }

    /// The next update, for those who have no stream combinators at hand.
    pub async fn next(&mut self) -> Option<Result<Update, CallError>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for CallStream {
    type Item = Result<Update, CallError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let driver = match &mut self.begun {
                Some(Ok(driver)) => driver,
                refused => return Poll::Ready(refused.take().and_then(Result::err).map(Err)),
            };
            let update = match driver.poll(cx) {
                Poll::Ready(ControlFlow::Continue(event)) => match Reply::from_event(event) {
                    Ok(reply) if self.until_end => Ok(Update::Reply(reply)),
                    Ok(reply) => {
                        self.reply = Some(reply);
                        continue;
                    }
                    Err(event) => Ok(Update::Event(event)),
                },
                Poll::Ready(ControlFlow::Break(done)) => {
                    self.begun = None;
                    match self.reply.take() {
                        Some(reply) => Ok(Update::Reply(reply)),
                        None => done.into_result().map(Update::Done),
                    }
                }
                Poll::Pending => {
                    let Some(reply) = self.reply.take() else {
                        return Poll::Pending;
                    };
                    // What came with the answer is read; most streams end there. How much that is at most, the exchange
                    // says.
                    if let Some(Ok(driver)) = self.begun.take() {
                        driver.run_in_background();
                    }
                    Ok(Update::Reply(reply))
                }
            };
            return Poll::Ready(Some(update));
        }
    }
}

impl fmt::Debug for CallStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallStream").field("until_end", &self.until_end).finish_non_exhaustive()
    }
}

/// What comes of a call. It borrows nothing, so that it can be spawned. Dropping it cancels the call.
pub type CallFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
