//! The published fault PF-S02: data survives encode and decode, whatever is in it.

use mcp_sse_core::sse::{EventFields, SseDecoder, SseEncoder};

/// What is written, and what is read.
const ROWS: &[(&str, &str)] = &[
    ("a\nb", "a\nb"),
    ("a\r\nb", "a\nb"),
    ("a\revent: x\rb", "a\nevent: x\nb"),
    ("", ""),
    (" lead", " lead"),
    (": not a comment", ": not a comment"),
    ("id: 9", "id: 9"),
    ("\n", "\n"),
    ("x\n", "x\n"),
    ("a\n\nb", "a\n\nb"),
    ("a\u{2028}b\u{85}c\u{b}d", "a\u{2028}b\u{85}c\u{b}d"),
    ("\u{feff}x", "\u{feff}x"),
];

fn written(data: &str) -> String {
    let mut out = Vec::new();
    SseEncoder::new(&mut out).event(EventFields::default(), data).unwrap();
    String::from_utf8(out).unwrap()
}

/// S1, PF-S02.
#[test]
fn s1_data_survives_encode_and_decode_whatever_is_in_it() {
    for (data, expected) in ROWS {
        let out = written(data);
        let mut decoder = SseDecoder::new();
        let mut bytes = out.as_bytes();
        let event = decoder.decode(&mut bytes).unwrap().unwrap().to_owned();
        assert_eq!((event.kind.as_str(), event.data.as_str()), ("message", *expected));
        assert!(decoder.decode(&mut bytes).unwrap().is_none() && bytes.is_empty());
    }
}

/// S1, PF-S02: on the wire.
#[test]
fn s1_each_line_is_a_data_line_and_a_leading_space_is_kept() {
    assert_eq!(written("a\revent: x\rb"), "data: a\ndata: event: x\ndata: b\n\n");
    assert_eq!(written(""), "data:\n\n");
    assert_eq!(written(" lead"), "data:  lead\n\n");
    assert_eq!(written("x\n"), "data: x\ndata:\n\n");
}
