//! What a caller gets: a reply, or an error that says how to go on; the same for every adapter.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallError, CallEvent, CallId, CallOptions, Client, ClientConfig, Endpoint, Outcome, Reply, Step,
};
use mcp_sse_core::exchange::{BreakKind, Damage, Exposure, Framing};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_tests::loop_driver::{Fact, LoopDriver, Script, within};

fn run(scripts: impl IntoIterator<Item = Script>) -> (LoopDriver, CallId) {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    let call = driver.call("tools/list", None, within(1000));
    driver.run();
    (driver, call)
}

fn reply(driver: &LoopDriver) -> Reply {
    let mut replies = driver.events.iter().filter_map(|(_, event)| match event {
        answer @ CallEvent::Answer { .. } => Reply::from_event(answer.clone()).ok(),
        _ => None,
    });
    replies.next().expect("an answer")
}

fn error(script: Script) -> CallError {
    let (driver, call) = run([script]);
    CallError::from_done(driver.end_of(call).expect("an end").clone()).expect("an error")
}

#[test]
fn a_result_is_read_raw_or_as_a_type() {
    let (driver, _) = run([Script::lost_sent(), Script::answered()]);
    let reply = reply(&driver);
    assert_eq!((reply.attempts, reply.damage), (2, None));
    assert_eq!(reply.result().expect("a result"), r#"{"ok":true}"#);
    let read: serde_json::Value = reply.parse_result().expect("JSON");
    assert_eq!(read["ok"], true);
    assert_eq!(reply.message().as_json(), r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#);
    assert_eq!(reply.into_json(), r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#);
}

#[test]
fn a_json_rpc_error_is_a_reply() {
    let body = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"none","data":7}}"#;
    let (driver, call) = run([Script::whole(404, "application/json", body)]);
    let reply = reply(&driver);
    let error = reply.result().expect_err("an error");
    assert_eq!((error.code, &*error.message, error.data), (-32601, "none", Some("7")));
    assert!(reply.parse_result::<serde_json::Value>().is_err());
    let done = driver.end_of(call).expect("an end").clone();
    let Outcome::Settled(info) = &done.outcome else { panic!("settled") };
    assert_eq!((info.status, info.is_error, info.proves_modern), (404, true, true));
    assert!(CallError::from_done(done).is_none());
}

#[test]
fn damage_is_told_only_of_what_a_break_left() {
    // Whole when it came: a later break is the exchange's affair.
    let (driver, _) = run([Script::stream().answer().after(5).broken(BreakKind::Reset)]);
    assert_eq!(reply(&driver).damage, None);
    // Found in an unfinished event.
    let tail = r#"data: {"jsonrpc":"2.0","id":{id},"result":{}}"#;
    let (driver, _) = run([Script::stream().body(tail).after(5).broken(BreakKind::Reset)]);
    assert_eq!(reply(&driver).damage, Some(Damage::UnterminatedEvent));
    // Found in a JSON body whose end was cut off.
    let json = Script::sent().head(200, &[("Content-Type", "application/json"), ("Content-Length", "999")]);
    let (driver, _) = run([json.body(r#"{"jsonrpc":"2.0","id":{id},"result":{}}"#).then(Fact::End(Framing::Short))]);
    assert_eq!(reply(&driver).damage, Some(Damage::Short));
}

#[test]
fn an_error_says_how_far_the_request_got() {
    for (script, kind, exposure) in [
        (Script::refused(), "unsent", Exposure::Unsent),
        (Script::sent(), "timeout", Exposure::Sent),
        (Script::whole(200, "text/html", ""), "content_type", Exposure::Headed),
        (Script::whole(204, "text/plain", ""), "no_answer", Exposure::Headed),
        (Script::whole(200, "application/json", "{x"), "invalid_json", Exposure::Streaming),
        (Script::whole(200, "application/json", "{}"), "invalid_message", Exposure::Streaming),
        (Script::whole(500, "text/plain", "oh"), "status", Exposure::Streaming),
    ] {
        let error = error(script);
        assert_eq!((error.kind(), error.exposure(), error.attempts()), (kind, exposure, 1));
        assert_eq!(error.may_have_run(), exposure.may_have_run());
        let told = if exposure.may_have_run() { "it may have run" } else { "it did not run" };
        assert!(error.to_string().ends_with(told), "{error}");
    }
}

#[test]
fn an_error_of_a_replacement_says_that_an_earlier_attempt_may_have_run() {
    let (driver, call) = run([Script::lost_sent(), Script::refused()]);
    let error = CallError::from_done(driver.end_of(call).expect("an end").clone()).expect("an error");
    assert_eq!((error.kind(), error.attempts(), error.exposure()), ("lost", 2, Exposure::Sent));
    assert!(matches!(error, CallError::Failed { earlier_may_have_run: true, .. }));
    assert_eq!(
        error.to_string(),
        "the answer is lost: the peer reset the connection; its replacement was not sent: \
         no connection could be made; it may have run"
    );
}

#[test]
fn a_status_and_its_retry_after_can_be_asked_for() {
    let busy = Script::sent().head(429, &[("Retry-After", "7")]).then(Fact::End(Framing::Marked));
    let error = error(busy);
    assert_eq!(error.status(), Some(429));
    assert_eq!(error.retry_after().and_then(|after| after.delay()), Some(Duration::from_secs(7)));
    let error = self::error(Script::whole(202, "text/plain", ""));
    assert_eq!((error.status(), error.retry_after()), (Some(202), None));
    let error = self::error(Script::refused());
    assert_eq!((error.status(), error.retry_after()), (None, None));
}

#[test]
fn a_taken_notification_is_no_error() {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [Script::whole(202, "text/plain", "")]);
    let call = driver.notify("notifications/other", None, CallOptions::default());
    driver.run();
    assert!(CallError::from_done(driver.end_of(call).expect("an end").clone()).is_none());
}

#[test]
fn e3_damage_is_no_matter_of_when_steps_are_polled() {
    let now = Timestamp::ZERO;
    let mut client = Client::new(Endpoint::parse("http://localhost/mcp").unwrap(), ClientConfig::default());
    client.call("tools/list", None, within(60_000), now).unwrap();
    let Some(Step::Send(id, _)) = client.poll_step(now) else { panic!("a request was expected") };
    let exchange = client.exchange(id).unwrap();
    exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), now).unwrap();
    let mut body: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
    exchange.on_body(&mut body, now).unwrap();
    // The break comes before anybody has asked for the answer, which was whole all the same.
    exchange.on_broken(BreakKind::Reset, now).unwrap();
    let Some(Step::Event(_, CallEvent::Answer { damage, .. })) = client.poll_step(now) else { panic!("no answer") };
    assert_eq!(damage, None);
    while let Some(step) = client.poll_step(now) {
        if let Step::Done(_, done) = step {
            assert!(matches!(done.outcome, Outcome::Salvaged { damage: Damage::Broken(BreakKind::Reset), .. }));
        }
    }
}

#[test]
fn a_result_as_a_type_of_the_callers_tells_three_failures_apart() {
    use mcp_sse_core::client::ResultError;
    type Read = std::collections::BTreeMap<String, bool>;

    let (driver, _) = run([Script::answered()]);
    assert!(reply(&driver).into_result::<Read>().expect("a result")["ok"]);
    let error = reply(&driver).into_result::<Vec<u8>>().expect_err("another type");
    let ResultError::Parse { reply: given, .. } = &error else { panic!("{error}") };
    assert_eq!(given.result().expect("a result"), r#"{"ok":true}"#);
    let body = r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32601,"message":"secret"}}"#;
    let (driver, _) = run([Script::whole(200, "application/json", body)]);
    let error = reply(&driver).into_result::<Read>().expect_err("an error");
    let ResultError::Answered { code: -32601, reply: given } = &error else { panic!("{error}") };
    assert!(given.result().is_err());
    assert!(!error.to_string().contains("secret") && !format!("{error:?}").contains("secret"), "{error:?}");
}

/// What goes to a log has numbers, sizes and kinds; no payload.
#[test]
fn events_and_ends_are_told_without_payload() {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/secret"}"#;
    let script = Script::stream().body(&format!("data: {note}\n\n")).answer();
    let (driver, call) = run([Script::lost_sent(), script]);
    let mut told: Vec<String> = driver.events.iter().map(|(_, event)| event.to_string()).collect();
    told.push(driver.end_of(call).expect("an end").to_string());
    let expected = [
        "attempt 2 begins, since the last one was lost (sent): the peer reset the connection",
        "attempt 2: a notification of 49 bytes",
        "attempt 2: the answer of 45 bytes, status 200",
        "settled after 2 attempts (streaming); an earlier one may have run",
    ];
    assert_eq!(told, expected);
}

/// A handler's result is the JSON it serialises to; one that cannot be is an internal error, which tells the peer nothing more.
#[test]
fn a_handlers_result_is_its_json_or_an_internal_error() {
    use std::collections::BTreeMap;

    use mcp_sse_core::client::result_to_json;

    assert_eq!(result_to_json(&BTreeMap::from([("roots", [1, 2])])), Ok(r#"{"roots":[1,2]}"#.to_owned()));
    assert_eq!(result_to_json("text"), Ok(r#""text""#.to_owned()));
    // JSON's names are strings.
    let error = result_to_json(&BTreeMap::from([((1, 2), 3)])).expect_err("no JSON");
    assert_eq!(error.code, -32603);
}

/// Logs name a call by its number, and two calls by two.
#[test]
fn a_call_has_a_name_for_logs() {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), [Script::answered(), Script::answered()]);
    let (first, second) = (driver.call("a", None, within(9)), driver.call("b", None, within(9)));
    let (first, second) = (first.to_string(), second.to_string());
    assert!(first.starts_with("call ") && second.starts_with("call "), "{first}, {second}");
    assert_ne!(first, second);
}
