//! Every bound of a server, with its default and the reason.
//!
//! Rules: a bound is checked before anything is kept; passing one is told to whoever passed it; none is infinite by
//! default. Bounds of sockets and of heads belong to the adapters.

use core::time::Duration;

/// How much a server keeps, and for how long.
///
/// ```
/// use mcp_sse_core::server::ServerLimits;
///
/// let limits = ServerLimits::default().with_max_sessions(100).with_max_queue_messages(16);
/// assert_eq!((limits.max_sessions, limits.max_queue_messages), (100, 16));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// A request's body, in bytes. Default 4 MiB, what the TypeScript SDK takes: arguments are small, results are not.
    pub max_body_bytes: usize,
    /// One answer, in bytes. Default 64 MiB, what our client takes of one event or JSON body.
    pub max_answer_bytes: usize,
    /// Messages that wait on one stream for its reader. Default 256: some seconds of progress. An answer has a place of its
    /// own among them, so that what comes before it cannot crowd it out. At least 1.
    pub max_queue_messages: usize,
    /// Bytes of messages other than answers that wait on one stream. Default 1 MiB, a few hundred ordinary notifications.
    pub max_queue_bytes: usize,
    /// HTTP requests under way, open streams included. Default 20,000: what a process with the usual bound of descriptors
    /// can hold at most.
    pub max_exchanges: usize,
    /// Sessions of the earlier revisions. Default 16,384; an idle one costs about 1 KiB.
    pub max_sessions: usize,
    /// Requests of one session that are under way, those that the server itself asked included. Default 64, more than a
    /// client has at once. Each has a place reserved on a shared channel.
    pub max_calls_per_session: usize,
    /// Streams of one session that are kept, open or to be resumed. Default 32; browsers open 6, HTTP/2 100.
    pub max_streams_per_session: usize,
    /// Messages in an array (2025-03-26). Default 64, as many as calls of a session.
    pub max_array_messages: usize,
    /// Messages of one stream that are kept for replay behind those that wait. Default 256, as many as may wait.
    pub max_replay_messages: usize,
    /// Bytes of one stream that are kept for replay. Default 1 MiB, as many as may wait. The last message is kept whatever
    /// its size, since it is the answer.
    pub max_replay_bytes: usize,
    /// What a client says at `initialize` that it can do, in bytes. Default 16 KiB: usual ones have some hundred. It is kept as
    /// long as the session.
    pub max_capabilities_bytes: usize,
    /// The address of a resource that a session subscribes to, in bytes. Default 8 KiB, as long as an HTTP target may be.
    pub max_uri_bytes: usize,
    /// Resources that one subscription, or one session, may name. Default 1,024; each costs its length.
    pub max_subscribed_resources: usize,
    /// How long a body may take to arrive. Default 30 s: a drip of bytes must not hold a place for ever.
    pub body_timeout: Duration,
    /// How long a call may run. Default 1 h: there are long jobs, and none should be forgotten.
    pub call_timeout: Duration,
    /// How long the answer to a request of the server's is waited for. Default 10 min: a person may have to decide.
    pub ask_timeout: Duration,
    /// How long a message may wait on an open stream whose reader takes nothing. Default 60 s, four keep-alives.
    pub stall_timeout: Duration,
    /// How long a stream that has ended is kept for a client that did not get its end. Default 2 min: one whose connection
    /// was lost comes back within seconds.
    pub replay_timeout: Duration,
    /// How long a session without requests and open streams is kept. Default 30 min, a usual length of web sessions.
    pub session_timeout: Duration,
    /// How long shutting down waits for calls under way and readers. Default 10 s: supervisors kill after 30.
    pub shutdown_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_body_bytes: 4 << 20,
            max_answer_bytes: 64 << 20,
            max_queue_messages: 256,
            max_queue_bytes: 1 << 20,
            max_exchanges: 20_000,
            max_sessions: 16_384,
            max_calls_per_session: 64,
            max_streams_per_session: 32,
            max_array_messages: 64,
            max_replay_messages: 256,
            max_replay_bytes: 1 << 20,
            max_capabilities_bytes: 16 << 10,
            max_uri_bytes: 8 << 10,
            max_subscribed_resources: 1024,
            body_timeout: Duration::from_secs(30),
            call_timeout: Duration::from_secs(3600),
            ask_timeout: Duration::from_secs(600),
            stall_timeout: Duration::from_secs(60),
            replay_timeout: Duration::from_secs(120),
            session_timeout: Duration::from_secs(1800),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

macro_rules! setters {
    ($($name:ident $field:ident: $kind:ty;)*) => {
        impl ServerLimits {
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
    with_max_body_bytes max_body_bytes: usize;
    with_max_answer_bytes max_answer_bytes: usize;
    with_max_queue_messages max_queue_messages: usize;
    with_max_queue_bytes max_queue_bytes: usize;
    with_max_exchanges max_exchanges: usize;
    with_max_sessions max_sessions: usize;
    with_max_calls_per_session max_calls_per_session: usize;
    with_max_streams_per_session max_streams_per_session: usize;
    with_max_array_messages max_array_messages: usize;
    with_max_replay_messages max_replay_messages: usize;
    with_max_replay_bytes max_replay_bytes: usize;
    with_max_capabilities_bytes max_capabilities_bytes: usize;
    with_max_uri_bytes max_uri_bytes: usize;
    with_max_subscribed_resources max_subscribed_resources: usize;
    with_body_timeout body_timeout: Duration;
    with_call_timeout call_timeout: Duration;
    with_ask_timeout ask_timeout: Duration;
    with_stall_timeout stall_timeout: Duration;
    with_replay_timeout replay_timeout: Duration;
    with_session_timeout session_timeout: Duration;
    with_shutdown_timeout shutdown_timeout: Duration;
}
