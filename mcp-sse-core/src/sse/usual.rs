//! The shape servers really send: blocks of an `event`, an `id` and a `data` line at most, whole in the chunk, and
//! comments.
//!
//! Rules of this file:
//! * It does nothing that the general way (`decoder.rs`, `fields.rs`) would not do; it only does it for a block at a
//!   time. What is unusual is left to that way at the line where it shows, with all that was found before it.
//! * Where a line ends is told when the line is left, if it was searched for: no byte is searched twice.
//! * The id and the data are checked to be UTF-8 in one go, since they stand side by side.
//! * Nothing of a block takes effect before it is complete, or left.
//!
//! Not here: what a field does when it comes in pieces, twice, or at fault (`fields.rs`).

use memchr::memchr2;

use super::decoder::{Block, LentOut, SseDecoder, Step};
use super::error::DecodeError;
use super::event::DEFAULT_KIND;
use super::line::{Field, Line};
use super::scan::{self, CR, LF};
use super::text::{self, text_at_front, well_formed};

/// How far the usual way led.
pub(super) enum Way<'i> {
    Step(Step<'i>),
    /// The line at the front of the input is not for here. What data its block has so far is lent.
    Left(LineEnd, Option<&'i str>),
}

/// Where that line ends, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEnd {
    NotSearched,
    /// After so many bytes.
    At(usize),
    /// Searched for, and not in the chunk.
    Missing,
}

/// A value that stands in the input.
#[derive(Clone, Copy)]
struct Value<'i> {
    /// The input from where the value starts.
    tail: &'i [u8],
    length: usize,
}

impl<'i> Value<'i> {
    #[inline]
    fn bytes(self) -> &'i [u8] {
        self.tail.get(..self.length).unwrap_or_default()
    }
}

/// What was found in a block so far.
#[derive(Clone, Copy, Default)]
struct Found<'i> {
    /// A type is named that is not the default: the one the decoder remembers.
    has_kind: bool,
    id: Option<Value<'i>>,
    /// It comes after the id, if there is one.
    data: Option<Value<'i>>,
}

impl<'i> Found<'i> {
    /// The id and the data as text; `None` if they are not UTF-8.
    #[inline(always)]
    fn texts(&self) -> Option<(Option<&'i str>, Option<&'i str>)> {
        let Some(id) = self.id else {
            return match self.data {
                Some(data) => Some((None, Some(text_at_front(data.tail, data.length)?))),
                None => Some((None, None)),
            };
        };
        let Some(data) = self.data else {
            return Some((Some(text_at_front(id.tail, id.length)?), None));
        };
        let start = id.tail.len() - data.tail.len();
        let text = text_at_front(id.tail, start + data.length)?;
        Some((Some(text.get(..id.length)?), Some(text.get(start..)?)))
    }
}

impl SseDecoder {
    /// Takes blocks from the front of `rest` up to the first event, or to a line that is not for here; then what its
    /// block has so far is in the decoder, but for data that can be lent. The decoder stands between two blocks, and
    /// `end_position` is where `rest` ends.
    #[inline(always)]
    pub(super) fn usual_blocks<'i>(&mut self, rest: &mut &'i [u8], end_position: u64) -> Result<Way<'i>, DecodeError> {
        let mut block = *rest;
        let mut line = block;
        let mut found = Found::default();
        let line_end = loop {
            match self.usual_line(line, &mut found) {
                Ok(Some(after)) => line = after,
                Err(line_end) => break line_end,
                Ok(None) => {
                    let Some(after) = after_end(line) else {
                        break LineEnd::NotSearched;
                    };
                    let Some((id, data)) = found.texts() else {
                        break LineEnd::NotSearched;
                    };
                    if let Some(id) = id {
                        text::assign(&mut self.last_event_id, id, self.config.max_id_bytes);
                    }
                    if let Some(data) = data {
                        *rest = after;
                        self.block =
                            Block { is_open: true, has_data: true, has_kind: found.has_kind, ..Block::default() };
                        self.lent_out = LentOut::Event;
                        return Ok(Way::Step(Step::Event(Some(data))));
                    }
                    if self.config.blocks && line.len() < block.len() {
                        *rest = after;
                        return Ok(Way::Step(Step::Block));
                    }
                    // A keep-alive is often followed by one that is the same to the byte.
                    let ended = block.get(..block.len() - after.len()).unwrap_or_default();
                    let mut after = after;
                    if found.id.is_none() && !self.config.blocks {
                        while let Some(rest) = scan::strip_same(after, ended) {
                            after = rest;
                        }
                    }
                    block = after;
                    line = after;
                    found = Found::default();
                }
            }
        };
        *rest = line;
        self.leave(rest, block, &found, line_end, end_position)
    }

    /// Leaves a `block` at the line at the front of `rest`.
    #[inline]
    fn leave<'i>(
        &mut self,
        rest: &mut &'i [u8],
        block: &'i [u8],
        found: &Found<'i>,
        line_end: LineEnd,
        end_position: u64,
    ) -> Result<Way<'i>, DecodeError> {
        let line = *rest;
        let mut lent = None;
        if line.len() < block.len() {
            lent = self.leave_block(found, end_position, end_position - block.len() as u64)?;
        }
        if line_end != LineEnd::Missing {
            return Ok(Way::Left(line_end, lent));
        }
        // The chunk's edge cuts the line: most often a data line.
        let position = end_position - line.len() as u64;
        if let Some(value) = line.strip_prefix(b"data: ") {
            *rest = &[];
            self.open_block(position);
            self.begin_data(value, end_position - value.len() as u64)?;
            return Ok(Way::Step(Step::More));
        }
        if line.first() == Some(&b':') {
            *rest = &[];
            self.open_block(position);
            self.line = Line::IGNORED;
            self.hold(lent);
            return Ok(Way::Step(Step::More));
        }
        Ok(Way::Left(line_end, lent))
    }

    /// Takes one line and gives what is after it, or `None` if the line is blank. Or says where it ends, if it is not
    /// for here.
    #[inline(always)]
    fn usual_line<'i>(&mut self, line: &'i [u8], found: &mut Found<'i>) -> Result<Option<&'i [u8]>, LineEnd> {
        let Some(&first) = line.first() else {
            return Err(LineEnd::NotSearched);
        };
        match first {
            b'd' if found.data.is_none() => {
                let value = value_of(line, b"data: ", b"data:")?;
                let end = if self.has_long_lines { memchr2(LF, CR, value) } else { scan::medium_line_end(value) };
                let (length, after) = self.end_of(line, value, end, self.config.max_event_bytes)?;
                self.has_long_lines = length > scan::MEDIUM;
                found.data = Some(Value { tail: value, length });
                Ok(Some(after))
            }
            LF | CR => Ok(None),
            b'i' if found.id.is_none() && found.data.is_none() => {
                let value = value_of(line, b"id: ", b"id:")?;
                let end = scan::line_end(value);
                let (length, after) = self.end_of(line, value, end, self.config.max_id_bytes)?;
                let id = Value { tail: value, length };
                if scan::has_nul(id.bytes()) {
                    return Err(LineEnd::At(line.len() - value.len() + length));
                }
                found.id = Some(id);
                Ok(Some(after))
            }
            b'e' => {
                let value = value_of(line, b"event: ", b"event:")?;
                // The default and the last name are common, and need no search.
                if let Some(after) = value.strip_prefix(DEFAULT_KIND.as_bytes()).and_then(after_end) {
                    if DEFAULT_KIND.len() > self.config.max_kind_bytes {
                        return Err(LineEnd::NotSearched);
                    }
                    found.has_kind = false;
                    return Ok(Some(after));
                }
                if let Some(after) = scan::strip_same(value, self.kind.as_bytes()).and_then(after_end) {
                    found.has_kind = !self.kind.is_empty();
                    return Ok(Some(after));
                }
                self.usual_kind(line, value, found).map(Some)
            }
            b':' if !self.config.comments => {
                let end = scan::line_end(line);
                self.end_of(line, line, end, usize::MAX).map(|(_, after)| Some(after))
            }
            _ => Err(LineEnd::NotSearched),
        }
    }

    /// An `event` line with another name than the last one, which is remembered from now on.
    #[inline(never)]
    fn usual_kind<'i>(&mut self, line: &[u8], value: &'i [u8], found: &mut Found<'i>) -> Result<&'i [u8], LineEnd> {
        let end = scan::line_end(value);
        let limit = self.config.max_kind_bytes;
        let (end, after) = self.end_of(line, value, end, limit)?;
        let kind = value.get(..end).and_then(|value| well_formed(value, limit));
        let Some(kind) = kind else {
            return Err(LineEnd::At(line.len() - value.len() + end));
        };
        found.has_kind = !kind.is_empty();
        text::assign(&mut self.kind, kind, limit);
        Ok(after)
    }

    /// The end of a `line` that was searched for in its `value`, and what is after the line. It is not for here if it
    /// passes the limit, or has no end in the chunk, or only what may be half of one.
    #[inline(always)]
    fn end_of<'i>(
        &self,
        line: &[u8],
        value: &'i [u8],
        end: Option<usize>,
        limit: usize,
    ) -> Result<(usize, &'i [u8]), LineEnd> {
        self.count_searched(end, value);
        let end = end.ok_or(LineEnd::Missing)?;
        match value.get(end..).and_then(after_end) {
            Some(after) if end <= limit => Ok((end, after)),
            _ => Err(LineEnd::At(line.len() - value.len() + end)),
        }
    }

    /// The block goes on in the general way. What was found takes effect, as if it had been read so.
    fn leave_block<'i>(
        &mut self,
        found: &Found<'i>,
        end_position: u64,
        position: u64,
    ) -> Result<Option<&'i str>, DecodeError> {
        self.open_block(position);
        self.block.has_kind = found.has_kind;
        let Some((id, data)) = found.texts() else {
            return self.leave_faulty_block(found, end_position).map(|()| None);
        };
        if let Some(id) = id {
            text::assign(&mut self.id, id, self.config.max_id_bytes);
            self.block.has_id = true;
        }
        self.block.has_data = data.is_some();
        Ok(data)
    }

    /// The same, value by value, if they are not UTF-8. After an error the rest is skipped.
    #[cold]
    fn leave_faulty_block(&mut self, found: &Found<'_>, end_position: u64) -> Result<(), DecodeError> {
        let mut outcome = Ok(None);
        for (field, value) in [(Field::Id, found.id), (Field::Data, found.data)] {
            if let (Some(value), Ok(_)) = (value, &outcome) {
                outcome = self.whole_value(field, value.bytes(), end_position - value.tail.len() as u64);
            }
        }
        self.line = Line::Start;
        outcome.map(|_| ())
    }
}

/// The value of a line that starts with a field's name, or else that line is not for here.
#[inline(always)]
fn value_of<'i>(line: &'i [u8], with_space: &[u8], without: &[u8]) -> Result<&'i [u8], LineEnd> {
    line.strip_prefix(with_space).or_else(|| line.strip_prefix(without)).ok_or(LineEnd::NotSearched)
}

/// What is after the line end at the front of `bytes`, if it is there whole.
#[inline(always)]
fn after_end(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [LF, after @ ..] | [CR, LF, after @ ..] => Some(after),
        [CR, after @ ..] if !after.is_empty() => Some(after),
        _ => None,
    }
}
