//! Clients that go away, at any byte.

use std::net::Shutdown;

use mcp_sse_tests::over_both_servers;
use mcp_sse_tests::served::{Served, ServerAdapter, bytes, modern, wait_until};
use mcp_sse_tests::server_driver::HttpMessage;
use serde_json::json;

fn s4_a_client_that_goes_away_cancels_its_call<A: ServerAdapter>() {
    let served = Served::<A>::new();
    for (name, word) in [("wait", "waits"), ("listen", "streams")] {
        for half in [Shutdown::Both, Shutdown::Write] {
            let before = served.heard.count(word);
            let mut socket = served.socket();
            socket.send(&bytes(&modern(name, &json!({}))));
            served.heard.wait_for(word, before + 1);
            socket.stream.shutdown(half).unwrap();
            wait_until("the call is not cancelled", || served.says("calls: 0"));
        }
    }
    served.heard.wait_for("Some(Gone)", 2);
}

fn a_client_that_vanishes_within_its_request_leaves_nothing<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let request = bytes(&modern("add", &json!({"a": 1, "b": 1})));
    for cut in (0..request.len()).step_by(7) {
        served.socket().send(&request[..cut]);
    }
    let stream = bytes(&HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream"));
    for _ in 0..20 {
        served.socket().send(&stream);
    }
    wait_until("something is left", || served.server.sessions().is_empty() && served.says("exchanges: 0"));
    assert_eq!(served.socket().exchange(&modern("add", &json!({}))).status, 200);
    wait_until("a session has not ended", || served.heard.count("opened") == served.heard.count("ended"));
}

over_both_servers! {
    s4_a_client_that_goes_away_cancels_its_call,
    a_client_that_vanishes_within_its_request_leaves_nothing,
}
