//! Time as the core sees it: a duration since an origin that the embedder picks.
//!
//! Rules: the core never asks what time it is; every input that matters in time carries `now`. The origin is
//! the embedder's affair (a program's start, a test's zero), so that runs can be repeated, fuzzed and
//! recorded. No clock belongs here.

use core::fmt;
use core::time::Duration;

/// A moment: the time since an origin that the embedder picks and keeps.
///
/// Timestamps of one [`Client`](crate::client::Client) or [`Exchange`](crate::exchange::Exchange) must share
/// an origin. Time may stand still or even go back: nothing panics, a deadline is only reached later.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::Timestamp;
///
/// let start = Timestamp::from_millis(1_000);
/// let deadline = start.saturating_add(Duration::from_secs(60));
/// assert_eq!(deadline.saturating_duration_since(start), Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(Duration);

impl Timestamp {
    /// The origin itself.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// The moment that is `since_origin` after the origin.
    #[must_use]
    pub const fn new(since_origin: Duration) -> Self {
        Self(since_origin)
    }

    /// The moment that is `millis` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// The time since the origin.
    #[must_use]
    pub const fn since_origin(self) -> Duration {
        self.0
    }

    /// This moment moved into the future; stays at the largest moment instead of overflowing.
    #[must_use]
    pub const fn saturating_add(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(delay))
    }

    /// The time from `earlier` to this moment; zero if this moment is the earlier one.
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0.as_millis())
    }
}
