//! F10: what comes on the stream of `subscriptions/listen`, and the waits before it is opened again.

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_sse_core::client::subscription::{
    ACKNOWLEDGED, CANCELLED, FIRST_WAIT, Honoured, LISTEN, LONGEST_WAIT, Part, SUBSCRIPTION_ID, Tag, honoured, part,
    reopen_wait, tag,
};
use mcp_sse_core::jsonrpc::{Id, Message};
use serde_json::{Value, json};

fn told(message: &Value, id: impl Into<Id>) -> Part {
    part(&Message::from_text(message.to_string()).unwrap(), &id.into())
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// F10: the messages of the page, in their order.
#[test]
fn f10_the_pages_messages_are_told_apart() {
    assert_eq!(LISTEN, "subscriptions/listen");
    let meta = json!({"io.modelcontextprotocol/subscriptionId": 1});
    let acknowledged = notification(
        "notifications/subscriptions/acknowledged",
        json!({"_meta": meta, "notifications": {
            "toolsListChanged": true, "resourceSubscriptions": ["file:///project/config.json"]}}),
    );
    let updated =
        notification("notifications/resources/updated", json!({"_meta": meta, "uri": "file:///project/config.json"}));
    let end = json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "_meta": meta}});
    assert_eq!(told(&acknowledged, 1), Part::Acknowledgment);
    assert_eq!(told(&updated, 1), Part::Notification);
    assert_eq!(told(&end, 1), Part::End);
    for message in [acknowledged, updated, end] {
        assert_eq!(told(&message, 2), Part::Foreign);
    }
}

/// F10: the graceful end is a result, or a cancellation that names the request; an error is none.
#[test]
fn f10_endings_are_told_by_the_id() {
    let table = [
        (json!({"jsonrpc": "2.0", "id": 7, "result": {}}), Part::End),
        (json!({"jsonrpc": "2.0", "id": "7", "result": {}}), Part::End),
        (json!({"jsonrpc": "2.0", "id": 8, "result": {}}), Part::Foreign),
        (json!({"jsonrpc": "2.0", "id": null, "result": {}}), Part::Foreign),
        (json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}}), Part::Refusal),
        (json!({"jsonrpc": "2.0", "id": 8, "error": {"code": -32601, "message": "no"}}), Part::Foreign),
        (json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}), Part::Foreign),
        (notification(CANCELLED, json!({"requestId": 7, "reason": "shutdown"})), Part::End),
        (notification(CANCELLED, json!({"requestId": 7.0, "_meta": {SUBSCRIPTION_ID: 7}})), Part::End),
        (notification(CANCELLED, json!({"requestId": 8, "_meta": {SUBSCRIPTION_ID: 7}})), Part::Foreign),
        (notification(CANCELLED, json!({"reason": "shutdown"})), Part::Foreign),
        (notification(CANCELLED, json!({"requestId": [7]})), Part::Foreign),
        (json!({"jsonrpc": "2.0", "method": CANCELLED}), Part::Foreign),
    ];
    for (message, expected) in table {
        assert_eq!(told(&message, 7), expected, "{message}");
    }
    let by_text = notification(CANCELLED, json!({"requestId": "listen-1"}));
    assert_eq!(told(&by_text, "listen-1"), Part::End);
}

/// F10: "then notifications carrying its id".
#[test]
fn f10_the_tag_says_whose_a_message_is() {
    let table = [
        (json!({"_meta": {SUBSCRIPTION_ID: 7}}), Tag::Ours),
        (json!({"_meta": {SUBSCRIPTION_ID: "7"}}), Tag::Ours),
        (json!({"_meta": {SUBSCRIPTION_ID: 8}}), Tag::Other),
        (json!({"_meta": {SUBSCRIPTION_ID: "listen-1"}}), Tag::Other),
        (json!({"_meta": {SUBSCRIPTION_ID: null}}), Tag::Other),
        (json!({"_meta": {SUBSCRIPTION_ID: {"id": 7}}}), Tag::Other),
        (json!({"_meta": {"subscriptionId": 7}}), Tag::Missing),
        (json!({"_meta": 7}), Tag::Missing),
        (json!({SUBSCRIPTION_ID: 7}), Tag::Missing),
        (json!({}), Tag::Missing),
        (json!([]), Tag::Missing),
    ];
    for (params, expected) in table {
        assert_eq!(tag(&params.to_string(), &Id::from(7)), expected, "{params}");
        let message = notification("notifications/tools/list_changed", params.clone());
        let part = if expected == Tag::Other { Part::Foreign } else { Part::Notification };
        if params.is_object() {
            assert_eq!(told(&message, 7), part, "{params}");
        }
    }
    assert_eq!(tag("", &Id::from(7)), Tag::Missing);
    assert_eq!(told(&json!({"jsonrpc": "2.0", "method": ACKNOWLEDGED}), 7), Part::Acknowledgment);
    assert_eq!(told(&notification(ACKNOWLEDGED, json!({"_meta": {SUBSCRIPTION_ID: 8}})), 7), Part::Foreign);
}

fn missing(asked: Value, acknowledged: Value) -> Vec<(String, Vec<String>)> {
    let params = |filter: Value| json!({"_meta": {}, "notifications": filter}).to_string();
    match honoured(&params(asked), &params(acknowledged)) {
        Honoured::All => Vec::new(),
        Honoured::Partly(missing) => {
            assert!(!missing.is_empty());
            missing.into_iter().map(|missing| (missing.member, missing.elements)).collect()
        }
        _ => panic!("an answer the test does not know"),
    }
}

/// F10: "The client SHOULD check the acknowledged filter against what it requested".
#[test]
fn f10_what_is_not_honoured_is_told() {
    let whole = |member: &str| (member.to_owned(), Vec::new());
    let asked = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": false,
        "resourceSubscriptions": ["file:///a", "file:///b"]});
    assert_eq!(missing(asked.clone(), asked.clone()), []);
    let more = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["file:///c", "file:///b", "file:///a"]});
    assert_eq!(missing(asked.clone(), more), []);
    assert_eq!(
        missing(asked.clone(), json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///b"]})),
        [whole("promptsListChanged"), ("resourceSubscriptions".to_owned(), vec!["file:///a".to_owned()])]
    );
    assert_eq!(
        missing(asked.clone(), json!({"toolsListChanged": false, "promptsListChanged": "true"})),
        [
            whole("promptsListChanged"),
            ("resourceSubscriptions".to_owned(), vec!["file:///a".to_owned(), "file:///b".to_owned()]),
            whole("toolsListChanged"),
        ]
    );
    assert_eq!(missing(json!({}), json!({})), []);
    assert_eq!(missing(json!({"resourceSubscriptions": [], "toolsListChanged": null}), json!({})), []);
    // A member of an extension.
    assert_eq!(missing(json!({"x": {"a": 1}}), json!({"x": {"a": 2}})), []);
    assert_eq!(missing(json!({"x": {"a": 1}}), json!({})), [whole("x")]);
    assert_eq!(missing(json!({"x": {"a": 1}}), json!({"x": false})), [whole("x")]);
}

/// F10: an acknowledgment that says nothing honours nothing.
#[test]
fn f10_an_acknowledgment_without_a_filter_honours_nothing() {
    let asked = r#"{"notifications":{"toolsListChanged":true}}"#;
    for told in ["", "{}", "[]", "null", r#"{"notifications":null}"#, r#"{"notifications":["toolsListChanged"]}"#] {
        assert!(matches!(honoured(asked, told), Honoured::Partly(missing) if missing.len() == 1), "{told}");
    }
    assert_eq!(honoured("{}", "{}"), Honoured::All);
}

/// F10: "1 s doubling to 30 s with jitter".
#[test]
fn f10_waits_double_to_half_a_minute_with_jitter() {
    assert_eq!((FIRST_WAIT, LONGEST_WAIT), (Duration::from_secs(1), Duration::from_secs(30)));
    let mut seeds: Vec<u64> = (0..300).collect();
    seeds.extend((0..64).map(|bit| 1 << bit));
    seeds.push(u64::MAX);
    for (failures, most) in
        [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (7, 30), (32, 30), (33, 30), (1000, 30), (u32::MAX, 30)]
    {
        let most = Duration::from_secs(most);
        let waits: Vec<Duration> = seeds.iter().map(|&seed| reopen_wait(failures, seed)).collect();
        assert!(waits.iter().all(|&wait| wait >= most / 2 && wait <= most));
        let apart: BTreeSet<Duration> = waits.iter().copied().collect();
        assert!(apart.len() > seeds.len() / 2, "seeds spread: {} of {}", apart.len(), seeds.len());
        let mean = waits.iter().sum::<Duration>() / u32::try_from(waits.len()).unwrap();
        assert!(mean > most * 7 / 10 && mean < most * 8 / 10, "in the middle: {mean:?} of {most:?}");
        assert!(seeds.iter().zip(waits).all(|(&seed, wait)| reopen_wait(failures, seed) == wait));
    }
    assert_eq!(reopen_wait(0, 42), Duration::ZERO);
}
