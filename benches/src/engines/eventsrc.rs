//! `eventsrc`: a stream of anything that is `AsRef<[u8]>` in.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ::eventsrc::EventStream;
use futures_core::Stream as _;

use super::{Chunks, Engine, Failure};
use crate::sink::Sink;

pub(super) struct Eventsrc;

impl Engine for Eventsrc {
    const NAME: &'static str = "eventsrc 0.0.2";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut events = pin!(EventStream::new(Chunks(stream.chunks(chunk_bytes))));
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = events.as_mut().poll_next(&mut context) {
            let event = event?;
            sink.event(event.event(), event.data(), event.id());
        }
        Ok(())
    }
}
