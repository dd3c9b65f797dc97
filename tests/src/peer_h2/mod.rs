//! The scripted peer over HTTP/2: a real server on a loopback port, built on the `h2` crate, that does exactly what a script
//! says, and sees every frame of either side.
//!
//! It speaks HTTP/2 with prior knowledge, or over TLS, where it agrees on nothing else. As the HTTP/1.1 peer, it runs a *counted* side effect for each JSON-RPC
//! request before a frame is written back. Then it writes a scripted response up to any byte of its body, and ends the stream or
//! the connection: END_STREAM, RST_STREAM of any reason, GOAWAY of any last stream, FIN, RST, silence. A connection can also be
//! ended at any frame of its own, whatever the frame is.
//!
//! ```
//! use mcp_sse_tests::peer::{At, Mark};
//! use mcp_sse_tests::peer_h2::{Ending, Peer, Reason, Script};
//!
//! let peer = Peer::start();
//! // The first call is reset before its answer, its replacement is whole.
//! let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::ResetStream(Reason::INTERNAL_ERROR));
//! let scenario = peer.scenario([broken, Script::whole()]);
//! assert!(scenario.url().starts_with("http://127.0.0.1:"));
//! assert_eq!(scenario.executions(), 0);
//! ```
//!
//! Rules of the room:
//! - what a response says is said in the words of the HTTP/1.1 peer ([`Response`](crate::peer::Response), its marks and offsets):
//!   an offset inside the head means that no head is sent, and a body has no framing but DATA frames;
//! - h2 speaks to a pipe; `pipe` carries its frames to the socket one by one, logs them, adds some and cuts between any two;
//! - a reset goes out only when all DATA before it is on the wire, since h2 drops what it still holds;
//! - every wait is bounded, and dropping a [`Peer`] ends its runtime;
//! - nothing of the crates under test is used here.

mod frame;
mod log;
mod pipe;
pub mod raw_client;
mod script;
mod server;
mod stream;

pub use frame::{Frame, FrameKind};
pub use h2::Reason;
pub use log::{ConnectionRecord, Log, StreamRecord};
pub use script::{Ending, Gate, Hangup, LastStream, Script};
pub use server::{Peer, Scenario};
