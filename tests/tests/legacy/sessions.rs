//! F7: sessions of 2025-03-26 to 2025-11-25: what is on every request, a session that is gone, and who shares the next one.

use std::sync::Mutex;

use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings, charge, execution};
use mcp_sse_tests::blocking::failure;
use mcp_sse_tests::legacy_peer::{
    SESSION, VERSION, ends_sessions, opens_no_session, opens_sessions, opens_sessions_of, session_is_gone, what,
};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Gate, Peer, Response, Scenario, Script};

over_both_adapters![
    e17_an_error_of_the_servers_under_404_is_told_of_a_server_without_sessions,
    f7_a_call_that_may_have_run_is_not_repeated_and_the_next_one_has_a_new_session,
    f7_a_gateways_404_after_the_call_ran_does_not_run_it_again,
    f7_a_server_without_a_session_id_is_named_none,
    f7_concurrent_404s_share_one_new_session_and_lists_are_read_again,
    f7_a_second_404_ends,
    f7_session_and_revision_are_on_every_request,
    f7_session_over_tls,
    f7_what_was_negotiated_is_named,
];

const LEGACY: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25];

fn newest<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25))
}

fn whats(scenario: &Scenario) -> Vec<String> {
    scenario.requests().iter().map(what).collect()
}

fn sessions(scenario: &Scenario) -> Vec<Option<String>> {
    scenario.requests().iter().map(|request| request.header(SESSION).map(str::to_owned)).collect()
}

fn f7_session_and_revision_are_on_every_request<A: Adapter>() {
    for version in LEGACY {
        let peer = Peer::start();
        let scenario = peer.scenario([opens_sessions(), ends_sessions(200)]);
        let client = A::new(Settings::fixed(scenario.url(), version));
        assert_eq!(execution(&client.call("tools/call").expect("an answer")), 1);
        client.call("tools/list").expect("an answer");
        client.notify("notifications/roots/list_changed", &charge(1)).expect("taken");
        assert_eq!(client.version(), Some(version));
        client.close().expect("closed");
        let expected = [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "tools/list",
            "notifications/roots/list_changed",
            "DELETE",
        ];
        assert_eq!(whats(&scenario), expected);
        let requests = scenario.requests();
        assert_eq!((requests[0].header(SESSION), requests[0].header(VERSION)), (None, None));
        let named = (version >= ProtocolVersion::V2025_06_18).then_some(version.as_str());
        for request in &requests[1..] {
            assert_eq!((request.header(SESSION), request.header(VERSION)), (Some("s-1"), named), "{}", what(request));
        }
    }
}

fn f7_session_over_tls<A: Adapter>() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([opens_sessions(), ends_sessions(204)]);
    let settings = Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25);
    let client = A::new(settings.trusts(peer.certificate_pem()));
    assert_eq!(execution(&client.call("tools/call").expect("an answer")), 1);
    client.close().expect("closed");
    assert_eq!(whats(&scenario), ["initialize", "notifications/initialized", "tools/call", "DELETE"]);
}

fn f7_what_was_negotiated_is_named<A: Adapter>() {
    for (theirs, named) in [("2024-11-05", None), ("2025-03-26", None), ("2025-06-18", Some("2025-06-18"))] {
        let peer = Peer::start();
        let scenario = peer.scenario([opens_sessions_of(theirs)]);
        let client = newest::<A>(&scenario);
        client.call("tools/call").expect("an answer");
        assert_eq!(client.version().map(|version| version.to_string()).as_deref(), Some(theirs));
        let requests = scenario.requests();
        assert_eq!(requests.len(), 3);
        for request in &requests[1..] {
            assert_eq!((request.header(SESSION), request.header(VERSION)), (Some("s-1"), named));
        }
    }
}

fn f7_a_server_without_a_session_id_is_named_none<A: Adapter>() {
    let peer = Peer::start();
    let scenario = peer.scenario([opens_no_session("2025-11-25")]);
    let client = newest::<A>(&scenario);
    client.call("tools/call").expect("an answer");
    client.close().expect("nothing to end");
    client.call("tools/call").expect("an answer");
    assert_eq!(sessions(&scenario), vec![None; scenario.requests().len()]);
    assert!(!whats(&scenario).contains(&"DELETE".to_owned()));
    assert_eq!(scenario.executions_of("tools/call"), 2);
}

/// A script that answers 404 to the first session's requests, once so many of them have come.
fn gone_when_all_are_here(count: usize) -> Script {
    let (gate, seen) = (Gate::new(), Mutex::new(0));
    let opener = gate.clone();
    session_is_gone("s-1").wait_at(At::byte(0), &gate).before(move |_| {
        let mut seen = seen.lock().expect("the count");
        *seen += 1;
        if *seen == count {
            opener.open();
        }
    })
}

fn f7_concurrent_404s_share_one_new_session_and_lists_are_read_again<A: Adapter>() {
    const CALLS: u64 = 8;
    let peer = Peer::start();
    let scenario = peer.scenario([opens_sessions()]);
    let client = newest::<A>(&scenario);
    client.call("ping").expect("an answer");
    scenario.push([gone_when_all_are_here(CALLS as usize)]);
    for result in client.call_together("tools/list", CALLS) {
        let reply = result.expect("an answer");
        assert_eq!((reply.attempts, reply.earlier_may_have_run), (2, true));
    }
    assert_eq!(scenario.executions_of("initialize"), 2, "one new session for all");
    assert_eq!(scenario.executions_of("tools/list"), CALLS as usize);
    let lists = scenario.requests().into_iter().filter(|request| request.method() == Some("tools/list"));
    let (old, new): (Vec<_>, Vec<_>) = lists.partition(|request| request.header(SESSION) == Some("s-1"));
    assert_eq!((old.len(), new.len()), (CALLS as usize, CALLS as usize));
    assert!(new.iter().all(|request| request.header(SESSION) == Some("s-2")));
    // The second `initialize` names no session, and what follows it names the new one.
    let names: Vec<_> = sessions(&scenario).into_iter().map(|name| name.unwrap_or_default()).collect();
    let second = whats(&scenario).iter().rposition(|what| what == "initialize").expect("a second handshake");
    assert_eq!(names[second], "");
    assert!(names[second + 1..].iter().all(|name| name == "s-2"));
}

fn f7_a_call_that_may_have_run_is_not_repeated_and_the_next_one_has_a_new_session<A: Adapter>() {
    let peer = Peer::start();
    let scenario = peer.scenario([opens_sessions()]);
    let client = newest::<A>(&scenario);
    client.call("ping").expect("an answer");
    scenario.push([session_is_gone("s-1")]);
    let error = client.call("tools/call").expect_err("not answered");
    assert!(matches!(failure(&error).kind, FailureKind::SessionExpired), "{error}");
    assert!(error.may_have_run());
    assert_eq!((scenario.executions_of("tools/call"), error.attempts()), (0, 1));
    let reply = client.call("tools/call").expect("an answer");
    assert_eq!((execution(&reply), reply.attempts), (1, 1));
    assert_eq!(scenario.executions_of("initialize"), 2);
    assert_eq!(scenario.requests().last().and_then(|request| request.header(SESSION)), Some("s-2"));
}

/// Section 4: "also when a gateway sent the 404 after execution".
fn f7_a_gateways_404_after_the_call_ran_does_not_run_it_again<A: Adapter>() {
    let peer = Peer::start();
    let after = Script::new(Response::empty(404)).for_method("tools/call");
    let scenario = peer.scenario([opens_sessions(), after]);
    let client = newest::<A>(&scenario);
    let error = client.call("tools/call").expect_err("not answered");
    assert!(matches!(failure(&error).kind, FailureKind::SessionExpired) && error.may_have_run(), "{error}");
    assert_eq!(scenario.executions_of("tools/call"), 1);
}

fn f7_a_second_404_ends<A: Adapter>() {
    let peer = Peer::start();
    let gone = Script::new(Response::empty(404)).without_executing().for_method("tools/list");
    let scenario = peer.scenario([opens_sessions(), gone]);
    let client = newest::<A>(&scenario);
    let error = client.call("tools/list").expect_err("not answered");
    assert!(matches!(failure(&error).kind, FailureKind::SessionExpired), "{error}");
    let lists = whats(&scenario).iter().filter(|what| *what == "tools/list").count();
    assert_eq!((lists, error.attempts()), (2, 2));
}

fn e17_an_error_of_the_servers_under_404_is_told_of_a_server_without_sessions<A: Adapter>() {
    let peer = Peer::start();
    let body = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"no such method"}}"#;
    let unknown = Script::new(Response::json(body).status(404)).for_method("tools/call");
    let scenario = peer.scenario([opens_no_session("2025-11-25"), unknown]);
    let client = newest::<A>(&scenario);
    let reply = client.call_within("tools/call", BOUND).expect("an answer");
    assert_eq!(reply.result().expect_err("an error").code, -32601);
    assert_eq!((reply.answer.info.status, scenario.executions_of("tools/call")), (404, 1));
}
