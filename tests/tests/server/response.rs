//! The response to one request of 2026-07-28 (S3).

use mcp_sse_core::server::{SendError, Sent, ServerAnswer};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::{Value, json};

fn call(params: Value) -> HttpMessage {
    HttpMessage::modern("a", "tools/call", params)
}

fn with_token() -> HttpMessage {
    call(json!({"name": "x", "_meta": {"progressToken": "t"}}))
}

/// S3: an answer that nothing comes before is one JSON body.
#[test]
fn s3_an_answer_alone_is_a_json_body() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&call(json!({"name": "x"})));
    assert!(driver.pull(id).head.is_none(), "nothing is said before it is known how");
    let request = driver.request();
    assert_eq!((request.method(), request.version.as_str()), ("tools/call", "2026-07-28"));
    driver.answer(request.call);
    let reply = driver.pull(id);
    assert_eq!((reply.status(), reply.end), (200, End::Whole));
    assert_eq!(
        reply.json(),
        json!({"jsonrpc": "2.0", "id": "a", "result": {"resultType": "complete", "ok": true,
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1.0.0"}}}})
    );
    assert_eq!((driver.server.exchange_count(), driver.server.call_count(), driver.server.stream_count()), (0, 0, 0));
}

/// S3: what comes before the answer makes it a stream, which proxies pass on at once and which ends with the answer.
#[test]
fn s3_progress_before_the_answer_makes_it_a_stream_that_ends_with_it() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&with_token());
    let request = driver.request();
    let now = driver.time();
    assert_eq!(driver.server.progress(request.call, 0.5, Some(2.0), Some("half\nway"), now), Ok(Sent::Queued));
    let reply = driver.pull(id);
    assert!(reply.is_stream() && reply.end == End::Open);
    assert_eq!((reply.header("Cache-Control"), reply.header("X-Accel-Buffering")), (Some("no-cache"), Some("no")));
    assert_eq!(
        reply.messages()[0]["params"],
        json!({"progressToken": "t", "progress": 0.5, "total": 2, "message": "half\nway"})
    );
    driver.server.notify(request.call, "notifications/custom", Some("{\n}"), now).unwrap();
    driver.answer(request.call);
    let reply = driver.pull(id);
    let methods: Vec<_> =
        reply.messages().iter().map(|message| message["method"].as_str().map(str::to_owned)).collect();
    assert_eq!(methods, [Some("notifications/progress".into()), Some("notifications/custom".into()), None]);
    assert_eq!((reply.end, &reply.messages()[2]["id"]), (End::Whole, &json!("a")));
    assert!(reply.events().iter().all(|(id, _)| id.is_empty()), "this revision resumes nothing");
}

/// S3: nothing after the answer.
#[test]
fn s3_nothing_follows_the_answer() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&with_token());
    let call = driver.request().call;
    let now = driver.time();
    driver.server.stream(call, now).unwrap();
    driver.answer(call);
    assert_eq!(driver.server.notify(call, "notifications/custom", None, now), Err(SendError::Ended));
    assert_eq!(driver.server.progress(call, 1.0, None, None, now), Err(SendError::Ended));
    assert_eq!(driver.server.respond(call, ServerAnswer::internal_error(), now), Err(SendError::Ended));
    assert_eq!(driver.server.stream(call, now), Err(SendError::Ended));
    assert_eq!(driver.pull(id).messages().len(), 1);
}

/// S3: errors that the specification names a status for bear it; others are answers like any.
#[test]
fn s3_an_error_alone_has_the_status_of_its_code() {
    for (answer, status) in [
        (ServerAnswer::method_not_found(), 404),
        (ServerAnswer::missing_capability(r#"{"sampling":{}}"#), 400),
        (ServerAnswer::invalid_params("no such tool"), 200),
        (ServerAnswer::internal_error(), 200),
        (ServerAnswer::error_with_data(-1, "own", "[1]"), 200),
    ] {
        let mut driver = ServerDriver::default();
        let id = driver.give(&call(json!({"name": "x"})));
        let name = driver.request().call;
        driver.server.respond(name, answer, driver.time()).unwrap();
        assert_eq!(driver.pull(id).status(), status);
    }
    let mut driver = ServerDriver::default();
    let id = driver.give(&call(json!({"name": "x"})));
    let name = driver.request().call;
    driver.server.respond(name, ServerAnswer::missing_capability(r#"{"sampling":{}}"#), driver.time()).unwrap();
    let error = driver.pull(id).json()["error"].clone();
    assert_eq!((&error["code"], &error["data"]), (&json!(-32021), &json!({"requiredCapabilities": {"sampling": {}}})));
}

/// S3: what the embedder says of a result is kept, and only what is missing is added.
#[test]
fn s3_a_result_is_completed_and_not_overwritten() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&call(json!({"name": "x"})));
    let name = driver.request().call;
    let result = r#"{"resultType":"input_required","_meta":{"own":1},"big":12345678901234567890}"#;
    driver.server.respond(name, ServerAnswer::result(result), driver.time()).unwrap();
    let text = driver.pull(id).text().to_owned();
    assert!(text.contains("12345678901234567890"), "values go through as they came");
    let reply = driver.pull(id).json();
    assert_eq!(reply["result"]["resultType"], "input_required");
    assert_eq!(reply["result"]["_meta"]["own"], 1);
    assert_eq!(reply["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "test");
}

/// S3: what is no JSON object is refused to the embedder, and the call can still be answered (T150).
#[test]
fn s3_what_is_no_json_is_refused_to_its_sender_and_the_call_lives_on() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&call(json!({"name": "x"})));
    let name = driver.request().call;
    let now = driver.time();
    for bad in ["", "{", "[]", "{}x", "null"] {
        assert_eq!(driver.server.respond(name, ServerAnswer::result(bad), now), Err(SendError::NotAnObject));
        assert_eq!(driver.server.notify(name, "notifications/a", Some(bad), now), Err(SendError::NotAnObject));
    }
    let bad = ServerAnswer::error_with_data(1, "x", "{");
    assert_eq!(driver.server.respond(name, bad, now), Err(SendError::NotAnObject));
    driver.answer(name);
    assert_eq!(driver.pull(id).status(), 200);
}

/// S3: a stream that is silent says that it lives, so that nobody between takes it for dead; so does a call that takes long.
#[test]
fn s3_keep_alives_come_on_a_timer_and_messages_put_them_off() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&with_token());
    let call = driver.request().call;
    driver.wait(14_999);
    assert!(driver.pull(id).head.is_none());
    driver.wait(1);
    assert!(driver.pull(id).is_stream(), "after a while there is a stream to keep alive");
    driver.wait(15_000);
    assert_eq!(driver.pull(id).text(), ":\n\n");
    driver.wait(10_000);
    driver.server.progress(call, 1.0, None, None, driver.time()).unwrap();
    driver.pull(id);
    driver.wait(14_000);
    assert!(!driver.pull(id).text().ends_with(":\n\n"), "what was said counts");
    driver.wait(1_000);
    assert!(driver.pull(id).text().ends_with(":\n\n"));
    driver.answer(call);
    driver.wait(14_000);
    driver.pull(id);
    driver.wait(100_000);
    let reply = driver.pull(id);
    assert_eq!((reply.end, reply.text().matches(":\n\n").count()), (End::Whole, 2), "and none after the answer");
}

/// S3: by the embedder's choice every answer comes on a stream.
#[test]
fn s3_streams_can_be_asked_for() {
    let mut driver = ServerDriver::new(config().with_always_streams(true));
    let id = driver.give(&call(json!({"name": "x"})));
    let known = driver.request().call;
    driver.answer(known);
    let reply = driver.pull(id);
    assert!(reply.is_stream());
    assert_eq!((reply.messages().len(), reply.end), (1, End::Whole));
}

/// S2, S3: an error that has a status of its own is answered with it, also where streams were asked for, since a stream has
/// begun with 200. Once one has begun, the error comes on it.
#[test]
fn s3_an_error_with_a_status_of_its_own_needs_no_stream() {
    let mut driver = ServerDriver::new(config().with_always_streams(true));
    for (answer, status) in [
        (ServerAnswer::method_not_found(), 404),
        (ServerAnswer::missing_capability(r#"{"sampling":{}}"#), 400),
        (ServerAnswer::invalid_params("no"), 200),
    ] {
        let id = driver.give(&with_token());
        let known = driver.request().call;
        let now = driver.time();
        driver.server.respond(known, answer.clone(), now).expect("it is answered");
        let reply = driver.pull(id);
        assert_eq!((reply.status(), reply.is_stream(), reply.end), (status, status == 200, End::Whole));
        let begun = driver.give(&with_token());
        let known = driver.request().call;
        driver.server.progress(known, 1.0, None, None, now).expect("it is told");
        driver.server.respond(known, answer, now).expect("it is answered");
        let reply = driver.pull(begun);
        assert!(reply.is_stream() && reply.messages()[1]["error"].is_object(), "the status is spent");
    }
}

/// Logs go to who asked for them in the request, from the level that was asked for (2026-07-28, "Logging").
#[test]
fn s3_logs_go_to_who_asked_for_their_level() {
    let log = |driver: &mut ServerDriver, call, level: &str| {
        let params = json!({"level": level, "data": "x"}).to_string();
        driver.server.notify(call, "notifications/message", Some(&params), driver.time())
    };
    let mut driver = ServerDriver::default();
    driver.give(&call(json!({"name": "x"})));
    let silent = driver.request().call;
    assert_eq!(log(&mut driver, silent, "emergency"), Ok(Sent::Unwanted));
    assert_eq!(driver.server.progress(silent, 1.0, None, None, driver.time()), Ok(Sent::Unwanted));
    driver.give(&call(json!({"name": "x", "_meta": {"io.modelcontextprotocol/logLevel": "warning"}})));
    let asking = driver.request().call;
    assert_eq!(log(&mut driver, asking, "notice"), Ok(Sent::Unwanted));
    assert_eq!(log(&mut driver, asking, "warning"), Ok(Sent::Queued));
    assert_eq!(log(&mut driver, asking, "alert"), Ok(Sent::Queued));
}

/// `server/discover` is answered without the embedder.
#[test]
fn s3_discovery_tells_versions_capabilities_and_who_it_is() {
    let mut driver = ServerDriver::new(config().with_instructions("Ask \"nicely\"."));
    let reply = driver.exchange(&HttpMessage::modern(1, "server/discover", json!({})));
    let result = &reply.json()["result"];
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(result["instructions"], "Ask \"nicely\".");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1.0.0");
    assert!(result["ttlMs"].is_u64() && result["cacheScope"] == "public");
    assert!(driver.event().is_none());
}

/// S3: whoever waits on an exchange is woken by what happens to it, once.
#[test]
fn s3_who_waits_is_woken() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&with_token());
    let call = driver.request().call;
    driver.pull(id);
    assert_eq!(driver.server.poll_wake(), None);
    driver.server.progress(call, 1.0, None, None, driver.time()).unwrap();
    driver.server.progress(call, 2.0, None, None, driver.time()).unwrap();
    assert_eq!((driver.server.poll_wake(), driver.server.poll_wake()), (Some(id), None));
    driver.pull(id);
    driver.answer(call);
    assert_eq!(driver.server.poll_wake(), Some(id));
}

/// Weak point 12 of such servers: a handler that fails tells the peer a constant text.
#[test]
fn s3_a_failed_handler_tells_the_peer_nothing() {
    let mut driver = ServerDriver::default();
    let id = driver.give(&call(json!({"name": "x"})));
    let name = driver.request().call;
    driver.server.respond(name, ServerAnswer::internal_error(), driver.time()).unwrap();
    assert_eq!(driver.pull(id).json()["error"], json!({"code": -32603, "message": "Internal error"}));
}
