//! F7: the end of a session, by the client's own will: DELETE, and what the server says to it.

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings, execution};
use mcp_sse_tests::legacy_peer::{Channel, SESSION, VERSION, ends_sessions, opens_sessions, what};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Peer, Request, Response, Scenario, Script};

over_both_adapters![
    closing_a_channel_closes_its_stream_and_the_next_call_opens_another,
    closing_what_was_never_opened_sends_nothing,
    f7_a_delete_that_fails_is_an_error_and_the_session_is_over_all_the_same,
    f7_closing_gives_the_session_back_and_the_next_call_opens_another,
    f7_the_last_client_that_goes_sends_nothing_and_leaves_no_connection,
];

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2025_11_25))
}

fn deletions(scenario: &Scenario) -> Vec<Request> {
    scenario.requests().into_iter().filter(|request| request.http_method == "DELETE").collect()
}

fn f7_closing_gives_the_session_back_and_the_next_call_opens_another<A: Adapter>() {
    for status in [200, 204, 404, 405] {
        let peer = Peer::start();
        let scenario = peer.scenario([opens_sessions(), ends_sessions(status)]);
        let client = client::<A>(&scenario);
        client.call("tools/call").expect("an answer");
        client.close().expect("405 and 404 are no errors");
        let [delete] = &deletions(&scenario)[..] else { panic!("one DELETE") };
        assert_eq!((delete.header(SESSION), delete.header(VERSION)), (Some("s-1"), Some("2025-11-25")));
        assert!(delete.body.is_empty() && delete.header("content-type").is_none());
        client.close().expect("nothing is left to close");
        assert_eq!(deletions(&scenario).len(), 1);
        client.call("tools/call").expect("an answer");
        assert_eq!(scenario.requests().last().and_then(|request| request.header(SESSION)), Some("s-2"));
        assert_eq!(scenario.executions_of("initialize"), 2);
    }
}

fn f7_a_delete_that_fails_is_an_error_and_the_session_is_over_all_the_same<A: Adapter>() {
    let unanswered = Script::new(Response::empty(200)).cut(At::byte(0), Ending::Reset);
    for refusal in [Script::new(Response::empty(500)), unanswered] {
        let peer = Peer::start();
        let scenario = peer.scenario([opens_sessions(), refusal.for_http("DELETE")]);
        let client = client::<A>(&scenario);
        client.call("tools/call").expect("an answer");
        client.close().expect_err("it was not taken");
        client.call("tools/call").expect("an answer");
        assert_eq!((scenario.executions_of("initialize"), deletions(&scenario).len()), (2, 1));
    }
}

fn closing_what_was_never_opened_sends_nothing<A: Adapter>() {
    let peer = Peer::start();
    let scenario = peer.scenario([opens_sessions()]);
    client::<A>(&scenario).close().expect("nothing to close");
    let modern = A::new(Settings::fixed(scenario.url(), ProtocolVersion::LATEST));
    assert_eq!(execution(&modern.call("tools/call").expect("an answer")), 1);
    modern.close().expect("nothing to close");
    assert_eq!(scenario.requests().iter().map(what).collect::<Vec<_>>(), ["tools/call"]);
}

fn closing_a_channel_closes_its_stream_and_the_next_call_opens_another<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    let client = A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05));
    assert_eq!(execution(&client.call("tools/call").expect("an answer")), 1);
    client.close().expect("closed");
    let stream = scenario.requests().iter().find(|request| request.http_method == "GET").expect("a GET").connection;
    assert!(peer.wait_for(|log| log.connections[stream].client_close.is_some(), BOUND), "the stream is closed");
    assert_eq!(execution(&client.call("tools/call").expect("an answer")), 2);
    let gets = scenario.requests().iter().filter(|request| request.http_method == "GET").count();
    assert_eq!((gets, scenario.executions_of("initialize")), (2, 2));
}

fn f7_the_last_client_that_goes_sends_nothing_and_leaves_no_connection<A: Adapter>() {
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2024_11_05] {
        let (peer, channel) = (Peer::start(), Channel::new());
        let scenario = peer.scenario(match version {
            ProtocolVersion::V2024_11_05 => channel.serves(),
            _ => vec![opens_sessions()],
        });
        let client = A::new(Settings::fixed(scenario.url(), version));
        let clone = client.clone();
        client.call("tools/call").expect("an answer");
        drop(client);
        clone.call("tools/call").expect("an answer");
        drop(clone);
        let all_closed = peer.wait_for(|log| log.connections.iter().all(|connection| connection.ended), BOUND);
        assert!(all_closed, "a connection is left open under {version}");
        assert!(deletions(&scenario).is_empty());
    }
}
