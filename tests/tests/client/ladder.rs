//! F6: which era a server is of is found out by a modern request, then `initialize`, then the channel; what proves
//! something and what does not; and that all calls share one finding.

use std::time::Duration;

use mcp_sse_core::client::{CallId, CallOptions, ClientConfig, Outcome, Protocol};
use mcp_sse_core::exchange::{FailureKind, Framing, HandshakeProblem};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent, initialize_result};
use mcp_sse_tests::loop_driver::{ENDPOINT, Fact};

pub(super) fn auto() -> ClientConfig {
    ClientConfig::default().with_protocol(Protocol::Auto)
}

pub(super) fn driver(manner: Manner, server: impl FnMut(&Sent, usize) -> Reply + 'static) -> ChannelDriver {
    ChannelDriver::new(ENDPOINT, auto(), manner, server)
}

pub(super) fn list(driver: &mut ChannelDriver) -> CallId {
    driver.call("tools/list", None, CallOptions::default())
}

/// A server with sessions, that refuses what is modern with this.
pub(super) fn legacy(refusal: Reply) -> impl FnMut(&Sent, usize) -> Reply {
    move |sent, _| match &*sent.what() {
        _ if sent.is_modern() => refusal.clone(),
        "initialize" => Reply::initialized("2025-06-18", Some("s1")),
        "notifications/initialized" => Reply::accepted(),
        "notifications/other" => Reply::accepted(),
        "GET" => Reply::status(405),
        _ => Reply::result(r#"{"tools":[]}"#),
    }
}

/// A server of 2024-11-05, that refuses a modern request and `initialize` with these.
fn http_sse(modern: Reply, initialize: Reply) -> impl FnMut(&Sent, usize) -> Reply {
    move |sent, _| match &*sent.what() {
        _ if sent.is_modern() => modern.clone(),
        "GET" => Reply::channel("/messages?sid=1"),
        "initialize" if sent.request.endpoint.target() == "/mcp" => initialize.clone(),
        "initialize" => Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")),
        _ if sent.id().is_some() => Reply::accepted().answer_on_channel("{}"),
        _ => Reply::accepted(),
    }
}

/// F6: "a 4xx without a recognised modern error" leads to `initialize`, and the same request follows under the session.
#[test]
fn f6_a_refusal_leads_to_initialize_and_the_same_request() {
    let refusals = [
        Reply::status(400),
        Reply::status(404),
        Reply::status(405),
        Reply::status(406),
        Reply::status(415),
        Reply::status(422),
        Reply::error(400, -32600, "null"),
        Reply::error(400, -32000, "null"),
        Reply::error(400, -32601, "null"),
        Reply::error(404, -32001, "null"),
        Reply::json(
            400,
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session"}}"#,
        ),
        Reply::json(400, r#"{"error":"bad"}"#),
        Reply::head(400, &[("Content-Type", "text/plain")]).body("n").broken(),
        Reply::head(404, &[]).then(Fact::End(Framing::Unmarked)),
    ];
    for (row, refusal) in refusals.into_iter().enumerate() {
        for manner in MANNERS {
            let mut driver = driver(manner, legacy(refusal.clone()));
            let call = driver.call("tools/call", Some(r#"{"name":"a","arguments":{"x":1}}"#), CallOptions::default());
            driver.run();
            assert_eq!(
                driver.whats(),
                ["tools/call", "initialize", "notifications/initialized", "tools/call"],
                "row {row} {manner:?}"
            );
            // The refusal's connection may be closed already, without a word of that.
            assert!(driver.sent[1].wants_fresh && driver.sent[3].wants_fresh);
            driver.answer_of(call);
            let (done, _) = driver.end_of(call).unwrap();
            assert!(matches!(done.outcome, Outcome::Settled(_)), "row {row}");
            assert_eq!(done.attempts, 2);
            let [first, initialize, initialized, again] = &driver.sent[..] else { panic!("four") };
            assert_eq!(first.header("MCP-Protocol-Version"), Some("2026-07-28"));
            assert_eq!(initialize.header("MCP-Protocol-Version"), None);
            assert_eq!(initialize.header("Mcp-Session-Id"), None);
            assert_eq!(initialize.header("Mcp-Method"), None);
            let params = &initialize.json()["params"];
            assert_eq!(params["protocolVersion"], "2025-11-25");
            assert!(params["clientInfo"]["name"].is_string() && params["capabilities"].is_object());
            assert!(params.get("_meta").is_none(), "{params}");
            for later in [initialized, again] {
                assert_eq!(later.header("MCP-Protocol-Version"), Some("2025-06-18"));
                assert_eq!(later.header("Mcp-Session-Id"), Some("s1"));
                assert!(!later.is_modern());
            }
            assert_eq!(again.json()["params"], serde_json::json!({"name": "a", "arguments": {"x": 1}}));
            assert_ne!(first.id(), again.id());
            assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2025_06_18));
            assert!(driver.client.initialize_result().unwrap().contains("serverInfo"));
        }
    }
}

/// F6: "the finding is kept": later calls go the way that was found, and nothing is found out twice.
#[test]
fn f6_the_finding_holds() {
    for manner in MANNERS {
        let mut driver = driver(manner, legacy(Reply::status(400)));
        for _ in 0..3 {
            let call = list(&mut driver);
            driver.run();
            driver.answer_of(call);
        }
        let notification = driver.notify("notifications/other");
        driver.run();
        assert!(matches!(driver.end_of(notification).unwrap().0.outcome, Outcome::Accepted { .. }));
        assert_eq!(driver.asked("initialize").len(), 1);
        assert_eq!(driver.sent.iter().filter(|sent| sent.is_modern()).count(), 1);
        assert_eq!(driver.sent.len(), 1 + 2 + 3 + 1);
    }
}

/// F6: a recognised modern error, or a result with `resultType`, means modern; the answer is the call's, and a bare
/// refusal that comes later is no reason to go down the ladder.
#[test]
fn f6_proof_of_a_modern_server_holds() {
    let proofs = [
        (Reply::result(r#"{"resultType":"complete"}"#), 200),
        (Reply::error(404, -32601, "null"), 404),
        (Reply::error(400, -32021, r#"{"requiredCapabilities":{}}"#), 400),
        (Reply::error(400, -32020, "null"), 400),
    ];
    for (proof, status) in proofs {
        for manner in MANNERS {
            let proof = proof.clone();
            let mut driver =
                driver(manner, move |_, number| if number == 0 { proof.clone() } else { Reply::status(400) });
            let call = list(&mut driver);
            driver.run();
            assert_eq!(driver.answer_of(call).info.status, status);
            assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2026_07_28));
            let later = list(&mut driver);
            driver.run();
            assert!(matches!(driver.failure_kind_of(later), FailureKind::Status(failure) if failure.status() == 400));
            let notification = driver.notify("notifications/other");
            driver.run();
            driver.failure_of(notification);
            assert_eq!(driver.whats(), ["tools/list", "tools/list", "notifications/other"]);
        }
    }
}

/// F6: -32020 under 400 proves a modern server also when it leads to the list of tools: a bare refusal of that is final.
#[test]
fn f6_a_header_mismatch_is_proof_too() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, _| match &*sent.what() {
            "tools/call" => Reply::error(400, -32020, "null"),
            _ => Reply::status(404),
        });
        let call = driver.call("tools/call", Some(r#"{"name":"a"}"#), CallOptions::default());
        driver.run();
        assert_eq!(driver.answer_of(call).message.error().unwrap().code, -32020);
        assert_eq!(driver.whats(), ["tools/call", "tools/list"]);
        assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2026_07_28));
    }
}

/// F6: "lost, timed-out, too large and 5xx prove nothing", nor do 401, 403 and 429: the call ends with that, and the next
/// one asks in the modern way again.
#[test]
fn f6_what_proves_nothing() {
    let nothing = [
        (Reply::status(401), "status"),
        (Reply::status(403), "status"),
        (Reply::status(429), "status"),
        (Reply::status(500), "status"),
        (Reply::status(502), "status"),
        (Reply::status(503), "status"),
        (Reply::read().broken(), "lost"),
        (Reply::stream().end(), "lost"),
        (Reply::refused(), "unsent"),
        (Reply::read(), "timeout"),
        (Reply::stream(), "timeout"),
        (Reply::json(200, "{"), "invalid_json"),
        (Reply::json(200, &format!(r#"{{"a":"{}"}}"#, "x".repeat(5000))), "too_large"),
        (Reply::error(500, -32603, "null"), "answered"),
    ];
    for (reply, expected) in nothing {
        for manner in MANNERS {
            let mut limits = mcp_sse_core::Limits::default();
            limits.max_json_bytes = 4096;
            let reply = reply.clone();
            let config = auto().with_limits(limits);
            let mut driver = ChannelDriver::new(ENDPOINT, config, manner, move |_, _| reply.clone());
            for _ in 0..2 {
                let call = list(&mut driver);
                driver.run();
                if expected == "answered" {
                    driver.answer_of(call);
                } else {
                    assert_eq!(driver.failure_kind_of(call).as_str(), expected);
                }
            }
            assert!(driver.sent.iter().all(|sent| sent.is_modern() && sent.what() == "tools/list"), "{expected}");
            assert_eq!(driver.client.protocol_version(), None, "{expected}");
        }
    }
}

/// F6: "a 2xx answer settles the call and is never sent again, whatever it shows; without `resultType` it shows a legacy
/// server": the next call makes the handshake.
#[test]
fn f6_an_answer_under_2xx_settles() {
    for manner in MANNERS {
        let mut driver = driver(manner, legacy(Reply::result(r#"{"tools":[]}"#)));
        let first = list(&mut driver);
        driver.run();
        driver.answer_of(first);
        assert_eq!(driver.whats(), ["tools/list"]);
        assert_eq!(driver.end_of(first).unwrap().0.attempts, 1);
        let second = list(&mut driver);
        driver.run();
        driver.answer_of(second);
        assert_eq!(driver.whats(), ["tools/list", "initialize", "notifications/initialized", "tools/list"]);
        assert_eq!(driver.sent[3].header("Mcp-Session-Id"), Some("s1"));
    }
}

/// F6: an error under 2xx answers the call, and shows nothing: either kind of server may say so.
#[test]
fn f6_an_error_under_2xx_settles() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_, _| Reply::error(200, -32602, "null"));
        let first = list(&mut driver);
        driver.run();
        assert_eq!(driver.answer_of(first).message.error().unwrap().code, -32602);
        assert_eq!(driver.sent.len(), 1);
        assert_eq!(driver.client.protocol_version(), None);
    }
}

/// F6: `initialize` "failing with 400, 404 or 405 → GET and wait for `endpoint`".
#[test]
fn f6_the_last_rung_is_the_channel() {
    let failures = [
        Reply::status(400),
        Reply::status(404),
        Reply::status(405),
        Reply::error(400, -32600, "null"),
        Reply::error(404, -32601, "null"),
    ];
    for failure in failures {
        for manner in MANNERS {
            let mut driver = driver(manner, http_sse(Reply::status(404), failure.clone()));
            let call = list(&mut driver);
            driver.run_until(5_000);
            driver.answer_of(call);
            assert_eq!(
                driver.whats(),
                ["tools/list", "initialize", "GET", "initialize", "notifications/initialized", "tools/list"]
            );
            let get = &driver.sent[2];
            assert_eq!(get.header("Accept"), Some("text/event-stream"));
            assert!(!get.is_modern() && get.header("MCP-Protocol-Version").is_none());
            for sent in &driver.sent[3..] {
                assert_eq!(sent.request.endpoint.as_str(), "http://mcp.test/messages?sid=1");
                assert_eq!(sent.header("MCP-Protocol-Version"), None);
            }
            assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2024_11_05));
            let later = list(&mut driver);
            driver.run_until(10_000);
            driver.answer_of(later);
            assert_eq!(driver.sent.len(), 7);
            assert_eq!(driver.end_of(call).unwrap().0.attempts, 2);
        }
    }
}

type IsExpected = fn(&FailureKind) -> bool;

/// F6: other failures of `initialize` are the reason that the call fails with; it is not sent again.
#[test]
fn f6_other_failures_of_initialize_are_the_reason() {
    let failures: [(Reply, IsExpected); 9] = [
        (Reply::status(401), |kind| matches!(kind, FailureKind::Status(failure) if failure.is_unauthorized())),
        (Reply::status(403), |kind| matches!(kind, FailureKind::Status(failure) if failure.is_forbidden())),
        (Reply::status(406), |kind| matches!(kind, FailureKind::Status(failure) if failure.status() == 406)),
        (Reply::status(500), |kind| matches!(kind, FailureKind::Status(failure) if failure.status() == 500)),
        (Reply::error(200, -32602, "null"), |kind| {
            is_handshake(kind, |problem| matches!(problem, HandshakeProblem::Refused { code: -32602 }))
        }),
        (Reply::read().broken(), |kind| {
            is_handshake(kind, |problem| matches!(problem, HandshakeProblem::Failed(FailureKind::Lost { .. })))
        }),
        (Reply::read(), |kind| {
            is_handshake(kind, |problem| matches!(problem, HandshakeProblem::Failed(FailureKind::Timeout { .. })))
        }),
        (Reply::result(r#"{"protocolVersion":"1999-01-01"}"#), |kind| {
            is_handshake(kind, |problem| matches!(problem, HandshakeProblem::Version { theirs: None }))
        }),
        (Reply::result(r#"{"protocolVersion":"2026-07-28"}"#), |kind| {
            is_handshake(kind, |problem| matches!(problem, HandshakeProblem::Version { theirs: Some(_) }))
        }),
    ];
    for (row, (failure, is_expected)) in failures.into_iter().enumerate() {
        for manner in MANNERS {
            let failure = failure.clone();
            let config = auto().with_handshake_timeout(Duration::from_secs(3));
            let server = move |sent: &Sent, _| {
                if sent.is_modern() { Reply::status(400) } else { failure.clone() }
            };
            let mut driver = ChannelDriver::new(ENDPOINT, config, manner, server);
            let call = list(&mut driver);
            driver.run();
            let failure = driver.failure_of(call);
            assert!(is_expected(&failure.kind), "row {row}: {failure:?}");
            assert_eq!(driver.whats(), ["tools/list", "initialize"], "row {row}");
            // The next call begins anew.
            let next = list(&mut driver);
            driver.run();
            assert!(is_expected(driver.failure_kind_of(next)), "row {row}");
            assert_eq!(driver.whats(), ["tools/list", "initialize", "tools/list", "initialize"], "row {row}");
        }
    }
}

fn is_handshake(kind: &FailureKind, is_expected: impl Fn(&HandshakeProblem) -> bool) -> bool {
    matches!(kind, FailureKind::Handshake { problem } if is_expected(problem))
}

/// F6: a channel that does not come is no finding: the next call begins at the top.
#[test]
fn f6_a_failed_channel_is_no_finding() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, number| match &*sent.what() {
            "tools/list" if number > 3 => Reply::result(r#"{"resultType":"complete","tools":[]}"#),
            _ => Reply::status(404),
        });
        let call = list(&mut driver);
        driver.run();
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Status(failure) if failure.status() == 404));
        assert_eq!(driver.whats(), ["tools/list", "initialize", "GET"]);
        assert_eq!(driver.client.protocol_version(), None);
        let next = list(&mut driver);
        driver.run();
        assert!(matches!(driver.failure_kind_of(next), FailureKind::Status(_)));
        let last = list(&mut driver);
        driver.run();
        driver.answer_of(last);
        assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2026_07_28));
    }
}

/// F6: calls that find out at the same time share the ladder, whenever their refusals come.
#[test]
fn f6_concurrent_calls_share_the_ladder() {
    for manner in MANNERS {
        for spread in [0, 7] {
            let mut inner = legacy(Reply::status(400));
            let mut modern = 0;
            let mut driver = driver(manner, move |sent, number| {
                if sent.is_modern() {
                    modern += 1;
                    return Reply::status(400).delayed(modern * spread);
                }
                let reply = inner(sent, number);
                // The handshake takes a while.
                if sent.what() == "initialize" { reply.delayed(100) } else { reply }
            });
            let calls: Vec<_> = (0..40).map(|_| list(&mut driver)).collect();
            driver.run();
            for call in calls {
                driver.answer_of(call);
                assert!(matches!(driver.end_of(call).unwrap().0.outcome, Outcome::Settled(_)));
                assert_eq!(driver.end_of(call).unwrap().0.attempts, 2);
            }
            assert_eq!(driver.asked("initialize").len(), 1);
            assert_eq!(driver.asked("notifications/initialized").len(), 1);
            assert_eq!(driver.sent.len(), 40 + 2 + 40);
        }
    }
}

/// F6: of two calls that find out at the same time one has proof of a modern server: that holds, whatever the other led to.
#[test]
fn f6_proof_beats_a_refusal() {
    for manner in MANNERS {
        for (initialize, order) in
            [(Reply::status(400), 0), (Reply::initialized("2025-06-18", None), 0), (Reply::status(400), 1)]
        {
            let initialize = initialize.clone();
            let mut driver = driver(manner, move |sent, number| match &*sent.what() {
                "initialize" if order == 0 => initialize.clone().delayed(100),
                "initialize" => initialize.clone(),
                "tools/list" if number == 0 => Reply::status(400),
                _ => Reply::result(r#"{"resultType":"complete","tools":[]}"#).delayed(50),
            });
            let (first, second) = (list(&mut driver), list(&mut driver));
            driver.run_until(60_000);
            driver.answer_of(second);
            if order == 0 {
                driver.answer_of(first);
                assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2026_07_28));
            }
            assert!(driver.end_of(first).is_some());
            assert_eq!(driver.asked("initialize").len(), 1);
        }
    }
}

/// E6, F6: a caller's own `initialize` whose stream is lost is not posted once more on the channel that was found meanwhile.
#[test]
fn e6_a_lost_handshake_of_the_callers_own_is_not_made_again_on_a_channel() {
    for manner in MANNERS {
        let config = auto().with_handshake(false);
        let mut driver = ChannelDriver::new(ENDPOINT, config, manner, |sent, _| match &*sent.what() {
            "server/discover" => Reply::error(400, -32022, r#"{"supported":["2024-11-05"]}"#),
            "initialize" => Reply::stream().body("id: e-1\nretry: 5000\ndata:\n\n").end(),
            "GET" => Reply::channel("/m"),
            _ => Reply::accepted(),
        });
        let params = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#;
        let initialize = driver.call("initialize", Some(params), CallOptions::default());
        driver.run_until(10);
        let notification = driver.notify("notifications/other");
        driver.run();
        assert!(matches!(driver.end_of(notification).unwrap().0.outcome, Outcome::Accepted { .. }));
        assert!(matches!(driver.failure_kind_of(initialize), FailureKind::SessionExpired));
        assert_eq!(driver.whats(), ["initialize", "server/discover", "GET", "notifications/other"]);
    }
}

/// F6, F9: a call that waits for the handshake ends by itself when it is cancelled or late; the others go on.
#[test]
fn f6_a_waiting_call_can_be_cancelled_and_can_be_late() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, _| match &*sent.what() {
            _ if sent.is_modern() => Reply::status(400),
            "initialize" => Reply::initialized("2025-06-18", None).delayed(1000),
            "notifications/initialized" => Reply::accepted(),
            _ => Reply::result("{}"),
        });
        let cancelled = list(&mut driver);
        let late = driver.call("tools/list", None, CallOptions::default().with_timeout(Duration::from_millis(300)));
        let patient = list(&mut driver);
        driver.run_until(100);
        driver.cancel(cancelled);
        driver.run();
        assert!(matches!(driver.failure_kind_of(cancelled), FailureKind::Cancelled));
        assert!(matches!(driver.failure_kind_of(late), FailureKind::Timeout { .. }));
        assert_eq!((driver.end_of(cancelled).unwrap().1, driver.end_of(late).unwrap().1), (100, 300));
        driver.answer_of(patient);
        assert!(driver.asked("notifications/cancelled").is_empty());
    }
}

/// F9: what tells the server of a cancel goes where the request went, also while another session is being opened.
#[test]
fn f9_a_cancel_does_not_wait_for_another_session() {
    for manner in MANNERS {
        let mut sessions = 0;
        let mut driver = driver(manner, move |sent, _| match &*sent.what() {
            _ if sent.is_modern() => Reply::status(400),
            "initialize" => {
                sessions += 1;
                let name = format!("s{sessions}");
                Reply::initialized("2025-06-18", Some(&name)).delayed(if sessions == 1 { 0 } else { 1000 })
            }
            "tools/call" => Reply::stream(),
            "prompts/list" if sent.header("Mcp-Session-Id") == Some("s1") => Reply::status(404),
            "prompts/list" => Reply::result("{}"),
            _ => Reply::accepted(),
        });
        let call = driver.call("tools/call", Some(r#"{"name":"a"}"#), CallOptions::default());
        driver.run_until(10);
        let expiring = driver.call("prompts/list", None, CallOptions::default());
        driver.run_until(20);
        assert_eq!(driver.asked("initialize").len(), 2);
        driver.cancel(call);
        let [cancel] = driver.asked("notifications/cancelled")[..] else {
            panic!("told at once: {:?}", driver.whats())
        };
        assert_eq!((cancel.at, cancel.header("Mcp-Session-Id")), (20, Some("s1")));
        driver.run();
        driver.answer_of(expiring);
        // The session that is there is the one that is given back.
        driver.close();
        driver.run();
        let [deletion] = driver.asked("DELETE")[..] else { panic!("one: {:?}", driver.whats()) };
        assert_eq!(deletion.header("Mcp-Session-Id"), Some("s2"));
    }
}

/// F6: `poll_wake` names every call that a handshake has kept waiting: a driver that asks no other never hangs.
#[test]
fn f6_who_waited_is_woken() {
    let mut driver = driver(Manner::EachCall, legacy(Reply::status(400)));
    let calls: Vec<_> = (0..5).map(|_| driver.call("ping", None, CallOptions::default().with_timeout(None))).collect();
    driver.run();
    for call in calls {
        assert!(driver.end_of(call).is_some(), "{call} hangs");
    }
    assert!(driver.client.poll_wake().is_none());
}
