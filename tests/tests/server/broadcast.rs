//! One message to one session, or to all (S8).

use mcp_sse_core::server::{Change, QueueLimit, Recipient, SendError, Sent, ServerLimits};
use mcp_sse_tests::server_driver::{HttpMessage, ServerDriver, config};
use serde_json::json;

/// S8, weak points 1 and 3: with clients present, each gets it, and the sender learns of each.
#[test]
fn s8_a_broadcast_reaches_every_session_and_tells_of_each() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_queue_messages(1)));
    let channels: Vec<_> = (0..3).map(|_| (driver.open_channel().0, driver.last_session())).collect();
    let session = driver.initialize("2025-11-25");
    let listening = driver.last_session();
    let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", &session);
    let stream = driver.give(&get);
    driver.initialize("2025-11-25");
    let deaf = driver.last_session();
    // One that is full, one that is closed.
    driver.server.send(channels[0].1, "notifications/first", None, driver.time()).unwrap();
    driver.leave(channels[1].0);

    let told = driver.server.broadcast("notifications/custom", Some(r#"{"a":1}"#), driver.time());
    let told: Vec<_> = told.iter().map(|delivery| (delivery.to, delivery.outcome)).collect();
    assert_eq!(
        told,
        [
            (Recipient::Session(channels[0].1), Err(SendError::Full { limit: QueueLimit::Messages })),
            (Recipient::Session(channels[2].1), Ok(Sent::Queued)),
            (Recipient::Session(listening), Ok(Sent::Queued)),
            (Recipient::Session(deaf), Err(SendError::NoReader)),
        ]
    );
    for id in [channels[2].0, stream] {
        let messages = driver.pull(id).messages();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0], json!({"jsonrpc": "2.0", "method": "notifications/custom", "params": {"a": 1}}));
    }
    assert_eq!(driver.pull(channels[0].0).messages()[0]["method"], "notifications/first");
    assert!(
        driver
            .server
            .broadcast("notifications/custom", Some("["), driver.time())
            .iter()
            .all(|delivery| { delivery.outcome == Err(SendError::NotAnObject) })
    );
}

/// S8: to one session and no other.
#[test]
fn s8_a_message_goes_to_the_session_it_is_for() {
    let mut driver = ServerDriver::default();
    let (first, _) = driver.open_channel();
    let key = driver.last_session();
    let (second, _) = driver.open_channel();
    driver.server.send(key, "notifications/custom", None, driver.time()).unwrap();
    assert_eq!((driver.pull(first).messages().len(), driver.pull(second).messages().len()), (1, 0));
    driver.leave(first);
    assert_eq!(driver.server.send(key, "notifications/custom", None, driver.time()), Err(SendError::Ended));
}

/// S8: a change is told to those that want to know of it, however they said so.
#[test]
fn s8_a_change_is_told_to_who_wants_to_know() {
    let mut driver = ServerDriver::default();
    let filter = json!({"notifications": {"resourceSubscriptions": ["file:///a"]}});
    let subscription = driver.give(&HttpMessage::modern("s", "subscriptions/listen", filter));
    let (channel, endpoint) = driver.open_channel();
    let post = |message: serde_json::Value| HttpMessage::post(&endpoint, message.to_string());
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let subscribe =
        |id: u32, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": "file:///a"}});
    assert_eq!(driver.server.publish(Change::ToolsList, driver.time()), [], "nobody is initialized");
    driver.exchange(&post(initialize));
    driver.exchange(&post(subscribe(2, "resources/subscribe")));
    let call = driver.request().call;
    assert_eq!(
        driver.server.publish(Change::resource("file:///a"), driver.time()).len(),
        1,
        "not before it was granted"
    );
    driver.answer(call);
    assert_eq!(driver.server.publish(Change::resource("file:///a"), driver.time()).len(), 2);
    assert_eq!(driver.server.publish(Change::resource("file:///b"), driver.time()).len(), 0);
    assert_eq!(driver.server.publish(Change::ToolsList, driver.time()).len(), 1);
    driver.exchange(&post(subscribe(3, "resources/unsubscribe")));
    let call = driver.request().call;
    driver.answer(call);
    assert_eq!(driver.server.publish(Change::resource("file:///a"), driver.time()).len(), 1);
    let methods = |messages: Vec<serde_json::Value>| {
        messages.into_iter().filter_map(|m| m["method"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(
        methods(driver.pull(channel).messages()),
        ["notifications/resources/updated", "notifications/tools/list_changed"]
    );
    assert_eq!(methods(driver.pull(subscription).messages()).len(), 4);
}
