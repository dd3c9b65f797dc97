//! Faults that people met in the field, as cases of data: `corpus/cases/exchange.json`.
//!
//! Rules: every variant, row and revision of a case is played, with its bodies whole, byte by byte and cut at random
//! (see `story`); a key of the expectations that no check knows fails the test. `end: eof` is the end of the
//! connection, so [`Framing::Unmarked`](mcp_sse_core::exchange::Framing), for an event stream; for other bodies it is
//! the marked end, as E19 needs it, unless the case says that nothing marks it.

use core::time::Duration;

use mcp_sse_core::exchange::{BreakKind, IdMatch, Verdict, Want};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::story::{Run, Story};
use serde_json::Value;

const CASES: &str = include_str!("../../corpus/cases/exchange.json");

pub(crate) fn case(name: &str) -> Value {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    cases.into_iter().find(|case| case["id"] == name).unwrap()
}

fn named<'c>(list: &'c Value, name: &str) -> &'c Value {
    list.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()
}

pub(crate) fn versions(list: &Value) -> Vec<ProtocolVersion> {
    list.as_array().unwrap().iter().map(|version| version.as_str().unwrap().parse().unwrap()).collect()
}

/// 2025-03-26 and later.
fn streamable() -> &'static [ProtocolVersion] {
    &ProtocolVersion::KNOWN[1..]
}

/// Decodes base64 with its padding.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').bytes();
    let bits: Vec<u8> = digits.map(|byte| DIGITS.iter().position(|&digit| digit == byte).unwrap() as u8).collect();
    bits.chunks(4)
        .flat_map(|group| {
            let number =
                group.iter().fold(0u32, |number, &digit| number << 6 | u32::from(digit)) << (6 * (4 - group.len()));
            number.to_be_bytes()[1..group.len()].to_vec()
        })
        .collect()
}

fn id(value: &Value) -> Id {
    Id::parse(&value.to_string()).unwrap()
}

pub(crate) fn start(version: ProtocolVersion, request: &Value) -> Run {
    let mut run = Run::under(version).connected().sending().sent();
    run = match request.get("id") {
        Some(value) => run.id(id(value)),
        None => run.notification(),
    };
    if let Some(token) = request.get("progress_token") {
        run = run.token(id(token));
    }
    if let Some(deadline) = request["deadline_ms"].as_u64() {
        run = run.deadline(deadline);
    }
    run
}

/// Lets the timer go off if it is due.
fn due(run: Run, by: u64) -> Run {
    let due = run.once().exchange.exchange().poll_timeout().map(|due| due.since_origin().as_millis() as u64);
    match due {
        Some(due) if due <= by => run.at(due).timeout(),
        _ => run,
    }
}

fn is_event_stream(head: &Value) -> bool {
    head["headers"]["content-type"].as_str().is_some_and(|kind| kind.to_lowercase().contains("event-stream"))
}

fn with_head(run: Run, head: &Value) -> Run {
    let headers: Vec<(&str, &str)> =
        head["headers"].as_object().unwrap().iter().map(|(name, value)| (&**name, value.as_str().unwrap())).collect();
    run.head(head["status"].as_u64().unwrap().try_into().unwrap(), &headers)
}

fn with_end(run: Run, end: &str, is_marked: bool) -> Run {
    match end {
        "eof" if is_marked => run.marked(),
        "eof" => run.unmarked(),
        "reset" | "rst_stream:CANCEL" => run.broken(BreakKind::Reset),
        "tls-truncated" => run.broken(BreakKind::TlsTruncated),
        "chunked-truncated" => run.short(),
        other => panic!("{other}"),
    }
}

/// The steps, all at once if they name no times, with the timer going off between them, and after them if the exchange is still open.
pub(crate) fn with_steps(mut run: Run, steps: &Value) -> Run {
    let mut is_marked = false;
    for step in steps.as_array().unwrap() {
        let at = step["at_ms"].as_u64().unwrap_or_default();
        run = due(run, at).at(at);
        for (key, value) in step.as_object().unwrap() {
            run = match &**key {
                "at_ms" => run,
                "head" => {
                    is_marked = !is_event_stream(value);
                    with_head(run, value)
                }
                "body" => run.body(value.as_str().unwrap()),
                "end" => with_end(run, value.as_str().unwrap(), is_marked),
                other => panic!("{other}"),
            };
        }
    }
    due(run, u64::MAX)
}

/// When it came to an outcome: the answer, or else the verdict.
fn outcome(story: &Story) -> (&'static str, u64) {
    let answered = story.told.iter().find(|(_, line)| line.starts_with("answer "));
    match answered {
        Some((at, _)) => ("settled", *at),
        None => {
            let (at, line) = story.told.last().unwrap();
            let state = if line.starts_with("reissue ") { "reissue" } else { "failed" };
            assert!(state == "reissue" || line.starts_with("failed "), "{line}");
            (state, *at)
        }
    }
}

fn delivered(story: &Story) -> Vec<&str> {
    story.lines().into_iter().filter_map(|line| line.strip_prefix("note ")).collect()
}

fn has_diagnostic(story: &Story, text: &str) -> bool {
    let ignored = story.exchange.exchange().ignored();
    match text {
        "response for an id that is not ours" => story.lines().iter().any(|line| line.starts_with("stray ")),
        "array is not a JSON-RPC message in this revision" => story.verdict().contains("invalid_message array"),
        "event of type ping ignored" => ignored.events > 0,
        "payload that is not a JSON-RPC message ignored" => ignored.messages > 0,
        other => panic!("{other}"),
    }
}

/// Every key of the expectation holds.
pub(crate) fn expect(story: &Story, expected: &Value) {
    let (state, at) = outcome(story);
    for (key, value) in expected.as_object().unwrap() {
        let text = || value.as_str().unwrap();
        let list = || value.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap()).collect::<Vec<_>>();
        match &**key {
            "state" => assert_eq!(state, text(), "{:?}", story.told),
            "exchange_verdict" => {
                assert_eq!(text(), "Reissue");
                assert!(matches!(story.verdict, Some(Verdict::Reissue { .. })), "{:?}", story.told);
            }
            "at_ms" => assert_eq!(at, value.as_u64().unwrap(), "{:?}", story.told),
            "times_settled" | "terminal_outcomes" => assert_eq!(value.as_u64(), Some(1), "`story` lets no second pass"),
            "maybe_executed" => assert_eq!(story.failure().may_have_run(), value.as_bool().unwrap()),
            "reason" => {
                let kind = story.failure().kind.as_str();
                assert_eq!(text().split(',').next().unwrap().replace(' ', "_"), kind);
            }
            "id_match" => {
                let found = story.answer.as_ref().unwrap().info.id_match;
                assert!(text().starts_with("coerced") && found == IdMatch::Coerced, "{found:?}");
            }
            "result_has" => {
                let answer: Value = story.answer.as_ref().unwrap().message.parse_result().unwrap();
                for (member, content) in value.as_object().unwrap() {
                    assert_eq!(&answer[member], content);
                }
            }
            "delivered" => assert_eq!(delivered(story), list()),
            "diagnostics" => list().into_iter().for_each(|text| assert!(has_diagnostic(story, text), "{text}")),
            // Said in words; each test checks it.
            "never" | "why" | "only" => {}
            other => panic!("no check for {other}"),
        }
    }
}

/// PF-J01, E15: a coerced id is taken and marked, or refused if ids are strict.
#[test]
fn pf_j01_a_coerced_id() {
    let case = case("PF-J01");
    let (input, expected) = (&case["input"], &case["expected"]);
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2026_07_28] {
        for variant in input["variants"].as_array().unwrap() {
            let name = variant["name"].as_str().unwrap();
            let run = with_steps(start(version, &input["request"]), &variant["steps"]);
            let story = run.story();
            if name == "both-outstanding" {
                let expected = expected["default"][name].as_object().unwrap();
                assert_eq!((outcome(&story).0, &expected["state"]), ("settled", &Value::from("settled")));
                assert_eq!(story.answer.unwrap().info.id_match, IdMatch::Exact);
                // The other request has a stream of its own; this one's bytes never reach it.
                let other = start(version, &variant["also_outstanding"]).sse().story();
                assert_eq!(other.lines(), Vec::<&str>::new());
                continue;
            }
            expect(&story, &expected["default"][name]);
            let strict = with_steps(
                start(version, &input["request"]).config(|config| config.with_strict_ids(true)),
                &variant["steps"],
            );
            expect(&strict.story(), &expected["strict_ids_setting"][name]);
        }
    }
}

/// PF-J03, E4, E15: a stray and a repetition.
#[test]
fn pf_j03_a_stray_and_a_repetition() {
    let case = case("PF-J03");
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let story = with_steps(start(version, &case["input"]["request"]), &case["input"]["steps"]).story();
        expect(&story, &case["expected"]);
        assert_eq!(story.verdict(), "settled 200");
        // Nothing of the stray's content is told.
        assert!(story.lines()[0] == "stray 12" && !story.lines().iter().any(|line| line.contains("other")));
        assert_eq!(story.exchange.exchange().ignored().messages, 1, "the repetition");
    }
}

/// PF-J05, E25, E29: an array in one event.
#[test]
fn pf_j05_an_array_in_one_event() {
    let case = case("PF-J05");
    let runs = versions(&case["input"]["run_as"]);
    assert_eq!(runs.len(), 4);
    for version in runs {
        let story = with_steps(start(version, &case["input"]["request"]), &case["input"]["steps"]).story();
        let expected = &case["expected"];
        expect(&story, expected.get(version.as_str()).unwrap_or(&expected["others"]));
    }
}

/// PF-J07, E23: names of events.
#[test]
fn pf_j07_names_of_events() {
    let case = case("PF-J07");
    for &version in streamable() {
        let story = with_steps(start(version, &case["input"]["request"]), &case["input"]["steps"]).story();
        expect(&story, &case["expected"]);
        assert_eq!(story.verdict(), "settled 200");
        assert_eq!(story.told.len(), 2, "the answer and the verdict, nothing at 10 or 20");
    }
}

/// PF-A01, E8, E13: bodies as the adapter hands them over.
#[test]
fn pf_a01_bodies() {
    let case = case("PF-A01");
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let is_modern = version == ProtocolVersion::LATEST;
        for row in case["input"]["rows"].as_array().unwrap() {
            let name = row["name"].as_str().unwrap();
            let expected = &case["expected"]["rows"][name];
            let body = match (row["body"].as_str(), row["body_base64"].as_str()) {
                (Some(text), _) => text.as_bytes().to_vec(),
                (None, Some(coded)) => base64(coded),
                (None, None) => panic!("{name}"),
            };
            let run = with_head(start(version, &case["input"]["request"]).at(5), &row["head"]).at(10).body(body);
            // Here the length, or nothing, marks the end: that is what the rows are about.
            let story = with_end(run.at(12), row["end"].as_str().unwrap(), false).story();
            let lines = story.lines();
            let lost = if is_modern { "reissue short streaming" } else { "failed lost short streaming" };
            let state = expected["state"].as_str().unwrap_or_default();
            match name {
                "gzip-sse" => {
                    assert!(state.starts_with("settled"));
                    assert_eq!(lines, ["answer {\"tools\":[]}", "settled 200"]);
                    assert_eq!(story.told[0].0, 10, "inflated as it arrives");
                }
                "unknown-coding" => {
                    assert_eq!((state, expected["reason"].as_str()), ("failed", Some("protocol")));
                    assert_eq!(story.timed(), [(5, "failed content_coding Unsupported headed")]);
                }
                "json-cut-by-length" | "sse-cut-by-chunk-framing" => {
                    assert_eq!(expected["maybe_executed"], true);
                    assert_eq!(expected["2026-07-28"], "re-issue");
                    assert_eq!(story.timed(), [(12, lost)]);
                    if !is_modern {
                        assert!(story.failure().may_have_run());
                    }
                }
                "json-whole-but-below-length" => {
                    assert_eq!(state, "settled, marked salvaged (length mismatch)");
                    assert_eq!(story.timed(), [(12, "answer {\"tools\":[]}"), (12, "salvaged 200 short")]);
                }
                "json-no-length-closed" => {
                    assert_eq!(state, "settled");
                    assert_eq!(lines, ["answer {\"tools\":[]}", "settled 200"]);
                }
                other => panic!("no check for {other}"),
            }
        }
    }
    // The cut stream again, with a cursor.
    let row = named(&case["input"]["rows"], "sse-cut-by-chunk-framing");
    let run = with_head(start(ProtocolVersion::V2025_11_25, &case["input"]["request"]), &row["head"]);
    let run = run.body("id: c\n\n").body(row["body"].as_str().unwrap()).short();
    assert_eq!(run.lines(), ["resume c after 1000 short"]);
}

/// PF-E01, E5, E7: the stream ends before the response.
#[test]
fn pf_e01_the_stream_ends_before_the_response() {
    let case = case("PF-E01");
    let expected = &case["expected"];
    for version in versions(&case["input"]["run_as"]) {
        let by_era = match version.as_str() {
            "2025-11-25" => &expected["2025-11-25 without event ids"],
            era => &expected[era],
        };
        for variant in case["input"]["variants"].as_array().unwrap() {
            let story = with_steps(start(version, &case["input"]["request"]), &variant["steps"]).story();
            expect(&story, by_era);
            expect(&story, &expected["all"]);
            assert!(story.verdict.is_some() && story.answer.is_none());
            assert!(!story.verdict().contains("timeout") && !story.verdict().contains("resume"));
        }
    }
}

/// PF-E03, E2, E3: the stream is kept open after the response.
#[test]
fn pf_e03_the_stream_is_kept_open() {
    let case = case("PF-E03");
    for &version in streamable() {
        let run = with_steps(start(version, &case["input"]["request"]), &case["input"]["steps"]);
        let story = run.story();
        let mut expected = case["expected"].clone();
        assert_eq!(expected["actions"][0], "release the stream any time after 10");
        expected.as_object_mut().unwrap().remove("actions");
        expect(&story, &expected);
        // The late notification is told as one; the deadline ends a stream that nobody closed, and takes nothing away.
        let told = [
            (10, "answer {\"tools\":[]}"),
            (40000, "note notifications/tools/list_changed"),
            (60000, "salvaged 200 stalled"),
        ];
        assert_eq!(story.timed(), told);
        // Released at once: nothing was wrong.
        let first = serde_json::to_value(&case["input"]["steps"].as_array().unwrap()[..2]).unwrap();
        let mut run = start(version, &case["input"]["request"]);
        for step in first.as_array().unwrap() {
            run = run.at(step["at_ms"].as_u64().unwrap());
            run = match step.get("head") {
                Some(head) => with_head(run, head),
                None => run.body(step["body"].as_str().unwrap()),
            };
        }
        assert_eq!(run.once().exchange.exchange().want(), Want::Drain);
        assert_eq!(run.at(11).cancel().verdict(), "settled 200");
    }
}

/// PF-E06, E19, E20, E24: heads.
#[test]
fn pf_e06_heads() {
    let case = case("PF-E06");
    for &version in streamable() {
        for row in case["input"]["rows"].as_array().unwrap() {
            let name = row["name"].as_str().unwrap();
            let request = &case["input"][row["for"].as_str().unwrap()];
            let run = with_head(start(version, request), &row["head"]).body(row["body"].as_str().unwrap());
            let run = with_end(run, "eof", !is_event_stream(&row["head"]));
            let story = run.story();
            match case["expected"]["rows"][name].as_str().unwrap() {
                "read as event stream, settled" | "read as JSON, settled" => {
                    assert_eq!(story.lines(), ["answer {\"tools\":[]}", "settled 200"]);
                }
                "failed, reason protocol, content type named, body not fed to the decoder" => {
                    assert_eq!(story.lines(), ["failed content_type \"text/html\" headed"]);
                    assert!(story.failure().to_string().contains("text/html"));
                }
                "failed, reason protocol" => assert_eq!(story.lines(), ["failed no_answer 200 headed"]),
                "accepted" | "accepted, body not parsed" => {
                    assert_eq!(story.lines(), [format!("accepted {}", row["head"]["status"])]);
                }
                "refused, with status and error; the session is not torn down by it" => {
                    assert_eq!(story.lines(), ["failed status 400 error -32600 streaming"]);
                }
                other => panic!("no check for {other}"),
            }
        }
    }
}

/// PF-E12, E11, E12: what moves which limit.
#[test]
fn pf_e12_what_moves_which_limit() {
    let case = case("PF-E12");
    assert_eq!(case["input"]["progress_resets_idle"], true);
    for version in versions(&case["input"]["run_as"]) {
        for row in case["input"]["rows"].as_array().unwrap() {
            let idle = Duration::from_millis(row["idle_ms"].as_u64().unwrap());
            let run = start(version, &case["input"]["request"])
                .deadline(row["max_ms"].as_u64().unwrap())
                .config(|config| config.with_idle(idle));
            let story = with_steps(run, &row["steps"]).story();
            expect(&story, &case["expected"]["rows"][row["name"].as_str().unwrap()]);
            if story.answer.is_none() {
                assert_eq!(case["expected"]["maybe_executed"], true);
                assert!(story.failure().may_have_run());
                assert_eq!(story.exchange.exchange().want(), Want::Close, "closing the stream is the cancel");
            }
        }
    }
}
