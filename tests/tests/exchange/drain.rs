//! E3: how long what follows an answer is read on, as whoever has an exchange alone bounds it.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Request, Verdict, Want};
use mcp_sse_core::http::ResponseHead;

const ANSWER: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n";

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// An exchange that is answered at 10 ms, whose stream goes on.
fn answered(is_bounded: bool) -> Exchange {
    let mut exchange = Exchange::new(&Request::new("tools/list").with_id(7), ExchangeConfig::default(), at(0));
    exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), at(1)).unwrap();
    exchange.on_body(&mut ANSWER.as_bytes(), at(10)).unwrap();
    assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Answer(_))));
    if is_bounded {
        exchange.drain_until(at(60), 100);
    }
    exchange
}

fn is_settled(exchange: &mut Exchange) -> bool {
    matches!(exchange.poll_event(), Some(ExchangeEvent::Ended(Verdict::Settled(_)))) && exchange.want() == Want::Close
}

#[test]
fn e3_the_exchange_closes_by_itself_at_the_bound_of_time() {
    let mut exchange = answered(true);
    assert_eq!(exchange.poll_timeout(), Some(at(60)));
    exchange.on_timeout(at(59)).unwrap();
    assert_eq!((exchange.poll_event().is_none(), exchange.want()), (true, Want::Drain));
    exchange.on_timeout(at(60)).unwrap();
    assert!(is_settled(&mut exchange));
}

#[test]
fn e3_the_exchange_closes_by_itself_at_the_bound_of_bytes() {
    let mut exchange = answered(true);
    exchange.on_body(&mut &[b'\n'; 99][..], at(20)).unwrap();
    assert_eq!((exchange.poll_event().is_none(), exchange.want()), (true, Want::Drain));
    exchange.on_body(&mut &[b'\n'; 2][..], at(20)).unwrap();
    assert!(is_settled(&mut exchange));
}

#[test]
fn e3_without_a_bound_the_stream_is_read_as_long_as_it_goes_on() {
    let mut exchange = answered(false);
    exchange.on_body(&mut &[b'\n'; 10_000][..], at(20)).unwrap();
    exchange.on_timeout(at(10_000)).unwrap();
    assert_eq!((exchange.poll_event().is_none(), exchange.want()), (true, Want::Drain));
}
