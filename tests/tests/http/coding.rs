//! Inflating gzip and deflate bodies (E13): every cut, every chunking, every kind of damage, the bound.

use std::io::Write as _;

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, Crc, GzBuilder};
use mcp_sse_core::http::{
    CodingError, ContentCoding, GZIP_MAGIC, INFLATE_PIECE, InflateEnd, Inflater, Progress, can_inflate,
};

const GZIP: ContentCoding = ContentCoding::Gzip;
const DEFLATE: ContentCoding = ContentCoding::Deflate;
const NO_LIMIT: u64 = u64::MAX;
const GZIP_FOOTER: usize = 8;

/// All that came of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Story {
    output: Vec<u8>,
    error: Option<CodingError>,
    end: InflateEnd,
}

impl Story {
    fn ended(output: &[u8], end: InflateEnd) -> Self {
        Self { output: output.to_vec(), error: None, end }
    }

    fn corrupt(output: &[u8]) -> Self {
        let error = CodingError::Corrupt { position: output.len() as u64 };
        Self { output: output.to_vec(), error: Some(error), end: InflateEnd::Short }
    }
}

/// Feeds the chunks and checks what every call promises.
fn tell<'a>(coding: ContentCoding, limit: u64, chunks: impl IntoIterator<Item = &'a [u8]>) -> Story {
    let mut inflater = Inflater::new(coding, limit).unwrap();
    let mut output = Vec::new();
    for chunk in chunks {
        let mut input = chunk;
        loop {
            let before = output.len();
            let result = inflater.inflate(&mut input, &mut output);
            let appended = output.len() - before;
            assert!(appended <= INFLATE_PIECE);
            assert_eq!(inflater.inflated_bytes(), output.len() as u64);
            match result {
                Ok(Progress::More) => assert!(appended > 0),
                Ok(Progress::NeedInput) => {
                    assert!(appended == 0 && input.is_empty());
                    break;
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => {
                    assert_eq!(appended, 0);
                    for mut more in [&b""[..], b"more"] {
                        assert_eq!(inflater.inflate(&mut more, &mut output), Err(error));
                    }
                    assert_eq!(output.len(), before);
                    return Story { output, error: Some(error), end: inflater.end() };
                }
            }
        }
    }
    Story { output, error: None, end: inflater.end() }
}

fn whole(coding: ContentCoding, body: &[u8]) -> Story {
    tell(coding, NO_LIMIT, [body])
}

/// The body told whole, byte by byte and in odd sizes: one story.
fn told_alike(coding: ContentCoding, limit: u64, body: &[u8]) -> Story {
    let story = tell(coding, limit, [body]);
    for size in [1, 2, 3, 7, 1000] {
        assert_eq!(tell(coding, limit, body.chunks(size)), story, "chunks of {size}");
    }
    story
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn raw(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// gzip as a server makes it that flushes after each event.
fn gzip_flushed(events: &[String]) -> (Vec<u8>, Vec<usize>) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mut flushes = Vec::new();
    for event in events {
        encoder.write_all(event.as_bytes()).unwrap();
        encoder.flush().unwrap();
        flushes.push(encoder.get_ref().len());
    }
    (encoder.finish().unwrap(), flushes)
}

fn events() -> Vec<String> {
    let mut events: Vec<String> = (0..5)
        .map(|step| {
            format!(
                "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
                 \"params\":{{\"progressToken\":{},\"progress\":{step}}}}}\n\n",
                step * 7919
            )
        })
        .collect();
    events.push("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"Grüße, 世界\"}}\n\n".into());
    events
}

fn text() -> Vec<u8> {
    events().concat().into_bytes()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Text longer than several windows, partly repetitive.
fn long_text(length: usize) -> Vec<u8> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut text = Vec::new();
    while text.len() < length {
        let number = random.next();
        if number % 3 == 0 {
            text.extend_from_slice(b"data: {\"jsonrpc\":\"2.0\"}\n\n");
        } else {
            text.extend_from_slice(&number.to_le_bytes()[..(number % 8) as usize]);
        }
    }
    text.truncate(length);
    text
}

/// E13: gzip text cut after every byte. The data comes out as far as it goes; the end is told right.
#[test]
fn e13_gzip_cut_at_every_byte() {
    let text = text();
    let (flushed, _) = gzip_flushed(&events());
    for body in [gzip(&text), flushed] {
        let data_end = body.len() - GZIP_FOOTER;
        let mut last = 0;
        for cut in 0..=body.len() {
            let story = told_alike(GZIP, NO_LIMIT, &body[..cut]);
            let expected = match cut {
                0 => InflateEnd::Whole,
                cut if cut < data_end => InflateEnd::Short,
                cut if cut < body.len() => InflateEnd::FooterMissing,
                _ => InflateEnd::Whole,
            };
            assert_eq!((story.error, story.end), (None, expected), "cut at {cut}");
            assert!(text.starts_with(&story.output), "cut at {cut}");
            assert!(story.output.len() >= last, "cut at {cut}");
            assert!(cut < data_end || story.output == text, "cut at {cut}");
            last = story.output.len();
        }
    }
}

/// E13, D9: every way to cut the body in two tells one story.
#[test]
fn e13_every_chunking_in_two_is_the_same() {
    let text = text();
    for (coding, body) in [(GZIP, gzip(&text)), (DEFLATE, zlib(&text)), (DEFLATE, raw(&text))] {
        for at in 0..=body.len() {
            let (left, right) = body.split_at(at);
            let story = tell(coding, NO_LIMIT, [left, b"", right]);
            assert_eq!(story, Story::ended(&text, InflateEnd::Whole), "{coding:?} at {at}");
        }
    }
}

/// E13: what a server flushed is out as soon as the flush has arrived, even before its marker is complete.
#[test]
fn e13_a_flushed_event_is_not_withheld() {
    let (body, flushes) = gzip_flushed(&events());
    let mut expected = String::new();
    for (event, end) in events().iter().zip(flushes) {
        expected.push_str(event);
        // The last four bytes of a flush are the length fields of an empty block.
        for missing in 0..=4 {
            let story = whole(GZIP, &body[..end - missing]);
            assert_eq!(String::from_utf8(story.output).unwrap(), expected);
        }
    }
}

#[test]
fn e13_an_empty_body_is_whole_and_its_framing_judges_it() {
    for coding in [GZIP, DEFLATE] {
        assert_eq!(tell(coding, 0, []), Story::ended(b"", InflateEnd::Whole));
        assert_eq!(tell(coding, 0, [&b""[..], b""]), Story::ended(b"", InflateEnd::Whole));
    }
    assert_eq!(told_alike(GZIP, 0, &gzip(b"")), Story::ended(b"", InflateEnd::Whole));
    assert_eq!(told_alike(DEFLATE, 0, &zlib(b"")), Story::ended(b"", InflateEnd::Whole));
    assert_eq!(told_alike(DEFLATE, 0, &raw(b"")), Story::ended(b"", InflateEnd::Whole));
}

/// E13: the members of one body are one text.
#[test]
fn e13_several_gzip_members() {
    let parts: [&[u8]; 5] = [b"data: one\n\n", b"", b"data: two\n\n", b"", b"data: three\n\n"];
    let members: Vec<Vec<u8>> = parts.iter().map(|part| gzip(part)).collect();
    let body = members.concat();
    let text = parts.concat();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::ended(&text, InflateEnd::Whole));

    let mut ends = vec![0];
    for member in &members {
        ends.push(ends.last().unwrap() + member.len());
    }
    for cut in 0..=body.len() {
        let story = told_alike(GZIP, NO_LIMIT, &body[..cut]);
        assert_eq!(story.error, None, "{cut}");
        assert!(text.starts_with(&story.output), "{cut}");
        let next_end = *ends.iter().find(|&&end| end >= cut).unwrap();
        let expected = match next_end - cut {
            0 => InflateEnd::Whole,
            1..=GZIP_FOOTER => InflateEnd::FooterMissing,
            _ => InflateEnd::Short,
        };
        assert_eq!(story.end, expected, "{cut}");
    }
}

/// E13: a member's window is its own; many long ones follow each other.
#[test]
fn e13_long_members_one_after_another() {
    let text = long_text(100_000);
    let body = [gzip(&text), gzip(&text[..40_000]), gzip(&text)].concat();
    let expected = [&text[..], &text[..40_000], &text].concat();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::ended(&expected, InflateEnd::Whole));
}

/// E13: padding and garbage after a whole member are ignored, as gzip(1) does.
#[test]
fn e13_what_follows_a_whole_member_is_ignored() {
    let text = text();
    for tail in
        [&b"\0"[..], &[0; 5000], b"garbage", b"\0\0\x1f\x8b\x08garbage", b"\x1fnot the magic", b"\r\n", &[0xff; 100]]
    {
        let body = [&gzip(&text), tail].concat();
        assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::ended(&text, InflateEnd::Whole), "{tail:?}");
    }
    // One byte that may begin a member, and then no more: cut.
    let body = [&gzip(&text)[..], b"\x1f"].concat();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::ended(&text, InflateEnd::Short));
    for body in [zlib(&text), raw(&text)] {
        for tail in [&b"\0"[..], b"garbage", &gzip(b"more")] {
            let body = [&body, tail].concat();
            assert_eq!(told_alike(DEFLATE, NO_LIMIT, &body), Story::ended(&text, InflateEnd::Whole));
        }
    }
}

/// A gzip body with any parts in its header.
fn with_header_parts(parts: u8, text: &[u8]) -> Vec<u8> {
    let mut header = vec![0x1f, 0x8b, 8, parts, 1, 2, 3, 4, 0, 255];
    if parts & 0x04 != 0 {
        header.extend_from_slice(&[5, 0, b'A', b'B', 1, 0, b'x']);
    }
    if parts & 0x08 != 0 {
        header.extend_from_slice(b"stream.txt\0");
    }
    if parts & 0x10 != 0 {
        header.extend_from_slice("a comment, grüße\0".as_bytes());
    }
    if parts & 0x02 != 0 {
        let mut crc = Crc::new();
        crc.update(&header);
        header.extend_from_slice(&crc.sum().to_le_bytes()[..2]);
    }
    let plain = gzip(text);
    [&header, &plain[10..]].concat()
}

/// E13: every combination of header parts, at every cut and in every chunking in two.
#[test]
fn e13_all_header_parts() {
    let text = b"data: {}\n\n";
    for parts in 0..0x20 {
        let body = with_header_parts(parts, text);
        let header_length = body.len() - gzip(text)[10..].len();
        assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::ended(text, InflateEnd::Whole), "{parts:#x}");
        for at in 1..body.len() {
            let (left, right) = body.split_at(at);
            let story = tell(GZIP, NO_LIMIT, [left, right]);
            assert_eq!(story, Story::ended(text, InflateEnd::Whole), "{parts:#x} at {at}");
            if at <= header_length {
                assert_eq!(whole(GZIP, left), Story::ended(b"", InflateEnd::Short), "{parts:#x} at {at}");
            }
        }
        // The header's own checksum.
        if parts & 0x02 != 0 {
            for broken in [header_length - 2, header_length - 1, 4] {
                let mut body = body.clone();
                body[broken] ^= 0x40;
                assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::corrupt(b""), "{parts:#x}");
            }
        }
    }
}

#[test]
fn e13_empty_and_long_header_parts() {
    let text = b"data: {}\n\n";
    let plain = gzip(text);
    let extra = [&[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, 0, 0], &plain[10..]].concat();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &extra), Story::ended(text, InflateEnd::Whole));
    let long_extra = [&[0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 3, 255, 255][..], &[0; 65_535], &plain[10..]].concat();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &long_extra), Story::ended(text, InflateEnd::Whole));
    let empty_name = [&[0x1f, 0x8b, 8, 0x18, 0, 0, 0, 0, 0, 3, 0, 0], &plain[10..]].concat();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &empty_name), Story::ended(text, InflateEnd::Whole));
    // As a library writes them.
    let mut encoder = GzBuilder::new()
        .filename("name")
        .comment("comment")
        .extra("extra")
        .mtime(1)
        .write(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    let body = encoder.finish().unwrap();
    assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::ended(text, InflateEnd::Whole));
}

#[test]
fn e13_a_bad_header_is_corrupt() {
    let good = gzip(b"data: {}\n\n");
    let with = |position: usize, byte: u8| {
        let mut body = good.clone();
        body[position] = byte;
        body
    };
    assert_eq!(good[..2], GZIP_MAGIC);
    for body in [
        b"data: {\"jsonrpc\":\"2.0\"}\n\n".to_vec(),
        with(0, 0x1e),
        with(1, 0x8c),
        with(2, 0),
        with(2, 7),
        with(3, 0x20),
        with(3, 0x40),
        with(3, 0x80),
    ] {
        assert_eq!(told_alike(GZIP, NO_LIMIT, &body), Story::corrupt(b""), "{body:?}");
        // In a second member: bytes without the magic are no member, so they are padding.
        let second = [&good[..], &body].concat();
        let story = told_alike(GZIP, NO_LIMIT, &second);
        if body.starts_with(&GZIP_MAGIC) {
            assert_eq!(story, Story::corrupt(b"data: {}\n\n"));
        } else {
            assert_eq!(story, Story::ended(b"data: {}\n\n", InflateEnd::Whole));
        }
    }
}

/// E13: a wrong checksum or length, in each of its bytes, also if bytes after it are missing.
#[test]
fn e13_a_wrong_footer_is_corrupt() {
    let text = text();
    for (coding, body, footer) in [(GZIP, gzip(&text), GZIP_FOOTER), (DEFLATE, zlib(&text), 4)] {
        for position in body.len() - footer..body.len() {
            let mut body = body.clone();
            body[position] ^= 1;
            assert_eq!(told_alike(coding, NO_LIMIT, &body), Story::corrupt(&text), "{position}");
            body.truncate(position + 1);
            assert_eq!(told_alike(coding, NO_LIMIT, &body), Story::corrupt(&text), "{position}");
            body.truncate(position);
            let end = InflateEnd::FooterMissing;
            assert_eq!(told_alike(coding, NO_LIMIT, &body), Story::ended(&text, end), "{position}");
        }
    }
}

/// E13, D9: any single changed byte of the data is found, and found alike in every chunking.
#[test]
fn e13_corrupt_data_is_never_whole() {
    let text = text();
    for (coding, body) in [(GZIP, gzip(&text)), (DEFLATE, zlib(&text))] {
        let data_start = if coding == GZIP { 10 } else { 2 };
        let mut corrupt = 0;
        for position in data_start..body.len() {
            for change in [0x01, 0x10, 0x80, 0xff] {
                let mut body = body.clone();
                body[position] ^= change;
                let story = told_alike(coding, NO_LIMIT, &body);
                let is_corrupt = matches!(story.error, Some(CodingError::Corrupt { position })
                    if position == story.output.len() as u64);
                // A changed end marker makes the data run on into nothing; the last byte has bits that mean nothing.
                assert!(is_corrupt || story.end != InflateEnd::Whole || story.output == text, "{position} {story:?}");
                corrupt += usize::from(is_corrupt);
            }
        }
        assert!(corrupt > body.len(), "{corrupt}");
    }
}

/// E13: what comes before the damage comes out whole, also far behind the first window.
#[test]
fn e13_damage_takes_nothing_with_it() {
    let text = long_text(200_000);
    let body = gzip(&text);
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..60 {
        let position = 10 + usize::try_from(random.next()).unwrap() % (body.len() - 18);
        let mut damaged = body.clone();
        damaged[position] ^= 1 << (random.next() % 8);
        let intact = whole(GZIP, &body[..position]).output;
        let story = tell(GZIP, NO_LIMIT, [&damaged[..]]);
        assert!(story.error.is_some() || story.end != InflateEnd::Whole);
        assert!(story.output.starts_with(&intact), "{position}");
        for size in [1, 17, 1400, 70_000] {
            assert_eq!(tell(GZIP, NO_LIMIT, damaged.chunks(size)), story, "{position} {size}");
        }
    }
    // The reserved block type, after each flush.
    for at in [0, 1, 1000, 32_767, 32_768, 32_769, 100_000, 200_000] {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text[..at]).unwrap();
        encoder.flush().unwrap();
        let body = [encoder.get_ref(), &[0x07][..]].concat();
        assert_eq!(told_alike(DEFLATE, NO_LIMIT, &body), Story::corrupt(&text[..at]), "{at}");
    }
}

/// E13, D9: the same where a chunk ended inside a window and the damage lies in the next one.
#[test]
fn e13_damage_in_the_next_window_takes_nothing_with_it() {
    let text: Vec<u8> = (0..100_000u32).flat_map(|line| format!("data: {line}\n\n").into_bytes()).collect();
    for first in [1, 1000, 20_000, 32_767] {
        for second in [100, 32_768, 40_000, 60_000, 65_000] {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&text[..first]).unwrap();
            encoder.flush().unwrap();
            let edge = encoder.get_ref().len();
            encoder.write_all(&text[first..first + second]).unwrap();
            encoder.flush().unwrap();
            // The reserved block type.
            let body = [encoder.get_ref(), &[0x07][..]].concat();
            let (left, right) = body.split_at(edge);
            let expected = Story::corrupt(&text[..first + second]);
            assert_eq!(tell(DEFLATE, NO_LIMIT, [left, right]), expected, "{first} {second}");
            assert_eq!(told_alike(DEFLATE, NO_LIMIT, &body), expected, "{first} {second}");
        }
    }
}

/// RFC 9110 8.4.1.2: zlib; and raw, as some servers send it.
#[test]
fn e13_deflate_is_zlib_or_raw_told_by_the_first_bytes() {
    let text = text();
    for level in 0..=9 {
        let level = Compression::new(level);
        let mut encoder = ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(&text).unwrap();
        let zlib = encoder.finish().unwrap();
        let mut encoder = DeflateEncoder::new(Vec::new(), level);
        encoder.write_all(&text).unwrap();
        let raw = encoder.finish().unwrap();
        for (body, footer) in [(&zlib, 4), (&raw, 0)] {
            assert_eq!(told_alike(DEFLATE, NO_LIMIT, body), Story::ended(&text, InflateEnd::Whole));
            for cut in 1..body.len() {
                let story = whole(DEFLATE, &body[..cut]);
                assert_eq!(story.error, None);
                assert!(text.starts_with(&story.output));
                let end = if cut < body.len() - footer { InflateEnd::Short } else { InflateEnd::FooterMissing };
                assert_eq!(story.end, end, "{level:?} {cut}");
            }
        }
    }
    // gzip under the name of deflate.
    assert_eq!(told_alike(DEFLATE, NO_LIMIT, &gzip(&text)), Story::ended(&text, InflateEnd::Whole));
}

#[test]
fn e13_a_raw_stream_may_begin_like_zlib() {
    // A stored block whose padding bits are not zero: 0x08, then its length.
    let text = b"stored";
    let body = [&[0x08, 6, 0, 0xf9, 0xff][..], text, &raw(b"")].concat();
    assert_eq!(told_alike(DEFLATE, NO_LIMIT, &body), Story::ended(text, InflateEnd::Whole));
    assert_eq!(whole(DEFLATE, &body[..1]).end, InflateEnd::Short);
}

#[test]
fn e13_bad_deflate_bodies_are_corrupt() {
    let mut dictionary = zlib(b"text");
    // A dictionary nobody agreed on; the header's check made right again.
    dictionary[1] = 0x20 + (31 - (u16::from(dictionary[0]) * 256 + 0x20) % 31) as u8;
    for body in [dictionary, vec![0x1f, 0x00], vec![0x07], vec![0xff; 10]] {
        assert_eq!(told_alike(DEFLATE, NO_LIMIT, &body), Story::corrupt(b""), "{body:?}");
    }
}

/// E13: a bomb stops within one piece of the limit, having put out exactly the limit.
#[test]
fn e13_a_bomb_stops_at_the_limit() {
    let size = 32 * 1024 * 1024;
    let bomb = gzip(&vec![b'x'; size]);
    assert!(size / bomb.len() > 1000);
    for limit in [0, 1, 1000, 32_767, 32_768, 32_769, 1 << 20] {
        for chunk in [bomb.len(), 1000] {
            let mut inflater = Inflater::new(GZIP, limit).unwrap();
            let (mut output, mut taken) = (Vec::new(), 0);
            let mut error = None;
            'body: for mut input in bomb.chunks(chunk) {
                loop {
                    let before = input.len();
                    let result = inflater.inflate(&mut input, &mut output);
                    taken += before - input.len();
                    match result {
                        Ok(Progress::NeedInput) => break,
                        Ok(_) => {}
                        Err(found) => {
                            error = Some(found);
                            break 'body;
                        }
                    }
                }
            }
            assert_eq!(error, Some(CodingError::TooLarge { limit }));
            assert_eq!(output.len() as u64, limit);
            assert!(output.capacity() as u64 <= 2 * limit + 2 * INFLATE_PIECE as u64);
            // Input is read no further than one piece past the limit inflates from.
            let needed = (limit as usize + INFLATE_PIECE) / 1000 + 300;
            assert!(taken <= needed, "limit {limit}: {taken} bytes taken, {needed} needed");
        }
    }
}

/// E13: the limit is the last size that passes.
#[test]
fn e13_a_body_as_large_as_the_limit_is_whole() {
    for size in [0, 1, 100, 32_767, 32_768, 32_769, 65_536, 70_000] {
        let text = long_text(size);
        let limit = size as u64;
        for (coding, body) in [(GZIP, gzip(&text)), (DEFLATE, zlib(&text)), (DEFLATE, raw(&text))] {
            assert_eq!(told_alike(coding, limit, &body), Story::ended(&text, InflateEnd::Whole));
            if size > 0 {
                let story = told_alike(coding, limit - 1, &body);
                assert_eq!(story.error, Some(CodingError::TooLarge { limit: limit - 1 }));
                assert_eq!(story.output, text[..size - 1]);
            }
        }
        // Over several members.
        let two = [gzip(&text), gzip(b"x")].concat();
        assert_eq!(told_alike(GZIP, limit + 1, &two).error, None);
        assert_eq!(told_alike(GZIP, limit, &two).error, Some(CodingError::TooLarge { limit }));
    }
}

#[test]
fn only_what_can_be_inflated_has_an_inflater() {
    for coding in [ContentCoding::Identity, ContentCoding::Gzip, ContentCoding::Deflate, ContentCoding::Unsupported] {
        assert_eq!(Inflater::new(coding, 1).is_some(), can_inflate(coding), "{coding:?}");
    }
}

#[test]
fn errors_and_debug_carry_sizes_and_nothing_of_the_body() {
    let mut body = gzip(b"secret");
    let last = body.len() - 1;
    body[last] ^= 1;
    let error = whole(GZIP, &body).error.unwrap();
    assert_eq!(error.to_string(), "the coded body is corrupt after 6 inflated bytes");
    let error = tell(GZIP, 3, [&body[..]]).error.unwrap();
    assert_eq!(error.to_string(), "the body inflates to more than 3 bytes");

    let mut inflater = Inflater::new(GZIP, 100).unwrap();
    inflater.inflate(&mut &body[..], &mut Vec::new()).unwrap();
    let text = format!("{inflater:?}");
    assert!(text.contains("inflated_bytes: 6") && text.len() < 200, "{text}");
}

#[test]
fn inflaters_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Inflater>();
}
