//! What stands behind a JSON value, its grammar (RFC 8259) checked on the way. Every byte of every message is looked at
//! here.
//!
//! Rules: each function is given the rest of a text and tells what is left behind the thing it is named for, or that no
//! such thing stands at the front. The text is UTF-8, so that bytes beyond ASCII need no look. Nothing recurses: nesting
//! costs one bit of memory a level. What is common is written into its caller (`inline(always)`), so that all stays in
//! registers; what is long or rare is called.

use alloc::vec::Vec;

/// Nothing that is grammar stands here.
pub(super) type Step<T> = Option<T>;

/// Bytes looked at together in what is long. Compilers make a few vector instructions of them.
const BLOCK: usize = 32;

/// Words of eight bytes in which names and small values end.
const SHORT: usize = 3;

/// Behind white space, if there is any.
#[inline(always)]
pub(super) fn after_space(rest: &[u8]) -> &[u8] {
    match rest.first() {
        // Most encoders write none. All that may stand behind it is greater.
        Some(byte) if *byte <= b' ' => after_some_space(rest),
        _ => rest,
    }
}

#[inline(never)]
fn after_some_space(mut rest: &[u8]) -> &[u8] {
    while let [b' ' | b'\n' | b'\t' | b'\r', after @ ..] = rest {
        rest = after;
    }
    rest
}

/// The first byte behind white space, and what is behind that.
#[inline(always)]
pub(super) fn next(rest: &[u8]) -> Step<(u8, &[u8])> {
    let (first, after) = after_space(rest).split_first()?;
    Some((*first, after))
}

/// Behind the value whose first byte was taken.
#[inline(always)]
pub(super) fn after_value(first: u8, rest: &[u8]) -> Step<&[u8]> {
    match first {
        b'"' => after_string(rest),
        b'{' | b'[' => after_nested(first, rest),
        _ => after_number_or_literal(first, rest),
    }
}

#[inline(always)]
fn after_number_or_literal(first: u8, rest: &[u8]) -> Step<&[u8]> {
    match first {
        b'-' | b'0'..=b'9' => after_number(first, rest),
        b't' => rest.strip_prefix(b"rue"),
        b'f' => rest.strip_prefix(b"alse"),
        b'n' => rest.strip_prefix(b"ull"),
        _ => None,
    }
}

/// Behind an object or an array, whatever is in it.
#[inline(never)]
fn after_nested(mut first: u8, mut rest: &[u8]) -> Step<&[u8]> {
    let mut open = Open::default();
    loop {
        // A value has begun.
        if first == b'"' {
            rest = after_string(rest)?;
        } else if first == b'{' || first == b'[' {
            let is_object = first == b'{';
            (first, rest) = next(rest)?;
            if first != if is_object { b'}' } else { b']' } {
                open.push(is_object);
                if is_object {
                    (first, rest) = after_name(first, rest)?;
                }
                continue;
            }
            if open.is_empty() {
                return Some(rest);
            }
        } else {
            rest = after_number_or_literal(first, rest)?;
        }
        // Behind a value that lies in another.
        loop {
            let is_object = open.is_object();
            (first, rest) = next(rest)?;
            if first == b',' {
                (first, rest) = next(rest)?;
                if is_object {
                    (first, rest) = after_name(first, rest)?;
                }
                break;
            }
            if first != if is_object { b'}' } else { b']' } {
                return None;
            }
            open.pop();
            if open.is_empty() {
                return Some(rest);
            }
        }
    }
}

/// Behind a name whose first byte was taken, and its colon: the first byte of its value, and what is behind that.
#[inline(always)]
fn after_name(first: u8, rest: &[u8]) -> Step<(u8, &[u8])> {
    if first != b'"' {
        return None;
    }
    next(after_colon(after_string(rest)?)?)
}

/// Behind white space and a colon.
#[inline(always)]
pub(super) fn after_colon(rest: &[u8]) -> Step<&[u8]> {
    let (byte, after) = next(rest)?;
    (byte == b':').then_some(after)
}

/// Behind a string whose quote was taken.
#[inline(always)]
pub(super) fn after_string(rest: &[u8]) -> Step<&[u8]> {
    match after_short_string(rest) {
        Ok(after) => Some(after),
        Err(within) => after_long_string(within),
    }
}

/// Behind the end of a string of few bytes, none of them an escape; or a place within it, up to which there is none.
#[inline(always)]
pub(super) fn after_short_string(rest: &[u8]) -> Result<&[u8], &[u8]> {
    let mut rest = rest;
    for _ in 0..SHORT {
        let Some((word, after)) = rest.split_first_chunk() else {
            break;
        };
        let ends = ends(u64::from_le_bytes(*word));
        if ends != 0 {
            return match rest.get(first(ends)..) {
                Some([b'"', after @ ..]) => Ok(after),
                _ => Err(rest),
            };
        }
        rest = after;
    }
    Err(rest)
}

/// Behind a string, from within.
#[inline(never)]
pub(super) fn after_long_string(mut rest: &[u8]) -> Step<&[u8]> {
    loop {
        let (byte, after) = after_plain(rest).split_first()?;
        match byte {
            b'"' => return Some(after),
            b'\\' => rest = after_escape(after)?,
            // A control character.
            _ => return None,
        }
    }
}

/// Behind what stands for itself.
#[inline(always)]
fn after_plain(mut rest: &[u8]) -> &[u8] {
    while let Some((block, after)) = rest.split_first_chunk::<BLOCK>() {
        // All are looked at, without a branch for each; as numbers, of which compilers make fewer instructions.
        if block.iter().fold(0, |any, &byte| any | u8::from(!is_plain(byte))) != 0 {
            break;
        }
        rest = after;
    }
    while let Some((word, after)) = rest.split_first_chunk() {
        let ends = ends(u64::from_le_bytes(*word));
        if ends != 0 {
            return rest.get(first(ends)..).unwrap_or_default();
        }
        rest = after;
    }
    while let Some((_, after)) = rest.split_first().filter(|(byte, _)| is_plain(**byte)) {
        rest = after;
    }
    rest
}

/// Behind an escape whose backslash was taken.
#[inline(always)]
fn after_escape(rest: &[u8]) -> Step<&[u8]> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', after @ ..] => Some(after),
        [b'u', a, b, c, d, after @ ..] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()).then_some(after),
        _ => None,
    }
}

/// Behind a number whose first byte was taken.
#[inline(always)]
fn after_number(mut first: u8, mut rest: &[u8]) -> Step<&[u8]> {
    if first == b'-' {
        let (&digit, after) = rest.split_first()?;
        (first, rest) = (digit, after);
    }
    // No digit follows a leading zero.
    if first != b'0' {
        if !first.is_ascii_digit() {
            return None;
        }
        rest = after_digits(rest);
    }
    match rest {
        [b'.' | b'e' | b'E', ..] => after_fraction(rest),
        _ => Some(rest),
    }
}

/// Behind what a number has beyond its integer.
#[inline(never)]
fn after_fraction(mut rest: &[u8]) -> Step<&[u8]> {
    if let [b'.', after @ ..] = rest {
        rest = after_some_digits(after)?;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let digits = match after {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        rest = after_some_digits(digits)?;
    }
    Some(rest)
}

fn after_some_digits(rest: &[u8]) -> Step<&[u8]> {
    let (first, after) = rest.split_first()?;
    first.is_ascii_digit().then(|| after_digits(after))
}

#[inline(always)]
fn after_digits(mut rest: &[u8]) -> &[u8] {
    while let [b'0'..=b'9', after @ ..] = rest {
        rest = after;
    }
    rest
}

/// Whether a byte stands for itself within a string. Bytes beyond ASCII do.
#[inline(always)]
pub(super) const fn is_plain(byte: u8) -> bool {
    // One comparison for control characters and the quote: 2 makes it a space, and those a permutation of themselves.
    byte ^ 2 > b' ' && byte != b'\\'
}

/// The highest bit of each byte that does not stand for itself within a string. Above the first such byte, of others too.
#[inline(always)]
const fn ends(word: u64) -> u64 {
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    // As in `is_plain`. A byte that is less than a bound borrows from its highest bit when the bound is taken off.
    let quotes_and_controls = (word ^ u64::from_ne_bytes([2; 8])).wrapping_sub(u64::from_ne_bytes([b' ' + 1; 8]));
    let backslashes = (word ^ u64::from_ne_bytes([b'\\'; 8])).wrapping_sub(u64::from_ne_bytes([1; 8]));
    // A byte beyond ASCII has the bit without a borrow, in both alike.
    (quotes_and_controls | backslashes) & !word & HIGHEST
}

/// The index of the first byte marked.
#[inline(always)]
const fn first(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// What is open around a place, the outermost first: an object or an array. A bit a level.
struct Open {
    /// The innermost levels, the last in the lowest bit; a one stands above them.
    last: u64,
    /// Those around them, 63 at a time.
    outer: Vec<u64>,
}

impl Default for Open {
    #[inline(always)]
    fn default() -> Self {
        Self { last: 1, outer: Vec::new() }
    }
}

impl Open {
    #[inline(always)]
    fn push(&mut self, is_object: bool) {
        if self.last >> 63 != 0 {
            self.outer.push(self.last);
            self.last = 1;
        }
        self.last = self.last << 1 | u64::from(is_object);
    }

    #[inline(always)]
    const fn is_empty(&self) -> bool {
        self.last == 1
    }

    /// Whether the innermost is an object.
    #[inline(always)]
    const fn is_object(&self) -> bool {
        self.last & 1 == 1
    }

    #[inline(always)]
    fn pop(&mut self) {
        self.last >>= 1;
        if self.last == 1 {
            self.last = self.outer.pop().unwrap_or(1);
        }
    }
}
