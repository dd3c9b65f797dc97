//! Ways to cut a stream into chunks, and driving the decoder over them.
//!
//! Rule: a check compares event by event with what was expected, so that an exhaustive test can run it millions of
//! times; only a failure spends time on a report.

use mcp_sse_core::sse::{Event, Finish, SseDecoder, Tail};

use crate::oracle::{self, Reading};

/// The chunks of `bytes` cut at the given places, in ascending order.
pub fn cut<'b>(bytes: &'b [u8], places: &[usize]) -> Vec<&'b [u8]> {
    let mut from = 0;
    let mut chunks = Vec::new();
    for &place in places.iter().chain([&bytes.len()]) {
        chunks.push(&bytes[from..place]);
        from = place;
    }
    chunks
}

/// Calls `check` with `bytes` whole; in two and in three chunks, cut at every place (neighbouring places, the start
/// and the end give empty chunks); byte by byte; and byte by byte with empty chunks between.
pub fn every_way(bytes: &[u8], mut check: impl FnMut(&[&[u8]])) {
    check(&[bytes]);
    for first in 0..=bytes.len() {
        check(&cut(bytes, &[first]));
        for second in first..=bytes.len() {
            check(&cut(bytes, &[first, second]));
        }
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    check(&single);
    let spaced: Vec<&[u8]> = single.iter().flat_map(|chunk| [&[][..], chunk, &[][..]]).collect();
    check(&spaced);
}

/// Whether the decoder, fed these chunks and then ended both ways, says what `expected` says.
pub fn agrees(chunks: &[&[u8]], expected: &Reading) -> bool {
    let mut decoder = SseDecoder::new();
    let mut events = expected.events.iter();
    for &chunk in chunks {
        let mut input = chunk;
        loop {
            match decoder.decode(&mut input) {
                Ok(Some(event)) if events.next().is_some_and(|expected| same(&event, expected)) => {}
                Ok(None) if input.is_empty() => break,
                _ => return false,
            }
        }
    }
    if events.next().is_some()
        || decoder.last_event_id() != expected.last_event_id
        || retry_of(&decoder) != expected.retry
        || decoder.position() != chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>()
    {
        return false;
    }
    let mut flushing = (expected.tail != oracle::Tail::Nothing).then(|| decoder.clone());
    let finished = decoder.finish(Finish::Strict);
    if finished.event.is_some()
        || finished.error.is_some()
        || tail_of(finished.tail) != expected.tail
        || finished.discarded_fields != expected.discarded_fields
        || decoder.last_event_id() != expected.last_event_id
        || retry_of(&decoder) != expected.retry
    {
        return false;
    }
    let Some(decoder) = &mut flushing else {
        return expected.flushed.is_none();
    };
    let finished = decoder.finish(Finish::Flush);
    let agrees = tail_of(finished.tail) == expected.tail
        && match (&finished.event, &expected.flushed) {
            (Some(event), Some(expected)) => same(event, expected),
            (None, None) => true,
            _ => false,
        };
    agrees && finished.error.is_none() && retry_of(decoder) == expected.flushed_retry
}

/// [`agrees`], as an assertion.
pub fn assert_agrees(chunks: &[&[u8]], expected: &Reading) {
    if !agrees(chunks, expected) {
        let cut: Vec<String> = chunks.iter().map(|chunk| chunk.escape_ascii().to_string()).collect();
        panic!("chunks {cut:?}\nexpected {expected:?}\ndecoded  {:?}", events_of(chunks));
    }
}

/// The events that the decoder gives for these chunks.
pub fn events_of(chunks: &[&[u8]]) -> Vec<oracle::Event> {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    for &chunk in chunks {
        let mut input = chunk;
        while let Some(event) = decoder.decode(&mut input).expect("no limit is passed") {
            events.push(owned(&event));
        }
    }
    events
}

/// An event in the oracle's words.
pub fn owned(event: &Event<'_>) -> oracle::Event {
    let event = event.to_owned();
    oracle::Event { kind: event.kind, data: event.data, last_event_id: event.last_event_id }
}

/// A tail in the oracle's words.
pub fn tail_of(tail: Tail) -> oracle::Tail {
    match tail {
        Tail::Nothing => oracle::Tail::Nothing,
        Tail::PartialLine => oracle::Tail::PartialLine,
        Tail::PartialEvent => oracle::Tail::PartialEvent,
        other => panic!("no word for {other:?}"),
    }
}

/// `retry` in milliseconds.
pub fn retry_of(decoder: &SseDecoder) -> Option<u64> {
    decoder.retry().map(|retry| u64::try_from(retry.as_millis()).unwrap())
}

fn same(event: &Event<'_>, expected: &oracle::Event) -> bool {
    event.data() == expected.data && event.kind() == expected.kind && event.last_event_id() == expected.last_event_id
}

/// A small generator of numbers (xorshift), so that a random test does the same on every run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }

    /// One of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
