//! H1, H3, H5: the faults of published clients in the handshake of 2024-11-05, every row of `corpus/cases/handshake.json`.

use std::path::Path;
use std::time::Duration;

use mcp_sse_core::client::{CallId, CallOptions, ClientConfig};
use mcp_sse_core::exchange::{FailureKind, Framing, HandshakeProblem};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Reply, initialize_result};
use mcp_sse_tests::loop_driver::Fact;
use serde_json::Value;

fn case(id: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/cases/handshake.json");
    let cases: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the cases")).expect("JSON");
    cases.as_array().expect("cases").iter().find(|case| case["id"] == id).expect("the case").clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn config() -> ClientConfig {
    ClientConfig::default().with_version(ProtocolVersion::V2024_11_05)
}

/// The steps of a stream as a reply to its GET, which is sent at `from`.
fn stream(steps: &Value, from: u64) -> Reply {
    let mut reply = Reply::read();
    let mut at = from;
    for step in steps.as_array().expect("steps") {
        if !step["caller"].is_null() || !step["post"].is_null() {
            continue;
        }
        reply = reply.after(number(&step["at_ms"]) - at);
        at = number(&step["at_ms"]);
        if let Some(head) = step["head"].as_object() {
            let headers = head["headers"].as_object().expect("headers");
            let headers = headers.iter().map(|(name, value)| (&**name, text(value)));
            let status = u16::try_from(number(&head["status"])).expect("a status");
            reply = reply.then(Fact::Head(ResponseHead::from_headers(status, headers)));
        } else if let Some(body) = step["body"].as_str() {
            reply = reply.body(body);
        } else {
            reply = match text(&step["end"]) {
                "eof" => reply.then(Fact::End(Framing::Unmarked)),
                "reset" => reply.broken(),
                other => panic!("an end that is not known: {other}"),
            };
        }
    }
    reply
}

fn call(driver: &mut ChannelDriver, method: &str) -> CallId {
    driver.call(method, None, CallOptions::default())
}

/// PF-H01 (H1): the endpoint is resolved against the stream's URL, and nothing else.
#[test]
fn pf_h01_every_reference_is_resolved() {
    let case = case("PF-H01");
    let rows = case["input"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let name = text(&row["name"]);
        let expected = &case["expected"]["rows"][name];
        let body = text(&case["input"]["stream_template"]).replace("{ref}", text(&row["ref"]));
        for manner in MANNERS {
            let body = body.clone();
            let base = text(&case["input"]["base"]);
            let mut driver = ChannelDriver::new(base, config(), manner, move |sent, _| match &*sent.what() {
                "GET" => Reply::stream().body(&body),
                _ => Reply::accepted(),
            });
            call(&mut driver, "tools/list");
            driver.run_until(10);
            let [get, post] = &driver.sent[..] else { panic!("{name}: {:?}", driver.whats()) };
            assert_eq!(get.request.endpoint.as_str(), base);
            let to = post.request.endpoint.as_str();
            if let Some(one_of) = expected["one_of"].as_array() {
                assert!(one_of.iter().any(|choice| text(choice).starts_with(to)), "{name}: {to}");
            } else {
                assert_eq!(to, text(&expected["post_to"]), "{name}");
            }
            assert!(!to.contains("token=T"), "{name}");
        }
    }
}

/// PF-H03 (H1, H3): no endpoint, no handshake: the deadline is absolute, and a hopeless GET fails at once.
#[test]
fn pf_h03_every_late_or_missing_endpoint() {
    let case = case("PF-H03");
    let rows = case["input"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 7);
    let limit = Duration::from_millis(number(&case["input"]["handshake_deadline_ms"]));
    for row in rows {
        let name = text(&row["name"]);
        let expected = &case["expected"]["rows"][name];
        for manner in MANNERS {
            let reply = stream(&row["steps"], 0);
            let config = config().with_handshake_timeout(limit);
            let mut driver = ChannelDriver::new(text(&case["input"]["base"]), config, manner, move |sent, _| {
                if sent.what() == "GET" { reply.clone() } else { Reply::accepted() }
            });
            let call = call(&mut driver, "tools/list");
            if expected["state"] == "ready" {
                driver.run_until(1_000);
                let post = &driver.sent[1];
                assert_eq!((post.at, post.request.endpoint.as_str()), (20, text(&expected["post_to"])), "{name}");
                assert!(driver.end_of(call).is_none(), "{name}");
                continue;
            }
            driver.run();
            assert_eq!(driver.whats(), ["GET"], "{name}");
            let (_, at) = driver.end_of(call).expect("an end");
            let slack = u64::from(expected["note"].is_string());
            let due = number(&expected["at_ms"]);
            assert!(at >= due && at <= due + slack.max(u64::from(name == "401")), "{name}: at {at}");
            let failure = driver.failure_of(call);
            assert!(!failure.may_have_run(), "{name}");
            let problem = match &failure.kind {
                FailureKind::Handshake { problem } => match &**problem {
                    HandshakeProblem::Failed(kind) => kind,
                    other => panic!("{name}: {other:?}"),
                },
                kind => kind,
            };
            match (text(&expected["reason"]), problem) {
                ("timeout", FailureKind::Timeout { .. }) | ("lost", FailureKind::Lost { .. }) => {}
                ("protocol", FailureKind::ContentType { essence }) => assert_eq!(essence, "text/html"),
                ("http", FailureKind::Status(status)) => {
                    assert_eq!(u64::from(status.status()), number(&expected["status"]), "{name}");
                    if !expected["headers_kept"].is_null() {
                        assert_eq!(status.head.www_authenticate(), ["Bearer"]);
                    }
                }
                (reason, kind) => panic!("{name}: {reason} expected, not {kind:?}"),
            }
        }
    }
}

/// PF-H05 (H5): a reconnected channel is a new session: new endpoint, `initialize` first, old calls are lost.
#[test]
fn pf_h05_a_reconnected_channel_is_a_new_session() {
    let case = case("PF-H05");
    let (first, second) = (&case["input"]["connection_1"], &case["input"]["connection_2"]);
    let broken_at = number(&case["expected"]["id_4"]["at_ms"]);
    for manner in MANNERS {
        let (one, two) = (stream(first, 0), second.clone());
        let mut gets = 0;
        let mut driver = ChannelDriver::new(text(&case["input"]["base"]), config(), manner, move |sent, _| {
            match &*sent.what() {
                "GET" => {
                    gets += 1;
                    // The second one comes when the wait is over, and its head at the same moment as in the case.
                    if gets == 1 { one.clone() } else { stream(&two, sent.at) }
                }
                "initialize" => Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")),
                "tools/list" => Reply::accepted().answer_on_channel(r#"{"tools":[]}"#),
                _ => Reply::accepted(),
            }
        });
        let opening = driver.listen("{}");
        let calls_at = number(&first[2]["at_ms"]);
        driver.run_until(calls_at);
        let old = call(&mut driver, "tools/call");
        driver.run_until(broken_at + 1);
        let (done, at) = driver.end_of(old).expect("an end");
        assert_eq!((at, done.may_have_run()), (broken_at, true));
        assert!(matches!(driver.failure_kind_of(old), FailureKind::Lost { .. }));
        let before = driver.sent.len();
        driver.run_until(number(&second[2]["at_ms"]));
        let new = call(&mut driver, "tools/list");
        driver.run_until(60_000);
        driver.answer_of(new);
        assert!(driver.end_of(opening).is_none());
        let [get, posts @ ..] = &driver.sent[before..] else { panic!("a second GET") };
        assert_eq!((&*get.what(), get.header("Last-Event-ID")), ("GET", None));
        assert!(get.at > broken_at);
        let order: Vec<_> = posts.iter().map(|post| post.what()).collect();
        let expected: Vec<_> = case["expected"]["posts_in_order_to_sid_two"]
            .as_array()
            .unwrap()
            .iter()
            .map(|what| text(what).split(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!(order, expected);
        assert!(posts.iter().all(|post| post.request.endpoint.target() == "/m?sid=two"));
    }
}
