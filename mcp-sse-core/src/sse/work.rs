//! Tests that the decoder's work is linear, by counting: every byte is searched for a line end at most once, whatever
//! the chunks. The counter exists in this crate's own tests only.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::SseDecoder;

/// How many bytes were searched.
fn searched(stream: &[u8], chunk_bytes: usize) -> u64 {
    let mut decoder = SseDecoder::new();
    for chunk in stream.chunks(chunk_bytes) {
        let mut input = chunk;
        while decoder.decode(&mut input).unwrap().is_some() {}
    }
    assert_eq!(decoder.position(), stream.len() as u64);
    decoder.searched.get()
}

/// D11: no byte is searched twice, in one large event, in many lines, in many events, in ignored lines.
#[test]
fn d11_no_byte_is_searched_twice() {
    let streams: [String; 6] = [
        format!("data: {}\n\n", "x".repeat(200_000)),
        format!("{}\n", "data: a\r\n".repeat(20_000)),
        "id: 1\nevent: x\ndata: {}\n\n".repeat(8_000),
        format!(": {}\n\n", "x".repeat(200_000)),
        "\r".repeat(200_000),
        format!("data: {}", "\u{4E16}".repeat(60_000)),
    ];
    for stream in streams {
        for chunk_bytes in [1, 2, 7, 64, 1460, 65_536, usize::MAX] {
            let searched = searched(stream.as_bytes(), chunk_bytes);
            assert!(searched <= stream.len() as u64, "{searched} of {} in {chunk_bytes}", stream.len());
            // What is no line's end cannot be known but by a search.
            let lines = stream.bytes().filter(|byte| matches!(byte, b'\r' | b'\n')).count() as u64;
            assert!(searched > 0 || stream.len() as u64 == lines, "nothing was counted");
        }
    }
}

/// D11: bytes that an error skips are searched once, too; so are bytes left unread in the decoder.
#[test]
fn d11_nor_when_skipped_or_left_unread() {
    let stream = format!("data: {}\ndata: y\n\n", "x".repeat(100_000)).repeat(3);
    let config = super::DecoderConfig::default().with_max_event_bytes(1000);
    let mut decoder = SseDecoder::with_config(config);
    let mut errors = 0;
    for chunk in stream.as_bytes().chunks(100) {
        let mut input = chunk;
        loop {
            match decoder.decode(&mut input) {
                Ok(None) => break,
                Ok(Some(_)) => {}
                Err(_) => errors += 1,
            }
        }
    }
    assert_eq!(errors, 3);
    assert!(decoder.searched.get() <= stream.len() as u64);

    let stream = "data: 1\n\ndata: 2\n\n".repeat(1000);
    let mut decoder = SseDecoder::new();
    let mut data = Vec::new();
    for chunk in stream.as_bytes().chunks(18) {
        data.extend(decoder.feed(chunk).next_event().unwrap().map(|event| event.into_data()));
    }
    while let Some(event) = decoder.decode(&mut &[][..]).unwrap() {
        data.push(event.into_data());
    }
    assert_eq!(data.len(), 2000);
    assert!(decoder.searched.get() <= stream.len() as u64);
}
