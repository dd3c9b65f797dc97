//! An async MCP client and server over Server-Sent Events: tokio, hyper (HTTP/1.1 and HTTP/2), rustls, and the decisions
//! of [`mcp_sse_core`].
//!
//! | You have | Use | Example |
//! |---|---|---|
//! | a URL, and calls to make | [`Client`] | `call` |
//! | calls to answer | `Server` (feature `server`) | `serve`; `axum`, beside other routes |
//! | an HTTP stack of your own, and its responses | [`body::ExchangeStream`] | `reqwest`, `hyper` |
//! | a client of rmcp, the Rust SDK | `rmcp::ClientTransport` (feature `rmcp`) | `rmcp` |
//! | an event stream's bytes | [`events::EventStream`], or `codec::SseCodec` (feature `codec`) | |
//! | a proxy to write | [`sse`](core::sse) of the core | `proxy` |
//! | another runtime | [the core](core), which has none | `smol`, `poll_loop`, `std_net` of `mcp-sse-core` |
//!
//! # Features
//!
//! - `gzip` (default): inflates gzip and deflate bodies, and offers to.
//! - `server` (default): a server, and a service to mount elsewhere.
//! - `codec`: the decoder as a `tokio_util` codec.
//! - `rmcp`: a transport for the client of rmcp, the Rust SDK (`rmcp::ClientTransport`); wants Rust 1.88.
//! - `tracing`: a span per call and attempt, an event per outcome; sizes and positions only.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attempt;
pub mod body;
mod builder;
mod client;
mod clock;
#[cfg(feature = "codec")]
pub mod codec;
mod connect;
mod drive;
pub mod events;
mod io;
mod link;
mod proxy;
mod reader;
mod request;
#[cfg(feature = "rmcp")]
pub mod rmcp;
#[cfg(feature = "server")]
mod server;
mod trace;
mod updates;

pub use builder::ClientBuilder;
pub use client::Client;
pub use clock::Clock;
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
pub use server::{AskError, Call, Handler, ResponseBody, ServeConfig, Server, Service};
pub use updates::{CallFuture, CallStream, Update};
