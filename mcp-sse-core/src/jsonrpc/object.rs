//! The members of any JSON object, as raw text: for parameters, which this room does not understand.
//!
//! Rules: all members are given, in order, duplicates too; nothing is looked into.

use super::envelope::{start, syntax};
use super::error::ReadError;
use super::grammar::{Shape, shape};
use super::text::decode;
use super::walk::{RawMember, Walk};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// The members of a JSON object in order: key and value, each as raw JSON text (a key has its quotes).
///
/// Not for envelopes, which [`read`](super::read) reads without collecting what it does not know.
///
/// ```
/// use mcp_sse_core::jsonrpc::{object_members, string};
///
/// let members = object_members(r#"{"name":"add","arguments":{"a":1}}"#)?;
/// assert_eq!(members, [(r#""name""#, r#""add""#), (r#""arguments""#, r#"{"a":1}"#)]);
/// assert_eq!(string(members[0].1).as_deref(), Some("add"));
/// # Ok::<(), mcp_sse_core::jsonrpc::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError::Syntax`] if the text is no JSON, [`ReadError::NotAnObject`] if it is no object.
pub fn object_members(text: &str) -> Result<Vec<(&str, &str)>, ReadError> {
    let mut members = Vec::new();
    each_member(text, |member| members.push((member.key.raw, member.value)))?;
    Ok(members)
}

/// The first value of one member of a JSON object, as raw JSON text; nothing if it has none, or is no object. Nothing
/// else is collected, however large the object is.
///
/// ```
/// use mcp_sse_core::jsonrpc::object_member;
///
/// assert_eq!(object_member(r#"{"progressToken":7,"progress":0.5}"#, "progressToken"), Some("7"));
/// ```
#[must_use]
pub fn object_member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut found = None;
    each_member(text, |member| {
        if found.is_none() && member.key.name() == name {
            found = Some(member.value);
        }
    })
    .ok()?;
    found
}

/// Tells of each member of an object. All were told of before it is known whether the text is one.
pub(crate) fn each_member<'a>(text: &'a str, mut tell: impl FnMut(RawMember<'a>)) -> Result<(), ReadError> {
    let mut walk = Walk::new(text);
    let mut step = walk.open_object();
    while step == Some(true) {
        step = walk.member().map(|(member, another)| {
            tell(member);
            another
        });
    }
    walk.space();
    if step.is_some() && walk.ahead().is_empty() {
        return Ok(());
    }
    Err(match (shape(text), super::check(text)) {
        (Shape::Object, _) | (_, super::Completeness::Prefix | super::Completeness::Invalid { .. }) => syntax(text),
        _ => ReadError::NotAnObject { position: start(text) },
    })
}

/// What a raw JSON string says, quotes and escapes undone; nothing if it is no string. Half of a surrogate
/// pair that stands alone becomes U+FFFD.
#[must_use]
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    match super::check(raw) {
        super::Completeness::Whole => decode(raw.trim()).map(|decoded| decoded.text),
        _ => None,
    }
}
