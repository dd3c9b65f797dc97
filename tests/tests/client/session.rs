//! F7: sessions of 2025-03-26 to 2025-11-25: the handshake, what every later request carries, a session that is gone, and
//! its end.

use mcp_sse_core::Limits;
use mcp_sse_core::client::{CallEvent, CallOptions, ClientConfig, Outcome};
use mcp_sse_core::exchange::{Cause, Exposure, FailureKind, HandshakeProblem, TimeLimit};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, initialize_result};
use mcp_sse_tests::loop_driver::ENDPOINT;
use mcp_sse_tests::session_server::{closing, driver, house_keeping, is_lost, is_settled, legacy, log, newest, within};

const LEGACY: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25];
const VERSION: &str = "MCP-Protocol-Version";
const SESSION: &str = "Mcp-Session-Id";
const LIST: &str = "tools/list";
const CALL: &str = "tools/call";
const NAME: Option<&str> = Some(r#"{"name":"a"}"#);

fn gone() -> Reply {
    Reply::status(404)
}

fn gone_with_an_error() -> Reply {
    Reply::error(404, -32001, "null")
}

#[test]
fn f7_initialize_comes_first_and_its_session_and_revision_are_on_all_that_follows() {
    for version in LEGACY {
        for manner in MANNERS {
            let config = legacy(version).with_client_info(r#"{"name":"me","version":"7"}"#).expect("an object");
            let config = config.with_capabilities(r#"{"roots":{}}"#).expect("an object");
            let mut driver = driver(config, manner, |_, _| Reply::result(r#"{"tools":[]}"#));
            let call = driver.call(LIST, None, CallOptions::default());
            driver.run();
            assert!(is_settled(driver.end_of(call)));
            assert_eq!(driver.whats(), ["initialize", "notifications/initialized", LIST]);
            let [initialize, initialized, list] = &driver.sent[..] else { panic!("three requests") };
            let params = &initialize.json()["params"];
            assert_eq!(params["protocolVersion"], version.as_str());
            assert_eq!(
                (&params["capabilities"]["roots"], &params["clientInfo"]["name"]),
                (&serde_json::json!({}), &"me".into())
            );
            assert!(params["_meta"].is_null());
            assert_eq!((initialize.header(VERSION), initialize.header(SESSION)), (None, None));
            assert!(initialized.json()["id"].is_null());
            let named = (version >= ProtocolVersion::V2025_06_18).then_some(version.as_str());
            for later in [initialized, list] {
                assert_eq!((later.header(VERSION), later.header(SESSION)), (named, Some("s-1")));
                assert!(!later.is_modern() && later.json()["params"]["_meta"].is_null());
                assert_eq!(later.header("Accept"), Some("application/json, text/event-stream"));
            }
            assert_eq!(driver.client.protocol_version(), Some(version));
            assert!(driver.client.initialize_result().is_some_and(|result| result.contains("serverInfo")));
        }
    }
}

/// E25: by the rules of which revision an answer is judged, is what was negotiated: arrays were in one of them alone.
#[test]
fn e25_an_array_is_taken_in_the_revision_that_has_them() {
    for version in LEGACY {
        let mut driver = driver(legacy(version), Manner::Together, |_, _| {
            Reply::json(200, r#"[{"jsonrpc":"2.0","id":2,"result":{}}]"#)
        });
        let call = driver.call(LIST, None, CallOptions::default());
        driver.run();
        let (done, _) = driver.end_of(call).expect("an end");
        if version == ProtocolVersion::V2025_03_26 {
            assert!(matches!(done.outcome, Outcome::Settled(_)), "{done:?}");
        } else {
            assert!(matches!(driver.failure_kind_of(call), FailureKind::InvalidMessage { .. }), "{done:?}");
        }
    }
}

/// F9: what comes on the streams of the client's own requests is told to nobody.
#[test]
fn f7_nobody_is_told_of_what_comes_with_the_handshake() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(ENDPOINT, newest(), manner, |sent, _| match &*sent.what() {
            "initialize" => Reply::stream()
                .event(&log("hello"))
                .event(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#)
                .event(&format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{}}}"#, initialize_result("2025-11-25")))
                .end(),
            LIST => Reply::stream().event(&log("x")).event(r#"{"jsonrpc":"2.0","id":{id},"result":{}}"#).end(),
            _ => Reply::accepted(),
        });
        let call = driver.call(LIST, None, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)));
        assert_eq!(driver.notifications_of(call).len(), 1);
        assert!(driver.events.iter().all(|(owner, _)| *owner == call), "{:?}", driver.events);
    }
}

/// E14: an event that is too large is told to the call on whose stream it came, which goes on.
#[test]
fn e14_an_event_that_is_too_large_is_told_to_its_call() {
    for manner in MANNERS {
        let config = newest().with_limits(Limits::default().with_max_event_bytes(1000));
        let mut driver = driver(config, manner, |_, _| {
            Reply::stream().event(&log(&"x".repeat(2000))).event(r#"{"jsonrpc":"2.0","id":{id},"result":{}}"#).end()
        });
        let call = driver.call(LIST, None, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)));
        let events = driver.events_of(call);
        assert!(
            matches!(events[..], [CallEvent::Oversized { attempt: 1, limit: 1000 }, CallEvent::Answer { .. }]),
            "{events:?}"
        );
    }
}

#[test]
fn f7_what_was_negotiated_is_named_and_2024_11_05_over_post_works() {
    for (theirs, named) in [("2024-11-05", None), ("2025-03-26", None), ("2025-06-18", Some("2025-06-18"))] {
        let mut driver = ChannelDriver::new(ENDPOINT, newest(), Manner::EachCall, move |sent, _| match &*sent.what() {
            "initialize" => Reply::initialized(theirs, None),
            "notifications/initialized" => Reply::accepted(),
            _ => Reply::result("{}"),
        });
        let call = driver.call(LIST, None, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)), "{theirs}");
        assert_eq!(driver.whats(), ["initialize", "notifications/initialized", LIST]);
        assert_eq!((driver.sent[2].header(VERSION), driver.sent[2].header(SESSION)), (named, None));
    }
}

#[test]
fn f7_calls_that_begin_together_share_one_handshake() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, _| Reply::result("{}"));
        let calls: Vec<_> = (0..3).map(|_| driver.call(LIST, None, CallOptions::default())).collect();
        driver.run();
        assert_eq!(driver.whats(), ["initialize", "notifications/initialized", LIST, LIST, LIST]);
        assert!(calls.iter().all(|call| is_settled(driver.end_of(*call))));
        // And the next one needs none.
        let next = driver.call(LIST, None, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(next)));
        assert_eq!(driver.asked("initialize").len(), 1);
    }
}

#[test]
fn f7_a_handshake_that_fails_fails_who_waits_and_the_next_call_begins_anew() {
    type Judge = fn(&FailureKind) -> bool;
    let refused: Judge = |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Refused { code: -32603 }));
    let version: Judge = |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Version { theirs: None }));
    let modern: Judge = |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Version { theirs: Some(_) }));
    let lost: Judge = |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(&**problem, HandshakeProblem::Failed(kind) if is_lost(kind)));
    let late: Judge = |kind| {
        matches!(kind, FailureKind::Handshake { problem }
            if matches!(**problem, HandshakeProblem::Failed(FailureKind::Timeout { limit: TimeLimit::Deadline })))
    };
    let unsent: Judge = |kind| matches!(kind, FailureKind::Unsent { .. });
    let unauthorized: Judge = |kind| matches!(kind, FailureKind::Status(status) if status.is_unauthorized() && !status.head.www_authenticate().is_empty());
    let challenge = [("WWW-Authenticate", "Bearer"), ("Content-Type", "application/json")];
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no"}}"#;
    let cases: Vec<(&str, Reply, Judge)> = vec![
        ("refused", Reply::error(200, -32603, "null"), refused),
        ("version", Reply::initialized("soon", Some("x")), version),
        ("modern", Reply::initialized("2026-07-28", Some("x")), modern),
        ("lost", Reply::stream().broken(), lost),
        ("late", Reply::read(), late),
        ("unsent", Reply::refused(), unsent),
        ("401", Reply::head(401, &challenge[..1]).end(), unauthorized),
        ("401 with an error", Reply::head(401, &challenge).body(error).end(), unauthorized),
    ];
    for (name, reply, judge) in cases {
        for manner in MANNERS {
            let (mut first, mut initialized) = (Some(reply.clone()), 0);
            let mut driver = ChannelDriver::new(ENDPOINT, newest(), manner, move |sent, _| {
                let reply = if sent.what() == "initialize" { first.take() } else { None };
                reply.or_else(|| house_keeping(sent, &mut initialized)).unwrap_or_else(|| Reply::result("{}"))
            });
            let calls = [driver.call(LIST, None, within(60_000)), driver.call(CALL, NAME, within(60_000))];
            driver.run();
            for call in calls {
                let failure = driver.failure_of(call);
                assert!(judge(&failure.kind), "{name}: {:?}", failure.kind);
                assert_eq!((failure.exposure, failure.may_have_run()), (Exposure::Unsent, false), "{name}");
            }
            assert_eq!(driver.whats(), ["initialize"], "{name}: nobody is told of a handshake that failed");
            let next = driver.call(LIST, None, CallOptions::default());
            driver.run();
            assert!(is_settled(driver.end_of(next)), "{name}");
        }
    }
}

#[test]
fn e11_the_deadline_of_a_call_that_waits_for_the_handshake_holds() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(ENDPOINT, newest(), manner, |_, _| Reply::read());
        let call = driver.call(LIST, None, within(500));
        driver.run();
        let failure = driver.failure_of(call);
        assert!(matches!(failure.kind, FailureKind::Timeout { limit: TimeLimit::Deadline }));
        assert_eq!((failure.exposure, driver.end_of(call).map(|(_, at)| at)), (Exposure::Unsent, Some(500)));
        assert_eq!(driver.whats(), ["initialize"], "of initialize the server is told no cancel");
    }
}

#[test]
fn f9_a_cancel_is_told_in_its_session() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, _| Reply::stream());
        let (cancelled, late) = (driver.call(CALL, NAME, within(60_000)), driver.call(CALL, NAME, within(900)));
        driver.run_until(100);
        driver.cancel(cancelled);
        driver.run();
        assert!(matches!(driver.failure_kind_of(cancelled), FailureKind::Cancelled));
        assert!(matches!(driver.failure_kind_of(late), FailureKind::Timeout { .. }));
        let told = driver.asked("notifications/cancelled");
        let ids: Vec<_> = driver.asked(CALL).iter().map(|sent| sent.json()["id"].clone()).collect();
        assert_eq!(told.iter().map(|told| told.json()["params"]["requestId"].clone()).collect::<Vec<_>>(), ids);
        assert!(told.iter().all(|told| told.header(SESSION) == Some("s-1") && told.header(VERSION).is_some()));
    }
}

#[test]
fn f7_a_session_that_is_gone_is_renewed_once_and_requests_that_only_read_are_sent_again() {
    for refusal in [gone, gone_with_an_error] {
        for manner in MANNERS {
            let mut driver = driver(newest(), manner, move |sent, _| {
                let is_old = sent.header(SESSION) == Some("s-1");
                if is_old { refusal().delayed(sent.json()["id"].as_u64().unwrap_or(0)) } else { Reply::result("{}") }
            });
            let reads = [driver.call(LIST, None, within(9_000)), driver.call("ping", None, within(9_000))];
            let acts = driver.call(CALL, NAME, within(9_000));
            let declared = driver.call(CALL, NAME, within(9_000).with_replay_safe(true));
            driver.run();
            assert_eq!(driver.asked("initialize").len(), 2, "concurrent 404s share one new session");
            assert!(driver.asked("initialize").iter().all(|sent| sent.header(SESSION).is_none()));
            for call in [reads[0], reads[1], declared] {
                assert!(is_settled(driver.end_of(call)));
                assert_eq!(driver.end_of(call).map(|(done, _)| done.attempts), Some(2));
            }
            let failure = driver.failure_of(acts);
            assert!(matches!(failure.kind, FailureKind::SessionExpired) && failure.may_have_run());
            assert_eq!(driver.asked(CALL).len(), 3);
        }
    }
}

#[test]
fn f7_a_second_404_ends() {
    for refusal in [gone, gone_with_an_error] {
        for manner in MANNERS {
            let mut driver = driver(newest(), manner, move |_, _| refusal());
            let call = driver.call(LIST, None, within(9_000));
            driver.run();
            let failure = driver.failure_of(call);
            assert!(matches!(failure.kind, FailureKind::SessionExpired) && failure.may_have_run());
            assert_eq!((driver.asked("initialize").len(), driver.asked(LIST).len()), (2, 2));
        }
    }
}

#[test]
fn f7_without_a_session_id_404_is_a_status_like_any_other() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(ENDPOINT, newest(), manner, |sent, _| match &*sent.what() {
            "initialize" => Reply::initialized("2025-11-25", None),
            "notifications/initialized" => Reply::accepted(),
            _ => gone(),
        });
        let call = driver.call(LIST, None, within(9_000));
        driver.run();
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Status(status) if status.status() == 404));
        assert_eq!(driver.whats(), ["initialize", "notifications/initialized", LIST]);
    }
}

/// PF-E11, both variants: one new session, nobody left hanging, no session id from an error.
#[test]
fn pf_e11_a_404_with_a_session() {
    for again in [false, true] {
        for manner in MANNERS {
            let mut driver = driver(newest(), manner, move |sent, number| match (number, sent.header(SESSION)) {
                (0, _) => Reply::stream().after(25).end(),
                (1, _) => {
                    let head = [("Content-Type", "application/json"), (SESSION, "junk")];
                    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
                    Reply::head(404, &head).body(body).end().delayed(10)
                }
                (2, _) => gone().delayed(11),
                (_, Some("s-2")) if again && sent.json()["params"]["name"] == "b" => gone(),
                _ => Reply::result("{}"),
            });
            let open = driver.call(CALL, NAME, within(60_000));
            let declared = within(60_000).with_replay_safe(true);
            let b = driver.call(CALL, Some(r#"{"name":"b"}"#), declared);
            let list = driver.call(LIST, None, within(60_000));
            driver.run_until(15);
            let later = driver.call(CALL, NAME, within(60_000));
            driver.run();
            assert!(matches!(driver.failure_kind_of(open), FailureKind::Lost { cause: Cause::Ended, .. }));
            assert!(driver.failure_of(open).may_have_run());
            assert!(is_settled(driver.end_of(list)) && is_settled(driver.end_of(later)));
            let of_b = driver.asked(CALL).into_iter().filter(|sent| sent.json()["params"]["name"] == "b").count();
            assert_eq!(of_b, 2);
            if again {
                assert!(matches!(driver.failure_kind_of(b), FailureKind::SessionExpired));
            } else {
                assert!(is_settled(driver.end_of(b)));
            }
            // "One more may follow": for whoever calls after the second session is gone too.
            let sessions = driver.asked("initialize").len();
            assert!(if again { (2..=3).contains(&sessions) } else { sessions == 2 }, "{again} {:?}", driver.whats());
            assert!(driver.sent.iter().all(|sent| sent.header(SESSION) != Some("junk")));
        }
    }
}

#[test]
fn f7_closing_gives_the_session_back_and_a_later_call_begins_anew() {
    for (status, is_taken) in [(200, true), (404, true), (405, true), (500, false)] {
        for manner in MANNERS {
            let mut initialized = 0;
            let mut driver = ChannelDriver::new(ENDPOINT, newest(), manner, move |sent, _| match &*sent.what() {
                "DELETE" => Reply::status(status),
                _ => house_keeping(sent, &mut initialized).unwrap_or_else(|| Reply::result("{}")),
            });
            driver.call(LIST, None, CallOptions::default());
            driver.run();
            driver.close();
            driver.run();
            let [delete] = driver.asked("DELETE")[..] else { panic!("one DELETE") };
            assert_eq!((delete.header(SESSION), delete.header(VERSION)), (Some("s-1"), Some("2025-11-25")));
            assert!(delete.request.body.is_empty() && delete.header("Content-Type").is_none());
            let (_, end, _) = driver.done.last().expect("an end");
            assert_eq!(matches!(end.outcome, Outcome::Accepted { .. }), is_taken, "{status}");
            driver.close();
            assert_eq!(driver.asked("DELETE").len(), 1, "there is none left to give back");
            let next = driver.call(LIST, None, CallOptions::default());
            driver.run();
            assert!(is_settled(driver.end_of(next)));
            assert_eq!(driver.sent.last().and_then(|sent| sent.header(SESSION)), Some("s-2"));
        }
    }
}

#[test]
fn f7_the_session_of_an_initialize_whose_stream_was_resumed_is_the_one_its_own_head_named() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(ENDPOINT, newest(), manner, |sent, _| match &*sent.what() {
            "initialize" => {
                let head = [("Content-Type", "text/event-stream"), (SESSION, "s-0")];
                Reply::head(200, &head).body("id: 1\ndata:\n\n").end()
            }
            "GET" => {
                let result = initialize_result("2025-11-25");
                closing(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n\n"))
            }
            "notifications/initialized" => Reply::accepted(),
            _ => Reply::result("{}"),
        });
        let call = driver.call(LIST, None, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)), "{:?} {:?}", driver.end_of(call), driver.sent);
        assert!(driver.sent[1..].iter().all(|sent| sent.header(SESSION) == Some("s-0")));
        assert_eq!(driver.asked("initialize").len(), 1);
    }
}

#[test]
fn f7_without_a_handshake_requests_are_sent_as_they_are() {
    let config: ClientConfig = newest().with_handshake(false);
    let mut driver = driver(config, Manner::Together, |_, _| Reply::result("{}"));
    driver.call(LIST, None, CallOptions::default());
    driver.run();
    driver.close();
    assert_eq!(driver.whats(), [LIST]);
}
