//! Faults from public reports about finding out what a server speaks, and about listening: PF-E14, PF-E16, PF-E17, each
//! row of them.

use mcp_sse_core::client::{CallEvent, CallOptions, ClientConfig, Outcome, Protocol};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Reply, Sent};

const URL: &str = "http://mcp.test/mcp";

fn auto() -> ClientConfig {
    ClientConfig::default().with_protocol(Protocol::Auto)
}

fn refusal(supported: &str, requested: &str) -> Reply {
    Reply::error(400, -32022, &format!(r#"{{"supported":{supported},"requested":"{requested}"}}"#))
}

/// The whole conversation that follows from this answer to every modern request; the answer to others is a result.
fn asked(config: &ClientConfig, first: &Reply) -> Vec<(ChannelDriver, mcp_sse_core::client::CallId)> {
    MANNERS
        .map(|manner| {
            let first = first.clone();
            let mut modern = 0;
            let mut driver = ChannelDriver::new(URL, config.clone(), manner, move |sent, _| match &*sent.what() {
                "initialize" => Reply::initialized("2025-11-25", None),
                "notifications/initialized" => Reply::accepted(),
                _ if sent.is_modern() => {
                    modern += 1;
                    if modern == 1 { first.clone() } else { Reply::result(r#"{"resultType":"complete","tools":[]}"#) }
                }
                _ => Reply::result(r#"{"tools":[]}"#),
            });
            let call = driver.call("tools/list", None, CallOptions::default());
            driver.run();
            (driver, call)
        })
        .into()
}

fn version_of(sent: &Sent) -> (Option<String>, String) {
    let meta = &sent.json()["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    (sent.header("MCP-Protocol-Version").map(str::to_owned), meta.as_str().unwrap_or_default().to_owned())
}

#[test]
fn pf_e14_another_version_that_both_have_once() {
    let newer: ProtocolVersion = "2027-03-01".parse().expect("a date");
    let newer = ClientConfig::default().with_version(newer);
    for (driver, call) in asked(&newer, &refusal(r#"["2026-07-28","2025-11-25"]"#, "2027-03-01")) {
        driver.answer_of(call);
        assert_eq!(driver.whats(), ["tools/list", "tools/list"]);
        assert_eq!(version_of(&driver.sent[1]), (Some("2026-07-28".to_owned()), "2026-07-28".to_owned()));
    }
    for (driver, call) in asked(&auto(), &refusal(r#"["2026-07-28"]"#, "2026-07-28")) {
        driver.answer_of(call);
        assert_eq!(driver.whats(), ["tools/list", "tools/list"], "refused, and offered back");
        assert_ne!(driver.sent[0].id(), driver.sent[1].id());
    }
    for (driver, call) in asked(&auto(), &refusal(r#"["2031-01-01"]"#, "2026-07-28")) {
        assert_eq!(driver.whats(), ["tools/list"]);
        let FailureKind::UnsupportedVersion { ours, theirs } = driver.failure_kind_of(call) else {
            panic!("the lists")
        };
        assert_eq!(theirs.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>(), ["2031-01-01"]);
        assert!(ours.contains(&ProtocolVersion::V2026_07_28));
    }
}

#[test]
fn pf_e14_refused_again_is_the_end_and_shows_both_lists() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(URL, auto(), manner, |_, _| refusal(r#"["2026-07-28"]"#, "2026-07-28"));
        let call = driver.call("tools/list", None, CallOptions::default());
        driver.run();
        assert_eq!(driver.whats(), ["tools/list", "tools/list"], "no third POST, no initialize");
        assert!(matches!(driver.failure_kind_of(call), FailureKind::UnsupportedVersion { .. }));
    }
}

#[test]
fn pf_e14_an_old_server_is_initialized() {
    let empty = Reply::head(400, &[("Content-Length", "0")]).end();
    for old in [Reply::error(400, -32000, "null"), empty] {
        for (driver, call) in asked(&auto(), &old) {
            driver.answer_of(call);
            assert_eq!(driver.whats(), ["tools/list", "initialize", "notifications/initialized", "tools/list"]);
            assert_eq!(driver.sent[1].json()["params"]["protocolVersion"], "2025-11-25");
        }
    }
}

#[test]
fn pf_e16_only_some_statuses_lead_to_the_old_transport() {
    let bodies = |status: u16| [Reply::status(status), Reply::whole(status, "text/html", "<html>")];
    for status in [400, 404, 405, 401, 403, 406, 415, 429, 500, 503] {
        for reply in bodies(status) {
            for manner in MANNERS {
                let reply = reply.clone();
                let mut driver = ChannelDriver::new(URL, auto(), manner, move |sent, _| {
                    if sent.request.method == "GET" { Reply::status(404) } else { reply.clone() }
                });
                let call = driver.call("tools/list", None, CallOptions::default());
                driver.run();
                let expected: &[&str] = match status {
                    400 | 404 | 405 => &["tools/list", "initialize", "GET"],
                    401 | 403 | 429 | 500 | 503 => &["tools/list"],
                    _ => &["tools/list", "initialize"],
                };
                assert_eq!(driver.whats(), expected, "{status}");
                let said = if matches!(status, 400 | 405) { 404 } else { status };
                let kind = driver.failure_kind_of(call);
                assert!(matches!(kind, FailureKind::Status(failure) if failure.status() == said), "{status}: {kind:?}");
            }
        }
    }
    for (driver, call) in asked(&auto(), &Reply::error(404, -32601, "null")) {
        assert_eq!(driver.whats(), ["tools/list"], "a recognised modern error is the answer");
        assert!(driver.answer_of(call).message.error().is_some());
    }
    for (driver, call) in asked(&auto(), &Reply::refused()) {
        assert_eq!(driver.whats(), ["tools/list"]);
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Unsent { .. }));
    }
}

const ACKNOWLEDGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true}}}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;

#[test]
fn pf_e17_a_result_is_a_graceful_end_and_a_bare_close_a_loss() {
    let rows = [
        ("result-at-once", Reply::stream().event(RESULT).end(), 0, 0, true),
        ("ack-then-eof", Reply::stream().event(ACKNOWLEDGED).after(5000).end(), 0, 0, false),
        ("ack-change-result", Reply::stream().event(ACKNOWLEDGED).event(CHANGED).event(RESULT).end(), 1, 0, true),
        ("change-before-ack", Reply::stream().event(CHANGED).event(ACKNOWLEDGED).event(CHANGED).end(), 1, 1, false),
    ];
    for manner in MANNERS {
        for (name, reply, delivered, diagnostics, is_graceful) in &rows {
            let reply = reply.clone();
            let mut driver = ChannelDriver::new(URL, ClientConfig::default(), manner, move |_, number| {
                if number == 0 { reply.clone() } else { Reply::stream() }
            });
            let listening = driver.listen(r#"{"toolsListChanged":true}"#);
            driver.run_until(100_000);
            assert_eq!(driver.notifications_of(listening).len(), *delivered, "{name}");
            let strays =
                driver.events_of(listening).into_iter().filter(|event| matches!(event, CallEvent::Stray { .. }));
            assert_eq!(strays.count(), *diagnostics, "{name}");
            if *is_graceful {
                let outcome = driver.end_of(listening).map(|(done, _)| &done.outcome);
                assert!(matches!(outcome, Some(Outcome::Settled(_))), "{name}: {outcome:?}");
                assert_eq!(driver.sent.len(), 1, "{name}: nothing is opened again");
            } else {
                let lost = |event: &&CallEvent| matches!(event, CallEvent::Reissue { .. });
                assert!(driver.events_of(listening).iter().any(lost), "{name}");
                let [first, second] = &driver.sent[..] else { panic!("{name}: opened again once") };
                assert_ne!(first.id(), second.id());
                assert!(second.at >= first.at + 500, "{name}: after a wait");
            }
        }
    }
}
