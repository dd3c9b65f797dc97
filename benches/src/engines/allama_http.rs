//! `allama-http`, its module `sse`: slices in, one event after another out.

use ::allama_http::sse::SseDecoder;

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct AllamaHttp;

impl Engine for AllamaHttp {
    const NAME: &'static str = "allama-http 0.3.0";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let mut decoder = SseDecoder::new().max_event_size(usize::MAX);
        for chunk in stream.chunks(chunk_bytes) {
            decoder.push(chunk);
            while let Some(event) = decoder.next_event()? {
                sink.event(&event.event, &event.data, event.id.as_deref().unwrap_or_default());
            }
        }
        Ok(())
    }
}
