//! H1 to H4: the channel of 2024-11-05, shared by all calls: where messages go, and whose an answer is. What its loss means is
//! in `channel_loss`.

use std::time::Duration;

use mcp_sse_core::Limits;
use mcp_sse_core::client::{CallEvent, CallId, CallOptions, ClientConfig, Outcome, Protocol};
use mcp_sse_core::exchange::{FailureKind, HandshakeProblem, IdMatch};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_core::legacy::Reconnect;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent, initialize_result};
use mcp_sse_tests::loop_driver::Fact;

pub(super) const STREAM: &str = "http://mcp.test/v1/sse?tenant=7";
const SEED: u64 = 3;

pub(super) fn config() -> ClientConfig {
    ClientConfig::default().with_version(ProtocolVersion::V2024_11_05).with_seed(SEED)
}

/// A server whose channels have numbered endpoints; `calls` answers what comes after the handshake.
pub(super) fn server(mut calls: impl FnMut(&Sent) -> Reply + 'static) -> impl FnMut(&Sent, usize) -> Reply {
    let mut channels = 0;
    move |sent, _| match &*sent.what() {
        "GET" => {
            channels += 1;
            Reply::channel(&format!("/m?sid={channels}"))
        }
        "initialize" => Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")),
        "notifications/initialized" => Reply::accepted(),
        _ => calls(sent),
    }
}

fn driver(manner: Manner, calls: impl FnMut(&Sent) -> Reply + 'static) -> ChannelDriver {
    ChannelDriver::new(STREAM, config(), manner, server(calls))
}

pub(super) fn call(driver: &mut ChannelDriver) -> CallId {
    driver.call("tools/list", None, CallOptions::default())
}

/// A driver whose channel is there.
pub(super) fn opened(manner: Manner, mut calls: impl FnMut(&Sent) -> Reply + 'static) -> ChannelDriver {
    let answer = |sent: &Sent| (sent.what() == "ping").then(|| Reply::accepted().answer_on_channel("{}"));
    let mut driver = driver(manner, move |sent| answer(sent).unwrap_or_else(|| calls(sent)));
    let ping = driver.call("ping", None, CallOptions::default());
    driver.run();
    driver.answer_of(ping);
    driver
}

pub(super) fn wait(losses: u32) -> u64 {
    u64::try_from(Reconnect::CHANNEL.wait(losses, SEED).as_nanos().div_ceil(1_000_000)).expect("a short wait")
}

/// H3: GET, `endpoint`, `initialize`, `notifications/initialized`, the call: in this order, for all calls once.
#[test]
fn h3_the_handshake_comes_first_and_once() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_| Reply::accepted().answer_on_channel(r#"{"tools":[]}"#));
        let calls: Vec<_> = (0..10).map(|_| call(&mut driver)).collect();
        driver.run();
        assert_eq!(driver.whats()[..3], ["GET", "initialize", "notifications/initialized"]);
        assert_eq!(driver.sent.len(), 3 + 10);
        assert_eq!(driver.sent[0].request.endpoint.as_str(), STREAM);
        for sent in &driver.sent[1..] {
            assert_eq!(sent.request.endpoint.as_str(), "http://mcp.test/m?sid=1");
            assert_eq!(sent.header("MCP-Protocol-Version"), None);
            assert!(!sent.is_modern() && sent.json()["params"].get("_meta").is_none());
        }
        for call in calls {
            let answer = driver.answer_of(call);
            assert_eq!((answer.info.id_match, answer.info.status), (IdMatch::Exact, 200));
            let (done, _) = driver.end_of(call).unwrap();
            assert!(matches!(done.outcome, Outcome::Settled(info) if info == answer.info));
        }
        assert!(driver.closed.iter().all(|(exchange, _)| *exchange != driver.sent[0].exchange), "the channel stays");
        assert_eq!(driver.client.protocol_version(), Some(ProtocolVersion::V2024_11_05));
    }
}

/// H3: each answer goes to the call under whose id it comes, in whatever order.
#[test]
fn h3_answers_are_told_apart_by_their_ids() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::accepted());
        let calls: Vec<_> = (0..8).map(|_| call(&mut driver)).collect();
        driver.run_until(10);
        let ids: Vec<_> = driver.asked("tools/list").iter().map(|sent| sent.id().unwrap()).collect();
        for id in ids.iter().rev() {
            driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"for":{id}}}}}"#));
        }
        driver.run_until(20);
        for (call, id) in calls.into_iter().zip(ids) {
            assert_eq!(driver.answer_of(call).message.result(), Some(&*format!(r#"{{"for":{id}}}"#)));
        }
    }
}

/// H3: "the answer may come before the 202", and the POST may end as it likes afterwards.
#[test]
fn h3_an_answer_may_come_before_the_202() {
    let answered = || Reply::read().answer_on_channel("{}").after(50);
    let ends = [
        answered().then(Fact::Head(head(202))).end(),
        answered().broken(),
        answered().then(Fact::Head(head(500))).end(),
        answered(),
    ];
    for (row, end) in ends.into_iter().enumerate() {
        for manner in MANNERS {
            let end = end.clone();
            let mut driver = opened(manner, move |_| end.clone());
            let call = call(&mut driver);
            driver.run_until(49);
            driver.answer_of(call);
            driver.run();
            let (done, _) = driver.end_of(call).expect("an end");
            assert!(matches!(done.outcome, Outcome::Settled(_)), "row {row}: {done:?}");
            assert!(driver.asked("notifications/cancelled").is_empty(), "row {row}");
        }
    }
}

pub(super) fn head(status: u16) -> mcp_sse_core::http::ResponseHead {
    mcp_sse_core::http::ResponseHead::from_headers(status, [("Content-Length", "0")])
}

/// H3: what the network does to a POST that may have got there says nothing of the answer; one that did not get there has
/// none to wait for.
#[test]
fn h3_a_broken_post_still_waits_for_the_channel() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::read().broken().after(100).answer_on_channel("{}"));
        let first = call(&mut driver);
        driver.run();
        driver.answer_of(first);
        assert_eq!(driver.asked("tools/list").len(), 1);

        let mut driver = opened(manner, |_| Reply::refused());
        let second = call(&mut driver);
        driver.run();
        assert!(matches!(driver.failure_kind_of(second), FailureKind::Unsent { .. }));
    }
}

/// H3: a POST that is refused by its status has no answer to wait for; only its call fails.
#[test]
fn h3_a_refused_post_fails_its_call_only() {
    for status in [400, 401, 404, 413, 500, 503] {
        for manner in MANNERS {
            let mut number = 0;
            let mut driver = opened(manner, move |_| {
                number += 1;
                if number == 2 { Reply::status(status) } else { Reply::accepted().after(100).answer_on_channel("{}") }
            });
            let (first, second, third) = (call(&mut driver), call(&mut driver), call(&mut driver));
            driver.run();
            driver.answer_of(first);
            driver.answer_of(third);
            let FailureKind::Status(failure) = driver.failure_kind_of(second) else { panic!("a status") };
            assert_eq!(failure.status(), status);
            assert_eq!(driver.asked("GET").len(), 1);
        }
    }
}

/// H1: another origin is refused before anything is sent there, unless the caller allows it.
#[test]
fn h1_a_foreign_endpoint_needs_leave() {
    let foreign = [
        "http://other.test/m",
        "https://mcp.test/m",
        "http://mcp.test:8080/m",
        "//other.test/m",
        "http://mcp.test.evil/m",
    ];
    for endpoint in foreign {
        for manner in MANNERS {
            for allows in [false, true] {
                let config = config().with_allows_foreign_endpoint(allows);
                let mut inner = server(|_| Reply::accepted().answer_on_channel("{}"));
                let mut driver = ChannelDriver::new(STREAM, config, manner, move |sent, number| match &*sent.what() {
                    "GET" => Reply::channel(endpoint),
                    _ => inner(sent, number),
                });
                let call = call(&mut driver);
                driver.run();
                if allows {
                    driver.answer_of(call);
                    let host = driver.sent[1].request.endpoint.as_str();
                    assert_ne!(host, "http://mcp.test/m");
                } else {
                    assert!(matches!(problem(&driver, call), HandshakeProblem::ForeignEndpoint));
                    assert_eq!(driver.whats(), ["GET"]);
                    assert_eq!(driver.closed.len(), 1, "the channel is closed");
                }
            }
        }
    }
}

pub(super) fn problem(driver: &ChannelDriver, call: CallId) -> &HandshakeProblem {
    match driver.failure_kind_of(call) {
        FailureKind::Handshake { problem } => problem,
        other => panic!("not the handshake: {other:?}"),
    }
}

/// H1: "empty data ... or an unresolvable one fails the handshake at once, with the reason".
#[test]
fn h1_an_endpoint_that_is_none_fails_at_once() {
    for endpoint in ["", "   ", "http://", "mailto:a@b", "http://user:word@mcp.test/m", "/a b", "http://[::1/m"] {
        for manner in MANNERS {
            let mut driver = ChannelDriver::new(STREAM, config(), manner, move |_, _| Reply::channel(endpoint));
            let call = call(&mut driver);
            driver.run();
            let told = problem(&driver, call);
            assert!(matches!(told, HandshakeProblem::Endpoint | HandshakeProblem::ForeignEndpoint), "{endpoint:?}");
            assert_eq!(driver.end_of(call).unwrap().1, 0, "{endpoint:?}");
            assert!(!driver.failure_of(call).may_have_run());
            assert_eq!(driver.whats(), ["GET"]);
        }
    }
}

/// H2: "a later `endpoint` event is refused, not obeyed".
#[test]
fn h2_a_second_endpoint_is_ignored() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::accepted().answer_on_channel("{}"));
        let get = driver.sent[0].exchange;
        for other in ["/other", "http://other.test/m", ""] {
            driver.fact(get, &Fact::Body(format!("event: endpoint\ndata: {other}\n\n")));
        }
        let call = call(&mut driver);
        driver.run();
        driver.answer_of(call);
        assert_eq!(driver.sent.last().unwrap().request.endpoint.as_str(), "http://mcp.test/m?sid=1");
        assert_eq!(driver.asked("GET").len(), 1);
    }
}

/// H4: "answers for unknown ids are strays; an error with no id concerns the connection, not a caller"; an id of another
/// type is another id here.
#[test]
fn h4_what_answers_nobody_ends_nobody() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::accepted());
        let call = call(&mut driver);
        driver.run_until(10);
        let id = driver.asked("tools/list")[0].id().unwrap();
        let strays = [
            r#"{"jsonrpc":"2.0","id":999,"result":{}}"#.to_owned(),
            format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#),
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#.to_owned(),
            "not json".to_owned(),
            "[]".to_owned(),
        ];
        for stray in &strays {
            driver.on_channel(stray);
        }
        let get = driver.sent[0].exchange;
        driver.fact(get, &Fact::Body("event: ping\ndata: 2026-07-28\n\n: keep-alive\n\n".to_owned()));
        assert!(driver.events_of(call).is_empty() && driver.end_of(call).is_none());
        driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#));
        driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        driver.run_until(20);
        assert!(driver.answer_of(call).info.is_error);
        assert!(matches!(driver.end_of(call).unwrap().0.outcome, Outcome::Settled(info) if info.is_error));
    }
}

/// H4, E14: what answers nobody is shown to who listens; an event that is too large may have been anybody's, so all who wait
/// are told.
#[test]
fn h4_e14_what_is_lost_on_the_channel_is_told() {
    for manner in MANNERS {
        let limits = Limits::default().with_max_event_bytes(4096);
        let mut driver =
            ChannelDriver::new(STREAM, config().with_limits(limits), manner, server(|_| Reply::accepted()));
        let (listening, waiting) = (driver.listen("{}"), call(&mut driver));
        driver.run_until(10);
        driver.on_channel(r#"{"jsonrpc":"2.0","id":999,"result":{}}"#);
        driver.run_until(15);
        driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":"{}"}}"#, "x".repeat(5000)));
        driver.run_until(20);
        let [CallEvent::Stray { id: Some(Id::Integer(999)), bytes: 38, .. }, CallEvent::Oversized { limit: 4096, .. }] =
            driver.events_of(listening)[..]
        else {
            panic!("{:?}", driver.events_of(listening))
        };
        assert!(matches!(driver.events_of(waiting)[..], [CallEvent::Oversized { limit: 4096, .. }]));
        assert!(driver.end_of(waiting).is_none(), "it may have been another's");
    }
}

/// Progress goes to the call under whose token it comes, all else to who listens.
#[test]
fn notifications_go_to_whom_they_concern() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::accepted());
        let listening = [driver.listen("{}"), driver.listen("{}")];
        let with = |token: &str| format!(r#"{{"_meta":{{"progressToken":{token}}}}}"#);
        let first = driver.call("tools/call", Some(&with("7")), CallOptions::default());
        let second = driver.call("tools/call", Some(&with(r#""7""#)), CallOptions::default());
        driver.run_until(10);
        let progress = |token: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            )
        };
        for token in ["7", r#""7""#, r#""7""#, "8"] {
            driver.on_channel(&progress(token));
        }
        driver.on_channel(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        driver.run_until(20);
        assert_eq!(driver.notifications_of(first).len(), 1);
        assert_eq!(driver.notifications_of(second).len(), 2);
        for listening in listening {
            assert_eq!(driver.notifications_of(listening), ["notifications/tools/list_changed"]);
            assert!(driver.end_of(listening).is_none());
        }
        assert_eq!(driver.asked("GET").len(), 1, "listening opens no other stream");
    }
}

/// F15: the server's requests on the channel: `ping` and unknown methods are answered by the client, others by whoever
/// handles them.
#[test]
fn f15_requests_on_the_channel_are_answered() {
    for manner in MANNERS {
        let config = config().with_handled_request("roots/list");
        let calls = |sent: &Sent| match &*sent.what() {
            "response" => Reply::accepted(),
            _ => Reply::accepted().answer_on_channel("{}"),
        };
        let mut driver = ChannelDriver::new(STREAM, config, manner, server(calls));
        let call = call(&mut driver);
        driver.run();
        driver.answer_of(call);
        driver.on_channel(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        driver.on_channel(r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage"}"#);
        driver.on_channel(r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#);
        driver.run();
        let asked: Vec<_> = driver
            .events
            .iter()
            .filter_map(|(call, event)| match event {
                CallEvent::Request { message, awaits_reply: true, .. } => Some((*call, message.id().cloned())),
                _ => None,
            })
            .collect();
        let [(channel, Some(id))] = &asked[..] else { panic!("one request: {asked:?}") };
        assert_eq!(*id, Id::from("r"));
        let now = driver.time();
        driver.client.respond(*channel, id, Ok(r#"{"roots":[]}"#), now).unwrap();
        assert!(driver.client.respond(*channel, id, Ok("{}"), now).is_err(), "once");
        driver.run();
        let bodies: Vec<_> = driver.asked("response").iter().map(|sent| sent.json()).collect();
        assert_eq!(bodies[0], serde_json::json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
        assert_eq!((&bodies[1]["id"], &bodies[1]["error"]["code"]), (&"s".into(), &(-32601).into()));
        assert_eq!(bodies[2], serde_json::json!({"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}));
        let sent = driver.asked("response");
        assert!(sent.iter().all(|sent| sent.request.endpoint.as_str() == "http://mcp.test/m?sid=1"));
    }
}

/// H4: an answer that comes twice is an answer once, also while its POST is still open.
#[test]
fn h4_a_second_answer_under_the_same_id_is_a_stray() {
    for manner in MANNERS {
        let mut driver = opened(manner, |_| Reply::read());
        let (listening, call) = (driver.listen("{}"), call(&mut driver));
        driver.run_until(10);
        let id = driver.asked("tools/list")[0].id().unwrap();
        for _ in 0..2 {
            driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        }
        driver.run_until(20);
        assert!(matches!(driver.events_of(call)[..], [CallEvent::Answer { .. }]), "{:?}", driver.events_of(call));
        assert!(matches!(driver.events_of(listening)[..], [CallEvent::Stray { .. }]));
    }
}

/// A caller that makes the handshake itself makes it on the channel.
#[test]
fn a_callers_own_handshake_is_made_on_the_channel() {
    for manner in MANNERS {
        let config = config().with_handshake(false);
        let mut driver =
            ChannelDriver::new(STREAM, config, manner, server(|_| Reply::accepted().answer_on_channel("{}")));
        let params = r#"{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"a","version":"1"}}"#;
        let initialize = driver.call("initialize", Some(params), CallOptions::default());
        driver.run();
        driver.answer_of(initialize);
        driver.notify("notifications/initialized");
        let call = call(&mut driver);
        driver.run();
        driver.answer_of(call);
        assert_eq!(driver.whats(), ["GET", "initialize", "notifications/initialized", "tools/list"]);
        assert!(driver.sent[1..].iter().all(|sent| sent.request.endpoint.target() == "/m?sid=1"));
    }
}

/// F6, H4: who begins to listen before anything is known hears what comes on the channel that is found.
#[test]
fn f6_listening_goes_down_the_ladder() {
    for manner in MANNERS {
        let config = ClientConfig::default().with_protocol(Protocol::Auto);
        let mut inner = server(|_| Reply::accepted());
        let mut driver = ChannelDriver::new(STREAM, config, manner, move |sent, number| {
            let is_post_to_the_stream = sent.request.method == "POST" && sent.request.endpoint.as_str() == STREAM;
            if is_post_to_the_stream { Reply::status(405) } else { inner(sent, number) }
        });
        let listening = driver.listen("{}");
        driver.run_until(100);
        assert_eq!(
            driver.whats(),
            ["subscriptions/listen", "initialize", "GET", "initialize", "notifications/initialized"]
        );
        driver.on_channel(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        assert_eq!(driver.notifications_of(listening), ["notifications/tools/list_changed"]);
        // Nothing answers the request that was refused, and the server cannot have it.
        let id = driver.sent[0].id().unwrap();
        driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        assert!(driver.end_of(listening).is_none());
        driver.cancel(listening);
        driver.run_until(200);
        assert!(matches!(driver.failure_kind_of(listening), FailureKind::Cancelled));
        assert_eq!(driver.sent.len(), 5);
    }
}

/// F9, E11: a cancel and a time-out are told to the server, at the endpoint, with the id.
#[test]
fn f9_e11_a_cancel_and_a_timeout_are_told_to_the_endpoint() {
    for manner in MANNERS {
        for is_timeout in [false, true] {
            for is_posted in [false, true] {
                let mut driver = opened(manner, move |sent| match &*sent.what() {
                    "tools/list" if !is_posted => Reply::read(),
                    _ => Reply::accepted(),
                });
                let options = CallOptions::default().with_timeout(Duration::from_millis(300));
                let call = driver.call("tools/list", None, options);
                driver.run_until(100);
                if !is_timeout {
                    driver.cancel(call);
                }
                driver.run();
                let id = driver.asked("tools/list")[0].id().unwrap();
                let [cancel] = driver.asked("notifications/cancelled")[..] else { panic!("one: {:?}", driver.whats()) };
                assert_eq!(cancel.request.endpoint.as_str(), "http://mcp.test/m?sid=1");
                assert_eq!(cancel.json()["params"]["requestId"].to_string(), id);
                let (kind, at) = if is_timeout { ("timeout", 300) } else { ("cancelled", 100) };
                assert_eq!(driver.failure_kind_of(call).as_str(), kind);
                assert_eq!(driver.end_of(call).unwrap().1, at);
                // An answer that comes too late is nobody's.
                driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
                assert!(driver.events_of(call).is_empty());
            }
        }
    }
}

/// H3: "waiters always end: answer, loss of the stream, deadline", whenever the loss comes.
#[test]
fn h3_every_waiter_ends() {
    for manner in MANNERS {
        for lost_at in 0..60 {
            let slow = |reply: Reply, by| reply.delayed(by);
            let mut driver = ChannelDriver::new(STREAM, config(), manner, move |sent, _| match &*sent.what() {
                "GET" => slow(Reply::channel("/m"), 10),
                "initialize" => slow(Reply::accepted().answer_on_channel(&initialize_result("2024-11-05")), 10),
                "notifications/initialized" => slow(Reply::accepted(), 5),
                _ => Reply::read().after(5).then(Fact::Head(head(202))).end().after(20).answer_on_channel("{}"),
            });
            let calls: Vec<_> = (0..3)
                .map(|number| {
                    driver.run_until(number * 7);
                    let options = CallOptions::default().with_timeout(Duration::from_millis(5_000));
                    driver.call("tools/list", None, options)
                })
                .collect();
            driver.run_until(lost_at);
            driver.break_channel();
            driver.run();
            for call in calls {
                assert!(driver.end_of(call).is_some(), "{manner:?}, lost at {lost_at}: {call} hangs");
            }
        }
    }
}

/// A caller that takes nothing cannot make the client grow: what it does not take beyond a bound is dropped, and the others
/// are not kept waiting.
#[test]
fn a_slow_caller_cannot_grow_memory() {
    let mut driver = opened(Manner::EachCall, |_| Reply::accepted());
    let (slow, quick) = (driver.listen("{}"), driver.listen("{}"));
    let call = call(&mut driver);
    driver.run_until(10);
    driver.held.insert(slow);
    for _ in 0..5_000 {
        driver.on_channel(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
    }
    let id = driver.asked("tools/list")[0].id().unwrap();
    driver.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    driver.answer_of(call);
    assert_eq!(driver.notifications_of(quick).len(), 5_000);
    driver.release(slow);
    assert_eq!(driver.notifications_of(slow).len(), 1024);
    driver.on_channel(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
    assert_eq!(driver.notifications_of(slow).len(), 1025, "it is heard again");
}

/// `close` ends the channel, and what waits for it; a later call begins anew, without a wait.
#[test]
fn close_ends_the_channel() {
    for manner in MANNERS {
        let mut number = 0;
        let mut driver = opened(manner, move |_| {
            number += 1;
            if number == 1 { Reply::accepted() } else { Reply::accepted().answer_on_channel("{}") }
        });
        let (listening, waiting) = (driver.listen("{}"), call(&mut driver));
        driver.run_until(100);
        driver.close();
        driver.run_until(1_000);
        assert!(driver.closed.contains(&(driver.sent[0].exchange, 100)));
        for call in [listening, waiting] {
            assert!(matches!(driver.failure_kind_of(call), FailureKind::Lost { .. }));
            assert_eq!(driver.end_of(call).unwrap().1, 100);
        }
        assert_eq!(driver.asked("GET").len(), 1);
        assert_eq!(driver.client.protocol_version(), None);
        driver.close();
        let before = driver.sent.len();
        let next = call(&mut driver);
        driver.run();
        driver.answer_of(next);
        assert_eq!(driver.sent[before].at, 1_000);
        assert_eq!(driver.whats()[before..], ["GET", "initialize", "notifications/initialized", "tools/list"]);
    }
}

/// `close` while the channel is being opened ends that, too.
#[test]
fn close_ends_a_handshake() {
    for manner in MANNERS {
        for closed_at in [5, 15] {
            let mut driver = ChannelDriver::new(STREAM, config(), manner, |sent, _| match &*sent.what() {
                "GET" => Reply::stream().after(10).body("event: endpoint\ndata: /m\n\n"),
                _ => Reply::accepted(),
            });
            let call = call(&mut driver);
            driver.run_until(closed_at);
            driver.close();
            driver.run();
            assert_eq!(driver.end_of(call).expect("an end").1, closed_at);
            assert!(!driver.failure_of(call).may_have_run());
            assert_eq!(driver.closed[0].1, closed_at);
        }
    }
}
