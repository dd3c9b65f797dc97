//! E6, F11: a stream that breaks behind an event id is asked for its rest by GET, never by a second POST; at every byte.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{CallError, CallEvent, CallOptions, Reply};
use mcp_sse_core::exchange::{Exposure, FailureKind};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings, charge, execution};
use mcp_sse_tests::blocking::{failure, timed};
use mcp_sse_tests::legacy_peer::{LAST_EVENT_ID, SESSION, VERSION, listens, opens_sessions, replays, resumes, what};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Rendered, Request, Response, Scenario, Script, Sse};

over_both_adapters![
    e26_the_cursor_is_that_of_the_calls_own_stream,
    e6_broken_at_every_byte_by_fin_the_call_runs_once,
    e6_broken_at_every_byte_by_reset_the_call_runs_once,
    e6_the_rest_is_asked_for_in_the_session_and_without_a_body,
    e6_the_stream_of_initialize_is_resumed_too,
    f11_a_get_that_brings_nothing_keeps_the_cursor,
    f11_a_reset_stream_waits_its_retry_too_and_remembers_it,
    f11_a_silent_resumed_stream_ends_at_the_deadline,
    f11_a_status_of_failure_ends_it_or_counts,
    f11_five_gets_that_bring_nothing_are_the_last,
    f11_new_events_renew_the_budget,
];

const CALL: &str = "tools/call";

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25))
}

/// Makes the call and gives back its numbered notifications and its result.
fn follow<A: Adapter>(client: &A) -> (Vec<String>, Result<Reply, CallError>) {
    let mut told = Vec::new();
    let options = CallOptions::default().with_timeout(BOUND);
    let result = client.call_with(CALL, &charge(1), &options, &mut |event| {
        told.push(match event {
            CallEvent::Notification { message, .. } => format!("notification {}", progress_of(message.params())),
            CallEvent::Resume { attempt: 1, .. } => "resume".to_owned(),
            other => format!("{other:?}"),
        });
        ControlFlow::Continue(())
    });
    (told, result.expect("nobody cancelled it"))
}

fn progress_of(params: Option<&str>) -> u64 {
    let params: serde_json::Value = serde_json::from_str(params.unwrap_or_default()).expect("parameters");
    params["progress"].as_u64().expect("a progress")
}

fn gets(scenario: &Scenario) -> Vec<Request> {
    scenario.requests().into_iter().filter(|request| request.http_method == "GET").collect()
}

fn cursors(scenario: &Scenario) -> Vec<String> {
    gets(scenario).iter().map(|get| get.header(LAST_EVENT_ID).expect("a cursor").to_owned()).collect()
}

/// A priming event, a notification, the answer: each under an id.
fn blocks() -> [Sse; 3] {
    [Sse::data("").id("e-1").retry(10), Sse::progress(1).id("e-2"), Sse::charged().id("e-3")]
}

fn after(events: usize) -> Response {
    Response::sse(blocks().into_iter().skip(events))
}

/// The call's stream, and its rest for whoever asks, by the last event that came.
fn with_rest(stream: Script) -> Vec<Script> {
    let rests = [("e-1", after(1)), ("e-2", after(2)), ("e-3", after(3))];
    let rests = rests.into_iter().map(|(last, rest)| replays(last, rest));
    [opens_sessions(), stream.for_method(CALL)].into_iter().chain(rests).collect()
}

/// What must become of a stream that breaks after so many bytes.
fn check_break(
    rendered: &Rendered,
    offset: usize,
    scenario: &Scenario,
    told: &(Vec<String>, Result<Reply, CallError>),
) {
    let (events, result) = told;
    let at = |mark| rendered.at(mark).expect("a mark");
    let has_come = |block: usize| offset >= at(Mark::BlockEnd(block));
    let is_delivered = offset >= rendered.answer_delivered_at.expect("an answer");
    assert_eq!((scenario.executions_of(CALL), scenario.executions_of("initialize")), (1, 1), "never a second POST");
    let expected: Vec<&str> = match (is_delivered, has_come(1), has_come(0)) {
        (true, ..) => vec![],
        (_, true, _) => vec!["e-2"],
        (_, _, true) => vec!["e-1"],
        _ => vec![],
    };
    assert_eq!(cursors(scenario), expected);
    if !is_delivered && !has_come(0) {
        let error = result.as_ref().expect_err("lost");
        assert!(matches!(failure(error).kind, FailureKind::Lost { .. }) && error.may_have_run(), "{error}");
        let exposure = if offset < rendered.head_len { Exposure::Sent } else { Exposure::Streaming };
        assert!(error.exposure() <= exposure, "{} at {offset}", error.exposure());
        assert!(events.is_empty());
        return;
    }
    let reply = result.as_ref().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((execution(reply), reply.attempts, reply.earlier_may_have_run), (1, 1, false));
    let resume = (!expected.is_empty()).then_some("resume");
    // Each notification once, however the stream went.
    let mut story: Vec<&str> = vec!["notification 1"];
    story.extend(resume.filter(|_| has_come(1)));
    story.splice(0..0, resume.filter(|_| !has_come(1)));
    assert_eq!(events, &story);
}

/// Plays all offsets, on a few threads.
fn break_at_every_byte<A: Adapter>(ending: &Ending) {
    let script = Script::new(Response::sse(blocks()));
    // The call is the session's second request with an id.
    let mut request = Request::sample(CALL, 2);
    request.messages[0]["params"] = charge(1);
    let rendered = script.render(&request);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                let peer = Peer::start();
                loop {
                    let offset = next.fetch_add(1, Ordering::Relaxed);
                    if offset > rendered.bytes.len() {
                        break;
                    }
                    let scenario = peer.scenario(with_rest(script.clone().cut(At::byte(offset), ending.clone())));
                    let told = follow(&client::<A>(&scenario));
                    let requests = scenario.requests();
                    let call = requests.iter().position(|request| request.method() == Some(CALL)).expect("the call");
                    assert!(scenario.wait_for(|log| log.responses[call].written == offset, BOUND));
                    check_break(&rendered, offset, &scenario, &told);
                }
            });
        }
    });
}

fn e6_broken_at_every_byte_by_fin_the_call_runs_once<A: Adapter>() {
    break_at_every_byte::<A>(&Ending::Fin);
}

fn e6_broken_at_every_byte_by_reset_the_call_runs_once<A: Adapter>() {
    break_at_every_byte::<A>(&Ending::Reset);
}

fn e6_the_rest_is_asked_for_in_the_session_and_without_a_body<A: Adapter>() {
    for ending in [Ending::Fin, Ending::Reset, Ending::KeepAlive] {
        let peer = Peer::start();
        // Kept alive, the stream ends as its framing says and without an answer: the server lets its client come back.
        let stream = match &ending {
            Ending::KeepAlive => Script::new(Response::sse(blocks().into_iter().take(2))),
            ending => Script::new(Response::sse(blocks())).cut(At::mark(Mark::BlockEnd(1)), ending.clone()),
        };
        let scenario = peer.scenario(with_rest(stream));
        let (events, result) = follow(&client::<A>(&scenario));
        assert_eq!(execution(&result.expect("an answer")), 1);
        assert_eq!(events, ["notification 1", "resume"]);
        let [get] = &gets(&scenario)[..] else { panic!("one GET") };
        assert_eq!((get.header(LAST_EVENT_ID), get.header(SESSION)), (Some("e-2"), Some("s-1")));
        assert_eq!((get.header(VERSION), get.header("accept")), (Some("2025-11-25"), Some("text/event-stream")));
        assert!(get.body.is_empty() && get.header("content-type").is_none());
        let whats: Vec<_> = scenario.requests().iter().map(what).collect();
        assert_eq!(whats, ["initialize", "notifications/initialized", CALL, "GET"]);
    }
}

fn e6_the_stream_of_initialize_is_resumed_too<A: Adapter>() {
    let peer = Peer::start();
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"a","version":"1"}}}"#;
    let primed = Response::sse([Sse::data("").id("i-1").retry(10)]).header("Mcp-Session-Id", "s-1");
    let broken = Script::new(primed).cut(At::mark(Mark::BlockEnd(0)), Ending::Reset).for_method("initialize");
    let scenario = peer.scenario([broken, replays("i-1", Response::sse([Sse::data(result).id("i-2")]))]);
    assert_eq!(execution(&client::<A>(&scenario).call(CALL).expect("an answer")), 1);
    assert_eq!((scenario.executions_of("initialize"), cursors(&scenario)), (1, vec!["i-1".to_owned()]));
    let last = scenario.requests().pop().expect("the call");
    assert_eq!((last.method(), last.header(SESSION)), (Some(CALL), Some("s-1")));
}

/// Section 4: retry is obeyed after resets too, and remembered when it is not said again.
fn f11_a_reset_stream_waits_its_retry_too_and_remembers_it<A: Adapter>() {
    const RETRY: Duration = Duration::from_millis(250);
    let peer = Peer::start();
    let reset = |block| Script::new(Response::sse([block])).cut(At::mark(Mark::BlockEnd(0)), Ending::Reset);
    let first = reset(Sse::data("").id("e-1").retry(250));
    let second = resumes("e-1", reset(Sse::progress(1).id("e-2")));
    let third = replays("e-2", after(2));
    let scenario = peer.scenario([opens_sessions(), first.for_method(CALL), second, third]);
    let client = client::<A>(&scenario);
    client.call("ping").expect("an answer");
    let ((events, result), elapsed) = timed(|| follow(&client));
    assert_eq!(execution(&result.expect("an answer")), 1);
    assert_eq!(
        (events, cursors(&scenario)),
        (vec!["resume".into(), "notification 1".into(), "resume".into()], vec!["e-1".into(), "e-2".into()])
    );
    assert!(elapsed >= 2 * RETRY, "{elapsed:?}");
}

/// Section 4: "resumed GET ends before a new id: 2nd GET without Last-Event-ID: answer lost".
fn f11_a_get_that_brings_nothing_keeps_the_cursor<A: Adapter>() {
    let peer = Peer::start();
    let stream = Script::new(Response::sse(blocks())).cut(At::mark(Mark::BlockEnd(0)), Ending::Fin);
    let empty = || replays("e-1", Response::sse([]));
    let comment = replays("e-1", Response::sse([Sse::comment("nothing yet")]));
    let reset = resumes("e-1", Script::new(Response::sse([])).cut(At::mark(Mark::HeadEnd), Ending::Reset));
    let unanswered = resumes("e-1", Script::whole().cut(At::byte(0), Ending::Fin));
    let scenario = peer.scenario([opens_sessions(), stream.for_method(CALL), empty(), comment, reset, unanswered]);
    scenario.push([replays("e-1", after(1))]);
    let (events, result) = follow(&client::<A>(&scenario));
    assert_eq!(execution(&result.expect("an answer")), 1);
    assert_eq!((cursors(&scenario), scenario.executions_of(CALL)), (vec!["e-1".to_owned(); 5], 1));
    assert_eq!(events, ["resume", "resume", "resume", "resume", "resume", "notification 1"]);
}

/// Section 4: "every resumed stream reset at once: hot loop".
fn f11_five_gets_that_bring_nothing_are_the_last<A: Adapter>() {
    let stalled_head = Script::new(Response::sse([])).cut(At::mark(Mark::HeadEnd), Ending::Reset);
    let unanswered = Script::whole().cut(At::byte(0), Ending::Reset);
    let same_again = Script::new(Response::sse([Sse::data("").id("e-1")]));
    for barren in [stalled_head, unanswered, same_again] {
        let peer = Peer::start();
        let stream = Script::new(Response::sse(blocks())).cut(At::mark(Mark::BlockEnd(0)), Ending::Reset);
        let scenario = peer.scenario([opens_sessions(), stream.for_method(CALL), resumes("e-1", barren)]);
        let client = client::<A>(&scenario);
        client.call("ping").expect("an answer");
        let ((_, result), elapsed) = timed(|| follow(&client));
        let error = result.expect_err("lost");
        assert!(matches!(failure(&error).kind, FailureKind::Lost { .. }) && error.may_have_run(), "{error}");
        assert_eq!((cursors(&scenario).len(), scenario.executions_of(CALL)), (5, 1));
        assert!(elapsed >= 5 * Duration::from_millis(10), "{elapsed:?}");
        // The session goes on.
        client.call("tools/list").expect("an answer");
        assert_eq!(scenario.executions_of("initialize"), 1);
    }
}

fn f11_new_events_renew_the_budget<A: Adapter>() {
    const EVENTS: u64 = 12;
    let peer = Peer::start();
    let primed = Script::new(Response::sse([Sse::data("").id("0").retry(10)])).for_method(CALL);
    let mut scripts = vec![opens_sessions(), primed];
    for number in 0..EVENTS {
        // Each event costs four openings that bring nothing.
        scripts.extend((0..4).map(|_| replays(&number.to_string(), Response::sse([]))));
        let next = number + 1;
        scripts.push(replays(&number.to_string(), Response::sse([Sse::progress(next).id(&next.to_string())])));
    }
    scripts.push(replays(&EVENTS.to_string(), Response::sse([Sse::charged()])));
    let scenario = peer.scenario(scripts);
    let (events, result) = follow(&client::<A>(&scenario));
    assert_eq!(execution(&result.expect("an answer")), 1);
    let notifications = events.iter().filter(|event| event.starts_with("notification"));
    assert!(notifications.eq((1..=EVENTS).map(|number| format!("notification {number}")).collect::<Vec<_>>().iter()));
    assert_eq!(gets(&scenario).len(), 5 * EVENTS as usize + 1);
}

/// Section 4: "id seen, closed; GET -> 405", "GET -> 404 or 500": hangs, and retries without bound.
fn f11_a_status_of_failure_ends_it_or_counts<A: Adapter>() {
    type Judge = fn(&FailureKind) -> bool;
    let is_lost: Judge = |kind| matches!(kind, FailureKind::Lost { .. });
    let is_expired: Judge = |kind| matches!(kind, FailureKind::SessionExpired);
    let is_status: Judge = |kind| matches!(kind, FailureKind::Status(_));
    let cases =
        [(404, 1, is_expired), (405, 1, is_lost), (401, 1, is_status), (403, 1, is_status), (500, 5, is_status)];
    for (status, count, judge) in cases {
        let peer = Peer::start();
        let stream = Script::new(Response::sse(blocks())).cut(At::mark(Mark::BlockEnd(0)), Ending::Fin);
        let scenario =
            peer.scenario([opens_sessions(), stream.for_method(CALL), replays("e-1", Response::empty(status))]);
        let client = client::<A>(&scenario);
        let error = follow(&client).1.expect_err("not answered");
        assert!(judge(&failure(&error).kind) && error.may_have_run(), "{status}: {error}");
        assert_eq!((gets(&scenario).len(), scenario.executions_of(CALL)), (count, 1), "{status}");
        client.call("tools/list").expect("an answer");
        let sessions = if status == 404 { 2 } else { 1 };
        assert_eq!(scenario.executions_of("initialize"), sessions, "{status}");
    }
}

/// Section 4: "resumed GET opens and stays silent: hang".
fn f11_a_silent_resumed_stream_ends_at_the_deadline<A: Adapter>() {
    let deadline = Duration::from_millis(600);
    for timeout in [deadline, 4 * deadline, 16 * deadline] {
        let peer = Peer::start();
        let stream = Script::new(Response::sse(blocks())).cut(At::mark(Mark::BlockEnd(0)), Ending::Fin);
        let silent = Script::new(Response::sse([])).cut(At::mark(Mark::HeadEnd), Ending::Stall);
        let scenario = peer.scenario([opens_sessions(), stream.for_method(CALL), resumes("e-1", silent)]);
        let client = client::<A>(&scenario);
        client.call("ping").expect("an answer");
        let (result, elapsed) = timed(|| client.call_within(CALL, timeout));
        let error = result.expect_err("no answer");
        assert!(matches!(failure(&error).kind, FailureKind::Timeout { .. }), "{error}");
        assert!(elapsed >= timeout, "{elapsed:?}");
        if gets(&scenario).is_empty() {
            // The machine was too busy.
            continue;
        }
        assert_eq!((gets(&scenario).len(), scenario.executions_of(CALL)), (1, 1));
        // E11: the server is told, in the same session.
        assert!(scenario.wait_for(|log| log.notifications.len() == 2, BOUND));
        let told = scenario.log().notifications.pop().expect("a cancel");
        assert_eq!(told["method"], "notifications/cancelled");
        assert_eq!(told["params"]["requestId"], scenario.executed().pop().expect("the call").id);
        return;
    }
    panic!("the stream was never resumed in time");
}

/// Each of several calls at once resumes its own stream, whatever the others do, and so does nobody's listening stream.
fn e26_the_cursor_is_that_of_the_calls_own_stream<A: Adapter>() {
    const CALLS: u64 = 12;
    let peer = Peer::start();
    let number_of = |request: &Request| request.params()["arguments"]["n"].to_string();
    let broken = Script::with(move |request| {
        let id = format!("of-{}-{}", number_of(request), request.id().expect("an id"));
        Response::sse([Sse::data("").id(&id).retry(10)])
    });
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let rest = Script::with(|request| {
        let cursor = request.header(LAST_EVENT_ID).unwrap_or_default();
        let mut parts = cursor.split('-').skip(1);
        let (number, id) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Response::sse([Sse::data(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"number":{number}}}}}"#))])
    });
    let rest = rest
        .when(|request| request.header(LAST_EVENT_ID).is_some())
        .before(move |request| log.lock().expect("the log").push(request.header(LAST_EVENT_ID).map(str::to_owned)));
    let never = listens(Script::new(Response::empty(405)));
    let scenario = peer.scenario([opens_sessions(), broken.for_method(CALL), rest, never]);
    let client = client::<A>(&scenario);
    for (number, result) in (1..=CALLS).zip(client.call_together(CALL, CALLS)) {
        let result: serde_json::Value = result.expect("an answer").parse_result().expect("a result");
        assert_eq!(result["number"], number);
    }
    assert_eq!((asked.lock().expect("the log").len(), scenario.executions_of(CALL)), (CALLS as usize, CALLS as usize));
    assert_eq!(scenario.executions_of("initialize"), 1);
}
