//! D10: what the decoder says it keeps is what it was given and has not handed out: never less, and of a finished line
//! no more. An unfinished line may be kept as it came, name and colon included.

use mcp_sse_core::sse::SseDecoder;

fn read(decoder: &mut SseDecoder, chunk: &str) {
    let mut input = chunk.as_bytes();
    while decoder.decode(&mut input).expect("within the limits").is_some() {}
    assert!(input.is_empty());
}

/// Each part alone: of a finished line its value, of an unfinished one its value at least and all of it at most.
#[test]
fn d10_each_part_that_is_kept_counts_once() {
    for (chunks, least, most) in [
        (&["da"][..], 2, 2),
        (&["data: abc"], 3, 9),
        (&["data: abc", "de"], 5, 11),
        (&["id: 12"], 2, 6),
        (&["id: 12\n"], 2, 2),
        (&["id: 12\n\n"], 2, 2),
        (&["event: ping\n"], 4, 4),
        (&["event: ping\n\n"], 0, 0),
        (&[": a comment", " that goes on"], 0, 0),
        (&["unknown: value"], 0, 14),
        (&["id: 12\n\nid: 345\n"], 5, 5),
    ] {
        let mut decoder = SseDecoder::new();
        for chunk in chunks {
            read(&mut decoder, chunk);
        }
        let held = decoder.held_bytes();
        assert!((least..=most).contains(&held), "{held} bytes after {chunks:?}");
    }
}

/// All parts together are their sum: the last event id, this block's, its type, its data, a line that has begun, and
/// what was fed and not read.
#[test]
fn d10_what_is_kept_is_the_sum_of_its_parts() {
    let mut decoder = SseDecoder::new();
    let mut expected = 0;
    for (chunk, kept) in [("id: 1\n\n", 1), ("id: 234\n", 3), ("event: ping\n", 4)] {
        read(&mut decoder, chunk);
        expected += kept;
        assert_eq!(decoder.held_bytes(), expected, "after {chunk:?}");
    }
    read(&mut decoder, "data: abcdefg\n");
    // A byte may be kept that joins it to a next line.
    assert!((expected + 7..=expected + 8).contains(&decoder.held_bytes()), "{} bytes", decoder.held_bytes());
    expected = decoder.held_bytes();
    read(&mut decoder, "dat");
    assert_eq!(decoder.held_bytes(), expected + 3);
    drop(decoder.feed(b"a: h\n\nmore"));
    assert_eq!(decoder.held_bytes(), expected + 3 + 10);
    // All of it but the begun name has room of its own.
    assert!(decoder.capacity_bytes() >= expected + 10);
}
