//! Facts about HTTP, and no I/O: what a response head says, how a body is inflated, what the request's metadata headers
//! carry.
//!
//! Nothing here knows a socket, an HTTP library, an event stream or JSON-RPC: an adapter reads the head with whatever
//! HTTP stack it has and copies status and headers into a [`ResponseHead`]; an exchange asks the head what to expect of
//! the body; a client asks the metadata functions what to write.
//!
//! Header values are bytes from a stranger. Everything kept from them is bounded, everything kept for people to read is
//! free of control characters, and no value makes any function here fail or panic.

mod chunked;
mod coding;
mod date;
#[cfg(feature = "gzip")]
mod framing;
mod head;
#[cfg(feature = "gzip")]
mod inflate;
mod media;
mod metadata;
mod request;
mod text;
mod version;

pub use chunked::{Chunk, ChunkedReader, ChunkedResponse, MalformedChunk};
pub use coding::{ContentCoding, GZIP_MAGIC, accept_encoding, can_inflate};
pub use date::{HttpDate, RetryAfter};
pub use head::ResponseHead;
#[cfg(feature = "gzip")]
pub use inflate::{CodingError, INFLATE_PIECE, InflateEnd, Inflater, Progress};
pub use media::MediaType;
pub use metadata::{
    LAST_EVENT_ID, MCP_METHOD, MCP_NAME, MCP_PARAM_PREFIX, MCP_PROTOCOL_VERSION, MCP_SESSION_ID, ValueError,
    decode_value, encode_value, is_field_value, is_reserved, is_token, name_source,
};
pub use request::{HeaderValue, RequestHead};
pub use version::{Era, ProtocolVersion, UnknownVersion};
