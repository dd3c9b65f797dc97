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
use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Exchange, Framing};
use mcp_sse_core::http::ResponseHead;

/// The body of a response.
#[derive(Debug)]
pub(crate) struct Reader<B: Body> {
    /// `None` once it has ended.
    body: Option<B>,
    /// What is left of the last frame.
    frame: Option<B::Data>,
    framing: Framing,
}

impl<B: Body + Unpin> Reader<B> {
    /// Tells the head, and gives what reads the body. A head that comes too late is dropped: then the exchange has ended.
    pub(crate) fn begin(parts: &response::Parts, body: B, exchange: &mut Exchange, now: Timestamp) -> Self {
        let headers = parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let head = ResponseHead::from_headers(parts.status.as_u16(), headers);
        exchange.on_head(&head, now).ok();
        // A body that is known to be empty before it is read has its end marked by its head.
        let is_marked = head.marks_end() || body.is_end_stream();
        let framing = if is_marked { Framing::Marked } else { Framing::Unmarked };
        Self { body: Some(body), frame: None, framing }
    }

    /// Gives the exchange what there is, up to its next event: then something was reported. Gives an error of the body.
    pub(crate) fn poll(
        &mut self,
        exchange: &mut Exchange,
        now: Timestamp,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), B::Error>> {
        if self.frame.is_none() {
            self.frame = ready!(self.poll_frame(cx)).transpose()?;
        }
        // Misuse means that the exchange has ended; what follows from that says so too.
        if let Some(frame) = &mut self.frame {
            let chunk = frame.chunk();
            let mut rest = chunk;
            exchange.on_body(&mut rest, now).ok();
            let used = chunk.len() - rest.len();
            frame.advance(used);
            self.frame = self.frame.take().filter(Buf::has_remaining);
        } else {
            exchange.on_end(self.framing, now).ok();
        }
        Poll::Ready(Ok(()))
    }

    /// Reads frames and drops them; ready once there are none any more.
    pub(crate) fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.body.is_some() {
            ready!(self.poll_frame(cx));
        }
        Poll::Ready(())
    }

    /// The data of the next frame. Trailers have none, and are the last.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<B::Data, B::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame.and_then(|frame| frame.map(|frame| frame.into_data().ok()).transpose()))
    }
}
