//! The scripted peer's scripts: what is counted and recorded, which script a request takes, pauses, and connections kept alive.

use std::net::Shutdown;
use std::time::Duration;

use mcp_sse_tests::peer::raw_client::{End, RawClient, post_bytes};
use mcp_sse_tests::peer::{At, ClientClose, Ending, Gate, Mark, Peer, Request, Response, Scenario, Script, Sse, Text};
use serde_json::{Value, json};

/// Long enough for a busy machine; nothing here takes so long unless it fails.
const BOUND: Duration = Duration::from_secs(10);

fn call(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "charge", "arguments": {"n": id}}})
}

fn client(peer: &Peer) -> RawClient {
    RawClient::connect(peer.address()).unwrap()
}

/// Sends the message on this connection and reads one whole response, as `script` renders it for the logged request.
fn exchange(client: &mut RawClient, scenario: &Scenario, message: &Value, script: &Script) -> String {
    let before = scenario.requests().len();
    client.post(&scenario.path(), message).unwrap();
    assert!(scenario.wait_for(|log| log.requests.len() > before, BOUND));
    let expected = script.render(&scenario.requests()[before]).bytes;
    let bytes = client.read_exactly(expected.len()).unwrap();
    assert_eq!(bytes, expected);
    String::from_utf8(bytes).unwrap()
}

/// Sends the message on a connection of its own and returns all that comes.
fn ask(peer: &Peer, scenario: &Scenario, message: &Value) -> String {
    let mut client = client(peer);
    client.post(&scenario.path(), message).unwrap();
    client.finish_sending().unwrap();
    let (bytes, end) = client.read_all();
    assert_eq!(end, End::Eof);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn scripts_are_taken_in_order_and_the_last_repeats() {
    let peer = Peer::start();
    let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Fin);
    let scenario = peer.scenario([broken, Script::json()]);
    assert!(!ask(&peer, &scenario, &call(1)).contains("charged"));
    assert!(ask(&peer, &scenario, &call(2)).contains("charged 2"));
    assert!(ask(&peer, &scenario, &call(3)).contains("charged 3"));
    scenario.push([Script::new(Response::empty(500))]);
    assert!(ask(&peer, &scenario, &call(4)).starts_with("HTTP/1.1 500 "));
    assert_eq!(scenario.executions(), 4);
    assert_eq!(scenario.requests().iter().map(|request| request.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn the_effect_is_counted_by_method_and_arguments_and_before_the_response() {
    let peer = Peer::start();
    let gate = Gate::new();
    let scenario = peer.scenario([Script::whole().wait_at(At::byte(0), &gate), Script::json().without_executing()]);
    let mut waiting = client(&peer);
    waiting.post(&scenario.path(), &call(1)).unwrap();
    assert!(scenario.wait_for(|log| log.executions.len() == 1, BOUND));
    assert_eq!(scenario.log().responses[0].written, 0);
    gate.open();
    assert!(scenario.wait_for(|log| log.responses[0].done, BOUND));
    ask(&peer, &scenario, &call(2));
    assert_eq!((scenario.executions(), scenario.requests().len()), (1, 2));
    assert_eq!(scenario.executions_of("tools/call"), 1);
    assert_eq!(scenario.executions_of("tools/list"), 0);
    let with_meta = json!({"name": "charge", "arguments": {"n": 1}, "_meta": {"x": 1}});
    assert_eq!(scenario.executions_with("tools/call", &with_meta), 1);
    assert_eq!(scenario.executed()[0].id, json!(1));
}

#[test]
fn scenarios_of_one_peer_do_not_mix() {
    let peer = Peer::start();
    let scenarios: Vec<Scenario> = (0..8).map(|_| peer.scenario([Script::json()])).collect();
    std::thread::scope(|scope| {
        for (index, scenario) in scenarios.iter().enumerate() {
            let peer = &peer;
            scope.spawn(move || (0..=index).for_each(|_| drop(ask(peer, scenario, &call(1)))));
        }
    });
    for (index, scenario) in scenarios.iter().enumerate() {
        assert_eq!(scenario.executions(), index + 1);
    }
    let mut lost = client(&peer);
    lost.post("/elsewhere", &call(1)).unwrap();
    lost.finish_sending().unwrap();
    assert!(String::from_utf8_lossy(&lost.read_all().0).starts_with("HTTP/1.1 404 "));
    assert_eq!(peer.log().lost_requests.len(), 1);
}

#[test]
fn notifications_and_replies_are_recorded_not_counted() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json()]);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
    assert!(ask(&peer, &scenario, &notification).starts_with("HTTP/1.1 202 "));
    let reply = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert!(ask(&peer, &scenario, &reply).starts_with("HTTP/1.1 202 "));
    let log = scenario.log();
    assert_eq!((log.notifications, log.replies, log.executions.len()), (vec![notification.clone()], vec![reply], 0));
    // The script for calls is still unused.
    assert!(ask(&peer, &scenario, &call(1)).contains("charged 1"));

    let refusing = peer.scenario([Script::new(Response::empty(500)).for_method("notifications/cancelled")]);
    assert!(ask(&peer, &refusing, &notification).starts_with("HTTP/1.1 500 "));
}

#[test]
fn arrays_run_each_of_their_requests() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json()]);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    ask(&peer, &scenario, &json!([call(1), notification, call(2)]));
    assert_eq!((scenario.executions(), scenario.log().notifications.len(), scenario.requests().len()), (2, 1, 1));
}

#[test]
fn without_a_script_it_answers_as_a_sound_server() {
    let peer = Peer::start();
    let scenario = peer.scenario_for("tools/call", [Script::whole().cut(At::byte(0), Ending::Fin)]);
    let initialize =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
    assert!(ask(&peer, &scenario, &initialize).contains(r#""protocolVersion":"2025-06-18""#));
    let discover = json!({"jsonrpc": "2.0", "id": 2, "method": "server/discover"});
    assert!(ask(&peer, &scenario, &discover).contains(r#""supportedVersions":["2026-07-28"]"#));
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert!(ask(&peer, &scenario, &list).contains(r#""name":"charge""#));
    assert_eq!(ask(&peer, &scenario, &call(4)), "");
    let mut raw = client(&peer);
    raw.send(format!("DELETE {} HTTP/1.1\r\nHost: x\r\n\r\n", scenario.path()).as_bytes()).unwrap();
    raw.finish_sending().unwrap();
    assert!(String::from_utf8_lossy(&raw.read_all().0).starts_with("HTTP/1.1 405 "));
}

/// E6: the stream of a lost call is resumed by GET, and the answer bears the call's id.
#[test]
fn a_get_is_answered_with_the_id_of_the_call_it_resumes() {
    let peer = Peer::start();
    let lost = Script::new(Response::sse([Sse::message("").id("s-1"), Sse::charged()]));
    let scenario =
        peer.scenario([lost.cut(At::mark(Mark::BlockStart(1)), Ending::Fin), Script::whole().for_http("GET")]);
    assert!(ask(&peer, &scenario, &call(41)).contains("id: s-1"));
    let mut raw = client(&peer);
    let get = format!("GET {} HTTP/1.1\r\nHost: x\r\nLast-Event-ID: s-1\r\n\r\n", scenario.path());
    raw.send(get.as_bytes()).unwrap();
    raw.finish_sending().unwrap();
    let text = String::from_utf8(raw.read_all().0).unwrap();
    assert!(text.contains(r#""id":41"#) && text.contains("charged 1"), "{text}");
    assert_eq!(scenario.requests()[1].header("last-event-id"), Some("s-1"));
    assert_eq!(scenario.executions(), 1);
}

#[test]
fn requests_are_recorded_whole_whatever_their_framing_and_cutting() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json()]);
    let body = call(1).to_string();
    let (first, second) = body.split_at(10);
    let chunked = format!(
        "POST {}/sub?x=1 HTTP/1.1\r\nHost: x\r\nX-Upper: Value\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x};a=b\r\n{first}\r\n{:X}\r\n{second}\r\n0\r\nTrailer: t\r\n\r\n",
        scenario.path(),
        first.len(),
        second.len()
    );
    let mut raw = client(&peer);
    for byte in chunked.as_bytes() {
        raw.send(&[*byte]).unwrap();
    }
    // Two requests in one write, behind it.
    raw.send(&[post_bytes(&scenario.path(), &call(2)), post_bytes(&scenario.path(), &call(3))].concat()).unwrap();
    assert!(scenario.wait_for(|log| log.requests.len() == 3, BOUND));
    let requests = scenario.requests();
    assert_eq!(requests[0].body, body.as_bytes());
    assert_eq!(requests[0].header("x-upper"), Some("Value"));
    assert_eq!(requests[0].target, format!("{}/sub?x=1", scenario.path()));
    assert_eq!(requests[0].http_method, "POST");
    assert_eq!(
        requests.iter().map(|request| request.id().cloned()).collect::<Vec<_>>(),
        [1, 2, 3].map(|id| Some(json!(id)))
    );
    assert!(requests.iter().all(|request| request.connection == requests[0].connection));
    assert_eq!(scenario.connections()[0].requests, 3);
}

#[test]
fn a_sound_response_keeps_the_connection_alive() {
    let peer = Peer::start();
    let scripts = [Script::whole(), Script::json()];
    let scenario = peer.scenario(scripts.clone());
    let mut raw = client(&peer);
    assert!(exchange(&mut raw, &scenario, &call(1), &scripts[0]).contains("charged 1"));
    assert!(exchange(&mut raw, &scenario, &call(2), &scripts[1]).contains("charged 2"));
    assert_eq!(peer.connections(), 1);
    let closing = peer.scenario([Script::new(Response::json(Text::charged()).close())]);
    raw.post(&closing.path(), &call(3)).unwrap();
    assert_eq!(raw.read_all().1, End::Eof);
}

/// E1: the stale reuse of a kept-alive connection.
#[test]
fn an_idle_connection_can_be_closed_or_reset() {
    for (ending, end) in [(Ending::Fin, End::Eof), (Ending::Reset, End::Reset)] {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::json()]);
        let mut raw = client(&peer);
        exchange(&mut raw, &scenario, &call(1), &Script::json());
        assert_eq!(peer.close_idle(1, ending), 1);
        assert_eq!(raw.read_all(), (Vec::new(), end));
        assert_eq!(scenario.executions(), 1);
        exchange(&mut client(&peer), &scenario, &call(2), &Script::json());
    }
}

#[test]
fn a_request_can_be_cut_in_its_body() {
    let peer = Peer::builder().receive_buffer(4096).start();
    let scenario = peer.scenario([Script::cut_request(5, Ending::Reset), Script::json()]);
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"pad": "x".repeat(8 << 20)}});
    let mut raw = client(&peer);
    assert!(raw.post(&scenario.path(), &large).is_err());
    assert_eq!(scenario.executions(), 0);
    assert_eq!(scenario.log().cut_requests[0].len(), 5);
    assert!(ask(&peer, &scenario, &call(2)).contains("charged 1"));
}

/// E21: events arrive live, before the stream ends.
#[test]
fn events_arrive_while_the_rest_waits_at_a_gate() {
    let peer = Peer::start();
    let gate = Gate::new();
    let script =
        Script::new(Response::sse([Sse::progress(1), Sse::charged()])).wait_at(At::mark(Mark::ChunkEnd(0)), &gate);
    let scenario = peer.scenario([script.clone()]);
    let rendered = script.render(&Request::sample("tools/call", 1));
    let mut raw = client(&peer);
    raw.post(&scenario.path(), &call(1)).unwrap();
    let first = rendered.at(Mark::ChunkEnd(0)).unwrap();
    assert_eq!(raw.read_exactly(first).unwrap(), rendered.bytes[..first]);
    raw.tcp().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(raw.read_all(), (Vec::new(), End::Silence));
    assert!(!scenario.log().responses[0].done);
    gate.open();
    raw.tcp().set_read_timeout(Some(BOUND)).unwrap();
    assert_eq!(raw.read_exactly(rendered.bytes.len() - first).unwrap(), rendered.bytes[first..]);
}

#[test]
fn drips_and_pauses_change_no_byte() {
    let peer = Peer::start();
    let script = Script::json()
        .drip(1, Duration::from_millis(1))
        .pause(At::mark(Mark::HeadEnd), Duration::from_millis(20))
        .pause(At::byte(3), Duration::from_millis(20))
        .then(Ending::Fin);
    let scenario = peer.scenario([script.clone()]);
    let mut raw = client(&peer);
    raw.post(&scenario.path(), &call(1)).unwrap();
    let (bytes, end) = raw.read_all();
    assert_eq!((bytes, end), (script.render(&scenario.requests()[0]).bytes, End::Eof));
}

#[test]
fn a_stall_is_silent_until_the_client_goes_and_its_going_is_seen() {
    let peer = Peer::start();
    let stalled = Script::whole().cut(At::mark(Mark::AnswerTerminated), Ending::Stall);
    for (index, how) in [ClientClose::Fin, ClientClose::Reset].into_iter().enumerate() {
        let scenario = peer.scenario([stalled.clone()]);
        let mut raw = client(&peer);
        raw.post(&scenario.path(), &call(1)).unwrap();
        raw.tcp().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(scenario.wait_for(|log| log.responses.iter().any(|response| response.done), BOUND));
        if how == ClientClose::Fin {
            let (bytes, end) = raw.read_all();
            assert!(bytes.ends_with(b"}}\n\n"));
            assert_eq!(end, End::Silence);
            assert_eq!(scenario.connections()[0].client_close, None);
            raw.tcp().shutdown(Shutdown::Both).unwrap();
        } else {
            // Closed with bytes unread: the system resets.
            drop(raw);
        }
        assert!(scenario.wait_for_client_close(BOUND));
        assert_eq!(scenario.connections()[0].client_close, Some(how));
        assert!(peer.wait_for(|log| log.connections[index].ended, BOUND));
    }
}

/// The endless header lines and the endless keep-alives that E11 and E12 are tested with.
#[test]
fn bytes_repeat_until_the_client_goes() {
    let peer = Peer::start();
    let repeat = |bytes: &str, every| Ending::Repeat { bytes: bytes.into(), every };
    let lines = Script::whole().cut(At::mark(Mark::StatusLineEnd), repeat("X-Filler: 1\r\n", Duration::ZERO));
    let pings = Script::whole().cut(At::mark(Mark::HeadEnd), repeat("5\r\n: hi\n\r\n", Duration::from_millis(5)));
    for (script, expected) in [(lines, "HTTP/1.1 200 OK\r\nX-Filler: 1\r\nX-Filler"), (pings, ": hi\n\r\n5\r\n: hi")] {
        let scenario = peer.scenario([script]);
        let mut raw = client(&peer);
        raw.post(&scenario.path(), &call(1)).unwrap();
        let bytes = raw.read_exactly(200).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains(expected));
        drop(raw);
        assert!(scenario.wait_for_client_close(BOUND));
    }
}
