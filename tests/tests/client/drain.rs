//! E2, E3: an answer is given out at once; how long its stream is read on afterwards has a bound of time and one of bytes,
//! at which the exchange closes by itself and the call is settled.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallEvent, CallId, CallOptions, Client, ClientConfig, ConnectionConfig, Endpoint, ExchangeId, Outcome, Step,
};
use mcp_sse_core::exchange::{Damage, Want};
use mcp_sse_core::http::ResponseHead;

const ANSWER: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
/// One event of 50 bytes.
const NOTE: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n";

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A call that is answered at 10 ms, under a bound of 500 ms and 100 bytes, its answer not yet asked for.
fn answered(timeout: u64, to_end: bool) -> (Client, CallId, ExchangeId) {
    let connections = ConnectionConfig::default().with_drain_bytes(100);
    let config = ClientConfig::default().with_connections(connections);
    let mut client = Client::new(Endpoint::parse("http://h/mcp").unwrap(), config);
    let options = CallOptions::default().with_timeout(Duration::from_millis(timeout));
    let call = client.call("tools/list", None, options, at(0)).unwrap();
    if to_end {
        client.read_to_end(call);
    }
    let Some(Step::Send(id, _)) = client.poll_step(at(0)) else { panic!("a request") };
    let exchange = client.exchange(id).unwrap();
    exchange.on_connected(at(1)).unwrap();
    exchange.on_sent(at(2)).unwrap();
    exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), at(3)).unwrap();
    feed(&mut client, id, ANSWER, 10);
    (client, call, id)
}

fn feed(client: &mut Client, id: ExchangeId, mut bytes: &[u8], now: u64) {
    client.exchange(id).unwrap().on_body(&mut bytes, at(now)).unwrap();
    assert!(bytes.is_empty());
}

fn assert_answer(client: &mut Client, now: u64) {
    assert!(matches!(client.poll_step(at(now)), Some(Step::Event(_, CallEvent::Answer { damage: None, .. }))));
    assert!(client.poll_step(at(now)).is_none());
}

fn assert_settled(client: &mut Client, id: ExchangeId, now: u64) {
    assert!(matches!(client.poll_step(at(now)), Some(Step::Close(closed)) if closed == id), "its stream is closed");
    let Some(Step::Done(_, done)) = client.poll_step(at(now)) else { panic!("the end") };
    assert!(matches!(done.outcome, Outcome::Settled(_)), "{done}");
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn e3_the_time_runs_from_when_the_answer_is_given_out() {
    let (mut client, call, id) = answered(60_000, false);
    assert_answer(&mut client, 20);
    assert_eq!(client.exchange(id).unwrap().want(), Want::Drain);
    assert_eq!((client.poll_timeout(), client.poll_timeout_of(call)), (Some(at(520)), Some(at(520))));
    client.on_timeout(at(519));
    assert!(client.poll_step(at(519)).is_none(), "early calls change nothing");
    client.on_timeout(at(520));
    assert_settled(&mut client, id, 520);
}

#[test]
fn e3_what_comes_at_the_bound_is_too_late() {
    let (mut client, _, id) = answered(60_000, false);
    assert_answer(&mut client, 20);
    feed(&mut client, id, NOTE, 519);
    assert!(matches!(client.poll_step(at(519)), Some(Step::Event(_, CallEvent::Notification { .. }))));
    feed(&mut client, id, NOTE, 520);
    assert_settled(&mut client, id, 520);
}

#[test]
fn e3_the_bytes_are_counted_from_the_answer_and_what_passed_them_is_still_given_out() {
    let (mut client, _, id) = answered(60_000, false);
    assert_answer(&mut client, 20);
    for _ in 0..100 / NOTE.len() {
        feed(&mut client, id, NOTE, 30);
        assert!(matches!(client.poll_step(at(30)), Some(Step::Event(_, CallEvent::Notification { .. }))));
        assert!(client.poll_step(at(30)).is_none());
    }
    feed(&mut client, id, NOTE, 30);
    assert!(matches!(client.poll_step(at(30)), Some(Step::Event(_, CallEvent::Notification { .. }))));
    assert_settled(&mut client, id, 30);
}

#[test]
fn e3_whoever_waits_for_the_end_has_the_bound_of_time_alone() {
    let (mut client, _, id) = answered(60_000, true);
    assert_answer(&mut client, 20);
    for _ in 0..1000 {
        feed(&mut client, id, NOTE, 30);
        assert!(matches!(client.poll_step(at(30)), Some(Step::Event(_, CallEvent::Notification { .. }))));
    }
    client.on_timeout(at(520));
    assert_settled(&mut client, id, 520);
}

/// E4: a deadline that comes first makes it a stall.
#[test]
fn e4_the_deadline_holds_besides() {
    let (mut client, _, _) = answered(300, false);
    assert_answer(&mut client, 20);
    assert_eq!(client.poll_timeout(), Some(at(300)));
    client.on_timeout(at(600));
    assert!(matches!(client.poll_step(at(600)), Some(Step::Close(_))));
    let Some(Step::Done(_, done)) = client.poll_step(at(600)) else { panic!("the end") };
    assert!(matches!(done.outcome, Outcome::Salvaged { damage: Damage::Stalled, .. }), "{done}");
}
