//! Requests that are refused: status, headers and the JSON-RPC error in the body (S2).
//!
//! Rules: a message names what is wrong and never quotes the peer, so that nothing of it gets into logs and pages by this
//! way; the error bears the request's id if that could be read, in its own type. When one is due is judged in `admission`
//! and by the sessions.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::output::{ReplyBody, ReplyHead};
use super::text;
use crate::http::ProtocolVersion;
use crate::jsonrpc::Id;

/// JSON-RPC: the body is no JSON.
pub(super) const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: no message, or not one that may come here.
pub(super) const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: nobody knows the method.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters do not fit.
pub(super) const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: the server failed.
pub(super) const INTERNAL_ERROR: i64 = -32603;
/// MCP: a header does not say what the body says.
pub(super) const HEADER_MISMATCH: i64 = -32020;
/// MCP: the client lacks a capability that the request needs.
pub(super) const MISSING_CAPABILITY: i64 = -32021;
/// MCP: the server does not speak that revision.
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;

/// A request that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: u16,
    code: i64,
    message: &'static str,
    data: Option<String>,
    id: Option<Id>,
    header: Option<(&'static str, &'static str)>,
}

impl Refusal {
    pub(super) const fn new(status: u16, code: i64, message: &'static str) -> Self {
        Self { status, code, message, data: None, id: None, header: None }
    }

    pub(super) fn with_id(mut self, id: &Id) -> Self {
        self.id = Some(id.clone());
        self
    }

    pub(super) const fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(super) const fn mismatch(message: &'static str) -> Self {
        Self::new(400, HEADER_MISMATCH, message)
    }

    pub(super) fn method_not_allowed(allow: &'static str) -> Self {
        Self::new(405, INVALID_REQUEST, "Method not allowed").with_header("Allow", allow)
    }

    /// For now: the client may come again.
    pub(super) fn unavailable(message: &'static str) -> Self {
        Self::new(503, INTERNAL_ERROR, message).with_header("Retry-After", "1")
    }

    /// The requested revision may be shown: it went through as a header's value or a JSON string, and is cut.
    pub(super) fn unsupported_version(supported: &[ProtocolVersion], requested: &str) -> Self {
        let mut list = String::new();
        for version in supported {
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(&text::json_string(version.as_str()));
        }
        let requested: String = requested.chars().take(64).collect();
        let data = format!(r#"{{"supported":[{list}],"requested":{}}}"#, text::json_string(&requested));
        let mut refusal = Self::new(400, UNSUPPORTED_VERSION, "Unsupported protocol version");
        refusal.data = Some(data);
        refusal
    }

    pub(super) fn into_reply(self) -> ReplyHead {
        let body = text::error(self.id.as_ref(), self.code, self.message, self.data.as_deref());
        let mut headers: Vec<(&'static str, Cow<'static, str>)> = Vec::with_capacity(2);
        headers.push(("Content-Type", Cow::Borrowed("application/json")));
        headers.extend(self.header.map(|(name, value)| (name, Cow::Borrowed(value))));
        ReplyHead { status: self.status, headers: Cow::Owned(headers), body: ReplyBody::Whole(body.into_bytes()) }
    }

    /// The same as an answer to a request, where the HTTP response is not the place for it.
    pub(super) fn into_answer(self) -> String {
        text::error(self.id.as_ref(), self.code, self.message, self.data.as_deref())
    }
}
