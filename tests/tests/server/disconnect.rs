//! What it means that a client goes away (S4, PF-S07), under 2026-07-28.

use mcp_sse_core::server::{CancelReason, SendError, ServerAnswer, ServerEvent, ServerLimits};
use mcp_sse_tests::server_driver::{HttpMessage, ServerDriver, config};
use serde_json::json;

fn call() -> HttpMessage {
    HttpMessage::modern(1, "tools/call", json!({"name": "x", "_meta": {"progressToken": 1}}))
}

/// S4, PF-S07: the handler hears of it, and nothing more is written or kept.
#[test]
fn s4_the_client_going_away_cancels_its_call() {
    for is_streaming in [false, true] {
        let mut driver = ServerDriver::default();
        let id = driver.give(&call());
        let call = driver.request().call;
        if is_streaming {
            driver.server.progress(call, 1.0, None, None, driver.time()).unwrap();
            driver.pull(id);
        }
        driver.leave(id);
        let Some(ServerEvent::Cancelled { call: cancelled, reason }) = driver.event() else { panic!("cancelled") };
        assert_eq!((cancelled, reason), (call, CancelReason::Gone));
        assert!(!driver.server.is_open(call));
        let now = driver.time();
        assert_eq!(driver.server.progress(call, 2.0, None, None, now), Err(SendError::Ended));
        assert_eq!(driver.server.respond(call, ServerAnswer::result("{}"), now), Err(SendError::Ended));
        assert_eq!((driver.server.exchange_count(), driver.server.stream_count()), (0, 0));
        assert_eq!(driver.server.poll_timeout(), None, "nothing is left to wait for");
    }
}

/// S4, PF-S07: one who leaves after the answer was made cancels nothing, and harms nobody.
#[test]
fn s4_a_client_that_leaves_after_the_answer_cancels_nothing() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&call());
    let name = driver.request().call;
    driver.server.stream(name, driver.time()).unwrap();
    driver.answer(name);
    driver.leave(id);
    driver.leave(id);
    assert!(driver.event().is_none());
    assert_eq!((driver.server.exchange_count(), driver.server.stream_count()), (0, 0));
    let next = driver.give(&call());
    let name = driver.request().call;
    driver.answer(name);
    assert_eq!(driver.pull(next).status(), 200);
}

/// S4: a client that goes before its request is whole has asked for nothing.
#[test]
fn s4_half_a_request_is_none() {
    let request = call();
    for cut in 0..request.body.len() {
        let mut driver = ServerDriver::default();
        let now = driver.time();
        let id = driver.server.on_request(request.head(), now);
        driver.server.on_body(id, &request.body[..cut], now);
        driver.leave(id);
        assert!(driver.event().is_none());
        assert_eq!((driver.server.exchange_count(), driver.server.poll_timeout()), (0, None));
    }
}

/// S4: a call that takes too long is answered with an error, and its handler is told.
#[test]
fn s4_a_call_without_an_end_is_ended() {
    let limits = ServerLimits::default().with_call_timeout(std::time::Duration::from_secs(5));
    let mut driver = ServerDriver::new(config().with_limits(limits));
    let id = driver.give(&call());
    let call = driver.request().call;
    driver.wait(5_000);
    assert_eq!(driver.pull(id).code(), -32603);
    let Some(ServerEvent::Cancelled { call: cancelled, reason }) = driver.event() else { panic!("cancelled") };
    assert_eq!((cancelled, reason), (call, CancelReason::Timeout));
}
