//! The scripted peer: a real HTTP/1.1 server on a loopback port that does exactly what a script says.
//!
//! It takes MCP messages by POST (and GET and DELETE of the older revisions), runs a *counted* side effect for each JSON-RPC
//! request before a byte is written back, then writes a scripted response up to any byte and ends the connection in a scripted
//! way: FIN, RST, silence, TLS cut short, an endless drip.
//!
//! ```
//! use std::time::Duration;
//! use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Script};
//!
//! let peer = Peer::start();
//! // The first call is cut before its answer, its replacement is whole.
//! let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Reset);
//! let scenario = peer.scenario([broken, Script::whole()]);
//! assert!(scenario.url().starts_with("http://127.0.0.1:"));
//! assert_eq!(scenario.executions(), 0);
//! assert!(!scenario.wait_for(|log| !log.requests.is_empty(), Duration::from_millis(1)));
//! ```
//!
//! Rules of the room:
//! - one thread accepts, one thread serves each connection; every wait is bounded, and dropping a [`Peer`] ends them all;
//! - scripts belong to a [`Scenario`], which has a URL path and counts of its own, so parallel calls on one peer never mix;
//! - a response is rendered to bytes before anything is sent ([`Script::render`]), a pure function of the request, so that a test
//!   can ask for its length and its [`Mark`]s beforehand and break it at each byte;
//! - what follows a response while a test goes on, such as the messages of a listening stream, comes from a [`Feed`];
//! - nothing of the crates under test is used here: the peer is a judge of them, with parsers and codecs of others.
//!
//! Clients do not belong here, but for [`raw_client`], which reads what came and judges nothing.

mod coding;
mod connection;
mod feed;
mod log;
mod ports;
pub mod raw_client;
mod render;
mod request;
mod response;
mod script;
mod server;
mod text;
mod tls;
mod wire;

pub use coding::Coding;
pub use feed::Feed;
pub use log::{ClientClose, ConnectionRecord, Execution, Log, ResponseRecord, ScenarioLog};
pub use ports::{RefusedPort, refused_url};
pub use render::{Mark, Rendered};
pub use request::{Kind, Request};
pub use response::{Chunked, Framing, LineEnd, Response, Sse};
pub use script::{At, Ending, Gate, OnConnection, Script};
pub use server::{Peer, PeerBuilder, Scenario};
pub use text::Text;
pub(crate) use tls::{Identity, identity};
pub(crate) use wire::await_delivery;
