//! What the blocking adapter shows while a call runs (E21), when the answer is given (E2), and stopping (E30, F9).

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use mcp_sse_blocking::{CallEvent, Client, ClientConfig};
use mcp_sse_core::client::ConnectionConfig;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::blocking::{BOUND, METHOD, SHORT, builder, call, charge, client, execution, timed, within};
use mcp_sse_tests::peer::{At, ClientClose, Ending, Gate, Mark, Peer, Response, Scenario, Script, Sse, Text};
use serde_json::Value;

/// Two notifications, then the answer.
fn notified() -> Response {
    Response::sse([note(1), note(2), Sse::charged()])
}

fn note(number: u64) -> Sse {
    Sse::message(Text::from(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":{number},"of":{{attempt}}}}}}"#
    )))
}

/// The attempt that a notification came on, the request that it says it belongs to, and its number.
fn notification(event: &CallEvent) -> Option<(u32, u64, u64)> {
    let CallEvent::Notification { attempt, message } = event else { return None };
    let params: Value = serde_json::from_str(message.params()?).ok()?;
    Some((*attempt, params["of"].as_u64()?, params["data"].as_u64()?))
}

fn is_answered(scenario: &Scenario) -> bool {
    scenario.log().responses.last().is_some_and(|response| response.done)
}

#[test]
fn e21_t118_notifications_are_shown_while_the_answer_is_still_to_come() {
    for peer in [Peer::start(), Peer::start_tls()] {
        let (first, second) = (Gate::new(), Gate::new());
        let script = Script::new(notified()).wait_at(At::mark(Mark::BlockEnd(0)), &first);
        let scenario = peer.scenario([script.wait_at(At::mark(Mark::BlockEnd(1)), &second)]);
        let mut shown = Vec::new();
        let reply = client(&peer, &scenario).call_with(METHOD, &charge(1), &within(BOUND), |event| {
            assert!(!is_answered(&scenario), "shown before the answer was written");
            let notification = notification(&event).unwrap();
            shown.push(notification);
            // The peer goes on only now: were notifications held back, its gate would wait in vain.
            if notification.2 == 1 {
                first.open()
            } else {
                second.open()
            }
            ControlFlow::Continue(())
        });
        assert_eq!(execution(&reply.unwrap()), 1);
        assert_eq!(shown, [(1, 1, 1), (1, 1, 2)]);
    }
}

#[test]
fn e21_notifications_of_a_broken_attempt_are_shown_once_and_with_their_attempt() {
    let peer = Peer::start();
    let broken = Script::new(notified()).cut(At::mark(Mark::AnswerStart), Ending::Reset);
    let scenario = peer.scenario([broken, Script::new(notified())]);
    let mut shown = Vec::new();
    let reply = client(&peer, &scenario).call_with(METHOD, &charge(1), &within(BOUND), |event| {
        match &event {
            CallEvent::Reissue { attempt, .. } => shown.push((*attempt, 0, 0)),
            _ => shown.extend(notification(&event)),
        }
        ControlFlow::Continue(())
    });
    assert_eq!(execution(&reply.unwrap()), 2);
    assert_eq!(shown, [(1, 1, 1), (1, 1, 2), (2, 0, 0), (2, 2, 1), (2, 2, 2)]);
}

#[test]
fn e21_notifications_are_shown_also_when_the_stream_then_stalls_to_the_deadline() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::new(notified()).cut(At::mark(Mark::AnswerStart), Ending::Stall)]);
    let mut shown = Vec::new();
    let result = client(&peer, &scenario).call_with(METHOD, &charge(1), &within(SHORT), |event| {
        shown.extend(notification(&event));
        ControlFlow::Continue(())
    });
    assert_eq!(result.unwrap_err().kind(), "timeout");
    assert_eq!(shown, [(1, 1, 1), (1, 1, 2)]);
}

#[test]
fn e15_e22_strays_and_requests_of_the_server_are_shown() {
    let peer = Peer::start();
    let request = r#"{"jsonrpc":"2.0","id":"s1","method":"roots/list"}"#;
    let stray = r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#;
    let response = Response::sse([Sse::message(request), Sse::message(stray), Sse::charged()]);
    let scenario = peer.scenario([Script::new(response)]);
    let mut shown = Vec::new();
    let reply = client(&peer, &scenario).call_with(METHOD, &charge(1), &within(BOUND), |event| {
        shown.push(match event {
            CallEvent::Request { is_violation: true, .. } => "request",
            CallEvent::Stray { .. } => "stray",
            _ => "other",
        });
        ControlFlow::Continue(())
    });
    assert_eq!(execution(&reply.unwrap()), 1);
    assert_eq!(shown, ["request", "stray"]);
    assert!(scenario.log().replies.is_empty(), "T121: never answered");
}

#[test]
fn e30_f9_stopping_cancels_the_call_and_closes_its_stream() {
    for (peer, close) in [(Peer::start(), ClientClose::Fin), (Peer::start_tls(), ClientClose::CloseNotify)] {
        let scenario = peer.scenario([Script::new(notified()).cut(At::mark(Mark::AnswerStart), Ending::Stall)]);
        let client = client(&peer, &scenario);
        let mut shown = 0;
        let (result, elapsed) = timed(|| {
            client.call_with(METHOD, &charge(1), &within(4 * BOUND), |_| {
                shown += 1;
                ControlFlow::Break(())
            })
        });
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.attempts(), error.may_have_run()), ("cancelled", 1, true));
        assert!(elapsed < BOUND, "{elapsed:?}");
        assert_eq!(shown, 1, "a handler that asked to stop is not called again");
        assert!(scenario.wait_for_client_close(BOUND));
        // A client that closes with bytes unread resets: that is as good.
        let seen = scenario.connections()[0].client_close;
        assert!(seen == Some(close) || seen == Some(ClientClose::Reset), "{seen:?}");
        assert_eq!((scenario.executions(), scenario.requests().len()), (1, 1));
    }
}

#[test]
fn e30_stopping_at_a_replacement_sends_none() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole().cut(At::byte(0), Ending::Fin)]);
    let result = client(&peer, &scenario).call_with(METHOD, &charge(1), &within(BOUND), |event| {
        assert!(matches!(event, CallEvent::Reissue { attempt: 2, .. }));
        ControlFlow::Break(())
    });
    let error = result.unwrap_err();
    assert_eq!(error.kind(), "cancelled");
    assert!(error.may_have_run(), "the lost attempt may have run");
    assert_eq!((scenario.executions(), peer.connections()), (1, 1));
}

/// Here the array came whole before its first message was shown, so the answer is there, and stopping loses nothing.
#[test]
fn e25_e30_stopping_within_an_array_shows_nothing_more_of_it() {
    let peer = Peer::start();
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    let answer = r#"{"jsonrpc":"2.0","id":{id},"result":{"executions":{executions}}}"#;
    let scenario = peer.scenario([Script::new(Response::json(format!("[{note},{note},{answer}]")))]);
    let config = ClientConfig::default().with_version(ProtocolVersion::V2025_03_26).with_handshake(false);
    let client = builder(&peer, &scenario).config(config).build().unwrap();
    let mut shown = 0;
    let reply = client.call_with(METHOD, &charge(1), &within(BOUND), |_| {
        shown += 1;
        ControlFlow::Break(())
    });
    assert_eq!((execution(&reply.unwrap()), shown), (1, 1));
}

#[test]
fn f9_t141_stopping_one_call_leaves_the_others_alone() {
    let peer = Peer::start();
    let gate = Gate::new();
    let is_first = |request: &mcp_sse_tests::peer::Request| request.params()["arguments"]["n"] == 1;
    let stalled = Script::new(notified()).cut(At::mark(Mark::AnswerStart), Ending::Stall).when(is_first);
    let waiting = Script::new(notified()).wait_at(At::mark(Mark::AnswerStart), &gate);
    let scenario = peer.scenario([stalled, waiting.when(move |request| !is_first(request))]);
    let client = client(&peer, &scenario);
    thread::scope(|scope| {
        let other = scope.spawn(|| client.call(METHOD, &charge(2)));
        assert!(scenario.wait_for(|log| log.executions.len() == 1, BOUND));
        let stopped = client.call_with(METHOD, &charge(1), &within(BOUND), |_| ControlFlow::Break(()));
        assert_eq!(stopped.unwrap_err().kind(), "cancelled");
        gate.open();
        assert_eq!(other.join().unwrap().unwrap().attempts, 1);
    });
    assert_eq!(scenario.executions(), 2);
}

#[test]
fn e30_a_handler_that_panics_takes_its_own_call_down_and_nothing_else() {
    let peer = Peer::start();
    let stalled = Script::new(notified()).cut(At::mark(Mark::AnswerStart), Ending::Stall);
    let scenario = peer.scenario([stalled, Script::whole()]);
    let client = client(&peer, &scenario);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        client.call_with(METHOD, &charge(1), &within(BOUND), |_| panic!("the handler's own"))
    }));
    assert!(panicked.is_err());
    assert!(scenario.wait_for_client_close(BOUND));
    assert_eq!(call(&client).unwrap().attempts, 1);
    assert_eq!(scenario.executions(), 2);
}

#[test]
fn a_handler_may_make_calls_of_its_own() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::new(notified()), Script::json()]);
    let client = client(&peer, &scenario);
    let mut nested = Vec::new();
    let reply = client.call_with(METHOD, &charge(1), &within(BOUND), |_| {
        nested.push(execution(&call(&client).unwrap()));
        ControlFlow::Continue(())
    });
    assert_eq!(execution(&reply.unwrap()), 1);
    assert_eq!(nested, [2, 3]);
}

/// The caller has the answer at once; the peer sees the connection closed within the bound for reading the rest.
fn stays_open(peer: &Peer, ending: Ending) {
    let scenario = peer.scenario([Script::whole().cut(At::mark(Mark::AnswerTerminated), ending.clone())]);
    let client: Client =
        builder(peer, &scenario).connections(ConnectionConfig::default().with_drain_timeout(SHORT)).build().unwrap();
    let (reply, elapsed) =
        timed(|| client.call_with(METHOD, &charge(1), &within(4 * BOUND), |_| ControlFlow::Continue(())));
    let reply = reply.unwrap();
    assert_eq!((execution(&reply), reply.damage), (1, None), "{ending:?}");
    assert!(elapsed < BOUND, "{ending:?}: {elapsed:?}");
    assert!(scenario.wait_for_client_close(BOUND), "{ending:?}");
    assert_eq!(scenario.executions(), 1);
}

#[test]
fn e2_e4_t112_the_answer_is_given_although_its_stream_stays_open() {
    let comments = |every| Ending::Repeat { bytes: b"8\r\n: ping\n\n\r\n".to_vec(), every };
    for peer in [Peer::start(), Peer::start_tls()] {
        stays_open(&peer, Ending::Stall);
        stays_open(&peer, comments(Duration::from_millis(20)));
        stays_open(&peer, comments(Duration::ZERO));
    }
}

#[test]
fn e2_notifications_behind_the_answer_do_not_hold_it_back() {
    let peer = Peer::start();
    let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n".repeat(40);
    let bytes = format!("{:x}\r\n{event}\r\n", event.len()).into_bytes();
    let flood = Ending::Repeat { bytes, every: Duration::ZERO };
    let scenario = peer.scenario([Script::whole().cut(At::mark(Mark::ChunkEnd(0)), flood)]);
    let client = builder(&peer, &scenario)
        .connections(ConnectionConfig::default().with_drain_timeout(4 * BOUND))
        .build()
        .unwrap();
    let (reply, elapsed) = timed(|| call(&client));
    assert_eq!(execution(&reply.unwrap()), 1);
    assert!(elapsed < BOUND, "{elapsed:?}");
}

#[test]
fn e3_waiting_for_the_end_is_bounded_too() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole().cut(At::mark(Mark::ChunkEnd(0)), Ending::Stall)]);
    let client =
        builder(&peer, &scenario).connections(ConnectionConfig::default().with_drain_timeout(SHORT)).build().unwrap();
    let call = || client.call_to_end(METHOD, &charge(1), &within(4 * BOUND), |_| ControlFlow::Continue(()));
    let (result, elapsed) = timed(call);
    let (reply, done) = result.unwrap();
    assert_eq!(execution(&reply), 1);
    assert!(matches!(done.outcome, mcp_sse_core::client::Outcome::Settled(_)), "{done:?}");
    assert!(elapsed >= SHORT && elapsed < BOUND, "{elapsed:?}");
    assert!(scenario.wait_for_client_close(BOUND));
}
