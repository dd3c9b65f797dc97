//! E18: redirects are followed only if asked for, within the origin, at most three times, as the same request.

use mcp_sse_core::client::{CallError, CallId, CallOptions, ClientConfig, Done, Outcome};
use mcp_sse_core::exchange::{BreakKind, Cause, Exposure, FailureKind, Framing};
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

fn following() -> ClientConfig {
    ClientConfig::default().with_follow_redirects(true)
}

fn redirect(status: u16, location: &str) -> Script {
    Script::sent().head(status, &[("Location", location)])
}

/// A redirect that is not followed is a response like any other, whose body is read to its end.
fn redirect_whole(status: u16, location: &str) -> Script {
    redirect(status, location).body("moved").then(Fact::End(Framing::Marked))
}

fn run(config: ClientConfig, scripts: impl IntoIterator<Item = Script>) -> (LoopDriver, CallId) {
    let mut driver = LoopDriver::with_scripts(config, scripts);
    let call = driver.call("tools/call", Some(r#"{"name":"a","arguments":{}}"#), within(10_000));
    driver.run();
    (driver, call)
}

fn done(driver: &LoopDriver, call: CallId) -> &Done {
    driver.end_of(call).expect("an end")
}

fn status(driver: &LoopDriver, call: CallId) -> u16 {
    match &driver.failure_of(call).kind {
        FailureKind::Status(failure) => failure.status(),
        other => panic!("no status: {other:?}"),
    }
}

#[test]
fn e18_asked_for_307_and_308_are_followed_as_the_same_request() {
    for code in [307, 308] {
        let (driver, call) = run(following(), [redirect(code, "/v2/mcp?x=1#y"), Script::answered()]);
        let [first, second] = &driver.posts[..] else { panic!("two requests") };
        assert_eq!(second.request.endpoint.as_str(), "http://mcp.test/v2/mcp?x=1");
        assert_eq!(second.request.method, "POST");
        assert_eq!(first.request.body, second.request.body, "the same id and body");
        assert_eq!(first.request.headers, second.request.headers);
        assert_ne!(first.exchange, second.exchange);
        let end = done(&driver, call);
        assert!(matches!(end.outcome, Outcome::Settled(_)));
        assert_eq!((end.attempts, end.earlier_may_have_run), (1, false), "one attempt, redirected");
        assert_eq!(driver.answers_of(call)[0].0, 1);
        assert_eq!(driver.closed, [first.exchange]);
    }
}

#[test]
fn e18_at_most_three_are_followed() {
    let hop = |to: u32| redirect(307, &format!("/{to}"));
    let (driver, call) = run(following(), [hop(1), hop(2), hop(3), Script::answered()]);
    assert!(matches!(done(&driver, call).outcome, Outcome::Settled(_)));
    let places: Vec<_> = driver.posts.iter().map(|post| post.request.endpoint.target()).collect();
    assert_eq!(places, ["/mcp", "/1", "/2", "/3"]);

    let (driver, call) = run(following(), [hop(1), hop(2), hop(3), hop(4), Script::answered()]);
    assert_eq!(driver.posts.len(), 4);
    assert_eq!((status(&driver, call), driver.failure_of(call).exposure), (307, Exposure::Headed));
    // Round in a circle.
    let (driver, call) = run(following(), vec![redirect(308, "/mcp"); 9]);
    assert_eq!((driver.posts.len(), status(&driver, call)), (4, 308));
}

#[test]
fn e18_a_relative_place_is_resolved_against_the_one_it_came_from() {
    let scripts = [redirect(307, "/deep/down/mcp"), redirect(307, "../up"), redirect(307, "?q"), Script::answered()];
    let (driver, _) = run(following(), scripts);
    let places: Vec<_> = driver.posts.iter().map(|post| post.request.endpoint.target()).collect();
    assert_eq!(places, ["/mcp", "/deep/down/mcp", "/deep/up", "/deep/up?q"]);
}

#[test]
fn e18_another_origin_is_refused() {
    let places = [
        "http://other.test/mcp",
        "//other.test/mcp",
        "https://mcp.test/mcp",
        "http://mcp.test:8080/mcp",
        "http://mcp.test.evil.test/mcp",
        "http://user:secret@mcp.test/mcp",
        "ftp://mcp.test/mcp",
        "javascript:alert(1)",
        "http://",
        "http://[::1",
    ];
    for place in places {
        for code in [307, 308] {
            let (driver, call) = run(following(), [redirect(code, place), Script::answered()]);
            assert_eq!((driver.posts.len(), status(&driver, call)), (1, code), "{place}");
            let FailureKind::Status(failure) = &driver.failure_of(call).kind else { panic!("a status") };
            assert_eq!(failure.head.location(), Some(place), "the caller can see where it would have gone");
            assert_eq!((done(&driver, call).attempts, done(&driver, call).exposure), (1, Exposure::Headed));
        }
    }
}

#[test]
fn e18_the_same_origin_may_be_spelled_otherwise() {
    for place in ["http://MCP.test:80/x", "//mcp.TEST/x", "HTTP://mcp.test/x", "/x", "x"] {
        let (driver, call) = run(following(), [redirect(307, place), Script::answered()]);
        assert_eq!(driver.posts[1].request.endpoint.as_str(), "http://mcp.test/x", "{place}");
        assert!(matches!(done(&driver, call).outcome, Outcome::Settled(_)));
    }
}

#[test]
fn e18_other_redirects_and_those_without_a_place_are_a_status() {
    for code in [300, 301, 302, 303, 304, 305] {
        let (driver, call) = run(following(), [redirect_whole(code, "/x"), Script::answered()]);
        assert_eq!((driver.posts.len(), status(&driver, call)), (1, code));
    }
    for code in [307, 308] {
        let script = Script::sent().head(code, &[]).body("moved").then(Fact::End(Framing::Marked));
        let (driver, call) = run(following(), [script, Script::answered()]);
        assert_eq!((driver.posts.len(), status(&driver, call)), (1, code));
    }
}

#[test]
fn e18_not_asked_for_it_is_a_status() {
    assert!(!ClientConfig::default().follow_redirects);
    for code in [301, 302, 307, 308] {
        let (driver, call) = run(ClientConfig::default(), [redirect_whole(code, "/x"), Script::answered()]);
        assert_eq!((driver.posts.len(), status(&driver, call)), (1, code));
        let error = CallError::from_done(done(&driver, call).clone()).expect("an error");
        assert_eq!((error.status(), error.kind()), (Some(code), "status"));
    }
}

#[test]
fn e18_a_loss_after_a_redirect_is_sent_again_to_the_first_place() {
    for lost in [Script::lost_sent(), Script::lost_streaming(), Script::partly_sent()] {
        let scripts = [redirect(307, "/b"), lost, redirect(307, "/c"), Script::answered()];
        let (driver, call) = run(following(), scripts);
        let places: Vec<_> = driver.posts.iter().map(|post| post.request.endpoint.target()).collect();
        assert_eq!(places, ["/mcp", "/b", "/mcp", "/c"]);
        assert_eq!(driver.ids(), [1, 1, 2, 2].map(Id::from));
        let end = done(&driver, call);
        assert!(matches!(end.outcome, Outcome::Settled(_)));
        assert_eq!((end.attempts, end.earlier_may_have_run), (2, true));
    }
}

#[test]
fn e18_each_request_has_redirects_of_its_own() {
    let hop = || redirect(307, "/x");
    let scripts = [hop(), hop(), hop(), Script::lost_sent(), hop(), hop(), hop(), Script::answered()];
    let (driver, call) = run(following(), scripts);
    assert_eq!(driver.posts.len(), 8);
    assert!(matches!(done(&driver, call).outcome, Outcome::Settled(_)));
    // And no more than that, however lost and redirected: (1 + replacements) times (1 + redirects).
    let mut endless = Vec::new();
    for _ in 0..5 {
        endless.extend([hop(), hop(), hop(), Script::lost_sent()]);
    }
    let (driver, call) = run(following(), endless);
    assert_eq!(driver.posts.len(), 8);
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { .. }));
}

#[test]
fn f2_a_redirected_request_that_then_cannot_be_sent_is_not_unsent() {
    // A response was read: whether the first place did something is not known for sure.
    let (driver, call) = run(following(), [redirect(307, "/b"), Script::refused()]);
    let end = done(&driver, call);
    assert_eq!((end.attempts, end.exposure, end.earlier_may_have_run), (1, Exposure::Headed, false));
    let failure = driver.failure_of(call);
    let FailureKind::Lost { cause, replacement } = failure.kind else { panic!("{failure:?}") };
    assert_eq!((cause, replacement), (Cause::Broken(BreakKind::Connect), None));
    assert!(failure.may_have_run());
}

#[test]
fn f1_redirects_share_the_overall_deadline() {
    let slow = Script::sent().after(4000).head(307, &[("Location", "/b")]);
    let (driver, call) = run(following(), [slow.clone(), slow.clone(), slow, Script::answered()]);
    assert_eq!((driver.times(), driver.ended_at(call)), (vec![0, 4000, 8000], 10_000));
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Timeout { .. }));
    assert_eq!(driver.failure_of(call).exposure, Exposure::Headed);
}

#[test]
fn e18_a_notification_may_be_redirected_too() {
    let scripts = [redirect(308, "/b"), Script::whole(202, "text/plain", "")];
    let mut driver = LoopDriver::with_scripts(following(), scripts);
    let call = driver.notify("notifications/other", Some("{}"), CallOptions::default());
    driver.run();
    assert_eq!(driver.posts[0].request.body, driver.posts[1].request.body);
    assert!(matches!(done(&driver, call).outcome, Outcome::Accepted { status: 202 }));
}

#[test]
fn e18_extra_headers_go_along_within_the_origin() {
    let config = following().with_header("Authorization", "Bearer x").expect("a header");
    let (driver, _) = run(config, [redirect(307, "/b"), Script::answered()]);
    assert_eq!(driver.posts[1].header("authorization"), Some("Bearer x"));
}
