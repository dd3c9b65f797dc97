//! The end of a server (S10).

use mcp_sse_core::server::{CancelReason, ServerEvent};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver};
use serde_json::json;

/// S10, T151: nothing new, what is open ends as it should, what waits is written.
#[test]
fn s10_shutting_down_refuses_the_new_and_ends_the_open() {
    let mut driver = ServerDriver::default();
    let subscription = driver.give(&HttpMessage::modern(
        "s",
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    ));
    let (idle, _) = driver.open_channel();
    let (busy, endpoint) = driver.open_channel();
    let busy_session = driver.last_session();
    driver.exchange(&HttpMessage::post(
        &endpoint,
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string(),
    ));
    let on_channel = driver.request().call;
    let session = driver.initialize("2025-11-25");
    let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", &session);
    let listening = driver.give(&get);
    let running = driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    let call = driver.request().call;
    driver.server.send(busy_session, "notifications/queued", None, driver.time()).unwrap();

    driver.server.shut_down(driver.time());
    for request in [
        HttpMessage::modern(2, "tools/list", json!({})),
        HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream"),
        get,
        HttpMessage::in_session(&session, &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
    ] {
        let reply = driver.exchange(&request);
        assert_eq!((reply.status(), reply.header("Retry-After")), (503, Some("1")), "{request:?}");
    }
    assert_eq!((driver.pull(subscription).end, driver.pull(subscription).messages().len()), (End::Whole, 3));
    assert_eq!((driver.pull(idle).end, driver.pull(listening).end), (End::Whole, End::Whole));
    assert_eq!((driver.pull(busy).end, driver.pull(running).end), (End::Open, End::Open));
    assert!(!driver.server.is_shut_down());

    driver.answer(call);
    driver.answer(on_channel);
    assert_eq!((driver.pull(running).status(), driver.pull(running).end), (200, End::Whole));
    assert_eq!(
        (driver.pull(busy).end, driver.pull(busy).messages().len()),
        (End::Whole, 2),
        "nothing that waited is lost"
    );
    assert!(driver.server.is_shut_down());
}

/// S10: within a bound.
#[test]
fn s10_what_does_not_end_is_cut_at_the_bound() {
    let mut driver = ServerDriver::default();
    let running = driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    let call = driver.request().call;
    let (channel, endpoint) = driver.open_channel();
    driver.exchange(&HttpMessage::post(
        &endpoint,
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string(),
    ));
    let on_channel = driver.request().call;
    let half = driver.server.on_request(HttpMessage::modern(1, "tools/list", json!({})).head(), driver.time());
    driver.server.shut_down(driver.time());
    driver.server.shut_down(driver.time());
    driver.wait(9_999);
    assert!(driver.cancelled().is_empty());
    driver.wait(1);
    let mut cancelled = Vec::new();
    while let Some(event) = driver.event() {
        if let ServerEvent::Cancelled { call, reason } = event {
            assert_eq!(reason, CancelReason::Shutdown);
            cancelled.push(call);
        }
    }
    assert_eq!(cancelled, [call, on_channel]);
    for id in [running, channel, half] {
        assert_eq!(driver.pull(id).end, End::Cut);
    }
    assert!(driver.server.is_shut_down());
    assert_eq!((driver.server.stream_count(), driver.server.call_count(), driver.server.sessions().count()), (0, 0, 0));
    assert_eq!(driver.server.poll_timeout(), None);
}
