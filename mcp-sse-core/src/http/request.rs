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
use super::media::MediaType;
use super::metadata::MCP_PARAM_PREFIX;
use super::text::trim_white_space;
use super::version::ProtocolVersion;

/// The bytes of the values that a usual request has.
const USUAL_BYTES: usize = 192;

/// A header that should come once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderValue<'a> {
    /// It did not come.
    #[default]
    Absent,
    /// It came, once or several times with the same value. Bytes that are no UTF-8 became U+FFFD, which no header may hold.
    One(&'a str),
    /// It came with different values, or is longer than what is kept.
    Unusable,
}

impl<'a> HeaderValue<'a> {
    /// The value, if it is one.
    #[must_use]
    pub const fn get(self) -> Option<&'a str> {
        match self {
            Self::One(value) => Some(value),
            Self::Absent | Self::Unusable => None,
        }
    }

    /// Whether the header did not come.
    #[must_use]
    pub const fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A [`HeaderValue`] that is kept, by its place among the texts.
#[derive(Clone, Copy, Default)]
enum Kept {
    #[default]
    Absent,
    One(Place),
    Unusable,
}

/// A place among the texts, which all bounds together keep far below 4 GiB.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
}

impl Place {
    fn get(self, texts: &str) -> Option<&str> {
        texts.get(self.start as usize..self.end as usize)
    }
}

impl Kept {
    fn add(&mut self, texts: &mut String, value: &[u8], max_bytes: usize) {
        *self = match self {
            _ if value.len() > max_bytes => Self::Unusable,
            Self::Absent => Self::One(keep(texts, value)),
            Self::One(known) if known.get(texts) == Some(&String::from_utf8_lossy(value)) => return,
            _ => Self::Unusable,
        };
    }

    fn get(self, texts: &str) -> HeaderValue<'_> {
        match self {
            Self::Absent => HeaderValue::Absent,
            Self::One(place) => place.get(texts).map_or(HeaderValue::Unusable, HeaderValue::One),
            Self::Unusable => HeaderValue::Unusable,
        }
    }
}

/// Puts a text behind the others, and tells its place.
fn keep(texts: &mut String, text: &[u8]) -> Place {
    let length = |texts: &str| u32::try_from(texts.len()).unwrap_or(u32::MAX);
    let start = length(texts);
    match core::str::from_utf8(text) {
        Ok(text) => texts.push_str(text),
        Err(_) => texts.push_str(&String::from_utf8_lossy(text)),
    }
    Place { start, end: length(texts) }
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
    /// The method, the target, then the values that are kept, behind one another: one allocation for all of them.
    texts: String,
    method_end: usize,
    path_end: usize,
    target_end: usize,
    host: Kept,
    origin: Kept,
    media_type: MediaType,
    content_coding: ContentCoding,
    content_length: Option<u64>,
    accept: Accept,
    protocol_version: Kept,
    /// What `protocol_version` says, if it is a revision.
    revision: Option<ProtocolVersion>,
    mcp_method: Kept,
    mcp_name: Kept,
    params: Vec<Param>,
    param_bytes: usize,
    params_left_out: bool,
    session_id: Kept,
    last_event_id: Kept,
    principal: Option<String>,
}

/// A header `Mcp-Param-*`.
#[derive(Clone)]
struct Param {
    name: Place,
    value: Kept,
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
        const METHOD: usize = 32;
        let bounded = |text, most| if str::len(text) > most { "" } else { text };
        let (method, target) = (bounded(method, METHOD), bounded(target, Self::MAX_TARGET_BYTES));
        let mut texts = String::with_capacity(method.len() + target.len() + USUAL_BYTES);
        texts.push_str(method);
        texts.push_str(target);
        Self {
            method_end: method.len(),
            path_end: method.len() + target.find('?').unwrap_or(target.len()),
            target_end: texts.len(),
            texts,
            host: Kept::Absent,
            origin: Kept::Absent,
            media_type: MediaType::Missing,
            content_coding: ContentCoding::Identity,
            content_length: None,
            accept: Accept::default(),
            protocol_version: Kept::Absent,
            revision: None,
            mcp_method: Kept::Absent,
            mcp_name: Kept::Absent,
            params: Vec::new(),
            param_bytes: 0,
            params_left_out: false,
            session_id: Kept::Absent,
            last_event_id: Kept::Absent,
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
        // Nearly all stacks give names in small letters.
        let is = |known: &str| name == known || name.eq_ignore_ascii_case(known);
        let value = trim_white_space(value);
        // The length tells most of them apart.
        match name.len() {
            4 if is("host") => self.host.add(&mut self.texts, value, MOST),
            6 if is("origin") => self.origin.add(&mut self.texts, value, MOST),
            6 if is("accept") => self.accept.add(value),
            8 if is("mcp-name") => self.mcp_name.add(&mut self.texts, value, MOST),
            10 if is("mcp-method") => self.mcp_method.add(&mut self.texts, value, MOST),
            12 if is("content-type") => self.media_type = self.media_type.add(value, |_| {}),
            13 if is("last-event-id") => self.last_event_id.add(&mut self.texts, value, MOST),
            14 if is("content-length") => {
                // The HTTP stack frames by it; here it only tells early that a body is too large.
                self.content_length = core::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
            }
            14 if is("mcp-session-id") => self.session_id.add(&mut self.texts, value, Self::MAX_SESSION_ID_BYTES),
            16 if is("content-encoding") => self.content_coding = self.content_coding.add(value),
            20 if is("mcp-protocol-version") => {
                self.protocol_version.add(&mut self.texts, value, MOST);
                self.revision = self.protocol_version().get().and_then(|stated| stated.parse().ok());
            }
            _ if name
                .get(..MCP_PARAM_PREFIX.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(MCP_PARAM_PREFIX)) =>
            {
                self.add_param(name, value);
            }
            _ => {}
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
        let Self { texts, params, .. } = self;
        let is = |known: Place| known.get(texts).is_some_and(|known| known.eq_ignore_ascii_case(name));
        if let Some(known) = params.iter_mut().find(|param| is(param.name)) {
            known.value.add(texts, value, Self::MAX_VALUE_BYTES);
            return;
        }
        if params.len() >= Self::MAX_PARAMS || self.param_bytes + name.len() + value.len() > Self::MAX_PARAM_BYTES {
            self.params_left_out = true;
            return;
        }
        let before = texts.len();
        let name = keep(texts, name.as_bytes());
        let mut kept = Kept::Absent;
        kept.add(texts, value, Self::MAX_VALUE_BYTES);
        self.param_bytes += texts.len() - before;
        params.push(Param { name, value: kept });
    }

    /// The method, as it came.
    #[must_use]
    pub fn method(&self) -> &str {
        self.texts.get(..self.method_end).unwrap_or_default()
    }

    /// The target's path, as it came: nothing is decoded.
    #[must_use]
    pub fn path(&self) -> &str {
        self.texts.get(self.method_end..self.path_end).unwrap_or_default()
    }

    /// The first value of this name in the target's query, as it came: nothing is decoded.
    #[must_use]
    pub fn query(&self, name: &str) -> Option<&str> {
        let query = self.texts.get(self.path_end..self.target_end)?.strip_prefix('?')?;
        query.split('&').find_map(|pair| match pair.split_once('=') {
            Some((known, value)) => (known == name).then_some(value),
            None => (pair == name).then_some(""),
        })
    }

    /// `Host`, or what stands for it.
    #[must_use]
    pub fn host(&self) -> HeaderValue<'_> {
        self.host.get(&self.texts)
    }

    /// `Origin`.
    #[must_use]
    pub fn origin(&self) -> HeaderValue<'_> {
        self.origin.get(&self.texts)
    }

    /// What kind of body `Content-Type` announces.
    #[must_use]
    pub const fn media_type(&self) -> MediaType {
        self.media_type
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
    pub fn protocol_version(&self) -> HeaderValue<'_> {
        self.protocol_version.get(&self.texts)
    }

    /// The revision that `MCP-Protocol-Version` names, if it names one.
    pub(crate) const fn revision(&self) -> Option<ProtocolVersion> {
        self.revision
    }

    /// `Mcp-Method`.
    #[must_use]
    pub fn mcp_method(&self) -> HeaderValue<'_> {
        self.mcp_method.get(&self.texts)
    }

    /// `Mcp-Name`.
    #[must_use]
    pub fn mcp_name(&self) -> HeaderValue<'_> {
        self.mcp_name.get(&self.texts)
    }

    /// The `Mcp-Param-*` header of this full name.
    #[must_use]
    pub fn param(&self, name: &str) -> HeaderValue<'_> {
        let is = |known: Place| known.get(&self.texts).is_some_and(|known| known.eq_ignore_ascii_case(name));
        match self.params.iter().find(|param| is(param.name)) {
            Some(param) => param.value.get(&self.texts),
            None if self.params_left_out => HeaderValue::Unusable,
            None => HeaderValue::Absent,
        }
    }

    /// `Mcp-Session-Id`. It is as good as a password: [`Debug`](fmt::Debug) does not show it.
    #[must_use]
    pub fn session_id(&self) -> HeaderValue<'_> {
        self.session_id.get(&self.texts)
    }

    /// `Last-Event-ID`.
    #[must_use]
    pub fn last_event_id(&self) -> HeaderValue<'_> {
        self.last_event_id.get(&self.texts)
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
            .field("method", &self.method().escape_debug())
            .field("target_bytes", &(self.target_end - self.method_end))
            .field("media_type", &self.media_type())
            .field("content_length", &self.content_length)
            .field("has_session_id", &!self.session_id().is_absent())
            .field("params", &self.params.len())
            .finish_non_exhaustive()
    }
}

impl Accept {
    /// Adds one header value. What a client weighs with zero it does not take (RFC 9110 12.4.2).
    fn add(&mut self, value: &[u8]) {
        // What the protocol asks of clients, in its own words.
        if value == b"application/json, text/event-stream" {
            *self = Self { has_any: true, json: true, event_stream: true };
            return;
        }
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
