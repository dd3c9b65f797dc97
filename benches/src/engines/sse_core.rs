//! `sse-core`: takes any `bytes::Buf`, of which a slice is the plainest.

use std::num::NonZeroUsize;

use ::sse_core::{SseDecoder, SseEvent};

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct SseCore;

impl Engine for SseCore {
    const NAME: &'static str = "sse-core 0.2.3";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut decoder = SseDecoder::with_limit(NonZeroUsize::MAX);
        for chunk in stream.chunks(chunk_bytes) {
            let mut rest = chunk;
            while let Some(event) = decoder.next(&mut rest) {
                if let SseEvent::Message(event) = event? {
                    sink.event(&event.event, &event.data, event.last_event_id.as_deref().unwrap_or_default());
                }
            }
        }
        Ok(())
    }
}
