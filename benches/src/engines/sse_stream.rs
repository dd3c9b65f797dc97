//! `sse-stream`: a stream of `bytes::Buf` in, blocks out. Blocks without data are no events, and are passed over.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ::sse_stream::SseByteStream;
use futures_core::Stream as _;

use super::{Chunks, Engine, Failure};
use crate::sink::Sink;

pub(super) struct SseStream;

impl Engine for SseStream {
    const NAME: &'static str = "sse-stream 0.3.0";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut events = pin!(SseByteStream::new(Chunks(stream.chunks(chunk_bytes))));
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
