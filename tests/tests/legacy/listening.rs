//! F12: what the server tells outside of calls, on the GET that belongs to a session.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{CallEvent, Outcome};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings};
use mcp_sse_tests::blocking::{failure, timed};
use mcp_sse_tests::legacy_peer::{
    LAST_EVENT_ID, SESSION, VERSION, listens, log, opens_sessions, resumes, stream, what,
};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Feed, Mark, Peer, Request, Response, Scenario, ScenarioLog, Script, Sse};
use serde_json::json;

over_both_adapters![
    f12_a_broken_stream_is_opened_again_behind_its_last_event,
    f12_a_server_without_such_a_stream_ends_listening_and_no_more,
    f12_five_openings_that_bring_nothing_are_the_last,
    f12_notifications_come_as_they_are_sent_and_calls_go_on_meanwhile,
    f12_stopping_closes_the_stream_and_nothing_else,
    f12_two_who_listen_share_one_stream_and_the_second_goes_on_without_the_first,
];

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25))
}

fn text_of(event: &CallEvent) -> Option<String> {
    let CallEvent::Notification { message, .. } = event else { return None };
    let params: serde_json::Value = serde_json::from_str(message.params()?).ok()?;
    params["data"].as_str().map(str::to_owned)
}

fn gets(scenario: &Scenario) -> Vec<Request> {
    scenario.requests().into_iter().filter(|request| request.http_method == "GET").collect()
}

fn f12_notifications_come_as_they_are_sent_and_calls_go_on_meanwhile<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let scenario = peer.scenario([opens_sessions(), listens(stream([], &feed))]);
    let client = client::<A>(&scenario);
    let (heard, hears) = mpsc::channel();
    let listener = thread::spawn({
        let client = client.clone();
        move || {
            client.listen(&json!({}), &mut |event| {
                // At its end the stream is asked for again, which is an event too.
                if let Some(text) = text_of(&event) {
                    heard.send(text).expect("a test that listens");
                }
                ControlFlow::Continue(())
            })
        }
    });
    for text in ["one", "two"] {
        feed.message(&log(text));
        // Nothing else makes it come.
        assert_eq!(hears.recv_timeout(BOUND).as_deref(), Ok(text));
        client.call("tools/call").expect("an answer");
    }
    let [get] = &gets(&scenario)[..] else { panic!("one GET") };
    assert_eq!((get.header(SESSION), get.header(VERSION)), (Some("s-1"), Some("2025-11-25")));
    assert_eq!((get.header("accept"), get.header(LAST_EVENT_ID)), (Some("text/event-stream"), None));
    assert_eq!(scenario.executions_of("initialize"), 1);
    // The server ends it for good.
    scenario.push([listens(Script::new(Response::empty(405)))]);
    feed.end(Ending::KeepAlive);
    let done = listener.join().expect("the listener").expect("nobody stopped it").expect("an end");
    assert!(matches!(done.outcome, Outcome::ListeningEnded { status: Some(405) }), "{done}");
}

fn f12_a_server_without_such_a_stream_ends_listening_and_no_more<A: Adapter>() {
    for status in [405, 404, 204] {
        let peer = Peer::start();
        let scenario = peer.scenario([opens_sessions(), listens(Script::new(Response::empty(status)))]);
        let client = client::<A>(&scenario);
        client.call("tools/call").expect("an answer");
        let done = client.listen(&json!({}), &mut |_| ControlFlow::Continue(()));
        let done = done.expect("nobody stopped it").expect("no error");
        assert!(matches!(done.outcome, Outcome::ListeningEnded { status: Some(told) } if told == status), "{done}");
        client.call("tools/call").expect("an answer");
        assert_eq!((scenario.executions_of("initialize"), gets(&scenario).len()), (1, 1), "{status}");
        assert_eq!(scenario.requests().last().and_then(|request| request.header(SESSION)), Some("s-1"));
    }
}

/// In whatever way it breaks; and no notification comes twice.
fn f12_a_broken_stream_is_opened_again_behind_its_last_event<A: Adapter>() {
    for ending in [Ending::Fin, Ending::Reset, Ending::KeepAlive] {
        let (peer, feed) = (Peer::start(), Feed::new());
        let again = resumes("l-1", stream([], &feed));
        let once_more = resumes("l-2", stream([], &feed));
        let first = stream([Sse::data("").id("l-0").retry(20)], &feed);
        let scenario = peer.scenario([opens_sessions(), listens(first), again, once_more]);
        let (mut told, mut count) = (Vec::new(), 0);
        feed.message_under("l-1", &log("one"));
        feed.end(ending.clone());
        feed.message_under("l-2", &log("two"));
        feed.end(ending);
        feed.message_under("l-3", &log("three"));
        client::<A>(&scenario).listen(&json!({}), &mut |event| {
            match text_of(&event) {
                Some(text) => told.push(text),
                None => assert!(matches!(event, CallEvent::Resume { .. }), "{event:?}"),
            }
            count += 1;
            if told.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(told, ["one", "two", "three"]);
        let cursors: Vec<_> = gets(&scenario).iter().map(|get| get.header(LAST_EVENT_ID).map(str::to_owned)).collect();
        assert_eq!(cursors, [None, Some("l-1".to_owned()), Some("l-2".to_owned())]);
    }
}

fn f12_five_openings_that_bring_nothing_are_the_last<A: Adapter>() {
    let peer = Peer::start();
    let empty = Script::new(Response::sse([Sse::block().retry(20)]));
    let reset = Script::new(Response::sse([Sse::block().retry(20)])).cut(At::mark(Mark::BlockEnd(0)), Ending::Reset);
    let scenario = peer.scenario([opens_sessions(), listens(empty), listens(reset)]);
    let client = client::<A>(&scenario);
    client.call("ping").expect("an answer");
    let (result, elapsed) = timed(|| client.listen(&json!({}), &mut |_| ControlFlow::Continue(())));
    let error = result.expect("nobody stopped it").expect_err("given up");
    assert!(matches!(failure(&error).kind, FailureKind::Lost { .. }), "{error}");
    assert_eq!(gets(&scenario).len(), 5);
    assert!(elapsed >= 4 * Duration::from_millis(20), "{elapsed:?}");
    client.call("tools/call").expect("an answer");
    assert_eq!(scenario.executions_of("initialize"), 1, "it is no error of the session");
}

fn f12_stopping_closes_the_stream_and_nothing_else<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let scenario = peer.scenario([opens_sessions(), listens(stream([], &feed))]);
    let client = client::<A>(&scenario);
    feed.message(&log("one"));
    let stopped = client.listen(&json!({}), &mut |_| ControlFlow::Break(()));
    if let Some(result) = stopped {
        assert!(matches!(failure(&result.expect_err("stopped")).kind, FailureKind::Cancelled));
    }
    assert!(scenario.wait_for_client_close(BOUND), "the stream is closed");
    client.call("tools/call").expect("an answer");
    // A stream that answers nothing is not cancelled by a notification.
    let whats: Vec<_> = scenario.requests().iter().map(what).collect();
    assert_eq!(whats, ["initialize", "notifications/initialized", "GET", "tools/call"]);
}

fn f12_two_who_listen_share_one_stream_and_the_second_goes_on_without_the_first<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let scenario = peer.scenario([opens_sessions(), listens(stream([], &feed))]);
    let client = client::<A>(&scenario);
    let listen = |until: &'static str| {
        let (heard, hears) = mpsc::channel();
        let client = client.clone();
        let listener = thread::spawn(move || {
            client.listen(&json!({}), &mut |event| {
                let text = text_of(&event).unwrap_or_default();
                let is_last = text == until;
                heard.send(text).expect("a test that listens");
                if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        });
        (listener, hears)
    };
    let has_come = |hears: &mpsc::Receiver<String>, text: &str| {
        while hears.recv_timeout(BOUND).expect("it comes") != text {}
    };
    let (first, first_hears) = listen("last of the first");
    feed.message(&log("one"));
    has_come(&first_hears, "one");
    let (second, second_hears) = listen("last of the second");
    // Until the second one listens.
    while second_hears.recv_timeout(Duration::from_millis(20)).is_err() {
        feed.message(&log("two"));
    }
    assert_eq!(gets(&scenario).len(), 1, "a session has one such stream");
    feed.message(&log("last of the first"));
    first.join().expect("the first");
    has_come(&second_hears, "last of the first");
    // The first one read it, so the second opens it anew.
    let opened_anew =
        |log: &ScenarioLog| log.requests.iter().filter(|request| request.http_method == "GET").count() == 2;
    assert!(scenario.wait_for(opened_anew, BOUND));
    let read_before = gets(&scenario)[0].connection;
    assert!(peer.wait_for(|log| log.connections[read_before].ended, BOUND));
    feed.message(&log("last of the second"));
    has_come(&second_hears, "last of the second");
    second.join().expect("the second");
    assert_eq!(scenario.executions_of("initialize"), 1);
}
