//! How connections are made, kept and read to their end: settings with named defaults, and what is kept for the next
//! call.
//!
//! Rules: plain values and a plain list, the same for every adapter. What a connection is, is the adapter's affair.

use alloc::vec::Vec;
use core::time::Duration;

use super::endpoint::Endpoint;
use crate::time::Timestamp;

/// How a client's connections are made, kept and read to their end.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::client::ConnectionConfig;
///
/// let connections = ConnectionConfig::default().with_connect_timeout(Duration::from_secs(3)).with_max_idle(2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionConfig {
    /// How long connecting may take: name, addresses and TLS handshake together. Default 10 s: past that a host is not
    /// there. The deadline of a call holds besides.
    pub connect_timeout: Duration,
    /// How long, after an answer, the rest of its stream is read so that the connection can be used again. Default
    /// 500 ms: a server that ends its stream does so at once.
    pub drain_timeout: Duration,
    /// How many bytes of that rest are read at most if nobody waits for the end. Default 256 KiB: reading more costs
    /// more than the handshake it saves.
    pub drain_bytes: u64,
    /// How many connections are kept. Default 8: more calls than that at once are rare, and they only pay a handshake.
    /// Zero keeps none. HTTP/2 has one that all calls share.
    pub max_idle: usize,
    /// How long a connection is kept unused. Default 30 s: servers close after about 60.
    pub idle_timeout: Duration,
    /// Speak HTTP/2 without TLS, with prior knowledge (RFC 9113 section 3.3). Default: no, HTTP/1.1. Over TLS the two
    /// sides agree on what to speak (ALPN). Only for adapters that speak HTTP/2.
    pub http2_prior_knowledge: bool,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_millis(500),
            drain_bytes: 256 << 10,
            max_idle: 8,
            idle_timeout: Duration::from_secs(30),
            http2_prior_knowledge: false,
        }
    }
}

impl ConnectionConfig {
    /// Sets [`connect_timeout`](Self::connect_timeout).
    #[must_use]
    pub const fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets [`drain_timeout`](Self::drain_timeout).
    #[must_use]
    pub const fn with_drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Sets [`drain_bytes`](Self::drain_bytes).
    #[must_use]
    pub const fn with_drain_bytes(mut self, bytes: u64) -> Self {
        self.drain_bytes = bytes;
        self
    }

    /// Sets [`max_idle`](Self::max_idle).
    #[must_use]
    pub const fn with_max_idle(mut self, most: usize) -> Self {
        self.max_idle = most;
        self
    }

    /// Sets [`idle_timeout`](Self::idle_timeout).
    #[must_use]
    pub const fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets [`http2_prior_knowledge`](Self::http2_prior_knowledge).
    #[must_use]
    pub const fn with_http2_prior_knowledge(mut self, known: bool) -> Self {
        self.http2_prior_knowledge = known;
        self
    }

    /// How long the next of so many addresses may take to answer, out of the time that is `left` for all of them: an
    /// equal share, the last one all of it. At least 1 ms: some platforms take no shorter wait.
    #[must_use]
    pub fn share(left: Duration, addresses: usize) -> Duration {
        let addresses = u32::try_from(addresses.max(1)).unwrap_or(u32::MAX);
        (left / addresses).max(Duration::from_millis(1))
    }
}

/// Connections that are kept for the next call: few, none for long, and the newest is taken first, since it is the
/// least likely to have been closed. Each serves its own origin: a channel of 2024-11-05 may be allowed to lead to another.
///
/// ```
/// use mcp_sse_core::Timestamp;
/// use mcp_sse_core::client::{ConnectionConfig, Endpoint, IdleConnections};
///
/// let endpoint = Endpoint::parse("http://example.com/mcp")?;
/// let mut idle = IdleConnections::new(&ConnectionConfig::default().with_max_idle(2));
/// for name in ["first", "second", "third"] {
///     idle.keep(&endpoint, name, Timestamp::ZERO);
/// }
/// let elsewhere = Endpoint::parse("https://example.com/mcp")?;
/// assert_eq!(idle.take(&elsewhere, Timestamp::from_millis(1)), None);
/// assert_eq!(idle.take(&endpoint, Timestamp::from_millis(1)), Some("third"));
/// let too_late = Timestamp::from_millis(30_000);
/// assert_eq!(idle.take(&endpoint, too_late), None, "the second is too old, and the first had to go");
/// # Ok::<(), mcp_sse_core::client::EndpointError>(())
/// ```
#[derive(Debug)]
pub struct IdleConnections<T> {
    most: usize,
    timeout: Duration,
    kept: Vec<Kept<T>>,
}

#[derive(Debug)]
struct Kept<T> {
    connection: T,
    endpoint: Endpoint,
    since: Timestamp,
}

impl<T> IdleConnections<T> {
    /// Keeps as many as these settings say, for as long.
    #[must_use]
    pub const fn new(config: &ConnectionConfig) -> Self {
        Self { most: config.max_idle, timeout: config.idle_timeout, kept: Vec::new() }
    }

    /// The connection to this endpoint's origin that was kept last; those that are too old are dropped.
    pub fn take(&mut self, endpoint: &Endpoint, now: Timestamp) -> Option<T> {
        self.kept.retain(|kept| now.saturating_duration_since(kept.since) < self.timeout);
        let at = self.kept.iter().rposition(|kept| kept.endpoint.has_origin_of(endpoint))?;
        Some(self.kept.remove(at).connection)
    }

    /// As [`take`](Self::take), but passes over those that turn out not to be usable any more, and drops them.
    pub fn take_usable(
        &mut self,
        endpoint: &Endpoint,
        now: Timestamp,
        mut is_usable: impl FnMut(&mut T) -> bool,
    ) -> Option<T> {
        core::iter::from_fn(|| self.take(endpoint, now)).find_map(|mut kept| is_usable(&mut kept).then_some(kept))
    }

    /// Keeps a connection to this endpoint's origin; the oldest makes room for it.
    pub fn keep(&mut self, endpoint: &Endpoint, connection: T, now: Timestamp) {
        self.kept.push(Kept { connection, endpoint: endpoint.clone(), since: now });
        let excess = self.kept.len().saturating_sub(self.most);
        self.kept.drain(..excess);
    }
}
