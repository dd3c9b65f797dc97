//! Which revision to speak, from what a server says of those it has (F3, F6).
//!
//! Rules: versioning, 2026-07-28, "Protocol Version Negotiation". What the server wrote is read into
//! [`ProtocolVersion`]s or skipped, so that nothing of it has to be shown as it came. When a request is sent again is not
//! decided here.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::http::ProtocolVersion;
use crate::jsonrpc::{ErrorObject, object_member, read_array, string};

/// The code of `UnsupportedProtocolVersionError`.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;

/// What a server says that has not the revision it was asked in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedVersions {
    /// The revisions it has, oldest first, each once. What names no revision is skipped; of more than
    /// [`MAX_SUPPORTED`](Self::MAX_SUPPORTED) the newest are kept.
    pub supported: Vec<ProtocolVersion>,
    /// The revision it says it was asked in, if that is one.
    pub requested: Option<ProtocolVersion>,
}

impl UnsupportedVersions {
    /// The most revisions that are kept of a server's list: five are published, about one a half-year comes.
    pub const MAX_SUPPORTED: usize = 64;

    /// Reads an error; nothing if it has another code. Data that is absent or not of the form names no revision.
    ///
    /// ```
    /// use mcp_sse_core::client::versions::{UnsupportedVersions, choose};
    /// use mcp_sse_core::http::ProtocolVersion;
    /// use mcp_sse_core::jsonrpc::Message;
    ///
    /// let refusal = Message::from_text(String::from(
    ///     r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version",
    ///         "data":{"supported":["2026-07-28","2025-11-25"],"requested":"2027-01-01"}}}"#,
    /// ))?;
    /// let theirs = UnsupportedVersions::read(&refusal.error().ok_or("an error")?).ok_or("this error")?;
    /// assert_eq!(choose(&ProtocolVersion::KNOWN, &theirs.supported), Some(ProtocolVersion::V2026_07_28));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn read(error: &ErrorObject<'_>) -> Option<Self> {
        if error.code != UNSUPPORTED_PROTOCOL_VERSION {
            return None;
        }
        let member = |name| error.data.and_then(|data| object_member(data, name));
        let mut supported = BTreeSet::new();
        for raw in member("supported").map(read_array).into_iter().flatten().flatten() {
            supported.extend(version(raw));
            if supported.len() > Self::MAX_SUPPORTED {
                supported.pop_first();
            }
        }
        Some(Self { supported: supported.into_iter().collect(), requested: member("requested").and_then(version) })
    }
}

/// The newest revision that both have, whichever was refused: the server says that it has it (F3).
#[must_use]
pub fn choose(ours: &[ProtocolVersion], theirs: &[ProtocolVersion]) -> Option<ProtocolVersion> {
    ours.iter().copied().filter(|version| theirs.contains(version)).max()
}

/// The revision that the result of `initialize` settles on: its `protocolVersion`, if that names one.
///
/// Whether the client has it is for the caller to see.
#[must_use]
pub fn negotiated(result: &str) -> Option<ProtocolVersion> {
    object_member(result, "protocolVersion").and_then(version)
}

/// Whether a result has a `resultType`, as every result of the modern era has and no other (F6).
#[must_use]
pub fn has_result_type(result: &str) -> bool {
    object_member(result, "resultType").is_some_and(|raw| string(raw).is_some())
}

fn version(raw: &str) -> Option<ProtocolVersion> {
    string(raw)?.parse().ok()
}
