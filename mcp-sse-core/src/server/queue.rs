//! What waits on a stream for its reader, and what is kept behind it for replay (S5, S11).
//!
//! Rules: bounded in messages and in bytes, checked before anything is kept; order is kept; what waits is never dropped to
//! make room. An answer always has a place: one of the messages' places is its own, and its bytes are bounded apart, for a
//! call whose answer had no room could never end. What a message is, and who is told, is not decided here.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::limits::ServerLimits;
use crate::sse::SseEncoder;

/// What is put on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// A notification, or a request of the server's.
    Message,
    /// An answer.
    Answer,
    /// No message: a comment, a priming event.
    Nothing,
}

/// Which bound a message did not fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueLimit {
    /// [`ServerLimits::max_queue_messages`]
    Messages,
    /// [`ServerLimits::max_queue_bytes`]
    Bytes,
    /// [`ServerLimits::max_answer_bytes`]
    AnswerBytes,
}

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    /// Counted from one; zero for what has no id and is never replayed.
    number: u64,
    weight: Weight,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Those that were handed out and are kept, then those that wait.
    frames: VecDeque<Frame>,
    handed_out: usize,
    waiting_messages: usize,
    waiting_bytes: usize,
    kept_bytes: usize,
}

impl Queue {
    pub(super) fn has_waiting(&self) -> bool {
        self.frames.len() > self.handed_out
    }

    pub(super) const fn waiting_messages(&self) -> usize {
        self.waiting_messages
    }

    /// Whether so many bytes may be added. `reserved` places are promised to answers that will come.
    pub(super) fn check(
        &self,
        weight: Weight,
        bytes: usize,
        reserved: usize,
        limits: &ServerLimits,
    ) -> Result<(), QueueLimit> {
        let bytes_then = self.waiting_bytes.saturating_add(bytes);
        match weight {
            Weight::Nothing => Ok(()),
            Weight::Answer if bytes > limits.max_answer_bytes => Err(QueueLimit::AnswerBytes),
            Weight::Answer if bytes_then > limits.max_answer_bytes.saturating_add(limits.max_queue_bytes) => {
                Err(QueueLimit::Bytes)
            }
            Weight::Answer => Ok(()),
            Weight::Message if self.waiting_messages.saturating_add(reserved) >= limits.max_queue_messages => {
                Err(QueueLimit::Messages)
            }
            Weight::Message if bytes_then > limits.max_queue_bytes => Err(QueueLimit::Bytes),
            Weight::Message => Ok(()),
        }
    }

    /// Adds what was checked.
    pub(super) fn push(&mut self, bytes: Vec<u8>, number: u64, weight: Weight) {
        if weight != Weight::Nothing {
            self.waiting_messages += 1;
        }
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes.len());
        self.frames.push_back(Frame { bytes, number, weight });
    }

    /// Adds the wait before a client comes back.
    pub(super) fn push_retry(&mut self, retry: Duration) {
        let mut frame = Vec::new();
        SseEncoder::new(&mut frame).retry(retry);
        self.push(frame, 0, Weight::Nothing);
    }

    /// Hands out all that waits, at the end of `out`. With `keep`, what has a number stays for replay within the bounds.
    pub(super) fn take(&mut self, out: &mut Vec<u8>, keep: bool, limits: &ServerLimits) {
        if !keep && out.is_empty() && self.handed_out == 0 && self.frames.len() == 1 {
            // Usual, and then nothing is copied.
            if let Some(frame) = self.frames.pop_front() {
                *out = frame.bytes;
            }
        } else {
            out.reserve(self.waiting_bytes);
            let mut waiting = self.frames.split_off(self.handed_out.min(self.frames.len()));
            for frame in waiting.drain(..) {
                out.extend_from_slice(&frame.bytes);
                if keep && frame.number > 0 {
                    self.kept_bytes = self.kept_bytes.saturating_add(frame.bytes.len());
                    self.frames.push_back(frame);
                }
            }
            self.handed_out = self.frames.len();
        }
        (self.waiting_messages, self.waiting_bytes) = (0, 0);
        while self.handed_out > 1
            && (self.handed_out > limits.max_replay_messages || self.kept_bytes > limits.max_replay_bytes)
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(frame) = self.frames.pop_front() {
            self.handed_out = self.handed_out.saturating_sub(1);
            self.kept_bytes = self.kept_bytes.saturating_sub(frame.bytes.len());
        }
    }

    /// Lets what came behind this number wait again. False if that number was never given, or something behind it is gone.
    pub(super) fn rewind(&mut self, number: u64, last_given: u64) -> bool {
        if number > last_given {
            return false;
        }
        let numbered = |frame: &&Frame| frame.number > 0;
        let first_kept =
            self.frames.iter().find(numbered).map_or_else(|| last_given.saturating_add(1), |frame| frame.number);
        if first_kept > number.saturating_add(1) {
            return false;
        }
        let position = self.frames.iter().position(|frame| frame.number > number).unwrap_or(self.frames.len());
        self.handed_out = position;
        (self.waiting_messages, self.waiting_bytes, self.kept_bytes) = (0, 0, 0);
        for (at, frame) in self.frames.iter().enumerate() {
            if at < position {
                self.kept_bytes = self.kept_bytes.saturating_add(frame.bytes.len());
            } else {
                self.waiting_bytes = self.waiting_bytes.saturating_add(frame.bytes.len());
                self.waiting_messages += usize::from(frame.weight != Weight::Nothing);
            }
        }
        true
    }
}
