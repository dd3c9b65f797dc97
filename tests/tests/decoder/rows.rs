//! D1 to D8, one rule each, with the strings that show it. (D9 is `decoder_exhaustive.rs`, D10 `decoder_limits.rs`,
//! D11 `decoder_memory.rs`, D12 `decoder_parts.rs`.)

use std::time::Duration;

use mcp_sse_core::sse::{Finish, SseDecoder, Tail};
use mcp_sse_tests::chunking::{events_of, owned};
use mcp_sse_tests::oracle::Event;

fn data_of(chunks: &[&[u8]]) -> Vec<String> {
    events_of(chunks).into_iter().map(|event| event.data).collect()
}

fn event(kind: &str, data: &str, last_event_id: &str) -> Event {
    Event { kind: kind.to_owned(), data: data.to_owned(), last_event_id: last_event_id.to_owned() }
}

#[test]
fn d1_line_ends_mixed_at_will() {
    assert_eq!(data_of(&[b"data:a\r\ndata:b\rdata:c\n\r\ndata:d\n\rdata:e\r\r"]), ["a\nb\nc", "d", "e"]);
    let others = "data:a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f\n\n";
    assert_eq!(data_of(&[others.as_bytes()]), ["a\u{2028}b\u{2029}c\u{85}d\u{B}e\u{C}f"]);
}

#[test]
fn d1_a_cr_ends_its_line_at_once() {
    let mut decoder = SseDecoder::new();
    let mut input = &b"data: a\r\n\r"[..];
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data(), "a");
    // The LF of that CR, after an empty chunk; then one that ends a line of its own.
    for chunk in [&b""[..], b"\n", b"data: b\n", b"\n"] {
        input = chunk;
        let event = decoder.decode(&mut input).unwrap().map(|event| owned(&event));
        assert_eq!(event.is_some(), chunk == b"\n" && decoder.position() > 11);
        assert!(input.is_empty());
    }
}

#[test]
fn d2_one_leading_bom_is_dropped() {
    assert_eq!(data_of(&[b"\xEF", b"", b"\xBB", b"\xBFdata: a\n\n"]), ["a"]);
    assert_eq!(data_of(&[b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\ndata: \xEF\xBB\xBFb\n\n"]), ["\u{FEFF}b"]);
    // What only began like one is the name of an unknown field.
    assert_eq!(data_of(&[b"\xEF\xBB", b"data: a\ndata: b\n\n"]), ["b"]);
    assert_eq!(data_of(&[b"\xEF", b"\ndata: b\n\n"]), ["b"]);
    let mut decoder = SseDecoder::new();
    assert!(decoder.decode(&mut &b"\xEF\xBB"[..]).unwrap().is_none());
    assert_eq!(decoder.finish(Finish::Strict).tail, Tail::PartialLine);
}

#[test]
fn d3_maximal_subparts_become_replacement_characters() {
    let cases: [(&[u8], &str); 8] = [
        (b"a\xFFb", "a\u{FFFD}b"),
        (b"\x80\x80", "\u{FFFD}\u{FFFD}"),
        (b"\xE4\xB8", "\u{FFFD}"),
        (b"\xF0\x9F\x98x", "\u{FFFD}x"),
        (b"\xF0\x9F\xF0\x9F\x98\x80", "\u{FFFD}\u{1F600}"),
        (b"\xC0\xAF\xE0\x80\xAF", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
        (b"\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        (b"\xF4\x90\x80\x80\xF5", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
    ];
    for (bytes, text) in cases {
        let stream = [b"data: ", bytes, b"\nevent: ", bytes, b"\nid: ", bytes, b"\n\n"].concat();
        let expected = [event(text, text, text)];
        assert_eq!(events_of(&[&stream]), expected);
        assert_eq!(events_of(&stream.chunks(1).collect::<Vec<_>>()), expected);
    }
}

#[test]
fn d4_fields() {
    assert_eq!(data_of(&[b"data:a\ndata: b\ndata:  c\ndata:\td\ndata\n\n"]), ["a\nb\n c\n\td\n"]);
    assert_eq!(data_of(&[b"Data: no\ndatas: no\ndat: no\n data: no\ndata : no\nx\n:data: no\ndata: yes\n\n"]), ["yes"]);
    assert_eq!(events_of(&[b"event:a\nid:b\ndata:c:d\n\n"]), [event("a", "c:d", "b")]);
}

#[test]
fn d5_a_blank_line_dispatches_iff_data_was_seen() {
    assert_eq!(data_of(&[b"\n\n\r\r\r\n\n"]), [""; 0]);
    assert_eq!(
        events_of(&[b"event: a\nid: 1\ndata:\n\nevent: b\n\ndata: c\n\nevent: d\nevent:\ndata: e\n\n"]),
        [event("a", "", "1"), event("message", "c", "1"), event("message", "e", "1")]
    );
}

/// D5: the buffer of the last name is kept, its effect is not.
#[test]
fn d5_the_type_resets_whatever_came_before() {
    let mut names = ["a", "message", "", "a", "a", "b", "message", "b"].iter().cycle();
    let mut stream = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..16 {
        let name = names.next().unwrap();
        stream.extend(format!("event: {name}\ndata:1\n\ndata:2\n\n").bytes());
        expected.push(event(if name.is_empty() { "message" } else { name }, "1", ""));
        expected.push(event("message", "2", ""));
    }
    assert_eq!(events_of(&[&stream]), expected);
    assert_eq!(events_of(&stream.chunks(1).collect::<Vec<_>>()), expected);
}

#[test]
fn d6_ids() {
    let mut decoder = SseDecoder::new();
    let mut step = |bytes: &[u8]| {
        let mut input = bytes;
        while decoder.decode(&mut input).unwrap().is_some() {}
        decoder.last_event_id().to_owned()
    };
    assert_eq!(step(b"id: 1\n"), "");
    assert_eq!(step(b"\n"), "1");
    assert_eq!(step(b"id: 2\nid: 3\0\ndata: x\n"), "1");
    assert_eq!(step(b"\n"), "2");
    assert_eq!(step(b"data: x\n\n\n"), "2");
    assert_eq!(step(b"id\n\n"), "");
    assert_eq!(step(b"id:  4 \n\n"), " 4 ");
    // NUL at any place of an id of any length, whole in a chunk.
    for length in 1..40 {
        for at in 0..length {
            let id = format!("{}\0{}", "x".repeat(at), "y".repeat(length - at));
            assert_eq!(step(format!("id: {id}\ndata: x\n\n").as_bytes()), " 4 ");
        }
    }
    assert_eq!(step(b"id: 5\n\n"), "5");
}

#[test]
fn d7_retry() {
    let mut decoder = SseDecoder::new();
    let mut step = |bytes: &[u8]| {
        assert!(decoder.decode(&mut &*bytes).unwrap().is_none());
        decoder.retry()
    };
    assert_eq!(step(b"retry: 10"), None);
    assert_eq!(step(b"0\n"), Some(Duration::from_millis(100)));
    for bad in ["", " ", "-1", "+1", "1.5", "1e3", "10 ", "0x1", "١"] {
        assert_eq!(step(format!("retry: {bad}\n").as_bytes()), Some(Duration::from_millis(100)));
    }
    assert_eq!(step(b"retry:007\n"), Some(Duration::from_millis(7)));
    assert_eq!(step(b"retry: 18446744073709551615\n"), Some(Duration::from_millis(u64::MAX)));
    assert_eq!(step(b"retry:0\n"), Some(Duration::ZERO));
    assert_eq!(step(b"retry: 99999999999999999999999\n"), Some(Duration::from_millis(u64::MAX)));
}

#[test]
fn d8_what_was_left() {
    let cases: [(&[u8], Tail); 15] = [
        (b"", Tail::Nothing),
        (b"\xEF\xBB\xBF", Tail::Nothing),
        (b"data: a\n\n", Tail::Nothing),
        (b"data: a\n\r", Tail::Nothing),
        (b": hi\n", Tail::Nothing),
        (b"retry: 5\n", Tail::Nothing),
        (b"id: 5\r", Tail::Nothing),
        (b": hi", Tail::PartialLine),
        (b"retry: 5", Tail::PartialLine),
        (b"dat", Tail::PartialLine),
        (b"datax", Tail::PartialLine),
        (b"data", Tail::PartialEvent),
        (b"data: {", Tail::PartialEvent),
        (b"data: {}\n", Tail::PartialEvent),
        (b"data: {}\nid: 5\n: hi", Tail::PartialEvent),
    ];
    for (bytes, tail) in cases {
        for mode in [Finish::Strict, Finish::Flush] {
            let mut decoder = SseDecoder::new();
            let mut input = bytes;
            while decoder.decode(&mut input).unwrap().is_some() {}
            let finished = decoder.finish(mode);
            assert_eq!(finished.tail, tail, "{}", bytes.escape_ascii());
            assert_eq!(finished.event.is_some(), mode == Finish::Flush && tail == Tail::PartialEvent);
            assert_eq!(finished.error, None);
            // Once more changes nothing.
            let again = decoder.finish(mode);
            assert_eq!((again.tail, again.event.is_none(), again.discarded_fields), (Tail::Nothing, true, false));
        }
    }
}

#[test]
fn d8_strict_discards_and_flush_dispatches() {
    let bytes = b"id: 1\n\nid: 2\nevent: x\ndata: a\ndata: \xE4\xB8";
    let mut decoder = SseDecoder::new();
    assert!(decoder.decode(&mut &bytes[..]).unwrap().is_none());

    let mut strict = decoder.clone();
    let finished = strict.finish(Finish::Strict);
    assert!(finished.event.is_none() && finished.discarded_fields);
    assert_eq!(strict.last_event_id(), "1");

    let finished = decoder.finish(Finish::Flush);
    assert!(!finished.discarded_fields);
    assert_eq!(owned(&finished.event.unwrap()), event("x", "a\n\u{FFFD}", "2"));
    assert_eq!(decoder.last_event_id(), "2");

    // An unfinished `retry` counts as a line when flushed, an unfinished id without data has no block to end.
    assert!(decoder.decode(&mut &b"id: 3\nretry: 12"[..]).unwrap().is_none());
    let finished = decoder.finish(Finish::Flush);
    assert!(finished.event.is_none() && finished.discarded_fields);
    assert_eq!((decoder.last_event_id(), decoder.retry()), ("2", Some(Duration::from_millis(12))));
}

#[test]
fn d8_afterwards_a_new_stream_begins() {
    for mode in [Finish::Strict, Finish::Flush] {
        let mut decoder = SseDecoder::new();
        for chunk in [&b"id: 7\nretry: 9\n\nevent: lost\ndata: lost"[..], b"\r"] {
            assert!(decoder.decode(&mut &*chunk).unwrap().is_none());
        }
        let _ = decoder.finish(mode);
        assert_eq!(decoder.position(), 0);
        // Not the LF of the old stream's CR; a BOM may lead again.
        let mut input = &b"\xEF\xBB\xBF\ndata: a\n\n"[..];
        assert_eq!(owned(&decoder.decode(&mut input).unwrap().unwrap()), event("message", "a", "7"));
        assert_eq!((decoder.position(), decoder.retry()), (13, Some(Duration::from_millis(9))));
    }
}
