//! The end (S10): nothing new, what is open ends as it should, and that within a bound.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mcp_sse_blocking::Protocol;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::ServerLimits;
use mcp_sse_tests::blocking::{BOUND, timed};
use mcp_sse_tests::over_both_servers;
use mcp_sse_tests::served::{Heard, Served, ServerAdapter, bytes, modern, tool};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::json;

fn s10_open_streams_end_as_they_should_and_idle_connections_are_closed<A: ServerAdapter>() {
    let mut served = Served::<A>::new();
    let mut channel = served.socket();
    let listening = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream");
    assert_eq!(channel.send(&bytes(&listening)).response_head().status, 200);
    let mut subscription = served.socket();
    let listen = HttpMessage::modern(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    assert_eq!(subscription.send(&bytes(&listen)).response_head().status, 200);
    let mut idle = served.socket();
    assert_eq!(idle.exchange(&modern("add", &json!({}))).status, 200);
    let ((), elapsed) = timed(|| served.end());
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
    let mut body = Vec::new();
    assert!(channel.chunks(&mut body, usize::MAX), "the channel has its last chunk");
    assert!(String::from_utf8(body).unwrap().contains("event: endpoint"));
    let mut body = Vec::new();
    assert!(subscription.chunks(&mut body, usize::MAX), "the subscription has its last chunk");
    assert!(String::from_utf8(body).unwrap().contains("\"result\""));
    assert!(idle.is_at_end());
    assert!(TcpStream::connect(served.address).is_err(), "nobody listens any more");
}

fn s10_a_call_under_way_is_answered_and_one_that_takes_too_long_is_cut<A: ServerAdapter>() {
    let limits = ServerLimits::default().with_shutdown_timeout(Duration::from_millis(800));
    let mut served = Served::<A>::with_config(config().with_limits(limits));
    let mut socket = served.socket();
    socket.send(&bytes(&modern("wait", &json!({}))));
    served.heard.wait_for("waits", 1);
    let client = served.client(Protocol::Fixed(ProtocolVersion::V2025_11_25));
    let asked = thread::spawn(move || client.call("tools/call", &tool("wait", &json!({}))));
    served.heard.wait_for("waits", 2);
    let ((), elapsed) = timed(|| served.end());
    assert!(elapsed >= Duration::from_millis(700) && elapsed < BOUND, "{elapsed:?}");
    served.heard.wait_for("Some(Shutdown)", 2);
    assert!(socket.is_at_end());
    assert!(asked.join().unwrap().is_err());
}

fn s10_a_reader_that_never_reads_does_not_hold_it_up<A: ServerAdapter>() {
    let limits = ServerLimits::default().with_shutdown_timeout(Duration::from_millis(300));
    let mut served = Served::<A>::with_config(config().with_limits(limits));
    let mut socket = served.socket();
    socket.send(&bytes(&modern("large", &json!({"bytes": 50_000_000}))));
    let status = socket.response_head().status;
    assert_eq!(status, 200);
    let ((), elapsed) = timed(|| served.end());
    assert!(elapsed < Duration::from_secs(8), "{elapsed:?}");
}

fn s10_shutting_down_twice_or_before_serving_is_no_mistake<A: ServerAdapter>() {
    let mut served = Served::<A>::new();
    served.server.shut_down_and_wait();
    served.end();
    let server = A::of_tools(config(), Arc::<Heard>::default());
    server.shut_down_and_wait();
    server.serve_until_end(TcpListener::bind("127.0.0.1:0").unwrap(), A::Serve::default());
}

over_both_servers! {
    s10_open_streams_end_as_they_should_and_idle_connections_are_closed,
    s10_a_call_under_way_is_answered_and_one_that_takes_too_long_is_cut,
    s10_a_reader_that_never_reads_does_not_hold_it_up,
    s10_shutting_down_twice_or_before_serving_is_no_mistake,
}
