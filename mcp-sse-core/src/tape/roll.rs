//! The tape: lines in order, within a bound.
//!
//! Rules: what is recorded is in memory until it is asked for; once the bound is reached the tape stands still, says so, and
//! what it holds is a recording of the beginning. Nothing here knows what a line says.

use alloc::vec::Vec;

use super::line::Line;
use crate::time::Timestamp;

/// That facts are recorded, and how much of them is kept.
///
/// ```
/// use mcp_sse_core::client::ClientConfig;
/// use mcp_sse_core::recording::RecordingConfig;
///
/// let config = ClientConfig::default().with_recording(RecordingConfig::default().with_max_bytes(1 << 20));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordingConfig {
    /// How many bytes are kept at most, payloads and what it costs to keep them together. Default 16 MiB: a call with
    /// its answer has some KiB, so that is thousands of calls, and a mail can still carry it.
    pub max_bytes: usize,
}

impl Default for RecordingConfig {
    fn default() -> Self {
        Self { max_bytes: 16 << 20 }
    }
}

impl RecordingConfig {
    /// Sets [`max_bytes`](Self::max_bytes).
    #[must_use]
    pub const fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

/// Lines in order.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    /// When it began.
    pub(crate) begun: Timestamp,
    /// The time of the newest line that has one.
    pub(crate) latest: Timestamp,
    /// The number of the exchange whose tape it is; a client's has none.
    pub(crate) number: u64,
    /// Whether events are written when they are polled. A client's exchanges do not: the client says what it gave out.
    pub(crate) keeps_events: bool,
    lines: Vec<Line>,
    bytes: usize,
    max_bytes: usize,
    is_full: bool,
}

impl Tape {
    pub(crate) const fn new(config: &RecordingConfig, begun: Timestamp, number: u64, keeps_events: bool) -> Self {
        let max_bytes = config.max_bytes;
        Self { begun, latest: begun, number, keeps_events, lines: Vec::new(), bytes: 0, max_bytes, is_full: false }
    }

    pub(crate) fn write(&mut self, line: Line) {
        self.bytes = self.bytes.saturating_add(line.bytes());
        self.is_full |= self.bytes > self.max_bytes;
        if !self.is_full {
            self.latest = line.at.unwrap_or(self.latest);
            self.lines.push(line);
        }
    }

    /// Bytes of a payload that can still be kept: what is more is not worth copying.
    pub(crate) const fn has_room_for(&self, bytes: usize) -> bool {
        !self.is_full && self.bytes.saturating_add(bytes) <= self.max_bytes
    }

    /// No more is kept from here on.
    pub(crate) fn stop(&mut self) {
        self.is_full = true;
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Takes what is on it, and whether that is not all.
    pub(crate) fn take(&mut self) -> (Vec<Line>, bool) {
        self.bytes = 0;
        (core::mem::take(&mut self.lines), self.is_full)
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.is_full
    }
}
