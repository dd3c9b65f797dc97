//! Text collected piece by piece: UTF-8 with replacement, across the cuts, within a limit.
//!
//! Rules: a limit is checked before a byte is kept; what counts is the decoded text, and it comes out the same
//! however the bytes were cut into pieces. No field, line or event is known here.

use alloc::string::String;
use core::str;

/// Buffers up to this capacity are kept for the next text, larger ones are given back. Growth at most doubles, so a
/// steady flow of texts up to half of this size allocates nothing.
const KEPT_CAPACITY: usize = 128 * 1024;

/// The block size of the validator.
const VALIDATED: usize = 64;

/// The first allocation, unless the limit is below it.
const FIRST_CAPACITY: usize = 64;

/// How a text is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The most bytes of decoded text.
    pub(super) limit: usize,
    /// Whether the start of a text that passes the limit is kept.
    pub(super) cut: bool,
    /// Whether ill-formed UTF-8 is a fault instead of U+FFFD.
    pub(super) reject: bool,
}

/// Why a text was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    TooLong,
    Invalid { position: u64 },
}

/// Text, and the start of a character whose rest has not come yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) text: String,
    /// A proper prefix of a well-formed sequence: the first `cut` bytes.
    start: [u8; 3],
    cut: usize,
}

impl Text {
    /// Bytes kept.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.cut
    }

    /// Empties the text, and gives an outsized buffer back.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.cut = 0;
        clear(&mut self.text);
    }

    /// Appends text that is known to be within the limit.
    #[inline]
    pub(super) fn append_within(&mut self, text: &str, limit: usize) {
        reserve(&mut self.text, text.len(), limit);
        self.text.push_str(text);
    }

    /// Decodes and appends `bytes`, which stand at `position` and follow the last ones directly.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8], position: u64, rules: Rules) -> Result<(), Fault> {
        self.push_front(bytes, bytes.len(), position, rules)
    }

    /// The same with the first `length` bytes of `tail`.
    #[inline]
    pub(super) fn push_front(&mut self, tail: &[u8], length: usize, position: u64, rules: Rules) -> Result<(), Fault> {
        let bytes = tail.get(..length).unwrap_or(tail);
        // As it usually is: no character is cut, and there is room.
        if self.cut == 0
            && bytes.last().is_some_and(u8::is_ascii)
            && length <= rules.limit.saturating_sub(self.text.len())
        {
            if let Some(text) = text_at_front(tail, length) {
                self.append_within(text, rules.limit);
                return Ok(());
            }
        }
        self.push_any(bytes, position, rules)
    }

    /// Appends an LF.
    #[inline]
    pub(super) fn push_line_feed(&mut self, rules: Rules) -> Result<(), Fault> {
        if self.len() >= rules.limit {
            return Err(Fault::TooLong);
        }
        reserve(&mut self.text, 1, rules.limit);
        self.text.push('\n');
        Ok(())
    }

    fn push_any(&mut self, bytes: &[u8], position: u64, rules: Rules) -> Result<(), Fault> {
        let end = position.saturating_add(bytes.len() as u64);
        let mut bytes = bytes;
        if self.cut > 0 {
            self.resume(&mut bytes, position, rules)?;
            if bytes.is_empty() {
                return Ok(());
            }
        }
        let (body, cut) = bytes.split_at(bytes.len() - cut_character(bytes));
        match simdutf8::basic::from_utf8(body) {
            Ok(text) => self.append(text, rules)?,
            Err(_) => self.append_lossy(body, end.saturating_sub(bytes.len() as u64), rules)?,
        }
        for (slot, &byte) in self.start.iter_mut().zip(cut) {
            *slot = byte;
        }
        self.keep_cut(cut.len(), rules)
    }

    /// Ends a piece of text (a line): a character still cut here stays cut. `position` is that of the end.
    pub(super) fn end(&mut self, position: u64, rules: Rules) -> Result<(), Fault> {
        if self.cut == 0 {
            return Ok(());
        }
        let start = position.saturating_sub(self.cut as u64);
        self.cut = 0;
        self.append_replacement(start, rules)
    }

    /// Goes on with the character that was cut: takes the bytes that belong to it from the front of `bytes`.
    fn resume(&mut self, bytes: &mut &[u8], position: u64, rules: Rules) -> Result<(), Fault> {
        let start = position.saturating_sub(self.cut as u64);
        let mut sequence = [0; 4];
        for (slot, &byte) in sequence.iter_mut().zip(&self.start) {
            *slot = byte;
        }
        while let Some((&byte, after)) = bytes.split_first() {
            if let Some(slot) = sequence.get_mut(self.cut) {
                *slot = byte;
            }
            match str::from_utf8(sequence.get(..=self.cut).unwrap_or_default()) {
                Ok(character) => {
                    *bytes = after;
                    self.cut = 0;
                    return self.append(character, rules);
                }
                Err(error) if error.error_len().is_none() => {
                    *bytes = after;
                    if let Some(slot) = self.start.get_mut(self.cut) {
                        *slot = byte;
                    }
                    self.keep_cut(self.cut + 1, rules)?;
                }
                // What was cut is a maximal subpart, and this byte starts anew.
                Err(_) => {
                    self.cut = 0;
                    return self.append_replacement(start, rules);
                }
            }
        }
        Ok(())
    }

    /// The first `cut` bytes of `start` count from now on. However the character ends, it will have at least as many.
    fn keep_cut(&mut self, cut: usize, rules: Rules) -> Result<(), Fault> {
        self.cut = cut;
        if self.len() > rules.limit {
            self.cut = 0;
            return Err(Fault::TooLong);
        }
        Ok(())
    }

    #[cold]
    fn append_lossy(&mut self, bytes: &[u8], position: u64, rules: Rules) -> Result<(), Fault> {
        let mut position = position;
        for chunk in bytes.utf8_chunks() {
            self.append(chunk.valid(), rules)?;
            position = position.saturating_add(chunk.valid().len() as u64);
            let invalid = chunk.invalid().len();
            if invalid > 0 {
                // As it would be if the bytes had come one by one.
                self.keep_cut(invalid, rules)?;
                self.cut = 0;
                self.append_replacement(position, rules)?;
                position = position.saturating_add(invalid as u64);
            }
        }
        Ok(())
    }

    fn append_replacement(&mut self, position: u64, rules: Rules) -> Result<(), Fault> {
        if rules.reject {
            return Err(Fault::Invalid { position });
        }
        self.append("\u{FFFD}", rules)
    }

    #[inline]
    fn append(&mut self, text: &str, rules: Rules) -> Result<(), Fault> {
        let room = rules.limit.saturating_sub(self.text.len());
        if text.len() > room {
            if rules.cut {
                let kept = text.get(..boundary_below(text, room)).unwrap_or_default();
                self.append_within(kept, rules.limit);
            }
            return Err(Fault::TooLong);
        }
        self.append_within(text, rules.limit);
        Ok(())
    }
}

/// The first `length` bytes of `tail` as text, if they are well-formed.
///
/// The validator works in blocks, and an odd rest costs it as much as several. So more is checked than is asked for, if
/// it is at hand and no character is cut by that.
#[inline(always)]
pub(super) fn text_at_front(tail: &[u8], length: usize) -> Option<&str> {
    if let Some((front, [after, ..])) = tail.split_at_checked(length.next_multiple_of(VALIDATED)) {
        if !(0x80..0xC0).contains(after) {
            if let Ok(text) = simdutf8::basic::from_utf8(front) {
                return text.get(..length);
            }
        }
    }
    simdutf8::basic::from_utf8(tail.get(..length)?).ok()
}

/// The bytes as text, if they are well-formed and within the limit.
#[inline]
pub(super) fn well_formed(bytes: &[u8], limit: usize) -> Option<&str> {
    if bytes.len() > limit { None } else { simdutf8::basic::from_utf8(bytes).ok() }
}

/// Empties a buffer, and gives an outsized one back.
#[inline]
pub(super) fn clear(text: &mut String) {
    if text.capacity() > KEPT_CAPACITY {
        *text = String::new();
    } else {
        text.clear();
    }
}

/// Makes `text` read `value`, which is within the limit.
#[inline]
pub(super) fn assign(text: &mut String, value: &str, limit: usize) {
    text.clear();
    reserve(text, value.len(), limit);
    text.push_str(value);
}

/// Makes room for `more` bytes: doubles, but never beyond the limit, so that capacity is bounded as bytes are.
#[inline]
fn reserve(text: &mut String, more: usize, limit: usize) {
    let needed = text.len().saturating_add(more);
    if needed > text.capacity() {
        let doubled = text.capacity().saturating_mul(2).max(FIRST_CAPACITY).min(limit);
        text.reserve_exact(doubled.max(needed) - text.len());
    }
}

/// The last character boundary of `text` at or below `at`.
pub(super) fn boundary_below(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// How many bytes at the end of `bytes` are the start of a character that may still be completed.
#[inline]
fn cut_character(bytes: &[u8]) -> usize {
    for length in 1..=3.min(bytes.len()) {
        let last = bytes.get(bytes.len() - length..).unwrap_or_default();
        match last.first() {
            // A continuation byte: the lead is further left.
            Some(0x80..=0xBF) => {}
            Some(0xC2..=0xF4) => {
                let unfinished = str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
                return if unfinished { length } else { 0 };
            }
            _ => return 0,
        }
    }
    0
}
