//! The clients, one file each, and the server that all of them call; each is run in a process of its own.
//!
//! Rules:
//! * All get the same answers over the same kind of connection: HTTP/1.1 without TLS, kept, `TCP_NODELAY` on both sides.
//! * The asynchronous ones run on one thread, so that what is counted is the client's work and not how a scheduler
//!   spreads it; the blocking one has a thread for each call at once.
//! * Bounds on how many connections are kept, how many requests go out at once and how large an answer may be are lifted
//!   where the measurement needs more. All else stays at its default.
//! * Not here: what is done with the numbers.

use std::future::Future;

mod blocking;
mod hyper_alone;
pub mod orders;
mod params;
mod process;
mod rmcp;
pub mod server;
mod tokio;

pub use process::{Heap, run};

/// Why something could not be measured.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// hyper's client connection: the same POST, the body read frame by frame, nothing looked at.
    HyperAlone,
    /// `mcp-sse-tokio`.
    Tokio,
    /// `mcp-sse-blocking`.
    Blocking,
    /// The official SDK's client, over reqwest.
    Rmcp,
}

impl Caller {
    /// The floor first.
    pub const ALL: [Self; 4] = [Self::HyperAlone, Self::Tokio, Self::Blocking, Self::Rmcp];

    /// What it is called in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HyperAlone => "hyper alone",
            Self::Tokio => "tokio",
            Self::Blocking => "blocking",
            Self::Rmcp => "rmcp 3.11.0",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|caller| caller.word() == word)
    }

    /// What it is called on a command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::HyperAlone => "hyper",
            Self::Tokio => "tokio",
            Self::Blocking => "blocking",
            Self::Rmcp => "rmcp",
        }
    }
}

/// What the server is asked for: the tool to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// A short result as a JSON body.
    Json,
    /// Three progress notifications, then the same result, as an event stream.
    Stream,
    /// A result of [`server::LARGE_BYTES`] as a JSON body.
    LargeJson,
    /// The same as the one event of a stream.
    LargeStream,
    /// The short result, once so many ask for it at once: every one has a connection of its own then.
    Together(usize),
}

impl Job {
    /// The tool's name.
    #[must_use]
    pub fn tool(self) -> String {
        match self {
            Self::Json => "json".to_owned(),
            Self::Stream => "stream".to_owned(),
            Self::LargeJson => "large-json".to_owned(),
            Self::LargeStream => "large-stream".to_owned(),
            Self::Together(count) => format!("together-{count}"),
        }
    }

    /// The job of a tool's name.
    #[must_use]
    pub fn of_tool(tool: &str) -> Option<Self> {
        match tool {
            "json" => Some(Self::Json),
            "stream" => Some(Self::Stream),
            "large-json" => Some(Self::LargeJson),
            "large-stream" => Some(Self::LargeStream),
            _ => tool.strip_prefix("together-")?.parse().ok().map(Self::Together),
        }
    }

    /// How many notifications come before the result.
    const fn notifications(self) -> usize {
        match self {
            Self::Stream => server::NOTIFICATIONS,
            _ => 0,
        }
    }
}

/// What came of a call, for the check before anything is timed.
#[derive(Debug)]
struct Answer {
    notifications: usize,
    result: serde_json::Value,
}

/// A client whose calls are futures.
trait AsyncCaller: Send + Sync + 'static {
    /// Makes calls one after the other.
    type Line: Send + 'static;

    /// What is to be held so that its connection stays open.
    type Connection: Send + 'static;

    /// One that makes calls beside the others.
    fn line(&self) -> impl Future<Output = Result<Self::Line, Failure>> + Send;

    /// One call, read to its end; gives how many notifications came, if it counts them.
    fn call(line: &mut Self::Line, job: Job) -> impl Future<Output = Result<Option<usize>, Failure>> + Send;

    /// The same, looked at closely.
    fn answer(line: &mut Self::Line, job: Job) -> impl Future<Output = Result<Answer, Failure>> + Send;

    /// What is left of it.
    fn connection(line: Self::Line) -> Self::Connection;
}
