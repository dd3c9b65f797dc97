//! What the suite calls, and what becomes of it: steps, then an answer.
//!
//! Rules: the names and texts are the suite's; the first tool takes no arguments, which two scenarios rely on.

use std::time::Duration;

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::{Change, IncomingRequest, ServerAnswer};
use serde_json::{Value, json};

pub(super) const INFO: &str = r#"{"name":"mcp-sse-conformance","version":"1.0.0"}"#;

/// With a list that can change, its subscriptions are tried as well.
pub(super) const CAPABILITIES: &str = r#"{"logging":{},"prompts":{"listChanged":true},"tools":{"listChanged":true}}"#;

/// What is done before the answer.
pub(super) enum Step {
    /// Tells how far the call has got, of 100.
    Progress(u32),
    /// Sends a notification that belongs to the call.
    Notify(&'static str, Value),
    /// Tells whoever wants to know.
    Publish(Change<'static>),
    /// Makes the response an event stream.
    Stream,
    /// Closes the connection, to which the client comes back.
    Pause,
    /// Takes time.
    Wait(Duration),
}

/// What becomes of a request.
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) answer: ServerAnswer,
}

impl From<ServerAnswer> for Script {
    fn from(answer: ServerAnswer) -> Self {
        Self { steps: Vec::new(), answer }
    }
}

/// The result of `tools/list`, as the library is to know it and as clients get it.
pub(super) fn list() -> Value {
    let tool = |name: &str, properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        json!({"name": name, "description": format!("{name}, for the conformance suite"), "inputSchema": schema})
    };
    let nothing = [
        "test_simple_text",
        "test_error_handling",
        "test_tool_with_progress",
        "test_reconnection",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
    ];
    let mut tools: Vec<_> = nothing.iter().map(|name| tool(name, json!({}))).collect();
    tools.push(tool("test_custom_header", json!({"region": {"type": "string", "x-mcp-header": "Region"}})));
    json!({"tools": tools, "ttlMs": 0, "cacheScope": "public"})
}

/// What becomes of this request.
pub(super) fn script(request: &IncomingRequest) -> Script {
    match request.method() {
        "tools/list" => ServerAnswer::of(&list()).into(),
        "prompts/list" => ServerAnswer::of(&json!({"prompts": [], "ttlMs": 0, "cacheScope": "public"})).into(),
        "tools/call" => {
            let params: Value = request.params().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            tool(params["name"].as_str().unwrap_or_default(), request)
        }
        _ => ServerAnswer::method_not_found().into(),
    }
}

fn tool(name: &str, request: &IncomingRequest) -> Script {
    let moment = || Step::Wait(Duration::from_millis(50));
    let done = says(name);
    match name {
        "test_simple_text" => says("This is a simple text response for testing.").into(),
        "test_error_handling" => {
            let content = json!([{"type": "text", "text": "This tool intentionally returns an error for testing"}]);
            ServerAnswer::of(&json!({"content": content, "isError": true})).into()
        }
        "test_tool_with_progress" => {
            let steps = vec![Step::Progress(0), moment(), Step::Progress(50), moment(), Step::Progress(100)];
            Script { steps, answer: done }
        }
        // Under a revision whose streams cannot be taken up again, it is a call like others.
        "test_reconnection" => Script { steps: vec![Step::Stream, Step::Pause, moment()], answer: done },
        "test_missing_capability" => {
            let capabilities: Value = serde_json::from_str(request.client_capabilities()).unwrap_or_default();
            let is_capable = capabilities["sampling"].is_object();
            if is_capable { done.into() } else { ServerAnswer::missing_capability(r#"{"sampling":{}}"#).into() }
        }
        "test_streaming_elicitation" if request.version == ProtocolVersion::V2026_07_28 => {
            let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
            let params = json!({"mode": "form", "message": "Yes or no?", "requestedSchema": schema});
            let asked = json!({"answer": {"method": "elicitation/create", "params": params}});
            let answer = json!({"resultType": "input_required", "inputRequests": asked, "requestState": "asked"});
            Script { steps: vec![Step::Stream, moment()], answer: ServerAnswer::of(&answer) }
        }
        "test_logging_tool" => {
            // The library sends it to those who asked for the level.
            let log = Step::Notify("notifications/message", json!({"level": "info", "data": "logged"}));
            Script { steps: vec![log, moment()], answer: done }
        }
        "test_trigger_tool_change" => Script { steps: vec![Step::Publish(Change::ToolsList)], answer: done },
        "test_trigger_prompt_change" => Script { steps: vec![Step::Publish(Change::PromptsList)], answer: done },
        "test_streaming_elicitation" | "test_custom_header" => done.into(),
        _ => ServerAnswer::invalid_params("There is no such tool").into(),
    }
}

fn says(text: &str) -> ServerAnswer {
    ServerAnswer::of(&json!({"content": [{"type": "text", "text": text}]}))
}
