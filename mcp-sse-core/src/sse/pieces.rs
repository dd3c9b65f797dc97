//! Lines that the chunk's edge cut: their pieces, and the gathering of small ones.
//!
//! Rules of this file:
//! * No more of a line is kept than its field needs: nothing of comments and unknown fields, digits as a number, data as
//!   text.
//! * A piece of a few bytes is not worth a step: it is only laid by (`gather`), until there is a line's end or no more
//!   room. This is not to be seen from outside, so no piece is laid by that might be a fault.
//!
//! Not here: what a field does (`fields.rs`), the search for line ends (`scan.rs`).

use memchr::memchr2;

use super::decoder::{SseDecoder, Step};
use super::error::DecodeError;
use super::line::{Field, Line, Name};
use super::scan::{self, CR, LF};

/// The room for small pieces.
const ROOM: usize = 512;

/// The largest piece that is small.
const SMALL: usize = 256;

/// As much of the room as most lines need.
const LINE: usize = 128;

/// The largest piece that takes no call to search or to copy.
const TINY: usize = scan::TINY;

/// Small pieces of the unfinished line, the last ones that came.
#[derive(Clone)]
pub(super) struct Gathered {
    bytes: [u8; ROOM],
    len: usize,
}

impl Gathered {
    pub(super) const NOTHING: Self = Self { bytes: [0; ROOM], len: 0 };

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Forgets them.
    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    #[inline(always)]
    fn add(&mut self, piece: &[u8]) -> bool {
        let end = self.len + piece.len();
        let Some(room) = self.bytes.get_mut(self.len..end) else {
            return false;
        };
        copy(room, piece);
        self.len = end;
        true
    }
}

/// Copies `piece` into a room of its length; a tiny one without a call.
#[inline(always)]
fn copy(room: &mut [u8], piece: &[u8]) {
    if piece.len() > TINY {
        room.copy_from_slice(piece);
    } else if !(copy_in_two::<8>(room, piece) || copy_in_two::<4>(room, piece)) {
        for (slot, &byte) in room.iter_mut().zip(piece.iter().take(3)) {
            *slot = byte;
        }
    }
}

/// Copies between `N` and twice as many bytes: the first `N` and the last, which may overlap.
#[inline(always)]
fn copy_in_two<const N: usize>(room: &mut [u8], piece: &[u8]) -> bool {
    let (Some(first), Some(last)) = (piece.first_chunk::<N>(), piece.last_chunk::<N>()) else {
        return false;
    };
    if let Some(room) = room.first_chunk_mut::<N>() {
        *room = *first;
    }
    if let Some(room) = room.last_chunk_mut::<N>() {
        *room = *last;
    }
    true
}

impl SseDecoder {
    /// Lays by all of `input` if it is tiny and in the midst of a line, so that nothing can come of it yet.
    #[inline(always)]
    pub(super) fn gather_tiny(&mut self, input: &mut &[u8]) -> bool {
        let piece = *input;
        if piece.len() > TINY || matches!(self.line, Line::Start) || !self.unread.is_empty() {
            return false;
        }
        if scan::tiny_has_line_end(piece) || !(self.line == Line::IGNORED || self.gather(piece)) {
            return false;
        }
        self.position += piece.len() as u64;
        *input = &[];
        true
    }

    /// Lays by a piece, if that can do no harm: neither with invalid UTF-8, nor with a limit, whatever the bytes turn
    /// out to be (U+FFFD has three).
    #[inline(always)]
    fn gather(&mut self, piece: &[u8]) -> bool {
        self.data.len().saturating_add(4 * ROOM) <= self.config.max_event_bytes
            && !self.config.reject_invalid_utf8
            && self.gathered.add(piece)
    }

    /// Takes what was laid by. It ends at `position`.
    #[inline]
    pub(super) fn take_gathered(&mut self, position: u64) -> Result<(), DecodeError> {
        if self.gathered.len == 0 {
            return Ok(());
        }
        let position = position - self.gathered.len as u64;
        if self.line == Line::DATA && !self.block.is_skipped {
            // What stands after the last piece is old, but may be validated with it all the same.
            let rules = self.data_rules();
            let outcome = self.data.push_front(&self.gathered.bytes, self.gathered.len, position, rules);
            self.gathered.len = 0;
            return outcome.map_err(|fault| self.fail(fault));
        }
        let gathered = self.gathered.clone();
        self.gathered.len = 0;
        self.piece(gathered.bytes(), position)
    }

    /// Takes a part of a line whose end is not here yet.
    pub(super) fn first_piece(&mut self, piece: &[u8], position: u64) -> Result<(), DecodeError> {
        if matches!(self.line, Line::Start) {
            self.open_block(position);
            let is_comment = piece.first() == Some(&b':');
            self.line = if is_comment && !self.config.comments { Line::IGNORED } else { Line::Name(Name::default()) };
        }
        if self.line == Line::IGNORED {
            return Ok(());
        }
        if piece.len() <= SMALL && self.gather(piece) {
            return Ok(());
        }
        self.take_gathered(position)?;
        self.piece(piece, position)
    }

    /// Takes the start of a data line's value. The line has no end in the chunk.
    pub(super) fn begin_data(&mut self, value: &[u8], position: u64) -> Result<(), DecodeError> {
        self.begin_value(Field::Data)?;
        self.line = Line::DATA;
        if value.len() <= SMALL && self.gather(value) {
            return Ok(());
        }
        self.push_data(value, position)
    }

    /// Takes more of a data line whose value has begun: the midst of it, or its end, and that of the block if it follows
    /// at once. `None` if neither the chunk nor the block is at its end.
    #[inline]
    pub(super) fn more_data<'i>(
        &mut self,
        rest: &mut &'i [u8],
        end_position: u64,
    ) -> Result<Option<Step<'i>>, DecodeError> {
        let bytes = *rest;
        let end = if bytes.len() > TINY { memchr2(LF, CR, bytes) } else { scan::line_end(bytes) };
        self.count_searched(end, bytes);
        let Some((piece, after)) = end.and_then(|end| bytes.split_at_checked(end)) else {
            *rest = &[];
            if !(bytes.len() <= SMALL && self.gather(bytes)) {
                let position = end_position - bytes.len() as u64;
                self.take_gathered(position)?;
                self.push_data(bytes, position)?;
            }
            return Ok(Some(Step::More));
        };
        *rest = after;
        let position = end_position - after.len() as u64;
        if self.gathered.len > 0 && self.gathered.add(piece) {
            self.take_gathered(position)?;
        } else {
            let position = position - piece.len() as u64;
            self.take_gathered(position)?;
            let outcome = self.data.push_front(bytes, piece.len(), position, self.data_rules());
            outcome.map_err(|fault| self.fail(fault))?;
        }
        self.end_data(rest, position)
    }

    /// Takes data lines after the first of a block, as `more_data` does.
    #[inline]
    pub(super) fn more_data_lines<'i>(
        &mut self,
        rest: &mut &'i [u8],
        end_position: u64,
    ) -> Result<Option<Step<'i>>, DecodeError> {
        while let Some(value) = rest.strip_prefix(b"data: ") {
            let position = end_position - value.len() as u64;
            let end = memchr2(LF, CR, value);
            self.count_searched(end, value);
            let Some((_, after)) = end.and_then(|end| value.split_at_checked(end)) else {
                *rest = &[];
                self.begin_data(value, position)?;
                return Ok(Some(Step::More));
            };
            *rest = after;
            let rules = self.data_rules();
            let outcome = self.data.push_line_feed(rules);
            let outcome =
                outcome.and_then(|()| self.data.push_front(value, value.len() - after.len(), position, rules));
            outcome.map_err(|fault| self.fail(fault))?;
            if let Some(step) = self.end_data(rest, end_position - after.len() as u64)? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Takes a data line's end, which stands at `position`, and that of the block if it follows at once.
    #[inline]
    fn end_data<'i>(&mut self, rest: &mut &'i [u8], position: u64) -> Result<Option<Step<'i>>, DecodeError> {
        let outcome = self.data.end(position, self.data_rules());
        outcome.map_err(|fault| self.fail(fault))?;
        self.line = Line::Start;
        self.take_line_end(rest);
        if rest.first() != Some(&LF) {
            return Ok(None);
        }
        self.take_line_end(rest);
        Ok(self.end_block(None))
    }

    /// Takes more of a line that does not matter, up to its end. Says whether that was found.
    #[inline]
    pub(super) fn more_ignored(&mut self, rest: &mut &[u8]) -> bool {
        let end = scan::line_end(rest);
        self.count_searched(end, rest);
        let Some((_, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
            *rest = &[];
            return false;
        };
        *rest = after;
        self.line = Line::Start;
        self.take_line_end(rest);
        true
    }

    fn piece(&mut self, piece: &[u8], position: u64) -> Result<(), DecodeError> {
        let mut piece = piece;
        let end = position + piece.len() as u64;
        if let Line::Name(name) = self.line {
            if let (0, Some(value)) = (name.len(), piece.strip_prefix(b"data: ")) {
                self.begin_value(Field::Data)?;
                self.line = Line::DATA;
                return self.value_piece(Field::Data, value, end - value.len() as u64);
            }
            self.line = name.take(&mut piece);
            if let Line::Value { field, .. } = self.line {
                self.begin_value(field)?;
            }
        }
        let Line::Value { field, fresh } = &mut self.line else {
            return Ok(());
        };
        if *fresh {
            *fresh = piece.is_empty();
            piece = piece.strip_prefix(b" ").unwrap_or(piece);
        }
        let field = *field;
        self.value_piece(field, piece, end - piece.len() as u64)
    }

    /// Takes the part of a line up to its end.
    pub(super) fn last_piece<'i>(&mut self, piece: &[u8], position: u64) -> Result<Option<Step<'i>>, DecodeError> {
        let end = position + piece.len() as u64;
        let is_whole = matches!(self.line, Line::Name(name) if name.len() == 0);
        if is_whole && self.gathered.add(piece) {
            return self.gathered_line(end);
        }
        let step =
            self.take_gathered(position).and_then(|()| self.piece(piece, position)).and_then(|()| self.end_line(end));
        self.line = Line::Start;
        step
    }

    /// Reads a line all of which was laid by. It ends at `end`.
    fn gathered_line<'i>(&mut self, end: u64) -> Result<Option<Step<'i>>, DecodeError> {
        let length = self.gathered.len;
        self.gathered.len = 0;
        self.line = Line::Start;
        match self.gathered.bytes.first_chunk::<LINE>().copied() {
            Some(bytes) if length <= LINE => self.line_laid_by(bytes.get(..length).unwrap_or_default(), end),
            _ => {
                let bytes = self.gathered.bytes;
                self.line_laid_by(bytes.get(..length).unwrap_or_default(), end)
            }
        }
    }

    fn line_laid_by<'i>(&mut self, line: &[u8], end: u64) -> Result<Option<Step<'i>>, DecodeError> {
        let mut lent = None;
        let step = self.whole_line(line, end - line.len() as u64, &mut lent)?;
        let step = step.map(|step| self.collect(step));
        self.hold(lent);
        Ok(step)
    }
}
