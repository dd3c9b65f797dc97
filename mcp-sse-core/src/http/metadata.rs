//! Request metadata: the headers that mirror a message, their names and the coding of their values.
//!
//! Pure functions after the Streamable HTTP page of the specification, 2026-07-28, "Request Metadata". Which headers a
//! request gets, and whether they match its body, is decided by the client and the server; a tool's schema is not read
//! here either.

use alloc::borrow::Cow;
use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::text;

/// The revision a request is written in; on every POST of the modern era.
pub const MCP_PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// Mirrors `method`; on every request of the modern era.
pub const MCP_METHOD: &str = "Mcp-Method";
/// Mirrors `params.name` or `params.uri`; see [`name_source`].
pub const MCP_NAME: &str = "Mcp-Name";
/// Mirrors a tool's parameter: this, then the name its schema gives in `x-mcp-header`.
pub const MCP_PARAM_PREFIX: &str = "Mcp-Param-";
/// Names the session; legacy era only.
pub const MCP_SESSION_ID: &str = "Mcp-Session-Id";
/// Where a resumed stream goes on; legacy era only.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";

const SENTINEL_START: &str = "=?base64?";
const SENTINEL_END: &str = "?=";

/// Header names, besides [`MCP_PARAM_PREFIX`] ones, that the client writes itself.
const RESERVED: [&str; 17] = [
    "Accept",
    "Accept-Encoding",
    "Connection",
    "Content-Length",
    "Content-Type",
    "Expect",
    "Host",
    LAST_EVENT_ID,
    MCP_METHOD,
    MCP_NAME,
    MCP_PROTOCOL_VERSION,
    MCP_SESSION_ID,
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
];

/// Writes the value of `Mcp-Name` or `Mcp-Param-*`, by the rules of "Value Encoding".
///
/// A value of visible ASCII, inner spaces and inner tabs stays as it is, and so does the empty one (the specification's
/// proposal lists it: an empty header value). Anything else, white space at either end, and a value that looks encoded
/// (`=?base64?` at its start and `?=` at its end) becomes `=?base64?` + base64 of its UTF-8 bytes + `?=`. So the result
/// is always a valid header value, and [`decode_value`] gives back the original.
///
/// ```
/// use mcp_sse_core::http::encode_value;
///
/// assert_eq!(encode_value("us west 1"), "us west 1");
/// assert_eq!(encode_value("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
/// assert_eq!(encode_value(" padded "), "=?base64?IHBhZGRlZCA=?=");
/// ```
#[must_use]
pub fn encode_value(value: &str) -> Cow<'_, str> {
    let looks_encoded = value.starts_with(SENTINEL_START) && value.ends_with(SENTINEL_END);
    if is_field_value(value) && !looks_encoded {
        return Cow::Borrowed(value);
    }
    let mut encoded = String::from(SENTINEL_START);
    STANDARD.encode_string(value, &mut encoded);
    encoded.push_str(SENTINEL_END);
    Cow::Owned(encoded)
}

/// Reads a value that [`encode_value`] or another client wrote; space and tab at the ends are dropped first.
///
/// A value that is not wholly wrapped in the (case-sensitive) markers is literal text.
///
/// # Errors
///
/// [`ValueError`]: a character that no header value may have, wrapped text that is not canonical base64 with its
/// padding, or bytes that are no UTF-8. A server answers each with 400 and -32020.
///
/// ```
/// use mcp_sse_core::http::decode_value;
///
/// assert_eq!(decode_value("=?base64?SGVsbG8=?=").unwrap(), "Hello");
/// assert_eq!(decode_value("=?BASE64?SGVsbG8=?=").unwrap(), "=?BASE64?SGVsbG8=?=");
/// assert!(decode_value("=?base64?SGVsbG8?=").is_err());
/// ```
pub fn decode_value(value: &str) -> Result<Cow<'_, str>, ValueError> {
    let value = value.trim_matches([' ', '\t']);
    if let Some(position) = value.bytes().position(|byte| !is_field_byte(byte)) {
        return Err(ValueError::Character { position });
    }
    let Some(coded) = value.strip_prefix(SENTINEL_START).and_then(|rest| rest.strip_suffix(SENTINEL_END)) else {
        return Ok(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(coded).map_err(|_| ValueError::Base64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| ValueError::Utf8)
}

/// The peer wrote a header value that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Neither visible ASCII nor space nor tab.
    #[error("the header value has a character it may not have, at byte {position}")]
    Character {
        /// Offset in bytes, after leading white space.
        position: usize,
    },
    /// The text between the markers is not base64: a foreign character, wrong padding, or stray bits at its end.
    #[error("the header value is marked as base64 and is not")]
    Base64,
    /// The decoded bytes are not UTF-8.
    #[error("the header value's base64 does not hold UTF-8")]
    Utf8,
}

/// Which member of `params` goes into `Mcp-Name` for this method: `name` for `tools/call` and `prompts/get`, `uri` for
/// `resources/read`, none for others.
#[must_use]
pub fn name_source(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// Whether the text is a token (RFC 9110 5.6.2), as a header's name must be: not empty, letters, digits and
/// ``!#$%&'*+-.^_`|~`` only.
#[must_use]
pub fn is_token(name: &str) -> bool {
    text::is_token(name.as_bytes())
}

/// Whether the text can be a header's value as it stands: visible ASCII and inner spaces and tabs, or nothing.
///
/// Stricter than RFC 9110 5.5, which has bytes above 0x7E as a thing of the past.
#[must_use]
pub fn is_field_value(value: &str) -> bool {
    let is_white = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let bytes = value.as_bytes();
    bytes.iter().copied().all(is_field_byte) && !is_white(bytes.first()) && !is_white(bytes.last())
}

const fn is_field_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~')
}

/// Whether the client writes this header itself, so that a caller's extra headers may not have it.
///
/// The comparison ignores case. Reserved are what frames the request (`Host`, `Content-Length`, `Transfer-Encoding`,
/// `Connection`, `Proxy-Connection`, `TE`, `Trailer`, `Upgrade`, `Expect`), what the answer's reader depends on
/// (`Accept`, `Accept-Encoding`, `Content-Type`), and what mirrors the message (`MCP-Protocol-Version`, `Mcp-Method`,
/// `Mcp-Name`, `Mcp-Param-*`, `Mcp-Session-Id`, `Last-Event-ID`).
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    let starts_as_param =
        name.get(..MCP_PARAM_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(MCP_PARAM_PREFIX));
    starts_as_param || RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}
