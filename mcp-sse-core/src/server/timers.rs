//! What is due when: the one place that knows how long it is to the next thing that time brings about.
//!
//! Rules: one due time a subject; setting it again moves it; cost is logarithmic in the number of subjects, so that ten
//! thousand idle streams cost nothing while they idle.

use alloc::collections::{BTreeMap, BTreeSet};

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

#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(Timestamp, Timer)>,
    due: BTreeMap<Timer, Timestamp>,
}

impl Timers {
    pub(super) fn set(&mut self, timer: Timer, due: Timestamp) {
        match self.due.insert(timer, due) {
            Some(earlier) if earlier == due => return,
            Some(earlier) => {
                self.by_time.remove(&(earlier, timer));
            }
            None => {}
        }
        self.by_time.insert((due, timer));
    }

    pub(super) fn clear(&mut self, timer: Timer) {
        if let Some(due) = self.due.remove(&timer) {
            self.by_time.remove(&(due, timer));
        }
    }

    pub(super) fn is_set(&self, timer: Timer) -> bool {
        self.due.contains_key(&timer)
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(due, _)| *due)
    }

    pub(super) fn count(&self) -> usize {
        self.due.len()
    }

    /// Takes one timer that is due.
    pub(super) fn take_due(&mut self, now: Timestamp) -> Option<Timer> {
        let (due, timer) = *self.by_time.first()?;
        if due > now {
            return None;
        }
        self.clear(timer);
        Some(timer)
    }
}
