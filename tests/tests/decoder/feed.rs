//! `feed`: the comfort over `decode` leaves no byte behind.

use mcp_sse_core::sse::{DecodeError, DecoderConfig, Finish, SseDecoder, Tail};
use mcp_sse_tests::chunking::{Random, owned};
use mcp_sse_tests::oracle;

const STREAM: &[u8] = b"data: 1\n\n: x\ndata: 2\n\nid: 3\ndata: 3\ndata: \xE4\xB8\x96\r\n\r\ndata: 4\n\n";

#[test]
fn feed_gives_the_events_of_a_chunk() {
    let mut decoder = SseDecoder::new();
    let mut events = decoder.feed(STREAM);
    let mut seen = Vec::new();
    while let Some(event) = events.next_event().unwrap() {
        seen.push(event.data().to_owned());
    }
    assert!(events.rest().is_empty());
    assert_eq!(seen, ["1", "2", "3\n\u{4E16}", "4"]);
}

#[test]
fn feed_gives_back_the_rest() {
    let mut decoder = SseDecoder::new();
    let mut events = decoder.feed(STREAM);
    assert!(events.next_event().unwrap().unwrap().data_is_lent());
    let rest = events.rest();
    assert_eq!(rest, &STREAM[9..]);
    // It is the caller's now: the decoder has not kept it.
    assert_eq!((decoder.held_bytes(), decoder.position()), (0, 9));
    assert_eq!(decoder.feed(rest).next_event().unwrap().unwrap().data(), "2");
}

/// D9: dropped after any number of events, with any cutting, nothing is lost.
#[test]
fn d9_a_dropped_feed_loses_nothing() {
    let expected = oracle::read(STREAM).events;
    let mut random = Random::new(9);
    for _ in 0..3000 {
        let mut decoder = SseDecoder::new();
        let mut seen = Vec::new();
        let mut rest = STREAM;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(1 + random.below(rest.len()));
            rest = after;
            let mut events = decoder.feed(chunk);
            for _ in 0..random.below(4) {
                seen.extend(events.next_event().unwrap().map(|event| owned(&event)));
            }
        }
        while let Some(event) = decoder.decode(&mut &[][..]).unwrap() {
            seen.push(owned(&event));
        }
        assert_eq!(seen, expected);
        assert_eq!(decoder.position(), STREAM.len() as u64);
        assert_eq!(decoder.finish(Finish::Strict).tail, Tail::Nothing);
    }
}

/// D10: an error passed on by `?` drops the feed; the events after it come out of the next call.
#[test]
fn d10_an_error_passed_on_loses_nothing() {
    fn read(decoder: &mut SseDecoder, chunk: &[u8], seen: &mut Vec<String>) -> Result<(), DecodeError> {
        let mut events = decoder.feed(chunk);
        while let Some(event) = events.next_event()? {
            seen.push(event.data().to_owned());
        }
        Ok(())
    }
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(30));
    let mut seen = Vec::new();
    let large = [b"data: a\n\ndata: ", &[b'x'; 31][..], b"\n\ndata: b\n\ndata: c"].concat();
    assert_eq!(read(&mut decoder, &large, &mut seen), Err(DecodeError::EventTooLarge { limit: 30, position: 9 }));
    assert_eq!(seen, ["a"]);
    assert_eq!(read(&mut decoder, b"d\n\n", &mut seen), Ok(()));
    assert_eq!(seen, ["a", "b", "cd"]);
}

/// D10: what is left unread is bounded, and the loss beyond the bound is told where it happened.
#[test]
fn d10_unread_bytes_are_bounded_and_their_loss_told() {
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(20));
    drop(decoder.feed(b"data: 1\n\n"));
    drop(decoder.feed(b"id: 2\ndata: 2\n\n"));
    drop(decoder.feed(b"x"));
    assert_eq!(decoder.held_bytes(), 9);
    assert!(decoder.capacity_bytes() <= 40);

    // The stream cannot end before they are read.
    let finished = decoder.finish(Finish::Strict);
    assert_eq!(finished.error, Some(DecodeError::Unread { bytes: 25 }));

    let mut input = &b"data: lost too\n\ndata: 3\n\n"[..];
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data(), "1");
    assert_eq!(decoder.decode(&mut input).unwrap_err(), DecodeError::Unread { bytes: 16 });
    assert_eq!(decoder.position(), 25);
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data(), "3");
    assert!(decoder.decode(&mut input).unwrap().is_none());
    assert_eq!((decoder.position(), decoder.last_event_id()), (50, ""));
    assert_eq!(decoder.finish(Finish::Strict).error, None);
}

/// D10: as many bytes as the bound says are kept, and not one is lost of them.
#[test]
fn d10_unread_bytes_up_to_the_bound_are_kept() {
    for (bound, is_kept) in [(18, true), (17, false)] {
        let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(bound));
        drop(decoder.feed(b"data: 1\n\n"));
        drop(decoder.feed(b"data: 2\n\n"));
        let mut next = || decoder.decode(&mut &[][..]).map(|event| event.map(|event| event.data().to_owned()));
        assert_eq!(next(), Ok(Some("1".to_owned())));
        let second = if is_kept { Ok(Some("2".to_owned())) } else { Err(DecodeError::Unread { bytes: 9 }) };
        assert_eq!(next(), second);
    }
}

/// D10: feeding and reading half, for ever, keeps memory within the bound.
#[test]
fn d10_unread_bytes_never_pass_the_bound() {
    let mut decoder = SseDecoder::with_config(DecoderConfig::default().with_max_event_bytes(1000));
    let mut count = 0;
    for _ in 0..2000 {
        let mut events = decoder.feed(b"data: 12345\n\ndata: 67890\n\n");
        count += usize::from(matches!(events.next_event(), Ok(Some(_))));
        drop(events);
        assert!(decoder.held_bytes() <= 1000 + 16);
        assert!(decoder.capacity_bytes() <= 2000 + 64);
    }
    assert!(count > 1500);
}
