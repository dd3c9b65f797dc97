//! F15, E22: the server's requests: what is answered by the client, what by its embedder, and what by nobody.

use mcp_sse_core::client::{Asked, CallEvent, CallId, CallOptions, ClientConfig, ErrorReply, RespondError};
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent};
use mcp_sse_tests::loop_driver::ENDPOINT;
use mcp_sse_tests::session_server::{driver, is_settled, log, newest, patient, within};
use serde_json::json;

const CALL: &str = "tools/call";
const SESSION: &str = "Mcp-Session-Id";

fn asks(id: u32, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
}

fn handling() -> ClientConfig {
    newest().with_handled_request("roots/list")
}

fn requests(driver: &ChannelDriver, call: CallId) -> Vec<(bool, bool)> {
    let events = driver.events_of(call).into_iter();
    events
        .filter_map(|event| match event {
            CallEvent::Request { is_violation, awaits_reply, .. } => Some((*is_violation, *awaits_reply)),
            _ => None,
        })
        .collect()
}

fn respond(
    driver: &mut ChannelDriver,
    call: CallId,
    id: i64,
    answer: Result<&str, ErrorReply>,
) -> Result<(), RespondError> {
    let now = driver.time();
    let said = driver.client.respond(call, &Id::Integer(id), answer, now);
    driver.began(call);
    driver.carry_out();
    said
}

#[test]
fn f15_ping_is_answered_and_unknown_methods_are_refused() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, _| {
            Reply::stream()
                .event(&asks(7, "ping"))
                .event(&asks(8, "sampling/createMessage"))
                .after(50)
                .event(r#"{"jsonrpc":"2.0","id":{id},"result":{}}"#)
        });
        let call = driver.call(CALL, None, CallOptions::default());
        driver.run();
        assert!(is_settled(driver.end_of(call)));
        let answers = driver.asked("response");
        assert_eq!(answers[0].json(), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
        assert_eq!((&answers[1].json()["id"], &answers[1].json()["error"]["code"]), (&json!(8), &json!(-32601)));
        assert_eq!(answers.len(), 2);
        for answer in answers {
            assert_eq!((answer.request.method, answer.header(SESSION)), ("POST", Some("s-1")));
            assert_eq!(answer.header("MCP-Protocol-Version"), Some("2025-11-25"));
            assert_eq!(answer.at, 0, "while the stream is still open");
        }
        assert_eq!(requests(&driver, call), [(false, false); 2]);
        assert!(driver.events_of(call).iter().all(|event| event.awaiting().is_none()), "they are answered");
    }
}

/// F15: whoever holds a request answers it once, with what it says, or with an error if it says nothing.
#[test]
fn f15_a_request_that_is_dropped_is_answered_with_an_error() {
    let mut told = Vec::new();
    let mut respond = |id: &Id, answer: Result<&str, ErrorReply>| {
        told.push((id.to_json(), answer.map(str::to_owned)));
        Err(RespondError::NotAsked)
    };
    let asked = Asked::new(Id::from(6), &mut respond);
    assert!(format!("{asked:?}").contains("Asked"));
    asked.answer(Ok("{}".to_owned()));
    Asked::new(Id::from(7), &mut respond).answer(Err(ErrorReply::new(-1, "no")));
    drop(Asked::new(Id::from(8), &mut respond));
    let expected =
        [Ok("{}".to_owned()), Err(ErrorReply::new(-1, "no")), Err(ErrorReply::new(-32603, "Internal error"))];
    assert_eq!(told.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["6", "7", "8"]);
    assert_eq!(told.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>(), expected);
}

#[test]
fn f15_a_handled_request_is_answered_by_the_embedder_once() {
    for manner in MANNERS {
        let mut driver = driver(handling(), manner, |sent, _| match sent.request.method {
            "GET" => Reply::status(405),
            _ => Reply::stream().event(&asks(7, "roots/list")).event(&asks(8, "roots/list")),
        });
        let call = driver.call(CALL, None, patient());
        driver.run();
        assert_eq!(requests(&driver, call), [(false, true); 2]);
        let waiting: Vec<_> = driver.events_of(call).into_iter().filter_map(CallEvent::awaiting).collect();
        assert!(
            waiting
                .iter()
                .all(|(method, _, message)| (*method, message.method()) == ("roots/list", Some("roots/list")))
        );
        assert_eq!(waiting.iter().map(|(_, id, _)| (*id).clone()).collect::<Vec<_>>(), [7, 8].map(Id::from));
        assert!(driver.asked("response").is_empty());
        assert_eq!(respond(&mut driver, call, 7, Ok("{")), Err(RespondError::InvalidJson));
        assert_eq!(respond(&mut driver, call, 9, Ok("{}")), Err(RespondError::NotAsked));
        assert_eq!(respond(&mut driver, call, 7, Ok(r#"{"roots":[]}"#)), Ok(()));
        assert_eq!(respond(&mut driver, call, 7, Ok("{}")), Err(RespondError::NotAsked));
        assert_eq!(respond(&mut driver, call, 8, Err(ErrorReply::new(-1, "not \"now\""))), Ok(()));
        driver.run();
        let answers: Vec<_> = driver.asked("response").into_iter().map(Sent::json).collect();
        assert_eq!(
            answers,
            [
                json!({"jsonrpc": "2.0", "id": 7, "result": {"roots": []}}),
                json!({"jsonrpc": "2.0", "id": 8, "error": {"code": -1, "message": "not \"now\""}}),
            ]
        );
    }
}

#[test]
fn f15_no_more_than_eight_are_in_flight_and_the_rest_are_refused_and_counted() {
    for (method, config) in [("ping", newest()), ("roots/list", handling())] {
        let mut driver = ChannelDriver::new(ENDPOINT, config, Manner::Together, move |sent, _| match &*sent.what() {
            "initialize" => Reply::initialized("2025-11-25", None),
            "notifications/initialized" => Reply::accepted(),
            "GET" => Reply::status(405),
            "response" => Reply::accepted().delayed(100),
            _ => (0..10)
                .fold(Reply::stream(), |reply, id| reply.event(&asks(id, method)))
                .after(500)
                .event(&asks(10, method)),
        });
        let call = driver.call(CALL, None, patient());
        driver.run_until(50);
        assert_eq!((driver.client.refused_requests(), requests(&driver, call).len()), (2, 10));
        for id in 0..8 {
            let expected = if method == "ping" { Err(RespondError::NotAsked) } else { Ok(()) };
            assert_eq!(respond(&mut driver, call, id, Ok("{}")), expected);
        }
        driver.run();
        // There is room again once the answers have gone out.
        assert_eq!(driver.client.refused_requests(), 2);
        assert_eq!(driver.asked("response").len(), if method == "ping" { 9 } else { 8 });
    }
}

#[test]
fn e22_a_violation_is_never_answered() {
    let config = ClientConfig::default().with_handled_request("roots/list");
    let mut driver = ChannelDriver::new(ENDPOINT, config, Manner::EachCall, |_, _| {
        Reply::stream().event(&asks(7, "ping")).event(&asks(8, "roots/list"))
    });
    let call = driver.call(CALL, None, patient());
    driver.run();
    assert_eq!(requests(&driver, call), [(true, false); 2]);
    assert_eq!(respond(&mut driver, call, 8, Ok("{}")), Err(RespondError::NotAsked));
    assert_eq!(driver.sent.len(), 1);
}

#[test]
fn f15_requests_on_the_listening_stream_are_answered_too() {
    for manner in MANNERS {
        let mut driver = driver(newest(), manner, |_, _| Reply::stream().event(&asks(7, "ping")));
        driver.listen("{}");
        driver.run();
        let [answer] = driver.asked("response")[..] else { panic!("one answer") };
        assert_eq!((answer.json()["result"].clone(), answer.header(SESSION)), (json!({}), Some("s-1")));
    }
}

/// PF-E04: notifications and a ping come before the response on the same stream.
#[test]
fn pf_e04_interleaved_messages() {
    for manner in MANNERS {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t3","progress":1,"total":2}}"#;
        let mut driver = driver(newest(), manner, move |_, _| {
            let ping = r#"{"jsonrpc":"2.0","id":"srv-1","method":"ping"}"#;
            let stream = Reply::stream().after(10).event(&log("a")).after(10).event(progress).after(10).event(ping);
            stream.after(4_970).event(r#"{"jsonrpc":"2.0","id":{id},"result":{"content":[]}}"#).after(1).end()
        });
        let call = driver.call(CALL, Some(r#"{"name":"a","_meta":{"progressToken":"t3"}}"#), CallOptions::default());
        driver.run();
        assert_eq!(driver.notifications_of(call), ["notifications/message", "notifications/progress"]);
        let [pong] = driver.asked("response")[..] else { panic!("one answer") };
        assert_eq!((pong.at, pong.json()), (30, json!({"jsonrpc": "2.0", "id": "srv-1", "result": {}})));
        assert_eq!(pong.header(SESSION), Some("s-1"));
        assert_eq!(driver.answer_of(call).message.result(), Some(r#"{"content":[]}"#));
        assert!(is_settled(driver.end_of(call)));
    }
}

/// F12, F15: what a server asks while nobody listens is gone, so who handles its requests listens before it calls; but a
/// server that says nothing on that stream, or has none, holds nobody up for longer than it was given.
#[test]
fn f15_a_sessions_listening_stream_is_open_before_its_first_call() {
    let streams = [
        (Reply::stream().delayed(300), 300),
        (Reply::status(405).delayed(40), 40),
        (Reply::read().after(70).broken(), 70),
        (Reply::refused(), 0),
        (Reply::silence(), 1_000),
        (Reply::stream().delayed(5_000), 1_000),
    ];
    for manner in MANNERS {
        for (stream, begins) in &streams {
            let stream = stream.clone();
            let mut driver = driver(handling(), manner, move |sent, _| match sent.request.method {
                "GET" => stream.clone(),
                _ => Reply::result("{}"),
            });
            let calls = [(); 2].map(|()| driver.call(CALL, None, patient()));
            driver.run_until(9_000);
            assert_eq!(driver.whats()[..4], ["initialize", "notifications/initialized", "GET", CALL]);
            for (call, sent) in calls.iter().zip(driver.asked(CALL)) {
                assert!(is_settled(driver.end_of(*call)));
                assert_eq!(sent.at, *begins);
            }
            let later = driver.call(CALL, None, patient());
            driver.run_until(9_500);
            assert_eq!(driver.end_of(later).map(|(_, at)| at), Some(9_000), "only a session's beginning waits");
        }
    }
}

/// The wait for the listening stream ends no call late, and ends with the session.
#[test]
fn f15_who_waits_for_the_listening_stream_keeps_a_deadline_of_their_own() {
    for manner in MANNERS {
        let mut driver = driver(handling(), manner, |sent, _| match sent.request.method {
            "GET" => Reply::silence(),
            _ => Reply::result("{}"),
        });
        let (hurried, patient) = (driver.call(CALL, None, within(200)), driver.call(CALL, None, patient()));
        driver.run_until(5_000);
        assert_eq!(driver.end_of(hurried).map(|(_, at)| at), Some(200));
        assert!(!driver.failure_of(hurried).may_have_run());
        assert_eq!((driver.end_of(patient).map(|(_, at)| at), driver.asked(CALL).len()), (Some(1_000), 1));
    }
}
