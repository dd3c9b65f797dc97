//! The sessions of 2025-03-26 to 2025-11-25: how they begin, are named and end (S11, S9, PF-S03).

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::{CancelReason, ServerEvent, ServerLimits};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::{Value, json};

fn list(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
}

fn delete(session: &str) -> HttpMessage {
    HttpMessage::new("DELETE", "/mcp").with("Mcp-Session-Id", session)
}

/// S11: initialize negotiates, says who the server is, and gives the session's id.
#[test]
fn s11_initialize_negotiates_and_names_a_session() {
    for (asked, got) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut driver = ServerDriver::new(config().with_instructions("so"));
        let message = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": asked, "capabilities": {"roots": {}}}});
        let reply = driver.exchange(&HttpMessage::post("/mcp", message.to_string()));
        assert_eq!((reply.status(), reply.end), (200, End::Whole));
        let result = &reply.json()["result"];
        assert_eq!((&result["protocolVersion"], &result["instructions"]), (&json!(got), &json!("so")));
        assert_eq!((&result["serverInfo"]["name"], &reply.json()["id"]), (&json!("test"), &json!("i")));
        assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
        let session = reply.header("Mcp-Session-Id").unwrap().to_owned();
        let Some(ServerEvent::SessionOpened { .. }) = driver.event() else { panic!("a session") };

        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = driver.exchange(&HttpMessage::in_session(&session, &told).with("MCP-Protocol-Version", got));
        assert_eq!((reply.status(), reply.text()), (202, ""));
        let Some(ServerEvent::Notification(told)) = driver.event() else { panic!("a notification") };
        assert_eq!((told.version.as_str(), told.session.is_some()), (got, true));

        let id = driver.give(&HttpMessage::in_session(&session, &list(1)));
        let request = driver.request();
        assert_eq!((request.version.as_str(), request.client_capabilities()), (got, r#"{"roots":{}}"#));
        driver.answer(request.call);
        let reply = driver.pull(id);
        assert_eq!(
            reply.json(),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"ok": true}}),
            "and nothing of later revisions"
        );
    }
}

/// S11, PF-S03: the rows.
#[test]
fn s11_a_session_is_named_by_its_id_and_by_nothing_else() {
    let mut driver = ServerDriver::default();
    let s1 = driver.initialize_as("2025-11-25", Some("alice"));
    let key = driver.last_session();
    let mut expect = |request: &HttpMessage, status: u16| {
        let reply = driver.exchange(request);
        assert_eq!(reply.status(), status, "{request:?}");
        assert!(driver.server.sessions().any(|known| known == key), "S1 lives");
        reply
    };
    let in_session = |session: &str| HttpMessage::in_session(session, &list(1)).of("alice");
    let get = |session: &str| {
        HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", session)
    };
    let unknown = expect(&in_session("0123456789abcdef0123456789abcdef"), 404);
    let unknown_of_right_length = expect(&in_session(&"0".repeat(48)), 404);
    let mut altered = s1.clone();
    let last = if altered.pop() == Some('0') { '1' } else { '0' };
    altered.push(last);
    let almost = expect(&in_session(&altered), 404);
    assert_eq!(unknown.text(), almost.text());
    assert_eq!(unknown.text(), unknown_of_right_length.text());
    expect(&in_session(&s1).without("Mcp-Session-Id"), 400);
    let foreign = expect(&in_session(&s1).of("mallory"), 404);
    assert_eq!(foreign.text(), unknown.text(), "another's session is as good as none");
    let mut nobody = in_session(&s1);
    nobody.principal = None;
    expect(&nobody, 404);
    expect(&get(&s1).with("Last-Event-ID", "1-1").of("mallory"), 404);
    expect(&delete(&s1).of("mallory"), 404);
    expect(&in_session(&"a".repeat(64 << 10)), 404);
    expect(&in_session(&s1.to_uppercase()), if s1.to_uppercase() == s1 { 200 } else { 404 });
    expect(&HttpMessage::new("DELETE", "/mcp").of("alice"), 400);
    let mut as_channel = HttpMessage::post(&format!("/mcp?session_id={s1}"), list(1).to_string());
    as_channel.principal = Some("alice");
    expect(&as_channel, 404);
    assert!(!driver.events.iter().any(|event| matches!(event, ServerEvent::Request(_))), "no handler heard of any");
}

/// S11: ids are 192 bits of what the adapter drew, visible, and never the same.
#[test]
fn s11_ids_are_random_visible_and_unique() {
    let mut driver = ServerDriver::default();
    let ids: BTreeSet<String> = (0..10_000).map(|_| driver.initialize("2025-11-25")).collect();
    assert_eq!(ids.len(), 10_000);
    assert!(ids.iter().all(|id| id.len() == 48 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

/// S11: without random bytes there is no session, and no weak one either; bytes are used once.
#[test]
fn s11_without_random_bytes_no_session_is_opened() {
    let mut driver = ServerDriver::default();
    let initialize =
        HttpMessage::post("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string());
    let mut open = |bytes: &[u8]| {
        driver.server.add_entropy(bytes);
        let now = driver.time();
        let id = driver.server.on_request(initialize.head(), now);
        driver.server.on_body(id, &initialize.body, now);
        driver.server.on_body_end(id, now);
        driver.pull(id).clone()
    };
    assert_eq!(open(&[]).status(), 503);
    assert_eq!(open(&[7; 23]).status(), 503);
    let reply = open(&[7; 1]);
    assert_eq!(reply.header("Mcp-Session-Id"), Some(&*"07".repeat(24)));
    assert_eq!(open(&[7; 23]).status(), 503, "the first are used up");
    assert_eq!(open(&[7; 1]).status(), 503, "and what would be the same id is none");
}

/// S11: DELETE ends a session for good; its calls are cancelled, its streams end.
#[test]
fn s11_delete_ends_a_session_and_all_that_is_of_it() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let other = driver.initialize("2025-11-25");
    let listening = driver
        .give(&HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", &session));
    driver.pull(listening);
    let call_exchange = driver.give(&HttpMessage::in_session(&session, &list(1)));
    let call = driver.request().call;
    let reply = driver.exchange(&delete(&session));
    assert_eq!((reply.status(), reply.text()), (204, ""));
    let mut cancelled = Vec::new();
    let mut ended = 0;
    while let Some(event) = driver.event() {
        match event {
            ServerEvent::Cancelled { call, reason } => cancelled.push((call, reason)),
            ServerEvent::SessionEnded { .. } => ended += 1,
            _ => {}
        }
    }
    assert_eq!((cancelled, ended), (vec![(call, CancelReason::SessionEnded)], 1));
    assert_eq!(driver.pull(listening).end, End::Whole);
    assert_eq!(driver.pull(call_exchange).end, End::Whole, "it ends without an answer");
    assert_eq!(driver.exchange(&HttpMessage::in_session(&session, &list(2))).status(), 404);
    assert_eq!(driver.exchange(&delete(&session)).status(), 404);
    assert_eq!((driver.server.exchange_count(), driver.server.stream_count()), (0, 0));
    driver.give(&HttpMessage::in_session(&other, &list(1)));
    driver.request();
}

/// S11: a revision that the header names and nobody speaks here is 400; none at all is the one that was negotiated.
#[test]
fn s11_the_version_header_is_checked() {
    let mut driver = ServerDriver::new(config().with_versions(&[
        ProtocolVersion::V2025_06_18,
        ProtocolVersion::V2025_11_25,
        ProtocolVersion::V2024_11_05,
    ]));
    let session = driver.initialize("2025-06-18");
    for version in ["2025-03-26", "2024-11-05", "1900-01-01", "x", ""] {
        let post = HttpMessage::in_session(&session, &list(1)).with("MCP-Protocol-Version", version);
        assert_eq!(driver.exchange(&post).status(), 400, "{version}");
    }
    for version in ["2025-06-18", "2025-11-25"] {
        driver.give(&HttpMessage::in_session(&session, &list(1)).with("MCP-Protocol-Version", version));
        assert_eq!(driver.request().version, ProtocolVersion::V2025_06_18);
    }
}

/// S11: an error of a request is an answer under 200: 404 would say that the session is gone.
#[test]
fn s11_errors_of_requests_are_answers() {
    let mut driver = ServerDriver::new(config().with_methods(["tools/list"]));
    let session = driver.initialize("2025-11-25");
    let ask = |method: &str| json!({"jsonrpc": "2.0", "id": "q", "method": method});
    for (method, code) in [("nobody/knows", -32601), ("initialize", -32600), ("server/discover", -32601)] {
        let reply = driver.exchange(&HttpMessage::in_session(&session, &ask(method)));
        assert_eq!((reply.status(), reply.code(), &reply.json()["id"]), (200, code, &json!("q")), "{method}");
    }
    let reply = driver.exchange(&HttpMessage::in_session(&session, &ask("ping")));
    assert_eq!((reply.status(), reply.json()["result"].clone()), (200, json!({})));
    let id = driver.give(&HttpMessage::in_session(&session, &ask("tools/list")));
    let call = driver.request().call;
    driver.server.respond(call, mcp_sse_core::server::ServerAnswer::method_not_found(), driver.time()).unwrap();
    assert_eq!(driver.pull(id).status(), 200);
}

/// S11: a session that nobody uses is not kept for ever; one that is used, is.
#[test]
fn s11_sessions_that_were_left_are_ended() {
    let limits = ServerLimits::default().with_session_timeout(Duration::from_secs(60));
    let mut driver = ServerDriver::new(config().with_limits(limits));
    let left = driver.initialize("2025-11-25");
    let used = driver.initialize("2025-11-25");
    let read = driver.initialize("2025-11-25");
    let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", &read);
    let stream = driver.give(&get);
    for _ in 0..6 {
        driver.wait(20_000);
        driver.pull(stream);
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        driver.exchange(&HttpMessage::in_session(&used, &ping));
    }
    assert_eq!(driver.server.sessions().count(), 2);
    assert_eq!(driver.exchange(&HttpMessage::in_session(&left, &list(1))).status(), 404);
    driver.leave(stream);
    driver.wait(121_000);
    assert_eq!((driver.server.sessions().count(), driver.server.stream_count()), (0, 0));
}

/// S11: the number of sessions, and of requests of one session, is bounded.
#[test]
fn s11_sessions_and_their_requests_are_bounded() {
    let limits = ServerLimits::default().with_max_sessions(2).with_max_calls_per_session(2);
    let mut driver = ServerDriver::new(config().with_limits(limits));
    let first = driver.initialize("2025-11-25");
    let second = driver.initialize("2025-11-25");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    assert_eq!(driver.exchange(&HttpMessage::post("/mcp", initialize.to_string())).status(), 503);
    driver.exchange(&delete(&first));
    driver.initialize("2025-11-25");
    for id in 0..3 {
        let exchange = driver.give(&HttpMessage::in_session(&second, &list(id)));
        let is_refused = driver.pull(exchange).head.as_ref().is_some_and(|head| head.status == 503);
        assert_eq!(is_refused, id == 2);
    }
}

/// PF-S07: a disconnect is no cancel here; a cancellation names an id of its own session, in its own type.
#[test]
fn s4_only_a_cancellation_cancels_and_only_in_its_own_session() {
    let cancel =
        |id: Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let other = driver.initialize("2025-11-25");
    let id = driver.give(&HttpMessage::in_session(&session, &list(1)));
    let call = driver.request().call;
    for (session, named) in [(&session, json!("1")), (&session, json!(2)), (&other, json!(1)), (&session, json!({}))] {
        assert_eq!(driver.exchange(&HttpMessage::in_session(session, &cancel(named))).status(), 202);
        assert!(driver.cancelled().is_empty());
    }
    assert_eq!(driver.exchange(&HttpMessage::in_session(&session, &cancel(json!(1.0)))).status(), 202);
    let Some(ServerEvent::Cancelled { call: cancelled, reason }) = driver.event() else { panic!("cancelled") };
    assert_eq!((cancelled, reason), (call, CancelReason::Asked));
    let reply = driver.pull(id);
    assert_eq!((reply.end, reply.messages().len()), (End::Whole, 0), "the stream ends without an answer");

    let kept = driver.server.stream_count();
    let gone = driver.give(&HttpMessage::in_session(&session, &list(3)));
    let call = driver.request().call;
    driver.leave(gone);
    assert!(driver.cancelled().is_empty() && driver.server.is_open(call), "the handler goes on");
    driver.answer(call);
    assert_eq!(driver.server.stream_count(), kept, "an answer that nobody can come back for is not kept");
}

/// Weak point 2 of such servers: a second client's initialize is its own affair.
#[test]
fn s9_a_second_initialize_disturbs_nobody() {
    let mut driver = ServerDriver::default();
    let first = driver.initialize("2025-11-25");
    let second = driver.initialize("2025-03-26");
    assert_ne!(first, second);
    let again = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    assert_eq!(driver.exchange(&HttpMessage::in_session(&second, &again)).code(), -32600);
    for session in [&first, &second] {
        driver.give(&HttpMessage::in_session(session, &list(1)));
        driver.request();
    }
}

/// S11: what is kept as long as a session is bounded, and what does not fit is refused, not cut.
#[test]
fn s11_what_a_session_keeps_is_bounded() {
    let limits = ServerLimits::default()
        .with_max_capabilities_bytes(100)
        .with_max_subscribed_resources(1)
        .with_max_uri_bytes(20);
    let mut driver = ServerDriver::new(config().with_limits(limits));
    let large =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {"x": "y".repeat(100)}}});
    let reply = driver.exchange(&HttpMessage::post("/mcp", large.to_string()));
    assert_eq!((reply.status(), reply.code(), driver.server.sessions().count()), (400, -32602, 0));
    let (channel, endpoint) = driver.open_channel();
    driver.exchange(&HttpMessage::post(&endpoint, large.to_string()));
    assert_eq!(driver.pull(channel).messages()[0]["error"]["code"], -32602);

    let session = driver.initialize("2025-11-25");
    let subscribe = |uri: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": uri}});
        HttpMessage::in_session(&session, &message)
    };
    assert_eq!(driver.exchange(&subscribe(&"x".repeat(20))).code(), -32602);
    driver.give(&subscribe("file:///a"));
    let call = driver.request().call;
    driver.answer(call);
    assert_eq!(driver.exchange(&subscribe("file:///b")).code(), -32602);
}
