//! F13 and F14: who may be sent again, and how long the server asks to wait first.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{Backoff, CallOptions, Client, ClientConfig, Endpoint, Outcome, ReissuePolicy, Step};
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind, Framing};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

/// Every loss from which a replacement may follow, and whether the lost request may have run.
fn losses() -> [(Script, bool); 4] {
    [
        (Script::partly_sent(), false),
        (Script::lost_sent(), true),
        (Script::lost_headed(), true),
        (Script::lost_streaming(), true),
    ]
}

fn posts(config: &ClientConfig, method: &str, options: &CallOptions, lost: &Script) -> LoopDriver {
    let mut driver = LoopDriver::with_scripts(config.clone(), [lost.clone(), Script::answered()]);
    driver.call(method, Some(r#"{"name":"a"}"#), options.clone());
    driver.run();
    assert_eq!(driver.done.len(), 1);
    driver
}

/// Asserts that a lost call is sent again, or that it is not and the caller is told what it may have done.
fn assert_reissued(expected: bool, config: &ClientConfig, method: &str, options: &CallOptions) {
    for (lost, may_have_run) in losses() {
        let driver = posts(config, method, options, &lost);
        let (_, done, _) = &driver.done[0];
        if expected {
            assert_eq!((driver.posts.len(), done.attempts), (2, 2));
            assert!(matches!(done.outcome, Outcome::Settled(_)));
            assert_eq!(done.earlier_may_have_run, may_have_run);
        } else {
            assert_eq!((driver.posts.len(), done.attempts), (1, 1));
            let Outcome::Failed(failure) = &done.outcome else { panic!("lost") };
            assert!(matches!(failure.kind, FailureKind::Lost { replacement: None, .. }));
            assert_eq!((failure.may_have_run(), done.may_have_run()), (may_have_run, may_have_run));
            assert!(!done.earlier_may_have_run, "there is no earlier one");
        }
    }
}

#[test]
fn f14_always_is_the_default() {
    assert_eq!(CallOptions::default().reissue, ReissuePolicy::Always);
    assert_eq!(ReissuePolicy::default(), ReissuePolicy::Always);
    for method in ["tools/call", "tools/list", "resources/read", "vendor/charge"] {
        assert_reissued(true, &ClientConfig::default(), method, &CallOptions::default());
    }
}

#[test]
fn f14_never_overrides_every_declaration() {
    let config = ClientConfig::default().with_trusts_server_hints(true).with_replay_safe_method("tools/list");
    let options = CallOptions::default()
        .with_reissue(ReissuePolicy::Never)
        .with_replay_safe(true)
        .with_hinted_idempotent(true)
        .with_max_reissues(9);
    assert_reissued(false, &config, "tools/list", &options);
}

#[test]
fn f14_replay_safe_sends_again_only_what_was_declared() {
    let options = CallOptions::default().with_reissue(ReissuePolicy::ReplaySafe);
    let config = ClientConfig::default();
    for method in ["tools/call", "tools/list", "resources/read"] {
        assert_reissued(false, &config, method, &options);
    }
    // By call.
    assert_reissued(true, &config, "tools/call", &options.clone().with_replay_safe(true));
    // By method, and by its exact name.
    let config = config.with_replay_safe_method("tools/list");
    assert_reissued(true, &config, "tools/list", &options);
    assert_reissued(false, &config, "tools/call", &options);
    assert_reissued(false, &config, "Tools/List", &options);
}

fn options_never() -> CallOptions {
    CallOptions::default().with_reissue(ReissuePolicy::Never)
}

#[test]
fn f14_a_servers_hint_counts_only_for_a_caller_who_trusts_it() {
    let hinted = CallOptions::default().with_reissue(ReissuePolicy::ReplaySafe).with_hinted_idempotent(true);
    let untrusting = ClientConfig::default();
    let trusting = ClientConfig::default().with_trusts_server_hints(true);
    assert!(!untrusting.trusts_server_hints, "the default is not to");
    assert_reissued(false, &untrusting, "tools/call", &hinted);
    assert_reissued(true, &trusting, "tools/call", &hinted);
    // Trust alone declares nothing.
    let unhinted = CallOptions::default().with_reissue(ReissuePolicy::ReplaySafe);
    assert_reissued(false, &trusting, "tools/call", &unhinted);
}

#[test]
fn f14_a_veto_is_stronger_than_any_policy() {
    let config = ClientConfig::default()
        .with_trusts_server_hints(true)
        .with_replay_safe_method("tools/call")
        .with_never_reissued_method("tools/call");
    for policy in [ReissuePolicy::Always, ReissuePolicy::ReplaySafe, ReissuePolicy::Never] {
        let options = CallOptions::default().with_reissue(policy).with_replay_safe(true).with_hinted_idempotent(true);
        assert_reissued(false, &config, "tools/call", &options);
    }
}

#[test]
fn f14_policies_of_calls_do_not_touch_each_other() {
    let scripts = vec![Script::lost_sent(), Script::lost_sent(), Script::answered()];
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let never = driver.call("tools/call", Some(r#"{"name":"a"}"#), options_never());
    let always = driver.call("tools/call", Some(r#"{"name":"b"}"#), CallOptions::default());
    driver.run();
    assert!(matches!(driver.failure_of(never).kind, FailureKind::Lost { .. }));
    assert!(matches!(driver.end_of(always).map(|done| &done.outcome), Some(Outcome::Settled(_))));
    assert_eq!(driver.posts.len(), 3);
}

/// A stream with this header, lost at once.
fn lost_with(headers: &[(&str, &str)]) -> Script {
    let headers = [&[("Content-Type", "text/event-stream")], headers].concat();
    Script::sent().head(200, &headers).broken(BreakKind::Reset)
}

const DATE: (&str, &str) = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT");

fn times(options: CallOptions, lost: Script) -> Vec<u64> {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [lost, Script::answered()]);
    driver.call("tools/list", None, options);
    driver.run();
    driver.times()
}

#[test]
fn f13_retry_after_in_seconds_is_a_floor_for_the_replacement() {
    assert_eq!(times(within(60_000), lost_with(&[("Retry-After", "3")])), [0, 3000]);
    assert_eq!(times(within(60_000), lost_with(&[("Retry-After", "0")])), [0, 0]);
    assert_eq!(times(within(60_000), lost_with(&[])), [0, 0]);
}

#[test]
fn f13_retry_after_as_a_date_is_held_against_the_servers_own() {
    let after = ("Retry-After", "Sun, 06 Nov 1994 08:49:42 GMT");
    assert_eq!(times(within(60_000), lost_with(&[after, DATE])), [0, 5000]);
    // A date that has passed, and one that nothing can be held against: no floor.
    assert_eq!(times(within(60_000), lost_with(&[("Retry-After", "Sun, 06 Nov 1994 08:49:00 GMT"), DATE])), [0, 0]);
    assert_eq!(times(within(60_000), lost_with(&[after])), [0, 0]);
}

#[test]
fn f13_what_is_no_retry_after_is_no_floor() {
    for value in ["soon", "-1", "1.5", "3s", ""] {
        assert_eq!(times(within(60_000), lost_with(&[("Retry-After", value)])), [0, 0], "{value:?}");
    }
}

#[test]
fn f13_the_longer_of_floor_and_backoff_counts() {
    let backoff = |millis| within(60_000).with_backoff(Backoff::new(Duration::from_millis(millis), Duration::ZERO));
    assert_eq!(times(backoff(500), lost_with(&[("Retry-After", "2")])), [0, 2000]);
    assert_eq!(times(backoff(4000), lost_with(&[("Retry-After", "2")])), [0, 4000]);
}

#[test]
fn f13_a_floor_past_the_deadline_ends_the_call_at_once() {
    for value in ["10", "60", "18446744073709551615", "99999999999999999999999999"] {
        let scripts = [lost_with(&[("Retry-After", value)]), Script::answered()];
        let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
        let call = driver.call("tools/list", None, within(10_000));
        driver.run();
        assert_eq!((driver.posts.len(), driver.ended_at(call)), (1, 0), "{value}");
        let failure = driver.failure_of(call);
        assert!(matches!(failure.kind, FailureKind::Lost { .. }), "{failure:?}");
        assert_eq!(failure.exposure, Exposure::Headed);
    }
    assert_eq!(times(within(10_001), lost_with(&[("Retry-After", "10")])), [0, 10_000]);
}

#[test]
fn f13_an_endless_floor_without_a_deadline_waits_and_can_be_cancelled() {
    let scripts = [lost_with(&[("Retry-After", "18446744073709551615")])];
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let call = driver.call("tools/list", None, CallOptions::default().with_timeout(None));
    driver.run_until(1_000_000);
    assert!(driver.end_of(call).is_none() && driver.posts.len() == 1);
    driver.cancel(call);
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Cancelled));
}

#[test]
fn f13_each_replacement_has_the_floor_of_the_response_before_it() {
    let scripts =
        [lost_with(&[("Retry-After", "2")]), lost_with(&[]), lost_with(&[("Retry-After", "1")]), Script::answered()];
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    driver.call("tools/list", None, within(60_000).with_max_reissues(3));
    driver.run();
    assert_eq!(driver.times(), [0, 2000, 2000, 3000]);
}

#[test]
fn f13_retry_after_changes_nothing_else() {
    // It allows no second attempt where there would be none: a status of failure, a policy, an answer.
    let busy = Script::sent().head(503, &[("Retry-After", "1")]).body("busy").then(Fact::End(Framing::Marked));
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [busy, Script::answered()]);
    let call = driver.call("tools/list", None, within(60_000).with_max_reissues(5));
    driver.run();
    assert_eq!((driver.posts.len(), driver.ended_at(call)), (1, 0));
    let FailureKind::Status(failure) = &driver.failure_of(call).kind else { panic!("a status") };
    assert_eq!(failure.retry_after().and_then(|after| after.delay()), Some(Duration::from_secs(1)));

    let lost = lost_with(&[("Retry-After", "1")]);
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [lost, Script::answered()]);
    driver.call("tools/list", None, options_never());
    driver.run();
    assert_eq!((driver.posts.len(), driver.now), (1, 0));

    let answered = Script::sent()
        .head(200, &[("Content-Type", "text/event-stream"), ("Retry-After", "9")])
        .answer()
        .then(Fact::End(Framing::Marked));
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [answered]);
    driver.call("tools/list", None, within(60_000));
    driver.run();
    assert_eq!((driver.posts.len(), driver.now), (1, 0));

    // Nor is the deadline moved, nor another call held up.
    let scripts = [lost_with(&[("Retry-After", "5")]), Script::answered(), Script::stream()];
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let waiting = driver.call("tools/list", None, within(8000));
    driver.run_until(10);
    let other = driver.call("tools/list", None, within(8000));
    driver.run();
    assert_eq!(driver.times(), [0, 10, 5000]);
    assert!(matches!(driver.end_of(other).map(|done| &done.outcome), Some(Outcome::Settled(_))));
    assert_eq!(driver.ended_at(waiting), 8000);
}

#[test]
fn f13_the_floor_counts_from_the_arrival_of_the_head() {
    let at = Timestamp::from_millis;
    let mut client = Client::new(Endpoint::parse("http://localhost/mcp").unwrap(), ClientConfig::default());
    client.call("tools/list", None, within(60_000), at(0)).unwrap();
    let Some(Step::Send(id, _)) = client.poll_step(at(0)) else { panic!("a request was expected") };
    let exchange = client.exchange(id).unwrap();
    let head = ResponseHead::from_headers(200, [("Content-Type", "text/event-stream"), ("Retry-After", "3")]);
    exchange.on_head(&head, at(100)).unwrap();
    exchange.on_broken(BreakKind::Reset, at(2_000)).unwrap();
    while client.poll_step(at(2_000)).is_some() {}
    assert_eq!(client.poll_timeout(), Some(at(3_100)));
}
