//! F2 and F5: how a call ends that was lost, and that no mix of endings sends more than its budget.

use mcp_sse_core::client::{CallId, CallOptions, ClientConfig, Done, Outcome};
use mcp_sse_core::exchange::{BreakKind, Cause, Damage, Exposure, FailureKind, Framing};
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

fn run(options: CallOptions, scripts: impl IntoIterator<Item = Script>) -> (LoopDriver, CallId) {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let call = driver.call("tools/call", Some(r#"{"name":"charge","arguments":{}}"#), options);
    driver.run();
    (driver, call)
}

fn end(driver: &LoopDriver, call: CallId) -> &Done {
    driver.end_of(call).expect("an end")
}

#[test]
fn f2_lost_twice_is_lost() {
    let (driver, call) = run(CallOptions::default(), [Script::lost_sent(), Script::lost_streaming()]);
    let done = end(&driver, call);
    assert_eq!((done.attempts, done.exposure), (2, Exposure::Streaming));
    assert!(done.earlier_may_have_run && done.may_have_run());
    let failure = driver.failure_of(call);
    assert!(matches!(failure.kind, FailureKind::Lost { cause: Cause::Ended, replacement: None }), "{failure:?}");
    assert_eq!(failure.exposure, Exposure::Streaming);
    assert!(driver.answers_of(call).is_empty());
}

#[test]
fn f2_the_failure_has_the_exposure_of_the_attempt_that_got_furthest() {
    let losses = [
        (Script::partly_sent(), Exposure::PartlySent),
        (Script::lost_sent(), Exposure::Sent),
        (Script::lost_headed(), Exposure::Headed),
        (Script::lost_streaming(), Exposure::Streaming),
    ];
    for (first, first_exposure) in &losses {
        for (second, second_exposure) in &losses {
            let (driver, call) = run(CallOptions::default(), [first.clone(), second.clone()]);
            let done = end(&driver, call);
            assert_eq!(done.attempts, 2);
            assert_eq!(done.exposure, *first_exposure.max(second_exposure));
            assert_eq!(driver.failure_of(call).exposure, done.exposure);
            assert_eq!(done.earlier_may_have_run, first_exposure.may_have_run());
            assert_eq!(done.may_have_run(), done.exposure.may_have_run());
            assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { replacement: None, .. }));
        }
    }
}

#[test]
fn f2_a_replacement_that_cannot_be_sent_ends_lost_with_both_causes() {
    let cases = [
        (Script::lost_sent(), Exposure::Sent, Cause::Broken(BreakKind::Reset)),
        (Script::lost_headed(), Exposure::Headed, Cause::Broken(BreakKind::Closed)),
        (Script::lost_streaming(), Exposure::Streaming, Cause::Ended),
    ];
    for (lost, exposure, why) in cases {
        for refused in [BreakKind::Connect, BreakKind::Resolve, BreakKind::Handshake, BreakKind::ConnectTimeout] {
            let unsent = Script::silence().broken(refused);
            let (driver, call) = run(CallOptions::default().with_max_reissues(3), [lost.clone(), unsent]);
            let done = end(&driver, call);
            assert_eq!((done.attempts, done.exposure), (2, exposure));
            assert!(done.earlier_may_have_run && done.may_have_run());
            let failure = driver.failure_of(call);
            let FailureKind::Lost { cause, replacement } = failure.kind else { panic!("{failure:?}") };
            assert_eq!((cause, replacement, failure.exposure), (why, Some(refused), exposure));
            assert!(failure.to_string().ends_with("it may have run"), "{failure}");
        }
    }
}

#[test]
fn f2_of_several_lost_attempts_the_cause_is_that_of_the_one_that_got_furthest() {
    let options = CallOptions::default().with_max_reissues(9);
    let scripts = [Script::lost_sent(), Script::lost_streaming(), Script::lost_headed(), Script::refused()];
    let (driver, call) = run(options, scripts);
    let failure = driver.failure_of(call);
    let FailureKind::Lost { cause, replacement } = failure.kind else { panic!("{failure:?}") };
    assert_eq!((cause, replacement), (Cause::Ended, Some(BreakKind::Connect)));
    assert_eq!((end(&driver, call).attempts, failure.exposure), (4, Exposure::Streaming));

    // Of two that got as far, the first.
    let scripts = [Script::lost_headed(), Script::stream().broken(BreakKind::Reset), Script::refused()];
    let (driver, call) = run(CallOptions::default().with_max_reissues(9), scripts);
    let FailureKind::Lost { cause, .. } = driver.failure_of(call).kind else { panic!("lost") };
    assert_eq!(cause, Cause::Broken(BreakKind::Closed));
}

#[test]
fn f2_partly_sent_and_then_unsent_did_not_run() {
    let (driver, call) = run(CallOptions::default(), [Script::partly_sent(), Script::refused()]);
    let done = end(&driver, call);
    assert_eq!((done.attempts, done.exposure, done.earlier_may_have_run), (2, Exposure::PartlySent, false));
    assert!(!done.may_have_run());
    let failure = driver.failure_of(call);
    assert!(matches!(failure.kind, FailureKind::Unsent { cause: BreakKind::Connect }), "{failure:?}");
    assert!(failure.to_string().ends_with("it did not run"), "{failure}");
}

#[test]
fn f2_a_first_attempt_that_cannot_be_sent_has_no_replacement() {
    // E1, T105: exactly one attempt, whatever was asked for.
    let options = CallOptions::default().with_max_reissues(5).with_replay_safe(true);
    let (driver, call) = run(options, [Script::refused(), Script::answered()]);
    let done = end(&driver, call);
    assert_eq!((driver.posts.len(), done.attempts, done.exposure), (1, 1, Exposure::Unsent));
    assert!(!done.may_have_run() && !done.earlier_may_have_run);
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Unsent { cause: BreakKind::Connect }));
}

#[test]
fn f2_a_replacement_that_ends_otherwise_says_that_the_first_may_have_run() {
    type Check = fn(&FailureKind) -> bool;
    let endings: [(Script, Check, Exposure); 7] = [
        (Script::stream(), |kind| matches!(kind, FailureKind::Timeout { .. }), Exposure::Headed),
        (Script::silence(), |kind| matches!(kind, FailureKind::Timeout { .. }), Exposure::Sent),
        (Script::whole(503, "text/plain", "no"), |kind| matches!(kind, FailureKind::Status(_)), Exposure::Streaming),
        (
            Script::whole(200, "text/html", "<p>"),
            |kind| matches!(kind, FailureKind::ContentType { .. }),
            Exposure::Headed,
        ),
        (Script::whole(202, "text/plain", ""), |kind| matches!(kind, FailureKind::NoAnswer { .. }), Exposure::Headed),
        (
            Script::whole(200, "application/json", "{]"),
            |kind| matches!(kind, FailureKind::InvalidJson { .. }),
            Exposure::Streaming,
        ),
        (
            Script::whole(200, "application/json", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            |kind| matches!(kind, FailureKind::IdMismatch { .. }),
            Exposure::Streaming,
        ),
    ];
    for (ending, is_expected, exposure) in endings {
        let (driver, call) = run(CallOptions::default(), [Script::lost_sent(), ending.clone()]);
        let done = end(&driver, call);
        let failure = driver.failure_of(call);
        assert!(is_expected(&failure.kind), "{failure:?}");
        assert!(done.earlier_may_have_run && done.may_have_run());
        assert_eq!((done.attempts, done.exposure), (2, exposure), "{failure:?}");

        // Alone, there is no earlier one; after one that was cut in the sending, none that may have run.
        let (driver, call) = run(CallOptions::default(), [ending.clone()]);
        assert!(!end(&driver, call).earlier_may_have_run);
        let (driver, call) = run(CallOptions::default(), [Script::partly_sent(), ending]);
        assert!(!end(&driver, call).earlier_may_have_run);
    }
}

#[test]
fn f14_an_answer_to_the_replacement_says_that_the_first_may_have_run() {
    for (lost, may_have_run) in [(Script::lost_sent(), true), (Script::partly_sent(), false)] {
        let (driver, call) = run(CallOptions::default(), [lost, Script::answered()]);
        assert_eq!(end(&driver, call).earlier_may_have_run, may_have_run);
        assert!(end(&driver, call).may_have_run());
    }
}

#[test]
fn f2_an_answer_that_was_delivered_is_never_asked_for_again() {
    // T101, T112: whatever happens after it.
    // The deadline comes before the bound on reading on.
    let options = || within(400).with_max_reissues(5);
    let ends = [
        (Script::stream().answer().broken(BreakKind::Reset), Damage::Broken(BreakKind::Reset)),
        (Script::stream().answer().then(Fact::End(Framing::Short)), Damage::Short),
        (Script::stream().answer(), Damage::Stalled),
    ];
    for (script, expected) in ends {
        let (driver, call) = run(options(), [script, Script::answered()]);
        assert_eq!((driver.posts.len(), driver.answers_of(call).len()), (1, 1));
        let Outcome::Salvaged { damage, .. } = &end(&driver, call).outcome else { panic!("salvaged") };
        assert_eq!(*damage, expected);
    }
}

/// F5: whatever the mix of verdicts, a call sends no more than its budget.
#[test]
fn f5_no_mix_of_endings_sends_more_than_the_budget() {
    let endings = [
        Script::refused(),
        Script::partly_sent(),
        Script::lost_sent(),
        Script::lost_headed(),
        Script::lost_streaming(),
        Script::answered(),
        Script::whole(503, "text/plain", "busy"),
        Script::whole(404, "text/plain", "none"),
        Script::whole(200, "application/json", "{"),
        Script::stream(),
        Script::stream().answer().broken(BreakKind::Reset),
        Script::whole(
            400,
            "application/json",
            r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32022,"message":"","data":{"supported":["2026-07-28"]}}}"#,
        ),
    ];
    for most in [0_u32, 1, 2] {
        for a in &endings {
            for b in &endings {
                for c in &endings {
                    let scripts = [a, b, c, a, b, c].map(Clone::clone);
                    let options = within(500).with_max_reissues(most);
                    let (driver, call) = run(options, scripts);
                    let done = end(&driver, call);
                    // F3 sends once more, whatever the caller's number of replacements.
                    assert!(driver.posts.len() as u32 <= 2 + most);
                    assert_eq!(done.attempts as usize, driver.posts.len());
                    assert!(driver.answers_of(call).len() <= 1);
                    let is_unsent =
                        matches!(&done.outcome, Outcome::Failed(f) if matches!(f.kind, FailureKind::Unsent { .. }));
                    assert!(!(is_unsent && done.may_have_run()), "F2: never unsent once sent");
                }
            }
        }
    }
}

#[test]
fn f5_a_default_call_sends_at_most_four_requests() {
    // F3 and F4 add one each when they are there; F1 alone sends two.
    let (driver, _) = run(CallOptions::default(), vec![Script::lost_streaming(); 10]);
    assert!(driver.posts.len() <= 4);
}
