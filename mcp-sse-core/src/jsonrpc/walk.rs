//! A step over one JSON value at a time, its grammar (RFC 8259) checked on the way: what every reader of whole texts is
//! made of.
//!
//! Rules: a step ends behind a whole value or tells that there is none; why not, and whether the text was only cut, is told
//! by `grammar`, which is asked when a step fails. Nothing recurses: nesting costs one bit of memory a level. Values are not
//! decoded here.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::text::decode;

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawMember<'a> {
    pub(crate) key: RawKey<'a>,
    pub(crate) value: &'a str,
}

/// The key of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawKey<'a> {
    /// With its quotes.
    pub(crate) raw: &'a str,
    has_escapes: bool,
}

impl<'a> RawKey<'a> {
    /// What it says. Half of a surrogate pair that stands alone becomes U+FFFD.
    #[inline]
    pub(crate) fn name(&self) -> Cow<'a, str> {
        if self.has_escapes {
            return decode(self.raw).map(|decoded| decoded.text).unwrap_or_default();
        }
        Cow::Borrowed(self.raw.get(1..self.raw.len() - 1).unwrap_or_default())
    }
}

/// A place in a text.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    text: &'a str,
    at: usize,
}

/// Nothing that is grammar stands here.
type Step<T> = Option<T>;

impl<'a> Walk<'a> {
    /// At the start of this text.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Steps over white space.
    #[inline]
    pub(super) fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// The next byte.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over this byte.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> Step<()> {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there.then_some(())
    }

    /// Whether the text ends here.
    pub(super) const fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// How much was stepped over, in bytes.
    pub(crate) const fn position(&self) -> usize {
        self.at
    }

    /// What is ahead.
    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Opens the object that stands here, behind white space; tells whether it has members.
    pub(crate) fn open_object(&mut self) -> Step<bool> {
        self.space();
        self.take(b'{')?;
        self.space();
        Some(self.take(b'}').is_none())
    }

    /// Steps over a member of an object and what follows it; tells whether another one comes.
    #[inline]
    pub(super) fn member(&mut self) -> Step<(RawMember<'a>, bool)> {
        let key = self.key()?;
        let start = self.at;
        self.value()?;
        let value = self.since(start)?;
        Some((RawMember { key, value }, self.end_member()?))
    }

    /// Steps over the key of a member, up to its value.
    #[inline]
    pub(crate) fn key(&mut self) -> Step<RawKey<'a>> {
        let start = self.at;
        let has_escapes = self.string()?;
        let raw = self.since(start)?;
        self.colon()?;
        Some(RawKey { raw, has_escapes })
    }

    /// Steps over what follows the value of a member; tells whether another member comes.
    #[inline]
    pub(crate) fn end_member(&mut self) -> Step<bool> {
        self.space();
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => {
                self.space();
                Some(true)
            }
            b'}' => Some(false),
            _ => None,
        }
    }

    /// What was stepped over since this position.
    #[inline]
    pub(crate) fn since(&self, start: usize) -> Step<&'a str> {
        self.text.get(start..self.at)
    }

    /// Steps over one value; its first byte stands here.
    #[inline]
    pub(crate) fn value(&mut self) -> Step<()> {
        match self.peek()? {
            b'{' | b'[' => self.nested(),
            _ => self.scalar(),
        }
    }

    fn nested(&mut self) -> Step<()> {
        let mut open = Open::default();
        loop {
            // A value stands here.
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    self.space();
                    if self.take(b'}').is_none() {
                        open.push(true);
                        self.name()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.space();
                    if self.take(b']').is_none() {
                        open.push(false);
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // Behind a value.
            loop {
                let Some(is_object) = open.last() else {
                    return Some(());
                };
                self.space();
                let byte = self.peek()?;
                self.at += 1;
                match (byte, is_object) {
                    (b',', true) => {
                        self.space();
                        self.name()?;
                        break;
                    }
                    (b',', false) => {
                        self.space();
                        break;
                    }
                    (b'}', true) | (b']', false) => open.pop(),
                    _ => return None,
                }
            }
        }
    }

    #[inline]
    fn name(&mut self) -> Step<()> {
        self.string()?;
        self.colon()
    }

    #[inline]
    fn colon(&mut self) -> Step<()> {
        self.space();
        self.take(b':')?;
        self.space();
        Some(())
    }

    fn scalar(&mut self) -> Step<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            _ => None,
        }
    }

    fn literal(&mut self, literal: &str) -> Step<()> {
        let is_there = self.rest().starts_with(literal);
        self.at += literal.len();
        is_there.then_some(())
    }

    /// Steps over a string, whose quote stands here; tells whether it has escapes.
    fn string(&mut self) -> Step<bool> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let (mut at, mut has_escapes) = (self.at + 1, false);
        loop {
            // What stands for itself, many at a time.
            if let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
                let ends = ends(u64::from_le_bytes(*word));
                if ends == 0 {
                    at += size_of::<u64>();
                    // Most are short, and not worth a look at a block.
                    if at > self.at + 2 * BLOCK {
                        at = plain_end(bytes, at);
                    }
                    continue;
                }
                at += ends.trailing_zeros() as usize / 8;
            } else {
                while bytes.get(at).copied().is_some_and(is_plain) {
                    at += 1;
                }
            }
            match bytes.get(at)? {
                b'"' => break,
                b'\\' => {
                    has_escapes = true;
                    at = escape_end(bytes, at + 1)?;
                }
                // A control character.
                _ => return None,
            }
        }
        self.at = at + 1;
        Some(has_escapes)
    }

    fn number(&mut self) -> Step<()> {
        self.take(b'-');
        // No digit follows a leading zero.
        if self.take(b'0').is_none() {
            self.digits()?;
        }
        if self.take(b'.').is_some() {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Steps over digits, one at least.
    fn digits(&mut self) -> Step<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// Bytes looked at together in what is long. Compilers make a few vector instructions of them.
const BLOCK: usize = 32;

/// Where the blocks end, from this place, in which every byte stands for itself.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // All are looked at, without a branch for each; as numbers, of which compilers make fewer instructions.
        let is_end = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
        if block.iter().fold(0, |any, &byte| any | is_end(byte)) != 0 {
            break;
        }
        at += BLOCK;
    }
    at
}

/// Where the escape ends whose letter stands at this place.
fn escape_end(bytes: &[u8], at: usize) -> Step<usize> {
    match bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = bytes.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

/// Whether a byte stands for itself within a string. Bytes beyond ASCII do.
pub(super) const fn is_plain(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

/// The highest bit of each byte that does not stand for itself within a string. Above the first such byte, of others too.
#[inline]
const fn ends(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let quotes = word ^ u64::from_ne_bytes([b'"'; 8]);
    let backslashes = word ^ u64::from_ne_bytes([b'\\'; 8]);
    // A byte that is less than a bound borrows from its highest bit when the bound is taken off.
    let (quotes, backslashes) = (quotes.wrapping_sub(ONES), backslashes.wrapping_sub(ONES));
    let controls = word.wrapping_sub(u64::from_ne_bytes([0x20; 8]));
    // A byte beyond ASCII has the bit without a borrow, in all three alike.
    (quotes | backslashes | controls) & !word & HIGHEST
}

/// What is open around a place, the outermost first: an object or an array. A bit a level.
#[derive(Default)]
struct Open {
    /// The innermost levels, the last in the lowest bit.
    last: u64,
    depth: usize,
    /// Those around them, 64 at a time.
    outer: Vec<u64>,
}

impl Open {
    #[inline]
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth % 64 == 0 {
            self.outer.push(self.last);
        }
        self.last = self.last << 1 | u64::from(is_object);
        self.depth += 1;
    }

    #[inline]
    const fn last(&self) -> Option<bool> {
        if self.depth == 0 { None } else { Some(self.last & 1 == 1) }
    }

    #[inline]
    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.last >>= 1;
        if self.depth > 0 && self.depth % 64 == 0 {
            self.last = self.outer.pop().unwrap_or_default();
        }
    }
}
