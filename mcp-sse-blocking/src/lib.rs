//! A blocking MCP client and server over Server-Sent Events: `std::net` sockets, rustls, and the decisions of
//! [`mcp_sse_core`].
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use std::time::Duration;
//!
//! use mcp_sse_blocking::{CallEvent, CallOptions, Client};
//! use serde_json::json;
//!
//! let client = Client::builder("https://example.com/mcp").header("Authorization", "Bearer token").build()?;
//! let options = CallOptions::default().with_timeout(Duration::from_secs(10));
//! let params = json!({"name": "charge", "arguments": {"amount": 100}, "_meta": {"progressToken": 1}});
//! let reply = client.call_with("tools/call", &params, &options, |event| {
//!     if let CallEvent::Notification { message, .. } = event {
//!         eprintln!("{}", message.as_json());
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! println!("{:?}", reply.result());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/call.rs` and `examples/serve.rs` are whole programs. For other sockets, other waiting, or many calls in one thread there
//! is [the core](core), whose `examples/std_net.rs` and `examples/poll_loop.rs` need no adapter.
//!
//! - **Threads.** A call is driven by the thread that makes it. After an answer whose stream stays open, a thread of
//!   its own reads on for a while (500 ms, [`ConnectionConfig::drain_timeout`]) so that the connection can be used again;
//!   there are never more of those than kept connections. Names are resolved in a thread as well, since the platform's
//!   resolver cannot be interrupted. Nothing in the background outlives the process: see
//!   [`Client::wait_for_background`].
//! - **Time.** The deadline of a call (60 s, [`CallOptions::timeout`]) holds at every step and for all attempts
//!   together; connecting has a limit of its own besides (10 s, [`ConnectionConfig::connect_timeout`]).
//! - **Connections.** At most 8 are kept, for 30 s; an old one is closed when the next call looks for one.
//! - **Memory.** What a peer sends is bounded by [`Limits`](core::Limits); a connection being read holds 64 KiB.
//! - **The server** ([`Server`], feature `server`, on by default) has a thread for each connection and one for each call that a
//!   handler works on, both bounded ([`ServeConfig`]); open streams cannot take those that calls need.
//! - **Not here:** HTTP/2, proxies, redirects unless asked for, and cancelling a call from another thread.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attempt;
mod builder;
mod client;
mod clock;
mod connect;
mod http1;
#[cfg(feature = "server")]
mod server;
mod stream;

pub use builder::ClientBuilder;
pub use client::Client;
pub use mcp_sse_core as core;
pub use mcp_sse_core::client::{
    Backoff, BuildError, CallError, CallEvent, CallOptions, ClientConfig, ConnectionConfig, Done, ErrorReply, Protocol,
    ReissuePolicy, Reply, RespondError, ResultError,
};
pub use mcp_sse_core::recording::{Bodies, Recording, RecordingConfig};
#[cfg(feature = "server")]
pub use mcp_sse_core::server::{
    AllowedHosts, CancelReason, Change, Delivery, IncomingNotification, SendError, Sent, ServerAnswer, ServerConfig,
    ServerLimits, SessionKey,
};
#[cfg(feature = "server")]
pub use server::{AskError, Call, Handler, ServeConfig, Server};

/// README's example is compiled with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
