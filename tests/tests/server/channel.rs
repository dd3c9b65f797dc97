//! The sessions of 2024-11-05 (S7), and the weak points of servers like it.

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::{CancelReason, SendError, ServerAnswer, ServerEvent, ServerLimits};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::{Value, json};

fn get() -> HttpMessage {
    HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream")
}

/// A POST as clients of this revision make it: they say nothing of what they accept.
fn post(target: &str, message: &Value) -> HttpMessage {
    HttpMessage::post(target, message.to_string()).without("Accept")
}

fn ask(id: impl Into<Value>, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method})
}

/// S7, T144, T145: the first event says where messages go, each session under its own id.
#[test]
fn s7_get_opens_a_session_that_says_where_messages_go() {
    let mut driver = ServerDriver::default();
    let (first, endpoint) = driver.open_channel();
    let (_, other) = driver.open_channel();
    assert_ne!(endpoint, other);
    let id = endpoint.strip_prefix("/mcp?session_id=").unwrap();
    assert!(id.len() == 48 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let stream = driver.pull(first);
    assert_eq!(stream.text(), format!("event: endpoint\ndata: ?session_id={id}\n\n"));
    assert_eq!((stream.header("Cache-Control"), stream.header("X-Accel-Buffering")), (Some("no-cache"), Some("no")));
    assert!(stream.is_stream());
}

/// Weak point 11 of such servers: a mount prefix is in nobody's way, since the reference is relative.
#[test]
fn s7_the_endpoint_is_relative_so_that_every_mount_leads_to_it() {
    for (message_path, base, expected) in [
        (None, "https://h.example/api/v1/mcp?x=1", "https://h.example/api/v1/mcp?session_id="),
        (Some("messages"), "https://h.example/api/sse", "https://h.example/api/messages?session_id="),
    ] {
        let config = match message_path {
            Some(path) => config().with_message_path(path),
            None => config(),
        };
        let mut driver = ServerDriver::new(config);
        let id = driver.give(&get());
        let endpoint = driver.pull(id).events().remove(0).1;
        // As a client resolves it.
        let base = mcp_sse_core::client::Endpoint::parse(base).unwrap();
        let resolved = base.resolve(&endpoint).unwrap();
        assert!(resolved.as_str().starts_with(expected), "{}", resolved.as_str());
        let target = expected.strip_prefix("https://h.example").unwrap();
        let target = format!("{target}{}", endpoint.split_once('=').unwrap().1);
        assert_eq!(driver.exchange(&post(&target, &ask(1, "ping"))).status(), 202, "the query does not hide the route");
    }
}

/// S7, T147, weak points 4 and 13: 202 at once with an empty body, before anybody hears of the request.
#[test]
fn s7_a_post_is_202_with_an_empty_body_and_the_answer_comes_after_it_on_the_stream() {
    let mut driver = ServerDriver::default();
    let (stream, endpoint) = driver.open_channel();
    driver.cancelled();
    let id = driver.give(&post(&endpoint, &ask("q", "tools/list")));
    assert!(driver.event().is_none(), "nobody can answer before the 202 is handed out");
    let ping = driver.give(&post(&endpoint, &ask(2, "ping")));
    assert_eq!(driver.pull(stream).messages().len(), 0, "not even the server itself");
    let reply = driver.pull(id);
    assert_eq!((reply.status(), reply.text(), reply.end), (202, "", End::Whole));
    assert_eq!(reply.header("Content-Type"), None);
    let call = driver.request().call;
    driver.answer(call);
    driver.pull(ping);
    let ids: Vec<_> = driver.pull(stream).messages().iter().map(|message| message["id"].clone()).collect();
    assert_eq!(ids, [json!("q"), json!(2)]);
    assert_eq!(driver.pull(stream).end, End::Open);
}

/// S7: who posts and goes before the 202 has asked all the same: the request was whole.
#[test]
fn s7_a_poster_that_leaves_before_the_202_has_asked() {
    let mut driver = ServerDriver::default();
    let (_, endpoint) = driver.open_channel();
    let id = driver.give(&post(&endpoint, &ask(1, "tools/list")));
    driver.leave(id);
    driver.request();
}

/// S7, T146: missing 400, unknown 404, and nothing is queued for nobody.
#[test]
fn s7_sessions_must_be_named_and_known() {
    let mut driver = ServerDriver::new(config().with_message_path("messages"));
    let id = driver.give(&get());
    let endpoint = driver.pull(id).events().remove(0).1;
    let target = format!("/{endpoint}");
    let list = ask(1, "tools/list");
    assert_eq!(driver.exchange(&post("/messages", &list)).status(), 400);
    assert_eq!(driver.exchange(&post("/messages?session=1", &list)).status(), 400);
    assert_eq!(driver.exchange(&post("/messages?session_id=nope", &list)).status(), 404);
    assert_eq!(driver.exchange(&post("/messages?session_id", &list)).status(), 404);
    for (method, allow) in [("GET", "POST"), ("DELETE", "POST"), ("PUT", "POST")] {
        let reply = driver.exchange(&HttpMessage::new(method, &target).with("Accept", "text/event-stream"));
        assert_eq!((reply.status(), reply.header("Allow")), (405, Some(allow)), "T143");
    }
    driver.leave(id);
    assert_eq!(driver.exchange(&post(&target, &list)).status(), 404, "the session went with its stream");
    assert!(!driver.events.iter().any(|event| matches!(event, ServerEvent::Request(_))));
}

/// Weak points 5, 6 and 7: each error comes by one way, under the request's own id, and arrays are never replies.
#[test]
fn s7_each_error_comes_by_one_way() {
    let mut driver = ServerDriver::new(config().with_methods(["tools/list"]));
    let (stream, endpoint) = driver.open_channel();
    // What is no message has no other place than the response to its POST.
    for (body, code) in
        [("{", -32700), ("[1,2,3]", -32600), (r#"[200,{},["x"]]"#, -32600), (r#"{"jsonrpc":"2.0","id":9}"#, -32600)]
    {
        let reply = driver.exchange(&post(&endpoint, &json!(null)).with_body(body));
        assert_eq!((reply.status(), reply.code()), (400, code), "{body}");
        assert_eq!(reply.json().get("id"), (body.contains("\"id\":9")).then(|| json!(9)).as_ref());
    }
    assert_eq!(driver.pull(stream).messages().len(), 0);
    // What answers a request comes on the stream, and nothing of it in the response to the POST.
    let reply = driver.exchange(&post(&endpoint, &ask(7, "nobody/knows")));
    assert_eq!((reply.status(), reply.text()), (202, ""));
    driver.exchange(&post(&endpoint, &ask(8, "tools/list")));
    let call = driver.request().call;
    driver.server.respond(call, ServerAnswer::invalid_params("no"), driver.time()).unwrap();
    let messages = driver.pull(stream).messages();
    let errors: Vec<_> =
        messages.iter().map(|message| (message["id"].clone(), message["error"]["code"].clone())).collect();
    assert_eq!(errors, [(json!(7), json!(-32601)), (json!(8), json!(-32602))]);
}

/// S7: initialize comes on the stream; a client of a later revision that uses this transport gets that revision.
#[test]
fn s7_initialize_negotiates_on_the_stream() {
    for (asked, got) in [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25")] {
        let mut driver = ServerDriver::default();
        let (stream, endpoint) = driver.open_channel();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": asked}});
        assert_eq!(driver.exchange(&post(&endpoint, &message)).status(), 202);
        assert_eq!(driver.pull(stream).messages()[0]["result"]["protocolVersion"], got);
        driver.exchange(&post(&endpoint, &ask(2, "tools/list")));
        assert_eq!(driver.request().version.as_str(), got);
        driver.exchange(&post(&endpoint, &message));
        let messages = driver.pull(stream).messages();
        assert_eq!(messages[1]["error"]["code"], -32600, "weak point 2: once");
    }
}

/// Weak point 8: what the server asked is answered by a POST.
#[test]
fn s7_answers_from_the_client_are_accepted() {
    let mut driver = ServerDriver::default();
    let (stream, endpoint) = driver.open_channel();
    let session = driver.last_session();
    let asked = driver.server.ask_session(session, "roots/list", Some("{}"), driver.time()).unwrap();
    let id = driver.pull(stream).messages()[0]["id"].clone();
    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"roots": []}});
    let reply = driver.exchange(&post(&endpoint, &answer));
    assert_eq!((reply.status(), reply.text()), (202, ""));
    assert_eq!(driver.reply_to(asked).result(), Some(r#"{"roots":[]}"#));
    // A second answer, and one that nobody asked for, are taken and told to nobody.
    assert_eq!(driver.exchange(&post(&endpoint, &answer)).status(), 202);
    assert!(driver.event().is_none());
}

/// S7: the end of the stream is the end of the session and of its calls.
#[test]
fn s7_the_end_of_the_stream_is_the_end_of_the_session() {
    let mut driver = ServerDriver::default();
    let (stream, endpoint) = driver.open_channel();
    driver.exchange(&post(&endpoint, &ask(1, "tools/list")));
    let call = driver.request().call;
    driver.leave(stream);
    let Some(ServerEvent::Cancelled { call: cancelled, reason }) = driver.event() else { panic!("cancelled") };
    assert_eq!((cancelled, reason), (call, CancelReason::SessionEnded));
    assert!(matches!(driver.event(), Some(ServerEvent::SessionEnded { .. })));
    assert_eq!(driver.server.respond(call, ServerAnswer::result("{}"), driver.time()), Err(SendError::Ended));
    assert_eq!(
        (driver.server.exchange_count(), driver.server.stream_count(), driver.server.sessions().count()),
        (0, 0, 0)
    );
    assert_eq!(driver.server.poll_timeout(), None);
}

/// S7: a cancellation is heard here too.
#[test]
fn s4_a_cancellation_on_a_channel_is_heard() {
    let mut driver = ServerDriver::default();
    let (stream, endpoint) = driver.open_channel();
    driver.exchange(&post(&endpoint, &ask(1, "tools/list")));
    let call = driver.request().call;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(driver.exchange(&post(&endpoint, &cancel)).status(), 202);
    assert_eq!(driver.cancelled(), [call]);
    assert_eq!((driver.pull(stream).messages().len(), driver.pull(stream).end), (0, End::Open));
}

/// Weak points 9 and 10: keep-alives, and a bounded queue; PF-S06 "legacy-202-then-full".
#[test]
fn s5_a_post_whose_answer_would_have_no_room_is_refused_instead() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_queue_messages(3)));
    let (stream, endpoint) = driver.open_channel();
    let session = driver.last_session();
    for _ in 0..2 {
        driver.server.send(session, "notifications/custom", None, driver.time()).unwrap();
    }
    assert_eq!(driver.exchange(&post(&endpoint, &ask(1, "tools/list"))).status(), 202);
    let call = driver.request().call;
    let full = driver.server.send(session, "notifications/custom", None, driver.time());
    assert!(matches!(full, Err(SendError::Full { .. })), "the answer's place is not given away");
    for method in ["tools/list", "ping"] {
        let reply = driver.exchange(&post(&endpoint, &ask(2, method)));
        assert_eq!((reply.status(), reply.header("Retry-After")), (503, Some("1")), "{method}");
    }
    assert!(driver.event().is_none(), "no handler was called");
    driver.answer(call);
    assert_eq!(driver.pull(stream).messages().len(), 3);
    assert_eq!(driver.exchange(&post(&endpoint, &ask(2, "tools/list"))).status(), 202);
    driver.wait(15_000);
    driver.pull(stream);
    driver.wait(15_000);
    assert!(driver.pull(stream).text().ends_with(":\n\n"));
}

/// Half-open clients do not live for ever: one that takes nothing is cut, and so its session ends.
#[test]
fn s5_a_channel_whose_reader_takes_nothing_is_cut() {
    let mut driver = ServerDriver::default();
    let (stream, _) = driver.open_channel();
    driver.wait(14_000);
    driver.wait(61_001);
    assert_eq!(driver.server.sessions().count(), 0);
    assert_eq!(driver.pull(stream).end, End::Cut);
}

/// S7: the channel is not offered where 2024-11-05 is not spoken.
#[test]
fn s7_without_2024_11_05_there_is_no_channel() {
    let mut driver = ServerDriver::new(config().with_versions(&[ProtocolVersion::V2025_11_25]));
    assert_eq!(driver.exchange(&get()).status(), 400);
    let mut driver = ServerDriver::new(config().with_versions(&[ProtocolVersion::V2026_07_28]));
    assert_eq!(driver.exchange(&get()).status(), 405);
    let mut driver = ServerDriver::new(config().with_versions(&[ProtocolVersion::V2024_11_05]));
    driver.open_channel();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    assert_eq!(
        driver.exchange(&post("/mcp", &initialize).with("Accept", "*/*")).status(),
        400,
        "a client looks for a channel then"
    );
    assert_eq!(driver.exchange(&HttpMessage::modern(1, "tools/list", json!({}))).status(), 400);
}
