//! `sseer`: a stream of `bytes::Bytes` in, events that share them out.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::slice;
use std::task::{Context, Poll, Waker};

use ::sseer::EventStream;
use bytes::Bytes;
use futures_core::Stream;

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct Sseer;

impl Engine for Sseer {
    const NAME: &'static str = "sseer 0.3.1";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut events = pin!(EventStream::new(Shared(stream.chunks(chunk_bytes))));
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = events.as_mut().poll_next(&mut context) {
            let event = event?;
            sink.event(&event.event, &event.data, &event.id);
        }
        Ok(())
    }
}

/// Chunks that are shared without a count, which is the cheapest way to share.
struct Shared(slice::Chunks<'static, u8>);

impl Stream for Shared {
    type Item = Result<Bytes, Infallible>;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(|chunk| Ok(Bytes::from_static(chunk))))
    }
}
