//! How connections are served: threads, time and bytes, each bounded.
//!
//! Rules: plain values with defaults and reasons; what a server is and allows is the core's `ServerConfig`.

use std::sync::Arc;
use std::time::Duration;

/// How connections are served.
///
/// A connection has a thread for as long as it lasts, and a call that is answered by the handler has another one. Open
/// streams, and peers that are slow, may take [`threads`](Self::threads) less [`reserve`](Self::reserve) of them. Of the
/// reserve, half is for calls that wait for their answer, and half for what is done at once, such as the answer to what a
/// handler has asked: that always gets through. What finds no place within 500 ms is refused with 503, before it is begun;
/// a peer that is slow is cut when its place is needed.
///
/// ```
/// use std::time::Duration;
/// use mcp_sse_blocking::ServeConfig;
///
/// let config = ServeConfig::default().with_threads(64).with_reserve(8).with_head_timeout(Duration::from_secs(5));
/// assert_eq!(config.threads - config.reserve, 56);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeConfig {
    /// Connections at once; more wait to be accepted, and hasten those that are kept without a request. Default 256: threads
    /// that wait cost some tens of KiB each. At least 3.
    pub threads: usize,
    /// Threads that no open stream may take (S11). Default 32, an eighth. At least 2, and less than
    /// [`threads`](Self::threads).
    pub reserve: usize,
    /// Calls that handlers work on at once; more are answered with an error. Default 512: twice the connections, since one
    /// connection may bring several calls (2024-11-05, and arrays of 2025-03-26), and a cancelled one may work on for a while.
    pub max_handlers: usize,
    /// A request's head, in bytes. Default 64 KiB, of which headers that mirror arguments may need some.
    pub max_head_bytes: usize,
    /// How long a request's head may take to arrive, and TLS's handshake. Default 10 s: while it drips it holds a thread.
    pub head_timeout: Duration,
    /// How long a connection is kept without a request. Default 60 s, longer than common clients keep theirs, so that it is
    /// they who close it.
    pub idle_timeout: Duration,
    /// Speak TLS, with these settings; of their ALPN protocols, only `http/1.1` is spoken.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            threads: 256,
            reserve: 32,
            max_handlers: 512,
            max_head_bytes: 64 << 10,
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            tls: None,
        }
    }
}

macro_rules! setters {
    ($($name:ident $field:ident: $kind:ty;)*) => {
        impl ServeConfig {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub const fn $name(mut self, value: $kind) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    };
}

setters! {
    with_threads threads: usize;
    with_reserve reserve: usize;
    with_max_handlers max_handlers: usize;
    with_max_head_bytes max_head_bytes: usize;
    with_head_timeout head_timeout: Duration;
    with_idle_timeout idle_timeout: Duration;
}

impl ServeConfig {
    /// Sets [`tls`](Self::tls).
    #[must_use]
    pub fn with_tls(mut self, tls: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Connections at once.
    pub(super) fn max_connections(&self) -> usize {
        self.threads.max(3)
    }

    /// Open streams at once.
    pub(super) fn max_streams(&self) -> usize {
        self.max_connections() - self.bounded_reserve()
    }

    /// Open streams, and calls that wait for their answer, at once.
    pub(super) fn max_waiting(&self) -> usize {
        self.max_connections() - self.bounded_reserve() / 2
    }

    fn bounded_reserve(&self) -> usize {
        self.reserve.clamp(2, self.max_connections() - 1)
    }
}
