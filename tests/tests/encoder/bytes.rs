//! What the encoder writes, to the byte, and what it costs.

use std::time::Duration;

use mcp_sse_core::sse::{EncodeError, EventFields, SseEncoder};

fn written(write: impl FnOnce(&mut SseEncoder<'_>)) -> String {
    let mut out = Vec::new();
    write(&mut SseEncoder::new(&mut out));
    String::from_utf8(out).unwrap()
}

/// S1.
#[test]
fn s1_an_event_is_its_fields_its_data_and_a_blank_line() {
    let fields = EventFields::default().with_kind("endpoint").with_id("2-7").with_retry(Duration::from_secs(2));
    let text = written(|encoder| encoder.event(fields, "?session_id=1").unwrap());
    assert_eq!(text, "event: endpoint\nid: 2-7\nretry: 2000\ndata: ?session_id=1\n\n");
}

/// S1: a name or id that could forge a field is found before anything is written.
#[test]
fn s1_a_line_break_or_nul_in_a_name_or_id_is_an_error_and_nothing_is_written() {
    for (bad, position) in [("a\nb", 1), ("\rb", 0), ("ab\0", 2)] {
        let text = written(|encoder| {
            let name = EventFields::default().with_kind(bad);
            assert_eq!(encoder.event(name, "x"), Err(EncodeError::Name { position }));
            assert_eq!(encoder.json(name, "{}"), Err(EncodeError::Name { position }));
            let id = EventFields::default().with_id(bad);
            assert_eq!(encoder.event(id, "x"), Err(EncodeError::Id { position }));
        });
        assert_eq!(text, "");
    }
}

/// S1: a wait is never shortened by rounding.
#[test]
fn s1_retry_is_whole_milliseconds_rounded_up_and_bounded() {
    let retry = |retry| written(|encoder| encoder.event(EventFields::default().with_retry(retry), "").unwrap());
    assert_eq!(retry(Duration::ZERO), "retry: 0\ndata:\n\n");
    assert_eq!(retry(Duration::from_micros(1)), "retry: 1\ndata:\n\n");
    assert_eq!(retry(Duration::from_micros(1_000_001)), "retry: 1001\ndata:\n\n");
    assert_eq!(retry(Duration::MAX), format!("retry: {}\ndata:\n\n", u64::MAX));
}

/// S1: pretty-printed JSON stays one line and the same value.
#[test]
fn s1_json_is_one_data_line_however_it_was_printed() {
    let pretty = "{\r\n  \"text\": \"a\\nb\",\r\t\"list\": [\n1,\n2\n]\n}\n";
    let text = written(|encoder| encoder.json(EventFields::default(), pretty).unwrap());
    let data = text.strip_prefix("data: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
    assert!(!data.contains(['\r', '\n']));
    let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    assert_eq!(value(data), value(pretty));
}

/// S1: what is no JSON is not made into some.
#[test]
fn s1_a_broken_text_given_as_json_forges_nothing() {
    let text = written(|encoder| encoder.json(EventFields::default(), "1\n2\nevent: evil\n\ndata: x").unwrap());
    assert_eq!(text, "data: 1 2 event: evil  data: x\n\n");
}

/// S1.
#[test]
fn s1_comments_stay_comments_line_by_line() {
    let text = written(|encoder| {
        encoder.comment("");
        encoder.comment("a\r\ndata: b\rc");
    });
    assert_eq!(text, ":\n\n: a\n: data: b\n: c\n\n");
}

/// S1: a buffer with room is never given up for another.
#[test]
fn s1_a_buffer_with_room_is_written_in_place() {
    let mut out = Vec::with_capacity(4096);
    let start = out.as_ptr();
    for _ in 0..8 {
        out.clear();
        let mut encoder = SseEncoder::new(&mut out);
        encoder.event(EventFields::default().with_kind("message").with_id("1"), "a\nb").unwrap();
        encoder.json(EventFields::default(), "{\n}").unwrap();
        encoder.comment("still here");
        assert_eq!((out.as_ptr(), out.capacity()), (start, 4096));
    }
}

/// S5: the room that an event takes is asked for at once, and is little more than what is written.
#[test]
fn s5_an_event_asks_for_no_more_room_than_it_takes() {
    let (name, long) = ("n".repeat(50), "x".repeat(10_000));
    let fields = [
        EventFields::default(),
        EventFields::default().with_kind(&name),
        EventFields::default().with_id(&name),
        EventFields::default().with_retry(Duration::MAX),
        EventFields::default().with_kind(&name).with_id(&name).with_retry(Duration::ZERO),
        EventFields::default().with_kind(&long).with_id(&long),
    ];
    for fields in fields {
        for data in ["", "{}", long.as_str()] {
            let write: [fn(&mut SseEncoder<'_>, EventFields<'_>, &str); 2] = [
                |encoder, fields, data| encoder.event(fields, data).unwrap(),
                |encoder, fields, data| encoder.json(fields, data).unwrap(),
            ];
            for write in write {
                let mut out = Vec::new();
                write(&mut SseEncoder::new(&mut out), fields, data);
                let spare = out.capacity() - out.len();
                assert!(spare <= 64, "{spare} bytes for nothing beside {}", out.len());
            }
        }
    }
    let mut out = Vec::new();
    SseEncoder::new(&mut out).comment(&long);
    assert!(out.capacity() - out.len() <= 64);
}
