//! F12: the listening GET of 2025-03-26 to 2025-11-25, by `Client::listen`.

use mcp_sse_core::client::{CallEvent, CallOptions, Outcome};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_tests::channel_driver::{MANNERS, Manner, Reply};
use mcp_sse_tests::session_server::{closing, driver, is_lost, is_settled, log, newest, waits};

const LIST: &str = "tools/list";
const LAST: &str = "Last-Event-ID";

#[test]
fn f12_events_are_told_and_a_stream_that_ends_is_opened_again_where_it_was() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, number| match number {
            0 => closing(&format!("id: a\nretry: 300\ndata: {}\n\n", log("1"))),
            1 => Reply::stream().body(&format!("id: b\ndata: {}\n\n", log("2"))).broken(),
            _ => Reply::stream().event(&log("3")),
        });
        let call = driver.listen("{}");
        driver.run();
        assert!(driver.end_of(call).is_none());
        assert_eq!(driver.notifications_of(call).len(), 3);
        let gets = driver.asked("GET");
        assert_eq!(gets.iter().map(|get| get.header(LAST)).collect::<Vec<_>>(), [None, Some("a"), Some("b")]);
        assert_eq!(gets.iter().map(|get| get.at).collect::<Vec<_>>(), [0, 300, 600]);
        for get in gets {
            assert_eq!((get.header("Mcp-Session-Id"), get.header("Accept")), (Some("s-1"), Some("text/event-stream")));
            assert_eq!(get.header("MCP-Protocol-Version"), Some("2025-11-25"));
        }
        driver.cancel(call);
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Cancelled));
        assert!(driver.asked("notifications/cancelled").is_empty(), "there is no request to cancel");
    }
}

#[test]
fn f12_a_server_without_such_a_stream_ends_listening_and_harms_no_session() {
    for status in [405, 404, 204] {
        for manner in MANNERS {
            let mut driver = driver(newest(), manner, move |sent, _| match sent.request.method {
                "GET" => Reply::head(status, &[]).end(),
                _ => Reply::result("{}"),
            });
            let call = driver.listen("{}");
            driver.run();
            let ended = driver.end_of(call).map(|(done, _)| done.outcome.clone());
            assert!(
                matches!(ended, Some(Outcome::ListeningEnded { status: Some(told) }) if told == status),
                "{ended:?}"
            );
            let next = driver.call(LIST, None, CallOptions::default());
            driver.run();
            assert!(is_settled(driver.end_of(next)));
            assert_eq!((driver.asked("initialize").len(), driver.asked("GET").len()), (1, 1));
        }
    }
}

#[test]
fn f12_who_may_not_listen_is_told() {
    for status in [401, 403] {
        let mut driver = driver(newest(), Manner::EachCall, move |_, _| Reply::status(status));
        let call = driver.listen("{}");
        driver.run();
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Status(told) if told.status() == status));
    }
}

/// PF-E19: a listening GET that opens and closes at once is opened again a few times, then not at all; a call under way is
/// untouched.
#[test]
fn pf_e19_empty_openings_are_counted() {
    let rows: [fn(usize) -> Reply; 3] =
        [|_| closing(""), |_| closing(": hello\n\n"), |number| closing(&format!("id: g{number}\ndata: \n\n"))];
    for (row, reply) in rows.into_iter().enumerate() {
        for manner in MANNERS {
            let mut gets = 0;
            let mut driver = driver(newest(), manner, move |sent, _| match sent.request.method {
                "GET" => {
                    gets += 1;
                    reply(gets)
                }
                _ => Reply::read(),
            });
            let pending = driver.call("tools/call", None, CallOptions::default().with_timeout(None));
            let call = driver.listen("{}");
            driver.run_until(3_600_000);
            assert!(is_lost(driver.failure_kind_of(call)), "row {row}");
            let gets = driver.asked("GET");
            assert!((2..=6).contains(&gets.len()), "row {row}: {} openings", gets.len());
            if row == 2 {
                assert_eq!(gets[3].header(LAST), Some("g3"), "the newest");
            }
            assert!(waits(&driver, 0)[1..].iter().all(|wait| *wait == 1_000), "row {row}");
            assert!(driver.end_of(pending).is_none(), "row {row}");
        }
    }
}

/// PF-E19, the last row: a message each time renews the budget.
#[test]
fn pf_e19_a_message_each_time_goes_on() {
    for manner in MANNERS {
        let mut driver =
            driver(newest(), manner, |_, number| closing(&format!("id: g{number}\ndata: {}\n\n", log("x"))));
        let call = driver.listen("{}");
        driver.run_until(60_500);
        assert!(driver.end_of(call).is_none());
        assert_eq!((driver.asked("GET").len(), driver.notifications_of(call).len()), (61, 61));
        assert!(
            driver
                .events_of(call)
                .iter()
                .all(|event| matches!(event, CallEvent::Notification { .. } | CallEvent::Resume { .. }))
        );
    }
}

#[test]
fn f12_an_event_id_of_one_session_is_not_sent_in_the_next() {
    for manner in MANNERS {
        let mut driver =
            driver(newest(), manner, |sent, _| match (sent.request.method, sent.header("Mcp-Session-Id")) {
                ("GET", Some("s-1")) => Reply::stream().body("id: a\nretry: 2000\ndata:\n\n").after(1_000).end(),
                ("GET", _) => Reply::stream().event(&log("new")),
                (_, Some("s-1")) => Reply::status(404),
                _ => Reply::result("{}"),
            });
        let call = driver.listen("{}");
        driver.run_until(100);
        driver.call(LIST, None, CallOptions::default());
        driver.run();
        let gets = driver.asked("GET");
        assert_eq!(gets.iter().map(|get| get.header(LAST)).collect::<Vec<_>>(), [None, None]);
        assert_eq!((driver.notifications_of(call).len(), driver.asked("initialize").len()), (1, 2));
    }
}
