//! `sse-parse`: slices in, a queue of events out. It sets no limit by default.

use ::sse_parse::SseParser;

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct SseParse;

impl Engine for SseParse {
    const NAME: &'static str = "sse-parse 0.1.0";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut parser = SseParser::new();
        for chunk in stream.chunks(chunk_bytes) {
            parser.feed(chunk);
            while let Some(event) = parser.next_event() {
                sink.event(&event.event, &event.data, &event.id);
            }
        }
        Ok(())
    }
}
