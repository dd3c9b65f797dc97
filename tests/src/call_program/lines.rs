//! What the `call` program prints: JSON Lines.
//!
//! Rule: a message is printed as the server wrote it, on one line. A line break in valid JSON is white space
//! between tokens, so a space can stand for it.

use std::time::Duration;

use mcp_sse_core::client::{CallError, CallEvent, Reply};
use mcp_sse_core::jsonrpc::{Id, Message};
use serde_json::json;

/// The line of an event; some are not printed.
pub(super) fn event(event: &CallEvent) -> Option<String> {
    Some(match event {
        CallEvent::Notification { attempt, message, .. } => {
            format!(r#"{{"type":"notification","attempt":{attempt},"message":{}}}"#, one_line(message))
        }
        CallEvent::Request { attempt, message, is_violation, .. } => format!(
            r#"{{"type":"request","attempt":{attempt},"violation":{is_violation},"message":{}}}"#,
            one_line(message)
        ),
        CallEvent::Reissue { attempt, cause, exposure, .. } => json!({
            "type": "reissue", "attempt": attempt, "cause": cause.to_string(), "exposure": exposure.as_str(),
        })
        .to_string(),
        CallEvent::Stray { attempt, id, bytes, .. } => {
            let id = id.as_ref().map_or_else(|| "null".to_owned(), Id::to_json);
            format!(r#"{{"type":"stray","attempt":{attempt},"id":{id},"bytes":{bytes}}}"#)
        }
        CallEvent::Oversized { attempt, limit, .. } => {
            json!({"type": "oversized", "attempt": attempt, "limit": limit}).to_string()
        }
        _ => return None,
    })
}

/// The last line of a call that was answered.
pub(super) fn answer(reply: &Reply, elapsed: Duration) -> String {
    let verdict = if reply.damage.is_some() { "salvaged" } else { "settled" };
    format!(
        r#"{{"type":"answer","verdict":"{verdict}","attempts":{},"status":{},"elapsed_ms":{},"message":{}}}"#,
        reply.attempts,
        reply.answer.info.status,
        elapsed.as_millis(),
        one_line(reply.message()),
    )
}

/// The last line of a call that was not.
pub(super) fn error(error: &CallError, elapsed: Duration) -> String {
    json!({
        "type": "error",
        "kind": error.kind(),
        "attempts": error.attempts(),
        "may_have_run": error.may_have_run(),
        "elapsed_ms": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        "message": error.to_string(),
    })
    .to_string()
}

/// The last line of a call that could not be made as asked.
pub(super) fn misuse(message: &str) -> String {
    json!({
        "type": "error", "kind": "misuse", "attempts": 0, "may_have_run": false, "elapsed_ms": 0, "message": message,
    })
    .to_string()
}

fn one_line(message: &Message) -> String {
    message.as_json().replace(['\r', '\n'], " ")
}
