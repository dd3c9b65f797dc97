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
//! A program is written over the crates `mcp-sse-blocking` or `mcp-sse-tokio`. This one is for who brings the I/O.
//!
//! ## I have a response body
//!
//! Whatever made the request: an [`Exchange`](exchange::Exchange) is told of the head, the bytes and how they ended, and says what
//! that is worth.
//!
//! ```
//! use mcp_sse_core::Timestamp;
//! use mcp_sse_core::exchange::{BreakKind, Exchange, ExchangeConfig, ExchangeEvent, Request, Verdict};
//! use mcp_sse_core::http::ResponseHead;
//!
//! let now = Timestamp::ZERO;
//! let mut exchange = Exchange::new(&Request::new("tools/call").with_id(7), ExchangeConfig::default(), now);
//! exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), now)?;
//! // No blank line ends this event, and yet its answer is whole: it is not to be asked for again.
//! exchange.on_body(&mut &b"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}"[..], now)?;
//! exchange.on_broken(BreakKind::Reset, now)?;
//! assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Answer(_))));
//! assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Ended(Verdict::Salvaged { .. }))));
//! # Ok::<(), mcp_sse_core::exchange::Misuse>(())
//! ```
//!
//! Over any `http_body::Body`, as hyper, reqwest and axum have it, `mcp_sse_tokio::body` does that. For events alone, whatever
//! they hold, there is [`SseDecoder`](sse::SseDecoder):
//!
//! ```
//! let mut decoder = mcp_sse_core::sse::SseDecoder::new();
//! let mut events = decoder.feed(b"event: greeting\r\ndata: hello\r\n\r\ndata: to be");
//! while let Some(event) = events.next_event()? {
//!     assert_eq!((event.kind(), event.data()), ("greeting", "hello"));
//! }
//! # Ok::<(), mcp_sse_core::sse::DecodeError>(())
//! ```
//!
//! ## I have a socket
//!
//! A [`Client`](client::Client) says what to write, is told what was read, and has one outcome for each call: see [the
//! loop](#the-loop). `cargo run -p mcp-sse-core --example std_net` is that loop over `std::net::TcpStream` in a hundred lines; HTTP/1.1
//! without I/O, which its neighbours share, is in `examples/http1`.
//!
//! ## I have my own runtime
//!
//! Nothing here waits, wakes or spawns, so that the same loop runs anywhere: `examples/smol.rs` is it on smol's executor, a task
//! for each call, and `examples/poll_loop.rs` on mio's poll, a thousand calls at once in one thread. Waiting is three lines; a
//! runtime says only how:
//!
//! ```
//! # use core::time::Duration;
//! # use mcp_sse_core::Timestamp;
//! # use mcp_sse_core::client::{Client, ClientConfig, Endpoint};
//! # let mut client = Client::new(Endpoint::parse("http://127.0.0.1:8000/mcp")?, ClientConfig::default());
//! # let start = std::time::Instant::now();
//! # let now = || Timestamp::new(start.elapsed());
//! # fn wait_for_sockets(_: Option<Duration>) {}
//! let left = client.poll_timeout().map(|due| due.saturating_duration_since(now()));
//! wait_for_sockets(left);
//! client.on_timeout(now());
//! # Ok::<(), mcp_sse_core::client::EndpointError>(())
//! ```
//!
//! ## I write a server
//!
//! [`Server`](server::Server) is one endpoint for all revisions: a head and a body go in, [`ServerEvent`](server::ServerEvent)s come
//! out to be answered, and [`poll_output`](server::Server::poll_output) gives what is to be written; its page shows all of it at work. Under
//! axum or tower: `mcp_sse_tokio::Server::service`, and `examples/axum.rs` there.
//!
//! ## I write a proxy
//!
//! Decode, encode, write; read on when that is written, so that a slow reader holds the server up. An event that the end left
//! unfinished is forwarded unfinished, since it may hold the answer; and what was cut here is cut there.
//!
//! ```
//! use mcp_sse_core::sse::{EventFields, Finish, SseDecoder, SseEncoder};
//!
//! let (mut decoder, mut written) = (SseDecoder::new(), Vec::new());
//! let mut events = decoder.feed(b"id: 1\ndata: {}\n\ndata: {\"half");
//! while let Some(event) = events.next_event()? {
//!     let fields = EventFields::default().with_id(event.last_event_id());
//!     SseEncoder::new(&mut written).event(fields, event.data())?;
//! }
//! drop(events);
//! // The stream broke.
//! if let Some(event) = decoder.finish(Finish::Flush).event {
//!     SseEncoder::new(&mut written).event(EventFields::default(), event.data())?;
//!     written.pop();
//! }
//! assert_eq!(written, b"id: 1\ndata: {}\n\ndata: {\"half\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The whole of it, over reqwest and tokio's sockets, is `mcp-sse-tokio/examples/proxy.rs`.
//!
//! ## I have a fault to show
//!
//! A [`Recording`](recording::Recording) of an exchange is a file, which somebody else plays back to the same events and verdict.
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
