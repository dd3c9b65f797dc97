//! What the machine can do with the same bytes in the same chunks: no decoder is faster than all of these together.
//!
//! Each gives a number that depends on its work, so that the compiler cannot leave it out.

use std::hint::black_box;

use memchr::{memchr2, memchr2_iter};

/// A pass over a stream in chunks.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// What the table calls it.
    pub name: &'static str,
    /// Does it.
    pub run: fn(&[u8], usize) -> u64,
}

/// Line ends found one after another and counted: what any decoder pays that calls memchr once per line.
pub const LINE_ENDS: Limit = Limit { name: "memchr2_iter", run: count_line_ends };

/// All bytes copied to memory that was not touched before, as one large event is.
pub const COPY: Limit = Limit { name: "memcpy, fresh", run: copy_fresh };

/// All.
pub const LIMITS: [Limit; 5] = [
    LINE_ENDS,
    COPY,
    Limit { name: "memcpy, warm", run: copy_warm },
    Limit { name: "simdutf8", run: validate },
    Limit { name: "stateless scan", run: scan },
];

/// How many LF and CR there are.
pub fn count_line_ends(stream: &[u8], chunk_bytes: usize) -> u64 {
    stream.chunks(chunk_bytes).map(|chunk| memchr2_iter(b'\n', b'\r', chunk).count() as u64).sum()
}

fn copy_fresh(stream: &[u8], chunk_bytes: usize) -> u64 {
    let mut copy = Vec::with_capacity(stream.len());
    for chunk in stream.chunks(chunk_bytes) {
        copy.extend_from_slice(chunk);
    }
    black_box(&copy).len() as u64
}

fn copy_warm(stream: &[u8], chunk_bytes: usize) -> u64 {
    let mut copy = Vec::with_capacity(chunk_bytes.min(stream.len()));
    let mut bytes = 0;
    for chunk in stream.chunks(chunk_bytes) {
        copy.clear();
        copy.extend_from_slice(chunk);
        bytes += black_box(&copy).len() as u64;
    }
    bytes
}

/// Chunks that end within a character are not UTF-8, and not told apart here.
fn validate(stream: &[u8], chunk_bytes: usize) -> u64 {
    stream.chunks(chunk_bytes).map(|chunk| u64::from(simdutf8::basic::from_utf8(black_box(chunk)).is_ok())).sum()
}

/// Finds lines, tells fields by their names, validates values and lends them; keeps no state, so that it does all of the
/// work only where events lie whole in a chunk.
fn scan(stream: &[u8], chunk_bytes: usize) -> u64 {
    let mut tally = 0;
    for chunk in stream.chunks(chunk_bytes) {
        let mut rest = chunk;
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, after) = rest.split_at(end);
            rest = &after[1..];
            let value = line.strip_prefix(b"data: ").or_else(|| line.strip_prefix(b"id: "));
            if let Some(text) = value.or_else(|| line.strip_prefix(b"event: ")).map(simdutf8::basic::from_utf8) {
                tally += black_box(text).map_or(0, str::len) as u64;
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::count_line_ends;

    /// It counts line ends, whatever the chunks.
    #[test]
    fn counts_line_ends() {
        let stream = b"data: a\r\ndata: b\n\n\r: c".repeat(100);
        for chunk_bytes in [1, 7, 64, usize::MAX] {
            assert_eq!(count_line_ends(&stream, chunk_bytes), 500);
        }
    }
}
