//! What is due when: the one place that knows how long it is to the next thing that time brings about.
//!
//! Rules: one due time a subject; setting it again moves it; cost is at most logarithmic in the number of subjects, so that
//! ten thousand idle streams cost nothing while they idle.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{AskId, CallId, ExchangeId, SessionKey, StreamId};
use crate::time::Timestamp;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A request's body must have come.
    Body(ExchangeId),
    /// A stream has been silent so long that its reader should be told it is alive.
    KeepAlive(StreamId),
    /// A stream's reader has taken nothing for so long.
    Stall(StreamId),
    /// A stream that has ended has been kept long enough.
    Replay(StreamId),
    /// A call must have been answered.
    Call(CallId),
    /// A request of the server's must have been answered.
    Ask(AskId),
    /// A session may have been left.
    Session(SessionKey),
    /// Shutting down ends now, politely or not.
    Shutdown,
}

/// Timers that are kept in no order at most. Nearly all calls are answered at once: theirs are set and cleared here, and a
/// few comparisons cost less than a place in a tree.
const MAX_YOUNG: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Those set last, in that order; no other has them.
    young: Vec<(Timestamp, Timer)>,
    by_time: BTreeSet<(Timestamp, Timer)>,
    due: BTreeMap<Timer, Timestamp>,
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, due: Timestamp) {
        if let Some((known, _)) = self.young.iter_mut().find(|(_, young)| *young == timer) {
            *known = due;
            return;
        }
        if let Some(known) = self.due.get_mut(&timer) {
            let earlier = core::mem::replace(known, due);
            if earlier != due {
                self.by_time.remove(&(earlier, timer));
                self.by_time.insert((due, timer));
            }
            return;
        }
        if self.young.len() >= MAX_YOUNG {
            for (due, timer) in self.young.drain(..MAX_YOUNG / 2) {
                self.by_time.insert((due, timer));
                self.due.insert(timer, due);
            }
        }
        self.young.push((due, timer));
    }

    pub(super) fn clear(&mut self, timer: Timer) {
        if let Some(at) = self.young.iter().position(|(_, young)| *young == timer) {
            self.young.remove(at);
        } else if let Some(due) = self.due.remove(&timer) {
            self.by_time.remove(&(due, timer));
        }
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.young.iter().any(|(_, young)| *young == timer) || self.due.contains_key(&timer)
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.first().map(|(due, _)| due)
    }

    fn first(&self) -> Option<(Timestamp, Timer)> {
        self.young.iter().chain(self.by_time.first()).min().copied()
    }

    pub(super) fn count(&self) -> usize {
        self.young.len() + self.due.len()
    }

    /// Takes one timer that is due.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<Timer> {
        let (due, timer) = self.first()?;
        if due > now {
            return None;
        }
        self.clear(timer);
        Some(timer)
    }
}
