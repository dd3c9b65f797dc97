//! The bounds that a user may set, with their defaults and the reasons. A single decoder has its own
//! (`DecoderConfig`); what a head keeps is bounded by constants of `ResponseHead`.
//!
//! Rules: a bound is checked before the bytes are kept; passing one is an error that names it; none is
//! infinite by default. Bounds of a socket (connect time, idle time, pool size) belong to the adapters.

use crate::tape::Line;

/// How much of a peer's output is kept or inflated, in bytes.
///
/// ```
/// use mcp_sse_core::Limits;
///
/// let limits = Limits::default().with_max_event_bytes(16 << 20);
/// assert_eq!(limits.max_event_bytes, 16 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// One event: its unfinished line and its data together. Default 64 MiB: real servers send lists of
    /// several MiB in one event, and a default of 1 MiB has broken clients in the field. Passing it skips
    /// that event and goes on. The `endpoint` of a 2024-11-05 channel is an event like any other.
    pub max_event_bytes: usize,
    /// An event id. Default 8 KiB, the usual bound of an HTTP header line, which is where an id goes when a
    /// stream is resumed. A longer one is ignored.
    pub max_id_bytes: usize,
    /// An event name. Default 1 KiB: the names in use have at most 8 bytes. A longer one is an unknown type.
    pub max_kind_bytes: usize,
    /// A JSON body. Default 64 MiB, like an event: the server chooses freely between the two.
    pub max_json_bytes: usize,
    /// All bytes that one body inflates to. Default 256 MiB, four events of the largest size: it bounds the
    /// work a small coded body can cause; memory is bounded by the limits above.
    pub max_inflated_bytes: u64,
    /// What is kept of the body of a failed response, to show to people. Default 4 KiB: an error page's
    /// first lines.
    pub max_excerpt_bytes: usize,
    /// A response head, for adapters that parse heads. Default 64 KiB, twice what common servers send at most.
    pub max_head_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_event_bytes: 64 << 20,
            max_id_bytes: 8 << 10,
            max_kind_bytes: 1 << 10,
            max_json_bytes: 64 << 20,
            max_inflated_bytes: 256 << 20,
            max_excerpt_bytes: 4 << 10,
            max_head_bytes: 64 << 10,
        }
    }
}

impl Limits {
    /// Each bound, for a recording.
    pub(crate) fn words(&self, line: Line) -> Line {
        line.named("max_event_bytes", self.max_event_bytes)
            .named("max_id_bytes", self.max_id_bytes)
            .named("max_kind_bytes", self.max_kind_bytes)
            .named("max_json_bytes", self.max_json_bytes)
            .named("max_inflated_bytes", self.max_inflated_bytes)
            .named("max_excerpt_bytes", self.max_excerpt_bytes)
    }

    /// Sets [`max_event_bytes`](Self::max_event_bytes).
    #[must_use]
    pub const fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Sets [`max_id_bytes`](Self::max_id_bytes).
    #[must_use]
    pub const fn with_max_id_bytes(mut self, bytes: usize) -> Self {
        self.max_id_bytes = bytes;
        self
    }

    /// Sets [`max_kind_bytes`](Self::max_kind_bytes).
    #[must_use]
    pub const fn with_max_kind_bytes(mut self, bytes: usize) -> Self {
        self.max_kind_bytes = bytes;
        self
    }

    /// Sets [`max_json_bytes`](Self::max_json_bytes).
    #[must_use]
    pub const fn with_max_json_bytes(mut self, bytes: usize) -> Self {
        self.max_json_bytes = bytes;
        self
    }

    /// Sets [`max_inflated_bytes`](Self::max_inflated_bytes).
    #[must_use]
    pub const fn with_max_inflated_bytes(mut self, bytes: u64) -> Self {
        self.max_inflated_bytes = bytes;
        self
    }

    /// Sets [`max_excerpt_bytes`](Self::max_excerpt_bytes).
    #[must_use]
    pub const fn with_max_excerpt_bytes(mut self, bytes: usize) -> Self {
        self.max_excerpt_bytes = bytes;
        self
    }

    /// Sets [`max_head_bytes`](Self::max_head_bytes).
    #[must_use]
    pub const fn with_max_head_bytes(mut self, bytes: usize) -> Self {
        self.max_head_bytes = bytes;
        self
    }
}
