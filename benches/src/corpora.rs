//! The streams to decode: made from fixed seeds, so that everybody measures the same bytes.
//!
//! Rules of this file:
//! * All chance comes from [`Random`].
//! * A corpus comes with the digest of the events that were written into it, so that no decoder is its own judge.
//! * In one corpus either every event has an id or none has: peers that do not carry an id on to the next event are
//!   then not wrong for it. What is compared here is speed; conformance has its own tests elsewhere.
//! * Every stream ends with a blank line. A smaller one of the same kind is made anew, not cut.

use std::fmt::Write as _;

use crate::sink::{Digest, Sink as _};

/// A stream and what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Corpus {
    /// Its kind.
    pub kind: &'static Kind,
    /// The bytes. They are never freed, so that a decoder that wants to share its input can.
    pub stream: &'static [u8],
    /// The events written into it.
    pub events: Digest,
}

/// A kind of stream.
#[derive(Debug)]
pub struct Kind {
    /// One letter, as the targets call it.
    pub letter: char,
    /// What the table calls it.
    pub name: &'static str,
    /// Its size in the full bench, in bytes.
    pub bytes: usize,
    write: fn(&mut Writer),
}

impl Kind {
    /// A stream of this kind of about `bytes` bytes.
    pub fn make(&'static self, bytes: usize) -> Corpus {
        let mut writer = Writer::new(bytes);
        (self.write)(&mut writer);
        Corpus { kind: self, stream: writer.stream.leak(), events: writer.events }
    }
}

const MIB: usize = 1024 * 1024;

/// All kinds.
pub static KINDS: [Kind; 10] = [
    // About 200,000 events.
    Kind { letter: 'a', name: "token deltas", bytes: 28 * MIB, write: |writer| tokens(writer, "\n") },
    Kind { letter: 'b', name: "MCP progress", bytes: 16 * MIB, write: progress },
    Kind { letter: 'c', name: "one line of 64 MiB", bytes: 64 * MIB - 8, write: one_line },
    Kind { letter: 'd', name: "many data lines", bytes: 16 * MIB, write: many_lines },
    Kind { letter: 'e', name: "keep-alives", bytes: 8 * MIB, write: keep_alives },
    Kind { letter: 'f', name: "token deltas, CRLF", bytes: 28 * MIB, write: |writer| tokens(writer, "\r\n") },
    Kind { letter: 'g', name: "CJK and emoji", bytes: 16 * MIB, write: cjk },
    Kind { letter: 'h', name: "40 KiB events", bytes: 16 * MIB, write: large },
    Kind { letter: 'i', name: "data-only deltas", bytes: 16 * MIB, write: data_only },
    Kind { letter: 'j', name: "pings with a time", bytes: 8 * MIB, write: pings },
];

/// What a language model's server sends: a type, an id and a short JSON object per token, 120 to 200 bytes in all.
fn tokens(writer: &mut Writer, line_end: &'static str) {
    let mut random = Random::new(1);
    writer.line_end = line_end;
    let mut text = String::new();
    while writer.has_room() {
        random.words(&mut text);
        let index = random.within(0, 4);
        let data = format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        );
        let id = 100_000 + writer.events.events;
        writer.event(Some("text_delta"), Some(&id.to_string()), &data);
    }
}

/// The same as others send it: no type and no id.
fn data_only(writer: &mut Writer) {
    let mut random = Random::new(5);
    let mut text = String::new();
    while writer.has_room() {
        random.words(&mut text);
        let data = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#);
        writer.event(None, None, &data);
    }
}

/// What an MCP server sends during a long tool call, over and over: 20 progress notifications, then a result of 1 to
/// 8 KiB.
fn progress(writer: &mut Writer) {
    let mut random = Random::new(2);
    let mut call = 0;
    while writer.has_room() {
        call += 1;
        for step in 1..=20 {
            let mut message = String::new();
            for _ in 0..random.within(3, 9) {
                random.word(&mut message);
                message.push(' ');
            }
            let data = format!(
                concat!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"call-{}","#,
                    r#""progress":{},"total":20,"message":"{}"}}}}"#
                ),
                call, step, message
            );
            writer.event(Some("message"), None, &data);
        }
        let mut text = String::new();
        let length = random.within(1024, 8192);
        while text.len() < length {
            random.word(&mut text);
            text.push_str(if random.within(0, 12) == 0 { r"\n" } else { " " });
        }
        let data = format!(
            r#"{{"jsonrpc":"2.0","id":{call},"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
        );
        writer.event(Some("message"), None, &data);
    }
}

/// Token deltas in Chinese, Japanese and Korean, with emoji: nearly all text takes three or four bytes a character.
fn cjk(writer: &mut Writer) {
    let mut random = Random::new(3);
    let mut text = String::new();
    while writer.has_room() {
        text.clear();
        for _ in 0..random.within(8, 40) {
            let (first, last) = match random.within(0, 16) {
                0 => (0x1F300, 0x1F5FF),
                1..=3 => (0x3041, 0x3096),
                4..=6 => (0xAC00, 0xD7A3),
                _ => (0x4E00, 0x9FA5),
            };
            text.extend(char::from_u32(random.within(first, last) as u32));
        }
        let data = format!(r#"{{"delta":{{"text":"{text}"}}}}"#);
        let id = writer.events.events;
        writer.event(Some("delta"), Some(&id.to_string()), &data);
    }
}

/// Events of one line of 40 KiB: pages, files, images in base64.
fn large(writer: &mut Writer) {
    let mut random = Random::new(4);
    while writer.has_room() {
        let data = blob(&mut random, 40 * 1024);
        writer.event(None, None, &data);
    }
}

/// One event of one line.
fn one_line(writer: &mut Writer) {
    let data = blob(&mut Random::new(6), writer.bytes - 64);
    writer.event(None, None, &data);
}

/// One event of many data lines of 1 KiB.
fn many_lines(writer: &mut Writer) {
    let mut random = Random::new(7);
    let mut data = String::new();
    while data.len() < writer.bytes {
        if !data.is_empty() {
            data.push('\n');
        }
        data.push_str(&blob(&mut random, 1000));
    }
    writer.event(None, None, &data);
}

/// A JSON object of a little more than `bytes` bytes.
fn blob(random: &mut Random, bytes: usize) -> String {
    let mut data = String::with_capacity(bytes + 16);
    data.push_str(r#"{"blob":""#);
    while data.len() < bytes {
        random.word(&mut data);
    }
    data.push_str(r#""}"#);
    data
}

/// What keeps an idle connection open. One event at the end tells that all was read.
fn keep_alives(writer: &mut Writer) {
    while writer.has_room() {
        writer.stream.extend_from_slice(b": keep-alive\n\n");
    }
    writer.event(None, None, "{}");
}

/// The same from a server whose pings bear the time, so that none is like the one before.
fn pings(writer: &mut Writer) {
    let mut seconds = 0;
    while writer.has_room() {
        seconds += 15;
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let day = 1 + seconds / 86_400 % 28;
        let ping = format!(": ping - 2026-02-{day:02} {hour:02}:{minute:02}:{second:02}.{:06}\n\n", seconds % 999_983);
        writer.stream.extend_from_slice(ping.as_bytes());
    }
    writer.event(None, None, "{}");
}

/// Writes events, and remembers which.
struct Writer {
    stream: Vec<u8>,
    events: Digest,
    bytes: usize,
    line_end: &'static str,
    block: String,
}

impl Writer {
    fn new(bytes: usize) -> Self {
        let stream = Vec::with_capacity(bytes + bytes / 16);
        Self { stream, events: Digest::default(), bytes, line_end: "\n", block: String::new() }
    }

    fn has_room(&self) -> bool {
        self.stream.len() < self.bytes
    }

    fn event(&mut self, kind: Option<&str>, id: Option<&str>, data: &str) {
        let end = self.line_end;
        self.block.clear();
        let lines = data.split('\n').map(|line| ("data", Some(line)));
        for (name, value) in [("event", kind), ("id", id)].into_iter().chain(lines) {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = write!(self.block, "{name}: {value}{end}");
            }
        }
        self.block.push_str(end);
        self.stream.extend_from_slice(self.block.as_bytes());
        self.events.event(kind.unwrap_or("message"), data, id.unwrap_or_default());
    }
}

/// A xorshift generator (Marsaglia): the same numbers on every machine.
#[derive(Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator for `seed`, which is not 0.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) }
    }

    /// A number from `first` to `last`, both included.
    pub fn within(&mut self, first: usize, last: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        first + ((self.state >> 32) as usize) % (last - first + 1)
    }

    /// Makes `text` read one to eight words.
    fn words(&mut self, text: &mut String) {
        text.clear();
        for _ in 0..self.within(1, 8) {
            text.push(' ');
            self.word(text);
        }
    }

    /// Appends a word of 2 to 9 small letters.
    fn word(&mut self, text: &mut String) {
        for _ in 0..self.within(2, 9) {
            text.push(char::from(b'a' + self.within(0, 25) as u8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KINDS;

    /// The same bytes every time, of the size asked for.
    #[test]
    fn corpora_are_deterministic() {
        for kind in &KINDS {
            let (one, other) = (kind.make(100_000), kind.make(100_000));
            assert_eq!(one.stream, other.stream);
            assert!((99_000..=150_000).contains(&one.stream.len()), "{}: {}", kind.name, one.stream.len());
            assert!(one.stream.ends_with(b"\n\n") || one.stream.ends_with(b"\r\n\r\n"));
        }
    }

    /// Token deltas have the size that is claimed for them, and the full bench their number.
    #[test]
    fn token_deltas_have_120_to_200_bytes() {
        let corpus = KINDS[0].make(1 << 20);
        let text = std::str::from_utf8(corpus.stream).unwrap();
        let sizes: Vec<usize> = text.split_inclusive("\n\n").map(str::len).collect();
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(*least >= 120 && *most <= 200, "{least} to {most}");
        let events = KINDS[0].bytes * sizes.len() / corpus.stream.len();
        assert!((195_000..205_000).contains(&events), "{events}");
    }

    /// The one line of 64 MiB is within the decoder's default limit.
    #[test]
    fn the_large_event_is_within_the_limit() {
        let corpus = KINDS[2].make(KINDS[2].bytes);
        assert_eq!(corpus.events.events, 1);
        assert!(corpus.stream.len() <= 64 * 1024 * 1024);
    }
}
