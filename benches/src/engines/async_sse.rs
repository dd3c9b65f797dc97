//! `async-sse`: an `AsyncBufRead` in, which lends it the chunks.

use std::io;
use std::pin::{Pin, pin};
use std::slice;
use std::task::{Context, Poll, Waker};

use ::async_sse::Event;
use futures_core::Stream as _;
use futures_io::{AsyncBufRead, AsyncRead};

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct AsyncSse;

impl Engine for AsyncSse {
    const NAME: &'static str = "async-sse 5.1.0";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut events = pin!(::async_sse::decode(Reader { chunk: &[], chunks: stream.chunks(chunk_bytes) }));
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = events.as_mut().poll_next(&mut context) {
            if let Event::Message(message) = event? {
                let data = std::str::from_utf8(message.data())?;
                sink.event(message.name(), data, message.id().as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }
}

struct Reader {
    chunk: &'static [u8],
    chunks: slice::Chunks<'static, u8>,
}

impl AsyncRead for Reader {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut [u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

impl AsyncBufRead for Reader {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let reader = self.get_mut();
        if reader.chunk.is_empty() {
            reader.chunk = reader.chunks.next().unwrap_or_default();
        }
        Poll::Ready(Ok(reader.chunk))
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        let reader = self.get_mut();
        reader.chunk = reader.chunk.get(amount..).unwrap_or_default();
    }
}
