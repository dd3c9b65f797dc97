//! F6: a first notification is preceded by a probe, since it could not tell what it found.

use mcp_sse_core::client::Outcome;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Reply, Sent};
use mcp_sse_tests::loop_driver::ENDPOINT;
use std::time::Duration;

use super::ladder::{auto, driver, legacy, list};

/// A notification that waits for a probe, while a call is under way. Both come to a good end.
fn notify_beside_a_call(driver: &mut ChannelDriver) {
    let call = list(driver);
    driver.carry_out();
    let notification = driver.notify("notifications/other");
    driver.run();
    driver.answer_of(call);
    assert!(matches!(driver.end_of(notification).unwrap().0.outcome, Outcome::Accepted { .. }));
}

/// F6: a notification is never sent again, so it is not the one that finds out: `server/discover` is asked first.
#[test]
fn f6_a_first_notification_is_preceded_by_a_probe() {
    for manner in MANNERS {
        let mut driver = driver(manner, legacy(Reply::error(400, -32600, "null")));
        let notification = driver.notify("notifications/other");
        driver.run();
        assert_eq!(
            driver.whats(),
            ["server/discover", "initialize", "notifications/initialized", "notifications/other"]
        );
        assert!(matches!(driver.end_of(notification).unwrap().0.outcome, Outcome::Accepted { status: 202 }));
        assert_eq!(driver.sent[3].header("Mcp-Session-Id"), Some("s1"));
        assert_eq!(driver.end_of(notification).unwrap().0.attempts, 1);
    }
}

/// F6: what the probe may come to, and what follows.
#[test]
fn f6_the_probe_finds_out() {
    let rows: [(Reply, &[&str]); 6] = [
        (Reply::result(r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#), &["tools/list"]),
        (Reply::error(404, -32601, "null"), &["tools/list"]),
        (Reply::error(400, -32021, "null"), &["tools/list"]),
        (Reply::result("{}"), &["initialize", "notifications/initialized", "tools/list"]),
        (Reply::error(200, -32601, "null"), &["initialize", "notifications/initialized", "tools/list"]),
        (Reply::status(400), &["initialize", "notifications/initialized", "tools/list"]),
    ];
    for (probe, then) in rows {
        for manner in MANNERS {
            let probe = probe.clone();
            let mut inner = legacy(Reply::result(r#"{"resultType":"complete","tools":[]}"#));
            let config = auto().with_probe(true);
            let server = move |sent: &Sent, number| match &*sent.what() {
                "server/discover" => probe.clone(),
                _ => inner(sent, number),
            };
            let mut driver = ChannelDriver::new(ENDPOINT, config, manner, server);
            let calls: Vec<_> = (0..3).map(|_| list(&mut driver)).collect();
            driver.run();
            assert_eq!(driver.sent[0].what(), "server/discover");
            assert_eq!(driver.sent[0].header("Mcp-Method"), Some("server/discover"));
            let whats = driver.whats();
            assert_eq!(&whats[1..=then.len()], then);
            assert_eq!(whats.len(), 1 + then.len() + 2);
            for call in calls {
                driver.answer_of(call);
                assert_eq!(driver.end_of(call).unwrap().0.attempts, 1);
            }
        }
    }
}

/// F6: a probe that proves nothing is the reason that the calls fail with, unsent.
#[test]
fn f6_a_failed_probe_is_the_reason() {
    for (reply, kind) in [
        (Reply::refused(), "unsent"),
        (Reply::status(401), "status"),
        (Reply::status(503), "status"),
        (Reply::read().broken(), "handshake"),
        (Reply::read(), "handshake"),
    ] {
        for manner in MANNERS {
            let reply = reply.clone();
            let config = auto().with_probe(true).with_handshake_timeout(Duration::from_secs(2));
            let mut driver = ChannelDriver::new(ENDPOINT, config, manner, move |_, _| reply.clone());
            let call = list(&mut driver);
            let notification = driver.notify("notifications/other");
            driver.run();
            for call in [call, notification] {
                assert_eq!(driver.failure_kind_of(call).as_str(), kind);
                assert!(!driver.failure_of(call).may_have_run());
            }
            assert!(driver.sent.iter().all(|sent| sent.what() == "server/discover"));
        }
    }
}

/// F6: a notification that waits for a probe goes out by what a request has found meanwhile.
#[test]
fn f6_a_request_may_find_out_before_the_probe() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, _| match &*sent.what() {
            "server/discover" => Reply::status(404).delayed(100),
            "tools/list" => Reply::result(r#"{"resultType":"complete","tools":[]}"#),
            _ => Reply::accepted(),
        });
        notify_beside_a_call(&mut driver);
        assert_eq!(driver.whats(), ["tools/list", "server/discover", "notifications/other"]);
    }
}

/// F6: what a request has found out meanwhile holds, also if the probe then comes to nothing.
#[test]
fn f6_a_probe_that_fails_late_harms_nobody() {
    for probe in [Reply::status(503).delayed(100), Reply::read().after(100).broken()] {
        for manner in MANNERS {
            let probe = probe.clone();
            let mut driver = driver(manner, move |sent, _| match &*sent.what() {
                "server/discover" => probe.clone(),
                "tools/list" => Reply::result(r#"{"tools":[]}"#),
                "initialize" => Reply::initialized("2025-06-18", None),
                _ => Reply::accepted(),
            });
            notify_beside_a_call(&mut driver);
            let handshake = ["initialize", "notifications/initialized", "notifications/other"];
            let whats = driver.whats();
            assert_eq!(whats[..2], ["tools/list", "server/discover"]);
            assert_eq!(whats[whats.len() - 3..], handshake);
        }
    }
}
