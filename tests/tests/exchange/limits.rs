//! E14 and property 4: what is too large is told, costs no memory, and is never asked for again.

use mcp_sse_core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Framing, Request};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::{Limits, Timestamp};
use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::story::{Run, event, gzip, note, result};

fn small(run: Run) -> Run {
    run.config(|config| config.with_limits(limits()))
}

fn limits() -> Limits {
    Limits::default().with_max_event_bytes(100).with_max_json_bytes(120).with_max_excerpt_bytes(16)
}

/// E14: one event is surfaced and skipped; the exchange goes on.
#[test]
fn e14_an_oversize_event_is_surfaced() {
    let large = event(&"x".repeat(200));
    for run in Run::both() {
        let run = small(run).sse().event(&note("a")).body(&large);
        let told = ["note a", "oversized 100"];
        assert_eq!(run.lines(), told);
        let answered = run.clone().event(&result("7")).marked();
        assert_eq!(answered.lines()[1..], ["oversized 100", "answer {\"ok\":true}", "settled 200"]);
        assert_eq!(run.clone().event(&result("7")).reset().verdict(), "salvaged 200 Reset");

        // Only if it then ends unanswered it fails, however it ends, and it is never sent again or resumed.
        let failed = "failed too_large event 100 streaming";
        for ended in [
            run.clone().marked(),
            run.clone().unmarked(),
            run.clone().short(),
            run.clone().reset(),
            run.clone().body("id: 9\n\n").reset(),
            run.clone().event("oops").marked(),
            run.clone().event(&result("8")).marked(),
        ] {
            assert_eq!(ended.verdict(), failed);
        }
        // It may be read as the deadline or the cancel that it is.
        assert_eq!(run.clone().cancel().verdict(), "failed cancelled streaming");
        assert_eq!(run.deadline(9).at(9).timeout().verdict(), "failed timeout streaming");
    }
}

/// E14, D10: unfinished too, and over many lines, and with many empty ones.
#[test]
fn e14_all_kinds_of_oversize_events() {
    for body in ["data: ".to_owned() + &"x".repeat(101), "data: 1234567\n".repeat(20), "data:\n".repeat(200)] {
        let story = small(Run::modern()).sse().body(&body).reset().story();
        assert_eq!(story.lines(), ["oversized 100", "failed too_large event 100 streaming"]);
    }
    // At the limit it fits.
    let fits = "x".repeat(100);
    assert_eq!(small(Run::modern()).sse().event(&fits).marked().verdict(), "failed invalid_json at 0 streaming");
    // Comments, unknown fields and the id of a skipped event cost nothing and count for nothing.
    let body = format!(": {0}\nunknown: {0}\n\nid: 5\ndata: {0}\n\n", "x".repeat(500));
    let story = small(Run::legacy()).sse().body(body).event(&result("7")).story();
    assert_eq!(story.lines(), ["oversized 100", "answer {\"ok\":true}"]);
}

/// E14: a JSON body, at once, whatever its framing said.
#[test]
fn e14_an_oversize_json_body_fails_at_once() {
    for run in Run::both() {
        let run = small(run).json();
        assert_eq!(run.clone().body(" ".repeat(121)).lines(), ["failed too_large json 120 streaming"]);
        let mut padded = result("7");
        padded.push_str(&" ".repeat(120 - padded.len()));
        assert_eq!(run.clone().body(&padded).marked().verdict(), "settled 200");
        padded.push(' ');
        assert_eq!(run.body(&padded).marked().lines(), ["failed too_large json 120 streaming"]);
    }
    // Without a media type, by its first byte.
    let untyped = small(Run::modern()).head(200, &[]).body(format!("{{{}", " ".repeat(120)));
    assert_eq!(untyped.lines(), ["failed too_large json 120 streaming"]);
    // Under a status of failure, the status is what is told.
    let failed = small(Run::modern()).head(500, &[("Content-Type", "application/json")]).body("[".repeat(200));
    assert_eq!(failed.lines(), ["failed status 500 streaming"]);
}

/// Property 4: bytes held stay within the limits and one chunk, whatever comes.
#[test]
fn e14_memory_is_bounded_at_every_step() {
    let limits = limits();
    let bound = limits.max_event_bytes + limits.max_json_bytes + limits.max_excerpt_bytes;
    // Ids and names have limits of their own, which an exchange takes as they are; a cursor is a second id.
    let bound = bound + 2 * limits.max_id_bytes + 1024 + limits.max_kind_bytes;
    let mut random = Random::new(14);
    let pieces: Vec<Vec<u8>> = [
        "data: ", "data:", "id: ", "event: ", ": ", "retry: ", "\n", "\r\n", "\n\n", "{", "[", "[1,", "\"", "x",
        "\u{fffd}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([vec![b'x'; 300], vec![b'['; 300], vec![b' '; 300], result("7").into_bytes(), vec![0xFF, 0xE2]])
    .collect();
    let heads =
        [(200, "text/event-stream"), (200, "application/json"), (200, ""), (500, "text/event-stream"), (500, "")];
    for (status, kind) in heads {
        for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_03_26] {
            for coded in [false, true] {
                let request = Request::new("x").with_id(7).with_version(version);
                let config = ExchangeConfig::default().with_limits(limits.clone());
                let mut exchange = Exchange::new(&request, config, Timestamp::ZERO);
                let head = ResponseHead::from_headers(status, [("Content-Type", kind)]);
                exchange.on_head(&head, Timestamp::ZERO).unwrap();
                for _ in 0..3000 {
                    let plain: Vec<u8> = (0..4).flat_map(|_| pieces[random.below(pieces.len())].clone()).collect();
                    let chunk = if coded { gzip(&[&plain]) } else { plain };
                    let mut input = chunk.as_slice();
                    while !input.is_empty() {
                        let _ = exchange.on_body(&mut input, Timestamp::ZERO);
                        assert!(exchange.held_bytes() <= bound + chunk.len(), "{} bytes", exchange.held_bytes());
                        while exchange.poll_event().is_some() {}
                    }
                }
                let _ = exchange.on_end(Framing::Marked, Timestamp::ZERO);
                assert!(exchange.held_bytes() <= bound);
            }
        }
    }
}

/// The queue stays at one event: `on_body` takes bytes only until one is ready, and refuses more while it waits.
#[test]
fn e14_one_event_waits_at_a_time() {
    use mcp_sse_core::exchange::Misuse;
    let now = Timestamp::ZERO;
    let stream = event(&note("a")).repeat(1000);
    for coded in [false, true] {
        let body = if coded { gzip(&[stream.as_bytes()]) } else { stream.clone().into_bytes() };
        let mut exchange = Exchange::new(&Request::new("x").with_id(7), ExchangeConfig::default(), now);
        let head = ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]);
        exchange.on_head(&head, now).unwrap();
        let (mut input, mut told) = (body.as_slice(), 0);
        while !input.is_empty() {
            exchange.on_body(&mut input, now).unwrap();
            let left = input.len();
            if exchange.peek_event().is_some() {
                assert_eq!(exchange.on_body(&mut input, now), Err(Misuse::EventsWaiting));
                assert_eq!(input.len(), left, "nothing is taken while an event waits");
            }
            let debug = format!("{exchange:?}");
            assert!(debug.contains("events: 0") || debug.contains("events: 1"), "{debug}");
            if !coded {
                assert_eq!(body.len() - left, (told + 1) * event(&note("a")).len());
            }
            while let Some(event) = exchange.poll_event() {
                assert!(matches!(event, ExchangeEvent::Notification(_)));
                told += 1;
            }
        }
        assert_eq!(told, 1000);
    }
}

/// An array of very many tiny elements costs no list of them (2025-03-26).
#[test]
fn e14_e25_an_array_is_read_element_by_element() {
    let many = format!("[{}{},{}]", "1,".repeat(200_000), note("a"), result("7"));
    let run = Run::with_arrays().sse().event(&many);
    let story = run.once();
    assert_eq!(story.lines(), ["note a", "answer {\"ok\":true}"]);
    assert_eq!(story.exchange.exchange().ignored().messages, 200_000);
    assert_eq!(Run::with_arrays().json().body(&many).marked().once().verdict(), "settled 200");
}
