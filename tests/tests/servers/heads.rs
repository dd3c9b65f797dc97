//! What is refused by its head alone, and bodies that are too much or too slow.

use std::time::Duration;

use mcp_sse_core::server::ServerLimits;
use mcp_sse_tests::over_both_servers;
use mcp_sse_tests::served::{Served, ServerAdapter, head, modern};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::json;

fn s2_foreign_hosts_and_origins_are_refused_before_the_body_is_read<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let post = modern("add", &json!({}));
    for foreign in [post.clone().with("Host", "evil.example"), post.with("Origin", "https://evil.example")] {
        let mut socket = served.socket();
        // Of the body, no byte is sent.
        let response = socket.send(&head(&foreign.with("Content-Length", "1000"))).response();
        assert_eq!(response.status, 403);
        assert!(socket.is_at_end());
    }
    let mut socket = served.socket();
    socket.send(b"GET /mcp HTTP/1.1\r\n\r\n");
    assert_eq!(socket.response().status, 403);
}

fn s2_methods_and_paths_that_are_not_served_are_refused_and_the_connection_goes_on<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let mut socket = served.socket();
    let options = socket.exchange(&HttpMessage::new("OPTIONS", "/mcp"));
    assert_eq!((options.status, options.header("Allow").is_some()), (405, true));
    assert_eq!(socket.exchange(&HttpMessage::new("PUT", "/mcp")).status, 405);
    assert_eq!(socket.exchange(&HttpMessage::new("GET", "/")).status, 404);
    assert_eq!(socket.exchange(&HttpMessage::new("GET", "/mcp/other")).status, 404);
    assert_eq!(socket.exchange(&HttpMessage::new("OPTIONS", "*")).status, 404);
    // The answer to HEAD has no body, whatever its length says.
    let response = socket.send(&head(&HttpMessage::new("HEAD", "/mcp"))).response_head();
    assert_eq!(response.status, 405);
    let response = socket.exchange(&modern("add", &json!({"a": 1, "b": 1})));
    assert_eq!(response.status, 200);
    assert!(response.header("Date").is_some_and(|date| httpdate::parse_http_date(date).is_ok()));
    // In absolute form the target names the host, too.
    assert_eq!(socket.exchange(&HttpMessage::new("GET", "http://localhost:8000/other")).status, 404);
    assert_eq!(socket.exchange(&HttpMessage::new("GET", "http://evil.example/mcp")).status, 403);
}

fn s2_a_body_over_the_bound_is_refused_before_it_is_read<A: ServerAdapter>() {
    let limits = ServerLimits::default().with_max_body_bytes(10_000);
    let served = Served::<A>::with_config(config().with_limits(limits));
    let add = modern("add", &json!({}));
    let mut socket = served.socket();
    let announced = head(&add.clone().with("Content-Length", "100000000"));
    assert_eq!(socket.send(&announced).response().status, 413);
    assert!(socket.is_at_end());
    // Not announced.
    let mut socket = served.socket();
    socket.send(&head(&add.with("Transfer-Encoding", "chunked")));
    socket.send(format!("{:x}\r\n{}", 10_001, " ".repeat(10_001)).as_bytes());
    assert_eq!(socket.response().status, 413);
}

fn a_body_that_drips_is_given_up<A: ServerAdapter>() {
    let limits = ServerLimits::default().with_body_timeout(Duration::from_millis(300));
    let served = Served::<A>::with_config(config().with_limits(limits));
    let mut socket = served.socket();
    socket.send(&head(&modern("add", &json!({})).with("Content-Length", "100"))).send(b"{");
    assert_eq!(socket.response().status, 408);
    assert!(socket.is_at_end());
}

over_both_servers! {
    s2_foreign_hosts_and_origins_are_refused_before_the_body_is_read,
    s2_methods_and_paths_that_are_not_served_are_refused_and_the_connection_goes_on,
    s2_a_body_over_the_bound_is_refused_before_it_is_read,
    a_body_that_drips_is_given_up,
}
