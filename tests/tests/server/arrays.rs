//! Arrays of messages, which 2025-03-26 has and no other revision (S11).

use mcp_sse_core::server::ServerLimits;
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::{Value, json};

fn ask(id: u32, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

fn tell(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// S11: each request of an array is answered on one stream, which ends with the last answer.
#[test]
fn s11_the_requests_of_an_array_are_answered_on_one_stream() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-03-26");
    let array = json!([ask(1, "tools/list"), tell("notifications/custom"), ask(2, "tools/list"), ask(3, "ping")]);
    let id = driver.give(&HttpMessage::in_session(&session, &array));
    let first = driver.request().call;
    let second = driver.request().call;
    driver.answer(second);
    assert_eq!(driver.pull(id).end, End::Open);
    driver.answer(first);
    let reply = driver.pull(id);
    let ids: Vec<_> = reply.messages().iter().map(|message| message["id"].clone()).collect();
    assert_eq!((ids, reply.end), (vec![json!(3), json!(2), json!(1)], End::Whole));
}

/// S11.
#[test]
fn s11_an_array_without_requests_is_202() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-03-26");
    let array = json!([tell("notifications/a"), {"jsonrpc": "2.0", "id": 99, "result": {}}, tell("notifications/b")]);
    let reply = driver.exchange(&HttpMessage::in_session(&session, &array));
    assert_eq!((reply.status(), reply.text()), (202, ""));
    let told = driver.events.iter().filter(|event| matches!(event, mcp_sse_core::server::ServerEvent::Notification(_)));
    assert_eq!(told.count(), 2);
}

/// S11, weak point 6: an array is taken whole or not at all.
#[test]
fn s11_an_array_with_one_bad_element_is_refused_whole() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_array_messages(3)));
    let session = driver.initialize("2025-03-26");
    for bad in [
        json!([]),
        json!([ask(1, "tools/list"), 7]),
        json!([ask(1, "tools/list"), {"jsonrpc": "2.0"}]),
        json!([[ask(1, "tools/list")]]),
        json!([ask(1, "tools/list"), ask(2, "initialize")]),
        json!([tell("a"), tell("b"), tell("c"), ask(1, "tools/list")]),
        json!([200, {"content-type": "text/html"}, ["x"]]),
    ] {
        driver.cancelled();
        let reply = driver.exchange(&HttpMessage::in_session(&session, &bad));
        assert_eq!((reply.status(), reply.code()), (400, -32600), "{bad}");
        assert!(driver.event().is_none());
    }
}

/// S11: no other revision takes one.
#[test]
fn s11_other_revisions_take_no_array() {
    let mut driver = ServerDriver::default();
    for version in ["2025-06-18", "2025-11-25"] {
        let session = driver.initialize(version);
        let reply = driver.exchange(&HttpMessage::in_session(&session, &json!([ask(1, "tools/list")])));
        assert_eq!((reply.status(), reply.code()), (400, -32600), "{version}");
    }
    let reply = driver.exchange(&HttpMessage::post("/mcp", json!([ask(1, "tools/list")]).to_string()));
    assert_eq!((reply.status(), reply.code()), (400, -32600));
}
