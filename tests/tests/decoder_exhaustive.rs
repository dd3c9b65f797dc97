//! D1 to D9 without a gap: every string over a small alphabet decodes as the oracle says, however it is cut.

use std::thread;

use mcp_sse_tests::chunking::{assert_agrees, cut};
use mcp_sse_tests::oracle;

/// Line ends, the BOM, colons and spaces, a lead byte that nothing completes but the BOM's tail.
const FRAMING: [&[u8]; 9] = [
    b"data:",
    b":",
    b" ",
    b"\n",
    b"\r",
    b"\xEF\xBB\xBF",
    b"x",
    b"\xE2",
    b"id:",
];

/// The fields, what spoils them, and a character of four bytes in pieces.
const FIELDS: [&[u8]; 10] = [
    b"data",
    b"event:",
    b"id:",
    b"retry:",
    b"\0",
    b"7",
    b"\n",
    b"\r",
    b"\xF0\x9F",
    b"\x98",
];

/// Walks every string of exactly `length` symbols, on two threads. At every byte when `each_byte`, else at the
/// symbols' edges and byte by byte.
fn walk(alphabet: &'static [&'static [u8]], length: usize, each_byte: bool) {
    thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                let strings = alphabet.len().pow(length.try_into().unwrap());
                let mut bytes = Vec::new();
                let mut edges = Vec::new();
                for mut number in (half..strings).step_by(2) {
                    bytes.clear();
                    edges.clear();
                    for _ in 0..length {
                        edges.push(bytes.len());
                        bytes.extend_from_slice(alphabet[number % alphabet.len()]);
                        number /= alphabet.len();
                    }
                    if each_byte {
                        edges.clear();
                        edges.extend(0..bytes.len());
                    }
                    check(&bytes, &edges);
                }
            });
        }
    });
}

fn check(bytes: &[u8], edges: &[usize]) {
    let expected = oracle::read(bytes);
    assert_agrees(&[bytes], &expected);
    for &edge in edges {
        let (first, second) = bytes.split_at(edge);
        assert_agrees(&[first, second], &expected);
    }
    let places: Vec<usize> = (1..bytes.len()).collect();
    assert_agrees(&cut(bytes, &places), &expected);
}

/// D9, with D1, D2 and D3: every string up to length six, at every byte.
#[test]
fn d9_every_short_string_at_every_byte() {
    for length in 0..=6 {
        walk(&FRAMING, length, true);
    }
}

/// D9, with D1, D2 and D3: every string of length seven, at the edges of its symbols and byte by byte.
#[test]
fn d9_every_string_of_seven_symbols() {
    walk(&FRAMING, 7, false);
}

/// D4 to D8: every string of fields up to length five, at every byte.
#[test]
fn d4_every_short_string_of_fields() {
    for length in 0..=5 {
        walk(&FIELDS, length, true);
    }
}
