//! Threads are bounded, and nobody takes those that others need (S5, S11).

use mcp_sse_blocking::{ErrorReply, Protocol, ServeConfig};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::blocking::{BOUND, timed, watched};
use mcp_sse_tests::served::{Socket, bytes, modern, tool};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::json;

use crate::Served;

fn small() -> Served {
    Served::with(config(), ServeConfig::default().with_threads(4).with_reserve(2))
}

fn listening() -> HttpMessage {
    HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream")
}

/// So many open streams.
fn fill(served: &Served, count: usize) -> Vec<Socket> {
    let open = |_| {
        let mut socket = served.socket();
        assert_eq!(socket.send(&bytes(&listening())).response_head().status, 200);
        socket
    };
    (0..count).map(open).collect()
}

#[test]
fn s11_open_streams_leave_threads_for_calls_and_calls_for_what_is_done_at_once() {
    let served = small();
    let streams = fill(&served, 2);
    // A further stream is refused, and the connection goes on.
    let mut socket = served.socket();
    let response = socket.exchange(&listening());
    assert_eq!((response.status, response.header("Retry-After")), (503, Some("1")));
    assert_eq!(socket.exchange(&modern("add", &json!({}))).status, 200);
    // Calls that wait leave one thread.
    let mut waiting = served.socket();
    waiting.send(&bytes(&modern("wait", &json!({}))));
    served.heard.wait_for("waits", 1);
    assert_eq!(socket.exchange(&modern("wait", &json!({}))).status, 503);
    assert_eq!(served.heard.count("waits"), 1, "a call that was refused was not begun");
    assert_eq!(socket.exchange(&HttpMessage::new("GET", "/")).status, 404);
    assert_eq!(served.server.sessions().len(), 2);
    drop((streams, waiting));
    served.heard.wait_for("ended", 3);
    served.heard.wait_for("Some(Gone)", 1);
    assert_eq!(socket.exchange(&modern("add", &json!({}))).status, 200);
}

#[test]
fn s11_an_answer_to_a_handler_gets_through_when_streams_hold_all_they_may() {
    watched(|| {
        let served = small();
        // With the client's own listening stream, these are all.
        let _streams = fill(&served, 1);
        let answer = |_: &_| Ok::<_, ErrorReply>(json!({}));
        let client = served
            .builder(Protocol::Fixed(ProtocolVersion::V2025_03_26))
            .handle("sampling/createMessage", answer)
            .build()
            .unwrap();
        assert!(client.call("tools/call", &tool("ask", &json!({}))).unwrap().result().is_ok());
    });
}

/// Idle connections are closed when others wait.
#[test]
fn more_connections_than_threads_are_served_one_after_another() {
    let served = small();
    let post = modern("add", &json!({"a": 1, "b": 1}));
    let mut sockets: Vec<_> = (0..12).map(|_| served.socket()).collect();
    let ((), elapsed) = timed(|| {
        for socket in &mut sockets {
            assert_eq!(socket.exchange(&post).status, 200);
        }
    });
    assert!(elapsed < BOUND, "{elapsed:?}");
}
