//! An exchange driven from the response of any HTTP stack: for users of hyper, reqwest, axum or tower-http who
//! keep their client and want the verdict.
//!
//! Facts reported: the head, the body's bytes, its end, a break, that time has passed. Steps carried out: none;
//! dropping the stream drops the body, which closes its connection or its HTTP/2 stream in any stack.
//!
//! What only the connection knows is not known here: how far the request got before its response came, and
//! whether a close was orderly. A stack that undoes content coding by itself must take the headers that
//! announced it away, as they all do.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use http::Response;
use http_body::Body;
use mcp_sse_core::exchange::{BreakKind, Exchange, ExchangeEvent, Framing, State};

use crate::clock::{Clock, Timer};
use crate::link::tell_stream_end;
use crate::reader::Reader;

/// The events of one response: what an [`Exchange`] has to tell, and as the last its verdict.
///
/// ```
/// use bytes::Bytes;
/// use mcp_sse_tokio::Clock;
/// use mcp_sse_tokio::body::ExchangeStream;
/// use mcp_sse_tokio::core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Request, Verdict};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let body = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#.to_owned();
/// let response = http::Response::builder()
///     .header("Content-Type", "application/json")
///     .header("Content-Length", body.len())
///     .body(body)
///     .unwrap();
///
/// let clock = Clock::new();
/// let exchange = Exchange::new(&Request::new("tools/list").with_id(7), ExchangeConfig::default(), clock.now());
/// let mut events = ExchangeStream::new(exchange, clock, response);
/// assert!(matches!(events.next().await, Some(ExchangeEvent::Answer(_))));
/// assert!(matches!(events.next().await, Some(ExchangeEvent::Ended(Verdict::Settled(_)))));
/// assert!(events.next().await.is_none());
/// # }
/// ```
pub struct ExchangeStream<B: Body> {
    exchange: Exchange,
    clock: Clock,
    timer: Timer,
    reader: Reader<Pin<Box<B>>>,
}

impl<B: Body> ExchangeStream<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Drives `exchange`, which must have been made by this clock, from `response`.
    pub fn new(mut exchange: Exchange, clock: Clock, response: Response<B>) -> Self {
        let (parts, body) = response.into_parts();
        let reader = Reader::begin(&parts, Box::pin(body), &mut exchange, clock.now());
        Self { exchange, clock, timer: Timer::default(), reader }
    }

    /// The exchange, to look at.
    #[must_use]
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The next event, for those who have no stream combinators at hand.
    pub async fn next(&mut self) -> Option<ExchangeEvent> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<B: Body> Unpin for ExchangeStream<B> {}

impl<B: Body> Stream for ExchangeStream<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Item = ExchangeEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ExchangeEvent>> {
        let Self { exchange, clock, timer, reader } = &mut *self;
        loop {
            if let Some(event) = exchange.poll_event() {
                return Poll::Ready(Some(event));
            }
            if exchange.state() == State::Ended {
                return Poll::Ready(None);
            }
            match reader.poll(exchange, clock.now(), cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => fail(exchange, &*error.into(), *clock),
                Poll::Pending => {
                    ready!(timer.poll(*clock, exchange.poll_timeout(), cx));
                    exchange.on_timeout(clock.now()).ok();
                }
            }
        }
    }
}

/// What an error of some HTTP stack says, as far as it can be told.
fn fail(exchange: &mut Exchange, error: &(dyn Error + 'static), clock: Clock) {
    let mut kind = BreakKind::Io;
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref().is_some_and(hyper::Error::is_incomplete_message) {
            // Closed in an orderly way, but too early.
            exchange.on_end(Framing::Short, clock.now()).ok();
            return;
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            kind = BreakKind::from(error);
        } else if let Some(error) = error.downcast_ref::<h2::Error>() {
            return tell_stream_end(error, BreakKind::Closed, exchange, clock.now());
        }
        cause = error.source();
    }
    exchange.on_broken(kind, clock.now()).ok();
}

impl<B: Body> fmt::Debug for ExchangeStream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeStream").field("exchange", &self.exchange).finish_non_exhaustive()
    }
}
