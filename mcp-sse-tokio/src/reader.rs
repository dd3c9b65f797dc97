//! A response, from any HTTP stack, as facts and bytes of an exchange.
//!
//! Facts reported: the head; the body's bytes; a clean end, and whether the framing marked it. Steps carried
//! out: none. An error is handed to whoever knows the connection.
//!
//! Rule: a frame is asked for only when the last one is used up, so that a slow reader stops the network.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http::response;
use http_body::Body;
use mcp_sse_core::exchange::{Exchange, Framing};
use mcp_sse_core::http::ResponseHead;

use crate::clock::Clock;

/// The body of a response.
#[derive(Debug)]
pub(crate) struct Reader<B: Body> {
    /// `None` once it has ended.
    body: Option<Pin<Box<B>>>,
    /// What is left of the last frame.
    frame: Option<B::Data>,
    framing: Framing,
}

impl<B: Body> Reader<B> {
    /// Tells the head, and gives what reads the body. A head that comes too late is dropped: then the exchange has ended.
    pub(crate) fn begin(parts: &response::Parts, body: B, exchange: &mut Exchange, clock: Clock) -> Self {
        let headers = parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let head = ResponseHead::from_headers(parts.status.as_u16(), headers);
        exchange.on_head(&head, clock.now()).ok();
        // A body that is known to be empty before it is read has its end marked by its head.
        let is_marked = head.marks_end() || body.is_end_stream();
        let framing = if is_marked { Framing::Marked } else { Framing::Unmarked };
        Self { body: Some(Box::pin(body)), frame: None, framing }
    }

    /// Gives the exchange what there is, up to its next event: then something was reported. Gives an error of the body.
    pub(crate) fn poll(
        &mut self,
        exchange: &mut Exchange,
        clock: Clock,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), B::Error>> {
        if let Some(frame) = &mut self.frame {
            let chunk = frame.chunk();
            let mut rest = chunk;
            // Misuse means that the exchange has ended; what follows from that says so too.
            exchange.on_body(&mut rest, clock.now()).ok();
            let used = chunk.len() - rest.len();
            frame.advance(used);
            self.frame = self.frame.take().filter(Buf::has_remaining);
            return Poll::Ready(Ok(()));
        }
        match ready!(self.poll_frame(cx)) {
            Some(Ok(())) => exchange.on_timeout(clock.now()).ok(),
            Some(Err(error)) => return Poll::Ready(Err(error)),
            None => exchange.on_end(self.framing, clock.now()).ok(),
        };
        Poll::Ready(Ok(()))
    }

    /// Reads frames and drops them; ready once there are none any more.
    pub(crate) fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.body.is_some() {
            self.frame = None;
            ready!(self.poll_frame(cx));
        }
        Poll::Ready(())
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<(), B::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Pending;
        };
        let frame = ready!(body.as_mut().poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame.map(|frame| {
            self.frame = frame?.into_data().ok().filter(Buf::has_remaining);
            Ok(())
        }))
    }
}
