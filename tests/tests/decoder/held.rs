//! D10: what the decoder says it keeps is what it was given and has not handed out, to the byte.

use mcp_sse_core::sse::SseDecoder;

/// What is held after these chunks, each read to its end.
fn held(chunks: &[&str]) -> usize {
    let mut decoder = SseDecoder::new();
    for chunk in chunks {
        let mut input = chunk.as_bytes();
        while decoder.decode(&mut input).expect("within the limits").is_some() {}
    }
    decoder.held_bytes()
}

/// Each part alone: of a name its own letters, of a value those behind the colon.
#[test]
fn d10_each_part_that_is_kept_counts_once() {
    for (chunks, bytes) in [
        (&["da"][..], 2),
        (&["data: abc"], 3),
        (&["data: abc", "de"], 5),
        (&["id: 12"], 2),
        (&["id: 12\n"], 2),
        (&["id: 12\n\n"], 2),
        (&["event: ping\n"], 4),
        (&[": a comment", " that goes on"], 0),
        (&["unknown: value"], 0),
        (&["id: 12\n\nid: 345\n"], 5),
    ] {
        assert_eq!(held(chunks), bytes, "{chunks:?}");
    }
}

/// All parts together are their sum: the last event id, this block's, its type, its data, a line that has begun.
#[test]
fn d10_what_is_kept_is_the_sum_of_its_parts() {
    let mut decoder = SseDecoder::new();
    let mut expected = 0;
    for (chunk, kept) in [("id: 1\n\n", 1), ("id: 234\n", 3), ("event: ping\n", 4), ("data: abcd", 4), ("efg", 3)] {
        let mut input = chunk.as_bytes();
        assert!(decoder.decode(&mut input).expect("within the limits").is_none() && input.is_empty());
        expected += kept;
        assert_eq!(decoder.held_bytes(), expected, "after {chunk:?}");
    }
    // The line's end may cost a byte that joins lines; a name that has begun costs its letters.
    let mut input = &b"\n"[..];
    assert!(decoder.decode(&mut input).expect("within the limits").is_none());
    let before = decoder.held_bytes();
    let mut input = &b"dat"[..];
    assert!(decoder.decode(&mut input).expect("within the limits").is_none());
    assert_eq!(decoder.held_bytes(), before + 3);
    // What was fed and not read is kept whole.
    drop(decoder.feed(b"a: h\n\nmore"));
    assert_eq!(decoder.held_bytes(), before + 3 + 10);
}
