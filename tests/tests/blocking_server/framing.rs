//! Where a request ends: bodies in every framing, and what could be read in two ways.

use mcp_sse_blocking::ServeConfig;
use mcp_sse_core::server::ServerLimits;
use mcp_sse_tests::served::{Response, bytes, head, modern, text_of};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::json;

use crate::Served;

fn add() -> HttpMessage {
    modern("add", &json!({"a": 2, "b": 3}))
}

fn sum(response: &Response) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    text_of(&response.json()["result"].to_string())
}

/// A body in chunks of so many bytes.
fn chunked(message: &HttpMessage, size: usize) -> Vec<u8> {
    let mut bytes = head(&message.clone().with("Transfer-Encoding", "chunked"));
    for chunk in message.body.chunks(size) {
        bytes.extend_from_slice(format!("{:x};a=b\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\nTrailer: 1\r\n\r\n");
    bytes
}

#[test]
fn a_connection_serves_one_request_after_another_in_either_framing() {
    let served = Served::new();
    let mut socket = served.socket();
    for round in 0..3 {
        assert_eq!(sum(&socket.exchange(&add())), "5", "{round}");
        for size in [1, 7, 1000] {
            assert_eq!(sum(&socket.send(&chunked(&add(), size)).response()), "5", "chunks of {size}");
        }
    }
}

#[test]
fn a_request_may_come_in_any_pieces() {
    let served = Served::new();
    let mut socket = served.socket();
    for request in [bytes(&add()), chunked(&add(), 50)] {
        for piece in request.chunks(3) {
            socket.send(piece);
        }
        assert_eq!(sum(&socket.response()), "5");
    }
}

#[test]
fn requests_that_come_together_are_answered_in_their_order() {
    let served = Served::new();
    let mut socket = served.socket();
    let call = |b: u32| modern("add", &json!({"a": 1, "b": b}));
    let slow = modern("progress", &json!({}));
    let together =
        [bytes(&call(1)), chunked(&call(2), 9), bytes(&slow), b"\r\n\r\n".to_vec(), bytes(&call(3))].concat();
    socket.send(&together);
    assert_eq!((sum(&socket.response()), sum(&socket.response())), ("2".to_owned(), "3".to_owned()));
    let stream = socket.response();
    assert!(stream.is_whole && stream.text().contains("notifications/progress"));
    assert_eq!(sum(&socket.response()), "4");
}

#[test]
fn what_could_be_read_in_two_ways_is_refused_and_nothing_behind_it_is_read() {
    let served = Served::new();
    let hidden = bytes(&modern("panic", &json!({})));
    for smuggled in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: -5",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        "Host: localhost",
        "X: y\r\n Transfer-Encoding: chunked",
    ] {
        let mut socket = served.socket();
        let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{smuggled}\r\n\r\n0\r\n\r\n");
        let response = socket.send(head.as_bytes()).send(&hidden).response();
        assert_eq!((response.status, response.header("Connection")), (400, Some("close")), "{smuggled}");
        assert!(socket.is_at_end(), "{smuggled}");
    }
    for body in ["5\r\nhello0\r\n\r\n", "x\r\n\r\n", "\r\n0\r\n\r\n", "fffffffffffffffff\r\n"] {
        let mut socket = served.socket();
        let head = head(&add().with("Transfer-Encoding", "chunked"));
        let response = socket.send(&head).send(body.as_bytes()).send(&hidden).response();
        assert_eq!(response.status, 400, "{body:?}");
        assert!(socket.is_at_end());
    }
}

#[test]
fn s2_a_body_that_comes_to_more_than_the_bound_is_refused_and_the_refusal_arrives() {
    let limits = ServerLimits::default().with_max_body_bytes(10_000);
    let served = Served::with(config().with_limits(limits), ServeConfig::default());
    // Much of it is still on its way.
    let mut socket = served.socket();
    socket.send(&head(&add().with("Transfer-Encoding", "chunked")));
    socket.send(format!("{:x}\r\n{}", 300_000, " ".repeat(300_000)).as_bytes());
    let response = socket.response();
    assert_eq!((response.status, response.header("Connection")), (413, Some("close")));
    assert!(response.is_whole);
}

#[test]
fn a_client_that_waits_to_send_its_body_is_told_to() {
    let served = Served::new();
    let mut socket = served.socket();
    let expecting = add().with("Expect", "100-continue");
    let length = expecting.body.len().to_string();
    assert_eq!(socket.send(&head(&expecting.clone().with("Content-Length", &length))).response().status, 100);
    assert_eq!(sum(&socket.send(&expecting.body).response()), "5");
    // One that does not wait is not.
    assert_eq!(sum(&socket.send(&bytes(&expecting)).response()), "5");
    // Refused by its head: not told to, and nothing more is taken.
    let refused = expecting.with("Content-Length", &length).with("Origin", "https://evil.example");
    let response = socket.send(&head(&refused)).response();
    assert_eq!((response.status, response.header("Connection")), (403, Some("close")));
    assert!(socket.is_at_end());
    let mut socket = served.socket();
    let other = add().with("Expect", "a miracle").with("Content-Length", "1");
    assert_eq!(socket.send(&head(&other)).response().status, 417);
}
