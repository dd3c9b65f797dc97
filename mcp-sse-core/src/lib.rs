//! MCP over Server-Sent Events, without I/O.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(clippy::indexing_slicing)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod client;
pub mod exchange;
pub mod http;
pub mod jsonrpc;
mod limits;
pub mod sse;
mod time;

pub use limits::Limits;
pub use time::Timestamp;
