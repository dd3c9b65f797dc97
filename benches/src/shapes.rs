//! Streams of any size that make some decoder quadratic, fed from little memory.
//!
//! Rules of this file:
//! * A stream is a start, a pattern over and over, and an end. It is fed from the pattern, so that a large one does not come from
//!   slower memory than a small one; only what must be one chunk is made in full.
//! * Every shape gives a number of events that is known, and running it checks them.

use std::hint::black_box;

use mcp_sse_core::sse::{DecoderConfig, SseDecoder};

/// A TCP segment's payload on Ethernet.
pub const CHUNK: usize = 1460;

/// 1 MiB.
pub const MIB: usize = 1024 * 1024;

/// Larger than any event here.
const LIMIT: usize = 1024 * MIB;

/// A shape of stream.
#[derive(Debug)]
pub struct Shape {
    /// What tables call it.
    pub name: &'static str,
    start: &'static str,
    pattern: fn() -> Vec<u8>,
    /// Fed in chunks, else at once.
    in_chunks: bool,
    /// Whether the event collects all of it.
    is_event: bool,
}

/// All.
pub static SHAPES: [Shape; 8] = [
    Shape { name: "one event", start: "data: ", pattern: filler, in_chunks: true, is_event: true },
    Shape { name: "one event of CJK", start: "data: ", pattern: cjk, in_chunks: true, is_event: true },
    Shape { name: "many data lines", start: "", pattern: lines, in_chunks: true, is_event: true },
    Shape { name: "many empty data lines", start: "", pattern: empty_lines, in_chunks: true, is_event: true },
    Shape { name: "an endless comment", start: ": ", pattern: filler, in_chunks: true, is_event: false },
    Shape { name: "an endless unknown field", start: "unknown: ", pattern: filler, in_chunks: true, is_event: false },
    Shape { name: "an endless id", start: "id: ", pattern: filler, in_chunks: true, is_event: false },
    Shape { name: "small events in one chunk", start: "", pattern: events, in_chunks: false, is_event: false },
];

/// One line without an end.
fn filler() -> Vec<u8> {
    vec![b'x'; CHUNK]
}

/// The same, of characters that most chunks' edges cut.
fn cjk() -> Vec<u8> {
    "\u{4E16}".repeat(CHUNK).into_bytes()
}

/// Lines that most chunks' edges cut.
fn lines() -> Vec<u8> {
    format!("data: {}\n", "x".repeat(1017)).repeat(CHUNK / 4).into_bytes()
}

fn empty_lines() -> Vec<u8> {
    "data\n".repeat(CHUNK).into_bytes()
}

const EVENT: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";

fn events() -> Vec<u8> {
    EVENT.repeat(MIB / EVENT.len()).into_bytes()
}

/// A shape with its bytes at hand.
#[derive(Debug)]
pub struct Stream {
    shape: &'static Shape,
    bytes: Vec<u8>,
}

impl Stream {
    /// For sizes up to `most` bytes.
    pub fn new(shape: &'static Shape, most: usize) -> Self {
        let pattern = (shape.pattern)();
        let bytes = if shape.in_chunks { pattern } else { pattern.repeat(most.div_ceil(pattern.len())) };
        Self { shape, bytes }
    }

    /// Decodes a stream of this shape and of about `bytes` bytes. Gives how many events came, and the bytes of their data.
    ///
    /// # Panics
    /// If the decoder's limit is passed.
    pub fn decode(&self, decoder: &mut SseDecoder, bytes: usize) -> (u64, usize) {
        let mut tally = (0, 0);
        feed(decoder, self.shape.start.as_bytes(), &mut tally);
        if self.shape.in_chunks {
            let mut left = bytes;
            'all: loop {
                for chunk in self.bytes.chunks(CHUNK) {
                    if left < CHUNK {
                        break 'all;
                    }
                    left -= chunk.len();
                    feed(decoder, chunk, &mut tally);
                }
            }
        } else {
            let whole = bytes - bytes % EVENT.len();
            feed(decoder, &self.bytes[..whole], &mut tally);
        }
        // A comment or an id gives none, so one follows.
        feed(decoder, if self.shape.is_event { b"\n\n" } else { b"\n\ndata: end\n\n" }, &mut tally);
        tally
    }

    /// The same with a fresh decoder, and its outcome checked.
    ///
    /// # Panics
    /// If the events are not those that were fed.
    pub fn run(&self, bytes: usize) {
        let mut decoder = decoder();
        let (events, data) = self.decode(&mut decoder, black_box(bytes));
        let expected = if self.shape.in_chunks { 1 } else { (bytes / EVENT.len()) as u64 + 1 };
        assert_eq!(events, expected, "{}", self.shape.name);
        let least = match self.shape.name {
            "many empty data lines" => bytes / 5 - CHUNK,
            _ if self.shape.is_event => bytes - bytes / 100 - CHUNK,
            _ => 3,
        };
        assert!(data >= least, "{}: {data} of {least}", self.shape.name);
    }
}

/// One that takes events of all sizes used here.
#[must_use]
pub fn decoder() -> SseDecoder {
    SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(LIMIT))
}

fn feed(decoder: &mut SseDecoder, chunk: &[u8], (events, bytes): &mut (u64, usize)) {
    let mut rest = chunk;
    while let Some(event) = decoder.decode(&mut rest).expect("no limit is passed") {
        *events += 1;
        *bytes += black_box(event.data()).len();
    }
}
