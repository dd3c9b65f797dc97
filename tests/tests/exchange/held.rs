//! E14: what an exchange says it keeps of a body is what is there to be kept, not only within a bound.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Exchange, ExchangeConfig, Framing, Request};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};

const NOW: Timestamp = Timestamp::from_millis(1);

fn exchange(version: ProtocolVersion, status: u16, media_type: &str) -> Exchange {
    let request = Request::new("tools/call").with_id(7).with_version(version);
    let mut exchange = Exchange::new(&request, ExchangeConfig::default(), Timestamp::ZERO);
    let head = ResponseHead::from_headers(status, [("Content-Type", media_type)]);
    exchange.on_head(&head, NOW).expect("the first fact");
    exchange
}

fn feed(exchange: &mut Exchange, body: &str) {
    let mut input = body.as_bytes();
    exchange.on_body(&mut input, NOW).expect("it has not ended");
    assert!(input.is_empty(), "{input:?} was left");
}

/// A body as JSON is kept until its end tells what it is.
#[test]
fn e14_a_json_body_is_kept_whole() {
    let mut exchange = exchange(ProtocolVersion::V2026_07_28, 200, "application/json");
    assert_eq!(exchange.held_bytes(), 0);
    feed(&mut exchange, "{\"id\":7,");
    assert_eq!(exchange.held_bytes(), 8);
    feed(&mut exchange, "\"result\":{}}");
    assert_eq!(exchange.held_bytes(), 20);
}

/// So is a part of an event, and the message that waits to be polled.
#[test]
fn e14_an_event_counts_while_it_arrives_and_while_it_waits() {
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}";
    let mut exchange = exchange(ProtocolVersion::V2026_07_28, 200, "text/event-stream");
    feed(&mut exchange, "data: ");
    assert_eq!(exchange.held_bytes(), 0);
    feed(&mut exchange, note);
    assert_eq!(exchange.held_bytes(), note.len());
    feed(&mut exchange, "\n\n");
    // It waits, beside what the decoder keeps of the last event.
    let waiting = exchange.held_bytes();
    assert!(waiting >= note.len());
    assert!(exchange.poll_event().is_some());
    assert_eq!(exchange.held_bytes(), waiting - note.len());
}

/// What is kept of a body under a status of failure is its excerpt.
#[test]
fn e14_an_excerpt_counts() {
    let mut exchange = exchange(ProtocolVersion::V2026_07_28, 503, "text/plain");
    feed(&mut exchange, "try again later");
    assert_eq!(exchange.held_bytes(), 15);
}

/// A cursor is kept beside the decoder's own last event id (E26), and only in the eras that resume.
#[test]
fn e26_a_cursor_counts() {
    let held = |version| {
        let mut exchange = exchange(version, 200, "text/event-stream");
        feed(&mut exchange, "id: abc\n\n");
        exchange.held_bytes()
    };
    assert_eq!(held(ProtocolVersion::V2026_07_28), 3);
    assert_eq!(held(ProtocolVersion::V2025_11_25), 6);
}

/// An array whose elements wait for their turn at the end of the body counts until the last was read.
#[test]
fn e25_an_array_counts_while_its_elements_wait() {
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}";
    let array = format!("[{note},{note},{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{}}}}]");
    let mut exchange = exchange(ProtocolVersion::V2025_03_26, 200, "application/json");
    feed(&mut exchange, &array);
    exchange.on_end(Framing::Marked, NOW).expect("it has not ended");
    assert!(exchange.held_bytes() >= array.len(), "the rest of it waits");
    while exchange.poll_event().is_some() {}
    assert_eq!(exchange.held_bytes(), 0);
}
