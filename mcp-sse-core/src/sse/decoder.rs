//! The decoder: chunks in, at most one event out per step. Where lines and blocks end (HTML 9.2.5), and
//! what a block gives (HTML 9.2.6, "dispatch the event").
//!
//! Rules of this file:
//! * Every byte is searched for a line end once: a line that the chunk's edge cuts is taken in pieces, so that none
//!   is held only to be searched again.
//! * The one `data` line of an event is lent from the chunk. It is collected (`hold`) when a second one comes, or
//!   when the chunk ends or a part is given out before the event is complete.
//! * A block with a fault is skipped up to its blank line, and leaves no trace but its `retry`.
//! * A step decides first and borrows last: `Step` borrows from the chunk only, so that the loops above it compile.
//!
//! * Two ways lead through a block: the usual one (`usual.rs`), as far as it goes, then the general one, here.
//!
//! Not here: what a line does (`fields.rs`), lines that a chunk's edge cuts (`pieces.rs`), the search for line ends
//! (`scan.rs`), the end of the stream (`finish.rs`), chunks left unread (`feed.rs`).

use alloc::string::String;
use core::fmt;
use core::mem;
use core::time::Duration;

use super::config::DecoderConfig;
use super::error::DecodeError;
use super::event::{DEFAULT_KIND, Data, Event, Part};
use super::feed::Unread;
use super::line::{Digits, Line};
use super::pieces::Gathered;
use super::scan::{self, CR, LF};
use super::text::Text;
use super::usual::{LineEnd, Way};

const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// Decodes one `text/event-stream` after another, without I/O.
///
/// Feed it the stream's bytes in chunks of any size, down to single bytes and empty ones: the same events come out
/// for every cutting. Work is linear in the bytes; memory is bounded by [`DecoderConfig`]; nothing is allocated per
/// event in a steady flow, and an event whose one `data` line lies inside the chunk is lent from it, uncopied.
/// Nothing a peer sends makes it panic, or fail but for a limit.
///
/// It follows HTML 9.2.6 to the letter: lines end with LF, CRLF or CR; a block with a `data` field is dispatched at
/// its blank line; the type of an event is `"message"` unless it names one; bytes that are not UTF-8 become U+FFFD.
///
/// The methods are of three kinds: bytes in and events out ([`decode`](Self::decode), or
/// [`decode_part`](Self::decode_part), or [`feed`](Self::feed)), the end ([`finish`](Self::finish)), and what the
/// stream has said so far ([`last_event_id`](Self::last_event_id), [`retry`](Self::retry)).
///
/// ```
/// use mcp_sse_core::sse::{Finish, SseDecoder, Tail};
///
/// let mut decoder = SseDecoder::new();
/// let mut seen = Vec::new();
/// for chunk in [&b"id: 7\nda"[..], b"ta: {\"a\":1}\r\n\r", b"\ndata: cut"] {
///     let mut rest = chunk;
///     while let Some(event) = decoder.decode(&mut rest)? {
///         seen.push(event.to_owned());
///     }
/// }
/// assert_eq!(seen.len(), 1);
/// assert_eq!((seen[0].data.as_str(), seen[0].last_event_id.as_str()), ("{\"a\":1}", "7"));
/// assert_eq!(decoder.finish(Finish::Strict).tail, Tail::PartialEvent);
/// # Ok::<(), mcp_sse_core::sse::DecodeError>(())
/// ```
#[derive(Clone)]
pub struct SseDecoder {
    pub(super) config: DecoderConfig,
    /// Bytes taken since the stream's start.
    pub(super) position: u64,
    /// Whether a byte order mark or the LF of a CRLF may be next. Kept as one flag, since it is asked at every step.
    pub(super) opening: bool,
    /// How many bytes of the byte order mark came; 3 once there can be none any more.
    pub(super) bom: usize,
    /// Whether the last byte was a CR, so that an LF coming next belongs to it.
    pub(super) after_cr: bool,
    pub(super) line: Line,
    pub(super) gathered: Gathered,
    /// The value of an unfinished `event` or `id` line or shown comment; `data` goes to `data` directly.
    pub(super) value: Text,
    pub(super) value_is_cut: bool,
    pub(super) digits: Digits,
    pub(super) block: Block,
    pub(super) data: Text,
    /// Whether the last data line was a long one, as the next will be then.
    pub(super) has_long_lines: bool,
    /// The block's type, if `block.has_kind`; else that of an earlier one, which often comes again.
    pub(super) kind: String,
    /// The block's id, if `block.has_id`.
    pub(super) id: String,
    pub(super) last_event_id: String,
    pub(super) retry: Option<Duration>,
    /// What the last step lent out of the buffers: they are emptied when the next begins.
    pub(super) lent_out: LentOut,
    pub(super) unread: Unread,
    #[cfg(test)]
    pub(super) searched: core::cell::Cell<u64>,
}

/// Where the current block stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// It has a line, or the start of one.
    pub(super) is_open: bool,
    /// Where that line starts in the stream.
    pub(super) position: u64,
    pub(super) has_data: bool,
    pub(super) has_id: bool,
    pub(super) has_kind: bool,
    pub(super) kind_is_cut: bool,
    /// A fault was found in it.
    pub(super) is_skipped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LentOut {
    Nothing,
    Event,
    Comment,
}

/// The outcome of one step. `None` as text: it is in the buffer.
pub(super) enum Step<'i> {
    /// All input is taken.
    More,
    Event(Option<&'i str>),
    Comment(Option<&'i str>),
    Block,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl SseDecoder {
    /// A decoder at the start of a stream, with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(DecoderConfig::default())
    }

    /// A decoder at the start of a stream.
    #[must_use]
    pub fn with_config(config: DecoderConfig) -> Self {
        Self {
            config,
            position: 0,
            opening: true,
            bom: 0,
            after_cr: false,
            line: Line::Start,
            gathered: Gathered::NOTHING,
            value: Text::default(),
            value_is_cut: false,
            digits: Digits::default(),
            block: Block::default(),
            data: Text::default(),
            has_long_lines: false,
            kind: String::new(),
            id: String::new(),
            last_event_id: String::new(),
            retry: None,
            lent_out: LentOut::Nothing,
            unread: Unread::default(),
            #[cfg(test)]
            searched: core::cell::Cell::new(0),
        }
    }

    /// The primitive: takes bytes from the front of `input` until one event is complete, and advances `input` past
    /// what it took. `None` means that all of `input` was taken and more is needed; an empty `input` is no end (see
    /// [`finish`](Self::finish)).
    ///
    /// After an event or an error call it again with the same `input`, until it gives `None`.
    ///
    /// # Errors
    /// [`DecodeError::EventTooLarge`] when the block passed the limit, and [`DecodeError::InvalidUtf8`] if the
    /// configuration asks for it. They are not terminal: the decoder skips to the next blank line and goes on there.
    /// [`DecodeError::Unread`] only after misuse of [`feed`](Self::feed).
    #[inline]
    pub fn decode<'d, 'i: 'd>(&'d mut self, input: &mut &'i [u8]) -> Result<Option<Event<'d>>, DecodeError> {
        if self.gather_tiny(input) {
            return Ok(None);
        }
        self.decode_next(input)
    }

    fn decode_next<'d, 'i: 'd>(&'d mut self, input: &mut &'i [u8]) -> Result<Option<Event<'d>>, DecodeError> {
        loop {
            match self.step(input)? {
                Step::More => return Ok(None),
                Step::Event(lent) => return Ok(Some(self.lend_event(lent))),
                Step::Comment(_) | Step::Block => {}
            }
        }
    }

    /// [`decode`](Self::decode), which also gives out comments and blocks without data, if
    /// [`comments`](DecoderConfig::comments) and [`blocks`](DecoderConfig::blocks) ask for them. Both are signs that
    /// the peer is alive. A comment inside a block is given out before the block's event, which is collected then.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn decode_part<'d, 'i: 'd>(&'d mut self, input: &mut &'i [u8]) -> Result<Option<Part<'d>>, DecodeError> {
        if self.gather_tiny(input) {
            return Ok(None);
        }
        Ok(match self.step(input)? {
            Step::More => None,
            Step::Event(lent) => Some(Part::Event(self.lend_event(lent))),
            Step::Comment(lent) => Some(Part::Comment(lent.unwrap_or(&self.value.text))),
            Step::Block => Some(Part::Block),
        })
    }

    /// The last event id: that of the last block that set one and was ended by its blank line. It outlives the
    /// stream (see [`finish`](Self::finish)). Empty if there is none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// How long the peer last asked to wait before reconnecting (`retry`, in milliseconds on the wire). It takes
    /// effect with its line, and outlives the stream.
    #[must_use]
    pub const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// How many bytes were taken since the stream's start.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// How many bytes are kept: of unfinished lines and events, of the last event, of the last event id, and of
    /// chunks left unread. The first three are bounded by the limits of [`DecoderConfig`].
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let name = match self.line {
            Line::Name(name) => name.len(),
            Line::Start | Line::Value { .. } => 0,
        };
        let kind = if self.block.has_kind { self.kind.len() } else { 0 };
        let id = if self.block.has_id { self.id.len() } else { 0 };
        let line = self.gathered.len() + self.value.len();
        name + line + self.data.len() + kind + id + self.last_event_id.len() + self.unread.len()
    }

    /// How much memory is reserved for the bytes kept, in bytes. A buffer's capacity never passes the limit on what
    /// it holds, at most doubles when it grows, and is given back when it is large and its event is done with.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        let texts = [&self.data.text, &self.value.text, &self.kind, &self.id, &self.last_event_id];
        texts.iter().map(|text| text.capacity()).sum::<usize>() + self.unread.capacity()
    }

    /// One step: what a dropped `Events` left comes first.
    #[inline(always)]
    fn step<'i>(&mut self, input: &mut &'i [u8]) -> Result<Step<'i>, DecodeError> {
        if !self.unread.is_empty() {
            match self.step_unread()? {
                Step::More => {}
                step => return Ok(step),
            }
        }
        self.advance(input)
    }

    /// Collects what a step lent from bytes that do not last.
    pub(super) fn collect(&mut self, step: Step<'_>) -> Step<'static> {
        match step {
            Step::More => Step::More,
            Step::Event(lent) => {
                self.hold(lent);
                Step::Event(None)
            }
            Step::Comment(lent) => {
                if let Some(text) = lent {
                    self.value.append_within(text, self.config.max_comment_bytes);
                }
                Step::Comment(None)
            }
            Step::Block => Step::Block,
        }
    }

    /// Takes from the front of `input` until there is something to give out.
    #[inline(always)]
    pub(super) fn advance<'i>(&mut self, input: &mut &'i [u8]) -> Result<Step<'i>, DecodeError> {
        self.take_back();
        let end_position = self.position + input.len() as u64;
        if self.opening {
            self.take_opening(input);
        }
        let step = loop {
            if input.is_empty() {
                break Ok(Step::More);
            }
            let way = if !self.block.is_open && matches!(self.line, Line::Start) {
                self.usual_blocks(input, end_position)
            } else {
                Ok(Way::Left(LineEnd::NotSearched, None))
            };
            let way = match way {
                Ok(Way::Left(line_end, lent)) => self.general_block(input, line_end, lent, end_position),
                way => way,
            };
            match way {
                Ok(Way::Step(step)) => break Ok(step),
                // The block has ended and gave nothing.
                Ok(Way::Left(..)) => {}
                Err(error) => break Err(error),
            }
        };
        self.position = end_position - input.len() as u64;
        step
    }

    /// Takes from the front of `input` what belongs to the current block, as far as it is at hand, in whatever shape it
    /// comes. Where the first line ends may be known, and what data the block has so far (`lent`).
    #[inline(always)]
    fn general_block<'i>(
        &mut self,
        input: &mut &'i [u8],
        line_end: LineEnd,
        lent: Option<&'i str>,
        end_position: u64,
    ) -> Result<Way<'i>, DecodeError> {
        if self.line == Line::DATA && !self.block.is_skipped {
            if let Some(step) = self.more_data(input, end_position)? {
                return Ok(Way::Step(step));
            }
        } else if self.line == Line::IGNORED {
            if !self.more_ignored(input) {
                return Ok(Way::Step(Step::More));
            }
            if input.first() == Some(&LF) {
                self.take_line_end(input);
                return Ok(self.end_block(None).map_or(Way::Left(LineEnd::NotSearched, None), Way::Step));
            }
        }
        let step = self.take_lines(input, line_end, lent, end_position)?;
        Ok(step.map_or(Way::Left(LineEnd::NotSearched, None), Way::Step))
    }

    /// What the last step lent is done with.
    #[inline]
    pub(super) fn take_back(&mut self) {
        match mem::replace(&mut self.lent_out, LentOut::Nothing) {
            LentOut::Nothing => {}
            LentOut::Event => self.clear_block(),
            LentOut::Comment => self.value.clear(),
        }
    }

    /// Takes lines from the front of `rest` until there is something to give out, or a block ends without that. Where
    /// the first line ends may be known. `lent` is the data of the block.
    fn take_lines<'i>(
        &mut self,
        rest: &mut &'i [u8],
        line_end: LineEnd,
        lent: Option<&'i str>,
        end_position: u64,
    ) -> Result<Option<Step<'i>>, DecodeError> {
        let mut line_end = line_end;
        let mut lent = lent;
        while let Some(&first) = rest.first() {
            let position = end_position - rest.len() as u64;
            if matches!(self.line, Line::Start) && (first == LF || first == CR) {
                self.take_line_end(rest);
                return Ok(self.end_block(lent));
            }
            if first == b'd' && matches!(self.line, Line::Start) && self.has_event() && line_end == LineEnd::NotSearched
            {
                self.hold(lent.take());
                let before = rest.len();
                if let Some(step) = self.more_data_lines(rest, end_position)? {
                    return Ok(Some(step));
                }
                if rest.len() < before {
                    continue;
                }
            }
            let end = self.find_line_end(rest, mem::replace(&mut line_end, LineEnd::NotSearched));
            let Some((line, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
                self.hold(lent.take());
                self.first_piece(mem::take(rest), position)?;
                break;
            };
            *rest = after;
            self.take_line_end(rest);
            let step = if matches!(self.line, Line::Start) {
                if first == b':' && !self.config.comments {
                    self.open_block(position);
                    continue;
                }
                self.whole_line(line, position, &mut lent)?
            } else {
                self.last_piece(line, position)?
            };
            if step.is_some() {
                self.hold(lent.take());
                return Ok(step);
            }
        }
        self.hold(lent);
        Ok(Some(Step::More))
    }

    /// Where the line at the front of `rest` ends, unless that is known.
    #[inline]
    fn find_line_end(&self, rest: &[u8], known: LineEnd) -> Option<usize> {
        let end = match known {
            LineEnd::NotSearched => scan::line_end(rest),
            LineEnd::At(end) => return Some(end),
            LineEnd::Missing => return None,
        };
        self.count_searched(end, rest);
        end
    }

    /// Counts what is searched, for this crate's own tests (`work.rs`).
    #[inline(always)]
    pub(super) fn count_searched(&self, end: Option<usize>, bytes: &[u8]) {
        let bytes = end.unwrap_or(bytes.len()) as u64;
        #[cfg(test)]
        self.searched.set(self.searched.get() + bytes);
        #[cfg(not(test))]
        let _ = bytes;
    }

    /// Drops the byte order mark at the stream's start, and the LF whose CR ended the last chunk.
    #[cold]
    fn take_opening(&mut self, rest: &mut &[u8]) {
        if self.after_cr {
            let Some((&first, after)) = rest.split_first() else {
                return;
            };
            if first == LF {
                *rest = after;
            }
            self.after_cr = false;
        }
        while let Some(&expected) = BOM.get(self.bom) {
            let Some((&first, after)) = rest.split_first() else {
                return;
            };
            if first == expected {
                *rest = after;
                self.bom += 1;
                continue;
            }
            self.give_up_bom();
        }
        self.opening = false;
    }

    /// There is no byte order mark. What looked like one began a line of no known field.
    pub(super) fn give_up_bom(&mut self) {
        if (1..BOM.len()).contains(&self.bom) {
            self.open_block(0);
            self.line = Line::IGNORED;
        }
        self.bom = BOM.len();
    }

    /// Takes an LF, CRLF or CR from the front of `rest`.
    #[inline]
    pub(super) fn take_line_end(&mut self, rest: &mut &[u8]) {
        match *rest {
            [LF, after @ ..] | [CR, LF, after @ ..] => *rest = after,
            [CR, after @ ..] => {
                *rest = after;
                if after.is_empty() {
                    self.after_cr = true;
                    self.opening = true;
                }
            }
            _ => {}
        }
    }

    /// A blank line. HTML 9.2.6, "dispatch the event".
    #[inline]
    pub(super) fn end_block<'i>(&mut self, lent: Option<&'i str>) -> Option<Step<'i>> {
        if !self.block.is_open {
            return None;
        }
        self.commit_id();
        if self.has_event() {
            self.lent_out = LentOut::Event;
            return Some(Step::Event(lent));
        }
        let show = self.config.blocks && !self.block.is_skipped;
        self.clear_block();
        show.then_some(Step::Block)
    }

    /// Collects data that was lent so far.
    #[inline]
    pub(super) fn hold(&mut self, lent: Option<&str>) {
        if let Some(text) = lent {
            self.data.append_within(text, self.config.max_event_bytes);
        }
    }

    /// Skips to the next blank line; the rest of the current line is none.
    pub(super) fn skip_block(&mut self) {
        self.clear_block();
        self.value.clear();
        self.gathered.clear();
        self.block.is_open = true;
        self.block.is_skipped = true;
        self.line = Line::IGNORED;
    }

    /// Bytes are missing in the stream here.
    pub(super) fn skip_gap(&mut self, bytes: u64) {
        self.skip_block();
        self.position = self.position.saturating_add(bytes);
        self.give_up_bom();
        self.line = Line::IGNORED;
        self.after_cr = false;
    }

    /// The next byte is the first of a stream.
    pub(super) fn start_stream(&mut self) {
        self.position = 0;
        self.opening = true;
        self.bom = 0;
        self.after_cr = false;
        self.line = Line::Start;
        self.value.clear();
        self.gathered.clear();
    }

    #[inline]
    pub(super) fn open_block(&mut self, position: u64) {
        if !self.block.is_open {
            self.block.is_open = true;
            self.block.position = position;
        }
    }

    #[inline]
    pub(super) fn clear_block(&mut self) {
        self.block = Block::default();
        self.data.clear();
    }

    #[inline]
    pub(super) const fn has_event(&self) -> bool {
        self.block.has_data && !self.block.is_skipped
    }

    #[inline]
    pub(super) fn commit_id(&mut self) {
        if mem::take(&mut self.block.has_id) {
            mem::swap(&mut self.last_event_id, &mut self.id);
        }
    }

    pub(super) fn lend_event<'d>(&'d mut self, lent: Option<&'d str>) -> Event<'d> {
        Event {
            kind: if self.block.has_kind { &self.kind } else { DEFAULT_KIND },
            kind_is_cut: self.block.kind_is_cut,
            data: lent.map_or(Data::Collected(&mut self.data.text), Data::Lent),
            last_event_id: &self.last_event_id,
        }
    }
}

/// Sizes and flags: no byte of a peer is shown.
impl fmt::Debug for SseDecoder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SseDecoder")
            .field("config", &self.config)
            .field("position", &self.position)
            .field("held_bytes", &self.held_bytes())
            .field("capacity_bytes", &self.capacity_bytes())
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
