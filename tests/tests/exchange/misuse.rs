//! E27 and E30: any input at any time, and stopping.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    BreakKind, Exchange, ExchangeConfig, ExchangeEvent, Fact, Framing, Misuse, Request, State, Verdict, Want,
    transitions,
};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_tests::story::{Run, event, note, result};

const NOW: Timestamp = Timestamp::ZERO;

fn exchange() -> Exchange {
    Exchange::new(&Request::new("tools/call").with_id(7), ExchangeConfig::default(), NOW)
}

fn sse() -> ResponseHead {
    ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")])
}

/// E27: a mistake is answered by its kind, and changes nothing.
#[test]
fn e27_misuse_is_answered() {
    let mut exchange = exchange();
    assert_eq!(exchange.on_body(&mut &b"x"[..], NOW), Err(Misuse::NoHead));
    exchange.on_sent(NOW).unwrap();
    for late in [Exchange::on_connected, Exchange::on_reused, Exchange::on_sending, Exchange::on_sent] {
        assert_eq!(late(&mut exchange, NOW), Err(Misuse::OutOfOrder));
    }
    assert_eq!(exchange.state(), State::Sent);
    let mut kept = &b"bytes"[..];
    assert_eq!(exchange.on_body(&mut kept, NOW), Err(Misuse::NoHead));
    assert_eq!(kept, b"bytes", "what is not taken stays");

    exchange.on_head(&sse(), NOW).unwrap();
    assert_eq!(exchange.on_head(&ResponseHead::new(500), NOW), Err(Misuse::SecondHead));
    assert_eq!(exchange.head().unwrap().status(), 200);
    assert_eq!(exchange.on_head(&ResponseHead::new(103), NOW), Ok(()));

    let body = format!("{0}{0}", event(&note("a")));
    let mut input = body.as_bytes();
    exchange.on_body(&mut input, NOW).unwrap();
    let left = input.len();
    assert_eq!(exchange.on_body(&mut input, NOW), Err(Misuse::EventsWaiting));
    assert_eq!(input.len(), left);
    assert!(matches!(exchange.peek_event(), Some(ExchangeEvent::Notification(_))));
    assert!(exchange.poll_event().is_some());
    assert_eq!(exchange.on_body(&mut input, NOW), Ok(()));
    assert!(input.is_empty() && exchange.poll_event().is_some());
}

/// E27: after the end every input is answered as one after the end, and there is no second verdict.
#[test]
fn e27_after_the_end() {
    type Input = fn(&mut Exchange) -> Result<(), Misuse>;
    let ends: [Input; 4] = [
        |exchange| exchange.on_broken(BreakKind::Reset, NOW),
        |exchange| exchange.on_end(Framing::Marked, NOW),
        |exchange| exchange.cancel(NOW),
        |exchange| exchange.on_head(&ResponseHead::new(204), NOW),
    ];
    for end in ends {
        for answered in [false, true] {
            let mut exchange = exchange();
            if answered {
                exchange.on_head(&sse(), NOW).unwrap();
                exchange.on_body(&mut event(&result("7")).as_bytes(), NOW).unwrap();
                assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Answer(_))));
            }
            let result = end(&mut exchange);
            if exchange.state() != State::Ended {
                assert_eq!((answered, result), (true, Err(Misuse::SecondHead)));
                continue;
            }
            assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Ended(_))));
            let want = exchange.want();
            for _ in 0..2 {
                for late in [Exchange::on_connected, Exchange::on_reused, Exchange::on_sending, Exchange::on_sent] {
                    assert_eq!(late(&mut exchange, NOW), Err(Misuse::Ended));
                }
                assert_eq!(exchange.on_head(&sse(), NOW), Err(Misuse::Ended));
                let answer = event(&mcp_sse_tests::story::result("7"));
                let mut input = answer.as_bytes();
                assert_eq!(exchange.on_body(&mut input, NOW), Err(Misuse::Ended));
                assert!(input.is_empty(), "a loop over it ends");
                for framing in [Framing::Marked, Framing::Unmarked, Framing::Short] {
                    assert_eq!(exchange.on_end(framing, NOW), Err(Misuse::Ended));
                }
                assert_eq!(exchange.on_broken(BreakKind::Io, NOW), Err(Misuse::Ended));
                assert_eq!(exchange.on_timeout(NOW), Err(Misuse::Ended));
                assert_eq!(exchange.cancel(NOW), Err(Misuse::Ended));
                assert!(exchange.poll_event().is_none() && exchange.poll_timeout().is_none());
                assert_eq!((exchange.state(), exchange.want()), (State::Ended, want));
            }
        }
    }
}

/// E27: time may stand still, jump and go back.
#[test]
fn e27_time_may_go_back() {
    let run =
        Run::modern().deadline(100).at(90).sse().at(10).event(&note("a")).at(99).event(&result("7")).at(0).marked();
    assert_eq!(run.lines(), ["note a", "answer {\"ok\":true}", "settled 200"]);
    let far = Timestamp::new(core::time::Duration::MAX);
    let config = ExchangeConfig::default().with_idle(core::time::Duration::MAX);
    let mut exchange = Exchange::new(&Request::new("x").with_id(1), config, far);
    assert_eq!(exchange.poll_timeout(), Some(far));
    exchange.on_timeout(Timestamp::ZERO).unwrap();
    exchange.on_timeout(far).unwrap();
    assert_eq!(exchange.state(), State::Ended);
}

/// The table of transitions: no row twice, nothing leads out of the end, every state but the end can end.
#[test]
fn e27_the_table_of_transitions() {
    let table = transitions();
    for (index, row) in table.iter().enumerate() {
        assert!(table[..index].iter().all(|other| (other.from, other.fact) != (row.from, row.fact)), "{row:?}");
        assert_ne!(row.from, State::Ended);
        assert_eq!(row.to == State::Ended, row.fact == Fact::Verdict, "{row:?}");
    }
    let states = [
        State::Unsent,
        State::Reusing,
        State::PartlySent,
        State::Sent,
        State::Headed,
        State::Streaming,
        State::Answered,
    ];
    for state in states {
        assert!(table.iter().any(|row| row.from == state && row.fact == Fact::Verdict));
        assert!(state == State::Unsent || table.iter().any(|row| row.to == state));
    }
}

/// E30: stopping is an explicit act, and a cancel; having the answer, it settles (E3).
#[test]
fn e30_a_cancel_at_every_stage() {
    for start in [Run::under("2026-07-28".parse().unwrap()), Run::under("2025-11-25".parse().unwrap())] {
        let cancelled = |run: Run| {
            let story = run.cancel().story();
            assert_eq!(story.exchange.exchange().want(), Want::Close);
            story.verdict()
        };
        assert_eq!(cancelled(start.clone()), "failed cancelled unsent");
        assert_eq!(cancelled(start.clone().connected()), "failed cancelled unsent");
        assert_eq!(cancelled(start.clone().reused()), "failed cancelled unsent");
        assert_eq!(cancelled(start.clone().sending()), "failed cancelled partly_sent");
        let sent = start.sent();
        assert_eq!(cancelled(sent.clone()), "failed cancelled sent");
        assert_eq!(cancelled(sent.clone().sse()), "failed cancelled headed");
        let streaming = sent.clone().sse().body("id: 1\n\n").event(&note("a"));
        assert_eq!(cancelled(streaming.clone()), "failed cancelled streaming");
        assert_eq!(cancelled(streaming.event(&result("7"))), "settled 200");
        assert_eq!(cancelled(sent.clone().json().body(result("7"))), "failed cancelled streaming");
        assert_eq!(cancelled(sent.head(500, &[]).body("no")), "failed cancelled streaming");
    }
}

/// E30: an embedder that drops events, or polls none, ends nothing by that.
#[test]
fn e30_dropped_events_end_nothing() {
    let mut exchange = exchange();
    exchange.on_head(&sse(), NOW).unwrap();
    let body = format!("{}{}{}", event(&note("a")), event(&note("b")), event(&result("7")));
    let mut input = body.as_bytes();
    while !input.is_empty() {
        exchange.on_body(&mut input, NOW).unwrap();
        drop(exchange.poll_event());
        assert!(matches!(exchange.want(), Want::Read | Want::Drain));
    }
    exchange.on_end(Framing::Marked, NOW).unwrap();
    assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Ended(Verdict::Settled(_)))));
}
