//! Replays: the first difference is told with its line, and a tape that was full says so.

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Endpoint, Step};
use mcp_sse_core::exchange::{BreakKind, Exchange, ExchangeConfig, Request};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_core::recording::{Bodies, Recording, RecordingConfig, ReplayError};
use mcp_sse_tests::loop_driver::{LoopDriver, Script, within};
use mcp_sse_tests::recordings;

fn recorded() -> String {
    let scripts = [Script::lost_streaming(), Script::answered()];
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), scripts);
    driver.call("tools/call", Some(r#"{"name":"charge"}"#), within(500));
    driver.run();
    driver.client.recording(Bodies::Whole).expect("a driver records").to_string()
}

#[test]
fn the_first_difference_is_told_with_its_line() {
    let text = recorded();
    let at = text.lines().position(|line| line.starts_with("expect event 1 reissue")).expect("a loss");
    let changed = text.replacen("cause=ended", "cause=cut", 1);
    let error = Recording::parse(changed.as_bytes()).unwrap().replay().unwrap_err();
    match &error {
        ReplayError::Difference { line, expected, got } => {
            assert_eq!(*line, at + 1);
            assert!(expected.contains("cause=cut") && got.contains("cause=ended"), "{error}");
        }
        other => panic!("{other}"),
    }
    // Another body: what comes out is another answer.
    let changed = text.replacen("\"result\":{\"ok\":true}", "\"result\":{\"ok\":null}", 1);
    let error = Recording::parse(changed.as_bytes()).unwrap().replay().unwrap_err();
    assert!(error.to_string().contains("expect event 1 answer"), "{error}");
}

#[test]
fn what_is_not_taken_is_told_with_its_line() {
    let head = "mcp-sse recording 1\nbodies whole\nclient http://mcp.test/mcp\nconfig\n";
    for (lines, problem) in [
        ("0 on_sent 1\n", "line 5: this was not taken: there is no such exchange"),
        ("0 return_exchange 1\n", "line 5: this was not taken: this exchange is not lent out"),
        ("0 call m | [1]\n", "line 5: this was not taken: the parameters are not a JSON object"),
        ("0 call m\n0 poll_step\n0 on_body 1 | a\n", "line 7: this was not taken: bytes of a body were given before"),
        ("expect none\n", "line 5: this was not taken: nothing comes out here"),
        ("0 respond 1 id=1 | {}\n", "line 5: this was not taken: no such request"),
    ] {
        let recording = Recording::parse(format!("{head}{lines}end\n").as_bytes()).unwrap();
        let error = recording.replay().unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
    let head = head.replace("client http://mcp.test/mcp", "exchange begun=0 carries=message id=1");
    let recording = Recording::parse(format!("{head}0 on_sent 2\nend\n").as_bytes()).unwrap();
    assert!(recording.replay().unwrap_err().to_string().contains("one exchange, number 1"));
}

#[test]
fn a_full_tape_holds_the_beginning_and_says_so() {
    let request = Request::new("tools/call").with_id(7);
    let config = ExchangeConfig::default().with_recording(RecordingConfig::default().with_max_bytes(4_000));
    let mut exchange = Exchange::new(&request, config, Timestamp::ZERO);
    let now = Timestamp::from_millis(1);
    exchange.on_sent(now).unwrap();
    exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), now).unwrap();
    let is_full = |exchange: &Exchange| !exchange.recording(Bodies::Whole).unwrap().is_complete();
    let mut fed = 0;
    while !is_full(&exchange) {
        exchange.on_body(&mut &b": keep-alive\n\n"[..], now).unwrap();
        fed += 1;
        assert!(fed < 100, "a bound is a bound");
    }
    exchange.on_broken(BreakKind::Reset, now).unwrap();
    let recording = exchange.recording(Bodies::Whole).unwrap();
    let text = recording.to_string();
    assert!(text.len() < 4_500 && text.ends_with("\nend full\n") && !text.contains("on_broken"), "{text}");
    recordings::check(|bodies| exchange.recording(bodies).unwrap());
}

#[test]
fn without_being_asked_nothing_is_written() {
    let exchange = Exchange::new(&Request::new("m"), ExchangeConfig::default(), Timestamp::ZERO);
    assert_eq!(exchange.recording(Bodies::Whole), None);
    let endpoint = Endpoint::parse("http://mcp.test/mcp").unwrap();
    assert_eq!(Client::new(endpoint, ClientConfig::default()).recording(Bodies::Whole), None);
}

/// What happens to a client while an exchange is lent out is told in its order: a cancel waits for the return, and so it does again.
#[test]
fn an_exchange_that_was_lent_out_meanwhile_is_lent_out_again() {
    let endpoint = Endpoint::parse("http://mcp.test/mcp").unwrap();
    let mut client = Client::new(endpoint, ClientConfig::default().with_recording(RecordingConfig::default()));
    let at = Timestamp::from_millis;
    let call = client.call("tools/call", None, CallOptions::default(), at(0)).unwrap();
    let Some(Step::Send(id, _)) = client.poll_step_of(call, at(0)) else { panic!("it is sent") };
    for (now, is_cancelled) in [(1, false), (3, true)] {
        let mut exchange = client.lend_exchange(id).unwrap();
        if is_cancelled {
            client.cancel(call, at(now));
        }
        exchange.on_connected(at(now)).ok();
        exchange.on_sent(at(now + 1)).ok();
        client.return_exchange(id, exchange, at(now + 2));
        while client.poll_step_of(call, at(now + 2)).is_some() {}
    }
    let text = client.recording(Bodies::Whole).unwrap().to_string();
    assert_eq!(text.matches("lend_exchange 1").count(), 1, "the first time nobody could tell\n{text}");
    assert_eq!(text.matches("return_exchange 1").count(), 1, "{text}");
    assert!(text.contains("expect done 1 failed cancelled exposure=sent"), "{text}");
    recordings::check(|bodies| client.recording(bodies).unwrap());

    // Given up while it is lent: it may have run.
    let call = client.call("tools/call", None, CallOptions::default(), at(10)).unwrap();
    let Some(Step::Send(id, _)) = client.poll_step_of(call, at(10)) else { panic!("it is sent") };
    drop(client.lend_exchange(id));
    client.forget_exchange(id, at(11));
    while client.poll_step_of(call, at(11)).is_some() {}
    recordings::check(|bodies| client.recording(bodies).unwrap());
}
