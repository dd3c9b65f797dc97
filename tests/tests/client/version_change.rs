//! F3: what a server that has not the revision it was asked in leads to: one re-send under the newest that both have, or
//! an error that names both lists.

use mcp_sse_core::client::{CallId, CallOptions, ClientConfig, Outcome, Protocol};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent, initialize_result};
use mcp_sse_tests::loop_driver::ENDPOINT;

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn fixed(version: &str) -> ClientConfig {
    ClientConfig::default().with_version(version.parse().expect("a revision"))
}

fn auto() -> ClientConfig {
    ClientConfig::default().with_protocol(Protocol::Auto)
}

fn refusal(supported: &[&str]) -> Reply {
    Reply::error(400, -32022, &format!(r#"{{"supported":{supported:?},"requested":"2026-07-28"}}"#))
}

fn answer() -> Reply {
    Reply::result(r#"{"resultType":"complete"}"#)
}

fn driver(config: ClientConfig, manner: Manner, server: impl FnMut(&Sent, usize) -> Reply + 'static) -> ChannelDriver {
    ChannelDriver::new(ENDPOINT, config, manner, server)
}

fn list(driver: &mut ChannelDriver) -> CallId {
    driver.call("tools/list", None, CallOptions::default())
}

fn versions(driver: &ChannelDriver) -> Vec<Option<&str>> {
    driver.sent.iter().map(|sent| sent.header("MCP-Protocol-Version")).collect()
}

/// F3: "the newest version both sides have", "one re-send with a new id"; header and `_meta` name it, and so does what
/// follows.
#[test]
fn f3_the_newest_common_revision_is_taken() {
    for manner in MANNERS {
        for status in [200, 400] {
            let supported = r#"{"supported":["2024-11-05","2026-07-28","2099-01-01"],"requested":"2027-06-01"}"#;
            let mut driver = driver(fixed("2027-06-01"), manner, move |_, number| match number {
                0 => Reply::error(status, -32022, supported),
                _ => answer(),
            });
            let call = list(&mut driver);
            driver.run();
            driver.answer_of(call);
            let (done, _) = driver.end_of(call).unwrap();
            assert!(matches!(done.outcome, Outcome::Settled(info) if !info.is_error && info.status == 200));
            assert_eq!(done.attempts, 2);
            assert_eq!(versions(&driver), [Some("2027-06-01"), Some("2026-07-28")]);
            assert_ne!(driver.sent[0].id(), driver.sent[1].id());
            let meta = &driver.sent[1].json()["params"]["_meta"];
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            let next = list(&mut driver);
            driver.run();
            driver.answer_of(next);
            assert_eq!(driver.sent.len(), 3);
            assert_eq!(driver.client.protocol_version(), Some(MODERN));
        }
    }
}

/// F3: "also when it is the one just refused (the server says it has it)": once, then the error that names both lists.
#[test]
fn f3_the_revision_just_refused_is_tried_once_more() {
    for config in [fixed("2026-07-28"), auto()] {
        for manner in MANNERS {
            let mut accepting = driver(config.clone(), manner, |_, number| match number {
                0 => refusal(&["2026-07-28"]),
                _ => answer(),
            });
            let call = list(&mut accepting);
            accepting.run();
            accepting.answer_of(call);
            assert_eq!(versions(&accepting), [Some("2026-07-28"), Some("2026-07-28")]);

            let mut refusing = driver(config.clone(), manner, |_, _| refusal(&["2025-11-25", "2026-07-28"]));
            let call = list(&mut refusing);
            refusing.run();
            let FailureKind::UnsupportedVersion { ours, theirs } = refusing.failure_kind_of(call) else {
                panic!("{:?}", refusing.failure_of(call))
            };
            assert!(ours.contains(&MODERN));
            assert_eq!(theirs[..], [ProtocolVersion::V2025_11_25, MODERN]);
            assert_eq!(refusing.sent.len(), 2);
            assert!(refusing.events_of(call).is_empty());
        }
    }
}

/// F3: "none in common → the error, naming both lists"; a revision that was asked for is not left for one of an era that
/// the caller does not allow.
#[test]
fn f3_nothing_in_common_names_both_lists() {
    let rows: [(&str, &[&str]); 3] = [
        ("2026-07-28", &["2025-06-18", "2025-11-25"]),
        ("2026-07-28", &["2099-01-01"]),
        ("2027-01-01", &["2024-11-05"]),
    ];
    for (version, supported) in rows {
        for manner in MANNERS {
            let refused = refusal(supported);
            let mut driver = driver(fixed(version), manner, move |_, _| refused.clone());
            let call = list(&mut driver);
            driver.run();
            let failure = driver.failure_of(call);
            let FailureKind::UnsupportedVersion { ours, theirs } = &failure.kind else { panic!("{failure:?}") };
            assert!(ours.contains(&version.parse().unwrap()) && ours.iter().all(|version| *version >= MODERN));
            let theirs: Vec<_> = theirs.iter().map(ToString::to_string).collect();
            assert_eq!(theirs, supported);
            assert_eq!(driver.sent.len(), 1);
            let said = failure.to_string();
            assert!(said.contains(version) && said.contains(supported[0]), "{said}");
        }
    }
}

/// F3: an error that names no revision leaves nothing to choose from: it stands as the answer.
#[test]
fn f3_a_refusal_without_a_list_is_the_answer() {
    for data in ["null", "{}", r#"{"supported":[]}"#, r#"{"supported":"2026-07-28"}"#, r#"{"supported":["soon",7]}"#] {
        for manner in MANNERS {
            let mut driver = driver(auto(), manner, move |_, _| Reply::error(400, -32022, data));
            let call = list(&mut driver);
            driver.run();
            assert_eq!(driver.answer_of(call).message.error().unwrap().code, -32022);
            assert_eq!(driver.sent.len(), 1);
        }
    }
}

/// F3, F6: a server that lists revisions with sessions only is given the handshake with the newest of them; calls that
/// are refused at the same time share it.
#[test]
fn f3_a_list_of_revisions_with_sessions_leads_to_the_handshake() {
    for manner in MANNERS {
        for probe in [false, true] {
            let mut slow = 0;
            let server = move |sent: &Sent, _| match &*sent.what() {
                _ if sent.is_modern() => {
                    // The last refusal comes when the session is long there.
                    slow += 1;
                    refusal(&["2025-03-26", "2025-06-18"]).delayed(slow * slow * 10)
                }
                "initialize" => Reply::initialized("2025-06-18", Some("s1")).delayed(20),
                "notifications/initialized" => Reply::accepted(),
                _ => Reply::result("{}"),
            };
            let mut driver = driver(auto().with_probe(probe), manner, server);
            let calls: Vec<_> = (0..4).map(|_| list(&mut driver)).collect();
            driver.run();
            for call in calls {
                driver.answer_of(call);
                assert_eq!(driver.end_of(call).unwrap().0.attempts, if probe { 1 } else { 2 });
            }
            let [initialize] = driver.asked("initialize")[..] else { panic!("one handshake: {:?}", driver.whats()) };
            assert_eq!(initialize.json()["params"]["protocolVersion"], "2025-06-18");
            assert!(!initialize.is_modern());
            assert_eq!(driver.sent.len(), if probe { 1 + 2 + 4 } else { 4 + 2 + 4 });
            assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2025_06_18));
        }
    }
}

/// F3, F6: a server that lists 2024-11-05 alone is met on its channel.
#[test]
fn f3_a_list_of_the_first_revision_leads_to_the_channel() {
    for manner in MANNERS {
        for probe in [false, true] {
            let server = |sent: &Sent, _| match &*sent.what() {
                _ if sent.is_modern() => refusal(&["2024-11-05"]),
                "GET" => Reply::channel("/m"),
                "initialize" => Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")),
                "tools/list" => Reply::accepted().answer_on_channel("{}"),
                _ => Reply::accepted(),
            };
            let mut driver = driver(auto().with_probe(probe), manner, server);
            let call = list(&mut driver);
            driver.run();
            driver.answer_of(call);
            assert_eq!(driver.whats()[1..], ["GET", "initialize", "notifications/initialized", "tools/list"]);
        }
    }
}

/// F5: "a call sends at most four requests of its own", whatever a server answers: F1, F3 and F4 once each.
#[test]
fn f5_no_server_gets_more_than_four_requests_of_a_call() {
    let replies = [
        refusal(&["2026-07-28"]),
        refusal(&["2025-06-18"]),
        refusal(&["2025-06-18", "2026-07-28"]),
        Reply::error(400, -32020, "null"),
        Reply::stream().end(),
        Reply::status(400),
        Reply::status(404),
        Reply::result(r#"{"resultType":"complete","tools":[]}"#),
    ];
    let mut reached = 0;
    for sequence in 0..replies.len().pow(4) {
        let pick =
            |place: usize| replies[sequence / replies.len().pow(u32::try_from(place).unwrap()) % replies.len()].clone();
        let picks = [pick(0), pick(1), pick(2), pick(3)];
        let mut own = 0;
        let server = move |sent: &Sent, _| match &*sent.what() {
            "tools/call" => {
                own += 1;
                picks[(own - 1) % 4].clone()
            }
            "initialize" => Reply::initialized("2025-06-18", Some("s1")),
            "notifications/initialized" => Reply::accepted(),
            _ => Reply::result(r#"{"resultType":"complete","tools":[]}"#),
        };
        let mut driver = driver(auto(), if sequence % 2 == 0 { Manner::Together } else { Manner::EachCall }, server);
        let call = driver.call("tools/call", Some(r#"{"name":"a"}"#), CallOptions::default().with_replay_safe(true));
        driver.run();
        let own = driver.asked("tools/call").len();
        assert!(own <= 4, "{sequence}: {:?}", driver.whats());
        assert!(driver.asked("tools/list").len() <= 1);
        let (done, _) = driver.end_of(call).expect("an end");
        assert_eq!(done.attempts as usize, own);
        reached = reached.max(own);
    }
    assert_eq!(reached, 4);
}
