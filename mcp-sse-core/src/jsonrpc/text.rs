//! Slices of a JSON text: where they lie in it, and what a string written in it says.
//!
//! Every function here is given text whose grammar was checked; on other text it gives an answer of no use, never a panic.

use alloc::borrow::Cow;
use alloc::string::String;
use core::ops::Range;

/// A place in a text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    /// Where `part` lies in `text`, if it is a slice of it.
    ///
    /// The difference of two addresses is exact and needs no second search.
    pub(super) fn of(part: &str, text: &str) -> Option<Self> {
        let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let end = start.checked_add(part.len())?;
        (end <= text.len()).then_some(Self { start, end })
    }

    pub(super) fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }
}

/// Where `part` lies in `text`, if it is a slice of it.
pub(crate) fn place(part: &str, text: &str) -> Option<Range<usize>> {
    Span::of(part, text).map(|span| span.start..span.end)
}

/// The offset of `part` in `text`. For slices that are known to lie in it.
pub(super) fn offset(part: &str, text: &str) -> usize {
    Span::of(part, text).map_or(0, |span| span.start)
}

/// What a JSON string says.
pub(super) struct Decoded<'a> {
    /// The text, with U+FFFD for each half of a surrogate pair that stood alone.
    pub(super) text: Cow<'a, str>,
    /// Whether there was such a half.
    pub(super) is_lossy: bool,
}

/// Reads a raw JSON string, quotes included. Nothing if the raw value is no string.
#[inline]
pub(super) fn decode(raw: &str) -> Option<Decoded<'_>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if has_backslash(inner.as_bytes()) {
        return decode_escapes(inner);
    }
    Some(Decoded { text: Cow::Borrowed(inner), is_lossy: false })
}

/// Methods and keys are short, and a search that is called costs more than it finds.
#[inline]
fn has_backslash(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.contains(&b'\\');
    };
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        if word_has_backslash(*word) {
            return true;
        }
        rest = after;
    }
    word_has_backslash(*last)
}

#[inline]
const fn word_has_backslash(word: [u8; 8]) -> bool {
    let zeros = u64::from_ne_bytes(word) ^ u64::from_ne_bytes([b'\\'; 8]);
    // Only a zero byte borrows, or the one above it.
    zeros.wrapping_sub(u64::from_ne_bytes([1; 8])) & !zeros & u64::from_ne_bytes([0x80; 8]) != 0
}

fn decode_escapes(inner: &str) -> Option<Decoded<'_>> {
    let mut text = String::with_capacity(inner.len());
    let mut is_lossy = false;
    let mut rest = inner;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        text.push_str(plain);
        let (character, after) = unescape(escaped)?;
        text.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        is_lossy |= character.is_none();
        rest = after;
    }
    text.push_str(rest);
    Some(Decoded { text: Cow::Owned(text), is_lossy })
}

/// Reads one escape whose backslash was taken: the character (nothing for half of a surrogate pair), and what follows it.
fn unescape(escaped: &str) -> Option<(Option<char>, &str)> {
    let mut characters = escaped.chars();
    let character = match characters.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unescape_hex(characters.as_str()),
        itself => itself,
    };
    Some((Some(character), characters.as_str()))
}

fn unescape_hex(digits: &str) -> Option<(Option<char>, &str)> {
    let (unit, after) = code_unit(digits)?;
    if !(0xD800..0xDC00).contains(&unit) {
        return Some((char::from_u32(unit), after));
    }
    // A high half makes a character with the low half right after it, and only with that.
    match after.strip_prefix("\\u").and_then(code_unit) {
        Some((low, after)) if (0xDC00..0xE000).contains(&low) => {
            let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            Some((char::from_u32(code), after))
        }
        _ => Some((None, after)),
    }
}

fn code_unit(digits: &str) -> Option<(u32, &str)> {
    let (hex, after) = digits.split_at_checked(4)?;
    Some((u32::from_str_radix(hex, 16).ok()?, after))
}
