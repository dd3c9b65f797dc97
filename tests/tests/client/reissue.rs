//! F1: what is sent again after a loss, under which id, when and how often.

use std::time::Duration;

use mcp_sse_core::client::{
    Backoff, CallEvent, CallId, CallOptions, ClientConfig, Done, HttpRequest, Outcome, ReissuePolicy,
};
use mcp_sse_core::exchange::{BreakKind, Cause, Exposure, FailureKind, Framing, IdMatch, TimeLimit};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

const PARAMS: &str = r#"{"name":"charge","arguments":{"amount":12345678901234567890}}"#;

fn run(options: CallOptions, scripts: impl IntoIterator<Item = Script>) -> (LoopDriver, CallId) {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let call = driver.call("tools/call", Some(PARAMS), options);
    driver.run();
    (driver, call)
}

fn end(driver: &LoopDriver, call: CallId) -> &Done {
    driver.end_of(call).expect("an end")
}

fn reissues(driver: &LoopDriver) -> Vec<(u32, Cause, Exposure)> {
    let reissue = |(_, event): &(CallId, CallEvent)| match event {
        CallEvent::Reissue { attempt, cause, exposure } => Some((*attempt, *cause, *exposure)),
        _ => None,
    };
    driver.events.iter().filter_map(reissue).collect()
}

fn headers(request: &HttpRequest) -> Vec<(String, String)> {
    request.headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn f1_a_lost_request_is_sent_again_as_a_new_one() {
    for lost in [Script::lost_sent(), Script::lost_headed(), Script::lost_streaming(), Script::partly_sent()] {
        let (driver, call) = run(CallOptions::default(), [lost, Script::answered()]);
        let [first, second] = &driver.posts[..] else { panic!("two requests: {:?}", driver.posts) };

        assert_eq!(driver.ids(), [Id::from(1), Id::from(2)], "a new id");
        assert_eq!(first.body_but_id(), second.body_but_id(), "nothing else is new");
        assert!(second.body().contains(r#""arguments":{"amount":12345678901234567890}"#));
        assert_eq!(headers(&first.request), headers(&second.request));
        assert_eq!(first.request.endpoint, second.request.endpoint);
        assert_eq!(second.header("Last-Event-ID"), None);
        assert_ne!(first.exchange, second.exchange);

        let [(attempt, answer)] = driver.answers_of(call)[..] else { panic!("one answer") };
        assert_eq!((attempt, answer.message.id()), (2, Some(&Id::from(2))));
        assert_eq!(answer.info.id_match, IdMatch::Exact);
        let done = end(&driver, call);
        assert!(matches!(done.outcome, Outcome::Settled(_)));
        assert_eq!((done.attempts, done.exposure), (2, Exposure::Streaming));
    }
}

#[test]
fn f1_the_reissue_is_told_before_it_is_sent() {
    let (driver, _) = run(CallOptions::default(), [Script::lost_headed(), Script::answered()]);
    assert_eq!(reissues(&driver), [(2, Cause::Broken(BreakKind::Closed), Exposure::Headed)]);
    let (driver, _) = run(CallOptions::default(), [Script::partly_sent(), Script::lost_streaming()]);
    assert_eq!(reissues(&driver), [(2, Cause::Broken(BreakKind::Reset), Exposure::PartlySent)]);
}

#[test]
fn f1_the_lost_exchange_is_closed_first() {
    let (driver, _) = run(CallOptions::default(), [Script::lost_headed(), Script::answered()]);
    assert_eq!(driver.closed, [driver.posts[0].exchange]);
    assert_eq!(driver.released, [driver.posts[1].exchange]);
}

#[test]
fn f1_headers_are_computed_anew_from_the_same_parameters() {
    let config = ClientConfig::default().with_header("Authorization", "Bearer x").expect("a header");
    let mut driver = LoopDriver::with_scripts(config, [Script::lost_sent(), Script::answered()]);
    driver.call("tools/call", Some(PARAMS), CallOptions::default());
    driver.run();
    for post in &driver.posts {
        assert_eq!(post.header("Mcp-Method"), Some("tools/call"));
        assert_eq!(post.header("Mcp-Name"), Some("charge"));
        assert_eq!(post.header("MCP-Protocol-Version"), Some("2026-07-28"));
        assert_eq!(post.header("Authorization"), Some("Bearer x"));
    }
}

#[test]
fn f1_both_attempts_have_the_same_overall_deadline() {
    // T96, T113: the replacement gets what is left of the time, and not a second of its own.
    let lost = Script::stream().after(600).broken(BreakKind::Reset);
    let (driver, call) = run(within(1000), [lost, Script::stream()]);
    assert_eq!(driver.times(), [0, 600]);
    assert_eq!(driver.ended_at(call), 1000);
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Timeout { limit: TimeLimit::Deadline }));
}

#[test]
fn f1_an_answer_within_what_is_left_of_the_time_is_taken() {
    let lost = Script::stream().after(600).broken(BreakKind::Reset);
    let slow = Script::stream().after(399).answer().then(Fact::End(Framing::Marked));
    let (driver, call) = run(within(1000), [lost.clone(), slow]);
    assert!(matches!(end(&driver, call).outcome, Outcome::Settled(_)));

    // T111: at the deadline it is too late.
    let late = Script::stream().after(400).answer();
    let (driver, call) = run(within(1000), [lost, late]);
    assert!(driver.answers_of(call).is_empty());
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Timeout { .. }));
}

#[test]
fn f1_without_a_deadline_a_lost_request_is_sent_again_all_the_same() {
    let lost = Script::stream().after(1_000_000).broken(BreakKind::Reset);
    let (driver, call) = run(CallOptions::default().with_timeout(None), [lost, Script::answered()]);
    assert_eq!(end(&driver, call).attempts, 2);
}

#[test]
fn f1_one_replacement_is_the_default() {
    // T94: lost twice is lost.
    let (driver, call) = run(CallOptions::default(), vec![Script::lost_headed(); 5]);
    assert_eq!(driver.posts.len(), 2);
    assert_eq!(end(&driver, call).attempts, 2);
}

#[test]
fn f1_the_number_of_replacements_is_the_callers() {
    for most in [0, 1, 2, 3, 7] {
        let options = CallOptions::default().with_max_reissues(most);
        let (driver, call) = run(options.clone(), vec![Script::lost_sent(); 20]);
        assert_eq!(driver.posts.len() as u32, 1 + most);
        assert_eq!(end(&driver, call).attempts, 1 + most);
        assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { .. }));

        // With the last one the answer comes.
        let mut scripts = vec![Script::lost_sent(); most as usize];
        scripts.push(Script::answered());
        let (driver, call) = run(options, scripts);
        assert!(matches!(end(&driver, call).outcome, Outcome::Settled(_)));
        assert_eq!(driver.answers_of(call)[0].0, 1 + most);
    }
}

#[test]
fn f1_a_method_can_be_vetoed() {
    for policy in [ReissuePolicy::Always, ReissuePolicy::ReplaySafe] {
        let config = ClientConfig::default()
            .with_never_reissued_method("tools/call")
            .with_replay_safe_method("tools/call")
            .with_replay_safe_method("tools/list");
        let mut driver = LoopDriver::with_scripts(config, vec![Script::lost_sent(); 3]);
        let options = CallOptions::default().with_reissue(policy).with_replay_safe(true);
        let vetoed = driver.call("tools/call", Some(PARAMS), options.clone());
        driver.run();
        assert_eq!(driver.posts.len(), 1);
        assert!(matches!(driver.failure_of(vetoed).kind, FailureKind::Lost { .. }));
        let other = driver.call("tools/list", None, options);
        driver.run();
        assert_eq!((driver.posts.len(), end(&driver, other).attempts), (3, 2));
    }
}

#[test]
fn f1_backoff_waits_before_the_replacement() {
    let options = within(10_000).with_backoff(Backoff::new(Duration::from_millis(250), Duration::from_secs(1)));
    let (driver, call) = run(options, [Script::stream().after(40).broken(BreakKind::Reset), Script::answered()]);
    assert_eq!(driver.times(), [0, 290]);
    assert!(matches!(end(&driver, call).outcome, Outcome::Settled(_)));
}

#[test]
fn f1_backoff_doubles_up_to_its_most() {
    let options = within(60_000)
        .with_max_reissues(5)
        .with_backoff(Backoff::new(Duration::from_millis(100), Duration::from_millis(500)));
    let (driver, _) = run(options, vec![Script::lost_sent(); 9]);
    assert_eq!(driver.times(), [0, 100, 300, 700, 1200, 1700]);
}

#[test]
fn f1_backoff_is_never_shorter_than_its_first_and_never_overflows() {
    let none = Backoff::default();
    assert_eq!((none.wait(1), none.wait(u32::MAX)), (Duration::ZERO, Duration::ZERO));
    let least = Backoff::new(Duration::from_secs(3), Duration::ZERO);
    assert_eq!((least.wait(1), least.wait(9)), (Duration::from_secs(3), Duration::from_secs(3)));
    let endless = Backoff::new(Duration::from_secs(1), Duration::MAX);
    assert_eq!(endless.wait(0), Duration::from_secs(1));
    assert_eq!(endless.wait(4), Duration::from_secs(8));
    let mut previous = Duration::ZERO;
    for replacement in (0..100).chain([u32::MAX - 1, u32::MAX]) {
        let wait = endless.wait(replacement);
        assert!(wait >= previous);
        previous = wait;
    }
    assert_eq!(Backoff::new(Duration::MAX, Duration::MAX).wait(40), Duration::MAX);
}

#[test]
fn f1_a_replacement_that_cannot_be_sent_in_time_is_none() {
    // Told at once, and not at the deadline.
    let backoff = Backoff::new(Duration::from_millis(900), Duration::from_secs(1));
    let lost = Script::stream().after(100).broken(BreakKind::Reset);
    let (driver, call) = run(within(1000).with_backoff(backoff), [lost.clone(), Script::answered()]);
    assert_eq!((driver.posts.len(), driver.ended_at(call)), (1, 100));
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { .. }));
    assert!(reissues(&driver).is_empty());

    let (driver, call) = run(within(1001).with_backoff(backoff), [lost, Script::answered()]);
    assert_eq!(driver.times(), [0, 1000]);
    assert!(matches!(end(&driver, call).outcome, Outcome::Settled(_)));
}

#[test]
fn f1_a_replacement_that_the_adapter_starts_too_late_times_out() {
    let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(1));
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [Script::lost_sent()]);
    let call = driver.call("tools/call", Some(PARAMS), within(1000).with_backoff(backoff));
    driver.run_until(499);
    assert!(driver.end_of(call).is_none());
    driver.now = 1000;
    driver.run();
    assert_eq!(driver.posts.len(), 1);
    let done = end(&driver, call);
    assert_eq!((done.attempts, done.exposure, done.earlier_may_have_run), (1, Exposure::Sent, false));
    assert!(done.may_have_run());
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Timeout { limit: TimeLimit::Deadline }));
}

#[test]
fn f1_early_wakes_start_no_replacement() {
    let backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(1));
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [Script::lost_sent(), Script::answered()]);
    let call = driver.call("tools/call", Some(PARAMS), within(1000).with_backoff(backoff));
    driver.run_until(1);
    for millis in 1..500 {
        driver.now = millis;
        let now = driver.time();
        assert_eq!(driver.client.poll_timeout(), driver.client.poll_timeout_of(call));
        assert_eq!(driver.client.poll_timeout(), Some(mcp_sse_core::Timestamp::from_millis(500)));
        driver.client.on_timeout(now);
        driver.carry_out();
        assert_eq!(driver.posts.len(), 1);
    }
    driver.run();
    assert_eq!(driver.times(), [0, 500]);
}

#[test]
fn f1_each_attempts_notifications_are_told_with_their_attempt() {
    let progress = |step: u32| {
        let message =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progress":{step}}}}}"#);
        Script::stream().body(&format!("data: {message}\n\n"))
    };
    let (driver, call) = run(
        CallOptions::default(),
        [progress(1).broken(BreakKind::Reset), progress(2).answer().then(Fact::End(Framing::Marked))],
    );
    let told: Vec<_> = driver
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            CallEvent::Notification { attempt, message } => Some((*attempt, message.params().map(str::to_owned))),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(1, Some(r#"{"progress":1}"#.to_owned())), (2, Some(r#"{"progress":2}"#.to_owned()))]);
    assert!(driver.events.iter().all(|(id, _)| *id == call));
}

#[test]
fn f1_only_the_modern_era_sends_again() {
    for version in [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25] {
        for lost in [Script::lost_sent(), Script::lost_headed(), Script::lost_streaming(), Script::partly_sent()] {
            let mut driver = LoopDriver::with_scripts(
                ClientConfig::default().with_version(version).with_handshake(false),
                [lost, Script::answered()],
            );
            let options = CallOptions::default().with_max_reissues(9).with_replay_safe(true);
            let call = driver.call("tools/list", None, options);
            driver.run();
            assert_eq!(driver.posts.len(), 1, "T123: {version}");
            assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { replacement: None, .. }));
        }
    }
}

#[test]
fn f1_concurrent_losses_keep_their_own_parameters() {
    // T98: two calls, both lost, four ids.
    let scripts = [Script::lost_sent(), Script::lost_headed(), Script::answered(), Script::answered()];
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let a = driver.call("tools/call", Some(r#"{"name":"a","arguments":{"x":1}}"#), CallOptions::default());
    let b = driver.call("tools/call", Some(r#"{"name":"b","arguments":{"x":2}}"#), CallOptions::default());
    driver.run();
    let mut ids = driver.ids();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    for (name, call) in [("a", a), ("b", b)] {
        let sent: Vec<_> = driver.posts.iter().filter(|post| post.header("Mcp-Name") == Some(name)).collect();
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0].body_but_id(), sent[1].body_but_id());
        let answers = driver.answers_of(call);
        assert_eq!((answers.len(), answers[0].1.message.id()), (1, sent[1].id().as_ref()));
    }
}

#[test]
fn e1_a_kept_connection_found_closed_is_no_attempt_of_its_own() {
    let script = Script::silence()
        .then(Fact::Reused)
        .broken(BreakKind::Closed)
        .then(Fact::Connected)
        .then(Fact::Sending)
        .then(Fact::Sent)
        .head(200, &[("Content-Type", "text/event-stream")])
        .answer()
        .then(Fact::End(Framing::Marked));
    let (driver, call) = run(CallOptions::default(), [script]);
    assert_eq!((driver.posts.len(), end(&driver, call).attempts), (1, 1));
    assert!(matches!(end(&driver, call).outcome, Outcome::Settled(_)));
}

#[test]
fn f1_a_json_rpc_error_is_an_answer_and_is_not_asked_for_again() {
    // T102.
    let body = "data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{\"code\":-32603,\"message\":\"no\"}}\n\n";
    let (driver, call) =
        run(CallOptions::default(), [Script::stream().body(body).broken(BreakKind::Reset), Script::answered()]);
    assert_eq!(driver.posts.len(), 1);
    let answers = driver.answers_of(call);
    assert_eq!((answers.len(), answers[0].1.info.is_error), (1, true));
}
