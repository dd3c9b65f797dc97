//! What may be sent again, when, and how often: the caller's part of rows F1, F13 and F14.
//!
//! Rules: the default is what 2026-07-28 says MUST be done, one replacement; everything else is the caller's
//! declaration. A server's hint counts only for a caller who says that it trusts the server.

use core::time::Duration;

/// Whether a lost request is sent again (F14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReissuePolicy {
    /// Always: "clients MUST re-issue it as a new request with a new request ID" (2026-07-28).
    #[default]
    Always,
    /// Only what the caller declared safe to repeat, by call or by method.
    ReplaySafe,
    /// Never.
    Never,
}

/// How long to wait before a replacement is sent. The default is not to wait: the broken stream was the
/// cancel of the first request. `Retry-After` of the lost response is a floor all the same (F13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Backoff {
    /// Before the first replacement.
    pub first: Duration,
    /// The wait doubles with each further one, up to this.
    pub most: Duration,
}

impl Backoff {
    /// Waits `first` before the first replacement, then twice as long each time, up to `most`.
    #[must_use]
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most }
    }

    /// The wait before replacement number `replacement`, counted from one.
    #[must_use]
    pub fn wait(&self, replacement: u32) -> Duration {
        let factor = 1_u32.checked_shl(replacement.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.most.max(self.first))
    }
}

/// How one call is made. The defaults follow the specification.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::client::{CallOptions, ReissuePolicy};
///
/// let options = CallOptions::default()
///     .with_timeout(Duration::from_secs(10))
///     .with_reissue(ReissuePolicy::ReplaySafe)
///     .with_replay_safe(true);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallOptions {
    /// From the call to its overall deadline, every attempt included (F1). Default 60 s, as the official
    /// SDKs have it; `None` waits for ever.
    pub timeout: Option<Duration>,
    /// How long to wait without progress of this very call (E12). With it, progress is asked for under a token of our
    /// own, unless the parameters' `_meta` has one. Default: not limited.
    pub idle: Option<Duration>,
    /// Whether a lost request is sent again.
    pub reissue: ReissuePolicy,
    /// How many replacements at most. Default 1.
    pub max_reissues: u32,
    /// How long to wait before each.
    pub backoff: Backoff,
    /// The caller declares that repeating this call does no harm. Default: no.
    pub replay_safe: bool,
    /// The server's tool annotations say that repeating it does no harm. Counts only if
    /// [`ClientConfig::trusts_server_hints`](super::ClientConfig::trusts_server_hints). Default: no.
    pub hinted_idempotent: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            idle: None,
            reissue: ReissuePolicy::default(),
            max_reissues: 1,
            backoff: Backoff::default(),
            replay_safe: false,
            hinted_idempotent: false,
        }
    }
}

impl CallOptions {
    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub fn with_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Sets [`idle`](Self::idle).
    #[must_use]
    pub const fn with_idle(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Sets [`reissue`](Self::reissue).
    #[must_use]
    pub const fn with_reissue(mut self, policy: ReissuePolicy) -> Self {
        self.reissue = policy;
        self
    }

    /// Sets [`max_reissues`](Self::max_reissues).
    #[must_use]
    pub const fn with_max_reissues(mut self, most: u32) -> Self {
        self.max_reissues = most;
        self
    }

    /// Sets [`backoff`](Self::backoff).
    #[must_use]
    pub const fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets [`replay_safe`](Self::replay_safe).
    #[must_use]
    pub const fn with_replay_safe(mut self, safe: bool) -> Self {
        self.replay_safe = safe;
        self
    }

    /// Sets [`hinted_idempotent`](Self::hinted_idempotent).
    #[must_use]
    pub const fn with_hinted_idempotent(mut self, hinted: bool) -> Self {
        self.hinted_idempotent = hinted;
        self
    }
}
