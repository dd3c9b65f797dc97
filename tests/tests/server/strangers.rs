//! Sessions and calls are each other's strangers (S9).

use mcp_sse_core::server::{SendError, ServerAnswer, ServerLimits, WhenFull};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::json;

/// S9: the same id in many sessions and requests is as many calls, and each answer goes to its own.
#[test]
fn s9_equal_ids_of_different_clients_never_meet() {
    let mut driver = ServerDriver::default();
    let sessions: Vec<String> = (0..3).map(|_| driver.initialize("2025-11-25")).collect();
    let (channel, endpoint) = driver.open_channel();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut asked = Vec::new();
    for session in &sessions {
        let id = driver.give(&HttpMessage::in_session(session, &list));
        asked.push((id, driver.request().call));
    }
    let modern = driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    asked.push((modern, driver.request().call));
    driver.exchange(&HttpMessage::post(&endpoint, list.to_string()));
    asked.push((channel, driver.request().call));
    for (number, (_, call)) in asked.iter().enumerate().rev() {
        let answer = ServerAnswer::result(json!({"for": number}).to_string());
        driver.server.respond(*call, answer, driver.time()).unwrap();
    }
    for (number, (id, _)) in asked.iter().enumerate() {
        let reply = driver.pull(*id);
        let message = if reply.is_stream() { reply.messages().remove(0) } else { reply.json() };
        assert_eq!(message["result"]["for"], number);
    }
}

/// S9: one session that is cut off takes nobody with it.
#[test]
fn s9_the_failure_of_one_session_is_its_own() {
    let limits = ServerLimits::default().with_max_queue_messages(1);
    let mut driver = ServerDriver::new(config().with_when_full(WhenFull::Close).with_limits(limits));
    let (slow, _) = driver.open_channel();
    let slow_key = driver.last_session();
    let (good, endpoint) = driver.open_channel();
    for _ in 0..3 {
        driver.server.broadcast("notifications/custom", None, driver.time());
        driver.pull(good);
    }
    assert_eq!(driver.pull(slow).end, End::Cut);
    assert_eq!(driver.server.send(slow_key, "notifications/custom", None, driver.time()), Err(SendError::Ended));
    assert_eq!((driver.pull(good).messages().len(), driver.pull(good).end), (3, End::Open));
    let post = HttpMessage::post(&endpoint, json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string());
    assert_eq!(driver.exchange(&post).status(), 202);
    assert_eq!(driver.pull(good).messages().len(), 4);
}
