//! F6: what a server speaks is found out, once: a request of 2026-07-28 first, then `initialize`, then the channel.

use mcp_sse_core::client::ClientConfig;
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, Settings, execution};
use mcp_sse_tests::blocking::failure;
use mcp_sse_tests::legacy_peer::{
    Channel, SESSION, is_modern, opens_sessions, opens_sessions_of, refuses_the_modern, what,
};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Scenario, Script, Text};

over_both_adapters![
    f6_a_2xx_answer_settles_the_call_and_shows_a_legacy_server,
    f6_a_channel_is_the_last_rung,
    f6_a_legacy_server_gets_initialize_and_then_the_same_request,
    f6_a_legacy_server_that_closes_the_connection_with_its_refusal,
    f6_a_modern_error_is_the_answer_of_a_modern_server,
    f6_a_modern_server_is_asked_once,
    f6_a_probe_finds_out_before_the_first_request,
    f6_calls_made_together_climb_once,
    f6_nothing_is_proved_by_a_loss_a_5xx_or_a_401,
];

const CALL: &str = "tools/call";

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::auto(scenario.url()))
}

fn whats(scenario: &Scenario) -> Vec<String> {
    scenario.requests().iter().map(what).collect()
}

fn f6_a_modern_server_is_asked_once<A: Adapter>() {
    let peer = Peer::start();
    let scenario = peer.scenario([]);
    let client = client::<A>(&scenario);
    assert_eq!(client.version(), None);
    for number in 1..=2 {
        assert_eq!(execution(&client.call(CALL).expect("an answer")), number);
    }
    assert_eq!(whats(&scenario), [CALL, CALL]);
    assert!(scenario.requests().iter().all(|request| is_modern(request) && request.header(SESSION).is_none()));
    assert_eq!(client.version(), Some(ProtocolVersion::V2026_07_28));
}

fn f6_a_modern_error_is_the_answer_of_a_modern_server<A: Adapter>() {
    for (status, code) in [(404, -32601), (400, -32021)] {
        let peer = Peer::start();
        let refusal = Script::new(Response::json(Text::error(code, "no")).status(status)).for_method("tools/none");
        let scenario = peer.scenario([refusal]);
        let client = client::<A>(&scenario);
        let reply = client.call("tools/none").expect("an answer");
        assert_eq!((reply.result().expect_err("an error").code, reply.answer.info.status), (code, status));
        assert_eq!(client.version(), Some(ProtocolVersion::V2026_07_28));
        assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
        assert_eq!(whats(&scenario), ["tools/none", CALL]);
    }
}

fn f6_a_legacy_server_gets_initialize_and_then_the_same_request<A: Adapter>() {
    for (status, version) in
        [(400, "2025-11-25"), (404, "2025-06-18"), (405, "2025-03-26"), (406, "2025-11-25"), (422, "2025-11-25")]
    {
        let peer = Peer::start();
        let scenario = peer.scenario([refuses_the_modern(status), opens_sessions_of(version)]);
        let client = client::<A>(&scenario);
        for number in 1..=2 {
            assert_eq!(execution(&client.call(CALL).expect("an answer")), number, "{status}");
        }
        assert_eq!(whats(&scenario), [CALL, "initialize", "notifications/initialized", CALL, CALL]);
        assert_eq!((scenario.executions_of(CALL), scenario.executions_of("initialize")), (2, 1));
        assert_eq!(scenario.executed()[0].params["protocolVersion"], "2025-11-25");
        assert_eq!(client.version().map(|version| version.to_string()).as_deref(), Some(version));
        let later = &scenario.requests()[2..];
        assert!(
            later.iter().all(|request| request.header(SESSION) == Some("s-1") && request.params()["_meta"].is_null())
        );
    }
}

/// In a way that no client must take for a loss: the connection is closed, without a word of that in the head.
fn f6_a_legacy_server_that_closes_the_connection_with_its_refusal<A: Adapter>() {
    for ending in [Ending::Fin, Ending::Reset] {
        let peer = Peer::start();
        let scenario = peer.scenario([refuses_the_modern(400).then(ending), opens_sessions()]);
        assert_eq!(execution(&client::<A>(&scenario).call(CALL).expect("an answer")), 1);
        assert_eq!(whats(&scenario), [CALL, "initialize", "notifications/initialized", CALL]);
    }
    // Nor is a body that is cut a reason to think otherwise of the status (E18).
    let peer = Peer::start();
    let cut = refuses_the_modern(400).cut(At::mark(Mark::HeadEnd).plus(9), Ending::Fin);
    let scenario = peer.scenario([cut, opens_sessions()]);
    assert_eq!(execution(&client::<A>(&scenario).call(CALL).expect("an answer")), 1);
}

fn f6_a_2xx_answer_settles_the_call_and_shows_a_legacy_server<A: Adapter>() {
    let peer = Peer::start();
    let answer = r#"{"jsonrpc":"2.0","id":{id},"result":{"executions":{executions}}}"#;
    let lenient = Script::new(Response::json(answer)).for_method(CALL);
    let scenario = peer.scenario([lenient, opens_sessions()]);
    let client = client::<A>(&scenario);
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    assert_eq!(whats(&scenario), [CALL], "it is never sent again");
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 2);
    assert_eq!(whats(&scenario), [CALL, "initialize", "notifications/initialized", CALL]);
}

fn f6_a_channel_is_the_last_rung<A: Adapter>() {
    for status in [405, 404, 400] {
        let (peer, channel) = (Peer::start(), Channel::new());
        let in_vain = Script::new(Response::empty(status)).without_executing();
        let in_vain = in_vain.when(|request| request.http_method == "POST" && !request.target.ends_with("/messages"));
        let scenario = peer.scenario([in_vain]);
        scenario.push(channel.serves());
        let client = client::<A>(&scenario);
        for number in 1..=2 {
            assert_eq!(execution(&client.call(CALL).expect("an answer")), number, "{status}");
        }
        let climbed = [CALL, "initialize", "GET", "initialize", "notifications/initialized", CALL, CALL];
        assert_eq!(whats(&scenario), climbed);
        assert_eq!((scenario.executions_of(CALL), scenario.executions_of("initialize")), (2, 1));
        assert_eq!(scenario.executed()[0].params["protocolVersion"], "2024-11-05");
        assert_eq!(client.version(), Some(ProtocolVersion::V2024_11_05));
    }
}

fn f6_calls_made_together_climb_once<A: Adapter>() {
    const CALLS: usize = 8;
    let (peer, channel) = (Peer::start(), Channel::new());
    let legacy = peer.scenario([refuses_the_modern(400), opens_sessions()]);
    let oldest = peer.scenario(channel.serves());
    let modern = peer.scenario([]);
    for scenario in [&legacy, &oldest, &modern] {
        for result in client::<A>(scenario).call_together(CALL, CALLS as u64) {
            result.expect("an answer");
        }
        assert_eq!(scenario.executions_of(CALL), CALLS);
        let sessions = usize::from(scenario.path() != modern.path());
        assert_eq!(scenario.executions_of("initialize"), sessions);
    }
}

fn f6_a_probe_finds_out_before_the_first_request<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let modern = peer.scenario([]);
    let legacy = peer.scenario([refuses_the_modern(400), opens_sessions()]);
    let oldest = peer.scenario(channel.serves());
    let initialized = "notifications/initialized";
    let probed: [(&Scenario, &[&str]); 3] = [
        (&modern, &["server/discover", CALL]),
        (&legacy, &["server/discover", "initialize", initialized, CALL]),
        (&oldest, &["server/discover", "initialize", "GET", "initialize", initialized, CALL]),
    ];
    for (scenario, expected) in probed {
        let settings = Settings::auto(scenario.url()).config(|config: ClientConfig| config.with_probe(true));
        assert_eq!(execution(&A::new(settings).call(CALL).expect("an answer")), 1);
        assert_eq!(whats(scenario), expected);
    }
}

fn f6_nothing_is_proved_by_a_loss_a_5xx_or_a_401<A: Adapter>() {
    let lost = Script::whole().without_executing().when(is_modern).cut(At::byte(0), Ending::Reset);
    let lost = || lost.clone();
    let status = |status| Script::new(Response::empty(status)).without_executing().when(is_modern);
    // A call of the modern era that is lost is sent once more.
    let cases = [
        (vec![lost(), lost()], None),
        (vec![status(500)], Some(500)),
        (vec![status(401)], Some(401)),
        (vec![status(429)], Some(429)),
    ];
    for (scripts, status) in cases {
        let count = scripts.len();
        let peer = Peer::start();
        let scenario = peer.scenario(scripts);
        let client = client::<A>(&scenario);
        let error = client.call(CALL).expect_err("not answered");
        assert_eq!(error.status(), status, "{error}");
        assert!(status.is_some() || matches!(failure(&error).kind, FailureKind::Lost { .. }));
        assert_eq!((whats(&scenario), client.version()), (vec![CALL.to_owned(); count], None));
        // What comes next is found out as if nothing had been asked: here it is a legacy server.
        scenario.push([refuses_the_modern(400), opens_sessions()]);
        assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
        let climbed = [CALL, "initialize", "notifications/initialized", CALL];
        assert_eq!(whats(&scenario)[count..], climbed);
    }
}
