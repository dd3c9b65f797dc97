//! The one clock: what the core calls `now`, and back again.
//!
//! Rule: nothing else in this crate asks what time it is.

use std::time::{Duration, Instant};

use mcp_sse_core::Timestamp;

/// A clock whose origin is its own making.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(self) -> Timestamp {
        Timestamp::new(self.origin.elapsed())
    }

    /// The time from now until `moment`; zero if it has passed.
    pub(crate) fn until(self, moment: Timestamp) -> Duration {
        moment.saturating_duration_since(self.now())
    }
}

/// The time of day, as HTTP writes it.
#[cfg(feature = "server")]
pub(crate) fn http_date() -> httpdate::HttpDate {
    httpdate::HttpDate::from(std::time::SystemTime::now())
}
