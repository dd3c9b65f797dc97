//! The members of any JSON object, as raw text: for parameters, which this room does not understand.
//!
//! Rules: all members are given, in order, duplicates too; nothing is looked into.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
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
    collect(text, None)
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
    collect(text, Some(name)).ok()?.first().map(|(_, value)| *value)
}

fn collect<'a>(text: &'a str, only: Option<&str>) -> Result<Vec<(&'a str, &'a str)>, ReadError> {
    if !matches!(shape(text), Shape::Object) {
        return Err(match super::check(text) {
            super::Completeness::Whole => ReadError::NotAnObject { position: start(text) },
            _ => syntax(text),
        });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer
        .deserialize_map(Collector { only, borrowed: PhantomData })
        .and_then(|members| deserializer.end().map(|()| members));
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

struct Collector<'n, 'a> {
    /// The only member to collect, and that once; `None` collects all.
    only: Option<&'n str>,
    borrowed: PhantomData<&'a str>,
}

impl<'a> Visitor<'a> for Collector<'_, 'a> {
    type Value = Vec<(&'a str, &'a str)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<&RawValue>()? {
            let is_wanted = self
                .only
                .is_none_or(|only| members.is_empty() && decode(key.get()).is_some_and(|decoded| decoded.text == only));
            if is_wanted {
                members.push((key.get(), map.next_value::<&RawValue>()?.get()));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(members)
    }
}
