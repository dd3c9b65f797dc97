//! E11, E12 and property 7: time ends an exchange at its limits, never before, and what comes late counts for nothing.

use core::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Exchange, ExchangeConfig, Framing, Misuse, Request, State, Want};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_tests::story::{Run, event, note, progress, result};

fn with_idle(run: Run, millis: u64) -> Run {
    run.config(|config| config.with_idle(Duration::from_millis(millis)))
}

/// E11: at every stage, with the exposure, in every era; never sent again.
#[test]
fn e11_the_deadline_without_an_answer() {
    for version in ProtocolVersion::KNOWN {
        let run = Run::under(version).deadline(100);
        let late = |run: Run| run.at(100).timeout().lines();
        assert_eq!(late(run.clone()), ["failed timeout unsent"]);
        assert_eq!(late(run.clone().connected()), ["failed timeout unsent"]);
        assert_eq!(late(run.clone().reused()), ["failed timeout unsent"]);
        assert_eq!(late(run.clone().sending()), ["failed timeout partly_sent"]);
        let run = run.sent();
        assert_eq!(late(run.clone()), ["failed timeout sent"]);
        if version == ProtocolVersion::V2024_11_05 {
            // H3: its head is all that a POST brings.
            continue;
        }
        assert_eq!(late(run.clone().sse()), ["failed timeout headed"]);
        assert_eq!(late(run.clone().sse().body("id: 1\n\n")), ["failed timeout streaming"]);
        assert_eq!(late(run.clone().json().body("{")), ["failed timeout streaming"]);
        assert_eq!(late(run.clone().sse().event("oops")), ["failed timeout streaming"]);
        let story = run.sse().at(100).timeout().story();
        assert_eq!(story.exchange.exchange().want(), Want::Close, "closing is the cancel");
    }
}

/// E12: any input at or after the deadline expires first, and changes nothing else.
#[test]
fn e12_an_input_at_the_deadline_comes_too_late() {
    for run in Run::both() {
        let run = run.deadline(100).sse().at(50).event(&note("a"));
        for at in [100, 101, 100_000] {
            let late = [
                run.clone().at(at).event(&result("7")),
                run.clone().at(at).marked(),
                run.clone().at(at).reset(),
                run.clone().at(at).cancel(),
                run.clone().at(at).sent(),
                run.clone().at(at).head(200, &[]),
                run.clone().at(at).head(103, &[]),
                run.clone().at(at).timeout(),
            ];
            for run in late {
                assert_eq!(run.lines(), ["note a", "failed timeout streaming"]);
            }
        }
        let in_time = run.clone().at(99).event(&result("7")).marked();
        assert_eq!(in_time.verdict(), "settled 200");
        // Half in time, half late: the late half is not kept.
        let whole = result("7");
        let (first, second) = whole.split_at(20);
        let halves = run.clone().at(99).body(format!("data: {first}")).at(100).body(second).body("\n\n");
        assert_eq!(halves.lines(), ["note a", "failed timeout streaming"]);
    }
    // A JSON body that was whole in time, and whose end came late.
    let json = Run::modern().deadline(100).json().at(99).body(result("7")).at(100).marked();
    assert_eq!(json.lines(), ["answer {\"ok\":true}", "salvaged 200 stalled"]);
    // A late head, for a request and a notification.
    assert_eq!(Run::modern().deadline(100).at(100).sse().lines(), ["failed timeout sent"]);
    let notification = Run::modern().notification().deadline(100).at(100).head(202, &[]);
    assert_eq!(notification.lines(), ["failed timeout sent"]);
}

/// E12: a deadline that had passed before the start lets nothing happen.
#[test]
fn e12_a_passed_deadline() {
    let mut exchange = Exchange::new(
        &Request::new("ping").with_id(1),
        ExchangeConfig::default().with_deadline(Timestamp::ZERO),
        Timestamp::from_millis(5),
    );
    assert_eq!(exchange.poll_timeout(), Some(Timestamp::ZERO));
    exchange.on_connected(Timestamp::from_millis(5)).unwrap();
    assert_eq!(exchange.state(), State::Ended);
    assert_eq!(exchange.on_sent(Timestamp::from_millis(5)), Err(Misuse::Ended));
}

/// E12: comments, events and progress never move the deadline.
#[test]
fn e12_nothing_moves_the_deadline() {
    for run in Run::both() {
        let mut run = with_idle(run, 60).token("t").deadline(100).sse();
        for at in [20, 40, 60, 80, 99] {
            run = run.at(at).body(": ka\n\n").event(&note("a")).event(&progress("\"t\""));
        }
        let open = run.story();
        assert_eq!(open.exchange.exchange().poll_timeout(), Some(Timestamp::from_millis(100)));
        assert_eq!(run.at(100).timeout().verdict(), "failed timeout streaming");
    }
}

/// E12: the idle limit is moved by progress under this request's own token, by nothing else.
#[test]
fn e12_own_progress_moves_the_idle_limit() {
    let due = |run: &Run| run.story().exchange.exchange().poll_timeout();
    let at = |millis| Some(Timestamp::from_millis(millis));
    for (token, wire) in [("t".into(), "\"t\""), (mcp_sse_core::jsonrpc::Id::from(5), "5")] {
        for run in Run::both() {
            let run = with_idle(run, 60).token(token.clone()).sse();
            assert_eq!(due(&run), at(60), "it counts from the start");
            let moved = run.clone().at(50).event(&progress(wire));
            assert_eq!(due(&moved), at(110));
            assert_eq!(moved.clone().at(109).timeout().verdict(), "open");
            assert_eq!(moved.at(110).timeout().verdict(), "failed timeout idle streaming");
            let others = [
                ": ka\n\n".to_owned(),
                event(&note("notifications/message")),
                event(&progress("\"other\"")),
                event(&progress("6")),
                event(&progress("\"5\"")),
                event(&progress("null")),
                event(&result("8")),
                event(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#),
                event(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[5]}"#),
                event(r#"{"jsonrpc":"2.0","method":"other","params":{"progressToken":5}}"#),
                event(r#"{"jsonrpc":"2.0","id":5,"method":"notifications/progress","params":{"progressToken":5}}"#),
                format!("data: {}", progress(wire)),
            ];
            for other in others {
                let run = run.clone().at(50).body(&other);
                assert_eq!(due(&run), at(60), "{other}");
                assert!(run.at(60).event(&result("7")).verdict().starts_with("failed timeout idle"));
            }
        }
    }
    let without_token = with_idle(Run::modern(), 60).sse().at(50).event(&progress("\"t\""));
    assert_eq!(due(&without_token), at(60));
    // The earlier of the two is due; the deadline is named if both have passed.
    assert_eq!(due(&with_idle(Run::modern(), 60).deadline(40)), at(40));
    assert_eq!(with_idle(Run::modern(), 60).deadline(80).at(90).timeout().verdict(), "failed timeout sent");
}

/// E12: having the answer, only the deadline is left.
#[test]
fn e12_the_idle_limit_ends_with_the_answer() {
    let run = with_idle(Run::modern(), 60).sse().at(59).event(&result("7"));
    assert_eq!(run.story().exchange.exchange().poll_timeout(), None);
    assert_eq!(run.clone().at(1000).event(&note("late")).marked().verdict(), "settled 200");
    let limited = run.deadline(500);
    assert_eq!(limited.story().exchange.exchange().poll_timeout(), Some(Timestamp::from_millis(500)));
    assert_eq!(limited.at(500).timeout().verdict(), "salvaged 200 stalled");
}

/// E11, E12: an unfinished answer is judged at the idle limit too.
#[test]
fn e12_the_idle_limit_judges_the_tail() {
    let run = with_idle(Run::modern(), 60).sse().body(format!("data: {}", result("7"))).at(60).timeout();
    assert_eq!(run.lines(), ["answer {\"ok\":true}", "salvaged 200 unterminated"]);
}

/// Property 7: an early `on_timeout` changes nothing, wherever it comes and however often.
#[test]
fn e12_an_early_timeout_changes_nothing() {
    let now = Timestamp::from_millis(10);
    let early = [0, 1, 10, 98, 99].map(Timestamp::from_millis);
    let body = format!("id: 3\nretry: 70\n\n{}data: {}", event(&progress("\"t\"")), result("7"));
    for version in [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25] {
        for content_type in ["text/event-stream", "application/json", ""] {
            for cut in 0..=body.len() {
                let run = |nudged: bool| {
                    let request = Request::new("tools/call").with_id(7).with_version(version).with_progress_token("t");
                    let config = ExchangeConfig::default()
                        .with_deadline(Timestamp::from_millis(100))
                        .with_idle(Duration::from_millis(100));
                    let mut exchange = Exchange::new(&request, config, Timestamp::ZERO);
                    let mut story = Vec::new();
                    let nudge = |exchange: &mut Exchange| {
                        let looks = |exchange: &Exchange| {
                            let facts = (exchange.state(), exchange.exposure(), exchange.want());
                            (facts, exchange.poll_timeout(), exchange.held_bytes(), exchange.ignored())
                        };
                        for now in early.iter().filter(|_| nudged) {
                            let before = looks(exchange);
                            assert_eq!(exchange.on_timeout(*now), Ok(()));
                            assert_eq!(looks(exchange), before);
                            assert!(exchange.peek_event().is_none());
                        }
                    };
                    nudge(&mut exchange);
                    exchange.on_connected(now).unwrap();
                    nudge(&mut exchange);
                    exchange.on_sending(now).unwrap();
                    nudge(&mut exchange);
                    exchange.on_sent(now).unwrap();
                    nudge(&mut exchange);
                    let head = ResponseHead::from_headers(200, [("Content-Type", content_type)]);
                    exchange.on_head(&head, now).unwrap();
                    nudge(&mut exchange);
                    for mut part in [&body.as_bytes()[..cut], &body.as_bytes()[cut..]] {
                        while !part.is_empty() {
                            exchange.on_body(&mut part, now).unwrap();
                            story.extend(core::iter::from_fn(|| exchange.poll_event()));
                        }
                        nudge(&mut exchange);
                    }
                    exchange.on_end(Framing::Marked, now).unwrap();
                    story.extend(core::iter::from_fn(|| exchange.poll_event()));
                    format!("{story:?}")
                };
                assert_eq!(run(true), run(false), "cut at {cut}");
            }
        }
    }
}
