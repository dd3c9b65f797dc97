//! F15: what a server asks of its client, on the stream of a call and on the one that belongs to none, and the answers that
//! are posted to it.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_sse_core::client::ErrorReply;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Handler, Settings, execution};
use mcp_sse_tests::legacy_peer::{Channel, SESSION, VERSION, ask, listens, opens_sessions, stream, takes_replies};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Feed, Gate, Kind, Mark, Peer, Request, Response, Scenario, Script, Sse};
use serde_json::{Value, json};

over_both_adapters![
    e22_a_modern_servers_request_is_never_answered,
    f15_a_handler_may_make_a_call_itself_on_a_channel,
    f15_a_handler_may_make_a_call_itself_on_the_stream_of_a_call,
    f15_a_handler_may_make_a_call_itself_on_the_listening_stream,
    f15_a_handler_that_fails_gives_its_error,
    f15_a_handler_that_panics_is_an_internal_error_and_harms_no_call,
    f15_a_handler_that_takes_long_stalls_no_other_call_on_a_channel,
    f15_a_request_on_a_channel_is_answered_where_messages_are_posted,
    f15_a_request_on_a_stream_that_then_breaks_is_answered,
    f15_a_request_on_the_listening_stream_is_answered,
    f15_an_answer_that_is_refused_harms_no_call,
    f15_ping_and_unknown_methods_are_answered_while_the_stream_waits,
];

const CALL: &str = "tools/call";
const ROOTS: &str = "roots/list";

fn settings(scenario: &Scenario) -> Settings {
    Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25)
}

/// A handler that gives the number in the parameters back.
fn echo() -> Handler {
    Handler::answers(|request| {
        let params: Value = serde_json::from_str(request.params().unwrap_or_default()).expect("parameters");
        Ok(json!({"roots": [], "number": params["number"]}))
    })
}

/// The counted tool, which asks this first and goes on when the gate opens.
fn asking(question: &Value, gate: &Gate) -> Script {
    let script = Script::new(Response::sse([Sse::message(question.to_string()), Sse::charged()]));
    script.for_method(CALL).wait_at(At::mark(Mark::BlockStart(1)), gate)
}

/// The answers to the server, once so many have come.
fn replies(scenario: &Scenario, count: usize) -> Vec<Value> {
    assert!(scenario.wait_for(|log| log.replies.len() >= count, BOUND), "the server was not answered");
    scenario.log().replies
}

fn reply_requests(scenario: &Scenario) -> Vec<Request> {
    scenario.requests().into_iter().filter(|request| request.kind() == Kind::Reply).collect()
}

fn f15_ping_and_unknown_methods_are_answered_while_the_stream_waits<A: Adapter>() {
    for id in [json!(0), json!("zero"), json!(9_007_199_254_740_991_u64)] {
        for (method, outcome) in [("ping", json!({"result": {}})), ("roots/list", json!({"error": -32601}))] {
            let (peer, gate) = (Peer::start(), Gate::new());
            let scenario =
                peer.scenario([opens_sessions(), asking(&ask(id.clone(), method), &gate), takes_replies(&gate)]);
            let client = A::new(settings(&scenario));
            assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
            let replies = replies(&scenario, 1);
            assert_eq!((replies.len(), &replies[0]["id"]), (1, &id));
            match outcome.get("error") {
                None => assert_eq!(replies[0]["result"], outcome["result"]),
                Some(code) => assert_eq!(&replies[0]["error"]["code"], code),
            }
            let [reply] = &reply_requests(&scenario)[..] else { panic!("one reply") };
            assert_eq!((reply.header(SESSION), reply.header(VERSION)), (Some("s-1"), Some("2025-11-25")));
        }
    }
}

fn f15_a_request_on_a_stream_that_then_breaks_is_answered<A: Adapter>() {
    let (peer, gate) = (Peer::start(), Gate::new());
    let question = Sse::message(ask(5, ROOTS).to_string()).id("e-1").retry(10);
    let broken =
        Script::new(Response::sse([question])).cut(At::mark(Mark::BlockEnd(0)), Ending::Reset).for_method(CALL);
    let rest = mcp_sse_tests::legacy_peer::resumes("e-1", Script::new(Response::sse([Sse::charged()])));
    let rest = rest.wait_at(At::byte(0), &gate);
    let no_stream = listens(Script::new(Response::empty(405)));
    let scenario = peer.scenario([opens_sessions(), no_stream, broken, rest, takes_replies(&gate)]);
    let client = A::new(settings(&scenario).handles(ROOTS, echo()));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    let replies = replies(&scenario, 1);
    assert_eq!((replies.len(), &replies[0]["result"]["number"]), (1, &json!(7)));
    assert_eq!(scenario.executions_of(CALL), 1);
}

fn f15_a_request_on_the_listening_stream_is_answered<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let scenario = peer.scenario([opens_sessions(), listens(stream([], &feed)), takes_replies(&Gate::new())]);
    let client = A::new(settings(&scenario).handles(ROOTS, echo()));
    client.call(CALL).expect("an answer");
    assert!(scenario.wait_for(|log| log.requests.iter().any(|request| request.http_method == "GET"), BOUND));
    for (number, method) in [(1, ROOTS), (2, "ping"), (3, "sampling/createMessage")] {
        // Nobody makes a call meanwhile.
        feed.message(&ask(number, method));
        let replies = replies(&scenario, number);
        let reply = replies.iter().find(|reply| reply["id"] == number).expect("its answer");
        match number {
            1 => assert_eq!(reply["result"], json!({"roots": [], "number": 7})),
            2 => assert_eq!(reply["result"], json!({})),
            _ => assert_eq!(reply["error"]["code"], -32601),
        }
    }
    assert!(reply_requests(&scenario).iter().all(|reply| reply.header(SESSION) == Some("s-1")));
}

fn f15_a_handler_that_fails_gives_its_error<A: Adapter>() {
    let (peer, gate) = (Peer::start(), Gate::new());
    let no_stream = listens(Script::new(Response::empty(405)));
    let scenario = peer.scenario([opens_sessions(), no_stream, asking(&ask(5, ROOTS), &gate), takes_replies(&gate)]);
    let refuse = Handler::answers(|_| Err(ErrorReply::new(-1, "the user \"declined\"\n")));
    let client = A::new(settings(&scenario).handles(ROOTS, refuse));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    let replies = replies(&scenario, 1);
    assert_eq!(replies[0]["error"], json!({"code": -1, "message": "the user \"declined\"\n"}));
}

fn f15_an_answer_that_is_refused_harms_no_call<A: Adapter>() {
    for refusal in [Script::new(Response::empty(500)), Script::whole().cut(At::byte(0), Ending::Reset)] {
        let (peer, gate) = (Peer::start(), Gate::new());
        let opener = gate.clone();
        let refuses = refusal.when(|request| request.kind() == Kind::Reply).before(move |_| opener.open());
        let scenario = peer.scenario([opens_sessions(), asking(&ask(5, "ping"), &gate), refuses]);
        let client = A::new(settings(&scenario));
        assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
        assert_eq!(execution(&client.call(CALL).expect("an answer")), 2);
        // Each question was answered once: an answer is not sent again.
        assert_eq!(replies(&scenario, 2).len(), 2);
        assert_eq!(scenario.executions_of("initialize"), 1);
    }
}

fn f15_a_handler_may_make_a_call_itself_on_the_stream_of_a_call<A: Adapter>() {
    let (peer, gate) = (Peer::start(), Gate::new());
    let no_stream = listens(Script::new(Response::empty(405)));
    let scenario = peer.scenario([opens_sessions(), no_stream, asking(&ask(5, ROOTS), &gate), takes_replies(&gate)]);
    let client = A::new(settings(&scenario).handles(ROOTS, Handler::Calls("prompts/get")));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    assert_eq!(replies(&scenario, 1)[0]["result"]["executions"], 1);
    assert_eq!(scenario.executions_of("prompts/get"), 1);
}

fn f15_a_handler_may_make_a_call_itself_on_the_listening_stream<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let scenario = peer.scenario([opens_sessions(), listens(stream([], &feed)), takes_replies(&Gate::new())]);
    let client = A::new(settings(&scenario).handles(ROOTS, Handler::Calls("prompts/get")));
    client.call(CALL).expect("an answer");
    feed.message(&ask(5, ROOTS));
    assert_eq!(replies(&scenario, 1)[0]["result"]["executions"], 1);
    assert_eq!(scenario.executions_of("prompts/get"), 1);
}

fn over_a_channel<A: Adapter>(scenario: &Scenario, handler: Handler) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05).handles(ROOTS, handler))
}

/// The tool answers only when the server was answered, on a channel that says everything.
fn asking_channel(channel: &Channel) -> Vec<Script> {
    let (asker, answerer) = (channel.clone(), channel.clone());
    let asks = channel.accepts(CALL).after(move |_| asker.say(&ask(5, ROOTS)));
    let replied = Script::new(Response::empty(202)).when(|request| request.kind() == Kind::Reply);
    let replied = replied.after(move |request| {
        if let Some(call) = &request.earlier_call {
            let result = json!({"executions": 1});
            answerer.say(&json!({"jsonrpc": "2.0", "id": call["id"], "result": result}));
        }
    });
    let mut scripts = vec![channel.opens(), channel.answers("initialize"), channel.answers("prompts/get")];
    scripts.extend([asks, replied]);
    scripts
}

fn f15_a_request_on_a_channel_is_answered_where_messages_are_posted<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(asking_channel(&channel));
    let client = over_a_channel::<A>(&scenario, echo());
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    assert_eq!(replies(&scenario, 1)[0]["result"]["number"], 7);
    assert!(reply_requests(&scenario).iter().all(|reply| reply.target.ends_with("/messages")));
}

/// BEHAVIOURS 6.1: "callbacks run on the reader thread: one that issues a request cannot be answered until timeout".
fn f15_a_handler_may_make_a_call_itself_on_a_channel<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), channel.answers("prompts/get")]);
    scenario.push([channel.answers(CALL), takes_replies(&Gate::new())]);
    let client = over_a_channel::<A>(&scenario, Handler::Calls("prompts/get"));
    client.call(CALL).expect("an answer");
    channel.say(&ask(5, ROOTS));
    assert_eq!(replies(&scenario, 1)[0]["result"]["executions"], 1);
    client.call(CALL).expect("an answer");
}

/// The same: "a slow one stalls the stream".
fn f15_a_handler_that_takes_long_stalls_no_other_call_on_a_channel<A: Adapter>() {
    if A::NAME == "tokio" {
        // There a handler is a future, and one that blocks its thread is at fault.
        return;
    }
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    scenario.push([takes_replies(&Gate::new())]);
    let (entered, gate) = (Arc::new(AtomicUsize::new(0)), Gate::new());
    let (inside, door) = (Arc::clone(&entered), gate.clone());
    let slow = Handler::answers(move |_| {
        inside.fetch_add(1, Ordering::SeqCst);
        door.pass();
        Ok(json!({}))
    });
    let client = over_a_channel::<A>(&scenario, slow);
    client.call(CALL).expect("an answer");
    channel.say(&ask(5, ROOTS));
    // It is inside, or on its way there: the call must be answered whichever it is.
    for _ in 0..3 {
        client.call_within(CALL, Duration::from_secs(8)).expect("an answer");
    }
    gate.open();
    assert_eq!((replies(&scenario, 1).len(), entered.load(Ordering::SeqCst)), (1, 1));
}

fn f15_a_handler_that_panics_is_an_internal_error_and_harms_no_call<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    scenario.push([takes_replies(&Gate::new())]);
    // As a panic does, without its message on standard error.
    let client = over_a_channel::<A>(&scenario, Handler::answers(|_| resume_unwind(Box::new(()))));
    client.call(CALL).expect("an answer");
    // More of them than may be under way at once.
    for number in 1..=12 {
        channel.say(&ask(number, ROOTS));
        assert_eq!(replies(&scenario, number)[number - 1]["error"]["code"], -32603);
    }
    client.call(CALL).expect("an answer");
    assert_eq!(scenario.executions_of("initialize"), 1);
}

fn e22_a_modern_servers_request_is_never_answered<A: Adapter>() {
    let peer = Peer::start();
    let asks = Script::new(Response::sse([Sse::message(ask(5, ROOTS).to_string()), Sse::charged()]));
    let scenario = peer.scenario([asks]);
    let client = A::new(Settings::fixed(scenario.url(), ProtocolVersion::LATEST).handles(ROOTS, echo()));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    client.call("tools/list").expect("an answer");
    assert!(scenario.log().replies.is_empty() && opens_nothing(&scenario));
}

fn opens_nothing(scenario: &Scenario) -> bool {
    scenario.requests().iter().all(|request| request.http_method == "POST" && request.method() != Some("initialize"))
}
