//! MCP over Server-Sent Events, without I/O.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![warn(clippy::indexing_slicing)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod sse;
pub mod jsonrpc;
pub mod http;
