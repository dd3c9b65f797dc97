//! E20: a notification is taken by any 2xx; anything else is a failure, and it is never sent again.

use mcp_sse_blocking::core::exchange::{Exposure, FailureKind};
use mcp_sse_blocking::{CallError, Client};
use mcp_sse_core::exchange::BreakKind;
use mcp_sse_tests::blocking::{
    BOUND, assert_timed_out, builder, charge, client, deadlines, failure, timed, unsent, within,
};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Scenario, Script, Text, refused_url};

const NOTE: &str = "notifications/progress";

/// One notification to a peer with this script; it must be sent once.
fn notify(script: Script) -> Result<(), CallError> {
    let peer = Peer::start();
    let scenario = peer.scenario_for(NOTE, [script]);
    let result = client(&peer, &scenario).notify(NOTE, &charge(1));
    assert_sent_once(&scenario);
    result
}

fn assert_sent_once(scenario: &Scenario) {
    let log = scenario.log();
    assert_eq!((log.requests.len(), log.notifications.len(), log.executions.len()), (1, 1, 0));
    assert!(log.notifications[0].get("id").is_none());
    assert_eq!(log.notifications[0]["params"]["arguments"], charge(1)["arguments"]);
}

#[test]
fn e20_any_2xx_takes_it() {
    for status in [200, 202, 204, 299] {
        notify(Script::new(Response::empty(status))).unwrap();
    }
    notify(Script::new(Response::json("{}"))).unwrap();
    notify(Script::new(Response::raw("<p>what?").status(200))).unwrap();
}

#[test]
fn e20_the_head_is_enough() {
    let (result, elapsed) = timed(|| notify(Script::whole().cut(At::mark(Mark::HeadEnd), Ending::Stall)));
    result.unwrap();
    assert!(elapsed < BOUND);
}

#[test]
fn e20_another_status_is_a_failure() {
    for status in [307, 400, 401, 404, 500, 503] {
        let error = notify(Script::new(Response::json(Text::error(-32600, "no")).status(status))).unwrap_err();
        assert_eq!((error.kind(), error.status(), error.attempts()), ("status", Some(status), 1));
        let FailureKind::Status(told) = &failure(&error).kind else { panic!("{error}") };
        assert_eq!(told.error_code, Some(-32600));
    }
}

#[test]
fn e20_t106_a_break_is_a_failure_and_not_sent_again() {
    for ending in [Ending::Fin, Ending::Reset] {
        for offset in [0, 1, 9, 30] {
            let error = notify(Script::new(Response::empty(202)).cut(At::byte(offset), ending.clone())).unwrap_err();
            assert_eq!((error.kind(), error.attempts()), ("lost", 1), "{ending:?} after {offset}");
            assert_eq!(error.exposure(), Exposure::Sent);
        }
    }
}

#[test]
fn e11_e20_silence_ends_at_the_deadline() {
    let peer = Peer::start();
    let was_sent = deadlines().any(|deadline| {
        let scenario = peer.scenario_for(NOTE, [Script::whole().cut(At::byte(0), Ending::Stall)]);
        let client = builder(&peer, &scenario).options(within(deadline)).build().unwrap();
        let (result, elapsed) = timed(|| client.notify(NOTE, &charge(1)));
        let error = result.unwrap_err();
        assert_timed_out(&error, elapsed, deadline);
        if error.exposure() < Exposure::Sent {
            return false;
        }
        assert!(scenario.wait_for(|log| !log.notifications.is_empty(), BOUND));
        assert_sent_once(&scenario);
        true
    });
    assert!(was_sent, "no notification was sent in time");
}

#[test]
fn e1_e20_a_notification_that_cannot_be_sent_is_unsent() {
    let error = Client::new(&refused_url()).unwrap().notify(NOTE, &()).unwrap_err();
    assert_eq!((unsent(&error), error.attempts()), (BreakKind::Connect, 1));
}

#[test]
fn parameters_that_cannot_be_sent_are_the_callers_mistake() {
    let peer = Peer::start();
    let scenario = peer.scenario([]);
    let client = client(&peer, &scenario);
    for error in [
        client.notify(NOTE, &[1, 2]).unwrap_err(),
        client.notify(NOTE, "text").unwrap_err(),
        client.notify("", &()).unwrap_err(),
        client.notify("a\r\nb", &()).unwrap_err(),
        client.call("tools/call", &7).map(drop).unwrap_err(),
        client.call("tools/call", &serde_json::json!({"_meta": 1})).map(drop).unwrap_err(),
        client.call("tools/call", &std::collections::BTreeMap::from([(vec![1], 2)])).map(drop).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.attempts(), error.exposure()), ("misuse", 0, Exposure::Unsent), "{error}");
    }
    assert_eq!(peer.connections(), 0);
}
