//! The rest of a response that is written while a test goes on: streams on which a server speaks when it wants to.
//!
//! Rule: one connection at a time reads a feed, the one that came last; what an earlier one left is for its successor.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::script::Ending;

/// Pieces of an SSE body, each a chunk, that follow what a script has written ([`Script::feed`](super::Script::feed)).
#[derive(Clone, Debug, Default)]
pub struct Feed(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    pieces: VecDeque<Piece>,
    /// Counts connections that have read it.
    readers: u64,
}

#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// The body ends, with its last chunk if the connection is to be kept alive.
    End(Ending),
}

/// What a connection is to do next.
pub(super) enum Next {
    Do(Piece),
    Wait,
    /// Another connection reads now.
    Over,
}

impl Feed {
    /// An empty feed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes bytes of the body.
    pub fn write(&self, bytes: impl Into<Vec<u8>>) {
        self.state().pieces.push_back(Piece::Bytes(bytes.into()));
    }

    /// Writes an event with this message.
    pub fn message(&self, message: &Value) {
        self.write(format!("event: message\ndata: {message}\n\n"));
    }

    /// Writes an event with this message and this event id.
    pub fn message_under(&self, event_id: &str, message: &Value) {
        self.write(format!("id: {event_id}\nevent: message\ndata: {message}\n\n"));
    }

    /// Ends the response of whoever reads: `KeepAlive` marks the end of the body, the other endings leave it cut.
    pub fn end(&self, ending: Ending) {
        self.state().pieces.push_back(Piece::End(ending));
    }

    /// Another connection reads from now on. Its number.
    pub(super) fn begin(&self) -> u64 {
        let mut state = self.state();
        state.readers += 1;
        state.readers
    }

    pub(super) fn next(&self, reader: u64) -> Next {
        let mut state = self.state();
        if state.readers != reader {
            return Next::Over;
        }
        state.pieces.pop_front().map_or(Next::Wait, Next::Do)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
