//! Heads of requests as this adapter reads them: what is no head, bounds of size and time, and what becomes of the connection.

use std::time::Duration;

use mcp_sse_blocking::ServeConfig;
use mcp_sse_tests::blocking::{BOUND, timed};
use mcp_sse_tests::served::{bytes, modern};
use mcp_sse_tests::server_driver::config;
use serde_json::json;

use crate::Served;

#[test]
fn a_client_may_ask_that_the_connection_is_closed() {
    let served = Served::new();
    let post = modern("add", &json!({"a": 1, "b": 1}));
    let mut socket = served.socket();
    let response = socket.exchange(&post.clone().with("Connection", "foo, Close"));
    assert_eq!((response.status, response.header("Connection")), (200, Some("close")));
    assert!(socket.is_at_end());
    // HTTP/1.0 knows no chunks: a stream lasts until the connection ends.
    for (tool, is_stream) in [("add", false), ("progress", true)] {
        let mut socket = served.socket();
        let request = bytes(&modern(tool, &json!({"a": 1, "b": 1})));
        let request = String::from_utf8(request).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
        let response = socket.send(request.as_bytes()).response();
        assert_eq!((response.status, response.header("Transfer-Encoding")), (200, None));
        assert_eq!(response.header("Content-Length").is_none(), is_stream);
        assert!(response.text().contains("\"result\""));
        assert!(socket.is_at_end());
    }
}

#[test]
fn what_is_not_http_is_refused() {
    let served = Served::new();
    for (bytes, status) in [
        ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("GET /mcp\r\n\r\n", 400),
        ("GET /mcp HTTP/1.1\r\nno colon\r\n\r\n", 400),
        ("GET /m\u{0}cp HTTP/1.1\r\n\r\n", 400),
    ] {
        let mut socket = served.socket();
        assert_eq!(socket.send(bytes.as_bytes()).response().status, status, "{bytes:?}");
        assert!(socket.is_at_end());
    }
}

#[test]
fn a_head_over_the_bound_is_refused_and_the_refusal_arrives() {
    let served = Served::with(config(), ServeConfig::default().with_max_head_bytes(2000));
    let mut socket = served.socket();
    let fits = modern("add", &json!({"a": 1, "b": 1})).with("X", &"x".repeat(1000));
    assert_eq!(socket.exchange(&fits).status, 200);
    for large in ["x".repeat(100_000), format!("GET /mcp HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(2000))] {
        let mut socket = served.socket();
        let response = socket.send(large.as_bytes()).response();
        assert_eq!((response.status, response.header("Connection")), (431, Some("close")));
        assert!(socket.is_at_end());
    }
}

#[test]
fn a_head_that_drips_is_given_up_and_an_idle_connection_closed() {
    let short = Duration::from_millis(300);
    let config_of = ServeConfig::default().with_head_timeout(short);
    let served = Served::with(config(), config_of.with_idle_timeout(2 * short));
    let mut socket = served.socket();
    let (response, elapsed) = timed(|| socket.send(b"GET /mcp HT").response());
    assert_eq!(response.status, 408);
    assert!(elapsed >= short / 2 && elapsed < BOUND, "{elapsed:?}");
    assert!(socket.is_at_end());
    let mut socket = served.socket();
    let (is_closed, elapsed) = timed(|| socket.is_at_end());
    assert!(is_closed && elapsed >= short && elapsed < BOUND, "{elapsed:?}");
}
