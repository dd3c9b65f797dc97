//! A JSON text of the same size and shape that says nothing: strings become fillers, digits ones.
//!
//! Rules: what decides stays: punctuation, literals, the members of the envelope, versions, tokens, ids. Any bytes are
//! taken: a text that was cut is redacted up to the cut, what follows the byte at which it is no JSON is text. One pass, no
//! recursion.

use alloc::vec::Vec;

use super::filler::{self, Fillers};
use crate::jsonrpc::{Completeness, check_bytes};

/// Where in a message a value stands, as far as that decides what of it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A message, or an array of them.
    Message,
    Params,
    Meta,
    Result,
    Error,
    ErrorData,
    /// Anybody's own business.
    Payload,
    /// A value that decides: if it is a scalar, or in an array of them.
    Kept,
}

impl Place {
    /// Where the member of this name stands.
    fn member(self, name: &[u8]) -> Self {
        match (self, name) {
            (Self::Message, b"jsonrpc" | b"id" | b"method")
            | (Self::Params, b"progressToken" | b"requestId" | b"protocolVersion")
            | (
                Self::Meta,
                b"progressToken"
                | b"io.modelcontextprotocol/subscriptionId"
                | b"io.modelcontextprotocol/protocolVersion",
            )
            | (Self::Result, b"protocolVersion" | b"resultType")
            | (Self::Error, b"code")
            | (Self::ErrorData, b"supported" | b"requested")
            | (Self::Payload, b"x-mcp-header") => Self::Kept,
            (Self::Message, b"params") => Self::Params,
            (Self::Message, b"result") => Self::Result,
            (Self::Message, b"error") => Self::Error,
            (Self::Params | Self::Result, b"_meta") => Self::Meta,
            (Self::Error, b"data") => Self::ErrorData,
            _ => Self::Payload,
        }
    }
}

/// Names of members that are MCP's or JSON Schema's own.
const NAMES: &[&[u8]] = &[
    b"$defs",
    b"$ref",
    b"$schema",
    b"_meta",
    b"additionalProperties",
    b"allOf",
    b"annotations",
    b"anyOf",
    b"arguments",
    b"blob",
    b"capabilities",
    b"clientInfo",
    b"code",
    b"completions",
    b"const",
    b"content",
    b"contents",
    b"cursor",
    b"data",
    b"default",
    b"definitions",
    b"dependencies",
    b"dependentRequired",
    b"dependentSchemas",
    b"description",
    b"else",
    b"enum",
    b"error",
    b"examples",
    b"id",
    b"if",
    b"inputSchema",
    b"instructions",
    b"io.modelcontextprotocol/clientCapabilities",
    b"io.modelcontextprotocol/clientInfo",
    b"io.modelcontextprotocol/protocolVersion",
    b"io.modelcontextprotocol/subscriptionId",
    b"isError",
    b"items",
    b"jsonrpc",
    b"level",
    b"listChanged",
    b"logging",
    b"message",
    b"messages",
    b"method",
    b"mimeType",
    b"name",
    b"nextCursor",
    b"not",
    b"notifications",
    b"oneOf",
    b"outputSchema",
    b"params",
    b"patternProperties",
    b"prefixItems",
    b"progress",
    b"progressToken",
    b"prompts",
    b"promptsListChanged",
    b"properties",
    b"protocolVersion",
    b"reason",
    b"requestId",
    b"requested",
    b"required",
    b"resourceSubscriptions",
    b"resources",
    b"resourcesListChanged",
    b"result",
    b"resultType",
    b"role",
    b"serverInfo",
    b"structuredContent",
    b"subscribe",
    b"supported",
    b"supportedVersions",
    b"text",
    b"then",
    b"title",
    b"tools",
    b"toolsListChanged",
    b"total",
    b"type",
    b"uri",
    b"version",
    b"x-mcp-header",
];

/// Types of JSON Schema.
const TYPES: &[&[u8]] = &[b"array", b"boolean", b"integer", b"null", b"number", b"object", b"string"];

/// What is open around a byte.
struct Open {
    is_object: bool,
    /// Where the members or elements of it stand.
    place: Place,
    /// In an object: where the value of the member stands whose name was read; nothing before a name.
    member: Option<Place>,
    /// Whether that name is `type`.
    is_type: bool,
}

/// The text, redacted; it has the same size.
pub(super) fn redact(text: &[u8], place: Place, fillers: &mut Fillers) -> Vec<u8> {
    let end = match check_bytes(text) {
        Completeness::Whole | Completeness::Prefix => text.len(),
        Completeness::Invalid { position } => position.min(text.len()),
    };
    let (mut rest, after) = text.split_at_checked(end).unwrap_or((text, &[]));
    let mut redacted = Vec::with_capacity(text.len());
    let mut open: Vec<Open> = Vec::new();
    while let [first, others @ ..] = rest {
        let taken = match first {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => 1 + others.iter().take_while(|byte| is_number(**byte)).count(),
            _ => 1,
        };
        let (token, left) = rest.split_at_checked(taken).unwrap_or((rest, &[]));
        rest = left;
        let around = open.last_mut();
        let here = around.as_ref().map_or(place, |around| around.member.unwrap_or(around.place));
        match first {
            b'{' | b'[' => {
                let is_object = *first == b'{';
                // What is kept is a scalar; an object in its place is anybody's own business.
                let inner = if is_object && here == Place::Kept { Place::Payload } else { here };
                open.push(Open { is_object, place: inner, member: None, is_type: false });
                redacted.extend_from_slice(token);
            }
            b'}' | b']' => {
                open.pop();
                redacted.extend_from_slice(token);
            }
            b',' => {
                if let Some(around) = around {
                    around.member = None;
                }
                redacted.extend_from_slice(token);
            }
            b'"' => match around.filter(|around| around.is_object && around.member.is_none()) {
                Some(around) => {
                    let name = content(token);
                    around.member = Some(around.place.member(name));
                    around.is_type = name == b"type";
                    let is_known = NAMES.contains(&name) || around.member == Some(Place::Kept);
                    push_string(&mut redacted, token, is_known, fillers);
                }
                None => {
                    let is_type = open.last().is_some_and(|around| around.is_type) && TYPES.contains(&content(token));
                    push_string(&mut redacted, token, here == Place::Kept || is_type, fillers);
                }
            },
            b'-' | b'0'..=b'9' if here != Place::Kept => {
                redacted.extend(token.iter().map(|byte| if byte.is_ascii_digit() { b'1' } else { *byte }));
            }
            _ => redacted.extend_from_slice(token),
        }
    }
    redacted.extend(filler::text(after));
    redacted
}

const fn is_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')
}

/// The length of the string that a text begins with, quotes included; all of it if it was cut.
fn string_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let closing = text.iter().skip(1).position(|byte| {
        let closes = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        closes
    });
    closing.map_or(text.len(), |inner| inner + 2)
}

/// What stands between the quotes, of which the second may be missing.
fn content(string: &[u8]) -> &[u8] {
    let inner = string.strip_prefix(b"\"").unwrap_or(string);
    if string.len() > 1 { inner.strip_suffix(b"\"").unwrap_or(inner) } else { inner }
}

fn push_string(redacted: &mut Vec<u8>, string: &[u8], is_kept: bool, fillers: &mut Fillers) {
    if is_kept {
        return redacted.extend_from_slice(string);
    }
    let inner = content(string);
    redacted.push(b'"');
    redacted.extend(fillers.string(inner));
    // The quote that closes it, if it came.
    redacted.extend_from_slice(string.get(1 + inner.len()..).unwrap_or_default());
}
