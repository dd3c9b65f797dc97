//! E6 and F11: the rest of a broken stream is asked for by GET, never by a second POST, within a budget and a deadline.

use mcp_sse_core::client::{CallEvent, CallOptions};
use mcp_sse_core::exchange::{BreakKind, Cause, FailureKind};
use mcp_sse_tests::channel_driver::{MANNERS, Manner, Reply};
use mcp_sse_tests::loop_driver::Fact;
use mcp_sse_tests::session_server::{
    answer_to, closing, driver, is_lost, is_settled, log, newest, patient, reset, waits, within,
};

const CALL: &str = "tools/call";
const LIST: &str = "tools/list";
const NAME: Option<&str> = Some(r#"{"name":"a"}"#);
const LAST: &str = "Last-Event-ID";
const SESSION: &str = "Mcp-Session-Id";
/// The id of the first request after `initialize`.
const ID: &str = "2";

fn lasts(driver: &mcp_sse_tests::channel_driver::ChannelDriver) -> Vec<Option<String>> {
    driver.asked("GET").into_iter().map(|get| get.header(LAST).map(str::to_owned)).collect()
}

#[test]
fn e6_the_rest_is_asked_for_with_the_last_event_id_after_the_wait_and_never_by_a_second_post() {
    for (priming, wait) in [("id: e-1\ndata:\n\n", 1_000), ("id: e-1\nretry: 500\ndata:\n\n", 500)] {
        for broken in [closing, reset] {
            for manner in MANNERS {
                let mut driver = driver(newest(), manner, move |sent, _| match sent.request.method {
                    "GET" => Reply::stream().body(&answer_to(ID)),
                    _ => broken(priming),
                });
                let call = driver.call(CALL, NAME, CallOptions::default());
                driver.run();
                assert!(is_settled(driver.end_of(call)));
                let [get] = driver.asked("GET")[..] else { panic!("one GET") };
                assert_eq!((get.at, get.header(LAST), get.header(SESSION)), (wait, Some("e-1"), Some("s-1")));
                assert_eq!(get.header("MCP-Protocol-Version"), Some("2025-11-25"));
                assert_eq!((get.header("Accept"), get.request.body.len()), (Some("text/event-stream"), 0));
                assert_eq!(driver.asked(CALL).len(), 1);
                assert_eq!(driver.end_of(call).map(|(done, _)| done.attempts), Some(1));
                assert!(driver.events_of(call).iter().any(|event| matches!(event, CallEvent::Resume { .. })));
            }
        }
    }
}

/// Section 4: "resumed GET ends before a new id: 2nd GET without Last-Event-ID: answer lost".
#[test]
fn f11_the_cursor_survives_an_empty_resumed_stream() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, number| match number {
            0 => closing("id: e-1\nretry: 100\ndata:\n\n"),
            1 => closing(""),
            2 => closing(": nothing\n\n"),
            _ => closing(&answer_to(ID)),
        });
        let call = driver.call(CALL, NAME, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)));
        assert_eq!(lasts(&driver), vec![Some("e-1".to_owned()); 3]);
    }
}

/// Section 4: "retry given once, second close without it", and after a reset.
#[test]
fn f11_a_retry_that_was_given_once_is_remembered() {
    for broken in [closing, reset] {
        let mut driver = driver(newest(), Manner::EachCall, move |_, number| match number {
            0 => broken("id: e-1\nretry: 2500\ndata:\n\n"),
            1 => broken(&format!("id: e-2\ndata: {}\n\n", log("x"))),
            2 => broken(""),
            _ => closing(&answer_to(ID)),
        });
        let call = driver.call(CALL, NAME, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)));
        assert_eq!(waits(&driver, 0), [2_500; 3]);
        assert_eq!(lasts(&driver), [Some("e-1".to_owned()), Some("e-2".to_owned()), Some("e-2".to_owned())]);
    }
}

/// Section 4: "every resumed stream reset at once: hot loop"; GETs that cannot be sent count too.
#[test]
fn f11_five_gets_that_bring_nothing_are_the_last() {
    let barren: [fn() -> Reply; 6] = [
        || reset(""),
        || closing(""),
        || closing("id: e-1\ndata:\n\n"),
        || closing("retry: 10\n\n"),
        || Reply::read().broken(),
        Reply::refused,
    ];
    for (kind, reply) in barren.into_iter().enumerate() {
        for manner in MANNERS {
            let mut driver = driver(newest(), manner, move |sent, _| match sent.request.method {
                "GET" => reply(),
                _ => closing("id: e-1\ndata:\n\n"),
            });
            let call = driver.call(CALL, NAME, patient());
            driver.run();
            assert!(is_lost(driver.failure_kind_of(call)), "{kind}");
            assert!(driver.failure_of(call).may_have_run());
            assert_eq!(waits(&driver, 0), [1_000; 5], "{kind}: never sooner than before while nothing new comes");
            assert_eq!(driver.asked(CALL).len(), 1);
            assert!(lasts(&driver).iter().all(|last| last.as_deref() == Some("e-1")));
        }
    }
}

#[test]
fn f11_a_message_under_a_new_id_renews_the_budget_and_the_deadline_still_ends_it() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, number| {
            let data = if number == 0 { String::new() } else { log("x") };
            closing(&format!("id: e-{number}\nretry: 50\ndata: {data}\n\n"))
        });
        let call = driver.call(CALL, NAME, within(10_000));
        driver.run();
        let (done, at) = driver.end_of(call).expect("an end");
        assert!(done.may_have_run() && at <= 10_000);
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Lost { .. } | FailureKind::Timeout { .. }));
        let gets = driver.asked("GET").len();
        assert!((190..=200).contains(&gets), "{gets} GETs of 50 ms in 10 s");
        assert_eq!(driver.notifications_of(call).len(), gets);
    }
}

/// Section 4: "resumed GET opens and stays silent: hang".
#[test]
fn e11_the_deadline_ends_a_silent_resumed_stream_and_nothing_moves_it() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |sent, _| match sent.request.method {
            "GET" => Reply::stream().after(2_000).event(&log("x")),
            _ => closing("id: e-1\ndata:\n\n"),
        });
        let call = driver.call(CALL, NAME, within(5_000));
        driver.run();
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Timeout { .. }));
        assert_eq!(driver.end_of(call).map(|(_, at)| at), Some(5_000));
        let [told] = driver.asked("notifications/cancelled")[..] else { panic!("one cancel") };
        assert_eq!(
            (told.header(SESSION), told.json()["params"]["requestId"].to_string()),
            (Some("s-1"), ID.to_owned())
        );
    }
}

/// Section 4: "id seen, closed; GET -> 405", "GET -> 404 or 500"; 401 and 403 are for whoever has the credentials.
#[test]
fn f11_what_a_status_of_failure_does_to_a_resumption() {
    type Judge = fn(&FailureKind) -> bool;
    let status: Judge = |kind| matches!(kind, FailureKind::Status(_));
    let expired: Judge = |kind| matches!(kind, FailureKind::SessionExpired);
    let cases: [(u16, usize, Judge); 5] =
        [(404, 1, expired), (405, 1, is_lost), (401, 1, status), (403, 1, status), (500, 5, status)];
    for (code, gets, judge) in cases {
        for with_error in [false, true] {
            for manner in MANNERS {
                let mut driver = driver(newest(), manner, move |sent, _| match sent.request.method {
                    "GET" if with_error => {
                        Reply::json(code, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#)
                    }
                    "GET" => Reply::status(code),
                    _ if sent.what() == LIST => Reply::result("{}"),
                    _ => closing("id: e-1\ndata:\n\n"),
                });
                let call = driver.call(CALL, NAME, patient());
                driver.run();
                let failure = driver.failure_of(call);
                assert!(judge(&failure.kind) && failure.may_have_run(), "{code}: {:?}", failure.kind);
                assert_eq!((driver.asked("GET").len(), driver.asked(CALL).len()), (gets, 1), "{code}");
                let next = driver.call(LIST, None, CallOptions::default());
                driver.run();
                assert!(is_settled(driver.end_of(next)));
                let sessions = if code == 404 { 2 } else { 1 };
                assert_eq!(driver.asked("initialize").len(), sessions, "{code}: 404 ends the session, no other does");
            }
        }
    }
}

#[test]
fn f11_a_server_that_is_down_for_a_while_is_asked_again() {
    let mut driver = driver(newest(), Manner::EachCall, |_, number| match number {
        0 => closing("id: e-1\ndata:\n\n"),
        1 => Reply::status(503),
        2 => Reply::refused(),
        _ => closing(&answer_to(ID)),
    });
    let call = driver.call(CALL, NAME, patient());
    driver.run();
    assert!(is_settled(driver.end_of(call)));
    assert_eq!(waits(&driver, 0), [1_000; 3]);
}

/// Section 4: "empty `id:` after `id: e1`: sends an empty Last-Event-ID".
#[test]
fn e26_no_empty_last_event_id_is_sent() {
    let mut driver = driver(newest(), Manner::EachCall, |_, number| match number {
        0 => closing("id: e-1\ndata:\n\nid:\ndata:\n\n"),
        _ => closing(&answer_to(ID)),
    });
    let call = driver.call(CALL, NAME, patient());
    driver.run();
    assert!(is_settled(driver.end_of(call)));
    assert_eq!(lasts(&driver), [Some("e-1".to_owned())]);
}

#[test]
fn f11_two_calls_never_mix_their_cursors() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |sent, _| match (sent.request.method, sent.header(LAST)) {
            ("GET", Some(last)) => closing(&answer_to(last.trim_start_matches("of-"))),
            ("GET", None) => Reply::status(400),
            _ => closing(&format!("id: of-{}\ndata:\n\n", sent.json()["id"])),
        });
        let calls = [driver.call(CALL, NAME, patient()), driver.call(LIST, None, patient())];
        driver.run();
        for (call, id) in calls.into_iter().zip(["2", "3"]) {
            assert_eq!(driver.answer_of(call).message.id().map(|id| id.to_json()).as_deref(), Some(id));
        }
    }
}

/// Section 4: "stream closed or reset, no event id, no answer: hang".
#[test]
fn e7_without_an_event_id_a_lost_stream_is_lost_at_once() {
    for broken in [closing, reset] {
        let mut driver = driver(newest(), Manner::EachCall, move |_, _| broken(": x\n\n"));
        let call = driver.call(CALL, NAME, patient());
        driver.run();
        assert!(is_lost(driver.failure_kind_of(call)) && driver.failure_of(call).may_have_run());
        assert_eq!((driver.asked("GET").len(), driver.asked(CALL).len()), (0, 1));
        assert_eq!(driver.end_of(call).map(|(_, at)| at), Some(0));
    }
}

#[test]
fn f7_a_stream_of_a_session_that_is_gone_is_not_resumed_in_the_next_one() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |sent, _| match (&*sent.what(), sent.header(SESSION)) {
            (CALL, _) => closing("id: e-1\nretry: 5000\ndata:\n\n"),
            (LIST, Some("s-1")) => Reply::status(404),
            _ => Reply::result("{}"),
        });
        let (resuming, list) = (driver.call(CALL, NAME, patient()), driver.call(LIST, None, patient()));
        driver.run();
        assert!(is_settled(driver.end_of(list)));
        assert!(matches!(driver.failure_kind_of(resuming), FailureKind::SessionExpired));
        assert!(driver.failure_of(resuming).may_have_run());
        assert!(driver.asked("GET").is_empty());
    }
}

/// F7: that its session is gone is reason enough for a broken stream to be lost; no other is begun to find that out.
#[test]
fn f7_a_broken_stream_of_a_session_that_is_gone_begins_no_other() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |sent, _| match &*sent.what() {
            CALL if sent.json()["params"]["name"] == "b" => Reply::status(404),
            _ => closing("id: e-1\nretry: 5000\ndata:\n\n"),
        });
        let resuming = driver.call(CALL, NAME, patient());
        let refused = driver.call(CALL, Some(r#"{"name":"b"}"#), patient());
        driver.run();
        for call in [resuming, refused] {
            assert!(matches!(driver.failure_kind_of(call), FailureKind::SessionExpired));
        }
        assert_eq!((driver.asked("initialize").len(), driver.asked("GET").len()), (1, 0));
    }
}

/// E6, F7: a request that only reads is not posted again in another session, if its stream was lost and the session is gone.
#[test]
fn f11_a_session_that_is_gone_is_the_end_of_a_lost_stream() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |sent, _| match sent.request.method {
            "GET" => Reply::status(404),
            _ => closing("id: e-1\ndata:\n\n"),
        });
        let call = driver.call(LIST, None, CallOptions::default());
        driver.run();
        assert!(matches!(driver.failure_kind_of(call), FailureKind::SessionExpired));
        assert_eq!((driver.asked(LIST).len(), driver.asked("initialize").len()), (1, 1));
    }
}

/// F11: 404 to a request that named no session ends none: the stream is lost, as it was before.
#[test]
fn f11_without_a_session_404_says_that_the_stream_is_lost() {
    for manner in MANNERS {
        let mut driver = driver(newest().with_handshake(false), manner, |sent, _| match sent.request.method {
            "GET" => Reply::status(404),
            _ => reset("id: e-1\ndata:\n\n"),
        });
        let call = driver.call(CALL, NAME, CallOptions::default());
        driver.run();
        assert!(is_lost(driver.failure_kind_of(call)), "{:?}", driver.failure_kind_of(call));
        assert_eq!(driver.whats(), [CALL, "GET"]);
    }
}

/// E6: without handshakes of the client's own there is no session whose end could be seen.
#[test]
fn e6_without_a_handshake_a_stream_is_resumed_too() {
    for manner in MANNERS {
        let mut driver = driver(newest().with_handshake(false), manner, |sent, _| match sent.request.method {
            "GET" => closing(&answer_to("1")),
            _ => reset("id: e-1\ndata:\n\n"),
        });
        let call = driver.call(CALL, NAME, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)));
        assert_eq!(lasts(&driver), [Some("e-1".to_owned())]);
    }
}

/// PF-E08: reconnects that bring nothing new count against the budget, however politely they end.
#[test]
fn pf_e08_polite_barren_reconnects() {
    for (priming, wait) in [("id: e1\ndata: \n\n", 1_000), ("id: e1\nretry: 0\ndata: \n\n", 10)] {
        for manner in MANNERS {
            let config = newest().with_max_barren_openings(3);
            let mut driver = driver(config, manner, move |_, number| match number {
                0 => Reply::stream().after(6).body(priming).after(4).end(),
                1 => closing(""),
                2 => closing("id: e1\ndata: \n\n"),
                _ => closing(": x\n\n"),
            });
            let call = driver.call(CALL, NAME, patient());
            driver.run();
            assert!(is_lost(driver.failure_kind_of(call)) && driver.failure_of(call).may_have_run());
            assert_eq!(waits(&driver, 10), [wait; 3]);
            for get in driver.asked("GET") {
                assert_eq!((get.header(LAST), get.header(SESSION)), (Some("e1"), Some("s-1")));
            }
            assert_eq!(driver.asked(CALL).len(), 1);
        }
    }
}

/// Section 4, the rows on single streams: what comes is read as the specification says, in a session too.
#[test]
fn section_4_streams_that_some_clients_cannot_read() {
    let streams: [(&str, String); 10] = [
        (
            "unknown field, data without colon, retry: soon, two ids",
            format!("foo: 1\ndata\nretry: soon\nid: 1\nid: 2\n\n{}", answer_to(ID)),
        ),
        ("a colon-less line behind the answer", format!("{}nonsense", answer_to(ID))),
        ("bare CR", answer_to(ID).replace('\n', "\r")),
        ("BOM", format!("\u{feff}{}", answer_to(ID))),
        ("data: ping", format!("data: ping\n\n{}", answer_to(ID))),
        ("event: ping", format!("event: ping\ndata: {{}}\n\n{}", answer_to(ID))),
        ("another id first", format!("{}{}", answer_to("99"), answer_to(ID))),
        ("duplicate answer", format!("{0}{0}", answer_to(ID))),
        ("no blank line", answer_to(ID).trim_end().to_owned() + "\n"),
        ("no newline", answer_to(ID).trim_end().to_owned()),
    ];
    for (name, bytes) in streams {
        for broken in [closing, reset] {
            let bytes = bytes.clone();
            let mut driver = driver(newest(), Manner::EachCall, move |_, _| broken(&bytes));
            let call = driver.call(CALL, NAME, patient());
            driver.run();
            assert_eq!(driver.answer_of(call).message.result(), Some(r#"{"ok":true}"#), "{name}");
            assert_eq!(driver.sent.len(), 3, "{name}");
        }
    }
}

/// Section 4, the rows on bodies and heads: each ends the call at once, harms no other, and nothing is sent twice.
#[test]
fn section_4_bodies_and_heads_that_hang_some_clients() {
    type Made = fn() -> Reply;
    let replies: [(&str, Made); 5] = [
        ("JSON cut by a reset", || {
            Reply::head(200, &[("Content-Type", "application/json")]).body(r#"{"jsonrpc":"2.0","#).broken()
        }),
        ("JSON garbage", || Reply::json(200, "garbage")),
        ("JSON empty", || Reply::json(200, "")),
        ("202 to a request", Reply::accepted),
        ("reset before the head", || Reply::read().then(Fact::Broken(BreakKind::Reset))),
    ];
    for (name, reply) in replies {
        for manner in MANNERS {
            let mut driver = driver(newest(), manner, move |sent, _| match &*sent.what() {
                CALL => reply(),
                _ => Reply::result("{}"),
            });
            let call = driver.call(CALL, NAME, patient());
            driver.run();
            assert!(driver.failure_of(call).may_have_run(), "{name}");
            assert_eq!(driver.end_of(call).map(|(_, at)| at), Some(0), "{name}");
            let next = driver.call(LIST, None, patient());
            driver.run();
            assert!(is_settled(driver.end_of(next)), "{name}: the session goes on");
            assert_eq!((driver.asked("initialize").len(), driver.asked(CALL).len()), (1, 1), "{name}");
        }
    }
}

/// Section 4: "one call never answered, second call concurrent".
#[test]
fn section_4_a_call_that_is_never_answered_blocks_no_other() {
    let mut driver = driver(newest(), Manner::EachCall, |_, number| match number {
        0 => Reply::read(),
        _ => Reply::result("{}"),
    });
    let (first, second) = (driver.call(CALL, NAME, patient()), driver.call(LIST, None, patient()));
    driver.run();
    assert!(driver.end_of(first).is_none() && is_settled(driver.end_of(second)));
}

#[test]
fn f11_the_cause_of_a_loss_is_told() {
    let mut driver = driver(newest(), Manner::EachCall, |sent, _| match sent.request.method {
        "GET" => Reply::status(405),
        _ => reset("id: e-1\ndata:\n\n"),
    });
    let call = driver.call(CALL, NAME, patient());
    driver.run();
    assert!(matches!(driver.failure_kind_of(call), FailureKind::Lost { cause: Cause::Broken(BreakKind::Reset), .. }));
}
