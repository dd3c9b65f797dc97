//! A blocking MCP client over Server-Sent Events: `std::net` sockets, rustls, and the decisions of
//! [`mcp_sse_core`].
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attempt;
mod builder;
mod chunked;
mod client;
mod clock;
mod connect;
mod http1;
mod pool;
mod stream;

pub use builder::{BuildError, ClientBuilder};
pub use client::Client;
pub use mcp_sse_core as core;
pub use mcp_sse_core::client::{Backoff, CallError, CallEvent, CallOptions, ClientConfig, Done, ReissuePolicy, Reply};

/// README's example is compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
