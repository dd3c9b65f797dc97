//! The scripted peer on the wire: a raw client gets exactly the scripted bytes, whatever ends the connection (the breaks that
//! E4, E5, E8 and E9 are tested with).

use mcp_sse_tests::peer::raw_client::{End, RawClient};
use mcp_sse_tests::peer::{At, Chunked, Coding, Ending, Framing, Mark, Peer, Request, Response, Script, Sse, Text};
use serde_json::json;

fn call() -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "charge"}})
}

fn connect(peer: &Peer, tls: bool) -> RawClient {
    if tls {
        RawClient::connect_tls(peer.address(), peer.certificate_pem(), "127.0.0.1").unwrap()
    } else {
        RawClient::connect(peer.address()).unwrap()
    }
}

/// Calls once for each offset and compares what came with the prefix of that length.
fn check_each_offset(peer: &Peer, tls: bool, script: &Script, step: usize, ending: &Ending, end: End) {
    let rendered = script.render(&Request::sample("tools/call", 7));
    for offset in (0..=rendered.bytes.len()).step_by(step) {
        let scenario = peer.scenario([script.clone().cut(At::byte(offset), ending.clone())]);
        let mut client = connect(peer, tls);
        client.post(&scenario.path(), &call()).unwrap();
        let (bytes, ended) = client.read_all();
        assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&rendered.bytes[..offset]), "at {offset}");
        assert_eq!(ended, end, "at {offset}");
        assert_eq!(scenario.executions(), 1);
    }
}

#[test]
fn fin_and_reset_deliver_exactly_the_first_bytes_at_each_offset() {
    let peer = Peer::start();
    check_each_offset(&peer, false, &Script::whole(), 1, &Ending::Fin, End::Eof);
    check_each_offset(&peer, false, &Script::whole(), 1, &Ending::Reset, End::Reset);
}

#[test]
fn every_tls_ending_delivers_exactly_the_first_bytes() {
    let peer = Peer::start_tls();
    let script = Script::whole();
    check_each_offset(&peer, true, &script, 7, &Ending::Fin, End::Eof);
    check_each_offset(&peer, true, &script, 7, &Ending::TlsTruncate, End::Truncated);
    check_each_offset(&peer, true, &script, 7, &Ending::Reset, End::Reset);
}

#[test]
fn a_reset_waits_for_a_slow_reader_to_take_everything() {
    let peer = Peer::start();
    let body = vec![b'x'; 8 << 20];
    let scenario = peer.scenario([Script::new(Response::raw(body)).then(Ending::Reset)]);
    let mut client = connect(&peer, false);
    client.post(&scenario.path(), &call()).unwrap();
    let head = client.read_exactly(20).unwrap();
    // The socket buffers are full long before the body is written.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let (rest, end) = client.read_all();
    assert!(head.len() + rest.len() > 8 << 20);
    assert_eq!(end, End::Reset);
}

#[test]
fn every_framing_and_coding_is_written_as_rendered() {
    let peer = Peer::start();
    let responses = [
        Response::sse([Sse::progress(1), Sse::charged()]).coding(Coding::gzip()),
        Response::json(Text::charged()).framing(Framing::Chunked(Chunked::new().sizes([5]))),
        Response::json(Text::charged()).framing(Framing::WrongLength(4)),
        Response::json(Text::charged()).framing(Framing::UntilClose).http10(),
        Response::sse([Sse::charged()]).interim(100, &[]).interim(103, &["A: b"]),
        Response::verbatim("\0garbage, not HTTP\r\n\r\n"),
        Response::empty(503).header("Retry-After", "3"),
    ];
    for response in responses {
        let script = Script::new(response).then(Ending::Fin);
        let scenario = peer.scenario([script.clone()]);
        let mut client = connect(&peer, false);
        client.post(&scenario.path(), &call()).unwrap();
        let expected = script.render(&scenario_request(&scenario)).bytes;
        assert_eq!(client.read_all(), (expected, End::Eof));
    }
}

/// The request as the peer logged it, once it has.
fn scenario_request(scenario: &mcp_sse_tests::peer::Scenario) -> Request {
    assert!(scenario.wait_for(|log| !log.requests.is_empty(), std::time::Duration::from_secs(10)));
    scenario.requests().remove(0)
}

#[test]
fn a_cut_can_be_named_by_its_mark() {
    let peer = Peer::start();
    let script = Script::whole().cut(At::mark(Mark::AnswerStart).plus(2), Ending::Fin);
    let scenario = peer.scenario([script]);
    let mut client = connect(&peer, false);
    client.post(&scenario.path(), &call()).unwrap();
    let (bytes, _) = client.read_all();
    assert!(String::from_utf8_lossy(&bytes).ends_with("data: {\""));
}

#[test]
fn ipv6_is_served_on_request() {
    let peer = Peer::builder().ipv6().start();
    let scenario = peer.scenario([Script::json().then(Ending::Fin)]);
    assert!(scenario.url().starts_with("http://[::1]:"));
    let mut client = connect(&peer, false);
    client.post(&scenario.path(), &call()).unwrap();
    assert_eq!(client.read_all().1, End::Eof);
    assert_eq!(scenario.executions(), 1);
}
