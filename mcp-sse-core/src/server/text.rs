//! The JSON-RPC texts that a server writes.
//!
//! Rules: what the embedder gave is JSON and goes through as it came; only what the revision wants beside it is added.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use core::ops::Range;

use crate::jsonrpc::{Id, KnownMembers, RawMember, Shape, each_member, place, shape};

pub(super) const META: &str = "_meta";
pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(super) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

pub(super) fn json_string(text: &str) -> String {
    // A string always has a JSON form.
    serde_json::to_string(text).unwrap_or_default()
}

pub(super) fn result(id: &Id, result: &str) -> String {
    let mut text = answer(id, result.len());
    text.push_str(result);
    text.push('}');
    text
}

/// The answer with a result as 2026-07-28 wants it. Nothing if the result, or its `_meta`, is no object.
pub(super) fn modern_answer(id: &Id, result: &str, server_info: &str) -> Option<String> {
    let mut text = answer(id, result.len() + MODERN_BYTES + server_info.len());
    merge(&mut text, result, Some(RESULT_TYPE), META_SERVER_INFO, server_info)?;
    text.push('}');
    Some(text)
}

/// The beginning of an answer, with room for a result of so many bytes and the end.
fn answer(id: &Id, bytes: usize) -> String {
    const BEGIN: &str = r#"{"jsonrpc":"2.0","id":"#;
    const THEN: &str = r#","result":"#;
    let id_bytes = match id {
        Id::Integer(number) => {
            number.unsigned_abs().checked_ilog10().map_or(1, |tens| tens as usize + 1) + usize::from(*number < 0)
        }
        Id::String(text) => text.len() + 2,
        _ => 8,
    };
    let mut text = String::with_capacity(BEGIN.len() + id_bytes + THEN.len() + bytes + 1);
    text.push_str(BEGIN);
    // A string takes all.
    write!(text, "{id}").ok();
    text.push_str(THEN);
    text
}

/// An error; one that answers nothing that has an id bears none.
pub(super) fn error(id: Option<&Id>, code: i64, message: &str, data: Option<&str>) -> String {
    let id = id.map_or_else(String::new, |id| format!(r#""id":{id},"#));
    let data = data.map_or_else(String::new, |data| format!(r#","data":{data}"#));
    format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":{}{data}}}}}"#, json_string(message))
}

pub(super) fn notification(method: &str, params: Option<&str>) -> String {
    let method = json_string(method);
    match params {
        Some(params) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
}

pub(super) fn request(id: &Id, method: &str, params: Option<&str>) -> String {
    let method = json_string(method);
    let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#)
}

/// An object with one more member in its `_meta`, unless that is there. Nothing if it, or its `_meta`, is no object.
pub(super) fn with_meta(object: &str, key: &str, value: &str) -> Option<String> {
    let mut text = String::with_capacity(object.len() + key.len() + value.len() + 48);
    merge(&mut text, object, None, key, value)?;
    Some(text)
}

/// A result as 2026-07-28 wants it: with `resultType`, and with who says it.
pub(super) fn modern_result(result: &str, server_info: &str) -> Option<String> {
    let mut text = String::with_capacity(result.len() + MODERN_BYTES + server_info.len());
    merge(&mut text, result, Some(RESULT_TYPE), META_SERVER_INFO, server_info)?;
    Some(text)
}

/// What a result of 2026-07-28 has that says no more.
const RESULT_TYPE: &str = r#""resultType":"complete""#;

/// What is added to a result of 2026-07-28 but for the server's own words.
const MODERN_BYTES: usize = RESULT_TYPE.len() + META_SERVER_INFO.len() + r#",,"_meta":{"":}"#.len();

/// Writes the object with a member in `_meta`, and `first` in front if it has no `resultType`. `key` is plain text.
fn merge(text: &mut String, object: &str, first: Option<&str>, key: &str, value: &str) -> Option<()> {
    let (mut has_type, mut meta, mut members) = (false, None, None);
    each_member(object, |member| {
        let place = place(member.key.raw, object).zip(place(member.value, object));
        members =
            place.map(|(key, value)| members.as_ref().map_or(key.start, |all: &Range<usize>| all.start)..value.end);
        match &*member.key.name() {
            "resultType" => has_type = true,
            META => meta = Some(member.value),
            _ => {}
        }
    })
    .ok()?;
    text.push('{');
    let separate = |text: &mut String| {
        if !text.ends_with('{') {
            text.push(',');
        }
    };
    if let Some(first) = first.filter(|_| !has_type) {
        text.push_str(first);
    }
    match (meta, members) {
        // All that there is, at one go.
        (None, Some(members)) => {
            separate(text);
            text.push_str(object.get(members)?);
        }
        (None, None) => {}
        (Some(_), _) => {
            let others = |member: &RawMember<'_>| member.key.name() != META;
            KnownMembers::of(object).filter(others).for_each(|member| {
                separate(text);
                push_member(text, &member);
            });
        }
    }
    separate(text);
    text.push_str(r#""_meta":{"#);
    if let Some(meta) = meta {
        if shape(meta) != Shape::Object {
            return None;
        }
        KnownMembers::of(meta).filter(|member| member.key.name() != key).for_each(|member| {
            separate(text);
            push_member(text, &member);
        });
    }
    separate(text);
    text.push('"');
    text.push_str(key);
    text.push_str("\":");
    text.push_str(value);
    text.push_str("}}");
    Some(())
}

fn push_member(text: &mut String, member: &RawMember<'_>) {
    text.push_str(member.key.raw);
    text.push(':');
    text.push_str(member.value);
}
