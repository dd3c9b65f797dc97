//! When the blocking adapter uses a connection again, and when it must not. A kept connection that turns out to be closed is
//! no failure (E1).

use std::ops::ControlFlow;
use std::time::Duration;

use mcp_sse_blocking::{CallEvent, Client, Reply};
use mcp_sse_core::client::{ConnectionConfig, Done, Outcome};
use mcp_sse_tests::blocking::{BOUND, METHOD, builder, call, charge, client, execution, watched, within};
use mcp_sse_tests::peer::{
    At, Chunked, ClientClose, Coding, Ending, Framing, Gate, Mark, Peer, Response, Scenario, Script, Sse, Text,
};

/// Calls, and waits until the response is read to its end.
fn call_to_end(client: &Client, number: u64) -> (Reply, Done) {
    client.call_to_end(METHOD, &charge(number), &within(BOUND), |_| ControlFlow::Continue(())).unwrap()
}

fn sse() -> Response {
    Response::sse([Sse::charged()])
}

/// Three calls in a row, each read to its end: how many connections they took.
fn connections_of(peer: &Peer, script: Script) -> usize {
    let scenario = peer.scenario([script]);
    let client = client(peer, &scenario);
    let before = peer.connections();
    for number in 1..=3 {
        let (reply, done) = call_to_end(&client, number);
        assert!(matches!(done.outcome, Outcome::Settled(_)), "{done:?}");
        assert_eq!((reply.attempts, execution(&reply)), (1, number));
    }
    assert_eq!(scenario.executions(), 3);
    peer.connections() - before
}

#[test]
fn a_response_that_was_read_to_its_end_leaves_its_connection_to_the_next_call() {
    for peer in [Peer::start(), Peer::start_tls()] {
        for response in [
            sse(),
            sse().framing(Framing::ContentLength),
            sse().framing(Framing::Chunked(Chunked::new().sizes([5]).extension("a=b").trailer("X-T: 1"))),
            sse().coding(Coding::gzip()),
            sse().interim(103, &[]),
            Response::json(Text::charged()),
            Response::json(Text::charged()).framing(Framing::Chunked(Chunked::new())),
        ] {
            assert_eq!(connections_of(&peer, Script::new(response.clone())), 1, "{response:?}");
        }
    }
}

#[test]
fn connections_are_not_used_again_where_their_end_was_announced() {
    for peer in [Peer::start(), Peer::start_tls()] {
        for response in [
            sse().close(),
            Response::json(Text::charged()).close(),
            Response::json(Text::charged()).http10(),
            sse().header("Connection", "x, CLOSE ,y"),
        ] {
            // The server forgets to close.
            let script = Script::new(response.clone()).then(Ending::KeepAlive);
            assert_eq!(connections_of(&peer, script), 3, "{response:?}");
            assert_eq!(connections_of(&peer, Script::new(response.clone()).then(Ending::Fin)), 3, "{response:?}");
        }
        let kept = Response::json(Text::charged()).http10().header("Connection", "Keep-Alive");
        assert_eq!(connections_of(&peer, Script::new(kept).then(Ending::KeepAlive)), 1);
    }
}

#[test]
fn connections_are_not_used_again_where_their_end_is_the_end_of_the_body() {
    for peer in [Peer::start(), Peer::start_tls()] {
        for response in [Response::json(Text::charged()), sse()] {
            let response = response.framing(Framing::UntilClose);
            assert_eq!(connections_of(&peer, Script::new(response.clone())), 3, "{response:?}");
        }
    }
}

#[test]
fn json_and_notifications_leave_their_connection_at_once() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json()]);
    let client = client(&peer, &scenario);
    call(&client).unwrap();
    client.notify("notifications/progress", &charge(1)).unwrap();
    call(&client).unwrap();
    assert!(client.call("ping", &()).is_ok());
    assert_eq!((peer.connections(), scenario.requests().len()), (1, 4));
}

#[test]
fn failures_that_were_read_to_their_end_leave_their_connection_too() {
    let peer = Peer::start();
    let error = Response::json(Text::error(-32601, "no")).status(404);
    let scenario = peer.scenario([
        Script::new(Response::raw("busy").status(503)),
        Script::new(Response::empty(202)),
        Script::new(error),
        Script::json(),
    ]);
    let client = client(&peer, &scenario);
    assert_eq!(call(&client).unwrap_err().status(), Some(503));
    assert_eq!(call(&client).unwrap_err().kind(), "no_answer");
    assert!(call(&client).unwrap().result().is_err());
    assert_eq!(execution(&call(&client).unwrap()), 4);
    assert_eq!(peer.connections(), 1);
}

/// E2: the caller has its answer while the end of the stream is still to come; the rest is read behind its back.
#[test]
fn e2_the_rest_of_a_stream_is_read_in_the_background_and_the_connection_kept() {
    watched(rest_in_the_background);
}

fn rest_in_the_background() {
    let peer = Peer::start();
    let gate = Gate::new();
    let slow = Script::whole().wait_at(At::mark(Mark::AnswerTerminated), &gate);
    let scenario = peer.scenario([slow, Script::whole()]);
    let client =
        builder(&peer, &scenario).connections(ConnectionConfig::default().with_drain_timeout(BOUND)).build().unwrap();
    assert_eq!(execution(&call(&client).unwrap()), 1);
    assert!(!scenario.log().responses[0].done, "the answer came before the end");
    gate.open();
    assert!(scenario.wait_for(|log| log.responses[0].done, BOUND));
    // The background has the last bytes soon; each call that comes too early takes a connection of its own.
    let is_reused = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        call_to_end(&client, 1);
        scenario.requests().iter().skip(1).any(|request| request.connection == scenario.requests()[0].connection)
    });
    assert!(is_reused);
}

fn stale(peer: &Peer, ending: Ending) {
    let scenario = peer.scenario([Script::json()]);
    let client = client(peer, &scenario);
    let before = peer.connections();
    assert_eq!(execution(&call(&client).unwrap()), 1);
    assert_eq!(peer.close_idle(1, ending.clone()), 1);
    let mut events = Vec::new();
    let reply = client.call_with(METHOD, &charge(2), &within(BOUND), |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    let reply = reply.unwrap();
    assert_eq!((reply.attempts, execution(&reply)), (1, 2), "{ending:?}");
    assert!(!events.iter().any(|event| matches!(event, CallEvent::Reissue { .. })), "{ending:?}");
    assert_eq!((scenario.requests().len(), scenario.executions(), peer.connections() - before), (2, 2, 2));
}

#[test]
fn e1_a_kept_connection_that_was_reset_is_replaced_without_a_word() {
    stale(&Peer::start(), Ending::Reset);
    stale(&Peer::start_tls(), Ending::Reset);
}

#[test]
fn e1_a_kept_connection_that_was_closed_is_replaced_without_a_word() {
    stale(&Peer::start(), Ending::Fin);
}

#[test]
fn e1_a_kept_tls_connection_that_was_closed_is_replaced_without_a_word() {
    stale(&Peer::start_tls(), Ending::Fin);
}

#[test]
fn e1_a_kept_tls_connection_that_was_cut_is_replaced_without_a_word() {
    stale(&Peer::start_tls(), Ending::TlsTruncate);
}

#[test]
fn e1_a_large_request_survives_a_stale_connection_whole() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json()]);
    let client = client(&peer, &scenario);
    call(&client).unwrap();
    assert_eq!(peer.close_idle(1, Ending::Reset), 1);
    let large = serde_json::json!({"name": "charge", "arguments": {"text": "x".repeat(1 << 20)}});
    assert_eq!(execution(&client.call(METHOD, &large).unwrap()), 2);
    assert_eq!(scenario.executions_with(METHOD, &large), 1);
}

/// Calls at once, so that each takes a connection of its own.
fn at_once(client: &Client, scenario: &Scenario, gate: &Gate, calls: usize) {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..calls).map(|_| scope.spawn(|| call(client).unwrap())).collect();
        assert!(scenario.wait_for(|log| log.requests.len() == calls, BOUND));
        gate.open();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn e1_one_stale_connection_does_not_cost_the_others_their_call() {
    let peer = Peer::start();
    let gate = Gate::new();
    let scenario = peer.scenario([Script::json().wait_at(At::byte(0), &gate)]);
    let client = client(&peer, &scenario);
    at_once(&client, &scenario, &gate, 4);
    assert_eq!(peer.connections(), 4);
    assert_eq!(peer.close_idle(4, Ending::Reset), 4);
    for number in 5..=7 {
        assert_eq!(execution(&call(&client).unwrap()), number);
    }
    assert_eq!((peer.connections(), scenario.executions()), (5, 7));
}

#[test]
fn the_number_of_kept_connections_is_bounded() {
    let peer = Peer::start();
    let gate = Gate::new();
    let scenario = peer.scenario([Script::json().wait_at(At::byte(0), &gate)]);
    let client = builder(&peer, &scenario).connections(ConnectionConfig::default().with_max_idle(2)).build().unwrap();
    at_once(&client, &scenario, &gate, 5);
    let closed = |log: &mcp_sse_tests::peer::Log| log.connections.iter().filter(|it| it.client_close.is_some()).count();
    assert!(peer.wait_for(|log| closed(log) == 3, BOUND));
    call(&client).unwrap();
    assert_eq!(peer.connections(), 5);
}

#[test]
fn connections_can_be_kept_for_no_time_and_in_no_number() {
    for none in 0..2 {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::json()]);
        let builder = builder(&peer, &scenario);
        let builder = if none == 0 {
            builder.connections(ConnectionConfig::default().with_max_idle(0))
        } else {
            builder.connections(ConnectionConfig::default().with_idle_timeout(Duration::ZERO))
        };
        let client = builder.build().unwrap();
        for number in 1..=3 {
            assert_eq!(execution(&call(&client).unwrap()), number);
        }
        assert_eq!(peer.connections(), 3);
    }
}

/// Bytes that nobody asked for must not become the beginning of the next response: not those that came with the body, and not
/// those that came after it.
#[test]
fn a_connection_with_bytes_behind_the_body_is_not_used_again() {
    let text = r#"{"jsonrpc":"2.0","id":{id},"result":{"executions":{executions}}}"#;
    let forged = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n";
    for peer in [Peer::start(), Peer::start_tls()] {
        for extra in ["x", "\r\n", forged] {
            for later in [false, true] {
                let response = Response::json(format!("{text}{extra}"));
                let response = response.framing(Framing::WrongLength(-(extra.len() as isize)));
                let gate = Gate::new();
                // The peer means to keep the connection.
                let mut script = Script::new(response).then(Ending::KeepAlive);
                if later {
                    script = script.wait_at(At::end().plus(-(extra.len() as isize)), &gate);
                }
                let scenario = peer.scenario([script, Script::json()]);
                let client = client(&peer, &scenario);
                let before = peer.connections();
                assert_eq!(execution(&call(&client).unwrap()), 1);
                gate.open();
                assert!(scenario.wait_for(|log| log.responses[0].done, BOUND));
                assert_eq!(execution(&call(&client).unwrap()), 2);
                assert_eq!(peer.connections() - before, 2, "{extra:?}");
            }
        }
    }
}

#[test]
fn dropping_the_last_client_closes_its_kept_connections() {
    for (peer, close) in [(Peer::start(), ClientClose::Fin), (Peer::start_tls(), ClientClose::CloseNotify)] {
        let scenario = peer.scenario([Script::json()]);
        let client = client(&peer, &scenario);
        let other = client.clone();
        call(&client).unwrap();
        drop(client);
        call(&other).unwrap();
        assert_eq!(peer.connections(), 1);
        assert_eq!(peer.log().connections[0].client_close, None);
        drop(other);
        assert!(peer.wait_for(|log| log.connections[0].client_close == Some(close), BOUND));
    }
}
