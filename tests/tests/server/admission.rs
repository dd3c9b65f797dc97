//! What a request of 2026-07-28 is refused with, and in which order (S2).

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::{ServerEvent, ServerLimits};
use mcp_sse_tests::server_driver::{HttpMessage, ServerDriver, config};
use serde_json::{Value, json};

fn call(arguments: Value) -> HttpMessage {
    HttpMessage::modern(7, "tools/call", json!({"name": "sql", "arguments": arguments}))
}

/// A server with one tool, whose parameters are mirrored.
fn driver() -> ServerDriver {
    let mut driver =
        ServerDriver::new(config().with_path("/mcp").with_limits(ServerLimits::default().with_max_body_bytes(2_000)));
    let dropped = driver.server.set_tools(
        r#"{"tools":[{"name":"sql","inputSchema":{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},"limit":{"type":"integer","x-mcp-header":"Limit"},
            "dry":{"type":"boolean","x-mcp-header":"Dry"},"query":{"type":"string"}}}},
            {"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}}]}"#,
    );
    assert_eq!(dropped.len(), 1, "a tool that no client will show is told of");
    driver
}

fn refused(request: &HttpMessage) -> (u16, i64) {
    let mut driver = driver();
    let reply = driver.exchange(request);
    assert!(driver.event().is_none(), "the embedder hears nothing of what is refused: {request:?}");
    assert_eq!(driver.server.exchange_count(), 0);
    (reply.status(), reply.code())
}

fn body(request: &HttpMessage) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// A change that makes a request wrong in one way.
type Wrong = (&'static str, fn(HttpMessage) -> HttpMessage, (u16, i64));

fn edit(request: HttpMessage, edit: impl FnOnce(&mut Value)) -> HttpMessage {
    let mut message = body(&request);
    edit(&mut message);
    request.with_body(message.to_string())
}

/// The order of S2: each entry is found before those that follow it.
const ORDER: &[Wrong] = &[
    ("origin", |request| request.with("Origin", "http://evil.example"), (403, -32600)),
    (
        "path",
        |mut request| {
            request.target = "/other".to_owned();
            request
        },
        (404, -32600),
    ),
    (
        "method",
        |mut request| {
            request.method = "PUT";
            request
        },
        (405, -32600),
    ),
    ("size", |request| request.with("Content-Length", "2001"), (413, -32600)),
    ("content type", |request| request.with("Content-Type", "text/plain"), (415, -32600)),
    ("accept", |request| request.with("Accept", "text/html, application/json;q=0.0"), (406, -32600)),
    ("json", |request| request.with_body("{\"jsonrpc\":"), (400, -32700)),
    ("shape", |request| edit(request, |message| message["method"] = json!(7)), (400, -32600)),
    ("version header missing", |request| request.without("MCP-Protocol-Version"), (400, -32020)),
    (
        "meta missing",
        |request| {
            edit(request, |message| {
                message["params"]["_meta"]
                    .as_object_mut()
                    .unwrap()
                    .remove("io.modelcontextprotocol/clientCapabilities");
            })
        },
        (400, -32602),
    ),
    ("header against meta", |request| request.with("MCP-Protocol-Version", "2099-01-01"), (400, -32020)),
    (
        "version unknown",
        |request| {
            let request = request.with("MCP-Protocol-Version", "2098-01-01");
            edit(request, |message| {
                message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2098-01-01");
            })
        },
        (400, -32022),
    ),
    ("method header", |request| request.with("Mcp-Method", "tools/list"), (400, -32020)),
    ("name header", |request| request.with("Mcp-Name", "other"), (400, -32020)),
    ("parameter header", |request| request.with("Mcp-Param-Region", "mars"), (400, -32020)),
];

/// S2: each fault alone, and with every fault that is looked for later.
#[test]
fn s2_each_refusal_has_its_status_and_code_and_comes_before_those_behind_it() {
    for (index, (name, wrong, expected)) in ORDER.iter().enumerate() {
        let request = wrong(call(json!({})));
        assert_eq!(refused(&request), *expected, "{name}");
        for (later, later_wrong, _) in &ORDER[index + 1..] {
            // A body that is no JSON cannot be edited, nor can what two edits of one place would undo.
            let undoes = matches!(
                (*name, *later),
                ("json" | "shape", _) | ("version header missing", "header against meta" | "version unknown")
            ) || matches!((*name, *later), ("header against meta", "version unknown"))
                || matches!(*later, "json" | "shape");
            if !undoes {
                assert_eq!(refused(&wrong(later_wrong(call(json!({}))))), *expected, "{name} before {later}");
            }
        }
    }
}

/// S2: unknown methods, and those that this revision has no more, are 404 with -32601; the id is echoed in its own type.
#[test]
fn s2_unknown_and_removed_methods_are_404_with_the_requests_id() {
    for (method, id) in
        [("initialize", json!(3)), ("ping", json!("3")), ("logging/setLevel", json!(9_007_199_254_740_993i64))]
    {
        let mut driver = driver();
        let reply = driver.exchange(&HttpMessage::modern(id.clone(), method, json!({})));
        assert_eq!((reply.status(), reply.code(), &reply.json()["id"]), (404, -32601, &id), "{method}");
    }
    let mut driver = ServerDriver::new(config().with_methods(["tools/list"]));
    assert_eq!(driver.exchange(&HttpMessage::modern(1, "nobody/knows", json!({}))).status(), 404);
    driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    driver.request();
}

/// S2: GET and DELETE are not of this revision; which methods are is said.
#[test]
fn s2_get_and_delete_are_405_with_allow() {
    for method in ["GET", "DELETE"] {
        let request = HttpMessage::new(method, "/mcp")
            .with("Accept", "text/event-stream")
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Session-Id", "ignored");
        let reply = driver().exchange(&request);
        assert_eq!((reply.status(), reply.header("Allow")), (405, Some("POST")));
        let mut modern = ServerDriver::new(config().with_versions(&[ProtocolVersion::V2026_07_28]));
        let reply = modern.exchange(&request.without("MCP-Protocol-Version"));
        assert_eq!((reply.status(), reply.header("Allow")), (405, Some("POST")));
    }
    let reply = driver().exchange(&HttpMessage::new("PATCH", "/mcp"));
    assert_eq!((reply.status(), reply.header("Allow")), (405, Some("GET, POST, DELETE")));
}

/// S2: a body of unknown length is stopped at the bound, and never held beyond it.
#[test]
fn s2_a_body_over_the_bound_is_413_when_it_passes_it() {
    let mut driver = driver();
    let now = driver.time();
    let id = driver.server.on_request(call(json!({})).head(), now);
    driver.server.on_body(id, &[b' '; 2_000], now);
    assert!(driver.server.wants_body(id));
    driver.server.on_body(id, b"x", now);
    assert!(!driver.server.wants_body(id));
    driver.server.on_body_end(id, now);
    assert_eq!(driver.pull(id).status(), 413);
}

/// S2: a drip of bytes does not hold a place for ever.
#[test]
fn s2_a_body_that_does_not_come_is_408() {
    let mut driver = driver();
    let id = driver.server.on_request(call(json!({})).head(), driver.time());
    driver.wait(29_999);
    driver.server.on_body(id, b"{", driver.time());
    assert!(driver.server.wants_body(id));
    driver.wait(1);
    assert_eq!(driver.pull(id).status(), 408);
}

/// S2.
#[test]
fn s2_a_coded_body_is_415_and_says_what_is_taken() {
    let reply = driver().exchange(&call(json!({})).with("Content-Encoding", "gzip"));
    assert_eq!((reply.status(), reply.header("Accept-Encoding")), (415, Some("identity")));
}

/// S2: what a client takes.
#[test]
fn s2_accept_must_take_json_and_event_streams() {
    for (accept, taken) in [
        ("application/json, text/event-stream", true),
        ("TEXT/Event-Stream;q=0.5 , application/json;v=1", true),
        ("*/*", true),
        ("application/*, text/*", true),
        ("application/json", false),
        ("text/event-stream", false),
        ("application/json, text/event-stream;q=0", false),
        ("text/html", false),
    ] {
        let mut driver = driver();
        let id = driver.give(&call(json!({})).with("Accept", accept));
        assert_eq!(driver.event().is_some(), taken, "{accept}");
        if !taken {
            assert_eq!(driver.pull(id).status(), 406, "{accept}");
        }
    }
    let mut driver = driver();
    driver.give(&call(json!({})).without("Accept"));
    driver.request();
}

/// S2: a version that nobody here speaks is answered with those that the request can be repeated under, as discovery tells
/// them: the earlier revisions want a handshake first.
#[test]
fn s2_an_unknown_version_is_told_which_there_are() {
    for requested in ["1900-01-01", "2099-12-31", "soon"] {
        let request = edit(call(json!({})).with("MCP-Protocol-Version", requested), |message| {
            message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(requested);
        });
        let reply = driver().exchange(&request);
        assert_eq!((reply.status(), reply.code()), (400, -32022));
        let data = &reply.json()["error"]["data"];
        assert_eq!(data["requested"], requested);
        let discovered = driver().exchange(&HttpMessage::modern(1, "server/discover", json!({})));
        assert_eq!(data["supported"], discovered.json()["result"]["supportedVersions"]);
        assert_eq!(data["supported"], json!(["2026-07-28"]));
    }
    let mut modern = ServerDriver::new(config().with_versions(&[ProtocolVersion::V2026_07_28]));
    let initialize = json!({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}});
    let reply = modern.exchange(&HttpMessage::post("/mcp", initialize.to_string()));
    assert_eq!(
        (reply.status(), reply.code()),
        (400, -32022),
        "who cannot know better is told which revisions there are"
    );
    assert_eq!(reply.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
}

/// S2: header values are trimmed, decoded, and compared as numbers where the body has a number.
#[test]
fn s2_mirrored_parameters_are_compared_by_what_they_mean() {
    let arguments = json!({"region": "Zürich 1", "limit": 42, "dry": false, "query": "x"});
    let good = call(arguments)
        .with("Mcp-Param-Region", "=?base64?WsO8cmljaCAx?=")
        .with("mcp-param-limit", " 42.0\t")
        .with("MCP-PARAM-DRY", "false");
    let mut driver = driver();
    driver.give(&good);
    driver.request();
    for (name, value) in [
        ("Mcp-Param-Region", "Zürich 1"),
        ("Mcp-Param-Region", "=?base64?WsO8cmljaCAx"),
        ("Mcp-Param-Region", "=?base64?%?="),
        ("Mcp-Param-Limit", "43"),
        ("Mcp-Param-Limit", "42x"),
        ("Mcp-Param-Dry", "FALSE"),
        ("Mcp-Param-Dry", ""),
    ] {
        assert_eq!(refused(&good.clone().with(name, value)), (400, -32020), "{name}: {value}");
    }
    for name in ["Mcp-Param-Region", "Mcp-Param-Limit", "Mcp-Param-Dry"] {
        assert_eq!(refused(&good.clone().without(name)), (400, -32020), "{name} is missing");
    }
}

/// S2: what is not in the arguments is in no header; headers that no tool asks for are nobody's.
#[test]
fn s2_headers_without_a_value_are_refused_and_unknown_ones_ignored() {
    assert_eq!(refused(&call(json!({"region": null})).with("Mcp-Param-Region", "null")), (400, -32020));
    let mut driver = driver();
    driver.give(&call(json!({"region": null})).with("Mcp-Param-Unknown", "x"));
    driver.request();
    let mut twice = call(json!({"region": "a"})).with("Mcp-Param-Region", "a");
    twice.headers.push(("Mcp-Param-Region".to_owned(), "b".to_owned()));
    assert_eq!(refused(&twice), (400, -32020));
}

/// S2: the name may be coded; one of a resource is its address.
#[test]
fn s2_mcp_name_mirrors_the_name_or_uri() {
    let read = HttpMessage::modern(1, "resources/read", json!({"uri": "file:///ä"}));
    let mut driver = driver();
    driver.give(&read.clone().with("Mcp-Name", "=?base64?ZmlsZTovLy/DpA==?="));
    driver.request();
    assert_eq!(refused(&read.clone().without("Mcp-Name")), (400, -32020));
    assert_eq!(refused(&call(json!({})).without("Mcp-Method")), (400, -32020));
    assert_eq!(refused(&call(json!({})).with("Mcp-Method", "TOOLS/CALL")), (400, -32020), "values are case-sensitive");
}

/// S2, and weak point 7 of such servers: an id that can be read is echoed in its own type, and none is made up.
#[test]
fn s2_malformed_messages_are_answered_under_their_own_id_or_none() {
    for (text, code, id) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"#, -32700, None),
        ("", -32700, None),
        ("\u{feff}{}", -32700, None),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, Some(json!(7))),
        (r#"{"jsonrpc":"2.0","id":"7","method":5}"#, -32600, Some(json!("7"))),
        (r#"{"jsonrpc":"1.0","id":7,"method":"a"}"#, -32600, Some(json!(7))),
        (r#"{"id":7,"method":"a"}"#, -32600, Some(json!(7))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0"}"#, -32600, None),
        ("7", -32600, None),
        // Weak point 6 of such servers: an array is never a reply, and never half executed.
        (r#"[200,{"content-type":"text/html"},["x"]]"#, -32600, None),
        ("[", -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600, None),
    ] {
        let mut driver = driver();
        let reply = driver.exchange(&call(json!({})).with_body(text));
        assert_eq!((reply.status(), reply.code()), (400, code), "{text}");
        assert_eq!(reply.json().get("id"), id.as_ref(), "{text}");
        assert!(driver.event().is_none());
    }
    let reply = driver().exchange(&call(json!({})).with_body(&b"{\"a\":\"\xff\"}"[..]));
    assert_eq!((reply.status(), reply.code()), (400, -32700));
}

/// S2: a refusal says nothing of what the peer wrote, but for the version that it asked for.
#[test]
fn s2_refusals_do_not_quote_the_peer() {
    for (_, wrong, _) in ORDER {
        let request =
            wrong(call(json!({"region": "SECRET"})).with("Mcp-Name", "SECRET").with("Mcp-Param-Region", "SECRET"));
        assert!(!driver().exchange(&request).text().contains("SECRET"));
    }
}

/// S2: a notification is taken with 202 and an empty body, and told.
#[test]
fn s2_a_notification_is_202_and_told() {
    let mut driver = driver();
    let message = json!({"jsonrpc": "2.0", "method": "notifications/custom", "params": {"a": 1}});
    let post = HttpMessage::post("/mcp", message.to_string()).with("MCP-Protocol-Version", "2026-07-28");
    let reply = driver.exchange(&post);
    assert_eq!((reply.status(), reply.text()), (202, ""));
    let Some(ServerEvent::Notification(told)) = driver.event() else { panic!("a notification") };
    assert_eq!((told.message.method(), told.session), (Some("notifications/custom"), None));
}

/// S2: what is asked for beyond the number of exchanges is refused and told to come again.
#[test]
fn s2_the_number_of_exchanges_is_bounded() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_exchanges(2)));
    let first = driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    let reply = driver.exchange(&HttpMessage::modern(1, "tools/list", json!({})));
    assert_eq!((reply.status(), reply.header("Retry-After")), (503, Some("1")));
    driver.leave(first);
    driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    assert_eq!(driver.server.call_count(), 2);
}
