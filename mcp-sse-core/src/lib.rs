//! MCP over Server-Sent Events, without I/O: bytes and facts go in, events and one verdict come out.
//!
//! Since MCP 2026-07-28 a response stream cannot be resumed: a client that lost one must send the request
//! again. Sending again what was answered runs it twice; not sending again what was lost hangs its user. A
//! JSON object that closes is a prefix of nothing else, so the bytes that arrived always tell whether the
//! answer was delivered, and how far the request got tells what a repeat would cost. This crate decides
//! between *settle*, *salvage* and *re-issue* from these two, and does nothing else: no socket, no clock, no
//! thread, no `unsafe`, `no_std` with `alloc`.
//!
//! # Where to begin
//!
//! | You have | Use |
//! |---|---|
//! | an event stream's bytes | [`sse::SseDecoder`] |
//! | one HTTP response to a JSON-RPC request | [`exchange::Exchange`] |
//! | an HTTP stack of your own, and calls to make | [`client::Client`], and the loop below |
//! | requests to answer, over a stack of your own | [`server::Server`] |
//! | a fault to show to somebody | [`recording::Recording`] |
//! | a program to write | the crates `mcp-sse-blocking` and `mcp-sse-tokio` |
//!
//! # The loop
//!
//! An embedder does six things, over and over:
//!
//! 1. makes a call;
//! 2. asks for the next step, until there is none;
//! 3. carries it out: writes a request, closes a connection, tells its caller;
//! 4. reports what happens to a request's exchange, as facts;
//! 5. hands over the body's bytes as they arrive;
//! 6. when nothing arrives, waits until [`poll_timeout`](client::Client::poll_timeout) and reports that time
//!    has passed.
//!
//! Here the network is a stand-in that loses the first answer, so that the call is sent twice:
//!
//! ```
//! use mcp_sse_core::Timestamp;
//! use mcp_sse_core::client::{CallEvent, CallOptions, Client, ClientConfig, Endpoint, ExchangeId, Outcome, Step};
//! use mcp_sse_core::exchange::BreakKind;
//! use mcp_sse_core::http::ResponseHead;
//!
//! // The embedder's clock: any origin will do.
//! let now = Timestamp::ZERO;
//! let mut client = Client::new(Endpoint::parse("http://127.0.0.1:8000/mcp")?, ClientConfig::default());
//!
//! // 1. A call.
//! client.call("tools/call", Some(r#"{"name":"charge","arguments":{}}"#), CallOptions::default(), now)?;
//!
//! let (mut sent, mut result) = (0, None);
//! // 2. The next step.
//! while let Some(step) = client.poll_step(now) {
//!     // 3. Carry it out.
//!     match step {
//!         Step::Send(id, request) => {
//!             sent += 1;
//!             assert_eq!(request.endpoint.target(), "/mcp");
//!             carry(&mut client, id, sent, now)?;
//!         }
//!         Step::Event(_, CallEvent::Answer { answer, .. }) => {
//!             result = answer.message.result().map(str::to_owned);
//!         }
//!         Step::Done(_, done) => {
//!             assert!(matches!(done.outcome, Outcome::Settled(_)));
//!             assert!(done.earlier_may_have_run);
//!         }
//!         // Close or Release: the connection of this exchange. The other events are for people.
//!         _ => {}
//!     }
//! }
//! assert_eq!((sent, result.as_deref()), (2, Some(r#"{"charged":1}"#)));
//!
//! fn carry(
//!     client: &mut Client,
//!     id: ExchangeId,
//!     attempt: usize,
//!     now: Timestamp,
//! ) -> Result<(), Box<dyn std::error::Error>> {
//!     let exchange = client.exchange(id).ok_or("it has ended")?;
//!     // 4. Facts, as they happen.
//!     exchange.on_connected(now)?;
//!     exchange.on_sending(now)?;
//!     exchange.on_sent(now)?;
//!     exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), now)?;
//!     // 5. Bytes, in any pieces.
//!     if attempt == 1 {
//!         exchange.on_body(&mut &b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu"[..], now)?;
//!         exchange.on_broken(BreakKind::Reset, now)?;
//!     } else {
//!         let answer = b"data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"charged\":1}}\n\n";
//!         exchange.on_body(&mut &answer[..], now)?;
//!         exchange.cancel(now)?;
//!     }
//!     Ok(())
//! }
//! // 6. Had nothing arrived: wait until `client.poll_timeout()`, then `client.on_timeout(now)`.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `std` (default): finds AVX2 at run time; says what kind of break an error of `std::io` is.
//! - `gzip` (default, implies `std`): inflates gzip and deflate bodies.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(
    clippy::alloc_instead_of_core,
    clippy::indexing_slicing,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod client;
pub mod exchange;
pub mod http;
pub mod jsonrpc;
pub mod legacy;
mod limits;
pub mod recording;
pub mod server;
pub mod sse;
mod tape;
mod time;
pub mod tools;

pub use limits::Limits;
pub use time::Timestamp;
