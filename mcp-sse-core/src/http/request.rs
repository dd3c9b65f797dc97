//! The head of a request: its method, its target, and the headers that a server of this protocol looks at.
//!
//! Rules: filled from any HTTP stack's headers, in any order; nothing is kept that no question asks for, and what is kept is
//! bounded, so that a head costs at most about 100 KiB whatever the peer sent. A header that should come once and comes with
//! two values is neither of them. What the facts mean for a request does not belong here.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::coding::ContentCoding;
use super::media::{ContentType, MediaType};
use super::metadata::{LAST_EVENT_ID, MCP_METHOD, MCP_NAME, MCP_PARAM_PREFIX, MCP_PROTOCOL_VERSION, MCP_SESSION_ID};
use super::text::trim_white_space;

/// A header that should come once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderValue {
    /// It did not come.
    #[default]
    Absent,
    /// It came, once or several times with the same value. Bytes that are no UTF-8 became U+FFFD, which no header may hold.
    One(String),
    /// It came with different values, or is longer than what is kept.
    Unusable,
}

impl HeaderValue {
    /// The value, if it is one.
    #[must_use]
    pub fn get(&self) -> Option<&str> {
        match self {
            Self::One(value) => Some(value),
            Self::Absent | Self::Unusable => None,
        }
    }

    /// Whether the header did not come.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    fn add(&mut self, value: &[u8], max_bytes: usize) {
        if value.len() > max_bytes {
            *self = Self::Unusable;
            return;
        }
        let value = String::from_utf8_lossy(value);
        match self {
            Self::Absent => *self = Self::One(value.into_owned()),
            Self::One(known) if *known == value => {}
            _ => *self = Self::Unusable,
        }
    }
}

/// Facts about a request line and its headers.
///
/// ```
/// use mcp_sse_core::http::{MediaType, RequestHead};
///
/// let head = RequestHead::from_headers(
///     "POST",
///     "/mcp?session_id=7",
///     [("Host", "localhost:8000"), ("Content-Type", "application/json"), ("Accept", "*/*")],
/// );
/// assert_eq!((head.method(), head.path(), head.query("session_id")), ("POST", "/mcp", Some("7")));
/// assert_eq!(head.media_type(), MediaType::Json);
/// assert!(head.accepts_json() && head.accepts_event_stream());
/// ```
#[derive(Clone)]
pub struct RequestHead {
    method: String,
    target: String,
    host: HeaderValue,
    origin: HeaderValue,
    content_type: ContentType,
    content_coding: ContentCoding,
    content_length: Option<u64>,
    accept: Accept,
    protocol_version: HeaderValue,
    mcp_method: HeaderValue,
    mcp_name: HeaderValue,
    params: Vec<(String, HeaderValue)>,
    params_left_out: bool,
    session_id: HeaderValue,
    last_event_id: HeaderValue,
    principal: Option<String>,
}

/// What may be answered.
#[derive(Clone, Copy, Default)]
struct Accept {
    has_any: bool,
    json: bool,
    event_stream: bool,
}

impl RequestHead {
    /// Longest target kept, in bytes: RFC 9110 4.1 asks for 8,000 at least. A longer one is as good as empty.
    pub const MAX_TARGET_BYTES: usize = 8 * 1024;
    /// Longest value kept of a header, in bytes: the usual bound of a header line.
    pub const MAX_VALUE_BYTES: usize = 8 * 1024;
    /// Most `Mcp-Param-*` headers kept; a tool of so many mirrored parameters is not known.
    pub const MAX_PARAMS: usize = 64;
    /// Most bytes kept of all of them together: the size that common servers allow a whole head.
    pub const MAX_PARAM_BYTES: usize = 32 * 1024;
    /// Longest session id kept, in bytes; ours have 48.
    pub const MAX_SESSION_ID_BYTES: usize = 1024;

    /// A head with this method and target, and no header yet. The target is a path, with or without a query.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        let bounded = |text: &str, most: usize| if text.len() > most { String::new() } else { text.to_owned() };
        Self {
            method: bounded(method, 32),
            target: bounded(target, Self::MAX_TARGET_BYTES),
            host: HeaderValue::Absent,
            origin: HeaderValue::Absent,
            content_type: ContentType::NONE,
            content_coding: ContentCoding::Identity,
            content_length: None,
            accept: Accept::default(),
            protocol_version: HeaderValue::Absent,
            mcp_method: HeaderValue::Absent,
            mcp_name: HeaderValue::Absent,
            params: Vec::new(),
            params_left_out: false,
            session_id: HeaderValue::Absent,
            last_event_id: HeaderValue::Absent,
            principal: None,
        }
    }

    /// A head with these headers.
    #[must_use]
    pub fn from_headers(
        method: &str,
        target: &str,
        headers: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<[u8]>)>,
    ) -> Self {
        let mut head = Self::new(method, target);
        for (name, value) in headers {
            head.header(name.as_ref(), value.as_ref());
        }
        head
    }

    /// Adds one header line. The name's case does not matter; of the value's bytes any are taken, and white space at its
    /// ends is ignored. HTTP/2's `:authority` is given as `Host`.
    pub fn header(&mut self, name: &str, value: &[u8]) -> &mut Self {
        const MOST: usize = RequestHead::MAX_VALUE_BYTES;
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let value = trim_white_space(value);
        if is("host") {
            self.host.add(value, MOST);
        } else if is("origin") {
            self.origin.add(value, MOST);
        } else if is("accept") {
            self.accept.add(value);
        } else if is("content-type") {
            self.content_type.add(value);
        } else if is("content-encoding") {
            self.content_coding = self.content_coding.add(value);
        } else if is("content-length") {
            // The HTTP stack frames by it; here it only tells early that a body is too large.
            self.content_length = core::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
        } else if is(MCP_PROTOCOL_VERSION) {
            self.protocol_version.add(value, MOST);
        } else if is(MCP_METHOD) {
            self.mcp_method.add(value, MOST);
        } else if is(MCP_NAME) {
            self.mcp_name.add(value, MOST);
        } else if is(MCP_SESSION_ID) {
            self.session_id.add(value, Self::MAX_SESSION_ID_BYTES);
        } else if is(LAST_EVENT_ID) {
            self.last_event_id.add(value, MOST);
        } else if name.get(..MCP_PARAM_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(MCP_PARAM_PREFIX)) {
            self.add_param(name, value);
        }
        self
    }

    /// Names who sends the request, once the embedder has found that out (by a token, a certificate). A session belongs to
    /// whoever opened it; without a name all senders are one.
    #[must_use]
    pub fn with_principal(mut self, principal: &str) -> Self {
        self.principal = Some(principal.to_owned());
        self
    }

    fn add_param(&mut self, name: &str, value: &[u8]) {
        if let Some((_, known)) = self.params.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            known.add(value, Self::MAX_VALUE_BYTES);
            return;
        }
        let kept = self.params.iter().map(|(name, value)| name.len() + value.get().map_or(0, str::len)).sum::<usize>();
        if self.params.len() >= Self::MAX_PARAMS || kept + name.len() + value.len() > Self::MAX_PARAM_BYTES {
            self.params_left_out = true;
            return;
        }
        let mut kept = HeaderValue::Absent;
        kept.add(value, Self::MAX_VALUE_BYTES);
        self.params.push((name.to_owned(), kept));
    }

    /// The method, as it came.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The target's path, as it came: nothing is decoded.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    /// The first value of this name in the target's query, as it came: nothing is decoded.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| match pair.split_once('=') {
            Some((known, value)) => (known == name).then_some(value),
            None => (pair == name).then_some(""),
        })
    }

    /// `Host`, or what stands for it.
    #[must_use]
    pub const fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// `Origin`.
    #[must_use]
    pub const fn origin(&self) -> &HeaderValue {
        &self.origin
    }

    /// What kind of body `Content-Type` announces.
    #[must_use]
    pub const fn media_type(&self) -> MediaType {
        self.content_type.kind()
    }

    /// How the body is coded; all `Content-Encoding` values form one list.
    #[must_use]
    pub const fn content_coding(&self) -> ContentCoding {
        self.content_coding
    }

    /// What `Content-Length` says, if it is a number.
    #[must_use]
    pub const fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Whether the client takes JSON. One that says nothing takes all (RFC 9110 12.5.1).
    #[must_use]
    pub const fn accepts_json(&self) -> bool {
        self.accept.json || !self.accept.has_any
    }

    /// Whether the client takes event streams. One that says nothing takes all (RFC 9110 12.5.1).
    #[must_use]
    pub const fn accepts_event_stream(&self) -> bool {
        self.accept.event_stream || !self.accept.has_any
    }

    /// `MCP-Protocol-Version`.
    #[must_use]
    pub const fn protocol_version(&self) -> &HeaderValue {
        &self.protocol_version
    }

    /// `Mcp-Method`.
    #[must_use]
    pub const fn mcp_method(&self) -> &HeaderValue {
        &self.mcp_method
    }

    /// `Mcp-Name`.
    #[must_use]
    pub const fn mcp_name(&self) -> &HeaderValue {
        &self.mcp_name
    }

    /// The `Mcp-Param-*` header of this full name.
    #[must_use]
    pub fn param(&self, name: &str) -> &HeaderValue {
        const ABSENT: &HeaderValue = &HeaderValue::Absent;
        const UNUSABLE: &HeaderValue = &HeaderValue::Unusable;
        let kept = self.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        kept.map_or(if self.params_left_out { UNUSABLE } else { ABSENT }, |(_, value)| value)
    }

    /// `Mcp-Session-Id`. It is as good as a password: [`Debug`](fmt::Debug) does not show it.
    #[must_use]
    pub const fn session_id(&self) -> &HeaderValue {
        &self.session_id
    }

    /// `Last-Event-ID`.
    #[must_use]
    pub const fn last_event_id(&self) -> &HeaderValue {
        &self.last_event_id
    }

    /// Who sends the request, if the embedder said.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RequestHead")
            .field("method", &self.method.escape_debug())
            .field("target_bytes", &self.target.len())
            .field("media_type", &self.media_type())
            .field("content_length", &self.content_length)
            .field("has_session_id", &!self.session_id.is_absent())
            .field("params", &self.params.len())
            .finish_non_exhaustive()
    }
}

impl Accept {
    /// Adds one header value. What a client weighs with zero it does not take (RFC 9110 12.4.2).
    fn add(&mut self, value: &[u8]) {
        for element in value.split(|&byte| byte == b',') {
            let mut parts = element.split(|&byte| byte == b';').map(trim_white_space);
            let essence = parts.next().unwrap_or_default();
            if essence.is_empty() {
                continue;
            }
            self.has_any = true;
            if parts.any(is_zero_weight) {
                continue;
            }
            let is = |known: &str| essence.eq_ignore_ascii_case(known.as_bytes());
            self.json |= is("application/json") || is("application/*") || is("*/*");
            self.event_stream |= is("text/event-stream") || is("text/*") || is("*/*");
        }
    }
}

/// Whether a parameter is `q=0`, with or without digits of zero behind a point.
fn is_zero_weight(parameter: &[u8]) -> bool {
    match parameter {
        [b'q' | b'Q', b'=', b'0', rest @ ..] => rest.iter().all(|byte| matches!(byte, b'.' | b'0')),
        _ => false,
    }
}
