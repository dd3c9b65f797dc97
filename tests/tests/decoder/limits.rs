//! D10: limits, at their edge, and what they leave intact.

use std::time::Duration;

use mcp_sse_core::sse::{DecodeError, DecoderConfig, Finish, SseDecoder, Tail};
use mcp_sse_tests::chunking::{every_way, owned};
use mcp_sse_tests::oracle::Event;

#[derive(Debug, PartialEq)]
enum Seen {
    Event(Event),
    Error(DecodeError),
}

fn event(kind: &str, data: &str, last_event_id: &str) -> Seen {
    Seen::Event(Event { kind: kind.into(), data: data.into(), last_event_id: last_event_id.into() })
}

fn run(decoder: &mut SseDecoder, chunks: &[&[u8]]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for &chunk in chunks {
        let mut input = chunk;
        loop {
            match decoder.decode(&mut input) {
                Ok(Some(event)) => seen.push(Seen::Event(owned(&event))),
                Ok(None) => break,
                Err(error) => seen.push(Seen::Error(error)),
            }
        }
        assert!(input.is_empty());
    }
    seen
}

fn too_large(limit: usize, position: u64) -> Seen {
    let error = DecodeError::EventTooLarge { limit, position };
    assert!(error.to_string().contains(&limit.to_string()));
    Seen::Error(error)
}

/// The same in every way of cutting.
fn expect(config: DecoderConfig, bytes: &[u8], expected: &[Seen]) {
    every_way(bytes, |chunks| {
        assert_eq!(run(&mut SseDecoder::with_config(config), chunks), expected);
    });
}

#[test]
fn d10_the_limit_at_its_edge() {
    let config = DecoderConfig::default().with_max_event_bytes(4);
    expect(config, b"data: 1234\n\n", &[event("message", "1234", "")]);
    expect(config, b"data: 12345\n\n", &[too_large(4, 0)]);
    // Lines and the LF between them count, so empty lines do; so does what a character becomes.
    expect(config, b"data: 1\ndata: 2\ndata\n\n", &[event("message", "1\n2\n", "")]);
    expect(config, b"data\ndata\ndata\ndata\ndata\n\n", &[event("message", "\n\n\n\n", "")]);
    expect(config, b"data\ndata\ndata\ndata\ndata\ndata\n\n", &[too_large(4, 0)]);
    expect(config, b"data:1\xFF\n\n", &[event("message", "1\u{FFFD}", "")]);
    expect(config, b"data:12\xFF\n\n", &[too_large(4, 0)]);
    expect(config, b"data:\xF0\x9F\x98\x80\n\n", &[event("message", "\u{1F600}", "")]);
    expect(config, b"data:1\xF0\x9F\x98\x80\n\n", &[too_large(4, 0)]);
    // The unfinished line counts as it comes.
    expect(config, b"data: 12345", &[too_large(4, 0)]);
    let nothing = DecoderConfig::default().with_max_event_bytes(0);
    expect(nothing, b"data\n\ndata:\ndata:", &[event("message", "", ""), too_large(0, 6)]);
}

#[test]
fn d10_events_before_and_after_are_intact() {
    let config = DecoderConfig::default().with_max_event_bytes(4);
    expect(
        config,
        b"data: a\nid: 1\n\nid: 2\nevent: x\ndata: 12345\nid: 3\nretry: 8\ndata: 6\n\ndata: b\n\n",
        &[event("message", "a", "1"), too_large(4, 15), event("message", "b", "1")],
    );
    expect(config, b"data: 12345\r\n\r\ndata: b\r\r", &[too_large(4, 0), event("message", "b", "")]);
    expect(config, b"data: 12345\n\ndata: 54321\n\n", &[too_large(4, 0), too_large(4, 13)]);

    let mut decoder = SseDecoder::with_config(config);
    run(&mut decoder, &[b"data: 12345\nretry: 8\nid: 3\n"]);
    assert_eq!((decoder.retry(), decoder.last_event_id()), (Some(Duration::from_millis(8)), ""));
    let finished = decoder.finish(Finish::Flush);
    assert_eq!((finished.tail, finished.event.is_none(), finished.error), (Tail::PartialEvent, true, None));
    assert_eq!(run(&mut decoder, &[b"data: c\n\n"]), [event("message", "c", "")]);
}

/// D10 with D8: the last line, counted as one, passes the limit.
#[test]
fn d10_a_flush_passes_the_limit() {
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(2));
    assert_eq!(run(&mut decoder, &[b"data: \xE4\xB8"]), []);
    let finished = decoder.finish(Finish::Flush);
    assert_eq!(finished.error, Some(DecodeError::EventTooLarge { limit: 2, position: 0 }));
    assert!(finished.event.is_none());
    assert_eq!(run(&mut decoder, &[b"data: c\n\n"]), [event("message", "c", "")]);
}

/// D10 with D9: pieces of a few bytes, of which many are taken together, meet the limit where it is.
#[test]
fn d10_small_pieces_meet_the_limit() {
    let pad = "x".repeat(300);
    let long = "y".repeat(200);
    let streams = [
        format!("data: {pad}\ndata: {pad}\n\ndata: a\n\n").into_bytes(),
        format!("{long}\n{long}: {long}\n: {long}\nid: 1\ndata: {pad}{pad}\nevent: {long}\n\ndata: a\n\n").into_bytes(),
        [b"data: ", &[b'\xFF'; 201][..], b"\n\n: ", &[b'\xE4'; 300], b"\ndata: a\n\n"].concat(),
        format!("data: {}\u{1F600}\n\ndata: a", "\u{4E16}".repeat(199)).into_bytes(),
    ];
    for stream in &streams {
        for limit in (500..520).chain(595..608) {
            for reject in [false, true] {
                let config = DecoderConfig::default()
                    .with_max_event_bytes(limit)
                    .with_reject_invalid_utf8(reject)
                    .with_comments(true);
                let whole = run(&mut SseDecoder::with_config(config), &[stream]);
                for size in [1, 2, 3, 7, 15, 16, 17, 48, 49, 64, 129] {
                    let chunks: Vec<_> = stream.chunks(size).collect();
                    let mut decoder = SseDecoder::with_config(config);
                    assert_eq!(run(&mut decoder, &chunks), whole, "limit {limit}, chunks of {size}");
                    assert!(decoder.held_bytes() <= limit + 2 * 1024);
                }
            }
        }
    }
}

/// D10: that an event is too large is told with the chunk that makes it so, also if each of its bytes becomes three.
#[test]
fn d10_the_limit_is_told_with_the_chunk_that_passes_it() {
    for limit in [30, 600, 3_000] {
        let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(limit));
        assert!(decoder.decode(&mut &b"data: "[..]).unwrap().is_none());
        for _ in 0..limit / 3 {
            assert!(decoder.decode(&mut &b"\xFF"[..]).unwrap().is_none());
        }
        let error = decoder.decode(&mut &b"\xFF"[..]).err();
        assert_eq!(error, Some(DecodeError::EventTooLarge { limit, position: 0 }));
    }
}

/// D10 with D9: where the block began is told alike, also if its first line came in pieces.
#[test]
fn d10_the_place_of_a_large_event_is_told_alike_for_every_chunk() {
    let stream = format!("data: a\n\n: b\n\nevent: name\ndata: {}\n\ndata: c\n\n", "x".repeat(5_000));
    let config = DecoderConfig::default().with_max_event_bytes(4_000);
    let expected = [event("message", "a", ""), too_large(4_000, 14), event("message", "c", "")];
    for size in 1..40 {
        let chunks: Vec<_> = stream.as_bytes().chunks(size).collect();
        assert_eq!(run(&mut SseDecoder::with_config(config), &chunks), expected, "chunks of {size}");
    }
}

#[test]
fn d10_an_id_too_long_is_ignored() {
    let config = DecoderConfig::default().with_max_id_bytes(4);
    expect(
        config,
        b"id:1234\ndata:\n\nid:12345\ndata:\n\nid: 5\nid:\xFF\xFF\ndata:\n\n",
        &[event("message", "", "1234"), event("message", "", "1234"), event("message", "", "5")],
    );
    let edge = "x".repeat(8 * 1024);
    let mut decoder = SseDecoder::new();
    run(&mut decoder, &[format!("id: {edge}\n\nid: {edge}x\n\n").as_bytes()]);
    assert_eq!(decoder.last_event_id(), edge);
}

#[test]
fn d10_an_event_name_too_long_is_an_unknown_type() {
    let config = DecoderConfig::default().with_max_kind_bytes(7);
    expect(
        config,
        b"event:1234567\ndata:\n\nevent:12345678\ndata:\n\nevent:12345\xE4\xB8\x96\ndata:\n\n",
        &[event("1234567", "", ""), event("1234567", "", ""), event("12345", "", "")],
    );
    // Never the default, nor anything an earlier name left.
    expect(
        config,
        b"event:messages\ndata:\n\nevent:messag\ndata:\n\nevent:messages\nevent:message\ndata:\n\n",
        &[event("messag", "", ""), event("messag", "", ""), event("message", "", "")],
    );
    let mut decoder = SseDecoder::with_config(config);
    let mut input = &b"event:messages\ndata:\n\nevent:messag\ndata:\n\n"[..];
    assert!(decoder.decode(&mut input).unwrap().unwrap().kind_is_cut());
    assert!(!decoder.decode(&mut input).unwrap().unwrap().kind_is_cut());
    expect(DecoderConfig::default().with_max_kind_bytes(0), b"event:x\ndata:\n\n", &[event("", "", "")]);

    // A whole name that reads as the one cut before it is not cut.
    let mut input = &b"event: messages\nevent: messag\ndata:\n\n"[..];
    let decoded = decoder.decode(&mut input).unwrap().unwrap();
    assert_eq!((decoded.kind(), decoded.kind_is_cut()), ("messag", false));

    let edge = "x".repeat(1024);
    let stream = format!("event: {edge}\ndata:\n\nevent: {edge}x\ndata:\n\n");
    let seen = run(&mut SseDecoder::new(), &[stream.as_bytes()]);
    assert_eq!(seen, [event(&edge, "", ""), event(&edge, "", "")]);
}

#[test]
fn d10_what_is_ignored_costs_no_memory() {
    for start in ["", ": ", "x", "datax", "eventful: ", "ids:", "retry: 1", "foo: "] {
        let mut decoder = SseDecoder::new();
        run(&mut decoder, &[start.as_bytes()]);
        for _ in 0..100 {
            run(&mut decoder, &[&[b'1'; 10_000]]);
            assert_eq!((decoder.held_bytes(), decoder.capacity_bytes()), (0, 0), "{start}");
        }
        assert_eq!(run(&mut decoder, &[b"\ndata: a\n\n"]), [event("message", "a", "")]);
    }
    // Skipping costs none either.
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(100));
    for chunk in [&[b'1'; 10_000][..]; 100] {
        run(&mut decoder, &[b"data: ", chunk, b"\nid: ", chunk, b"\nevent: ", chunk, b"\n"]);
        assert_eq!((decoder.held_bytes(), decoder.capacity_bytes()), (0, 0));
    }
    // Nor do lines that come in small pieces, of which a few are laid by.
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(4_000));
    run(&mut decoder, &[b"data: ", &[b'1'; 5_000], b"\n"]);
    for _ in 0..1_000 {
        run(&mut decoder, &[b"data: ", b"2222222", b"3333333", b"4444444", b"\n"]);
        assert_eq!((decoder.held_bytes(), decoder.capacity_bytes()), (0, 0));
    }
    // Also if they are more than can be laid by.
    run(&mut decoder, &[b"data: "]);
    for _ in 0..200 {
        run(&mut decoder, &[&[b'2'; 10]]);
        assert_eq!(decoder.capacity_bytes(), 0);
    }
    run(&mut decoder, &[b"\n"]);
    assert_eq!(decoder.held_bytes(), 0);
    assert_eq!(run(&mut decoder, &[b"\ndata: a\n\n"]), [event("message", "a", "")]);
}

#[test]
fn d10_the_default_admits_64_mib_and_no_more() {
    const LIMIT: usize = 64 * 1024 * 1024;
    let mut stream = b"data: ".to_vec();
    stream.resize(6 + LIMIT, b'x');
    stream.extend(b"\n\n");
    let mut decoder = SseDecoder::new();
    let mut input = &stream[..];
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data().len(), LIMIT);

    stream.insert(6, b'x');
    let position = decoder.position();
    assert_eq!(run(&mut decoder, &[&stream]), [too_large(LIMIT, position)]);
    // In pieces: never more than the limit is kept, nor reserved.
    let mut errors = Vec::new();
    for chunk in stream.chunks(1 << 20) {
        errors.extend(run(&mut decoder, &[chunk]));
        assert!(decoder.held_bytes() <= LIMIT && decoder.capacity_bytes() <= LIMIT);
        assert!(decoder.capacity_bytes() <= 2 * decoder.held_bytes() + chunk.len());
    }
    assert_eq!(errors.len(), 1);
    assert_eq!(decoder.capacity_bytes(), 0);
}
