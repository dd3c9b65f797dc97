//! The end of the stream: what was left unfinished, and what becomes of it.

use super::decoder::{LentOut, SseDecoder};
use super::error::DecodeError;
use super::event::Event;
use super::line::{Field, Line};

/// What becomes of an event that the stream's end left without its blank line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// It is discarded, as HTML 9.2.6 says.
    Strict,
    /// It is dispatched as if a blank line had come: an unfinished last line counts as a line (a character cut in it
    /// becomes U+FFFD), and the event is given out if the block has a `data` field, with its id taking effect. It may
    /// be cut anywhere: check its data before you trust it, and its id before you send it back.
    Flush,
}

/// What the stream's end left unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// Nothing: no line and no data. Complete lines of other fields and comments leave nothing.
    Nothing,
    /// A line without its end, in a block without data.
    PartialLine,
    /// A block with data (or the start of a `data` line) and no blank line; or the rest of one that had a fault.
    PartialEvent,
}

/// The outcome of [`SseDecoder::finish`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished<'a> {
    /// What was left unfinished, whichever way it was treated.
    pub tail: Tail,
    /// The unfinished event, with [`Finish::Flush`] only.
    pub event: Option<Event<'a>>,
    /// Whether the unfinished block had set an id, or a type other than `"message"`, that was dropped with it.
    pub discarded_fields: bool,
    /// Whether the line that was left unfinished is the one that names the event's type, so that the type may be cut.
    pub kind_is_cut: bool,
    /// Why there is no event: the last line, counted as one, was at fault; or, and then the stream is *not* ended,
    /// bytes are still [unread](DecodeError::Unread).
    pub error: Option<DecodeError>,
}

impl SseDecoder {
    /// Ends the stream, and says what it left unfinished.
    ///
    /// Afterwards the decoder stands at the start of a new stream: position 0, a byte order mark allowed again. The
    /// last event id and `retry` outlive the stream, as a reconnection needs them. Calling it again finds
    /// [`Tail::Nothing`].
    ///
    /// If [`Events`](super::Events) was dropped with bytes unread, and they were not read since, nothing happens but
    /// an [`error`](Finished::error) of [`DecodeError::Unread`]: [`decode`](Self::decode) the empty slice until it
    /// gives `None`, then finish again.
    ///
    /// ```
    /// use mcp_sse_core::sse::{Finish, SseDecoder, Tail};
    ///
    /// let mut decoder = SseDecoder::new();
    /// assert!(decoder.decode(&mut &b"data: {}"[..])?.is_none());
    /// let finished = decoder.finish(Finish::Flush);
    /// assert_eq!(finished.tail, Tail::PartialEvent);
    /// assert_eq!(finished.event.map(|event| event.into_data()).as_deref(), Some("{}"));
    /// # Ok::<(), mcp_sse_core::sse::DecodeError>(())
    /// ```
    pub fn finish(&mut self, mode: Finish) -> Finished<'_> {
        // What was laid by cannot be at fault; should it be, it is told.
        let mut error = self.take_gathered(self.position).err();
        if !self.unread.is_empty() {
            let error = Some(DecodeError::Unread { bytes: self.unread.bytes() });
            let tail = self.tail();
            return Finished { tail, event: None, discarded_fields: false, kind_is_cut: false, error };
        }
        self.take_back();
        self.give_up_bom();
        let tail = self.tail();
        let kind_is_cut = matches!(self.line, Line::Value { field: Field::Kind, .. });
        let mut dispatches = false;
        if mode == Finish::Flush {
            let ended = self.end_line(self.position);
            error = error.or_else(|| ended.err());
            dispatches = self.has_event();
        }
        let discarded_fields = !dispatches && (self.block.has_id || self.block.has_kind);
        self.start_stream();
        if dispatches {
            self.commit_id();
            self.lent_out = LentOut::Event;
        } else {
            self.clear_block();
        }
        Finished { tail, event: dispatches.then(|| self.lend_event(None)), discarded_fields, kind_is_cut, error }
    }

    fn tail(&self) -> Tail {
        match self.line {
            _ if self.block.has_data || self.block.is_skipped => Tail::PartialEvent,
            Line::Start => Tail::Nothing,
            Line::Name(name) if name.field() == Field::Data => Tail::PartialEvent,
            Line::Name(_) | Line::Value { .. } => Tail::PartialLine,
        }
    }
}
