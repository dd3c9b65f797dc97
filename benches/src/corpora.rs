//! The streams to decode: made from fixed seeds, so that everybody measures the same bytes.
//!
//! Rules of this file:
//! * All chance comes from [`Random`].
//! * A corpus comes with the digest of the events that were written into it, so that no decoder is its own judge.
//! * In one corpus either every event has an id or none has: peers that do not carry an id on to the next event are
//!   then not wrong for it. What is compared here is speed; conformance has its own tests elsewhere.
//! * Every stream ends with a blank line, and so does every [`Corpus::cut`] of it.

use std::fmt::Write as _;

use crate::sink::{Digest, Sink as _};

/// A stream and what is in it.
#[derive(Debug)]
pub struct Corpus {
    /// What the table calls it.
    pub name: &'static str,
    /// The bytes.
    pub stream: Vec<u8>,
    /// The events written into it.
    pub events: Digest,
    line_end: &'static str,
}

impl Corpus {
    /// At most `bytes` of the stream's front, whole events only.
    pub fn cut(&self, bytes: usize) -> &[u8] {
        if bytes >= self.stream.len() {
            return &self.stream;
        }
        let blank = self.line_end.repeat(2);
        let front = &self.stream[..bytes];
        let end = front.windows(blank.len()).rposition(|window| window == blank.as_bytes());
        &front[..end.map_or(0, |at| at + blank.len())]
    }
}

/// All corpora, each of about `bytes` bytes.
pub fn all(bytes: usize) -> Vec<Corpus> {
    vec![
        tokens("token deltas", "\n", bytes),
        tokens("token deltas, CRLF", "\r\n", bytes),
        progress(bytes),
        cjk(bytes),
        large(bytes),
        keep_alives(bytes),
    ]
}

/// What a language model's server sends: a type, an id and a short JSON object per token, 120 to 200 bytes in all.
fn tokens(name: &'static str, line_end: &'static str, bytes: usize) -> Corpus {
    let mut random = Random::new(1);
    let mut writer = Writer::new(name, line_end, bytes);
    let mut text = String::new();
    while writer.has_room() {
        text.clear();
        for _ in 0..random.within(1, 8) {
            text.push(' ');
            random.word(&mut text);
        }
        let index = random.within(0, 4);
        let data = format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        );
        let id = 100_000 + writer.corpus.events.events;
        writer.event(Some("text_delta"), Some(&id.to_string()), &data);
    }
    writer.corpus
}

/// What an MCP server sends during a long tool call, over and over: 20 progress notifications, then a result of 1 to
/// 8 KiB.
fn progress(bytes: usize) -> Corpus {
    let mut random = Random::new(2);
    let mut writer = Writer::new("MCP progress", "\n", bytes);
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
    writer.corpus
}

/// Token deltas in Chinese, Japanese and Korean, with emoji: nearly all text takes three or four bytes a character.
fn cjk(bytes: usize) -> Corpus {
    let mut random = Random::new(3);
    let mut writer = Writer::new("CJK and emoji", "\n", bytes);
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
        let id = writer.corpus.events.events;
        writer.event(Some("delta"), Some(&id.to_string()), &data);
    }
    writer.corpus
}

/// Events of one line of 40 KiB: pages, files, images in base64.
fn large(bytes: usize) -> Corpus {
    let mut random = Random::new(4);
    let mut writer = Writer::new("40 KiB events", "\n", bytes);
    while writer.has_room() {
        let mut data = String::from(r#"{"blob":""#);
        while data.len() < 40 * 1024 {
            random.word(&mut data);
        }
        data.push_str(r#""}"#);
        writer.event(None, None, &data);
    }
    writer.corpus
}

/// What keeps an idle connection open: comments, and an event now and then.
fn keep_alives(bytes: usize) -> Corpus {
    let mut writer = Writer::new("keep-alives", "\n", bytes);
    while writer.has_room() {
        for _ in 0..200 {
            writer.corpus.stream.extend_from_slice(b": keep-alive\n\n");
        }
        writer.event(None, None, "{}");
    }
    writer.corpus
}

/// Writes events, and remembers which.
struct Writer {
    corpus: Corpus,
    bytes: usize,
    block: String,
}

impl Writer {
    fn new(name: &'static str, line_end: &'static str, bytes: usize) -> Self {
        let corpus = Corpus { name, stream: Vec::with_capacity(bytes), events: Digest::default(), line_end };
        Self { corpus, bytes, block: String::new() }
    }

    fn has_room(&self) -> bool {
        self.corpus.stream.len() < self.bytes
    }

    fn event(&mut self, kind: Option<&str>, id: Option<&str>, data: &str) {
        let end = self.corpus.line_end;
        self.block.clear();
        for (name, value) in [("event", kind), ("id", id), ("data", Some(data))] {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = write!(self.block, "{name}: {value}{end}");
            }
        }
        self.block.push_str(end);
        self.corpus.stream.extend_from_slice(self.block.as_bytes());
        self.corpus.events.event(kind.unwrap_or("message"), data, id.unwrap_or_default());
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

    /// Appends a word of 2 to 9 small letters.
    fn word(&mut self, text: &mut String) {
        for _ in 0..self.within(2, 9) {
            text.push(char::from(b'a' + self.within(0, 25) as u8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::all;

    /// The same bytes every time, of the size asked for.
    #[test]
    fn corpora_are_deterministic() {
        for (one, other) in all(100_000).iter().zip(all(100_000)) {
            assert_eq!(one.stream, other.stream);
            assert!((100_000..=150_000).contains(&one.stream.len()), "{}: {}", one.name, one.stream.len());
        }
    }

    /// Token deltas have the size that is claimed for them.
    #[test]
    fn token_deltas_have_120_to_200_bytes() {
        let corpus = all(1 << 20).swap_remove(0);
        let text = String::from_utf8(corpus.stream).unwrap();
        let sizes: Vec<usize> = text.split_inclusive("\n\n").map(str::len).collect();
        let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
        assert!(*least >= 120 && *most <= 200, "{least} to {most}");
    }

    /// A cut holds whole events only.
    #[test]
    fn cuts_end_with_a_blank_line() {
        for corpus in all(200_000) {
            let cut = corpus.cut(100_000);
            assert!(!cut.is_empty() && cut.len() <= 100_000);
            assert!(cut.ends_with(corpus.line_end.repeat(2).as_bytes()));
            assert_eq!(corpus.cut(usize::MAX).len(), corpus.stream.len());
        }
    }
}
