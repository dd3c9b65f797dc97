//! Text that depends on the request it answers: templates, closures, and the standard answers of a small MCP server.
//!
//! Rule: a text is a pure function of the request, so that a response can be rendered before it is sent.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::request::Request;

/// A text made from the request. From a string it is a template, in which these are replaced:
/// `{id}` the request's id as JSON (`null` if it has none), `{token}` its progress token as JSON, `{method}` its method without
/// quotes, `{executions}` how often that method has now run in the scenario, `{attempt}` the request's number in the scenario
/// (from 1). All other braces stay as they are.
#[derive(Clone)]
pub struct Text(Arc<dyn Fn(&Request) -> String + Send + Sync>);

impl Text {
    /// A text made by a closure, which must give the same text for the same request.
    pub fn with(make: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// The result of the counted tool: `charged N`, where N is how often the method ran in this scenario.
    pub fn charged() -> Self {
        r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[{"type":"text","text":"charged {executions}"}],"executions":{executions},"resultType":"complete"}}"#
            .into()
    }

    /// A JSON-RPC error that answers the request.
    pub fn error(code: i64, message: &str) -> Self {
        let error = json!({"code": code, "message": message});
        Self::from(format!(r#"{{"jsonrpc":"2.0","id":{{id}},"error":{error}}}"#))
    }

    /// A progress notification that bears the request's progress token.
    pub fn progress(progress: u64) -> Self {
        Self::from(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{{token}},"progress":{progress}}}}}"#
        ))
    }

    /// What a small, sound server with the one tool `charge` answers, by method: the handshakes of every revision,
    /// `tools/list`, `ping`, and [`charged`](Self::charged) for all else.
    pub fn standard() -> Self {
        Self::with(|request| {
            let result = match request.method().unwrap_or_default() {
                "initialize" => json!({
                    "protocolVersion": request.params().get("protocolVersion").cloned().unwrap_or_else(|| json!("2025-11-25")),
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "scripted-peer", "version": "1"},
                }),
                "server/discover" => json!({
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "scripted-peer", "version": "1"},
                    "resultType": "complete",
                }),
                "tools/list" => json!({
                    "tools": [{"name": "charge", "description": "Counts how often it ran", "inputSchema": {"type": "object"}}],
                    "resultType": "complete",
                }),
                "ping" => json!({}),
                _ => return Self::charged().fill(request),
            };
            json!({"jsonrpc": "2.0", "id": request.id().cloned().unwrap_or(Value::Null), "result": result}).to_string()
        })
    }

    /// The text for one request.
    pub fn fill(&self, request: &Request) -> String {
        (self.0)(request)
    }
}

impl From<&str> for Text {
    fn from(template: &str) -> Self {
        Self::from(template.to_owned())
    }
}

impl From<String> for Text {
    fn from(template: String) -> Self {
        Self::with(move |request| fill_template(&template, request))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Text")
    }
}

fn fill_template(template: &str, request: &Request) -> String {
    let json_of = |value: Option<&Value>| value.map_or_else(|| "null".to_owned(), Value::to_string);
    let mut filled = String::with_capacity(template.len() + 16);
    let mut rest = template;
    // One pass, so that a value that looks like a placeholder is never replaced in its turn.
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let close = rest.find('}').map_or(rest.len(), |position| position + 1);
        let value = match &rest[..close] {
            "{id}" => Some(json_of(request.id())),
            "{token}" => Some(json_of(request.params().pointer("/_meta/progressToken"))),
            "{method}" => Some(request.method().unwrap_or_default().to_owned()),
            "{executions}" => Some(request.executions.to_string()),
            "{attempt}" => Some(request.attempt.to_string()),
            _ => None,
        };
        match value {
            Some(value) => {
                filled.push_str(&value);
                rest = &rest[close..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}
