//! Streams that can be resumed (S11): events' ids, replay, planned closes.

use mcp_sse_core::server::{ExchangeId, SendError, Sent, ServerAnswer, ServerLimits};
use mcp_sse_tests::server_driver::{End, HttpMessage, ServerDriver, Written, config};
use serde_json::json;

fn call(session: &str, id: u32) -> HttpMessage {
    let params = json!({"name": "x", "_meta": {"progressToken": id}});
    HttpMessage::in_session(session, &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

fn get(session: &str, last: Option<&str>) -> HttpMessage {
    let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream").with("Mcp-Session-Id", session);
    match last {
        Some(last) => get.with("Last-Event-ID", last),
        None => get,
    }
}

fn last_id(written: &Written) -> String {
    written.events().last().expect("an event").0.clone()
}

fn numbers(written: &Written) -> Vec<Option<f64>> {
    written.messages().iter().map(|message| message["params"]["progress"].as_f64()).collect()
}

/// S11: the first event gives an id to come back with, from 2025-11-25 on; before that, clients take every event for a message.
#[test]
fn s11_a_stream_is_primed_since_2025_11_25() {
    for (version, primes) in [("2025-11-25", true), ("2025-06-18", false), ("2025-03-26", false)] {
        let mut driver = ServerDriver::default();
        let session = driver.initialize(version);
        let id = driver.give(&call(&session, 1));
        let name = driver.request().call;
        driver.server.progress(name, 1.0, None, None, driver.time()).unwrap();
        let events = driver.pull(id).events();
        assert_eq!(events.len(), if primes { 2 } else { 1 });
        assert_eq!(events[0], if primes { ("1-1".to_owned(), String::new()) } else { events[0].clone() });
        assert!(driver.pull(id).text().starts_with(if primes {
            "id: 1-1\nretry: 1000\ndata:\n\n"
        } else {
            "id: 1-1\ndata: {"
        }));
        let listening = driver.give(&get(&session, None));
        assert_eq!(driver.pull(listening).events().len(), usize::from(primes));
    }
}

/// S11: a connection that was lost at any event is taken up behind it, and the rest comes once and in order.
#[test]
fn s11_the_rest_of_a_stream_comes_to_who_resumes_it() {
    for lost_after in 0..5u32 {
        let mut driver = ServerDriver::default();
        let session = driver.initialize("2025-11-25");
        let id = driver.give(&call(&session, 1));
        let name = driver.request().call;
        for number in 0..lost_after {
            driver.server.progress(name, f64::from(number), None, None, driver.time()).unwrap();
        }
        driver.server.stream(name, driver.time()).unwrap();
        let before = driver.pull(id).clone();
        driver.leave(id);
        assert!(driver.server.is_open(name), "a disconnect is no cancel");
        for number in lost_after..5 {
            assert_eq!(driver.server.progress(name, f64::from(number), None, None, driver.time()), Ok(Sent::Kept));
        }
        driver.answer(name);
        let resumed = driver.give(&get(&session, Some(&last_id(&before))));
        let after = driver.pull(resumed);
        assert_eq!(after.end, End::Whole);
        let mut all = numbers(&before);
        all.extend(numbers(after));
        assert_eq!(all, [Some(0.0), Some(1.0), Some(2.0), Some(3.0), Some(4.0), None]);
    }
}

/// S11: what was written and may have been lost on the way is replayed, the answer included, from any event on.
#[test]
fn s11_what_was_written_and_lost_is_replayed_from_any_event() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session, 1));
    let name = driver.request().call;
    for number in 0..3 {
        driver.server.progress(name, f64::from(number), None, None, driver.time()).unwrap();
    }
    driver.answer(name);
    let whole = driver.pull(id).clone();
    assert_eq!(whole.end, End::Whole);
    let events = whole.events();
    for (at, (event, _)) in events.iter().enumerate() {
        let resumed = driver.give(&get(&session, Some(event)));
        let rest = driver.pull(resumed);
        assert_eq!((rest.events(), rest.end), (events[at + 1..].to_vec(), End::Whole), "behind {event}");
    }
    driver.wait(120_001);
    assert_eq!(driver.exchange(&get(&session, Some("1-1"))).status(), 400, "but not for ever");
    assert_eq!(driver.server.stream_count(), 0);
}

/// S11: a stream is replayed to its own session, and never another one's events with it.
#[test]
fn s11_replay_is_of_one_stream_to_its_own_session() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let other = driver.initialize("2025-11-25");
    let mut names = Vec::new();
    for number in 1..=2 {
        let id = driver.give(&call(&session, number));
        let name = driver.request().call;
        driver.server.progress(name, f64::from(number), None, None, driver.time()).unwrap();
        driver.pull(id);
        driver.leave(id);
        names.push(name);
    }
    for name in names {
        driver.answer(name);
    }
    assert_eq!(driver.exchange(&get(&other, Some("1-2"))).status(), 400);
    let resumed = driver.exchange(&get(&session, Some("2-1")));
    assert_eq!(numbers(&resumed), [Some(2.0), None]);
    assert_eq!(resumed.messages()[1]["id"], 2);
    for bad in ["3-1", "1-9", "1", "-", "1-", "x-1", "1-1-1", "01-1", "1-+1", "18446744073709551616-1", ""] {
        assert_eq!(driver.exchange(&get(&session, Some(bad))).status(), 400, "{bad:?}");
    }
}

/// S11: a gap is told, never papered over.
#[test]
fn s11_what_is_no_longer_kept_cannot_be_resumed() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_replay_messages(3)));
    let session = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session, 1));
    let name = driver.request().call;
    for number in 0..10 {
        driver.server.progress(name, f64::from(number), None, None, driver.time()).unwrap();
        driver.pull(id);
    }
    driver.leave(id);
    // Kept are the last three: 9, 10 and 11.
    assert_eq!(driver.exchange(&get(&session, Some("1-7"))).status(), 400);
    let resumed = driver.give(&get(&session, Some("1-8")));
    assert_eq!(numbers(driver.pull(resumed)), [Some(7.0), Some(8.0), Some(9.0)]);
}

/// S11: a planned close says when to come back, and the answer waits there ("polling").
#[test]
fn s11_a_planned_close_says_when_to_come_back() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session, 1));
    let name = driver.request().call;
    driver.server.pause(name, driver.time()).unwrap();
    let reply = driver.pull(id).clone();
    assert_eq!((reply.end, reply.text()), (End::Whole, "id: 1-1\nretry: 1000\ndata:\n\n"));
    driver.answer(name);
    let resumed = driver.exchange(&get(&session, Some(&last_id(&reply))));
    assert_eq!((resumed.messages().len(), resumed.end), (1, End::Whole));

    // Again and again, on one stream.
    let id = driver.give(&call(&session, 2));
    let name = driver.request().call;
    driver.server.pause(name, driver.time()).unwrap();
    let mut last = last_id(driver.pull(id));
    for number in 0..3 {
        let id = driver.give(&get(&session, Some(&last)));
        driver.server.progress(name, f64::from(number), None, None, driver.time()).unwrap();
        driver.server.pause(name, driver.time()).unwrap();
        let reply = driver.pull(id);
        assert_eq!((numbers(reply), reply.end), (vec![Some(f64::from(number))], End::Whole));
        last = last_id(reply);
    }
}

/// S11: who could not come back is not sent away.
#[test]
fn s11_no_planned_close_where_nobody_could_come_back() {
    let mut driver = ServerDriver::default();
    driver.give(&HttpMessage::modern(1, "tools/list", json!({})));
    let modern = driver.request().call;
    assert_eq!(driver.server.pause(modern, driver.time()), Err(SendError::NotInRevision));
    let session = driver.initialize("2025-06-18");
    let exchange = driver.give(&call(&session, 1));
    let earlier = driver.request().call;
    assert_eq!(driver.server.pause(earlier, driver.time()), Err(SendError::NotInRevision));
    driver.server.progress(earlier, 1.0, None, None, driver.time()).unwrap();
    assert_eq!(driver.server.pause(earlier, driver.time()), Ok(()), "an event with an id is enough");
    let reply = driver.pull(exchange);
    assert!(
        reply.end == End::Whole && reply.text().ends_with("\n\nretry: 1000\n\n"),
        "the wait is told before the close"
    );
}

fn listen(driver: &mut ServerDriver, session: &str, last: Option<&str>) -> ExchangeId {
    let id = driver.give(&get(session, last));
    assert_eq!(driver.pull(id).status(), 200);
    id
}

/// S11: what a session is told outside of its requests goes on one stream, kept while the client is away.
#[test]
fn s11_a_listening_stream_is_resumed_and_taken_over() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let key = driver.last_session();
    let send = |driver: &mut ServerDriver, number: u32| {
        let params = json!({"progress": number}).to_string();
        driver.server.send(key, "notifications/custom", Some(&params), driver.time())
    };
    assert_eq!(send(&mut driver, 0), Err(SendError::NoReader), "nobody ever listened");
    let first = listen(&mut driver, &session, None);
    assert_eq!(send(&mut driver, 1), Ok(Sent::Queued));
    let written = driver.pull(first).clone();
    assert_eq!(numbers(&written), [Some(1.0)]);
    driver.leave(first);
    assert_eq!(send(&mut driver, 2), Ok(Sent::Kept));
    let second = listen(&mut driver, &session, Some(&last_id(&written)));
    assert_eq!(numbers(driver.pull(second)), [Some(2.0)]);
    // A client whose connection we believe alive opens another.
    let third = listen(&mut driver, &session, None);
    assert_eq!(driver.pull(second).end, End::Cut);
    assert_eq!(send(&mut driver, 3), Ok(Sent::Queued));
    assert_eq!(numbers(driver.pull(third)), [Some(3.0)]);
}

/// S5, PF-S06 "no-reader-at-all": while nobody listens a bounded number is kept, and the sender is told.
#[test]
fn s5_what_is_kept_for_a_client_that_is_away_is_bounded() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_queue_messages(4)));
    let session = driver.initialize("2025-11-25");
    let key = driver.last_session();
    let id = listen(&mut driver, &session, None);
    driver.leave(id);
    let sent: Vec<_> =
        (0..10_000).map(|_| driver.server.send(key, "notifications/custom", None, driver.time())).collect();
    assert_eq!(sent.iter().filter(|sent| **sent == Ok(Sent::Kept)).count(), 4);
    assert!(sent[4..].iter().all(|sent| matches!(sent, Err(SendError::Full { .. }))));
}

/// S11: a session's streams are bounded; room is made by forgetting those that ended first.
#[test]
fn s11_a_sessions_streams_are_bounded() {
    let mut driver = ServerDriver::new(config().with_limits(ServerLimits::default().with_max_streams_per_session(3)));
    let session = driver.initialize("2025-11-25");
    let answered = |driver: &mut ServerDriver, number: u32| {
        let id = driver.give(&call(&session, number));
        let name = driver.request().call;
        driver.server.stream(name, driver.time()).unwrap();
        driver.server.respond(name, ServerAnswer::result("{}"), driver.time()).unwrap();
        driver.pull(id);
    };
    for number in 1..=10 {
        answered(&mut driver, number);
        assert!(driver.server.stream_count() <= 3);
    }
    assert_eq!(driver.exchange(&get(&session, Some("7-1"))).status(), 400);
    assert_eq!(driver.exchange(&get(&session, Some("8-1"))).messages().len(), 1);
    for number in 11..=13 {
        driver.give(&call(&session, number));
        driver.request();
    }
    assert_eq!(driver.exchange(&call(&session, 14)).status(), 503, "streams in use are not forgotten");
}

/// S11: a client that never comes back for what is kept does not keep it there.
#[test]
fn s11_everything_goes_with_the_session() {
    let mut driver = ServerDriver::default();
    let session = driver.initialize("2025-11-25");
    let id = driver.give(&call(&session, 1));
    let name = driver.request().call;
    driver.server.stream(name, driver.time()).unwrap();
    driver.pull(id);
    driver.leave(id);
    driver.answer(name);
    assert_eq!(driver.server.stream_count(), 1);
    driver.exchange(&HttpMessage::new("DELETE", "/mcp").with("Mcp-Session-Id", &session));
    assert_eq!((driver.server.stream_count(), driver.server.poll_timeout()), (0, None));
}
