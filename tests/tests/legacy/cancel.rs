//! E11, F9: in the eras in which a disconnect is no cancel, the server is told of it; and of nobody else's call.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{CallOptions, ClientConfig};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings, charge, execution};
use mcp_sse_tests::blocking::failure;
use mcp_sse_tests::legacy_peer::{Channel, SESSION, VERSION, opens_sessions, what};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Gate, Mark, Peer, Request, Response, Scenario, Script, Sse};
use serde_json::json;

over_both_adapters![
    e11_a_handshake_that_stalls_is_not_cancelled_at_the_server,
    e11_a_time_out_is_told_in_the_session,
    f9_a_cancel_is_told_in_the_session_and_harms_no_other_call,
    f9_a_cancel_is_told_where_messages_are_posted_and_leaves_the_channel_open,
    f9_a_cancel_while_the_rest_is_waited_for_is_told_too,
];

const CALL: &str = "tools/call";

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25))
}

/// The notification of a cancel, once it has come.
fn cancelled(scenario: &Scenario) -> Request {
    let is_cancel = |request: &Request| what(request) == "notifications/cancelled";
    assert!(scenario.wait_for(|log| log.requests.iter().any(is_cancel), BOUND), "nobody told the server");
    let mut told: Vec<_> = scenario.requests().into_iter().filter(is_cancel).collect();
    assert_eq!(told.len(), 1);
    told.remove(0)
}

fn f9_a_cancel_is_told_in_the_session_and_harms_no_other_call<A: Adapter>() {
    let (peer, gate) = (Peer::start(), Gate::new());
    let endless = Script::new(Response::sse([Sse::progress(1)])).then(Ending::Stall).for_method("tools/endless");
    let slow = Script::whole().for_method(CALL).wait_at(At::mark(Mark::HeadEnd), &gate);
    let scenario = peer.scenario([opens_sessions(), endless, slow]);
    let client = client::<A>(&scenario);
    let other = thread::spawn({
        let client = client.clone();
        move || client.call(CALL)
    });
    assert!(scenario.wait_for(|log| log.executions_of(CALL) == 1, BOUND));
    client.cancel_at_first_event("tools/endless");
    let told = cancelled(&scenario);
    let endless = scenario.executed().into_iter().find(|run| run.method == "tools/endless").expect("the call");
    assert_eq!(told.params()["requestId"], endless.id);
    assert_eq!((told.header(SESSION), told.header(VERSION)), (Some("s-1"), Some("2025-11-25")));
    gate.open();
    assert_eq!(execution(&other.join().expect("the other").expect("an answer")), 1);
    client.call("tools/list").expect("an answer");
    assert_eq!((scenario.executions_of("initialize"), scenario.executions_of("tools/endless")), (1, 1));
}

fn e11_a_time_out_is_told_in_the_session<A: Adapter>() {
    for timeout in [300, 1_200, 4_800].map(Duration::from_millis) {
        let peer = Peer::start();
        let silent = Script::whole().cut(At::byte(0), Ending::Stall).for_method(CALL);
        let scenario = peer.scenario([opens_sessions(), silent]);
        let client = client::<A>(&scenario);
        client.call("ping").expect("an answer");
        let error = client.call_within(CALL, timeout).expect_err("no answer");
        assert!(matches!(failure(&error).kind, FailureKind::Timeout { .. }), "{error}");
        if !error.may_have_run() {
            // The machine was too busy.
            continue;
        }
        let told = cancelled(&scenario);
        assert_eq!(told.params()["requestId"], scenario.executed().pop().expect("the call").id);
        assert_eq!((told.header(SESSION), scenario.executions_of(CALL)), (Some("s-1"), 1));
        return;
    }
    panic!("no request was sent in time");
}

fn e11_a_handshake_that_stalls_is_not_cancelled_at_the_server<A: Adapter>() {
    let peer = Peer::start();
    let silent = Script::whole().cut(At::byte(0), Ending::Stall).for_method("initialize");
    let scenario = peer.scenario([silent, opens_sessions()]);
    let short = |config: ClientConfig| config.with_handshake_timeout(Duration::from_millis(500));
    let settings = Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25).config(short);
    let client = A::new(settings);
    let error = client.call(CALL).expect_err("no handshake");
    assert!(matches!(failure(&error).kind, FailureKind::Handshake { .. }) && !error.may_have_run(), "{error}");
    // The next call begins anew.
    for _ in 0..3 {
        // On a busy machine a handshake may take longer than it is given.
        if client.call(CALL).is_ok() {
            break;
        }
    }
    assert_eq!(scenario.executions_of(CALL), 1);
    assert!(scenario.requests().iter().all(|request| what(request) != "notifications/cancelled"));
}

/// The stream of the call has broken, and its rest is not asked for yet: there is nothing to close.
fn f9_a_cancel_while_the_rest_is_waited_for_is_told_too<A: Adapter>() {
    let peer = Peer::start();
    let primed = Script::new(Response::sse([Sse::data("").id("e-1").retry(10_000)])).for_method(CALL);
    let scenario = peer.scenario([opens_sessions(), primed]);
    let client = client::<A>(&scenario);
    // The event is that its stream will be asked for again.
    client.cancel_at_first_event(CALL);
    let told = cancelled(&scenario);
    assert_eq!(told.params()["requestId"], scenario.executed().pop().expect("the call").id);
    assert!(scenario.requests().iter().all(|request| request.http_method != "GET"));
}

fn f9_a_cancel_is_told_where_messages_are_posted_and_leaves_the_channel_open<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    let progress = channel.clone();
    scenario.push([channel.accepts("tools/endless").after(move |request| {
        let token = request.params()["_meta"]["progressToken"].clone();
        let params = json!({"progressToken": token, "progress": 1});
        progress.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
    })]);
    let client = A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05));
    let mut params = charge(1);
    params["_meta"] = json!({"progressToken": "mine"});
    let options = CallOptions::default().with_timeout(BOUND);
    client.call_with("tools/endless", &params, &options, &mut |_| ControlFlow::Break(()));
    let told = cancelled(&scenario);
    let endless = scenario.executed().into_iter().find(|run| run.method == "tools/endless").expect("the call");
    assert_eq!(told.params()["requestId"], endless.id);
    assert!(told.target.ends_with("/messages"));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    let gets = scenario.requests().iter().filter(|request| request.http_method == "GET").count();
    assert_eq!(gets, 1, "the channel belongs to all");
}
