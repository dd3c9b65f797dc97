//! Sessions of 2025-03-26 to 2025-11-25: the handshake before the first request, the session id on each later one, a
//! session that is gone (F7), the server's own requests (F15), and the end.

use std::time::Duration;

use mcp_sse_core::client::{CallEvent, CallOptions, ClientConfig, ErrorReply, Outcome, RespondError};
use mcp_sse_core::exchange::{FailureKind, HandshakeProblem};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent};

const URL: &str = "http://mcp.test/mcp";
const ANSWER: &str = r#"{"tools":[]}"#;

fn config(version: &str) -> ClientConfig {
    ClientConfig::default().with_version(version.parse().expect("a revision"))
}

/// A server whose sessions are numbered; `calls` answers what comes after the handshake.
fn server(version: &'static str, mut calls: impl FnMut(&Sent) -> Reply + 'static) -> impl FnMut(&Sent, usize) -> Reply {
    let mut sessions = 0;
    move |sent, _| match &*sent.what() {
        "initialize" => {
            sessions += 1;
            Reply::initialized(version, Some(&format!("s{sessions}")))
        }
        "notifications/initialized" | "notifications/cancelled" | "response" => Reply::accepted(),
        _ => calls(sent),
    }
}

fn driver(manner: Manner, calls: impl FnMut(&Sent) -> Reply + 'static) -> ChannelDriver {
    ChannelDriver::new(URL, config("2025-06-18"), manner, server("2025-06-18", calls))
}

#[test]
fn the_handshake_comes_first_and_once_and_names_the_session_from_then_on() {
    for manner in MANNERS {
        for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
            let mut driver =
                ChannelDriver::new(URL, config(version), manner, server(version, |_| Reply::result(ANSWER)));
            let calls: Vec<_> = (0..3).map(|_| driver.call("tools/list", None, CallOptions::default())).collect();
            driver.run();
            assert_eq!(
                driver.whats(),
                ["initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list"]
            );
            for call in calls {
                assert_eq!(driver.answer_of(call).message.result(), Some(ANSWER));
            }
            let named = (version >= "2025-06-18").then_some(version);
            let offered = driver.sent[0].json();
            assert_eq!(offered["params"]["protocolVersion"], version);
            assert!(offered["params"]["clientInfo"].is_object() && offered["params"]["capabilities"].is_object());
            assert_eq!(
                (driver.sent[0].header("Mcp-Session-Id"), driver.sent[0].header("MCP-Protocol-Version")),
                (None, None)
            );
            for sent in &driver.sent[1..] {
                assert_eq!((sent.header("Mcp-Session-Id"), sent.header("MCP-Protocol-Version")), (Some("s1"), named));
            }
            assert_eq!(driver.client.protocol_version(), version.parse::<ProtocolVersion>().ok());
            driver.close();
            driver.run();
            let last = driver.sent.last().expect("a request");
            assert_eq!((last.request.method, last.header("Mcp-Session-Id")), ("DELETE", Some("s1")));
        }
    }
}

/// What the server negotiates is spoken, whatever was offered; 2024-11-05 too, over the streams of its successor.
#[test]
fn what_was_negotiated_is_spoken() {
    for (theirs, named) in [("2025-11-25", Some("2025-11-25")), ("2025-03-26", None), ("2024-11-05", None)] {
        let mut driver =
            ChannelDriver::new(URL, config("2025-06-18"), Manner::EachCall, server(theirs, |_| Reply::result(ANSWER)));
        let call = driver.call("tools/list", None, CallOptions::default());
        driver.run();
        driver.answer_of(call);
        assert_eq!(driver.sent[2].header("MCP-Protocol-Version"), named);
    }
}

#[test]
fn a_failed_handshake_fails_those_who_wait_unsent_and_the_next_call_begins_anew() {
    type Check = fn(&FailureKind) -> bool;
    let failures: [(Reply, Check); 6] = [
        (
            Reply::error(200, -32600, "null"),
            |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Refused { code: -32600 })),
        ),
        (
            Reply::initialized("2026-07-28", None),
            |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Version { .. })),
        ),
        (
            Reply::result("{}"),
            |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Version { theirs: None })),
        ),
        (Reply::status(401), |kind| matches!(kind, FailureKind::Status(failure) if failure.is_unauthorized())),
        (Reply::refused(), |kind| matches!(kind, FailureKind::Unsent { .. })),
        (
            Reply::read().broken(),
            |kind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Failed(FailureKind::Lost { .. }))),
        ),
    ];
    for manner in MANNERS {
        for (failure, check) in &failures {
            let (failure, mut begun) = (failure.clone(), 0);
            let mut good = server("2025-06-18", |_| Reply::result(ANSWER));
            let mut driver = ChannelDriver::new(URL, config("2025-06-18"), manner, move |sent, number| {
                begun += usize::from(sent.what() == "initialize");
                if begun == 1 { failure.clone() } else { good(sent, number) }
            });
            let calls = [(); 2].map(|()| driver.call("tools/list", None, CallOptions::default()));
            driver.run();
            assert_eq!(driver.whats(), ["initialize"]);
            for call in calls {
                assert!(check(driver.failure_kind_of(call)), "{:?}", driver.failure_of(call));
                assert!(!driver.failure_of(call).may_have_run());
            }
            let call = driver.call("tools/list", None, CallOptions::default());
            driver.run();
            driver.answer_of(call);
        }
    }
}

/// E11: the deadline of a call that waits for the handshake holds; it was not sent, so nothing is cancelled.
#[test]
fn e11_a_call_that_waits_for_the_handshake_has_its_own_deadline() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(URL, config("2025-06-18"), manner, |_, _| Reply::read());
        let call = driver.call("tools/list", None, CallOptions::default().with_timeout(Duration::from_millis(50)));
        driver.run_until(1000);
        assert_eq!(driver.end_of(call).map(|(_, at)| at), Some(50));
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Timeout { .. }));
        assert!(!driver.failure_of(call).may_have_run());
        assert_eq!(driver.whats(), ["initialize"]);
    }
}

/// F7: a 404 under a session id: one new session for all; what only reads is sent again, a tool is not called twice.
#[test]
fn f7_a_session_that_is_gone_is_renewed_once_and_only_reads_are_repeated() {
    for manner in MANNERS {
        for gone in [Reply::status(404), Reply::error(404, -32001, "null")] {
            let gone_now = gone.clone();
            let mut driver = driver(manner, move |sent| match sent.header("Mcp-Session-Id") {
                Some("s1") => gone_now.clone().delayed(5),
                _ => Reply::result(ANSWER),
            });
            let lists = [(); 2].map(|()| driver.call("tools/list", None, CallOptions::default()));
            let tool = driver.call("tools/call", Some(r#"{"name":"charge"}"#), CallOptions::default());
            driver.run();
            assert_eq!(driver.asked("initialize").len(), 2, "{:?}", driver.whats());
            assert_eq!(driver.asked("tools/call").len(), 1, "seen in a public client: a call repeated after a 404");
            for list in lists {
                assert_eq!(driver.answer_of(list).message.result(), Some(ANSWER));
            }
            assert!(matches!(driver.failure_kind_of(tool), FailureKind::SessionExpired));
            assert!(driver.failure_of(tool).may_have_run(), "a gateway can say 404 after the call ran");
            let second = driver.asked("initialize")[1];
            assert_eq!(second.header("Mcp-Session-Id"), None);
        }
    }
}

/// F7: gone again at once: no third session for the same call. Without a session id, 404 is a status like any other.
#[test]
fn f7_a_second_404_ends_the_call_and_without_a_session_it_is_a_status() {
    let mut driver = driver(Manner::EachCall, |_| Reply::status(404));
    let call = driver.call("tools/list", None, CallOptions::default());
    driver.run();
    assert!(matches!(driver.failure_kind_of(call), FailureKind::SessionExpired));
    assert_eq!(driver.asked("tools/list").len(), 2);

    let mut without = ChannelDriver::new(URL, config("2025-06-18"), Manner::EachCall, |sent, _| match &*sent.what() {
        "initialize" => Reply::initialized("2025-06-18", None),
        "notifications/initialized" => Reply::accepted(),
        _ => Reply::status(404),
    });
    let call = without.call("tools/list", None, CallOptions::default());
    without.run();
    assert!(matches!(without.failure_kind_of(call), FailureKind::Status(failure) if failure.status() == 404));
    assert_eq!(without.asked("tools/list").len(), 1);
}

/// F9, E11: a disconnect is no cancel, so the server is told, under the session.
#[test]
fn f9_a_cancel_is_told_under_the_session() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_| Reply::stream());
        let call = driver.call("tools/call", Some(r#"{"name":"slow"}"#), CallOptions::default());
        driver.run_until(10);
        driver.cancel(call);
        driver.run_until(20);
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Cancelled));
        let told = driver.asked("notifications/cancelled");
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].header("Mcp-Session-Id"), Some("s1"));
        assert_eq!(
            told[0].json()["params"]["requestId"].to_string(),
            driver.asked("tools/call")[0].id().expect("an id")
        );
    }
}

fn asking(id: u32, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"ask-{id}","method":"{method}","params":{{}}}}"#)
}

/// F15: `ping` and unknown methods are answered by the client, the others by the embedder; no more than eight at once.
#[test]
fn f15_the_servers_requests_are_answered_and_bounded() {
    for manner in MANNERS {
        let config = config("2025-06-18").with_handled_request("elicitation/create");
        let calls = |sent: &Sent| match sent.request.method {
            "GET" => Reply::status(405),
            _ => (3..14).fold(Reply::stream().event(&asking(1, "ping")).event(&asking(2, "no/such")), |reply, id| {
                reply.event(&asking(id, "elicitation/create"))
            }),
        };
        let mut driver = ChannelDriver::new(URL, config, manner, server("2025-06-18", calls));
        let call = driver.call("tools/call", Some(r#"{"name":"ask"}"#), CallOptions::default());
        driver.run_until(10);
        let answers =
            |driver: &ChannelDriver| driver.asked("response").iter().map(|sent| sent.json()).collect::<Vec<_>>();
        let of = |driver: &ChannelDriver, id: &str| answers(driver).into_iter().find(|answer| answer["id"] == id);
        assert_eq!(of(&driver, "ask-1").expect("an answer")["result"], serde_json::json!({}));
        assert_eq!(of(&driver, "ask-2").expect("an answer")["error"]["code"], -32601);
        let awaited: Vec<_> = driver
            .events_of(call)
            .into_iter()
            .filter_map(|event| match event {
                CallEvent::Request { message, awaits_reply: true, .. } => message.id().cloned(),
                _ => None,
            })
            .collect();
        assert!(awaited.len() <= 8 && awaited.len() >= 6, "{awaited:?}");
        assert_eq!(driver.client.refused_requests(), 11 - awaited.len() as u64);
        let now = driver.time();
        driver.client.respond(call, &awaited[0], Ok(r#"{"action":"accept"}"#), now).expect("it was asked");
        let refusal = Err(ErrorReply::new(-1, "not \"now\""));
        driver.client.respond(call, &awaited[1], refusal, now).expect("it was asked");
        assert_eq!(driver.client.respond(call, &awaited[0], Ok("{}"), now), Err(RespondError::NotAsked));
        assert_eq!(driver.client.respond(call, &Id::from("other"), Ok("{}"), now), Err(RespondError::NotAsked));
        assert_eq!(driver.client.respond(call, &awaited[2], Ok("{"), now), Err(RespondError::InvalidJson));
        driver.release(call);
        driver.run_until(20);
        let text = |id: &Id| id.to_json().trim_matches('"').to_owned();
        assert_eq!(of(&driver, &text(&awaited[0])).expect("an answer")["result"]["action"], "accept");
        assert_eq!(of(&driver, &text(&awaited[1])).expect("an answer")["error"]["message"], "not \"now\"");
        assert!(driver.asked("response").iter().all(|sent| sent.header("Mcp-Session-Id") == Some("s1")));
    }
}

/// A server that ends no session on demand says 405; that is no error.
#[test]
fn the_end_of_a_session_may_be_refused() {
    for (status, is_accepted) in [(200, true), (404, true), (405, true), (500, false)] {
        let mut driver = driver(Manner::Together, move |sent| match sent.request.method {
            "DELETE" => Reply::status(status),
            _ => Reply::result(ANSWER),
        });
        driver.call("tools/list", None, CallOptions::default());
        driver.run();
        driver.close();
        driver.run();
        let (_, done, _) = driver.done.last().expect("an end");
        assert_eq!(matches!(done.outcome, Outcome::Accepted { .. }), is_accepted, "{status}");
    }
}
