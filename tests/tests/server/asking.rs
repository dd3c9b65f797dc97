//! Requests of the server's, before 2026-07-28: asked on a stream, answered by POST (S11, S7).

use mcp_sse_core::server::{SendError, ServerEvent, ServerLimits};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::{Value, json};

fn call(session: &str) -> HttpMessage {
    HttpMessage::in_session(session, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}))
}

fn answer(session: &str, id: &Value) -> HttpMessage {
    HttpMessage::in_session(session, &json!({"jsonrpc": "2.0", "id": id, "result": {"a": 1}}))
}

/// S11: asked on the call's stream, before its answer.
#[test]
fn s11_a_call_can_ask_its_client() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session));
    let name = driver.request().call;
    let ask = driver.server.ask(name, "elicitation/create", Some(r#"{"message":"?"}"#), driver.time()).unwrap();
    let asked = driver.pull(id).messages().remove(0);
    assert_eq!((&asked["method"], &asked["params"]["message"]), (&json!("elicitation/create"), &json!("?")));
    let reply = driver.exchange(&answer(&session, &asked["id"]));
    assert_eq!((reply.status(), reply.text()), (202, ""));
    assert_eq!(driver.reply_to(ask).result(), Some(r#"{"a":1}"#));
    driver.answer(name);
    assert_eq!((driver.pull(id).messages().len(), driver.pull(id).end), (2, End::Whole));
}

/// S9: another session cannot answer, nor can an id of another type.
#[test]
fn s9_only_who_was_asked_can_answer() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let other = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session));
    let name = driver.request().call;
    let ask = driver.server.ask(name, "roots/list", None, driver.time()).unwrap();
    let asked = driver.pull(id).messages()[0]["id"].clone();
    driver.cancelled();
    for (session, id) in
        [(&other, asked.clone()), (&session, json!(asked.to_string())), (&session, json!(-1)), (&session, json!("x"))]
    {
        assert_eq!(driver.exchange(&answer(session, &id)).status(), 202);
        assert!(driver.event().is_none());
    }
    driver.exchange(&answer(&session, &asked));
    driver.reply_to(ask);
}

/// What nobody answers fails, in time or with its session.
#[test]
fn s11_what_is_not_answered_fails() {
    let mut driver = ServerDriver::new(config().with_keep_alive(None));
    let session = driver.initialize("2025-11-25");
    let key = driver.last_session();
    let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", &session);
    assert_eq!(driver.server.ask_session(key, "roots/list", None, driver.time()), Err(SendError::NoReader));
    let stream = driver.give(&get);
    let late = driver.server.ask_session(key, "roots/list", None, driver.time()).unwrap();
    driver.pull(stream);
    driver.cancelled();
    driver.wait(600_000);
    assert!(matches!(driver.event(), Some(ServerEvent::AskFailed { ask }) if ask == late));
    let lost = driver.server.ask_session(key, "roots/list", None, driver.time()).unwrap();
    driver.exchange(&HttpMessage::new("DELETE", "/mcp").with("Mcp-Session-Id", &session));
    assert!(matches!(driver.event(), Some(ServerEvent::AskFailed { ask }) if ask == lost));
}

/// 2026-07-28 has no such requests; before, their number is bounded.
#[test]
fn s11_asking_is_bounded_and_not_of_2026_07_28() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_calls_per_session(2)));
    driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    let modern = driver.request().call;
    assert_eq!(driver.server.ask(modern, "roots/list", None, driver.time()), Err(SendError::NotInRevision));
    let session = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session));
    let name = driver.request().call;
    for number in 0..3 {
        let asked = driver.server.ask(name, "roots/list", None, driver.time());
        assert_eq!(asked.is_ok(), number < 2);
        driver.pull(id);
    }
}
