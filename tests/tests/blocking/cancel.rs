//! E11, F9: what a time-out and a stop tell the server. Since 2026-07-28 closing the stream is the cancel; before, a
//! `notifications/cancelled` goes out in the background as well.

use std::ops::ControlFlow;

use mcp_sse_blocking::core::http::ProtocolVersion;
use mcp_sse_blocking::{Client, ClientConfig};
use mcp_sse_tests::blocking::{BOUND, METHOD, SHORT, assert_timed_out, builder, call, charge, client, timed, within};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Scenario, Script, Sse};
use serde_json::json;

const CANCELLED: &str = "notifications/cancelled";

fn legacy(peer: &Peer, scenario: &Scenario, version: ProtocolVersion) -> Client {
    builder(peer, scenario).config(ClientConfig::default().with_version(version)).build().unwrap()
}

fn silent() -> Script {
    Script::whole().cut(At::byte(0), Ending::Stall)
}

#[test]
fn e11_t37_a_legacy_time_out_tells_the_server() {
    for version in [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25] {
        let peer = Peer::start();
        let scenario = peer.scenario([silent()]);
        let client = legacy(&peer, &scenario, version);
        let (result, elapsed) =
            timed(|| client.call_with(METHOD, &charge(1), &within(SHORT), |_| ControlFlow::Continue(())));
        assert_timed_out(&result.unwrap_err(), elapsed, SHORT);
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
    let peer = Peer::start();
    let deaf = Script::whole().cut(At::byte(0), Ending::Stall).for_method(CANCELLED);
    let scenario = peer.scenario([deaf, silent(), Script::whole()]);
    let config = ClientConfig::default().with_version(ProtocolVersion::V2025_11_25);
    let client = builder(&peer, &scenario).config(config).build().unwrap();
    let result = client.call_with(METHOD, &charge(1), &within(SHORT), |_| ControlFlow::Continue(()));
    assert_eq!(result.unwrap_err().kind(), "timeout");
    assert!(scenario.wait_for(|log| log.notifications.len() == 1, BOUND));
    assert_eq!(call(&client).unwrap().attempts, 1);
}

#[test]
fn e11_initialize_is_never_cancelled() {
    let peer = Peer::start();
    let scenario = peer.scenario([silent(), Script::whole()]);
    let client = legacy(&peer, &scenario, ProtocolVersion::V2025_06_18);
    let params = json!({"protocolVersion": "2025-06-18"});
    let result = client.call_with("initialize", &params, &within(SHORT), |_| ControlFlow::Continue(()));
    assert_eq!(result.unwrap_err().kind(), "timeout");
    assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND));
    call(&client).unwrap();
    assert!(scenario.log().notifications.is_empty());
}

#[test]
fn e11_t108_a_modern_time_out_closes_the_stream_and_sends_nothing() {
    let peer = Peer::start();
    let scenario = peer.scenario([silent(), Script::whole()]);
    let client = client(&peer, &scenario);
    let result = client.call_with(METHOD, &charge(1), &within(SHORT), |_| ControlFlow::Continue(()));
    assert_eq!(result.unwrap_err().kind(), "timeout");
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
