//! One line of a recording: its words, its payload, its text.
//!
//! Rules: the text is ASCII without control characters, so that it survives mails and editors: what is not visible is
//! written `\xNN`, a backslash twice, line ends and tabs by their letters. Reading is total: a text that is no line is
//! an error that says what was wanted. Times are milliseconds with up to six decimals, which is all that a
//! [`Timestamp`] holds.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::time::Duration;

use crate::time::Timestamp;

/// What stands between the words and the payload.
const BEFORE_PAYLOAD: &str = " | ";

/// One line: a time, if it is something that happened at one; a word; arguments, some of them named; a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Option<Timestamp>,
    pub(crate) word: Cow<'static, str>,
    /// Names and values; the name is empty where the place tells.
    pub(crate) arguments: Vec<(Cow<'static, str>, String)>,
    pub(crate) payload: Option<Vec<u8>>,
}

impl Line {
    pub(crate) const fn new(word: &'static str) -> Self {
        Self { at: None, word: Cow::Borrowed(word), arguments: Vec::new(), payload: None }
    }

    /// Something that happened at this time.
    pub(crate) const fn at(now: Timestamp, word: &'static str) -> Self {
        Self { at: Some(now), word: Cow::Borrowed(word), arguments: Vec::new(), payload: None }
    }

    /// Adds an argument that its place names.
    pub(crate) fn arg(self, value: impl fmt::Display) -> Self {
        self.named("", value)
    }

    /// Adds an argument with a name.
    pub(crate) fn named(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.arguments.push((Cow::Borrowed(name), format!("{value}")));
        self
    }

    /// Adds an argument with a name, if there is one.
    pub(crate) fn maybe(self, name: &'static str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.named(name, value),
            None => self,
        }
    }

    /// Adds the name alone, if it is so.
    pub(crate) fn flag(self, name: &'static str, is_so: bool) -> Self {
        if is_so { self.arg(name) } else { self }
    }

    pub(crate) fn payload(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.payload = Some(bytes.into());
        self
    }

    /// The number and the checksum of bytes that are not written.
    pub(crate) fn sized(self, bytes: &[u8]) -> Self {
        self.named("bytes", bytes.len()).named("crc", checksum(bytes))
    }

    /// What it costs to keep.
    pub(crate) fn bytes(&self) -> usize {
        let arguments: usize = self.arguments.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
        arguments + self.payload.as_ref().map_or(0, Vec::len) + 96
    }

    /// The argument at this place, those with names not counted.
    pub(crate) fn place(&self, place: usize) -> Option<&str> {
        self.arguments.iter().filter(|(name, _)| name.is_empty()).nth(place).map(|(_, value)| value.as_str())
    }

    /// The argument of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All arguments of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.arguments.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether an argument without a name is this.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.all("").any(|value| value == flag)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What was wanted.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let text = core::str::from_utf8(text).ok().filter(|text| text.is_ascii()).ok_or("ASCII")?;
        let (head, payload) = match text.split_once(BEFORE_PAYLOAD) {
            Some((head, payload)) => (head, Some(unescape(payload)?)),
            // An empty payload, whose trailing space an editor took away.
            None => match text.strip_suffix(" |") {
                Some(head) => (head, Some(Vec::new())),
                None => (text, None),
            },
        };
        let mut words = head.split(' ').filter(|word| !word.is_empty());
        let first = words.next().ok_or("a word")?;
        let (at, word) = if first.starts_with(|first: char| first.is_ascii_digit()) {
            let at = Timestamp::new(parse_duration(first).ok_or("a time in milliseconds")?);
            (Some(at), words.next().ok_or("a word after the time")?)
        } else {
            (None, first)
        };
        let mut arguments = Vec::new();
        for argument in words {
            let (name, value) = argument.split_once('=').unwrap_or(("", argument));
            let value = String::from_utf8(unescape(value)?).map_err(|_| "UTF-8 in an argument")?;
            arguments.push((Cow::Owned(String::from(name)), value));
        }
        Ok(Self { at, word: Cow::Owned(String::from(word)), arguments, payload })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, "{} ", millis(at))?;
        }
        f.write_str(&self.word)?;
        for (name, value) in &self.arguments {
            f.write_char(' ')?;
            if !name.is_empty() || value.is_empty() || value.contains('=') {
                // Without a name, an equals sign would be taken for the end of one.
                write!(f, "{name}=")?;
            }
            value.bytes().try_for_each(|byte| escape(f, byte, byte == b' ' || byte == b'|'))?;
        }
        if let Some(payload) = &self.payload {
            f.write_str(BEFORE_PAYLOAD)?;
            let last = payload.len().saturating_sub(1);
            // A space at the end of a line does not survive everywhere.
            payload.iter().enumerate().try_for_each(|(at, byte)| escape(f, *byte, *byte == b' ' && at == last))?;
        }
        Ok(())
    }
}

fn escape(f: &mut fmt::Formatter<'_>, byte: u8, is_hidden: bool) -> fmt::Result {
    match byte {
        b'\\' => f.write_str("\\\\"),
        b'\n' => f.write_str("\\n"),
        b'\r' => f.write_str("\\r"),
        b'\t' => f.write_str("\\t"),
        b' '..=b'~' if !is_hidden => f.write_char(char::from(byte)),
        _ => write!(f, "\\x{byte:02x}"),
    }
}

fn unescape(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'\\' => match rest.next() {
                Some(b'\\') => b'\\',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'x') => {
                    let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                    let (high, low) = (digit(), digit());
                    let value = high.zip(low).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                    value.ok_or("two hexadecimal digits after \\x")?
                }
                _ => return Err("\\\\, \\n, \\r, \\t or \\x after a backslash"),
            },
            b' '..=b'~' => byte,
            _ => return Err("visible characters, or escapes"),
        };
        bytes.push(byte);
    }
    Ok(bytes)
}

/// A moment as milliseconds.
pub(crate) fn millis(at: Timestamp) -> String {
    duration(at.since_origin())
}

/// A time as milliseconds, with as many decimals as it takes.
pub(crate) fn duration(time: Duration) -> String {
    let mut text = format!("{}.{:06}", time.as_millis(), time.subsec_nanos() % 1_000_000);
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    if text.is_empty() { String::from("0") } else { text }
}

/// The time that [`duration`] wrote.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 6 {
        return None;
    }
    let whole: u128 = whole.parse().ok()?;
    let nanos: u32 = format!("{fraction:0<6}").parse().ok()?;
    let seconds = u64::try_from(whole / 1000).ok()?;
    let millis = u32::try_from(whole % 1000).ok()?;
    Some(Duration::new(seconds, millis * 1_000_000 + nanos))
}

/// The CRC-32 of a text, as zip and gzip have it, in eight hexadecimal digits.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}
