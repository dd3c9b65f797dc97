//! F9 and E11: a cancel closes one call's exchange and nobody else's, and where a disconnect is no cancel the
//! server is told.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{Backoff, CallEvent, CallId, CallOptions, ClientConfig, Outcome, Step};
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind, Framing, State, TimeLimit};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::{Id, MessageKind};
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

const LEGACY: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25];

fn modern() -> ClientConfig {
    ClientConfig::default()
}

fn legacy() -> ClientConfig {
    ClientConfig::default().with_version(ProtocolVersion::V2025_11_25).with_handshake(false)
}

fn call(driver: &mut LoopDriver) -> CallId {
    driver.call("tools/call", Some(r#"{"name":"a"}"#), CallOptions::default())
}

fn is_cancelled(driver: &LoopDriver, call: CallId) -> bool {
    matches!(driver.failure_of(call).kind, FailureKind::Cancelled)
}

#[test]
fn f9_cancel_closes_this_calls_exchange_and_nobody_elses() {
    // T141.
    let mut driver = LoopDriver::with_scripts(modern(), vec![Script::stream(); 3]);
    let calls = [call(&mut driver), call(&mut driver), call(&mut driver)];
    driver.run_until(10);
    driver.cancel(calls[1]);
    assert_eq!(driver.closed, [driver.posts[1].exchange]);
    assert!(driver.released.is_empty());
    assert!(is_cancelled(&driver, calls[1]));
    assert_eq!(driver.failure_of(calls[1]).exposure, Exposure::Headed);
    assert!(driver.end_of(calls[0]).is_none() && driver.end_of(calls[2]).is_none());
    assert!(driver.client.exchange(driver.posts[1].exchange).is_none());

    for post in [0, 2] {
        driver.fact(post, &Fact::Body("data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}}\n\n".to_owned()));
        driver.fact(post, &Fact::End(Framing::Marked));
    }
    for other in [calls[0], calls[2]] {
        assert!(matches!(driver.end_of(other).map(|done| &done.outcome), Some(Outcome::Settled(_))));
    }
    assert_eq!(driver.posts.len(), 3, "modern: closing is the cancel");
}

#[test]
fn f9_a_cancelled_call_is_not_sent_again() {
    let mut driver = LoopDriver::with_scripts(modern(), [Script::stream().after(20).broken(BreakKind::Reset)]);
    let id = call(&mut driver);
    driver.run_until(10);
    driver.cancel(id);
    driver.run();
    assert_eq!((driver.posts.len(), driver.done.len()), (1, 1));
}

#[test]
fn f9_a_loss_that_is_not_yet_polled_does_not_outlive_the_cancel() {
    // The exchange ended lost, then the caller gave up, and only then were steps polled.
    let mut driver = LoopDriver::with_scripts(modern(), vec![Script::stream(); 2]);
    let id = call(&mut driver);
    driver.run_until(10);
    let now = driver.time();
    let exchange = driver.client.exchange(driver.posts[0].exchange).expect("under way");
    exchange.on_broken(BreakKind::Reset, now).expect("under way");
    driver.client.cancel(id, now);
    driver.run();
    assert_eq!(driver.posts.len(), 1, "what was cancelled is not sent again");
    assert!(is_cancelled(&driver, id));
    let done = driver.end_of(id).expect("an end");
    assert_eq!((done.exposure, done.attempts, done.earlier_may_have_run), (Exposure::Headed, 1, false));
}

#[test]
fn f9_a_redirect_that_is_not_yet_polled_does_not_outlive_the_cancel() {
    let mut driver = LoopDriver::new(modern().with_follow_redirects(true));
    let id = call(&mut driver);
    driver.carry_out();
    for fact in [Fact::Connected, Fact::Sending, Fact::Sent] {
        driver.fact(0, &fact);
    }
    let now = driver.time();
    let head = mcp_sse_core::http::ResponseHead::from_headers(307, [("Location", "/other")]);
    driver.client.exchange(driver.posts[0].exchange).expect("under way").on_head(&head, now).expect("under way");
    driver.client.cancel(id, now);
    driver.run();
    assert_eq!(driver.posts.len(), 1);
    assert!(is_cancelled(&driver, id));
    assert_eq!(driver.failure_of(id).exposure, Exposure::Headed);
}

#[test]
fn f9_a_call_cancelled_before_its_request_was_handed_out_is_never_sent() {
    for config in [modern(), legacy()] {
        // At once, and after the request was made but not polled.
        for polled_by_another in [false, true] {
            let mut driver = LoopDriver::new(config.clone());
            let other = call(&mut driver);
            driver.carry_out();
            let id = call(&mut driver);
            let now = driver.time();
            if polled_by_another {
                assert!(driver.client.poll_step_of(other, now).is_none());
            }
            driver.client.cancel(id, now);
            driver.carry_out();
            assert_eq!(driver.posts.len(), 1, "only the other call's");
            assert!(driver.closed.is_empty(), "nobody knows of an exchange to close");
            assert!(is_cancelled(&driver, id));
            let done = driver.end_of(id).expect("an end");
            assert!(!done.may_have_run());
            assert!(driver.background.is_empty());
        }
    }
}

#[test]
fn e11_a_request_that_reached_its_deadline_before_it_was_handed_out_is_never_sent() {
    let mut driver = LoopDriver::new(modern());
    let other = call(&mut driver);
    driver.carry_out();
    let id = driver.call("tools/list", None, within(100));
    assert!(driver.client.poll_step_of(other, driver.time()).is_none());
    driver.now = 100;
    let now = driver.time();
    driver.client.on_timeout(now);
    driver.carry_out();
    assert_eq!(driver.posts.len(), 1);
    assert!(matches!(driver.failure_of(id).kind, FailureKind::Timeout { limit: TimeLimit::Deadline }));
    assert_eq!(driver.failure_of(id).exposure, Exposure::Unsent);
}

#[test]
fn f9_cancel_while_a_replacement_waits() {
    let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(1));
    let options = within(5000).with_backoff(backoff);
    let mut driver = LoopDriver::with_scripts(modern(), [Script::lost_streaming()]);
    let id = driver.call("tools/list", None, options);
    driver.run_until(100);
    driver.cancel(id);
    assert!(is_cancelled(&driver, id));
    let done = driver.end_of(id).expect("an end");
    // One request was made: there is no earlier one, though that one may have run.
    assert_eq!((done.attempts, done.exposure, done.earlier_may_have_run), (1, Exposure::Streaming, false));
    assert_eq!(driver.client.poll_timeout(), None);
    driver.run();
    assert_eq!(driver.posts.len(), 1);
}

#[test]
fn f9_cancel_during_the_replacement() {
    let mut driver = LoopDriver::with_scripts(modern(), [Script::lost_streaming(), Script::sent()]);
    let id = call(&mut driver);
    driver.run_until(100);
    driver.cancel(id);
    assert!(is_cancelled(&driver, id));
    let done = driver.end_of(id).expect("an end");
    assert_eq!((done.attempts, done.exposure, done.earlier_may_have_run), (2, Exposure::Streaming, true));
    assert_eq!(driver.closed.last(), Some(&driver.posts[1].exchange));
}

#[test]
fn e12_a_cancel_at_the_deadline_comes_too_late() {
    let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(1));
    for script in [Script::stream(), Script::lost_streaming()] {
        let mut driver = LoopDriver::with_scripts(modern(), [script]);
        let id = driver.call("tools/list", None, within(1000).with_backoff(backoff));
        driver.run_until(100);
        driver.now = 1000;
        driver.cancel(id);
        assert!(matches!(driver.failure_of(id).kind, FailureKind::Timeout { limit: TimeLimit::Deadline }));
    }
}

#[test]
fn f9_cancel_of_an_answered_call_settles_it() {
    for config in [modern(), legacy()] {
        let mut driver = LoopDriver::with_scripts(config, [Script::stream().answer()]);
        let id = call(&mut driver);
        driver.run_until(10);
        assert_eq!(driver.answers_of(id).len(), 1);
        driver.cancel(id);
        assert!(matches!(driver.end_of(id).map(|done| &done.outcome), Some(Outcome::Settled(_))));
        assert_eq!(driver.closed, [driver.posts[0].exchange]);
        assert!(driver.background.is_empty(), "an answered call is not told of");
        assert_eq!(driver.posts.len(), 1);
    }
}

#[test]
fn f9_cancel_of_an_answer_that_is_not_yet_polled_hands_it_out_and_settles() {
    let mut driver = LoopDriver::with_scripts(legacy(), [Script::stream()]);
    let id = call(&mut driver);
    driver.run_until(10);
    let now = driver.time();
    let exchange = driver.client.exchange(driver.posts[0].exchange).expect("under way");
    let mut input: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    exchange.on_body(&mut input, now).expect("a stream");
    driver.client.cancel(id, now);
    driver.carry_out();
    assert_eq!(driver.answers_of(id).len(), 1);
    assert!(matches!(driver.end_of(id).map(|done| &done.outcome), Some(Outcome::Settled(_))));
    assert!(driver.background.is_empty());
}

#[test]
fn f9_cancel_of_a_call_that_ended_or_never_was_is_nothing() {
    let mut driver = LoopDriver::with_scripts(legacy(), [Script::answered(), Script::stream()]);
    let id = call(&mut driver);
    driver.run();
    let running = call(&mut driver);
    driver.run_until(driver.now + 1);
    for _ in 0..3 {
        driver.cancel(id);
    }
    let mut other = LoopDriver::new(modern());
    for _ in 0..5 {
        call(&mut other);
    }
    let foreign = call(&mut other);
    driver.cancel(foreign);
    assert_eq!((driver.done.len(), driver.posts.len(), driver.background.len()), (1, 2, 0));
    driver.cancel(running);
    driver.cancel(running);
    assert_eq!((driver.done.len(), driver.background.len()), (2, 1));
}

#[test]
fn f9_cancel_while_the_exchange_is_lent_out_waits_for_its_return() {
    let mut driver = LoopDriver::with_scripts(modern(), vec![Script::stream(); 2]);
    let (id, other) = (call(&mut driver), call(&mut driver));
    driver.run_until(10);
    let now = driver.time();
    let name = driver.posts[0].exchange;
    let exchange = driver.client.lend_exchange(name).expect("under way");
    assert!(driver.client.lend_exchange(name).is_none() && driver.client.exchange(name).is_none());
    driver.cancel(id);
    assert!(driver.end_of(id).is_none());
    assert_ne!(exchange.state(), State::Ended);
    driver.client.return_exchange(name, exchange, now);
    driver.carry_out();
    assert!(is_cancelled(&driver, id));
    assert_eq!(driver.closed, [name]);
    assert!(driver.end_of(other).is_none());
}

#[test]
fn f9_what_a_lent_exchange_came_to_before_the_return_counts() {
    // An answer in the meantime settles; a loss in the meantime is not sent again.
    for answered in [true, false] {
        let mut driver = LoopDriver::with_scripts(modern(), vec![Script::stream(); 2]);
        let id = call(&mut driver);
        driver.run_until(10);
        let now = driver.time();
        let name = driver.posts[0].exchange;
        let mut exchange = driver.client.lend_exchange(name).expect("under way");
        driver.cancel(id);
        if answered {
            let mut input: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
            exchange.on_body(&mut input, now).expect("a stream");
        }
        exchange.on_broken(BreakKind::Reset, now).expect("under way");
        driver.client.return_exchange(name, exchange, now);
        driver.run();
        assert_eq!(driver.posts.len(), 1);
        assert_eq!(driver.answers_of(id).len(), usize::from(answered));
        if answered {
            assert!(matches!(driver.end_of(id).map(|done| &done.outcome), Some(Outcome::Salvaged { .. })));
        } else {
            assert!(is_cancelled(&driver, id));
        }
    }
}

#[test]
fn f9_a_lent_exchange_is_returned_once_and_under_its_own_name() {
    let mut driver = LoopDriver::with_scripts(modern(), vec![Script::stream(); 2]);
    let (id, other) = (call(&mut driver), call(&mut driver));
    driver.run_until(10);
    let now = driver.time();
    let (name, other_name) = (driver.posts[0].exchange, driver.posts[1].exchange);
    let exchange = driver.client.lend_exchange(name).expect("under way");
    // The other is not lent out: a stranger's return changes nothing there.
    let mut stranger = LoopDriver::with_scripts(modern(), [Script::stream()]);
    call(&mut stranger);
    stranger.run_until(10);
    let foreign = stranger.client.lend_exchange(stranger.posts[0].exchange).expect("under way");
    driver.client.return_exchange(other_name, foreign, now);
    driver.carry_out();
    assert!(driver.end_of(other).is_none());
    driver.client.return_exchange(name, exchange, now);
    driver.cancel(id);
    assert!(is_cancelled(&driver, id) && driver.end_of(other).is_none());
}

#[test]
fn f9_legacy_also_tells_the_server() {
    for version in LEGACY {
        for script in [Script::sent(), Script::stream()] {
            let config = ClientConfig::default().with_version(version).with_handshake(false);
            let mut driver = LoopDriver::with_scripts(config, [script, Script::whole(202, "text/plain", "")]);
            let id = call(&mut driver);
            driver.run_until(10);
            driver.cancel(id);
            assert!(is_cancelled(&driver, id), "{version}: the call does not wait for it");
            let [(of, told)] = driver.background[..] else { panic!("one background call") };
            assert_eq!(of, id);
            driver.run();
            assert_eq!(driver.posts.len(), 2);
            let message = driver.posts[1].message();
            assert_eq!(message.kind(), MessageKind::Notification);
            assert_eq!(message.method(), Some("notifications/cancelled"));
            let params: serde_json::Value = message.parse_params().expect("parameters");
            assert_eq!(params["requestId"], 1);
            assert!(params["reason"].is_string());
            assert!(matches!(driver.end_of(told).map(|done| &done.outcome), Some(Outcome::Accepted { status: 202 })));
        }
    }
}

#[test]
fn f9_the_server_is_told_of_this_request_and_no_other() {
    let mut driver = LoopDriver::with_scripts(legacy(), vec![Script::sent(); 3]);
    let calls = [call(&mut driver), call(&mut driver), call(&mut driver)];
    driver.run_until(10);
    driver.cancel(calls[1]);
    let params: serde_json::Value = driver.posts[3].message().parse_params().expect("parameters");
    assert_eq!((params["requestId"].as_i64(), driver.posts[1].id()), (Some(2), Some(Id::from(2))));
}

#[test]
fn f9_telling_the_server_is_best_effort() {
    // It may fail as it likes: it is never sent again, the call's end stands, and its time is bounded.
    for script in [Script::refused(), Script::lost_sent(), Script::whole(500, "text/plain", ""), Script::silence()] {
        let config = legacy().with_version(ProtocolVersion::V2025_06_18).with_handshake(false);
        let mut driver = LoopDriver::with_scripts(config, [Script::stream(), script]);
        let id = call(&mut driver);
        driver.run_until(10);
        driver.cancel(id);
        driver.run();
        assert_eq!((driver.posts.len(), driver.done.len()), (2, 2));
        assert!(is_cancelled(&driver, id));
        let (_, told) = driver.background[0];
        assert!(driver.ended_at(told) <= 10 + 5000, "{}", driver.ended_at(told));
        assert_eq!(driver.background.len(), 1, "a notification's own failure is told to nobody");
    }
}

#[test]
fn f9_a_steps_owner_is_told_of_the_background_call() {
    let mut driver = LoopDriver::with_scripts(legacy(), [Script::sent()]);
    let id = call(&mut driver);
    driver.run_until(10);
    let now = driver.time();
    driver.client.cancel(id, now);
    let mut steps = Vec::new();
    while let Some(step) = driver.client.poll_step_of(id, now) {
        steps.push(step);
    }
    let [Step::Close(_), Step::Background(of, told), Step::Done(done, _)] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!((*of, *done), (id, id));
    let step = driver.client.poll_step_of(*told, now);
    assert!(matches!(step, Some(Step::Send(..))));
}

#[test]
fn f9_initialize_is_never_cancelled_by_notification() {
    for version in LEGACY {
        let config = ClientConfig::default().with_version(version).with_handshake(false);
        let mut driver = LoopDriver::with_scripts(config, vec![Script::stream(); 2]);
        let cancelled = driver.call("initialize", Some("{}"), CallOptions::default());
        let timed_out = driver.call("initialize", Some("{}"), within(50));
        driver.run_until(10);
        driver.cancel(cancelled);
        driver.run_until(60);
        assert!(is_cancelled(&driver, cancelled));
        assert!(matches!(driver.failure_of(timed_out).kind, FailureKind::Timeout { .. }), "E11");
        assert_eq!((driver.posts.len(), driver.background.len()), (2, 0));
    }
}

#[test]
fn f9_a_request_that_was_not_sent_is_not_told_of() {
    for script in [Script::silence(), Script::silence().then(Fact::Connected), Script::silence().then(Fact::Sending)] {
        let mut driver = LoopDriver::with_scripts(legacy(), [script]);
        let id = call(&mut driver);
        driver.run_until(10);
        driver.cancel(id);
        driver.run();
        assert!(is_cancelled(&driver, id));
        assert_eq!((driver.posts.len(), driver.background.len()), (1, 0));
    }
}

#[test]
fn e11_a_legacy_timeout_tells_the_server_and_a_modern_one_does_not() {
    // T37, T39, T108.
    for version in LEGACY.into_iter().chain([ProtocolVersion::LATEST]) {
        let config = ClientConfig::default().with_version(version).with_handshake(false);
        let mut driver = LoopDriver::with_scripts(config, [Script::stream()]);
        let id = driver.call("tools/call", Some(r#"{"name":"a"}"#), within(100).with_max_reissues(5));
        driver.run_until(200);
        assert!(matches!(driver.failure_of(id).kind, FailureKind::Timeout { limit: TimeLimit::Deadline }));
        assert_eq!(driver.ended_at(id), 100);
        assert_eq!(driver.closed, [driver.posts[0].exchange], "the stream is closed");
        let told: Vec<_> = driver.posts[1..].iter().map(|post| post.message()).collect();
        if version < ProtocolVersion::V2026_07_28 {
            assert_eq!(told.len(), 1);
            assert_eq!(told[0].method(), Some("notifications/cancelled"));
            let params: serde_json::Value = told[0].parse_params().expect("parameters");
            assert_eq!(params["requestId"], 1);
        } else {
            assert!(told.is_empty());
        }
    }
}

#[test]
fn e11_an_idle_limit_is_a_timeout_too() {
    let options = within(10_000).with_idle(Duration::from_millis(50));
    let mut driver = LoopDriver::with_scripts(legacy(), [Script::stream()]);
    let id = driver.call("tools/list", None, options.clone());
    driver.run_until(60);
    assert!(matches!(driver.failure_of(id).kind, FailureKind::Timeout { limit: TimeLimit::Idle }));
    assert_eq!((driver.ended_at(id), driver.background.len()), (50, 1));

    let mut driver = LoopDriver::with_scripts(modern(), [Script::stream()]);
    driver.call("tools/list", None, options.with_max_reissues(3));
    driver.run();
    assert_eq!((driver.posts.len(), driver.background.len()), (1, 0));
}

#[test]
fn e11_a_loss_tells_the_server_nothing() {
    let mut driver = LoopDriver::with_scripts(legacy(), [Script::lost_streaming()]);
    let id = call(&mut driver);
    driver.run();
    assert!(matches!(driver.failure_of(id).kind, FailureKind::Lost { .. }));
    assert_eq!((driver.posts.len(), driver.background.len()), (1, 0));
}

#[test]
fn e11_how_long_telling_may_take_is_the_callers() {
    let mut config = legacy();
    config.cancel_timeout = Duration::from_millis(70);
    let mut driver = LoopDriver::with_scripts(config, [Script::stream(), Script::silence()]);
    let id = call(&mut driver);
    driver.run_until(10);
    driver.cancel(id);
    driver.run();
    let (_, told) = driver.background[0];
    assert_eq!(driver.ended_at(told), 80);
}

#[test]
fn f9_a_notification_can_be_cancelled_and_nobody_is_told() {
    for config in [modern(), legacy()] {
        let mut driver = LoopDriver::with_scripts(config, [Script::sent()]);
        let id = driver.notify("notifications/initialized", None, CallOptions::default());
        driver.run_until(10);
        driver.cancel(id);
        assert!(is_cancelled(&driver, id));
        assert_eq!((driver.posts.len(), driver.background.len()), (1, 0));
    }
}

#[test]
fn f9_nothing_is_told_of_a_call_after_its_cancel() {
    let mut driver = LoopDriver::with_scripts(modern(), [Script::stream()]);
    let id = call(&mut driver);
    driver.run_until(10);
    driver.cancel(id);
    let told = driver.events.len();
    driver.fact(0, &Fact::Body("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n".to_owned()));
    driver.fact(0, &Fact::End(Framing::Marked));
    assert_eq!((driver.events.len(), driver.done.len()), (told, 1));
    assert!(!driver.events.iter().any(|(_, event)| matches!(event, CallEvent::Answer { .. })));
}

/// F9: whoever carries out no steps any more leaves none behind, not even those that would tell the server.
#[test]
fn f9_an_abandoned_call_leaves_no_step_and_no_time_out() {
    for config in [modern(), legacy()] {
        let mut driver = LoopDriver::with_scripts(config, vec![Script::stream(); 2]);
        let calls = [call(&mut driver), call(&mut driver)];
        driver.run_until(10);
        let now = Timestamp::from_millis(driver.now);
        for call in calls {
            driver.client.abandon(call, now);
        }
        assert!(driver.client.poll_step(now).is_none());
        assert_eq!(driver.client.poll_timeout(), None);
    }
}
