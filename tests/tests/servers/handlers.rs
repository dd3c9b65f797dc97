//! What handlers see and say, and what their failures cost.

use std::ops::ControlFlow;
use std::time::Duration;

use mcp_sse_blocking::{ErrorReply, Protocol};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::ServerLimits;
use mcp_sse_tests::blocking::within;
use mcp_sse_tests::over_both_servers;
use mcp_sse_tests::served::{Response, Served, ServerAdapter, modern, text_of, tool};
use mcp_sse_tests::server_driver::config;
use serde_json::json;

fn a_handler_that_fails_is_answered_for_in_a_constant_text<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let mut socket = served.socket();
    for failing in ["panic", "array"] {
        let response = socket.exchange(&modern(failing, &json!({})));
        assert_eq!(response.json()["error"], json!({"code": -32603, "message": "Internal error"}), "{failing}");
    }
    let response = socket.exchange(&modern("add", &json!({"a": 1, "b": 1})));
    assert_eq!(text_of(&response.json()["result"].to_string()), "2");
}

fn a_handler_sees_who_asks<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let mut socket = served.socket();
    let text = |response: Response| text_of(&response.json()["result"].to_string());
    assert_eq!(text(socket.exchange(&modern("header", &json!({})).with("x-test", "here"))), "here");
    assert_eq!(text(socket.exchange(&modern("header", &json!({})))), "none");
    assert_eq!(text(socket.exchange(&modern("peer", &json!({})))), "127.0.0.1");
}

fn what_is_asked_for_a_cancelled_call_is_not_waited_for<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let client = served.builder(Protocol::Fixed(ProtocolVersion::V2025_11_25));
    // Nobody answers: the handler of the client's takes for ever, and the session ends meanwhile.
    let server = served.server.clone();
    let client = client
        .handle("sampling/createMessage", move |_| {
            server.sessions().into_iter().for_each(|session| server.end_session(session));
            Ok::<_, ErrorReply>(json!({}))
        })
        .build()
        .unwrap();
    let options = within(Duration::from_secs(2));
    client.call_with("tools/call", &tool("ask", &json!({})), &options, |_| ControlFlow::Continue(())).ok();
    served.heard.wait_for("nobody answered", 1);
}

/// In HTTP, and on a timer's account.
fn a_handler_that_fails_at_what_it_is_told_costs_nothing<A: ServerAdapter>() {
    for word in ["opened", "ended", "notifications/roots/list_changed"] {
        let limits = ServerLimits::default().with_session_timeout(Duration::from_millis(300));
        let served = Served::<A>::with_config(config().with_limits(limits));
        served.heard.dread(word);
        for round in 1..=2 {
            let client = served.client(Protocol::Fixed(ProtocolVersion::V2025_11_25));
            client.notify("notifications/roots/list_changed", &()).unwrap();
            client.call("tools/call", &tool("add", &json!({}))).unwrap();
            // Nobody closes it: its time runs out.
            served.heard.wait_for("ended", round);
        }
        assert_eq!(served.heard.count(word), 2);
    }
}

over_both_servers! {
    a_handler_that_fails_is_answered_for_in_a_constant_text,
    a_handler_sees_who_asks,
    what_is_asked_for_a_cancelled_call_is_not_waited_for,
    a_handler_that_fails_at_what_it_is_told_costs_nothing,
}
