//! The one clock: what the core calls `now`, and back again as something to wait for.
//!
//! Facts reported: the time, which goes with every other fact. Steps carried out: waiting until the next one is due.
//!
//! Rule: nothing else in this crate asks what time it is, so that tokio's paused clock rules all of it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_sse_core::Timestamp;
use tokio::time::{Instant, Sleep, sleep_until};

/// A clock over tokio's, whose origin is its own making.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// A clock that starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }

    /// The time since the clock was made.
    #[must_use]
    pub fn now(self) -> Timestamp {
        Timestamp::new(self.origin.elapsed())
    }

    /// The moment as tokio's timers have it; `None` if it lies further away than they reach.
    pub(crate) fn instant(self, moment: Timestamp) -> Option<Instant> {
        self.origin.checked_add(moment.since_origin())
    }
}

/// Waits for a moment that may move.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Ready once `due` has come; without it, never.
    pub(crate) fn poll(&mut self, clock: Clock, due: Option<Timestamp>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(due) = due.and_then(|due| clock.instant(due)) else {
            self.sleep = None;
            return Poll::Pending;
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if sleep.deadline() != due {
            sleep.as_mut().reset(due);
        }
        sleep.as_mut().poll(cx)
    }
}
