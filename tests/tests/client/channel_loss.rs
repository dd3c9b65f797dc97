//! H5: what the loss of a 2024-11-05 channel means: to calls that wait for it, to the next one, to those who listen.

use mcp_sse_core::client::{CallOptions, Outcome};
use mcp_sse_core::exchange::{BreakKind, Cause, FailureKind, Framing, HandshakeProblem};
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, initialize_result};
use mcp_sse_tests::loop_driver::Fact;
use std::time::Duration;

use super::channel::{STREAM, call, config, head, opened, problem, server, wait};

/// H5: "a lost channel fails its calls as lost (or unsent), never moves them to a new session".
#[test]
fn h5_a_lost_channel_loses_what_waits_for_it() {
    for manner in MANNERS {
        for by_end in [false, true] {
            let mut number = 0;
            let mut driver = opened(manner, move |_| {
                number += 1;
                match number {
                    1 => Reply::accepted(),
                    2 => Reply::read(),
                    3 => Reply::silence().then(Fact::Connected).then(Fact::Sending),
                    4 => Reply::silence(),
                    5 => Reply::read().answer_on_channel("{}"),
                    _ => Reply::accepted().answer_on_channel("{}"),
                }
            });
            let calls: Vec<_> = (0..5).map(|_| call(&mut driver)).collect();
            driver.run_until(100);
            let get = driver.sent[0].exchange;
            if by_end {
                driver.fact(get, &Fact::End(Framing::Marked));
            } else {
                driver.break_channel();
            }
            for (number, call) in calls[..4].iter().enumerate() {
                let (_, at) = driver.end_of(*call).expect("an end");
                assert_eq!(at, 100);
                let failure = driver.failure_of(*call);
                match number {
                    0 | 1 => assert!(matches!(failure.kind, FailureKind::Lost { .. }) && failure.may_have_run()),
                    _ => assert!(
                        matches!(failure.kind, FailureKind::Unsent { .. }) && !failure.may_have_run(),
                        "{number}: {failure:?}"
                    ),
                }
            }
            driver.answer_of(calls[4]);
            driver.run();
            assert!(driver.asked("notifications/cancelled").is_empty());
            assert_eq!(driver.asked("tools/list").len(), 5, "nothing is sent again by itself");
            assert_eq!(driver.asked("GET").len(), 1, "nobody waits for another channel");

            // The next call begins at `endpoint` and `initialize` again, after a wait.
            let before = driver.sent.len();
            let next = call(&mut driver);
            driver.run();
            driver.answer_of(next);
            assert_eq!(driver.whats()[before..], ["GET", "initialize", "notifications/initialized", "tools/list"]);
            assert!(driver.sent[before].at >= 100 + wait(0), "{} {}", driver.sent[before].at, wait(0));
            assert!(driver.sent[before..].iter().skip(1).all(|sent| sent.request.endpoint.target() == "/m?sid=2"));
        }
    }
}

/// H5: what was taken at the very moment at which the channel broke is lost, and not cancelled by anybody: the 202 is here, and
/// nobody has looked at it yet, or its exchange is lent out.
#[test]
fn h5_a_post_that_is_taken_as_the_channel_breaks_is_lost() {
    for is_lent in [false, true] {
        let mut driver = opened(Manner::EachCall, |_| Reply::read());
        let call = call(&mut driver);
        driver.run_until(10);
        let (post, now) = (driver.sent.last().expect("the call").exchange, driver.time());
        if is_lent {
            let mut exchange = driver.client.lend_exchange(post).expect("under way");
            driver.break_channel();
            exchange.on_head(&head(202), now).expect("in order");
            exchange.on_end(Framing::Marked, now).ok();
            driver.client.return_exchange(post, exchange, now);
        } else {
            let exchange = driver.client.exchange(post).expect("under way");
            exchange.on_head(&head(202), now).expect("in order");
            exchange.on_end(Framing::Marked, now).ok();
            driver.break_channel();
        }
        driver.fact(post, &Fact::Connected);
        driver.run_until(20);
        let failure = driver.failure_of(call);
        assert!(matches!(failure.kind, FailureKind::Lost { .. }) && failure.may_have_run(), "{failure}");
        assert!(driver.asked("notifications/cancelled").is_empty(), "nobody has cancelled it");
    }
}

/// H5: a channel that was closed while its exchange was lent out ends when that is returned. The next one, which is being
/// opened by then, is none of its affair.
#[test]
fn h5_the_late_end_of_a_closed_channel_leaves_the_next_one_alone() {
    let mut driver = opened(Manner::Together, |_| Reply::accepted().answer_on_channel("{}"));
    let closed = driver.sent[0].exchange;
    let exchange = driver.client.lend_exchange(closed).expect("under way");
    driver.close();
    let call = call(&mut driver);
    driver.carry_out();
    assert_eq!(driver.asked("GET").len(), 2);
    let now = driver.time();
    driver.client.return_exchange(closed, exchange, now);
    driver.run();
    driver.answer_of(call);
    assert_eq!(driver.asked("GET").len(), 2);
}

/// H5: who listens before there is a channel fails as any other call, if it cannot be opened.
#[test]
fn h5_listening_fails_with_a_channel_that_never_was() {
    for manner in MANNERS {
        let mut driver = ChannelDriver::new(STREAM, config(), manner, |_, _| Reply::refused());
        let listening = driver.listen("{}");
        driver.run_until(60_000);
        assert!(matches!(driver.failure_kind_of(listening), FailureKind::Unsent { .. }));
        assert_eq!(driver.whats(), ["GET"]);
    }
}

/// H5: why the channel was lost is why the call was.
#[test]
fn h5_the_cause_of_a_loss_is_that_of_the_channel() {
    for kind in [BreakKind::Reset, BreakKind::TlsTruncated] {
        for manner in MANNERS {
            let mut driver = opened(manner, |_| Reply::accepted());
            let call = call(&mut driver);
            driver.run_until(10);
            let channel = driver.sent[0].exchange;
            driver.fact(channel, &Fact::Broken(kind));
            let failure = driver.failure_kind_of(call);
            assert!(
                matches!(failure, FailureKind::Lost { cause: Cause::Broken(told), .. } if *told == kind),
                "{failure:?}"
            );
        }
    }
}

/// H5: a channel on which the handshake is refused is closed, and the next call begins with another.
#[test]
fn h5_a_handshake_that_is_refused_ends_the_channel() {
    for manner in MANNERS {
        let mut refused = 0;
        let mut inner = server(|_| Reply::accepted().answer_on_channel("{}"));
        let mut driver = ChannelDriver::new(STREAM, config(), manner, move |sent, number| match &*sent.what() {
            "initialize" if refused == 0 => {
                refused += 1;
                let error = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"not now"}}"#;
                Reply::accepted().on_channel(error)
            }
            _ => inner(sent, number),
        });
        let first = call(&mut driver);
        driver.run_until(100);
        let is_refused = |kind: &FailureKind| matches!(kind, FailureKind::Handshake { problem } if matches!(**problem, HandshakeProblem::Refused { code: -32000 }));
        assert!(is_refused(driver.failure_kind_of(first)), "{:?}", driver.failure_kind_of(first));
        assert!(driver.closed.iter().any(|(exchange, _)| *exchange == driver.sent[0].exchange), "it is of no use");
        let second = call(&mut driver);
        driver.run();
        driver.answer_of(second);
        let handshake = ["GET", "initialize", "notifications/initialized", "tools/list"];
        assert_eq!(driver.whats()[..2], handshake[..2]);
        assert_eq!(driver.whats()[2..], handshake);
    }
}

/// H5, E20: a notification waits for nothing on the channel, so its loss is no end of one that is being posted.
#[test]
fn h5_a_lost_channel_ends_no_notification() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::read().after(50).then(Fact::Head(head(202))).end());
        let notification = driver.notify("notifications/other");
        driver.run_until(10);
        driver.break_channel();
        driver.run();
        let (done, at) = driver.end_of(notification).expect("an end");
        assert!(matches!(done.outcome, Outcome::Accepted { status: 202 }), "{done:?}");
        assert_eq!(at, 50);
    }
}

/// H5: "reconnecting waits 0.5 s doubling to 30 s with jitter", until a message comes; a call that has less time than that
/// ends at its deadline.
#[test]
fn h5_reconnecting_waits_longer_each_time() {
    for manner in MANNERS {
        let mut gets = 0;
        let mut driver = ChannelDriver::new(STREAM, config(), manner, move |sent, _| match &*sent.what() {
            "GET" => {
                gets += 1;
                if gets <= 9 { Reply::stream().end() } else { Reply::channel("/m") }
            }
            "initialize" => Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")),
            _ => Reply::accepted().answer_on_channel("{}"),
        });
        let mut lost_at = 0;
        for losses in 0..9_u32 {
            let call = call(&mut driver);
            driver.run();
            assert!(matches!(problem(&driver, call), HandshakeProblem::Failed(FailureKind::Lost { .. })));
            let at = driver.sent.last().unwrap().at;
            if let Some(earlier) = losses.checked_sub(1) {
                assert_eq!(at, lost_at + wait(earlier));
                let most = (500_u64 << earlier).min(30_000);
                assert!(wait(earlier) >= most / 2 && wait(earlier) <= most);
            }
            lost_at = at;
        }
        let hasty = driver.call("tools/list", None, CallOptions::default().with_timeout(Duration::from_millis(50)));
        let patient = call(&mut driver);
        driver.run();
        assert!(matches!(driver.failure_kind_of(hasty), FailureKind::Timeout { .. }));
        assert_eq!(driver.end_of(hasty).unwrap().1, lost_at + 50);
        driver.answer_of(patient);
        // A message came: the next loss waits the shortest again.
        driver.break_channel();
        let (lost_at, before) = (driver.now, driver.sent.len());
        let last = call(&mut driver);
        driver.run();
        driver.answer_of(last);
        assert_eq!(driver.sent[before].at, lost_at + wait(0));
    }
}

/// H5: whoever listens goes on with the next channel, as often as that may fail in a row.
#[test]
fn h5_listening_goes_on_with_the_next_channel() {
    for manner in MANNERS {
        let mut gets = 0;
        let mut driver = ChannelDriver::new(STREAM, config(), manner, move |sent, _| match &*sent.what() {
            "GET" => {
                gets += 1;
                if gets <= 2 { Reply::channel("/m") } else { Reply::refused() }
            }
            "initialize" => Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")),
            _ => Reply::accepted(),
        });
        let listening = driver.listen("{}");
        driver.run_until(10);
        driver.break_channel();
        driver.run_until(10_000);
        assert_eq!(driver.whats(), ["GET", "initialize", "notifications/initialized"].repeat(2));
        assert!(driver.end_of(listening).is_none());
        driver.on_channel(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        assert_eq!(driver.notifications_of(listening).len(), 1);
        driver.break_channel();
        driver.run();
        assert!(driver.end_of(listening).is_some(), "it cannot be opened any more");
        driver.failure_of(listening);
    }
}
