//! D1 to D9 without a gap: every string over a small alphabet decodes as the oracle says, however it is cut.

use std::thread;

use mcp_sse_tests::chunking::{assert_agrees, cut};
use mcp_sse_tests::oracle;

/// Line ends, the BOM, colons and spaces, a lead byte that nothing completes but the BOM's tail.
const FRAMING: [&[u8]; 9] = [b"data:", b":", b" ", b"\n", b"\r", b"\xEF\xBB\xBF", b"x", b"\xE2", b"id:"];

/// The fields, what spoils them, and a character of four bytes in pieces.
const FIELDS: [&[u8]; 10] = [b"data", b"event:", b"id:", b"retry:", b"\0", b"7", b"\n", b"\r", b"\xF0\x9F", b"\x98"];

/// Checks every string of exactly `length` symbols, on two threads.
fn walk(alphabet: &'static [&'static [u8]], length: u32) {
    thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                let strings = alphabet.len().pow(length);
                let mut bytes = Vec::new();
                for mut number in (half..strings).step_by(2) {
                    bytes.clear();
                    for _ in 0..length {
                        bytes.extend_from_slice(alphabet[number % alphabet.len()]);
                        number /= alphabet.len();
                    }
                    check(&bytes);
                }
            });
        }
    });
}

/// Whole, in two chunks cut at every byte, and byte by byte.
fn check(bytes: &[u8]) {
    let expected = oracle::read(bytes);
    for edge in 0..=bytes.len() {
        let (first, second) = bytes.split_at(edge);
        assert_agrees(&[first, second], &expected);
    }
    let places: Vec<usize> = (1..bytes.len()).collect();
    assert_agrees(&cut(bytes, &places), &expected);
}

/// D9, with D1, D2 and D3: every string of framing symbols up to length seven.
#[test]
fn d9_every_short_string_of_framing() {
    for length in 0..=7 {
        walk(&FRAMING, length);
    }
}

/// D9, with D4 to D8: every string of fields up to length five.
#[test]
fn d9_every_short_string_of_fields() {
    for length in 0..=5 {
        walk(&FIELDS, length);
    }
}
