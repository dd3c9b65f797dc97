//! `mcp-sse-core`: slices in, events lent from them. `Owned` adds what a caller pays who keeps all of each event.

use mcp_sse_core::sse::SseDecoder;

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct Lent;

impl Engine for Lent {
    const NAME: &'static str = "mcp-sse-core";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut decoder = SseDecoder::new();
        for chunk in stream.chunks(chunk_bytes) {
            let mut rest = chunk;
            while let Some(event) = decoder.decode(&mut rest)? {
                sink.event(event.kind(), event.data(), event.last_event_id());
            }
        }
        Ok(())
    }
}

pub(super) struct Owned;

impl Engine for Owned {
    const NAME: &'static str = "mcp-sse-core, owned";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut decoder = SseDecoder::new();
        for chunk in stream.chunks(chunk_bytes) {
            let mut rest = chunk;
            while let Some(event) = decoder.decode(&mut rest)? {
                let event = event.to_owned();
                sink.event(&event.kind, &event.data, &event.last_event_id);
            }
        }
        Ok(())
    }
}
