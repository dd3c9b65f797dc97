//! Handlers have threads, and of these there is a bound.

use mcp_sse_blocking::{Protocol, ServeConfig};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::blocking::{BOUND, watched};
use mcp_sse_tests::served::tool;
use mcp_sse_tests::server_driver::config;
use serde_json::json;

use crate::Served;

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
