//! Our own clients against each, in every era.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sse_blocking::{CallEvent, CallOptions, Change, Client, ErrorReply, Protocol, Sent};
use mcp_sse_core::http::{Era, ProtocolVersion};
use mcp_sse_tests::blocking::{BOUND, within};
use mcp_sse_tests::over_both_servers;
use mcp_sse_tests::served::{ERAS, Served, ServerAdapter, text_of, tool, wait_until};
use mcp_sse_tests::tokio_client;
use serde_json::{Value, json};

fn is_modern(version: ProtocolVersion) -> bool {
    version.era() == Era::Modern
}

fn list_and_call(client: &Client) {
    let list: Value = client.call_as("tools/list", &()).unwrap();
    assert_eq!(list["tools"][0]["name"], "add");
    let reply = client.call("tools/call", &tool("add", &json!({"a": 2, "b": 3}))).unwrap();
    assert_eq!(text_of(reply.result().unwrap()), "5");
    // A JSON-RPC error is an answer.
    assert_eq!(client.call("tools/call", &tool("none", &json!({}))).unwrap().result().unwrap_err().code, -32602);
    assert_eq!(client.call("no/such", &()).unwrap().result().unwrap_err().code, -32601);
    let mut progress = 0;
    let reply = client.call_with("tools/call", &tool("progress", &json!({})), &within(BOUND), |event| {
        progress += usize::from(matches!(event, CallEvent::Notification { .. }));
        ControlFlow::Continue(())
    });
    assert_eq!((text_of(reply.unwrap().result().unwrap()), progress), ("done".to_owned(), 3));
    client.notify("notifications/roots/list_changed", &()).unwrap();
}

fn s2_s7_s11_every_revision_is_served_on_one_listener<A: ServerAdapter>() {
    let served = Served::<A>::new();
    for version in ERAS {
        let client = served.client(Protocol::Fixed(version));
        list_and_call(&client);
        client.close().unwrap();
    }
    served.heard.wait_for("notifications/roots/list_changed", ERAS.len());
    served.heard.wait_for("opened", 4);
    served.heard.wait_for("ended", 4);
    let client = served.client(Protocol::Auto);
    list_and_call(&client);
    assert_eq!(client.protocol_version(), Some(ProtocolVersion::V2026_07_28));
}

fn s2_s7_s11_clients_of_the_tokio_adapter_are_served_as_well<A: ServerAdapter>() {
    let served = Arc::new(Served::<A>::new());
    let shared = Arc::clone(&served);
    tokio_client::run(async move {
        for protocol in ERAS.map(Protocol::Fixed).into_iter().chain([Protocol::Auto]) {
            let client = tokio_client::builder(&shared.url()).protocol(protocol).build().unwrap();
            let reply = client.call("tools/call", &tool("progress", &json!({}))).await.unwrap();
            assert_eq!(text_of(reply.result().unwrap()), "done", "{protocol:?}");
            client.close().await.unwrap();
        }
    });
}

fn s4_a_cancelled_call_is_told_to_its_handler<A: ServerAdapter>() {
    let served = Served::<A>::new();
    for version in ERAS {
        let client = served.client(Protocol::Fixed(version));
        list_and_call(&client);
        let before = (served.heard.count("waits"), served.heard.count("Some(Gone)"), served.heard.count("Some(Asked)"));
        let canceller = thread::spawn({
            let client = client.clone();
            move || {
                let options = CallOptions::default().with_timeout(Duration::from_millis(400));
                client.call_with("tools/call", &tool("wait", &json!({})), &options, |_| ControlFlow::Continue(()))
            }
        });
        served.heard.wait_for("waits", before.0 + 1);
        assert_eq!(canceller.join().unwrap().unwrap_err().kind(), "timeout");
        match is_modern(version) {
            true => served.heard.wait_for("Some(Gone)", before.1 + 1),
            false => served.heard.wait_for("Some(Asked)", before.2 + 1),
        }
    }
}

fn s7_s11_a_handler_asks_its_client<A: ServerAdapter>() {
    let served = Served::<A>::new();
    for version in ERAS.into_iter().filter(|version| !is_modern(*version)) {
        let answer = |_: &_| Ok::<_, ErrorReply>(json!({"role": "user"}));
        let client = served.builder(Protocol::Fixed(version)).handle("sampling/createMessage", answer).build().unwrap();
        let reply = client.call("tools/call", &tool("ask", &json!({}))).unwrap();
        assert_eq!(text_of(reply.result().unwrap()), r#"{"role":"user"}"#, "{version}");
    }
    // Since 2026-07-28 a server asks by its result.
    let client = served.client(Protocol::Fixed(ProtocolVersion::V2026_07_28));
    let reply = client.call("tools/call", &tool("ask", &json!({}))).unwrap();
    assert_eq!(text_of(reply.result().unwrap()), "the revision has no such message");
}

fn s6_s8_what_is_published_reaches_who_listens_in_every_era<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let listeners: Vec<_> = ERAS
        .into_iter()
        .map(|version| {
            let client = served.client(Protocol::Fixed(version));
            let listener = client.clone();
            let thread = thread::spawn(move || {
                let mut heard = None;
                let listened = listener.listen(&json!({"toolsListChanged": true}), |event| {
                    let CallEvent::Notification { message, .. } = event else { return ControlFlow::Continue(()) };
                    heard = message.method().map(str::to_owned);
                    ControlFlow::Break(())
                });
                assert_eq!(listened.unwrap_err().kind(), "cancelled");
                heard
            });
            (client, thread)
        })
        .collect();
    let queued = |deliveries: &[mcp_sse_blocking::Delivery]| {
        deliveries.iter().filter(|delivery| delivery.outcome == Ok(Sent::Queued)).count()
    };
    // Each once, as soon as it listens.
    let mut delivered = BTreeMap::new();
    wait_until("nobody listens", || {
        thread::sleep(Duration::from_millis(20));
        queued(&served.server.publish(Change::ToolsList)) > 0
            || listeners.iter().all(|(_, thread)| thread.is_finished())
    });
    wait_until("somebody hears nothing", || {
        served.server.publish(Change::ToolsList);
        thread::sleep(Duration::from_millis(20));
        listeners.iter().all(|(_, thread)| thread.is_finished())
    });
    for (version, (client, thread)) in ERAS.into_iter().zip(listeners) {
        delivered.insert(version, thread.join().unwrap());
        drop(client);
    }
    let expected = Some("notifications/tools/list_changed".to_owned());
    assert!(delivered.values().all(|heard| *heard == expected), "{delivered:?}");
}

fn s8_a_broadcast_tells_what_became_of_it_for_each_session<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let client = served.client(Protocol::Fixed(ProtocolVersion::V2024_11_05));
    let other = served.client(Protocol::Fixed(ProtocolVersion::V2024_11_05));
    list_and_call(&client);
    list_and_call(&other);
    assert_eq!(served.server.sessions().len(), 2);
    let outcomes = |expected: usize| {
        let deliveries = served.server.broadcast("notifications/message", &json!({"level": "info", "data": 1}));
        assert_eq!(deliveries.len(), expected);
        deliveries.iter().all(|delivery| delivery.outcome == Ok(Sent::Queued))
    };
    assert!(outcomes(2));
    other.close().unwrap();
    served.heard.wait_for("ended", 1);
    assert!(outcomes(1));
    list_and_call(&client);
    assert!(
        served.server.broadcast("notifications/message", &json!(7)).iter().all(|delivery| delivery.outcome.is_err())
    );
}

fn s11_a_session_that_the_server_has_ended_is_opened_anew<A: ServerAdapter>() {
    let served = Served::<A>::new();
    for version in ERAS.into_iter().filter(|version| !is_modern(*version)) {
        let client = served.client(Protocol::Fixed(version));
        list_and_call(&client);
        let session = *served.server.sessions().last().unwrap();
        served.server.end_session(session);
        // A channel's end and the next request cross each other.
        wait_until("no new session", || client.call("tools/list", &()).is_ok_and(|reply| reply.result().is_ok()));
        list_and_call(&client);
        assert!(!served.server.sessions().contains(&session));
        client.close().unwrap();
    }
    served.heard.wait_for("opened", 8);
    served.heard.wait_for("ended", 8);
}

over_both_servers! {
    s2_s7_s11_every_revision_is_served_on_one_listener,
    s2_s7_s11_clients_of_the_tokio_adapter_are_served_as_well,
    s4_a_cancelled_call_is_told_to_its_handler,
    s7_s11_a_handler_asks_its_client,
    s6_s8_what_is_published_reaches_who_listens_in_every_era,
    s8_a_broadcast_tells_what_became_of_it_for_each_session,
    s11_a_session_that_the_server_has_ended_is_opened_anew,
}
