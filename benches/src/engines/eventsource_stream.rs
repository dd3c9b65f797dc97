//! `eventsource-stream`, the most downloaded one: a stream of anything that is `AsRef<[u8]>` in.
//!
//! It moves the rest of its buffer after every line, and searches an unfinished line anew with every chunk, so its
//! work grows with the square of both.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ::eventsource_stream::EventStream;
use futures_core::Stream as _;

use super::{Chunks, Engine, Failure};
use crate::sink::Sink;

pub(super) struct EventsourceStream;

impl Engine for EventsourceStream {
    const NAME: &'static str = "eventsource-stream 0.2.3";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut events = pin!(EventStream::new(Chunks(stream.chunks(chunk_bytes))));
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = events.as_mut().poll_next(&mut context) {
            let event = event?;
            sink.event(&event.event, &event.data, &event.id);
        }
        Ok(())
    }
}
