//! `text/event-stream`, and nothing else: bytes in, events out, and events in, bytes out.
//!
//! This room follows the WHATWG event-stream rules (HTML Living Standard, 9.2) read literally. It knows no JSON, no
//! HTTP and no clock: what an event means, and what a broken stream is worth, is decided elsewhere.
//!
//! * [`SseDecoder`] takes chunks, however they were cut, and lends [`Event`]s.
//! * [`DecoderConfig`] holds its limits, each with the reason of its default.
//! * [`DecodeError`] says which limit a peer passed; the decoder goes on after it.
//! * [`SseEncoder`] writes events, whatever their data, so that they decode to the same.
//!
//! ```
//! use mcp_sse_core::sse::SseDecoder;
//!
//! let mut decoder = SseDecoder::new();
//! let mut chunk = &b"event: endpoint\ndata: /messages\n\n"[..];
//! while let Some(event) = decoder.decode(&mut chunk)? {
//!     assert_eq!((event.kind(), event.data()), ("endpoint", "/messages"));
//! }
//! # Ok::<(), mcp_sse_core::sse::DecodeError>(())
//! ```

mod config;
mod decoder;
mod encoder;
mod error;
mod event;
mod feed;
mod fields;
mod finish;
mod line;
mod pieces;
mod scan;
mod text;
mod usual;
#[cfg(test)]
mod work;

pub use self::config::DecoderConfig;
pub use self::decoder::SseDecoder;
pub use self::encoder::{EncodeError, EventFields, SseEncoder};
pub use self::error::DecodeError;
pub use self::event::{Event, OwnedEvent, Part};
pub use self::feed::Events;
pub use self::finish::{Finish, Finished, Tail};
