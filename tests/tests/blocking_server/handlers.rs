//! What handlers see and say, and what their failures cost.

use mcp_sse_blocking::{Protocol, ServeConfig};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::blocking::{BOUND, watched};
use mcp_sse_tests::server_driver::config;
use serde_json::json;

use crate::support::{Served, modern, text_of, tool};

#[test]
fn a_handler_that_fails_is_answered_for_in_a_constant_text() {
    let served = Served::new();
    let mut socket = served.socket();
    for failing in ["panic", "array"] {
        let response = socket.exchange(&modern(failing, &json!({})));
        assert_eq!(response.json()["error"], json!({"code": -32603, "message": "Internal error"}), "{failing}");
    }
    let response = socket.exchange(&modern("add", &json!({"a": 1, "b": 1})));
    assert_eq!(text_of(&response.json()["result"].to_string()), "2");
}

#[test]
fn a_handler_sees_who_asks() {
    let served = Served::new();
    let mut socket = served.socket();
    let text = |response: crate::support::Response| text_of(&response.json()["result"].to_string());
    assert_eq!(text(socket.exchange(&modern("header", &json!({})).with("x-test", "here"))), "here");
    assert_eq!(text(socket.exchange(&modern("header", &json!({})))), "none");
    assert_eq!(text(socket.exchange(&modern("peer", &json!({})))), "127.0.0.1");
}

/// 2024-11-05: one connection brings any number of calls.
#[test]
fn calls_that_no_thread_is_left_for_are_refused_and_the_others_go_on() {
    watched(|| {
        let served = Served::with(config(), ServeConfig::default().with_max_handlers(2));
        let client = served.client(Protocol::Fixed(ProtocolVersion::V2024_11_05));
        client.call("tools/list", &()).unwrap();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let client = client.clone();
                std::thread::spawn(move || client.call("tools/call", &tool("wait", &json!({}))))
            })
            .collect();
        served.heard.wait_for("waits", 2);
        let refused = client.call("tools/call", &tool("add", &json!({}))).unwrap();
        assert_eq!(refused.result().unwrap_err().code, -32603);
        let session = served.server.sessions()[0];
        served.server.end_session(session);
        served.heard.wait_for("Some(SessionEnded)", 2);
        waiting.into_iter().for_each(|call| drop(call.join().unwrap()));
        client.wait_for_background(BOUND);
    });
}

#[test]
fn what_is_asked_for_a_cancelled_call_is_not_waited_for() {
    let served = Served::new();
    let client = served.builder(Protocol::Fixed(ProtocolVersion::V2025_11_25));
    // Nobody answers: the handler of the client's takes for ever, and the session ends meanwhile.
    let server = served.server.clone();
    let client = client
        .handle("sampling/createMessage", move |_| {
            server.sessions().into_iter().for_each(|session| server.end_session(session));
            Ok::<_, mcp_sse_blocking::ErrorReply>(json!({}))
        })
        .build()
        .unwrap();
    let options = mcp_sse_tests::blocking::within(std::time::Duration::from_secs(2));
    client.call_with("tools/call", &tool("ask", &json!({})), &options, |_| std::ops::ControlFlow::Continue(())).ok();
    served.heard.wait_for("nobody answered", 1);
}
