//! `subscriptions/listen` (S6).

use mcp_sse_core::client::subscription::{Part, part};
use mcp_sse_core::jsonrpc::{Id, Message};
use mcp_sse_core::server::{Change, Recipient, Sent, ServerConfig, ServerLimits};
use mcp_sse_tests::server_driver::{End, HttpMessage, INFO, ServerDriver, config};
use serde_json::{Value, json};

fn listen(filter: Value) -> HttpMessage {
    HttpMessage::modern("sub", "subscriptions/listen", json!({"notifications": filter}))
}

fn tag(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

/// S6: the acknowledgment first, with what is honoured; only that is told; everything bears the mark.
#[test]
fn s6_only_what_was_asked_for_is_told_behind_an_acknowledgment_and_under_the_mark() {
    let mut driver = ServerDriver::default();
    let filter = json!({"toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["file:///a"]});
    let id = driver.give(&listen(filter.clone()));
    assert!(driver.event().is_none(), "the embedder has no part in it");
    let messages = driver.pull(id).messages();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        messages[0]["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]})
    );
    let now = driver.time();
    for (change, told) in [
        (Change::ToolsList, 1),
        (Change::PromptsList, 0),
        (Change::ResourcesList, 0),
        (Change::resource("file:///a"), 1),
        (Change::resource("file:///b"), 0),
    ] {
        let deliveries = driver.server.publish(change, now);
        assert_eq!(deliveries.len(), told, "{change:?}");
        assert!(deliveries.iter().all(|delivery| delivery.outcome == Ok(Sent::Queued)));
    }
    let messages = driver.pull(id).messages();
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| tag(message) == "sub"));
    assert_eq!(messages[2]["params"]["uri"], "file:///a");
}

/// S6: a server honours what it said it can do, and has no such method if that is nothing.
#[test]
fn s6_what_the_server_cannot_do_is_not_honoured() {
    let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["file:///a"]});
    for (capabilities, honoured) in [
        (
            r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":false}}"#,
            Some(json!({"toolsListChanged": true})),
        ),
        (r#"{"resources":{"subscribe":true}}"#, Some(json!({"resourceSubscriptions": ["file:///a"]}))),
        (r#"{"tools":{}}"#, None),
    ] {
        let config = ServerConfig::new(INFO).unwrap().with_capabilities(capabilities).unwrap();
        let mut driver = ServerDriver::new(config);
        let id = driver.give(&listen(all.clone()));
        let reply = driver.pull(id);
        match honoured {
            Some(honoured) => assert_eq!(reply.messages()[0]["params"]["notifications"], honoured),
            None => assert_eq!((reply.status(), reply.code(), &reply.json()["id"]), (404, -32601, &json!("sub"))),
        }
    }
}

/// S6: what is no filter is refused; the number of resources is bounded.
#[test]
fn s6_filters_are_objects_and_bounded() {
    let limits = ServerLimits::default().with_max_subscribed_resources(2);
    for (params, status) in [
        (json!({}), 400),
        (json!({"notifications": true}), 400),
        (json!({"notifications": {"resourceSubscriptions": ["a", "b", "c"]}}), 400),
        (json!({"notifications": {"resourceSubscriptions": ["a", "b", "a"]}}), 200),
        (json!({"notifications": {"resourceSubscriptions": "a", "toolsListChanged": "true"}}), 200),
        (json!({"notifications": {}}), 200),
    ] {
        let mut driver = ServerDriver::new(config().with_limits(limits.clone()));
        let id = driver.give(&HttpMessage::modern(1, "subscriptions/listen", params.clone()));
        let reply = driver.pull(id);
        assert_eq!(reply.status(), status, "{params}");
        if status == 400 {
            assert_eq!(reply.code(), -32602);
        }
    }
}

/// S6: a graceful end is a cancellation that names the request, then the result, then the end.
#[test]
fn s6_a_graceful_end_is_a_cancellation_then_the_result() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&listen(json!({"toolsListChanged": true})));
    driver.pull(id);
    let told = driver.server.publish(Change::ToolsList, driver.time());
    let Recipient::Subscription(call) = told[0].to else { panic!("a subscription") };
    driver.server.end_subscription(call, driver.time());
    driver.server.end_subscription(call, driver.time());
    let reply = driver.pull(id).clone();
    let messages = reply.messages();
    assert_eq!((messages.len(), reply.end), (4, End::Whole));
    assert_eq!(
        (&messages[2]["method"], &messages[2]["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!("sub"))
    );
    assert_eq!((&messages[3]["id"], &messages[3]["result"]["resultType"]), (&json!("sub"), &json!("complete")));
    assert_eq!(messages[3]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
    // As our own client reads it.
    let parts =
        messages.iter().map(|message| part(&Message::from_text(message.to_string()).unwrap(), &Id::from("sub")));
    let parts: Vec<Part> = parts.collect();
    assert_eq!(parts, [Part::Acknowledgment, Part::Notification, Part::End, Part::End]);
    assert!(driver.server.publish(Change::ToolsList, driver.time()).is_empty());
    assert_eq!((driver.server.call_count(), driver.server.stream_count()), (0, 0));
}

/// S4: the client closes it, and nobody is troubled.
#[test]
fn s6_the_client_ends_it_by_going_away() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&listen(json!({"toolsListChanged": true})));
    driver.pull(id);
    driver.leave(id);
    assert!(driver.event().is_none());
    assert!(driver.server.publish(Change::ToolsList, driver.time()).is_empty());
    assert_eq!((driver.server.call_count(), driver.server.poll_timeout()), (0, None));
}

/// S6: it lives until one side ends it, and is kept alive.
#[test]
fn s6_it_has_no_deadline_and_is_kept_alive() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&listen(json!({"toolsListChanged": true})));
    for _ in 0..500 {
        driver.wait(15_000);
        driver.pull(id);
    }
    assert_eq!((driver.pull(id).end, driver.pull(id).text().matches(":\n\n").count() > 400), (End::Open, true));
}
