//! Connections that are kept for the next call.
//!
//! Rules: a bound on their number and on their age; the newest is used first, since it is the least likely to
//! have been closed. All belong to one origin. A client that goes away closes them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcp_sse_core::Timestamp;

use crate::clock::Clock;
use crate::stream::Stream;

/// Kept connections.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) clock: Clock,
    pub(crate) most: usize,
    pub(crate) idle: Duration,
    kept: Mutex<Vec<(Stream, Timestamp)>>,
}

impl Pool {
    pub(crate) const fn new(clock: Clock, most: usize, idle: Duration) -> Self {
        Self { clock, most, idle, kept: Mutex::new(Vec::new()) }
    }

    /// The connection that was kept last, unless it is too old.
    pub(crate) fn take(&self) -> Option<Stream> {
        let now = self.clock.now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, since)| now.saturating_duration_since(*since) < self.idle);
        kept.pop().map(|(stream, _)| stream)
    }

    /// Keeps a connection; the oldest makes room for it.
    pub(crate) fn keep(&self, stream: Stream) {
        let now = self.clock.now();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((stream, now));
        let excess = kept.len().saturating_sub(self.most);
        kept.drain(..excess);
    }
}
