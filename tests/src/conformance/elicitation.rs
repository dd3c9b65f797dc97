//! Answers to what a server asks of a client: elicitation, sampling, roots.
//!
//! Rules: there is no user here, so a form is filled in with its defaults (SEP-1034), and a field without one with the
//! plainest value of its type.

use serde_json::{Map, Value, json};

/// The capabilities that go with these answers.
pub fn capabilities() -> Value {
    json!({"elicitation": {}, "roots": {}, "sampling": {}})
}

/// The answer to a request of the server's.
///
/// # Errors
/// If there is none for this method.
pub fn answer(method: &str, params: &Value) -> Result<Value, String> {
    match method {
        "elicitation/create" => Ok(json!({"action": "accept", "content": fill_in(&params["requestedSchema"])})),
        "roots/list" => Ok(json!({"roots": []})),
        "sampling/createMessage" => Ok(json!({
            "role": "assistant",
            "content": {"type": "text", "text": "sampled"},
            "model": "none",
            "stopReason": "endTurn",
        })),
        _ => Err(format!("no answer to {method}")),
    }
}

fn fill_in(schema: &Value) -> Value {
    let fields = schema["properties"].as_object();
    let filled: Map<String, Value> =
        fields.into_iter().flatten().map(|(name, field)| (name.clone(), plainest(field))).collect();
    Value::Object(filled)
}

fn plainest(field: &Value) -> Value {
    if let Some(default) = field.get("default") {
        return default.clone();
    }
    if let Some(choice) = field["enum"].get(0) {
        return choice.clone();
    }
    match field["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => field.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("array") => json!([]),
        _ => json!("text"),
    }
}
