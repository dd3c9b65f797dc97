//! E2 to E4 and E28: an answer is given out when it arrives, once, and stays given whatever comes after it.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{BreakKind, Exchange, ExchangeConfig, ExchangeEvent, Request, State, Verdict, Want};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_tests::story::{Run, error, event, gzip, note, result};

const ANSWER: &str = "answer {\"ok\":true}";

/// E2: at the blank line, not at the end; the state and the adapter's next step say so.
#[test]
fn e2_the_answer_is_given_at_once() {
    for run in Run::both() {
        let story = run.at(5).sse().at(10).event(&result("7")).story();
        assert_eq!(story.timed(), [(10, ANSWER)]);
        let exchange = story.exchange.exchange();
        assert_eq!((exchange.state(), exchange.want()), (State::Answered, Want::Drain));
    }
}

/// E2: an error is an answer.
#[test]
fn e2_an_error_is_an_answer() {
    for run in Run::both() {
        let story = run.sse().event(&error("7", -32602)).marked().story();
        assert_eq!(story.lines(), ["answer error -32602", "settled 200"]);
    }
}

/// E2: all line ends, also when the last CR's LF is yet to come.
#[test]
fn e2_with_every_line_end() {
    for (ends, name) in [("\n\n", "LF"), ("\r\n\r\n", "CRLF"), ("\r\r", "CR"), ("\n\r", "mixed")] {
        let story = Run::modern().sse().body(format!("data: {}{ends}", result("7"))).story();
        assert_eq!(story.lines(), [ANSWER], "{name}");
    }
}

/// E2, E21: several events that came in one coded piece do not wait for more bytes, nor does an answer in an array.
#[test]
fn e2_what_came_together_is_given_together() {
    let both = format!("{}{}", event(&note("notifications/message")), event(&result("7")));
    let coded = gzip(&[both.as_bytes()]);
    for run in Run::both() {
        let head = [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip")];
        let story = run.head(200, &head).at(3).body(&coded).story();
        assert_eq!(story.lines(), ["note notifications/message", ANSWER]);
    }
    let array = format!("[{},{}]", note("notifications/message"), result("7"));
    let story = Run::with_arrays().sse().event(&array).story();
    assert_eq!(story.lines(), ["note notifications/message", ANSWER]);
}

/// E2: also when the embedder looks at the queue only after the end.
#[test]
fn e2_nothing_is_lost_on_who_polls_late() {
    let both = format!("{}{}{}", event(&note("a")), event(&result("7")), event(&note("b")));
    let coded = gzip(&[both.as_bytes()]);
    let now = Timestamp::ZERO;
    let mut exchange = Exchange::new(&Request::new("tools/call").with_id(7), ExchangeConfig::default(), now);
    let head = ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]);
    exchange.on_head(&head, now).unwrap();
    exchange.on_body(&mut coded.as_slice(), now).unwrap();
    exchange.on_broken(BreakKind::Reset, now).unwrap();
    let told: Vec<_> = core::iter::from_fn(|| exchange.poll_event()).collect();
    assert!(matches!(
        told.as_slice(),
        [
            ExchangeEvent::Notification(_),
            ExchangeEvent::Answer(_),
            ExchangeEvent::Notification(_),
            ExchangeEvent::Ended(Verdict::Salvaged { .. })
        ]
    ));
}

/// E3: ended cleanly, either way, or closed by the caller who has it.
#[test]
fn e3_a_clean_end_after_the_answer_settles() {
    for run in Run::both() {
        let sse = run.clone().sse().event(&result("7"));
        for (ended, want) in [
            (sse.clone().marked(), Want::Nothing),
            (sse.clone().unmarked(), Want::Close),
            (sse.clone().cancel(), Want::Close),
        ] {
            let story = ended.story();
            assert_eq!(story.lines(), [ANSWER, "settled 200"]);
            assert_eq!(story.exchange.exchange().want(), want);
        }
        let json = run.json().body(result("7"));
        assert_eq!(json.clone().marked().lines(), [ANSWER, "settled 200"]);
        assert_eq!(json.unmarked().lines(), [ANSWER, "settled 200"]);
    }
}

/// E3: with the status it came under, which need not be 200.
#[test]
fn e3_the_status_is_kept() {
    for status in [200, 201, 203, 299] {
        let run = Run::modern().head(status, &[("Content-Type", "application/json")]).body(result("7")).marked();
        assert_eq!(run.lines(), [ANSWER.to_owned(), format!("settled {status}")]);
    }
}

/// E4: broken, or stalled to the deadline, after the answer.
#[test]
fn e4_what_breaks_after_the_answer_is_salvaged() {
    for run in Run::both() {
        let sse = run.deadline(100).at(10).sse().event(&result("7"));
        for kind in [BreakKind::Closed, BreakKind::Reset, BreakKind::TlsTruncated, BreakKind::Malformed, BreakKind::Io]
        {
            assert_eq!(sse.clone().broken(kind).lines(), [ANSWER.to_owned(), format!("salvaged 200 {kind:?}")]);
        }
        assert_eq!(sse.clone().at(100).timeout().lines(), [ANSWER, "salvaged 200 stalled"]);
        // A later input finds the deadline passed.
        assert_eq!(sse.at(200).body(": late\n\n").lines(), [ANSWER, "salvaged 200 stalled"]);
    }
}

/// E4: the headers are those of the answer's own response.
#[test]
fn e4_the_answer_brings_its_headers() {
    let head = [("Content-Type", "text/event-stream"), ("Mcp-Session-Id", "s-1")];
    let story = Run::legacy().head(200, &head).event(&result("7")).reset().story();
    assert_eq!(story.answer.unwrap().head.session_id(), Some("s-1"));
}

/// E3, E4: later notifications are still told, a second answer is not.
#[test]
fn e4_after_the_answer() {
    for run in Run::both() {
        let run = run.sse().event(&result("7")).event(&note("late")).event(&error("7", -1)).event(&result("7"));
        let story = run.marked().story();
        assert_eq!(story.lines(), [ANSWER, "note late", "settled 200"]);
        assert_eq!(story.exchange.exchange().ignored().messages, 2);
    }
}

/// E28: the time of its blank line, of a JSON body's end, or, without an end, of its last bytes.
#[test]
fn e28_the_answer_keeps_the_time_it_arrived() {
    let arrived = |run: Run| run.story().answer.unwrap().info.arrived;
    let at = Timestamp::from_millis;
    for run in Run::both() {
        let run = run.deadline(1000);
        let (first, second) = (format!("data: {}\n", result("7")), "\n");
        let sse = run.clone().sse().at(10).body(&first).at(20).body(second).at(30);
        assert_eq!(arrived(sse.clone().event(&note("late")).at(50).marked()), at(20));
        assert_eq!(arrived(sse.reset()), at(20));

        let json = run.clone().json().at(10).body(result("7")).at(30);
        assert_eq!(arrived(json.clone().marked()), at(30));
        assert_eq!(arrived(json.clone().unmarked()), at(30));
        assert_eq!(arrived(json.clone().short()), at(10));
        assert_eq!(arrived(json.clone().reset()), at(10));
        assert_eq!(arrived(json.at(5000).timeout()), at(10));

        let tail = run.sse().at(10).body(first).at(30);
        assert_eq!(arrived(tail.clone().marked()), at(10));
        assert_eq!(arrived(tail.at(2000).timeout()), at(10));
    }
}
