//! `sse-stream` 0.2.6, which the official SDK (rmcp 3.11) decodes with, behind a limiter of its own that is not here.
//! Blocks without data are no events, and are passed over.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream as _;

use super::{Chunks, Engine, Failure};
use crate::sink::Sink;

pub(super) struct SseStream02;

impl Engine for SseStream02 {
    const NAME: &'static str = "sse-stream 0.2.6";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut events = pin!(sse_stream_02::SseStream::from_bytes_stream(Chunks(stream.chunks(chunk_bytes))));
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(block)) = events.as_mut().poll_next(&mut context) {
            let block = block?;
            if let Some(data) = &block.data {
                let kind = block.event.as_deref().unwrap_or("message");
                sink.event(kind, data, block.id.as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }
}
