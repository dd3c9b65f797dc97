//! E18: redirects are failures unless the caller asked to follow them; then 307 and 308 within the origin, the same POST, at
//! most three.

use mcp_sse_blocking::{CallError, Client, ClientConfig, Reply};
use mcp_sse_tests::blocking::{builder, call, charge, client, execution};
use mcp_sse_tests::peer::{Peer, Response, Scenario, Script};

fn redirect(status: u16, location: &str) -> Script {
    Script::new(Response::empty(status).header("Location", location)).without_executing()
}

fn following(peer: &Peer, scenario: &Scenario) -> Client {
    builder(peer, scenario).config(ClientConfig::default().with_follow_redirects(true)).build().unwrap()
}

fn assert_status(result: Result<Reply, CallError>, status: u16) {
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.status(), error.attempts()), ("status", Some(status), 1));
    assert!(error.may_have_run());
}

#[test]
fn e18_redirects_are_not_followed_unasked() {
    for status in [301, 302, 303, 307, 308] {
        let peer = Peer::start();
        let scenario =
            peer.scenario([Script::new(Response::empty(status).header("Location", "moved")), Script::whole()]);
        assert_status(call(&client(&peer, &scenario)), status);
        assert_eq!((scenario.executions(), scenario.requests().len()), (1, 1));
    }
}

#[test]
fn e18_asked_for_307_and_308_are_followed_with_the_same_post() {
    for status in [307, 308] {
        for peer in [Peer::start(), Peer::start_tls()] {
            let scenario = peer.scenario([]);
            let absolute = format!("{}/absolute?x=1", scenario.url());
            let relative = format!("{}/relative", scenario.path());
            scenario.push([redirect(status, &absolute), redirect(status, &relative), Script::whole()]);
            let reply = call(&following(&peer, &scenario)).unwrap();
            assert_eq!((reply.attempts, execution(&reply)), (1, 1));
            let requests = scenario.requests();
            let targets: Vec<_> = requests.iter().map(|request| request.target.as_str()).collect();
            assert_eq!(targets, [scenario.path(), format!("{}/absolute?x=1", scenario.path()), relative]);
            for request in &requests {
                assert_eq!(
                    (request.http_method.as_str(), &request.body),
                    ("POST", &requests[0].body),
                    "the same id, too"
                );
                assert_eq!(request.params()["arguments"], charge(1)["arguments"]);
            }
        }
    }
}

#[test]
fn e18_other_redirects_are_failures_though_asked_for() {
    for status in [301, 302, 303] {
        let peer = Peer::start();
        let scenario = peer.scenario([redirect(status, "moved"), Script::whole()]);
        assert_status(call(&following(&peer, &scenario)), status);
        assert_eq!(scenario.requests().len(), 1);
    }
}

#[test]
fn e18_t10_a_redirect_to_another_origin_is_never_followed() {
    let other = Peer::start();
    let secure = Peer::start_tls();
    let elsewhere = [other.scenario([Script::whole()]).url(), secure.scenario([Script::whole()]).url()];
    for location in
        elsewhere.iter().map(String::as_str).chain(["//example.invalid/", "", "ftp://127.0.0.1/", "http://"])
    {
        let peer = Peer::start();
        let location = if location.is_empty() { "http://user:pw@127.0.0.1/".to_owned() } else { location.to_owned() };
        let scenario = peer.scenario([redirect(307, &location), Script::whole()]);
        assert_status(call(&following(&peer, &scenario)), 307);
        assert_eq!(scenario.requests().len(), 1);
    }
    assert_eq!((other.connections(), secure.connections()), (0, 0));
}

#[test]
fn e18_a_fourth_redirect_is_a_failure() {
    let peer = Peer::start();
    let scenario = peer.scenario([]);
    scenario.push([redirect(308, &scenario.url())]);
    assert_status(call(&following(&peer, &scenario)), 308);
    assert_eq!((scenario.executions(), scenario.requests().len()), (0, 4));
}
