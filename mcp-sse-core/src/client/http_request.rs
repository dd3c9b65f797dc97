//! The bytes and headers of a request: everything an adapter writes but the framing of HTTP itself.
//!
//! Rules: parameters are handed on as the caller wrote them, only `_meta` is merged; every header that
//! mirrors the body is computed from the body. Nothing here knows of attempts or outcomes.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use core::ops::Range;

use super::call::READ_METHODS;
use super::config::ClientConfig;
use super::endpoint::Endpoint;
use super::origin::Route;
use crate::http::{self, Era, ProtocolVersion, accept_encoding, encode_value, name_source};
use crate::jsonrpc::{self, Id, KnownMembers, ReadError, each_member, known_id, known_string};
use crate::tools::ToolHeaders;

/// A request to write. `Host`, `Content-Length` and `Connection` are the adapter's affair.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method: `POST`, or `GET` and `DELETE` in the earlier eras.
    pub method: &'static str,
    /// Where it goes.
    pub endpoint: Endpoint,
    /// Names and values, ready to be written; no value holds a line break. What is the same in every request is borrowed.
    pub headers: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The body; empty, and to be sent without a length or type, if the method is not `POST`.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The headers whose values are not those of an earlier request. `None` if the two heads differ in anything else, or if
    /// a name that has another value comes more than once. For adapters that keep a head they have made: those that follow
    /// over the same connection are nearly always like it.
    ///
    /// ```
    /// use mcp_sse_core::Timestamp;
    /// use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Endpoint, Step};
    ///
    /// let now = Timestamp::ZERO;
    /// let mut client = Client::new(Endpoint::parse("https://example.com/mcp")?, ClientConfig::default());
    /// let mut request = |tool: &str| {
    ///     let params = format!(r#"{{"name":"{tool}"}}"#);
    ///     let call = client.call("tools/call", Some(&params), CallOptions::default(), now).ok()?;
    ///     let Some(Step::Send(_, request)) = client.poll_step_of(call, now) else { return None };
    ///     Some(request)
    /// };
    /// let (add, subtract) = request("add").zip(request("subtract")).ok_or("not sent")?;
    /// let changed = subtract.changed_headers(&add).ok_or("unlike")?;
    /// assert_eq!(changed, [&("Mcp-Name".into(), "subtract".into())]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn changed_headers(&self, earlier: &Self) -> Option<Vec<&(Cow<'static, str>, Cow<'static, str>)>> {
        let (headers, known) = (&self.headers, &earlier.headers);
        if (self.method, &self.endpoint, headers.len()) != (earlier.method, &earlier.endpoint, known.len()) {
            return None;
        }
        let mut changed = Vec::new();
        for (header, known) in headers.iter().zip(known) {
            if header.0 != known.0 {
                return None;
            }
            if header.1 != known.1 {
                changed.push(header);
            }
        }
        let is_single = |header: &&(Cow<'_, str>, _)| {
            headers.iter().filter(|other| other.0.eq_ignore_ascii_case(&header.0)).count() == 1
        };
        changed.iter().all(is_single).then_some(changed)
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values hold credentials, the body holds a caller's data.
        f.debug_struct("HttpRequest")
            .field("endpoint", &self.endpoint)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Why a message cannot be sent. The caller's mistake: nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The parameters are no JSON text.
    #[error("the parameters are not JSON at byte {position}")]
    InvalidJson {
        /// The byte at which they are not.
        position: usize,
    },
    /// The parameters are JSON, but no object.
    #[error("the parameters are not a JSON object")]
    NotAnObject,
    /// `_meta` is not an object.
    #[error("_meta in the parameters is not a JSON object")]
    MetaNotAnObject,
    /// The method's name is empty or cannot be a header value.
    #[error("the method's name cannot be sent")]
    Method,
    /// All ids of 53 bits are used up.
    #[error("no id is left")]
    NoIdLeft,
}

impl RequestError {
    fn of_params(error: ReadError) -> Self {
        match error {
            ReadError::Syntax { position, .. } => Self::InvalidJson { position },
            _ => Self::NotAnObject,
        }
    }
}

/// A caller's message, checked once, from which each attempt's request is made.
#[derive(Clone)]
pub(super) struct Outgoing {
    /// Borrowed, if it is one of those that most calls are of.
    pub(super) method: Cow<'static, str>,
    /// The members of the parameters but `_meta`, as raw JSON with the comma and colon in place.
    members: Option<String>,
    /// The members of the caller's `_meta`, likewise.
    meta: String,
    has_client_info: bool,
    has_capabilities: bool,
    /// The value that `Mcp-Name` mirrors.
    name: Option<String>,
    /// Where among the members the arguments of `tools/call` lie, which `Mcp-Param-*` mirror.
    arguments: Option<Range<usize>>,
    pub(super) progress_token: Option<Id>,
    /// What is sent instead of all this: an answer to a request of the server's.
    response: Option<String>,
}

/// What an HTTP request carries, besides what its route says.
pub(super) enum Carried<'a> {
    /// A message: a request if it has an id.
    Message(Option<&'a Id>),
    /// Nothing: it asks for a stream, from this event id on if there is one.
    Stream { last_event_id: Option<&'a str> },
    /// Nothing: it ends the session.
    Deletion,
}

const META: &str = "_meta";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const PROGRESS_TOKEN: &str = "progressToken";

impl Outgoing {
    pub(super) fn new(method: &str, params: Option<&str>) -> Result<Self, RequestError> {
        // Such a value has no white space around it.
        if method.is_empty() || !http::is_field_value(method) {
            return Err(RequestError::Method);
        }
        let mut outgoing = Self::bare(method_name(method));
        let Some(params) = params else {
            return Ok(outgoing);
        };
        let source = name_source(method);
        let mut members = String::with_capacity(params.len());
        let mut meta = Ok(());
        let read = each_member(params, |member| {
            let key = &*member.key.name();
            if key == META {
                // The first mistake is the one that is told.
                if meta.is_ok() {
                    meta = outgoing.take_meta(member.value);
                }
                return;
            }
            if source == Some(key) {
                outgoing.name = known_string(member.value).map(Cow::into_owned);
            }
            push_raw_member(&mut members, member.key.raw, member.value);
            if method == TOOLS_CALL && key == "arguments" {
                outgoing.arguments = Some(members.len() - member.value.len()..members.len());
            }
        });
        read.map_err(RequestError::of_params)?;
        meta?;
        outgoing.members = Some(members);
        Ok(outgoing)
    }

    /// Asks for progress under this token, unless the caller did under one of its own.
    pub(super) fn ask_for_progress(&mut self, token: Id) {
        if self.progress_token.is_none() {
            push_member(&mut self.meta, PROGRESS_TOKEN, &token.to_json());
            self.members.get_or_insert_default();
            self.progress_token = Some(token);
        }
    }

    /// Takes over the members of `_meta`, whose grammar was checked.
    fn take_meta(&mut self, meta: &str) -> Result<(), RequestError> {
        if !meta.starts_with('{') {
            return Err(RequestError::MetaNotAnObject);
        }
        for member in KnownMembers::of(meta) {
            match &*member.key.name() {
                // The version is the client's to say: a header mirrors it.
                META_VERSION => continue,
                META_CLIENT_INFO => self.has_client_info = true,
                META_CAPABILITIES => self.has_capabilities = true,
                PROGRESS_TOKEN => self.progress_token = known_id(member.value),
                _ => {}
            }
            push_raw_member(&mut self.meta, member.key.raw, member.value);
        }
        Ok(())
    }

    /// An answer to a request of the server's, as JSON text.
    pub(super) fn response(body: String) -> Self {
        Self { response: Some(body), ..Self::bare(Cow::Borrowed("")) }
    }

    /// A message without parameters.
    pub(super) const fn bare(method: Cow<'static, str>) -> Self {
        Self {
            method,
            members: None,
            meta: String::new(),
            has_client_info: false,
            has_capabilities: false,
            name: None,
            arguments: None,
            progress_token: None,
            response: None,
        }
    }

    /// The parameters without `_meta`, as JSON text.
    pub(super) fn params(&self) -> Option<String> {
        Some(alloc::format!("{{{}}}", self.members.as_deref()?))
    }

    /// Whether it asks for a later page of a list.
    pub(super) fn has_cursor(&self) -> bool {
        self.params().is_some_and(|params| jsonrpc::object_member(&params, "cursor").is_some())
    }

    /// One attempt's request: under a new id, with everything that follows from it computed anew (F1).
    pub(super) fn build(
        &self,
        carried: Carried<'_>,
        route: &Route,
        tools: &ToolHeaders,
        config: &ClientConfig,
    ) -> HttpRequest {
        let (method, body) = match &carried {
            Carried::Message(id) => ("POST", self.body(*id, route, config).into_bytes()),
            Carried::Stream { .. } => ("GET", Vec::new()),
            Carried::Deletion => ("DELETE", Vec::new()),
        };
        let headers = self.headers(&carried, route, tools, config);
        HttpRequest { method, endpoint: route.endpoint.clone(), headers, body }
    }

    fn headers(
        &self,
        carried: &Carried<'_>,
        route: &Route,
        tools: &ToolHeaders,
        config: &ClientConfig,
    ) -> Vec<(Cow<'static, str>, Cow<'static, str>)> {
        let mut headers: Vec<(Cow<'static, str>, Cow<'static, str>)> = Vec::with_capacity(8 + config.headers.len());
        let mut push = |name: &'static str, value: Cow<'static, str>| headers.push((Cow::Borrowed(name), value));
        match carried {
            Carried::Message(_) => {
                push("Content-Type", Cow::Borrowed("application/json"));
                push("Accept", Cow::Borrowed("application/json, text/event-stream"));
            }
            Carried::Stream { .. } => push("Accept", Cow::Borrowed("text/event-stream")),
            Carried::Deletion => {}
        }
        push("Accept-Encoding", Cow::Borrowed(accept_encoding()));
        // The header came with 2025-06-18, and a legacy initialize request negotiates what it would say. The channel
        // of 2024-11-05 knows no such header.
        let negotiates = self.method == INITIALIZE && route.era != Era::Modern;
        if route.version >= ProtocolVersion::V2025_06_18 && route.era != Era::HttpSse && !negotiates {
            push(http::MCP_PROTOCOL_VERSION, route.version.to_name());
        }
        let begins = negotiates && matches!(carried, Carried::Message(_));
        if let Some(session_id) = route.session_id.as_ref().filter(|_| !begins) {
            push(http::MCP_SESSION_ID, Cow::Owned(session_id.clone()));
        }
        if let Carried::Stream { last_event_id: Some(id) } = carried {
            push(http::LAST_EVENT_ID, Cow::Owned((*id).to_owned()));
        }
        if route.era == Era::Modern {
            push(http::MCP_METHOD, self.method.clone());
            if let Some(name) = &self.name {
                push(http::MCP_NAME, Cow::Owned(encode_value(name).into_owned()));
                if self.method == TOOLS_CALL {
                    let members = self.members.as_deref().zip(self.arguments.clone());
                    let arguments = members.and_then(|(members, place)| members.get(place));
                    let values = tools.values(name, arguments);
                    headers.extend(values.into_iter().map(|(name, value)| (Cow::Owned(name), Cow::Owned(value))));
                }
            }
        }
        let own = config.headers.iter();
        headers.extend(own.map(|(name, value)| (Cow::Owned(name.clone()), Cow::Owned(value.clone()))));
        headers
    }

    fn body(&self, id: Option<&Id>, route: &Route, config: &ClientConfig) -> String {
        if let Some(response) = &self.response {
            return response.clone();
        }
        let members = self.members.as_deref().unwrap_or_default();
        let own = config.client_info.len() + config.capabilities.len();
        let mut body = String::with_capacity(members.len() + self.meta.len() + self.method.len() + own + 256);
        body.push_str(r#"{"jsonrpc":"2.0""#);
        if let Some(id) = id {
            // A string takes all.
            write!(body, r#","id":{id}"#).ok();
        }
        body.push_str(r#","method":"#);
        push_json_string(&mut body, &self.method);
        let says_who = id.is_some() && route.era == Era::Modern;
        let has_meta = !self.meta.is_empty() || says_who;
        if self.members.is_some() || has_meta {
            body.push_str(r#","params":{"#);
            body.push_str(members);
            if has_meta {
                let separator = if members.is_empty() { "" } else { "," };
                body.push_str(separator);
                body.push_str(r#""_meta":{"#);
                body.push_str(&self.meta);
                if says_who {
                    self.push_own_meta(&mut body, route, config);
                }
                body.push('}');
            }
            body.push('}');
        }
        body.push('}');
        body
    }

    /// What each request says of its sender since 2026-07-28 (basic, "Per-request protocol fields").
    fn push_own_meta(&self, body: &mut String, route: &Route, config: &ClientConfig) {
        let mut needs_comma = !self.meta.is_empty();
        let mut push = |key: &str, before: &str, value: &str, after: &str| {
            let comma = if core::mem::replace(&mut needs_comma, true) { "," } else { "" };
            // Neither a key nor a version needs an escape.
            for part in [comma, "\"", key, "\":", before, value, after] {
                body.push_str(part);
            }
        };
        push(META_VERSION, "\"", route.version.as_str(), "\"");
        if !self.has_client_info {
            push(META_CLIENT_INFO, "", &config.client_info, "");
        }
        if !self.has_capabilities {
            push(META_CAPABILITIES, "", &config.capabilities, "");
        }
    }
}

/// The one request that is never cancelled and carries no version header.
pub(super) const INITIALIZE: &str = "initialize";
/// The one request whose parameters are mirrored (F4).
pub(super) const TOOLS_CALL: &str = "tools/call";

fn push_member(members: &mut String, key: &str, value: &str) {
    push_raw_member(members, &json_string(key), value);
}

/// The names of the methods that most calls are of are not copied.
fn method_name(method: &str) -> Cow<'static, str> {
    let known = READ_METHODS.into_iter().chain([TOOLS_CALL]).find(|known| *known == method);
    known.map_or_else(|| Cow::Owned(method.to_owned()), Cow::Borrowed)
}

/// A text that needs no escape is written as it is.
fn push_json_string(json: &mut String, text: &str) {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\' | ..b' ')) {
        return json.push_str(&json_string(text));
    }
    for part in ["\"", text, "\""] {
        json.push_str(part);
    }
}

fn push_raw_member(members: &mut String, raw_key: &str, value: &str) {
    if !members.is_empty() {
        members.push(',');
    }
    members.push_str(raw_key);
    members.push(':');
    members.push_str(value);
}

pub(super) fn json_string(text: &str) -> String {
    // A string always has a JSON form.
    serde_json::to_string(text).unwrap_or_default()
}
