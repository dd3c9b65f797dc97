//! F12: the listening GET of 2025-03-26 to 2025-11-25, by `Client::listen`.

use mcp_sse_core::client::{CallEvent, CallOptions, ClientConfig, Outcome};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply};
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

/// F12: a server that has no such stream is not asked for each who listens.
#[test]
fn f12_what_declines_one_who_listens_declines_all() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |sent, _| match sent.request.method {
            "GET" => Reply::status(405).delayed(50),
            _ => Reply::result("{}"),
        });
        let listening = [driver.listen("{}"), driver.listen("{}"), driver.listen("{}")];
        driver.run();
        for call in listening {
            let (done, _) = driver.end_of(call).expect("an end");
            assert!(matches!(done.outcome, Outcome::ListeningEnded { status: Some(405) }), "{done:?}");
        }
        assert_eq!(driver.asked("GET").len(), 1);
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

/// A server that keeps one listening stream a session, as the TypeScript SDK's does: a second one is 409.
fn one_stream(manner: Manner, config: ClientConfig) -> ChannelDriver {
    let mut opened = 0;
    driver(config, manner, move |sent, _| match sent.request.method {
        "GET" => {
            opened += 1;
            match opened {
                1 => Reply::stream().after(100).event(&log("1")).after(900).event(&log("2")),
                2 if sent.at >= 500 => Reply::stream().after(100).event(&log("3")),
                _ => Reply::status(409),
            }
        }
        _ => Reply::result("{}"),
    })
}

#[test]
fn f12_all_who_listen_in_a_session_share_one_stream() {
    for manner in MANNERS {
        for config in [newest(), newest().with_handled_request("roots/list")] {
            let mut driver = one_stream(manner, config);
            let listening = [driver.listen("{}"), driver.listen("{}")];
            driver.run_until(500);
            let late = driver.listen("{}");
            driver.run_until(3_000);
            for call in listening {
                assert_eq!(driver.notifications_of(call).len(), 2);
            }
            assert_eq!((driver.notifications_of(late).len(), driver.asked("GET").len()), (1, 1));
            assert_eq!(driver.asked("initialize").len(), 1);
        }
    }
}

/// F12: of what the stream brings for all, so much waits for one who does not take it, and no more.
#[test]
fn f12_a_slow_caller_cannot_grow_memory() {
    let mut driver = one_stream(Manner::EachCall, newest());
    let (leader, slow) = (driver.listen("{}"), driver.listen("{}"));
    driver.run_until(10);
    driver.held.insert(slow);
    for _ in 0..1_500 {
        driver.on_channel(&log("x"));
    }
    assert_eq!(driver.notifications_of(leader).len(), 1_500);
    driver.release(slow);
    assert_eq!(driver.notifications_of(slow).len(), 1_024);
    driver.on_channel(&log("x"));
    assert_eq!(driver.notifications_of(slow).len(), 1_025, "it is heard again");
}

#[test]
fn f12_who_reads_the_stream_for_others_may_go() {
    for manner in MANNERS {
        let mut driver = one_stream(manner, newest());
        let [first, second, third] = [(); 3].map(|()| driver.listen("{}"));
        driver.run_until(200);
        driver.cancel(second);
        driver.run_until(600);
        driver.cancel(first);
        driver.run_until(5_000);
        assert!(matches!(driver.failure_kind_of(first), FailureKind::Cancelled));
        assert!(matches!(driver.failure_kind_of(second), FailureKind::Cancelled));
        assert!(driver.end_of(third).is_none());
        assert_eq!(
            driver.notifications_of(third).len(),
            2,
            "of the first stream, and of the one that it opened itself"
        );
        assert_eq!(driver.asked("GET").iter().map(|get| get.at).collect::<Vec<_>>(), [0, 600]);
    }
}

#[test]
fn f12_what_ends_the_stream_ends_all_who_listen() {
    type Check = fn(&Outcome) -> bool;
    let rows: [(Reply, Check); 3] = [
        (Reply::status(405).delayed(50), |end| matches!(end, Outcome::ListeningEnded { status: Some(405) })),
        (
            Reply::status(403),
            |end| matches!(end, Outcome::Failed(failure) if matches!(failure.kind, FailureKind::Status(_))),
        ),
        (closing(""), |end| matches!(end, Outcome::Failed(failure) if is_lost(&failure.kind))),
    ];
    for manner in MANNERS {
        for (get, check) in &rows {
            let get = get.clone();
            let mut driver = driver(newest(), manner, move |_, _| get.clone());
            let listening = [(); 3].map(|()| driver.listen("{}"));
            driver.run();
            for call in listening {
                let (done, _) = driver.end_of(call).expect("an end");
                assert!(check(&done.outcome), "{:?}", done.outcome);
            }
        }
    }
}

/// F7, F12: a new session has a listening stream of its own, for those who listened in the last one too.
#[test]
fn f12_who_listens_goes_on_in_the_next_session() {
    for manner in MANNERS {
        for config in [newest(), newest().with_handled_request("roots/list")] {
            let mut driver =
                driver(config, manner, |sent, _| match (sent.request.method, sent.header("Mcp-Session-Id")) {
                    ("GET", Some("s-1")) => Reply::stream(),
                    ("GET", _) => Reply::stream().after(100).event(&log("new")),
                    (_, Some("s-1")) => Reply::status(404),
                    _ => Reply::result("{}"),
                });
            let listening = [driver.listen("{}"), driver.listen("{}")];
            driver.run_until(500);
            let call = driver.call(LIST, None, CallOptions::default());
            driver.run_until(5_000);
            assert!(is_settled(driver.end_of(call)));
            assert_eq!(driver.notifications_of(listening[1]), ["notifications/message"]);
            let of_new = driver.asked("GET").iter().filter(|get| get.header("Mcp-Session-Id") == Some("s-2")).count();
            assert_eq!(of_new, 1);
        }
    }
}

#[test]
fn f12_closing_the_session_opens_no_other_for_those_who_listen() {
    for manner in MANNERS {
        let mut driver = driver(newest().with_handled_request("roots/list"), manner, |_, _| Reply::stream());
        let listening = [driver.listen("{}"), driver.listen("{}")];
        driver.run_until(500);
        driver.close();
        driver.run_until(5_000);
        for call in listening {
            let end = driver.end_of(call).map(|(done, _)| done.outcome.clone());
            assert!(matches!(end, Some(Outcome::ListeningEnded { status: None })), "{end:?}");
        }
        assert_eq!((driver.asked("initialize").len(), driver.asked("DELETE").len()), (1, 1));
    }
}
