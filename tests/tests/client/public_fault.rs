//! PF-E10 (F1, F14): what is sent again after a loss, under which id, and who may forbid it. Every row of
//! `corpus/cases/pf-e10.json` under every policy it names.

use std::collections::BTreeMap;
use std::path::Path;

use mcp_sse_core::client::{CallEvent, CallId, CallOptions, ClientConfig, Outcome, ReissuePolicy};
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind, Framing};
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Post, Script};
use serde_json::Value;

fn case() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases/pf-e10.json");
    let text = std::fs::read_to_string(path).expect("the case");
    serde_json::from_str(&text).expect("JSON")
}

fn row(case: &Value, name: &str) -> Value {
    let rows = case["input"]["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name).expect("a row").clone()
}

/// The row's steps as a script, and the time at which its caller asks again.
fn script(row: &Value) -> (Script, Option<u64>) {
    let mut script = Script::silence();
    let mut asks_again = None;
    let mut at = 0;
    let mut is_sent = false;
    for step in row["steps"].as_array().expect("steps") {
        let now = step["at_ms"].as_u64().expect("a time");
        if step["caller"] == "re-issue" {
            asks_again = Some(now);
            continue;
        }
        let is_unsent = step["end"] == "connect-refused-before-any-byte";
        if !is_sent && !is_unsent {
            script = script.then(Fact::Connected).then(Fact::Sending).then(Fact::Sent);
            is_sent = true;
        }
        script = script.after(now - at);
        at = now;
        if let Some(head) = step["head"].as_object() {
            let headers: Vec<(String, String)> = head["headers"]
                .as_object()
                .expect("headers")
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().expect("text").to_owned()))
                .collect();
            let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            script =
                script.head(u16::try_from(head["status"].as_u64().expect("a status")).expect("a status"), &headers);
        } else if let Some(body) = step["body"].as_str() {
            script = script.body(body);
        } else {
            script = match step["end"].as_str().expect("an end") {
                "eof" => script.then(Fact::End(Framing::Marked)),
                "reset" => script.broken(BreakKind::Reset),
                "connect-refused-before-any-byte" => script.broken(BreakKind::Connect),
                other => panic!("an end that is not known: {other}"),
            };
        }
    }
    (script, asks_again)
}

struct Run {
    driver: LoopDriver,
    call: CallId,
    /// The call that the caller made again.
    again: Option<CallId>,
}

fn run(row: &Value, policy: ReissuePolicy, config: ClientConfig) -> Run {
    let (lost, asks_again) = script(row);
    let request = &row["request"];
    let method = request["method"].as_str().expect("a method");
    let params = (method == "tools/call").then_some(r#"{"name":"charge","arguments":{"amount":5}}"#);
    let options = CallOptions::default()
        .with_reissue(policy)
        .with_replay_safe(request["replay_safe"] == true)
        .with_hinted_idempotent(request["tool_annotations"]["idempotentHint"] == true);
    let mut driver = LoopDriver::with_scripts(config, [lost, Script::answered(), Script::answered()]);
    let call = driver.call(method, params, options.clone());
    let again = asks_again.map(|at| {
        driver.run_until(at);
        driver.call(method, params, options)
    });
    driver.run();
    Run { driver, call, again }
}

/// Requests of which a server may have seen a byte.
fn posts(driver: &LoopDriver) -> Vec<&Post> {
    driver.posts.iter().filter(|post| post.was_begun).collect()
}

fn assert_second_is_anew(driver: &LoopDriver) {
    let [first, second] = posts(driver)[..] else { panic!("two posts") };
    assert_ne!(first.id(), second.id(), "fresh id");
    assert_eq!(first.body_but_id(), second.body_but_id(), "same params");
    assert_eq!(first.request.headers, second.request.headers, "headers anew, from the same params");
    for post in &driver.posts {
        assert_eq!((post.request.method, post.header("Last-Event-ID")), ("POST", None), "never a GET, no cursor");
    }
}

#[test]
fn pf_e10_the_expected_outcomes_are_those_this_test_checks() {
    let case = case();
    let expected: BTreeMap<String, Vec<String>> = case["expected"]
        .as_object()
        .expect("policies")
        .iter()
        .map(|(policy, rows)| (policy.clone(), rows.as_object().expect("rows").keys().cloned().collect()))
        .collect();
    let rows = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(expected["default_policy"], rows(&["call-lost", "call-never-sent", "list-lost"]));
    assert_eq!(
        expected["policy_replay_safe_only"],
        rows(&[
            "call-lost",
            "call-lost-caller-asks-again",
            "call-lost-hinted-idempotent-by-untrusted-server",
            "list-lost"
        ])
    );
    assert_eq!(expected.len(), 2);
}

#[test]
fn pf_e10_the_default_policy_sends_again_what_was_lost() {
    let case = case();
    for name in ["list-lost", "call-lost"] {
        let Run { driver, call, .. } = run(&row(&case, name), ReissuePolicy::default(), ClientConfig::default());
        let expected = &case["expected"]["default_policy"][name];
        assert_eq!(posts(&driver).len() as u64, expected["posts"].as_u64().expect("posts"), "{name}");
        assert_second_is_anew(&driver);
        let exposure = driver.events.iter().find_map(|(_, event)| match event {
            CallEvent::Reissue { attempt: 2, exposure, .. } => Some(*exposure),
            _ => None,
        });
        assert!(exposure.is_some_and(Exposure::may_have_run), "an embedder sees that it may have run");
        let done = driver.end_of(call).expect("an end");
        assert!(matches!(done.outcome, Outcome::Settled(_)) && done.earlier_may_have_run);
    }
}

#[test]
fn pf_e10_the_replacement_has_the_same_overall_deadline() {
    let case = case();
    let (lost, _) = script(&row(&case, "list-lost"));
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [lost, Script::stream()]);
    let options = CallOptions::default().with_timeout(std::time::Duration::from_millis(100));
    let call = driver.call("tools/list", None, options);
    driver.run();
    assert_eq!(
        (driver.times(), driver.ended_at(call)),
        (vec![0, 10], 100),
        "the stream's own retry is no affair of ours"
    );
}

#[test]
fn pf_e10_there_is_no_third_post() {
    let case = case();
    for name in ["list-lost", "call-lost"] {
        let (lost, _) = script(&row(&case, name));
        let mut driver = LoopDriver::with_scripts(ClientConfig::default(), vec![lost; 4]);
        let call = driver.call("tools/list", None, CallOptions::default());
        driver.run();
        assert_eq!(driver.posts.len(), 2);
        assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { .. }));
    }
}

#[test]
fn pf_e10_what_was_never_sent_did_not_run() {
    let case = case();
    for policy in [ReissuePolicy::Always, ReissuePolicy::ReplaySafe, ReissuePolicy::Never] {
        let Run { driver, call, .. } = run(&row(&case, "call-never-sent"), policy, ClientConfig::default());
        let expected = &case["expected"]["default_policy"]["call-never-sent"];
        assert_eq!(posts(&driver).len() as u64, expected["posts"].as_u64().expect("posts"));
        assert_eq!(driver.posts.len(), 1, "one attempt");
        let failure = driver.failure_of(call);
        assert!(matches!(failure.kind, FailureKind::Unsent { .. }), "{failure:?}");
        assert_eq!(Value::from(failure.may_have_run()), expected["maybe_executed"]);
    }
}

#[test]
fn pf_e10_replay_safe_only_sends_again_what_was_declared() {
    let case = case();
    let expected = &case["expected"]["policy_replay_safe_only"];
    let Run { driver, .. } = run(&row(&case, "list-lost"), ReissuePolicy::ReplaySafe, ClientConfig::default());
    assert_eq!(posts(&driver).len() as u64, expected["list-lost"]["posts"].as_u64().expect("posts"));
    assert_second_is_anew(&driver);

    for name in ["call-lost", "call-lost-hinted-idempotent-by-untrusted-server"] {
        let Run { driver, call, .. } = run(&row(&case, name), ReissuePolicy::ReplaySafe, ClientConfig::default());
        let expected = &expected[name];
        assert_eq!(posts(&driver).len() as u64, expected["posts"].as_u64().expect("posts"), "{name}");
        let failure = driver.failure_of(call);
        assert_eq!(failure.kind.as_str(), expected["reason"].as_str().expect("a reason"));
        assert_eq!(Value::from(failure.may_have_run()), expected["maybe_executed"]);
    }
}

#[test]
fn pf_e10_a_hint_counts_once_the_application_trusts_the_server() {
    let case = case();
    let trusting = ClientConfig::default().with_trusts_server_hints(true);
    let row = row(&case, "call-lost-hinted-idempotent-by-untrusted-server");
    let Run { driver, .. } = run(&row, ReissuePolicy::ReplaySafe, trusting);
    assert_second_is_anew(&driver);
}

#[test]
fn pf_e10_never_means_never() {
    let case = case();
    for name in ["list-lost", "call-lost", "call-lost-hinted-idempotent-by-untrusted-server"] {
        let trusting = ClientConfig::default().with_trusts_server_hints(true);
        let Run { driver, call, .. } = run(&row(&case, name), ReissuePolicy::Never, trusting);
        assert_eq!(posts(&driver).len(), 1, "{name}");
        let failure = driver.failure_of(call);
        assert!(matches!(failure.kind, FailureKind::Lost { .. }) && failure.may_have_run());
    }
}

#[test]
fn pf_e10_a_caller_who_asks_again_gets_a_call_of_its_own() {
    let case = case();
    let expected = &case["expected"]["policy_replay_safe_only"]["call-lost-caller-asks-again"];
    let row = row(&case, "call-lost-caller-asks-again");
    let Run { driver, call, again } = run(&row, ReissuePolicy::ReplaySafe, ClientConfig::default());
    assert_eq!(posts(&driver).len() as u64, expected["posts"].as_u64().expect("posts"));
    assert_second_is_anew(&driver);
    assert_eq!(driver.times(), [0, 20]);
    assert!(matches!(driver.failure_of(call).kind, FailureKind::Lost { .. }));
    let again = again.expect("the caller asked again");
    assert_ne!(call, again);
    assert_eq!(driver.answers_of(again).len(), 1);
    assert!(driver.answers_of(call).is_empty());
}

#[test]
fn pf_e10_a_late_message_for_the_first_is_not_delivered_to_the_second() {
    let case = case();
    let (lost, asks_again) = script(&row(&case, "call-lost-caller-asks-again"));
    let late = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"charged\":1}}\n\n";
    let second = Script::stream().body(late).answer().then(Fact::End(Framing::Marked));
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [lost, second]);
    let options = CallOptions::default().with_reissue(ReissuePolicy::ReplaySafe);
    let first = driver.call("tools/call", Some(r#"{"name":"a"}"#), options.clone());
    driver.run_until(asks_again.expect("a time"));
    let second = driver.call("tools/call", Some(r#"{"name":"a"}"#), options);
    driver.run();
    let strays: Vec<_> = driver
        .events
        .iter()
        .filter_map(|(call, event)| match event {
            CallEvent::Stray { id, .. } => Some((*call, id.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(strays, [(second, Some(Id::from(1)))]);
    assert!(driver.answers_of(first).is_empty());
    assert_eq!(driver.answers_of(second)[0].1.message.result(), Some(r#"{"ok":true}"#));
}
