//! Whether a request is taken, and what it is refused with: S2, in its order.
//!
//! Rules: judgements only; nothing is kept or sent here. [`of_head`] judges what the head tells, before a byte of the body is
//! read; [`of_message`] whether the body is a message; [`modern`] what 2026-07-28 asks of a request. Sessions judge for
//! themselves what is theirs.

use alloc::string::String;
use alloc::vec::Vec;

use super::config::ServerConfig;
use super::params::{Params, Seen, Stated};
use super::refusal::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Refusal};
use crate::http::{
    ContentCoding, Era, HeaderValue, MediaType, ProtocolVersion, RequestHead, decode_value, name_source,
};
use crate::jsonrpc::{Id, Message, MessageKind, ReadError, Shape, object_member, shape};
use crate::tools::ToolHeaders;

/// What a head asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A message follows, for the endpoint.
    Message,
    /// A message follows, for a channel of 2024-11-05.
    ChannelMessage,
    /// A stream.
    Stream,
    /// The end of a session.
    Deletion,
}

/// The query's member that names a session of 2024-11-05.
pub(super) const SESSION_QUERY: &str = "session_id";

const ALL_METHODS: &str = "GET, POST, DELETE";

/// The methods of earlier revisions that 2026-07-28 has not.
const REMOVED: [&str; 5] = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Judges a head.
pub(super) fn of_head(head: &RequestHead, config: &ServerConfig) -> Result<Asked, Refusal> {
    if !config.allowed_hosts.allow(head) {
        return Err(Refusal::new(403, INVALID_REQUEST, "This host or origin is not allowed"));
    }
    let is_message_path =
        config.message_path.as_deref().is_some_and(|last| head.path().rsplit('/').next() == Some(last));
    if config.path.as_deref().is_some_and(|path| !is_message_path && head.path() != path) {
        return Err(Refusal::new(404, INVALID_REQUEST, "There is nothing at this path"));
    }
    let asked = asked(head, config, is_message_path)?;
    if matches!(asked, Asked::Message | Asked::ChannelMessage) {
        of_body(head, config)?;
    }
    let accepts = match asked {
        Asked::Message => head.accepts_json() && head.accepts_event_stream(),
        Asked::Stream => head.accepts_event_stream(),
        Asked::ChannelMessage | Asked::Deletion => true,
    };
    if accepts {
        Ok(asked)
    } else {
        Err(Refusal::new(406, INVALID_REQUEST, "The client must accept application/json and text/event-stream"))
    }
}

fn asked(head: &RequestHead, config: &ServerConfig, is_message_path: bool) -> Result<Asked, Refusal> {
    let is_modern = states_modern(head) || !(config.speaks(Era::Legacy) || config.speaks(Era::HttpSse));
    match head.method() {
        "POST" if config.speaks(Era::HttpSse) && (is_message_path || head.query(SESSION_QUERY).is_some()) => {
            Ok(Asked::ChannelMessage)
        }
        "POST" if !is_message_path => Ok(Asked::Message),
        _ if is_modern || is_message_path => Err(Refusal::method_not_allowed("POST")),
        "GET" => Ok(Asked::Stream),
        "DELETE" if config.speaks(Era::Legacy) => Ok(Asked::Deletion),
        _ if config.speaks(Era::Legacy) => Err(Refusal::method_not_allowed(ALL_METHODS)),
        _ => Err(Refusal::method_not_allowed("GET, POST")),
    }
}

/// What a head tells of its body.
fn of_body(head: &RequestHead, config: &ServerConfig) -> Result<(), Refusal> {
    let limit = u64::try_from(config.limits.max_body_bytes).unwrap_or(u64::MAX);
    if head.content_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    if head.media_type() != MediaType::Json {
        return Err(Refusal::new(415, INVALID_REQUEST, "The body must be application/json"));
    }
    if head.content_coding() != ContentCoding::Identity {
        let refusal = Refusal::new(415, INVALID_REQUEST, "The body must not be coded");
        return Err(refusal.with_header("Accept-Encoding", "identity"));
    }
    Ok(())
}

pub(super) fn too_large() -> Refusal {
    Refusal::new(413, INVALID_REQUEST, "The body is too large")
}

fn states_modern(head: &RequestHead) -> bool {
    head.revision().is_some_and(|version| version.era() == Era::Modern)
}

/// Whether a head that names a session means one: 2026-07-28 has none, and ignores the name.
pub(super) fn is_earlier(head: &RequestHead, config: &ServerConfig) -> bool {
    config.speaks(Era::Legacy) && !states_modern(head)
}

/// What a body holds.
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made, and a box would cost more")]
pub(super) enum Body {
    Message(Message, Seen),
    /// An array: 2025-03-26 takes one.
    Array(String),
}

pub(super) const fn parse_error() -> Refusal {
    Refusal::new(400, PARSE_ERROR, "Parse error")
}

/// Judges whether a body is JSON, and one message.
pub(super) fn of_message(body: Vec<u8>) -> Result<Body, Refusal> {
    let text = String::from_utf8(body).map_err(|_| parse_error())?;
    if shape(&text) == Shape::Array {
        return Ok(Body::Array(text));
    }
    let mut seen = Seen::default();
    match Message::from_text_with(text, |walk| seen.step(walk)) {
        Ok(message) => one_message(message).map(|message| Body::Message(message, seen)),
        Err(rejected) => Err(match rejected.error() {
            ReadError::Syntax { .. } => parse_error(),
            error => {
                let refusal = Refusal::new(400, INVALID_REQUEST, "Invalid request");
                match error.id() {
                    Some(id) if *id != Id::Null => refusal.with_id(id),
                    _ => refusal,
                }
            }
        }),
    }
}

/// What the envelope's reader lets through and a server does not: another version of JSON-RPC, and a request without an id
/// of its own (MCP, "Requests").
pub(super) fn one_message(message: Message) -> Result<Message, Refusal> {
    let is_request = message.kind() == MessageKind::Request;
    // Nearly all begin so, and then nothing is looked for; the envelope's reader refuses a second one.
    let has_version = message.as_json().starts_with(r#"{"jsonrpc":"2.0","#)
        || object_member(message.as_json(), "jsonrpc") == Some(r#""2.0""#);
    let refusal = Refusal::new(400, INVALID_REQUEST, "Invalid request");
    match message.id() {
        Some(Id::Null) if is_request => Err(refusal),
        Some(id) if is_request && !has_version => Err(refusal.with_id(id)),
        _ if !has_version => Err(refusal),
        _ => Ok(message),
    }
}

/// Which era a message for the endpoint belongs to: what is stated decides, and what states nothing is of an earlier one.
pub(super) fn era(head: &RequestHead, message: &Message, params: &Params<'_>, config: &ServerConfig) -> Era {
    let speaks_earlier = config.speaks(Era::Legacy) || config.speaks(Era::HttpSse);
    if !speaks_earlier || !config.speaks(Era::Modern) {
        return if speaks_earlier { Era::Legacy } else { Era::Modern };
    }
    let stated = head.protocol_version();
    let is_unknown = !stated.is_absent() && head.revision().is_none();
    let has_session = !head.session_id().is_absent();
    let is_modern = states_modern(head)
        || !has_session && (params.version.is_some() || is_unknown && message.method() != Some("initialize"));
    if is_modern { Era::Modern } else { Era::Legacy }
}

/// Judges a request of 2026-07-28, and tells its revision.
pub(super) fn modern(
    head: &RequestHead,
    message: &Message,
    params: &Params<'_>,
    config: &ServerConfig,
    tools: &ToolHeaders,
) -> Result<ProtocolVersion, Refusal> {
    let judged = version(head, message, params, config).and_then(|version| {
        mirrors(head, message, params, tools)?;
        let method = message.method().unwrap_or_default();
        if REMOVED.contains(&method) || !knows(method, config) {
            return Err(Refusal::new(404, METHOD_NOT_FOUND, "Method not found"));
        }
        Ok(version)
    });
    judged.map_err(|refusal| match message.id() {
        Some(id) => refusal.with_id(id),
        None => refusal,
    })
}

/// Whether the embedder answers a method, or the server does by itself.
pub(super) fn knows(method: &str, config: &ServerConfig) -> bool {
    config.methods.is_empty()
        || config.methods.contains(method)
        || matches!(method, "initialize" | "ping" | "server/discover" | "subscriptions/listen")
}

fn version(
    head: &RequestHead,
    message: &Message,
    params: &Params<'_>,
    config: &ServerConfig,
) -> Result<ProtocolVersion, Refusal> {
    let stated = match head.protocol_version() {
        HeaderValue::One(stated) => stated,
        // Who cannot know better may learn which revisions there are ("Backward Compatibility").
        HeaderValue::Absent if message.method() == Some("initialize") => {
            let asked = message.params().and_then(|params| object_member(params, "protocolVersion"));
            let asked = asked.and_then(crate::jsonrpc::string).unwrap_or_default();
            return Err(unsupported_version(&asked, config));
        }
        HeaderValue::Absent => return Err(Refusal::mismatch("The header MCP-Protocol-Version is missing")),
        HeaderValue::Unusable => return Err(Refusal::mismatch("The header MCP-Protocol-Version cannot be read")),
    };
    if params.is_malformed {
        return Err(Refusal::new(400, INVALID_PARAMS, "The parameters are not an object"));
    }
    let Some(Stated::Text(in_body)) = &params.version else {
        let missing = "io.modelcontextprotocol/protocolVersion is missing from _meta";
        return Err(Refusal::new(400, INVALID_PARAMS, missing));
    };
    if params.kept.capabilities.is_none() {
        let missing = "io.modelcontextprotocol/clientCapabilities is missing from _meta";
        return Err(Refusal::new(400, INVALID_PARAMS, missing));
    }
    if stated != *in_body {
        return Err(Refusal::mismatch("The header MCP-Protocol-Version does not match the body"));
    }
    match head.revision() {
        Some(version) if version.era() == Era::Modern && config.versions.contains(&version) => Ok(version),
        _ => Err(unsupported_version(stated, config)),
    }
}

/// Names the revisions that the client may repeat its request under, the same that `server/discover` tells. The earlier ones
/// want a handshake, and are found out by trying it ("Backward Compatibility").
fn unsupported_version(requested: &str, config: &ServerConfig) -> Refusal {
    let supported: Vec<_> = config.modern_versions().collect();
    Refusal::unsupported_version(&supported, requested)
}

/// Whether the headers say what the body says.
fn mirrors(head: &RequestHead, message: &Message, params: &Params<'_>, tools: &ToolHeaders) -> Result<(), Refusal> {
    let method = message.method().unwrap_or_default();
    match head.mcp_method() {
        HeaderValue::One(stated) if stated == method => {}
        HeaderValue::Absent => return Err(Refusal::mismatch("The header Mcp-Method is missing")),
        _ => return Err(Refusal::mismatch("The header Mcp-Method does not match the body")),
    }
    if name_source(method).is_some() {
        match (head.mcp_name(), &params.name) {
            (HeaderValue::Absent, None) => {}
            (HeaderValue::Absent, Some(_)) => return Err(Refusal::mismatch("The header Mcp-Name is missing")),
            (HeaderValue::One(stated), Some(name)) if decode_value(stated).is_ok_and(|stated| stated == *name) => {}
            _ => return Err(Refusal::mismatch("The header Mcp-Name does not match the body")),
        }
    }
    match &params.name {
        Some(tool) if method == "tools/call" => mirrors_arguments(head, tool, message, tools),
        _ => Ok(()),
    }
}

fn mirrors_arguments(head: &RequestHead, tool: &str, message: &Message, tools: &ToolHeaders) -> Result<(), Refusal> {
    let mut names = tools.names(tool).peekable();
    if names.peek().is_none() {
        return Ok(());
    }
    let arguments = message.params().and_then(|params| object_member(params, "arguments"));
    let expected = tools.values(tool, arguments);
    for name in names {
        let expected = expected.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value);
        match (head.param(&name), expected) {
            (HeaderValue::Absent, None) => {}
            (HeaderValue::Absent, Some(_)) => return Err(Refusal::mismatch("A header Mcp-Param-* is missing")),
            (HeaderValue::One(stated), Some(expected)) if says_the_same(stated, expected) => {}
            _ => return Err(Refusal::mismatch("A header Mcp-Param-* does not match the body")),
        }
    }
    Ok(())
}

/// Whether two header values mean the same text, or the same number: integers "SHOULD" be compared as numbers.
fn says_the_same(stated: &str, expected: &str) -> bool {
    let (Ok(stated), Ok(expected)) = (decode_value(stated), decode_value(expected)) else {
        return false;
    };
    let number = |text: &str| Id::parse(text).filter(|id| matches!(id, Id::Integer(_) | Id::Number(_)));
    stated == expected
        || number(&expected).is_some_and(|value| {
            // What a number of the body became is in its one plain form; a text that merely spells one is no number.
            value.to_json() == expected && number(&stated) == Some(value)
        })
}
