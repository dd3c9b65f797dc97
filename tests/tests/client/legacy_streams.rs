//! Streams of 2025-03-26 to 2025-11-25 that break: asked for again by GET with the cursor (E6, F11), never posted twice;
//! and the listening stream (F12). What public clients were seen to do wrong is named where it is proved.

use std::time::Duration;

use mcp_sse_core::client::{CallEvent, CallOptions, ClientConfig, Outcome};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent};

const URL: &str = "http://mcp.test/mcp";
const RESULT: &str = r#"{"done":true}"#;

/// A driver whose server has one session; `post` answers the call, `get` each GET by its number from zero.
fn driver(manner: Manner, post: Reply, mut get: impl FnMut(&Sent, usize) -> Reply + 'static) -> ChannelDriver {
    let config = ClientConfig::default().with_version(ProtocolVersion::V2025_06_18);
    let mut gets = 0;
    ChannelDriver::new(URL, config, manner, move |sent, _| match (&*sent.what(), sent.request.method) {
        ("initialize", _) => Reply::initialized("2025-06-18", Some("s1")),
        (_, "GET") => {
            gets += 1;
            get(sent, gets - 1)
        }
        ("tools/call", _) => post.clone(),
        _ => Reply::accepted(),
    })
}

fn call(driver: &mut ChannelDriver, timeout: u64) -> mcp_sse_core::client::CallId {
    let options = CallOptions::default().with_timeout(Duration::from_millis(timeout));
    driver.call("tools/call", Some(r#"{"name":"charge"}"#), options)
}

fn answer_to(sent: &Sent, post_id: &str) -> Reply {
    assert_eq!(sent.header("Mcp-Session-Id"), Some("s1"));
    Reply::stream().event(&format!(r#"{{"jsonrpc":"2.0","id":{post_id},"result":{RESULT}}}"#)).end()
}

/// The waits before each GET: from the end of the stream before it.
fn times(driver: &ChannelDriver) -> Vec<u64> {
    driver.asked("GET").iter().map(|sent| sent.at).collect()
}

fn cursors(driver: &ChannelDriver) -> Vec<Option<&str>> {
    driver.asked("GET").iter().map(|sent| sent.header("Last-Event-ID")).collect()
}

/// E6, F11: the call's id in this driver: `initialize` has the first.
const CALL_ID: &str = "2";

/// E6: the rest is asked for once the wait is over, by GET with the cursor, and the call is posted once. `retry` holds
/// after a reset as after a clean end, and later, though it was given once.
#[test]
fn e6_f11_the_rest_is_asked_for_and_retry_is_obeyed_and_remembered() {
    for manner in MANNERS {
        for is_reset in [false, true] {
            let end = move |reply: Reply| if is_reset { reply.broken() } else { reply.end() };
            let post = end(Reply::stream().body("id: e1\nretry: 300\ndata:\n\n"));
            let mut driver = driver(manner, post, move |sent, number| match number {
                0 => end(Reply::stream()
                    .body("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")),
                _ => answer_to(sent, CALL_ID),
            });
            let call = call(&mut driver, 60_000);
            driver.run();
            assert_eq!(driver.answer_of(call).message.result(), Some(RESULT));
            assert_eq!(driver.asked("tools/call").len(), 1, "never a second POST");
            assert_eq!(times(&driver), [300, 600], "seen in a public client: retry forgotten after one use");
            assert_eq!(cursors(&driver), [Some("e1"), Some("e2")]);
            assert_eq!(driver.notifications_of(call), ["notifications/message"]);
            let resumed = driver.events_of(call).into_iter().filter(|event| matches!(event, CallEvent::Resume { .. }));
            assert_eq!(resumed.count(), 2);
        }
    }
}

/// F11, seen in public clients: an empty resumed stream loses the cursor; an empty `id:` is sent back.
#[test]
fn f11_the_cursor_survives_a_stream_that_brings_nothing_new() {
    let post = Reply::stream().body("id: e1\ndata:\n\n").body("id:\ndata:\n\n").end();
    let mut driver = driver(Manner::EachCall, post, |sent, number| match number {
        0 => Reply::stream().end(),
        1 => Reply::stream().body(": nothing\n\n").broken(),
        2 => Reply::refused(),
        _ => answer_to(sent, CALL_ID),
    });
    let call = call(&mut driver, 60_000);
    driver.run();
    driver.answer_of(call);
    assert_eq!(cursors(&driver), [Some("e1"); 4]);
}

/// F11: five openings in a row that bring nothing are the end, however they end and whatever they ask to wait; the waits
/// do not shrink. Seen in public clients: a hot loop of resets, and retrying for ever on 500.
#[test]
fn f11_openings_that_bring_nothing_are_bounded() {
    let barren = [
        Reply::stream().broken(),
        Reply::stream().end(),
        Reply::stream().body("retry: 1\n\n").end(),
        Reply::stream().body("id: e9\ndata:\n\n").end(),
        Reply::read().broken(),
        Reply::status(500),
    ];
    for manner in MANNERS {
        for reply in &barren {
            let reply = reply.clone();
            let is_status = reply.clone();
            let mut driver = driver(manner, Reply::stream().body("id: e1\ndata:\n\n").end(), move |_, _| reply.clone());
            let call = call(&mut driver, 60_000);
            driver.run();
            assert_eq!(driver.asked("GET").len(), 5, "{is_status:?}");
            let waits: Vec<_> = [0].into_iter().chain(times(&driver)).collect();
            assert!(waits.windows(2).all(|pair| pair[1] - pair[0] >= 1000), "{waits:?}");
            assert!(driver.failure_of(call).may_have_run());
            let kind = driver.failure_kind_of(call);
            assert!(matches!(kind, FailureKind::Lost { .. } | FailureKind::Status(_)), "{kind:?}");
            assert_eq!(driver.asked("tools/call").len(), 1);
        }
    }
}

/// F11: 404 ends the session, 405 ends resumption, 401 and 403 reach the caller; each at once.
#[test]
fn f11_some_statuses_end_it_at_once() {
    type Check = fn(&FailureKind) -> bool;
    let cases: [(u16, Check); 4] = [
        (404, |kind| matches!(kind, FailureKind::SessionExpired)),
        (405, |kind| matches!(kind, FailureKind::Lost { .. })),
        (401, |kind| matches!(kind, FailureKind::Status(failure) if failure.is_unauthorized())),
        (403, |kind| matches!(kind, FailureKind::Status(failure) if failure.is_forbidden())),
    ];
    for manner in MANNERS {
        for (status, check) in cases {
            let post = Reply::stream().body("id: e1\ndata:\n\n").broken();
            let mut driver = driver(manner, post, move |_, _| Reply::status(status));
            let call = call(&mut driver, 60_000);
            driver.run();
            assert!(check(driver.failure_kind_of(call)), "{status}: {:?}", driver.failure_of(call));
            assert!(driver.failure_of(call).may_have_run());
            assert_eq!((driver.asked("GET").len(), driver.asked("tools/call").len()), (1, 1));
        }
    }
}

/// E11: a resumed stream that opens and stays silent is bounded by the overall deadline, which nothing moved; the server is
/// told. Seen in public clients: it hangs.
#[test]
fn e11_a_silent_resumed_stream_ends_at_the_deadline() {
    for manner in MANNERS {
        let mut driver = driver(manner, Reply::stream().body("id: e1\ndata:\n\n").end(), |_, _| Reply::stream());
        let call = call(&mut driver, 5_000);
        driver.run_until(20_000);
        assert_eq!(driver.end_of(call).map(|(_, at)| at), Some(5_000));
        assert!(matches!(driver.failure_kind_of(call), FailureKind::Timeout { .. }));
        assert_eq!(driver.asked("notifications/cancelled").len(), 1);
    }
}

/// E7: without an event id there is nothing to ask for: lost at once, and nothing hangs.
#[test]
fn e7_a_stream_without_an_event_id_is_lost_at_once() {
    for manner in MANNERS {
        for post in [Reply::stream().end(), Reply::stream().broken(), Reply::read().broken()] {
            let mut driver = driver(manner, post, |_, _| Reply::status(500));
            let call = call(&mut driver, 60_000);
            driver.run();
            assert!(matches!(driver.failure_kind_of(call), FailureKind::Lost { .. }));
            assert_eq!(driver.end_of(call).map(|(_, at)| at), Some(0));
            assert!(driver.asked("GET").is_empty());
        }
    }
}

/// E15, E10, E21, seen in public clients: another's answer taken as ours; text that is no JSON replaces the answer.
#[test]
fn e15_what_is_not_the_answer_does_not_replace_it() {
    let post = Reply::stream()
        .event(r#"{"jsonrpc":"2.0","id":99,"result":{"of":"another"}}"#)
        .event("ping")
        .event(&format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{RESULT}}}"#))
        .end();
    let mut driver = driver(Manner::EachCall, post, |_, _| Reply::status(500));
    let call = call(&mut driver, 60_000);
    driver.run();
    assert_eq!(driver.answer_of(call).message.result(), Some(RESULT));
    assert!(driver.events_of(call).iter().any(|event| matches!(event, CallEvent::Stray { .. })));
}

/// F12: a server without a listening stream says so, and the session goes on.
#[test]
fn f12_no_listening_stream_is_no_error_of_the_session() {
    for manner in MANNERS {
        for (reply, status) in
            [(Reply::status(405), 405), (Reply::status(404), 404), (Reply::head(204, &[]).end(), 204)]
        {
            let post = Reply::result(RESULT);
            let mut driver = driver(manner, post, move |_, _| reply.clone());
            let listening = driver.listen("{}");
            driver.run();
            let (done, _) = driver.end_of(listening).expect("an end");
            assert!(
                matches!(done.outcome, Outcome::ListeningEnded { status: Some(said) } if said == status),
                "{done:?}"
            );
            let call = call(&mut driver, 1_000);
            driver.run();
            driver.answer_of(call);
            assert_eq!(driver.asked("initialize").len(), 1, "{status}: the session is untouched");
        }
    }
}

/// F12: a listening stream is opened again where it was, within the budget of openings that bring nothing.
#[test]
fn f12_a_listening_stream_is_opened_again() {
    for manner in MANNERS {
        let mut driver = driver(manner, Reply::silence(), |_, number| match number {
            0 | 1 => Reply::stream()
                .body(&format!(
                    "id: n{number}\nretry: 50\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/n{number}\"}}\n\n"
                ))
                .broken(),
            _ => Reply::stream().end(),
        });
        let listening = driver.listen("{}");
        driver.run();
        assert_eq!(driver.notifications_of(listening), ["notifications/n0", "notifications/n1"]);
        assert_eq!(cursors(&driver)[..3], [None, Some("n0"), Some("n1")]);
        assert_eq!(driver.asked("GET").len(), 2 + 5);
        assert!(matches!(driver.failure_kind_of(listening), FailureKind::Lost { .. }));
    }
}
