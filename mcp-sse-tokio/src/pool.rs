//! Connections that are kept for the next call.
//!
//! Facts reported: none. Steps carried out: the keeping in `Step::Release`.
//!
//! Rules: a bound on their number and on their age; the newest is used first, since it is the least likely to
//! have been closed. All belong to one origin. One connection of HTTP/2 is shared by all calls while it is
//! usable. A client that goes away closes them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sse_core::Timestamp;

use crate::clock::Clock;
use crate::link::{Http1, Http2, Link};

/// Kept connections.
#[derive(Debug)]
pub(crate) struct Pool {
    clock: Clock,
    most: usize,
    idle: Duration,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    idle: Vec<(Box<Http1>, Timestamp)>,
    shared: Option<(Http2, Timestamp)>,
}

impl Pool {
    pub(crate) fn new(clock: Clock, most: usize, idle: Duration) -> Self {
        Self { clock, most, idle, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shared connection if it is usable, else the one that was kept last.
    pub(crate) fn take(&self) -> Option<Link> {
        self.shared().map(Link::Http2).or_else(|| {
            let now = self.clock.now();
            let mut kept = self.kept();
            kept.idle.retain(|(_, since)| now.saturating_duration_since(*since) < self.idle);
            kept.idle.pop().map(|(link, _)| Link::Http1(link))
        })
    }

    /// The shared connection, if there is one that is not closed or too old.
    pub(crate) fn shared(&self) -> Option<Http2> {
        let now = self.clock.now();
        let mut kept = self.kept();
        let (link, used) = kept.shared.as_mut()?;
        if link.sender.is_closed() || now.saturating_duration_since(*used) >= self.idle {
            // Calls that still use it have handles of their own.
            kept.shared = None;
            return None;
        }
        *used = now;
        Some(link.clone())
    }

    /// Keeps an idle connection; the oldest makes room for it.
    pub(crate) fn keep(&self, link: Box<Http1>) {
        let now = self.clock.now();
        let mut kept = self.kept();
        kept.idle.push((link, now));
        let excess = kept.idle.len().saturating_sub(self.most);
        kept.idle.drain(..excess);
    }

    /// Shares a connection with the calls to come; `most` of zero keeps none.
    pub(crate) fn share(&self, link: &Http2) {
        if self.most > 0 {
            let now = self.clock.now();
            self.kept().shared = Some((link.clone(), now));
        }
    }
}
