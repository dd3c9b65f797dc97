//! A response, from any HTTP stack, as facts and bytes of an exchange.
//!
//! Facts reported: the head; the body's bytes; a clean end, and whether the framing marked it. Steps carried
//! out: none. An error is handed to whoever knows the connection.
//!
//! Rule: a frame is asked for only when the last one is used up, so that a slow reader stops the network.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf;
use http::{Version, header, response};
use http_body::Body;
use mcp_sse_core::exchange::{Exchange, Framing, Misuse};
use mcp_sse_core::http::ResponseHead;

use crate::clock::Clock;

/// What a step of reading came to.
pub(crate) enum Piece<E> {
    /// Something was reported, or there was nothing to report.
    Reported,
    /// The body failed.
    Failed(E),
}

/// The body of a response.
#[derive(Debug)]
pub(crate) struct Reader<B: Body> {
    body: Pin<Box<B>>,
    /// What is left of the last frame.
    frame: Option<B::Data>,
    framing: Framing,
    pub(crate) is_chunked: bool,
    pub(crate) has_ended: bool,
    /// Bytes of data, so far.
    pub(crate) received: u64,
}

/// The facts of a head.
pub(crate) fn head(parts: &response::Parts) -> ResponseHead {
    let headers = parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    ResponseHead::from_headers(parts.status.as_u16(), headers)
}

impl<B: Body> Reader<B> {
    pub(crate) fn new(parts: &response::Parts, head: &ResponseHead, body: B) -> Self {
        let is_chunked =
            parts.version <= Version::HTTP_11
                && parts.headers.get_all(header::TRANSFER_ENCODING).iter().next_back().is_some_and(|coding| {
                    coding.as_bytes().to_ascii_lowercase().trim_ascii_end().ends_with(b"chunked")
                });
        // A body that is known to be empty before it is read has its end marked by its head.
        let is_marked = is_chunked || head.content_length().is_some() || body.is_end_stream();
        Self {
            body: Box::pin(body),
            frame: None,
            framing: if is_marked { Framing::Marked } else { Framing::Unmarked },
            is_chunked,
            has_ended: false,
            received: 0,
        }
    }

    /// Whether nothing comes any more, so that the end needs no waiting for.
    pub(crate) fn is_at_end(&self) -> bool {
        self.frame.is_none() && self.body.is_end_stream()
    }

    /// Gives the exchange what there is, up to its next event.
    pub(crate) fn poll(
        &mut self,
        exchange: &mut Exchange,
        clock: Clock,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Piece<B::Error>, Misuse>> {
        if self.has_ended {
            return Poll::Pending;
        }
        if let Some(frame) = &mut self.frame {
            let chunk = frame.chunk();
            let mut rest = chunk;
            let result = exchange.on_body(&mut rest, clock.now());
            let used = chunk.len() - rest.len();
            frame.advance(used);
            if !frame.has_remaining() {
                self.frame = None;
            }
            return Poll::Ready(result.map(|()| Piece::Reported));
        }
        match self.poll_frame(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(()))) => Poll::Ready(exchange.on_timeout(clock.now()).map(|()| Piece::Reported)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Ok(Piece::Failed(error))),
            Poll::Ready(None) => Poll::Ready(exchange.on_end(self.framing, clock.now()).map(|()| Piece::Reported)),
        }
    }

    /// Reads a frame and drops it; ready once there are none any more.
    pub(crate) fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.frame = None;
            if self.has_ended {
                return Poll::Ready(());
            }
            match self.poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Err(_))) => self.has_ended = true,
                Poll::Ready(_) => {}
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<(), B::Error>>> {
        Poll::Ready(match std::task::ready!(self.body.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    if data.has_remaining() {
                        self.received = self.received.saturating_add(data.remaining() as u64);
                        self.frame = Some(data);
                    }
                }
                Some(Ok(()))
            }
            Some(Err(error)) => Some(Err(error)),
            None => {
                self.has_ended = true;
                None
            }
        })
    }
}
