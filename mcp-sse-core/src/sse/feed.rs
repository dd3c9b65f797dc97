//! Comfort over `decode`: [`Events`] reads one chunk, and leaves no byte behind.
//!
//! Rule: what a dropped `Events` did not read is kept in the decoder and read first, by whatever method comes next.
//! It is bounded; bytes beyond the bound are counted, and their loss is an error at the place where they were.

use alloc::vec::Vec;
use core::mem;

use super::decoder::{SseDecoder, Step};
use super::error::DecodeError;
use super::event::Event;

impl SseDecoder {
    /// Reads `chunk` event by event.
    ///
    /// Dropping the [`Events`] early (a `break`, or an error passed on by `?`) loses nothing: what it did not read is
    /// copied into the decoder, and comes out of the next call of [`decode`](Self::decode) or
    /// [`Events::next_event`]. At most [`max_event_bytes`](super::DecoderConfig::max_event_bytes) are kept so; if
    /// more are left, that chunk's rest is dropped, and [`DecodeError::Unread`] says so when its turn comes.
    /// [`Events::rest`] takes the rest out instead.
    ///
    /// ```
    /// use mcp_sse_core::sse::SseDecoder;
    ///
    /// let mut decoder = SseDecoder::new();
    /// let mut events = decoder.feed(b"data: 1\n\ndata: 2\n\n");
    /// while let Some(event) = events.next_event()? {
    ///     println!("{}", event.data());
    /// }
    /// # Ok::<(), mcp_sse_core::sse::DecodeError>(())
    /// ```
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> Events<'d, 'c> {
        Events { decoder: self, rest: chunk }
    }

    /// One step over the bytes left unread.
    pub(super) fn step_unread(&mut self) -> Result<Step<'static>, DecodeError> {
        let mut unread = mem::take(&mut self.unread);
        let mut rest = unread.rest();
        let before = rest.len();
        let step = self.advance(&mut rest).map(|step| self.collect(step));
        let taken = before - rest.len();
        unread.at += taken;
        if unread.rest().is_empty() {
            unread.bytes = Vec::new();
            unread.at = 0;
            if matches!(step, Ok(Step::More)) {
                let bytes = mem::take(&mut unread.lost);
                if bytes > 0 {
                    self.skip_gap(bytes);
                    return Err(DecodeError::Unread { bytes });
                }
            }
        }
        self.unread = unread;
        step
    }
}

/// The events of one chunk; made by [`SseDecoder::feed`].
#[derive(Debug)]
#[must_use = "nothing is decoded until `next_event` is called"]
pub struct Events<'d, 'c> {
    decoder: &'d mut SseDecoder,
    rest: &'c [u8],
}

impl<'c> Events<'_, 'c> {
    /// The next event, or `None` when the chunk is used up.
    ///
    /// # Errors
    /// As [`SseDecoder::decode`]; call it again to go on.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, DecodeError> {
        self.decoder.decode(&mut self.rest)
    }

    /// Takes out what was not read of the chunk: it is the caller's to feed again. (What an earlier `Events` left in
    /// the decoder stays there, and comes first.)
    #[must_use = "these bytes are not kept in the decoder"]
    pub fn rest(mut self) -> &'c [u8] {
        mem::take(&mut self.rest)
    }
}

impl Drop for Events<'_, '_> {
    fn drop(&mut self) {
        self.decoder.unread.keep(self.rest, self.decoder.config.max_event_bytes);
    }
}

/// What dropped `Events` left unread.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    bytes: Vec<u8>,
    /// How many of the bytes were read since.
    at: usize,
    /// How many bytes after these were dropped.
    lost: u64,
}

impl Unread {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.lost == 0
    }

    /// Bytes kept.
    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// Bytes kept and dropped.
    pub(super) fn bytes(&self) -> u64 {
        self.lost.saturating_add(self.len() as u64)
    }

    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn keep(&mut self, rest: &[u8], limit: usize) {
        if rest.is_empty() {
            return;
        }
        // Once bytes are missing, none can follow until the gap was told.
        if self.lost > 0 || rest.len() > limit.saturating_sub(self.len()) {
            self.lost = self.lost.saturating_add(rest.len() as u64);
            return;
        }
        if rest.len() > self.bytes.capacity() - self.bytes.len() {
            self.make_room(rest.len(), limit);
        }
        self.bytes.extend_from_slice(rest);
    }

    /// Drops what was read. Grows, up to twice the limit, unless half is free then, so that moves stay linear.
    fn make_room(&mut self, more: usize, limit: usize) {
        self.bytes.drain(..self.at);
        self.at = 0;
        let needed = self.bytes.len().saturating_add(more);
        let capacity = self.bytes.capacity();
        if needed > capacity / 2 {
            let doubled = capacity.saturating_mul(2).min(limit.saturating_mul(2));
            self.bytes.reserve_exact(doubled.max(needed) - self.bytes.len());
        }
    }
}
