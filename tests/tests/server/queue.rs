//! Readers that do not read (S5, PF-S06): a bounded queue, and nothing else.

use mcp_sse_core::server::{Output, QueueLimit, SendError, Sent, ServerAnswer, ServerConfig, ServerLimits, WhenFull};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, config};
use serde_json::json;

fn small() -> ServerConfig {
    config().with_limits(ServerLimits::default().with_max_queue_messages(4).with_max_queue_bytes(65_536))
}

fn call() -> HttpMessage {
    HttpMessage::modern(1, "tools/call", json!({"name": "x", "_meta": {"progressToken": 1}}))
}

/// S5, PF-S06 "flood": the sender is told, the answer has its place, and the fast one is not held up.
#[test]
fn s5_a_full_queue_refuses_its_sender_and_keeps_a_place_for_the_answer() {
    let mut driver = ServerDriver::new(small());
    let slow = driver.give(&call());
    let slow_call = driver.request().call;
    let fast = driver.give(&call());
    let fast_call = driver.request().call;
    for number in 0..10 {
        let now = driver.time();
        let sent = driver.server.progress(slow_call, f64::from(number), None, None, now);
        let full = SendError::Full { limit: QueueLimit::Messages };
        assert_eq!(sent, if number < 3 { Ok(Sent::Queued) } else { Err(full) }, "three, and the answer's place");
        assert_eq!(driver.server.progress(fast_call, f64::from(number), None, None, now), Ok(Sent::Queued));
        driver.pull(fast);
    }
    driver.answer(slow_call);
    driver.answer(fast_call);
    let fast = driver.pull(fast);
    assert_eq!((fast.messages().len(), fast.end), (11, End::Whole));
    let slow = driver.pull(slow);
    let progress: Vec<_> = slow.messages().iter().map(|message| message["params"]["progress"].as_f64()).collect();
    assert_eq!(progress, [Some(0.0), Some(1.0), Some(2.0), None], "in order, and the answer last");
}

/// S5: by policy the stream is cut instead, so that its reader cannot believe that nothing was missed.
#[test]
fn s5_a_full_queue_can_cut_its_reader() {
    let mut driver = ServerDriver::new(small().with_when_full(WhenFull::Close));
    let slow = driver.give(&call());
    let slow_call = driver.request().call;
    let sent: Vec<_> =
        (0..5).map(|n| driver.server.progress(slow_call, f64::from(n), None, None, driver.time())).collect();
    assert_eq!(sent[3], Err(SendError::Full { limit: QueueLimit::Messages }));
    assert_eq!(sent[4], Err(SendError::Ended));
    assert_eq!(driver.cancelled(), [slow_call]);
    assert_eq!(driver.pull(slow).end, End::Cut);
    assert_eq!(driver.server.exchange_count(), 0);
}

/// S5, PF-S06 "one-huge".
#[test]
fn s5_what_is_larger_than_the_queue_is_refused_with_its_size() {
    let mut driver = ServerDriver::new(small().with_when_full(WhenFull::Close));
    let id = driver.give(&call());
    let call = driver.request().call;
    let params = json!({"data": "x".repeat(1 << 20)}).to_string();
    let sent = driver.server.notify(call, "notifications/custom", Some(&params), driver.time());
    assert!(matches!(sent, Err(SendError::TooLarge { limit: QueueLimit::Bytes, bytes }) if bytes > 1 << 20));
    driver.answer(call);
    assert_eq!(driver.pull(id).status(), 200, "which harms nothing else");
}

/// S5: an answer may be larger than what else may wait, up to a bound of its own; over that another can be given.
#[test]
fn s5_answers_have_a_bound_of_their_own() {
    let limits = ServerLimits::default().with_max_queue_bytes(100).with_max_answer_bytes(10_000);
    for is_streaming in [false, true] {
        let mut driver = ServerDriver::new(config().with_limits(limits.clone()));
        let id = driver.give(&call());
        let call = driver.request().call;
        let now = driver.time();
        if is_streaming {
            driver.server.stream(call, now).unwrap();
        }
        let answer = |size: usize| ServerAnswer::result(json!({"data": "x".repeat(size)}).to_string());
        let sent = driver.server.respond(call, answer(10_000), now);
        assert!(matches!(sent, Err(SendError::TooLarge { limit: QueueLimit::AnswerBytes, .. })), "{sent:?}");
        assert_eq!(driver.server.respond(call, answer(9_000), now), Ok(Sent::Queued));
        assert_eq!(driver.pull(id).end, End::Whole);
    }
}

/// S5, PF-S06 "keep-alives-only": a comment is pointless while something waits.
#[test]
fn s5_keep_alives_do_not_pile_up_and_a_reader_that_takes_nothing_is_cut() {
    let mut driver = ServerDriver::new(small());
    let id = driver.give(&call());
    let call = driver.request().call;
    driver.server.stream(call, driver.time()).unwrap();
    driver.pull(id);
    driver.wait(60_000);
    let mut bytes = Vec::new();
    assert!(matches!(driver.server.poll_output(id, &mut bytes, driver.time()), Output::Bytes));
    assert_eq!(bytes, b":\n\n", "one, however long it was");
    driver.wait(15_000);
    driver.wait(60_000);
    assert_eq!(driver.cancelled(), [call], "who takes nothing for a minute is gone");
    assert_eq!(driver.pull(id).end, End::Cut);
}
