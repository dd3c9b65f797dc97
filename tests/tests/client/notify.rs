//! E20: a notification is sent once, and any status of success takes it.

use std::time::Duration;

use mcp_sse_core::client::{CallOptions, ClientConfig, Done, Outcome, ReissuePolicy};
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind, Framing};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

fn run(version: ProtocolVersion, script: Script) -> (LoopDriver, Done) {
    let config = ClientConfig::default()
        .with_version(version)
        .with_handshake(false)
        .with_replay_safe_method("notifications/other");
    let mut driver = LoopDriver::with_scripts(config, [script, Script::whole(202, "text/plain", "")]);
    // Everything that would allow a replacement, were it a request.
    let options = within(1000).with_reissue(ReissuePolicy::Always).with_replay_safe(true).with_max_reissues(5);
    let call = driver.notify("notifications/other", Some(r#"{"a":1}"#), options);
    driver.run();
    assert_eq!(driver.posts.len(), 1, "E20: never sent again");
    let done = driver.end_of(call).expect("an end").clone();
    assert_eq!((done.attempts, done.earlier_may_have_run), (1, false));
    assert!(driver.events.is_empty() && driver.background.is_empty());
    (driver, done)
}

#[test]
fn e20_any_2xx_accepts_it() {
    for version in ProtocolVersion::KNOWN.into_iter().skip(1) {
        for status in [200, 201, 202, 204, 206, 299] {
            let (driver, done) = run(version, Script::sent().head(status, &[]));
            assert!(matches!(done.outcome, Outcome::Accepted { status: got } if got == status));
            assert_eq!(done.exposure, Exposure::Headed, "what was read is the head");
            assert!(done.may_have_run());
            assert_eq!(driver.released, [driver.posts[0].exchange], "its connection may be used again");
        }
    }
}

#[test]
fn e20_accepted_is_accepted_whatever_follows() {
    for script in [
        Script::sent().head(202, &[]).broken(BreakKind::Reset),
        Script::stream().body("data: nonsense\n\n"),
        Script::sent().head(200, &[("Content-Type", "text/html")]),
        Script::sent().head(200, &[("Content-Encoding", "br")]),
    ] {
        let (_, done) = run(ProtocolVersion::V2026_07_28, script);
        assert!(matches!(done.outcome, Outcome::Accepted { .. }));
    }
}

#[test]
fn e20_a_break_fails_it_and_it_is_never_sent_again() {
    // T106.
    let breaks = [(Script::partly_sent(), Exposure::PartlySent), (Script::lost_sent(), Exposure::Sent)];
    for version in ProtocolVersion::KNOWN.into_iter().skip(1) {
        for (script, exposure) in &breaks {
            let (_, done) = run(version, script.clone());
            let Outcome::Failed(failure) = &done.outcome else { panic!("failed") };
            assert!(matches!(failure.kind, FailureKind::Lost { replacement: None, .. }), "{failure:?}");
            assert_eq!((failure.exposure, done.exposure), (*exposure, *exposure));
        }
        let (_, done) = run(version, Script::refused());
        let Outcome::Failed(failure) = &done.outcome else { panic!("failed") };
        assert!(matches!(failure.kind, FailureKind::Unsent { cause: BreakKind::Connect }));
        assert!(!done.may_have_run());
    }
}

#[test]
fn e20_silence_is_a_timeout() {
    let (driver, done) = run(ProtocolVersion::V2026_07_28, Script::sent());
    assert!(matches!(&done.outcome, Outcome::Failed(f) if matches!(f.kind, FailureKind::Timeout { .. })));
    assert_eq!(driver.now, 1000);
    // E11: nobody is told of a notification that timed out.
    run(ProtocolVersion::V2025_11_25, Script::sent());
}

#[test]
fn e20_a_refusal_is_a_status_with_its_error_code() {
    let body = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}"#;
    let (_, done) = run(ProtocolVersion::V2026_07_28, Script::whole(400, "application/json", body));
    let Outcome::Failed(failure) = &done.outcome else { panic!("failed") };
    let FailureKind::Status(status) = &failure.kind else { panic!("{failure:?}") };
    assert_eq!((status.status(), status.error_code), (400, Some(-32600)));
    let script = Script::sent().head(500, &[]).body("oh").then(Fact::End(Framing::Marked));
    let (_, done) = run(ProtocolVersion::V2026_07_28, script);
    let Outcome::Failed(failure) = &done.outcome else { panic!("failed") };
    assert!(matches!(&failure.kind, FailureKind::Status(status) if status.status() == 500));
}

#[test]
fn e20_of_its_options_the_times_count() {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [Script::sent()]);
    let options = CallOptions::default().with_timeout(None).with_idle(Duration::from_millis(40));
    let call = driver.notify("notifications/other", None, options);
    driver.run();
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Timeout { .. }));
    assert_eq!(driver.ended_at(call), 40);
}
