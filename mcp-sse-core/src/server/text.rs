//! The JSON-RPC texts that a server writes.
//!
//! Rules: what the embedder gave is JSON and goes through as it came; only what the revision wants beside it is added.

use alloc::format;
use alloc::string::String;

use crate::jsonrpc::{Id, known_string, object_members};

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
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
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
    merged(object, None, key, value)
}

/// A result as 2026-07-28 wants it: with `resultType`, and with who says it.
pub(super) fn modern_result(result: &str, server_info: &str) -> Option<String> {
    merged(result, Some(r#""resultType":"complete""#), META_SERVER_INFO, server_info)
}

/// The object with a member in `_meta`, and `first` in front if it has no `resultType`. One pass over the members.
fn merged(object: &str, first: Option<&str>, key: &str, value: &str) -> Option<String> {
    let members = object_members(object).ok()?;
    let named = |raw_key: &str, name: &str| known_string(raw_key).is_some_and(|key| key == name);
    let mut text = String::with_capacity(object.len() + key.len() + value.len() + 48);
    text.push('{');
    let separate = |text: &mut String| {
        if !text.ends_with('{') {
            text.push(',');
        }
    };
    if let Some(first) = first.filter(|_| !members.iter().any(|(raw, _)| named(raw, "resultType"))) {
        text.push_str(first);
    }
    let mut meta: Option<&str> = None;
    for (raw_key, raw_value) in &members {
        if named(raw_key, META) {
            meta = Some(raw_value);
            continue;
        }
        separate(&mut text);
        text.push_str(raw_key);
        text.push(':');
        text.push_str(raw_value);
    }
    separate(&mut text);
    text.push_str(r#""_meta":{"#);
    for (raw_key, raw_value) in meta.map_or_else(|| Ok(alloc::vec::Vec::new()), object_members).ok()? {
        if named(raw_key, key) {
            continue;
        }
        separate(&mut text);
        text.push_str(raw_key);
        text.push(':');
        text.push_str(raw_value);
    }
    separate(&mut text);
    text.push_str(&json_string(key));
    text.push(':');
    text.push_str(value);
    text.push_str("}}");
    Some(text)
}
