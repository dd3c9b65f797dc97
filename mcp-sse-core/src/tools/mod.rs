//! What tools want mirrored into headers (`x-mcp-header`): read from their schemas, by clients that write the headers and by
//! servers that check them, so that both read alike.
//!
//! Rules: imports `jsonrpc` and `http` alone. When a list is asked for, and what a mismatch leads to, does not belong here.

mod headers;
mod schema;

pub use headers::{DropReason, DroppedTool, ToolHeaders, ToolListReading};
