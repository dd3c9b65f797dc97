//! F10: `Client::listen` in the modern era: acknowledgment, notifications, the graceful ends, and a loss that is made good.

use std::time::Duration;

use mcp_sse_core::client::subscription::reopen_wait;
use mcp_sse_core::client::{CallEvent, CallId, ClientConfig, Outcome, RequestError};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent};
use mcp_sse_tests::loop_driver::ENDPOINT;

const SEED: u64 = 20_260_728;
const FILTER: &str = r#"{"toolsListChanged":true,"promptsListChanged":true}"#;
const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":{id}}}}"#;
const CANCELLED: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{id}}}"#;

fn acknowledgment(filter: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/subscriptionId":{id}}"#;
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{meta},"notifications":{filter}}}}}"#
    )
}

fn acknowledged() -> Reply {
    Reply::stream().event(&acknowledgment(FILTER))
}

fn driver(manner: Manner, server: impl FnMut(&Sent, usize) -> Reply + 'static) -> ChannelDriver {
    ChannelDriver::new(ENDPOINT, ClientConfig::default().with_seed(SEED), manner, server)
}

fn acknowledgments(driver: &ChannelDriver, call: CallId) -> Vec<(u32, bool)> {
    let events = driver.events_of(call).into_iter();
    events
        .filter_map(|event| match event {
            CallEvent::Acknowledged { attempt, is_whole, .. } => Some((*attempt, *is_whole)),
            _ => None,
        })
        .collect()
}

/// F10: "the acknowledgment first, then notifications carrying its id; a result ends it gracefully".
#[test]
fn f10_a_subscription_from_its_beginning_to_its_end() {
    for (honoured, is_whole) in [(FILTER, true), (r#"{"toolsListChanged":true}"#, false), ("{}", false)] {
        for manner in MANNERS {
            let mut driver = driver(manner, move |_, _| {
                Reply::stream()
                    .event(&acknowledgment(honoured))
                    .after(10)
                    .event(CHANGED)
                    .after(86_400_000)
                    .event(CHANGED)
                    .event(r#"{"jsonrpc":"2.0","id":{id},"result":{"resultType":"complete"}}"#)
                    .end()
            });
            let call = driver.listen(FILTER);
            driver.run();
            let [sent] = &driver.sent[..] else { panic!("one request") };
            assert_eq!(sent.header("Mcp-Method"), Some("subscriptions/listen"));
            assert_eq!(sent.json()["params"]["notifications"]["toolsListChanged"], true);
            assert_eq!(acknowledgments(&driver, call), [(1, is_whole)]);
            assert_eq!(driver.notifications_of(call), ["notifications/tools/list_changed"; 2]);
            assert!(matches!(driver.events_of(call)[0], CallEvent::Acknowledged { .. }));
            driver.answer_of(call);
            let (done, at) = driver.end_of(call).unwrap();
            assert!(matches!(done.outcome, Outcome::Settled(_)), "{done:?}");
            assert_eq!(at, 86_400_010, "no deadline");
        }
    }
}

/// F10: "MUST NOT send any notification on the subscription before" its acknowledgment; that of a stream which was lost is none.
#[test]
fn f10_a_notification_before_the_acknowledgment_is_a_stray() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_, number| match number {
            0 => Reply::stream().event(CHANGED).event(&acknowledgment(FILTER)).event(CHANGED).broken(),
            _ => Reply::stream().event(CHANGED).event(&acknowledgment(FILTER)).event(CHANGED),
        });
        let call = driver.listen(FILTER);
        driver.run_until(60_000);
        let told: Vec<_> = driver
            .events_of(call)
            .into_iter()
            .filter_map(|event| match event {
                CallEvent::Stray { attempt, .. } => Some((*attempt, "stray")),
                CallEvent::Acknowledged { attempt, .. } => Some((*attempt, "acknowledged")),
                CallEvent::Notification { attempt, .. } => Some((*attempt, "told")),
                _ => None,
            })
            .collect();
        let stream = |attempt| [(attempt, "stray"), (attempt, "acknowledged"), (attempt, "told")];
        assert_eq!(told, [stream(1), stream(2)].concat());
    }
}

/// F10: "`notifications/cancelled` naming it" ends it as well, with no result after it and with the stream left open.
#[test]
fn f10_a_cancellation_that_names_it_ends_it() {
    for manner in MANNERS {
        for tail in [false, true] {
            let mut driver = driver(manner, move |_, _| {
                let reply = acknowledged().after(10).event(CANCELLED);
                if tail { reply.event(r#"{"jsonrpc":"2.0","id":{id},"result":{}}"#).end() } else { reply }
            });
            let call = driver.listen(FILTER);
            driver.run();
            let (done, at) = driver.end_of(call).unwrap();
            assert!(matches!(done.outcome, Outcome::ListeningEnded { status: None }), "{done:?}");
            assert_eq!((at, driver.sent.len()), (10, 1));
            assert_eq!(driver.closed, [(driver.sent[0].exchange, 10)]);
        }
        // One that names another request is told, and ends nothing.
        let mut driver = driver(manner, |_, _| acknowledged().event(&CANCELLED.replace("{id}", "99")));
        let call = driver.listen(FILTER);
        driver.run();
        assert!(driver.end_of(call).is_none());
        assert_eq!(driver.notifications_of(call), ["notifications/cancelled"]);
        driver.cancel(call);
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Cancelled));
        assert_eq!(driver.sent.len(), 1, "the close is the cancel");
    }
}

/// F10: "a loss is re-opened with a new id, 1 s doubling to 30 s with jitter", as often as it takes.
#[test]
fn f10_a_lost_subscription_is_opened_again() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_, number| match number {
            0 => acknowledged().event(CHANGED).broken(),
            1 | 3 => Reply::refused(),
            2 | 4 => Reply::read().broken(),
            5 | 6 => Reply::stream().end(),
            7..12 => Reply::refused(),
            _ => acknowledged().event(CHANGED),
        });
        let call = driver.listen(FILTER);
        driver.run_until(3_600_000);
        assert!(driver.end_of(call).is_none());
        assert_eq!(driver.sent.len(), 13);
        let mut expected = Duration::ZERO;
        for (number, sent) in driver.sent.iter().enumerate() {
            let at = Duration::from_millis(sent.at);
            assert!(at >= expected && at <= expected + Duration::from_millis(20), "{number}: {at:?}, not {expected:?}");
            let wait = reopen_wait(u32::try_from(number).unwrap() + 1, SEED);
            let most = Duration::from_secs((1 << number.min(5)).min(30));
            assert!(wait >= most / 2 && wait <= most);
            expected = at + wait;
        }
        let mut ids: Vec<_> = driver.sent.iter().map(Sent::id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 13, "each under an id of its own");
        assert_eq!(acknowledgments(&driver, call), [(1, true), (13, true)]);
        assert_eq!(driver.notifications_of(call).len(), 2);
        let told =
            driver.events_of(call).into_iter().filter(|event| matches!(event, CallEvent::Reissue { .. })).count();
        assert_eq!(told, 12);
    }
}

/// F10: an acknowledgment shows that all is well: the waits begin at the first again.
#[test]
fn f10_an_acknowledgment_resets_the_waits() {
    for manner in MANNERS {
        let mut driver =
            driver(manner, |_, number| if number % 3 == 2 { acknowledged().broken() } else { Reply::stream().end() });
        let call = driver.listen(FILTER);
        driver.run_until(60_000);
        assert!(driver.end_of(call).is_none());
        let waits: Vec<_> = driver.sent.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        for (number, wait) in waits.iter().enumerate() {
            let losses = match number {
                0 | 1 => number + 1,
                _ => (number - 2) % 3 + 1,
            };
            let expected = reopen_wait(u32::try_from(losses).unwrap(), SEED);
            assert_eq!(*wait, u64::try_from(expected.as_nanos().div_ceil(1_000_000)).unwrap(), "{number}: {waits:?}");
        }
        assert!(waits.len() > 20);
    }
}

/// F10: a server that says no is not asked again; one that was never reached is not either.
#[test]
fn f10_a_failure_ends_it() {
    let rows = [
        (Reply::status(400), "status"),
        (Reply::status(404), "status"),
        (Reply::status(401), "status"),
        (Reply::status(503), "status"),
        (Reply::refused(), "unsent"),
        (Reply::json(200, "{"), "invalid_json"),
    ];
    for (reply, kind) in rows {
        for manner in MANNERS {
            let first = reply.clone();
            let mut at_once = driver(manner, move |_, _| first.clone());
            let call = at_once.listen(FILTER);
            at_once.run();
            assert_eq!(at_once.failure_kind_of(call).as_str(), kind);
            assert_eq!(at_once.sent.len(), 1);

            if kind != "unsent" {
                let later = reply.clone();
                let mut driver =
                    driver(manner, move |_, number| if number == 0 { acknowledged().broken() } else { later.clone() });
                let call = driver.listen(FILTER);
                driver.run();
                assert_eq!(driver.failure_kind_of(call).as_str(), kind);
                assert_eq!(driver.sent.len(), 2);
            }
        }
    }
}

/// F10: an error in answer to the request is its answer, and the end.
#[test]
fn f10_a_refusal_is_the_answer() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_, _| Reply::error(404, -32601, "null"));
        let call = driver.listen(FILTER);
        driver.run();
        assert_eq!(driver.answer_of(call).message.error().unwrap().code, -32601);
        assert_eq!(driver.sent.len(), 1);
    }
}

/// F10: a subscription that waits to be opened again can be cancelled, and a filter that is none begins nothing.
#[test]
fn f10_cancelled_while_it_waits() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_, number| if number == 0 { acknowledged().broken() } else { acknowledged() });
        let call = driver.listen(FILTER);
        driver.run_until(100);
        driver.cancel(call);
        driver.run();
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Cancelled));
        assert_eq!(driver.sent.len(), 1);
        for filter in ["", "[]", "7", "{}}"] {
            let now = driver.time();
            let refused = driver.client.listen(filter, mcp_sse_core::client::CallOptions::default(), now);
            assert!(refused.is_err(), "{filter:?}");
        }
        assert!(matches!(
            driver.client.listen("[]", mcp_sse_core::client::CallOptions::default(), driver.time()),
            Err(RequestError::NotAnObject)
        ));
    }
}
