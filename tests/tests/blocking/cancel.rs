//! E11, F9: what a time-out and a stop tell the server. Since 2026-07-28 closing the stream is the cancel; before, a
//! `notifications/cancelled` goes out in the background as well.

use std::ops::ControlFlow;

use mcp_sse_blocking::core::http::ProtocolVersion;
use mcp_sse_blocking::{Client, ClientConfig};
use mcp_sse_core::exchange::Exposure;
use mcp_sse_tests::blocking::{
    BOUND, METHOD, assert_timed_out, builder, call, charge, client, deadlines, timed, within,
};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Scenario, Script, Sse};

const CANCELLED: &str = "notifications/cancelled";

fn legacy(peer: &Peer, scenario: &Scenario, version: ProtocolVersion) -> Client {
    builder(peer, scenario).config(ClientConfig::default().with_version(version).with_handshake(false)).build().unwrap()
}

/// Makes a call that times out, by a client of a peer of its own, until the request was sent by then.
fn times_out(
    scripts: impl Fn() -> Vec<Script>,
    client: impl Fn(&Peer, &Scenario) -> Client,
    method: &str,
) -> (Peer, Scenario, Client) {
    for deadline in deadlines() {
        let peer = Peer::start();
        let scenario = peer.scenario(scripts());
        let client = client(&peer, &scenario);
        let call = || client.call_with(method, &charge(1), &within(deadline), |_| ControlFlow::Continue(()));
        let (result, elapsed) = timed(call);
        let error = result.unwrap_err();
        assert_timed_out(&error, elapsed, deadline);
        assert!(error.exposure() <= Exposure::Sent && error.attempts() == 1, "{error}");
        if error.exposure() == Exposure::Sent {
            return (peer, scenario, client);
        }
    }
    panic!("no request was sent in time");
}

fn silent() -> Script {
    Script::whole().cut(At::byte(0), Ending::Stall)
}

#[test]
fn e11_t37_a_legacy_time_out_tells_the_server() {
    for version in [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25] {
        let (_peer, scenario, _client) =
            times_out(|| vec![silent()], |peer, scenario| legacy(peer, scenario, version), METHOD);
        assert!(scenario.wait_for(|log| !log.notifications.is_empty(), BOUND));
        let log = scenario.log();
        assert_eq!(log.notifications[0]["method"], CANCELLED);
        assert_eq!(log.notifications[0]["params"]["requestId"], log.executions[0].id);
        assert_eq!((log.executions.len(), log.notifications.len(), log.requests.len()), (1, 1, 2));
    }
}

#[test]
fn f9_a_legacy_stop_tells_the_server() {
    let peer = Peer::start();
    let note = Sse::message(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#);
    let script = Script::new(Response::sse([note, Sse::charged()])).cut(At::mark(Mark::AnswerStart), Ending::Stall);
    let scenario = peer.scenario([script]);
    let client = legacy(&peer, &scenario, ProtocolVersion::V2025_11_25);
    let result = client.call_with(METHOD, &charge(1), &within(BOUND), |_| ControlFlow::Break(()));
    assert_eq!(result.unwrap_err().kind(), "cancelled");
    assert!(scenario.wait_for(|log| log.notifications.len() == 1, BOUND));
    assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND));
}

#[test]
fn e11_a_cancel_that_nobody_takes_disturbs_nobody() {
    let deaf = Script::whole().cut(At::byte(0), Ending::Stall).for_method(CANCELLED);
    let (_peer, scenario, client) = times_out(
        || vec![deaf.clone(), silent(), Script::whole()],
        |peer, scenario| legacy(peer, scenario, ProtocolVersion::V2025_11_25),
        METHOD,
    );
    assert!(scenario.wait_for(|log| log.notifications.len() == 1, BOUND));
    assert_eq!(call(&client).unwrap().attempts, 1);
}

#[test]
fn e11_initialize_is_never_cancelled() {
    let (peer, scenario, client) = times_out(
        || vec![silent(), Script::whole()],
        |peer, scenario| legacy(peer, scenario, ProtocolVersion::V2025_06_18),
        "initialize",
    );
    assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND));
    call(&client).unwrap();
    assert!(scenario.log().notifications.is_empty());
}

#[test]
fn e11_t108_a_modern_time_out_closes_the_stream_and_sends_nothing() {
    let (peer, scenario, client) = times_out(|| vec![silent(), Script::whole()], client, METHOD);
    assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND));
    // What would have gone out in the background would have been there before this answer.
    call(&client).unwrap();
    let log = scenario.log();
    assert_eq!((log.notifications.len(), log.executions.len(), log.requests.len()), (0, 2, 2));
}

#[test]
fn e7_t123_a_legacy_call_that_is_lost_is_never_posted_again() {
    for at in [At::byte(0), At::mark(Mark::HeadEnd), At::mark(Mark::AnswerStart)] {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole().cut(at, Ending::Reset)]);
        let client = legacy(&peer, &scenario, ProtocolVersion::V2025_11_25);
        let error = call(&client).unwrap_err();
        assert_eq!((error.kind(), error.attempts(), error.may_have_run()), ("lost", 1, true));
        assert_eq!((scenario.executions(), scenario.requests().len()), (1, 1));
    }
}
