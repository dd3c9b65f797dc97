//! The head of a response: its status, and the few headers that an answer's reader needs.
//!
//! A head is filled from any HTTP stack's headers, in any order, and answers questions. Nothing is kept that no question
//! asks for; what is kept is bounded here, so a head costs at most about 20 KiB whatever the peer sent. A header that
//! should come once and comes more often counts by its first valid value, unless its accessor says otherwise. What the
//! facts mean for a call does not belong here.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::coding::ContentCoding;
use super::date::{HttpDate, RetryAfter};
use super::media::{ContentType, MediaType};
use super::metadata::{MCP_PROTOCOL_VERSION, MCP_SESSION_ID};
use super::text::{trim_white_space, without_controls};
use super::version::ProtocolVersion;

/// Facts about a response's status line and headers.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::http::{ContentCoding, MediaType, ResponseHead};
///
/// let head = ResponseHead::from_headers(
///     503,
///     [
///         ("Content-Type", "application/problem+json; charset=utf-8"),
///         ("content-encoding", "gzip"),
///         ("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"),
///         ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
///     ],
/// );
/// assert!(head.is_server_error());
/// assert_eq!(head.media_type(), MediaType::Json);
/// assert_eq!(head.content_coding(), ContentCoding::Gzip);
/// let retry_after = head.retry_after().unwrap();
/// assert_eq!(retry_after.delay(), Some(Duration::from_secs(10)));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ResponseHead {
    status: u16,
    content_type: ContentType,
    content_coding: ContentCoding,
    content_length: ContentLength,
    has_transfer_encoding: bool,
    is_chunked: bool,
    date: Option<HttpDate>,
    retry_after: Option<RetryAfter>,
    www_authenticate: Vec<String>,
    session_id: Option<String>,
    location: Option<String>,
    protocol_version: Option<ProtocolVersion>,
}

impl ResponseHead {
    /// Most `WWW-Authenticate` values kept: one per scheme, and no server speaks that many.
    pub const MAX_CHALLENGES: usize = 16;
    /// Most bytes kept of all `WWW-Authenticate` values together: the size common servers allow a whole head.
    pub const MAX_CHALLENGE_BYTES: usize = 8 * 1024;
    /// Longest session id kept, in bytes: the specification's example is a UUID or a token, both well below.
    pub const MAX_SESSION_ID_BYTES: usize = 1024;
    /// Longest `Location` kept, in bytes: RFC 9110 4.1 asks for 8,000 at least.
    pub const MAX_LOCATION_BYTES: usize = 8 * 1024;

    /// A head with this status and no header yet. Any number is taken; one outside 100 to 599 is of no class.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self {
            status,
            content_type: ContentType::NONE,
            content_coding: ContentCoding::Identity,
            content_length: ContentLength::Absent,
            has_transfer_encoding: false,
            is_chunked: false,
            date: None,
            retry_after: None,
            www_authenticate: Vec::new(),
            session_id: None,
            location: None,
            protocol_version: None,
        }
    }

    /// A head with this status and these headers.
    #[must_use]
    pub fn from_headers(status: u16, headers: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<[u8]>)>) -> Self {
        let mut head = Self::new(status);
        for (name, value) in headers {
            head.header(name.as_ref(), value.as_ref());
        }
        head
    }

    /// Adds one header line. The name's case does not matter; of the value's bytes any are taken, and white space at its
    /// ends is ignored. Lines of one name are given in the order they came.
    pub fn header(&mut self, name: &str, value: &[u8]) -> &mut Self {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let value = trim_white_space(value);
        // Most names are of none of these lengths, and each length is of two at most.
        match name.len() {
            4 if is("date") => self.date = self.date.or_else(|| HttpDate::parse(value)),
            8 if is("location") && self.location.is_none() => self.location = location(value),
            11 if is("retry-after") => self.retry_after = self.retry_after.or_else(|| RetryAfter::parse(value)),
            12 if is("content-type") => self.content_type.add(value),
            14 if is("content-length") => self.content_length = self.content_length.add(value),
            14 if is(MCP_SESSION_ID) && self.session_id.is_none() => self.session_id = session_id(value),
            16 if is("content-encoding") => self.content_coding = self.content_coding.add(value),
            16 if is("www-authenticate") => self.add_challenge(value),
            17 if is("transfer-encoding") => {
                self.has_transfer_encoding = true;
                self.is_chunked = value.last_chunk().is_some_and(|end: &[u8; 7]| end.eq_ignore_ascii_case(b"chunked"));
            }
            20 if is(MCP_PROTOCOL_VERSION) && self.protocol_version.is_none() => {
                self.protocol_version = core::str::from_utf8(value).ok().and_then(|version| version.parse().ok());
            }
            _ => {}
        }
        self
    }

    fn add_challenge(&mut self, value: &[u8]) {
        let kept: usize = self.www_authenticate.iter().map(String::len).sum();
        let room = Self::MAX_CHALLENGE_BYTES.saturating_sub(kept);
        // Half a challenge could mislead, so one that does not fit is left out whole.
        if value.is_empty() || value.len() > room || self.www_authenticate.len() >= Self::MAX_CHALLENGES {
            return;
        }
        let challenge = without_controls(value);
        if challenge.len() <= room {
            self.www_authenticate.push(challenge);
        }
    }

    /// All that is kept, but for challenges, as names and values that [`fact`](Self::fact) takes back: those of the headers,
    /// except that dates are seconds. For a recording.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts: Vec<(&'static str, String)> = Vec::new();
        if let Some(essence) = self.content_type.essence() {
            facts.push(("content-type", essence.to_owned()));
            if MediaType::from_essence(essence) != self.content_type.kind() {
                // The text was cut, or is none of a media type.
                facts.push(("media-type", self.content_type.kind().name().to_owned()));
            }
        }
        match self.content_coding {
            ContentCoding::Identity => {}
            ContentCoding::Gzip => facts.push(("content-encoding", "gzip".to_owned())),
            ContentCoding::Deflate => facts.push(("content-encoding", "deflate".to_owned())),
            ContentCoding::Unsupported => facts.push(("content-encoding", "unsupported".to_owned())),
        }
        match self.content_length {
            ContentLength::Absent => {}
            ContentLength::Bytes(bytes) => facts.push(("content-length", bytes.to_string())),
            ContentLength::Invalid => facts.push(("content-length", "invalid".to_owned())),
        }
        if self.has_transfer_encoding {
            facts.push(("transfer-encoding", if self.is_chunked { "chunked" } else { "other" }.to_owned()));
        }
        facts.extend(self.date.map(|date| ("date", format!("@{}", date.unix_seconds()))));
        facts.extend(self.retry_after.map(|retry_after| match retry_after {
            RetryAfter::Seconds(seconds) => ("retry-after", seconds.to_string()),
            RetryAfter::At { date, .. } => ("retry-after", format!("@{}", date.unix_seconds())),
        }));
        // It is as good as a password, so another one stands for it.
        facts.extend(self.session_id.as_ref().map(|id| ("mcp-session-id", "x".repeat(id.len()))));
        facts.extend(self.location.clone().map(|location| ("location", location)));
        facts.extend(self.protocol_version.map(|version| ("mcp-protocol-version", version.to_string())));
        facts
    }

    /// Takes back what [`facts`](Self::facts) gave, and headers as they are; false if there is no such fact.
    pub(crate) fn fact(&mut self, name: &str, value: &str) -> bool {
        let date = value.strip_prefix('@').and_then(|seconds| seconds.parse().ok()).map(HttpDate::from_unix_seconds);
        match (name, date) {
            ("media-type", _) => match MediaType::from_name(value) {
                Some(kind) => self.content_type.set_kind(kind),
                None => return false,
            },
            ("date", Some(date)) => self.date = Some(date),
            ("retry-after", Some(date)) => self.retry_after = Some(RetryAfter::At { date, server_time: None }),
            (
                "content-type"
                | "content-encoding"
                | "content-length"
                | "transfer-encoding"
                | "date"
                | "retry-after"
                | "mcp-session-id"
                | "location"
                | "mcp-protocol-version",
                _,
            ) => {
                self.header(name, value.as_bytes());
            }
            _ => return false,
        }
        true
    }

    /// The status code.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// 100 to 199: not the final head; another one follows.
    #[must_use]
    pub const fn is_informational(&self) -> bool {
        matches!(self.status, 100..=199)
    }

    /// 200 to 299.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// 300 to 399.
    #[must_use]
    pub const fn is_redirection(&self) -> bool {
        matches!(self.status, 300..=399)
    }

    /// 400 to 499.
    #[must_use]
    pub const fn is_client_error(&self) -> bool {
        matches!(self.status, 400..=499)
    }

    /// 500 to 599.
    #[must_use]
    pub const fn is_server_error(&self) -> bool {
        matches!(self.status, 500..=599)
    }

    /// What kind of body `Content-Type` announces (E24). Of several values the last valid one counts.
    #[must_use]
    pub const fn media_type(&self) -> MediaType {
        self.content_type.kind()
    }

    /// The media type as the server wrote it, without parameters, for a message to a person: at most 128 bytes, with
    /// everything but visible ASCII and spaces escaped. `None` if it is [`MediaType::Missing`].
    #[must_use]
    pub fn media_type_text(&self) -> Option<&str> {
        self.content_type.essence()
    }

    /// How the body is coded; all `Content-Encoding` values form one list.
    #[must_use]
    pub const fn content_coding(&self) -> ContentCoding {
        self.content_coding
    }

    /// The body's length in bytes before inflating, if the head says so, and says one thing only (RFC 9110 8.6). Beside a
    /// `Transfer-Encoding` it counts for nothing (RFC 9112 6.3).
    #[must_use]
    pub const fn content_length(&self) -> Option<u64> {
        match self.content_length {
            ContentLength::Bytes(length) if !self.has_transfer_encoding => Some(length),
            _ => None,
        }
    }

    /// Whether the body comes in chunks: the last `Transfer-Encoding` is `chunked` (RFC 9112 6.3).
    #[must_use]
    pub const fn is_chunked(&self) -> bool {
        self.is_chunked
    }

    /// Whether the body's own framing says where it ends, be it by its length or by its last chunk. Else nothing does but
    /// the end of the connection or stream.
    #[must_use]
    pub const fn marks_end(&self) -> bool {
        self.is_chunked || self.content_length().is_some()
    }

    /// Whether there were `Content-Length` values that disagree, are no number, or do not fit in 64 bits.
    /// [`content_length`](Self::content_length) is `None` then, and how the body is framed is in doubt.
    #[must_use]
    pub const fn has_invalid_content_length(&self) -> bool {
        matches!(self.content_length, ContentLength::Invalid)
    }

    /// How long the server asks to wait (F13), a date with this response's own `Date` beside it.
    #[must_use]
    pub fn retry_after(&self) -> Option<RetryAfter> {
        self.retry_after.map(|retry_after| match retry_after {
            RetryAfter::At { date, .. } => RetryAfter::At { date, server_time: self.date },
            seconds @ RetryAfter::Seconds(_) => seconds,
        })
    }

    /// When the response was made, by the server's clock: its `Date`.
    #[must_use]
    pub const fn date(&self) -> Option<HttpDate> {
        self.date
    }

    /// The `WWW-Authenticate` values in order, unparsed: at most [`MAX_CHALLENGES`](Self::MAX_CHALLENGES), and
    /// [`MAX_CHALLENGE_BYTES`](Self::MAX_CHALLENGE_BYTES) in all; what does not fit is left out whole. Control characters
    /// became spaces.
    #[must_use]
    pub fn www_authenticate(&self) -> &[String] {
        &self.www_authenticate
    }

    /// `Mcp-Session-Id`, if it is what the specification allows: 1 to
    /// [`MAX_SESSION_ID_BYTES`](Self::MAX_SESSION_ID_BYTES) visible ASCII characters (0x21 to 0x7E).
    ///
    /// It is as good as a password: [`Debug`](fmt::Debug) shows its length only.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// `Location`, if it is UTF-8 without control characters and not over
    /// [`MAX_LOCATION_BYTES`](Self::MAX_LOCATION_BYTES).
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.location.as_deref()
    }

    /// `MCP-Protocol-Version`, if the server sent one that can be a version.
    #[must_use]
    pub const fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.protocol_version
    }
}

impl fmt::Debug for ResponseHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResponseHead")
            .field("status", &self.status)
            .field("media_type", &self.media_type())
            .field("media_type_text", &self.media_type_text())
            .field("content_coding", &self.content_coding)
            .field("content_length", &self.content_length())
            .field("has_invalid_content_length", &self.has_invalid_content_length())
            .field("retry_after", &self.retry_after())
            .field("challenges", &self.www_authenticate.len())
            .field("session_id_bytes", &self.session_id.as_ref().map(String::len))
            .field("location_bytes", &self.location.as_ref().map(String::len))
            .field("protocol_version", &self.protocol_version)
            .finish_non_exhaustive()
    }
}

/// What all `Content-Length` values seen so far say together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContentLength {
    Absent,
    Bytes(u64),
    Invalid,
}

impl ContentLength {
    /// Adds one header value, which may be a list of equal numbers: some senders join repeated headers that way.
    fn add(self, value: &[u8]) -> Self {
        value.split(|&byte| byte == b',').map(trim_white_space).fold(self, |so_far, element| {
            match (so_far, decimal(element)) {
                (Self::Absent, Some(length)) => Self::Bytes(length),
                (Self::Bytes(known), Some(length)) if known == length => so_far,
                _ => Self::Invalid,
            }
        })
    }
}

/// Digits only, as a number that fits.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn session_id(value: &[u8]) -> Option<String> {
    let allowed =
        (1..=ResponseHead::MAX_SESSION_ID_BYTES).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
    if !allowed {
        return None;
    }
    core::str::from_utf8(value).ok().map(str::to_owned)
}

fn location(value: &[u8]) -> Option<String> {
    if value.len() > ResponseHead::MAX_LOCATION_BYTES {
        return None;
    }
    let text = core::str::from_utf8(value).ok()?;
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}
