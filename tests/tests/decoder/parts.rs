//! D12: comments, blocks without data, and the refusal of invalid UTF-8, each on request.

use mcp_sse_core::sse::{DecodeError, DecoderConfig, Finish, Part, SseDecoder};
use mcp_sse_tests::chunking::{Random, every_way};
use mcp_sse_tests::oracle;

/// Events as their data, in the order given out.
fn parts(config: DecoderConfig, chunks: &[&[u8]]) -> Vec<String> {
    let mut decoder = SseDecoder::with_config(config);
    let mut seen = Vec::new();
    for &chunk in chunks {
        let mut input = chunk;
        loop {
            seen.push(match decoder.decode_part(&mut input) {
                Ok(None) => break,
                Ok(Some(Part::Event(event))) => format!("event {}", event.data()),
                Ok(Some(Part::Comment(comment))) => format!("comment {comment}"),
                Ok(Some(Part::Block)) => format!("block, id {}", decoder.last_event_id()),
                Ok(Some(other)) => panic!("{other:?}"),
                Err(error) => error.to_string(),
            });
        }
    }
    seen
}

const STREAM: &[u8] = b":\n\n: ping\r\r\n\nid: 1\n\ndata: a\n:b\ndata: c\n: d \n\nevent: x\nretry: 1\n\nfoo\n\n:\xFF";

#[test]
fn d12_off_by_default() {
    every_way(STREAM, |chunks| assert_eq!(parts(DecoderConfig::default(), chunks), ["event a\nc"]));
}

#[test]
fn d12_comments_and_blocks_on_request() {
    let comments = ["comment ", "comment ping", "comment b", "comment d ", "event a\nc"];
    every_way(STREAM, |chunks| assert_eq!(parts(DecoderConfig::default().with_comments(true), chunks), comments));
    let blocks = ["block, id ", "block, id ", "block, id 1", "event a\nc", "block, id 1", "block, id 1"];
    every_way(STREAM, |chunks| assert_eq!(parts(DecoderConfig::default().with_blocks(true), chunks), blocks));
}

/// `decode` is `decode_part` without what is no event.
#[test]
fn d12_decode_skips_what_is_no_event() {
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_comments(true).with_blocks(true));
    let mut input = STREAM;
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data(), "a\nc");
    assert!(decoder.decode(&mut input).unwrap().is_none());
}

/// D12 with D9: parts as the oracle sees them, on random streams.
#[test]
fn d12_parts_as_the_oracle_sees_them() {
    let pieces =
        ["\n", "\r", "\r\n", ":", ": ping", ": \u{4E16}", "data: a", "id: 1", "event", "retry: 1", "x", "\n\n"];
    let mut random = Random::new(12);
    for _ in 0..4000 {
        let text: String = (0..random.below(14)).map(|_| random.pick(&pieces)).collect();
        let reading = oracle::read(text.as_bytes());
        let mut expected = Vec::new();
        let mut rest = &reading.parts[..];
        for count in 0..=reading.events.len() {
            let before = rest.iter().take_while(|part| part.0 == count).count();
            for (_, comment) in &rest[..before] {
                expected.push(comment.as_ref().map_or("block".to_owned(), |comment| format!("comment {comment}")));
            }
            rest = &rest[before..];
            expected.extend(reading.events.get(count).map(|event| format!("event {}", event.data)));
        }
        let config = DecoderConfig::default().with_comments(true).with_blocks(true);
        for size in [1, 2, 5, 1000] {
            let chunks: Vec<_> = text.as_bytes().chunks(size).collect();
            let mut seen = parts(config, &chunks);
            for part in &mut seen {
                if part.starts_with("block") {
                    part.truncate("block".len());
                }
            }
            assert_eq!(seen, expected, "{text:?}");
        }
    }
}

#[test]
fn d12_a_long_comment_is_cut() {
    let config = DecoderConfig::default().with_comments(true).with_max_comment_bytes(4);
    every_way(b":1234\n:12345\n:123\xE4\xB8\x96\n:\xFF\xFF\n", |chunks| {
        assert_eq!(parts(config, chunks), ["comment 1234", "comment 1234", "comment 123", "comment \u{FFFD}"]);
    });
}

/// A comment in mid-event is given out first; the event is whole all the same, though collected.
#[test]
fn d12_a_comment_inside_an_event() {
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_comments(true));
    let mut input = &b"data: a\n: hi\n\ndata: b\n\n"[..];
    assert!(matches!(decoder.decode_part(&mut input), Ok(Some(Part::Comment("hi")))));
    let Ok(Some(Part::Event(event))) = decoder.decode_part(&mut input) else { panic!() };
    assert_eq!((event.data(), event.data_is_lent()), ("a", false));
    let Ok(Some(Part::Event(event))) = decoder.decode_part(&mut input) else { panic!() };
    assert_eq!((event.data(), event.data_is_lent()), ("b", true));
}

/// D11: one `data` line inside the chunk is lent, whatever stands beside it in its block.
#[test]
fn d11_the_data_of_an_unusual_block_is_lent_too() {
    for block in [
        "foo: x\ndata: a\n\n",
        "retry: 5\ndata: a\n\n",
        "data\u{e9}: x\ndata: a\n\n",
        "data: a\nid: 1\n\n",
        "data: a\nretry: 5\nfoo\n\n",
        "id: 1\nid: 2\ndata: a\n\n",
        "event: x\n: hi\nid\ndata:a\n\n",
    ] {
        let mut decoder = SseDecoder::new();
        let mut input = block.as_bytes();
        let event = decoder.decode(&mut input).unwrap().unwrap();
        assert_eq!((event.data(), event.data_is_lent()), ("a", true), "{block:?}");
        assert!(decoder.decode(&mut input).unwrap().is_none());
    }
}

#[test]
fn d12_invalid_utf8_is_an_error_on_request() {
    let config = DecoderConfig::default().with_reject_invalid_utf8(true);
    let error = |position| DecodeError::InvalidUtf8 { position }.to_string();
    let cases: [(&[u8], u64); 9] = [
        (b"data: a\xFF\n\n", 7),
        (b"data: a\xE4\xB8\n\n", 7),
        (b"data: a\xE4\xB8b\n\n", 7),
        (b"data: \xE4\xB8\x96\ndata: \x80\n\n", 16),
        (b"data: \xE4\xB8\x96\ndata: a\xE4\ndata: b\n\n", 17),
        (b"data: a\nid: \xFF\n\n", 12),
        (b"id: 1\nevent: x\xF0\x9F\ndata: a\n\n", 14),
        (b"\xEF\xBB\xBFdata: \xFF\n\n", 9),
        (b"data: a\xFFb\xFF\ndata: \xFF\n\n", 7),
    ];
    for (bytes, position) in cases {
        let stream = [bytes, b"data: good\n\n"].concat();
        every_way(&stream, |chunks| assert_eq!(parts(config, chunks), [error(position), "event good".to_owned()]));
    }
    // Where nothing would be shown, nothing is judged; a shown comment is.
    let hidden = b": \xFF\nx\xFF: \xFF\nretry: \xFF\ndata: a\n\n";
    every_way(hidden, |chunks| assert_eq!(parts(config, chunks), ["event a"]));
    every_way(b":\xFF\ndata: a\n\ndata: b\n\n", |chunks| {
        assert_eq!(parts(config.with_comments(true), chunks), [error(1), "event b".to_owned()]);
    });
}

/// D12: an error comes with the chunk that brings it, however small that is, and not first with the line's end.
#[test]
fn d12_what_is_invalid_is_told_with_its_chunk() {
    for before in ["", "id: 1\n", "event: x\n"] {
        let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_reject_invalid_utf8(true));
        assert!(decoder.decode(&mut format!("{before}data: a").as_bytes()).unwrap().is_none());
        let position = before.len() as u64 + 8;
        assert_eq!(decoder.decode(&mut &b"b\xFF"[..]).err(), Some(DecodeError::InvalidUtf8 { position }));
    }
}

/// D12 with D8: a sequence cut by the end of the stream.
#[test]
fn d12_a_flush_finds_invalid_utf8() {
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_reject_invalid_utf8(true));
    assert!(decoder.decode(&mut &b"data: a\xE4\xB8"[..]).unwrap().is_none());
    let finished = decoder.finish(Finish::Flush);
    assert_eq!(finished.error, Some(DecodeError::InvalidUtf8 { position: 7 }));
    assert!(finished.event.is_none());
}
