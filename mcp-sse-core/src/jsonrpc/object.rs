//! The members of any JSON object, as raw text: for parameters, which this room does not understand.
//!
//! Rules: all members are given, in order, duplicates too; nothing is looked into.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::envelope::{start, syntax};
use super::error::ReadError;
use super::grammar::{Shape, shape};
use super::text::decode;

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
    if !matches!(shape(text), Shape::Object) {
        return Err(match super::check(text) {
            super::Completeness::Whole => ReadError::NotAnObject { position: start(text) },
            _ => syntax(text),
        });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Collector).and_then(|members| deserializer.end().map(|()| members));
    members.map_err(|_| syntax(text))
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

struct Collector;

impl<'a> Visitor<'a> for Collector {
    type Value = Vec<(&'a str, &'a str)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<&RawValue>()? {
            members.push((key.get(), map.next_value::<&RawValue>()?.get()));
        }
        Ok(members)
    }
}
