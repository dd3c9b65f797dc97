//! E13: gzip and deflate bodies, whole, short, corrupt and inflating for ever.

use mcp_sse_core::Limits;
use mcp_sse_core::http::INFLATE_PIECE;
use mcp_sse_tests::story::{Run, event, gzip, note, raw_deflate, result, zlib};

const ANSWER: &str = "answer {\"ok\":true}";
const SSE: (&str, &str) = ("Content-Type", "text/event-stream");
const JSON: (&str, &str) = ("Content-Type", "application/json");
const GZIP: (&str, &str) = ("Content-Encoding", "gzip");
const DEFLATE: (&str, &str) = ("Content-Encoding", "deflate");

/// E13: every coding, announced, and gzip also by its first two bytes.
#[test]
fn e13_whole_bodies() {
    let (json, stream) = (result("7"), format!(": hi\n\n{}{}", event(&note("a")), event(&result("7"))));
    for run in Run::both() {
        for (kind, plain, told) in
            [(JSON, &json, &[ANSWER, "settled 200"][..]), (SSE, &stream, &["note a", ANSWER, "settled 200"])]
        {
            let plain = plain.as_bytes();
            let coded = [
                (vec![kind, GZIP], gzip(&[plain])),
                (vec![kind], gzip(&[plain])),
                (vec![kind, ("Content-Encoding", "x-gzip")], gzip(&[plain])),
                (vec![kind, DEFLATE], zlib(plain)),
                (vec![kind, DEFLATE], raw_deflate(plain)),
                (vec![kind, DEFLATE], gzip(&[plain])),
                (vec![kind, GZIP], [gzip(&[&plain[..9]]), gzip(&[&plain[9..]])].concat()),
                (vec![], gzip(&[plain])),
                (vec![kind, ("Content-Encoding", "identity")], plain.to_vec()),
            ];
            for (head, body) in coded {
                let run = run.clone().head(200, &head).body(&body);
                assert_eq!(run.clone().marked().lines(), told, "{head:?}");
                assert_eq!(run.unmarked().lines(), told, "{head:?}");
            }
        }
    }
}

/// E2, E13: an answer is given as soon as its bytes can be inflated, the footer is not waited for.
#[test]
fn e13_events_are_inflated_as_they_arrive() {
    let (first, second) = (event(&note("a")), event(&result("7")));
    let coded = gzip(&[first.as_bytes(), second.as_bytes()]);
    let story = Run::modern().head(200, &[SSE, GZIP]).body(&coded[..coded.len() - 10]).story();
    assert_eq!(story.lines(), ["note a", ANSWER]);
}

/// E13: the footer missing, whole or in part, is no damage.
#[test]
fn e13_without_the_footer_as_if_whole() {
    for run in Run::both() {
        for (head, plain) in [(JSON, result("7")), (SSE, event(&result("7")))] {
            let coded = gzip(&[plain.as_bytes()]);
            for missing in 1..=8 {
                let run = run.clone().head(200, &[head, GZIP]).body(&coded[..coded.len() - missing]);
                assert_eq!(run.clone().marked().lines(), [ANSWER, "settled 200"], "{missing}");
                assert_eq!(run.unmarked().lines(), [ANSWER, "settled 200"], "{missing}");
            }
        }
        // As if whole also when it holds no answer.
        let coded = gzip(&[b"{}"]);
        let bad = run.head(200, &[JSON, GZIP]).body(&coded[..coded.len() - 8]).marked();
        assert_eq!(bad.lines(), ["failed invalid_message envelope streaming"]);
    }
}

/// E13, E8: data short: worth its answer, if that is whole, else lost, however politely the body ended.
#[test]
fn e13_short_data_is_a_short_body() {
    let stream = [event(&result("7")), event(&note("after"))];
    let coded = gzip(&[stream[0].as_bytes(), stream[1].as_bytes()]);
    let cut = &coded[..coded.len() - 12];
    for run in Run::both() {
        assert_eq!(run.clone().head(200, &[SSE, GZIP]).body(cut).marked().verdict(), "salvaged 200 short");
    }
    let answer_cut = gzip(&[result("7").as_bytes()]);
    for length in 1..20 {
        let run = |run: Run, kind| run.head(200, &[kind, GZIP]).body(&answer_cut[..length]).marked();
        for kind in [SSE, JSON] {
            assert_eq!(run(Run::modern(), kind).lines(), ["reissue short streaming"]);
            assert_eq!(run(Run::legacy(), kind).lines(), ["failed lost short streaming"]);
        }
    }
    // The whole JSON came out, the end of the data did not.
    let flushed = gzip(&[result("7").as_bytes(), b" "]);
    let run = Run::modern().head(200, &[JSON, GZIP]).body(&flushed[..flushed.len() - 11]);
    assert_eq!(run.clone().marked().lines(), [ANSWER, "salvaged 200 short"]);
    assert_eq!(run.reset().lines(), [ANSWER, "salvaged 200 Reset"]);
    // An empty body is no coded data at all.
    assert_eq!(Run::modern().head(200, &[SSE, GZIP]).marked().lines(), ["reissue ended headed"]);
    assert_eq!(Run::modern().head(200, &[JSON, GZIP]).marked().lines(), ["failed no_answer 200 headed"]);
    // A Content-Length counts coded bytes.
    let length = flushed.len().to_string();
    let exact = Run::modern().head(200, &[JSON, GZIP, ("Content-Length", &length)]).body(&flushed);
    assert_eq!(exact.marked().lines(), [ANSWER, "settled 200"]);
}

/// E13: corrupt, before the answer was given out and after.
#[test]
fn e13_corrupt_data() {
    let failed = "failed content_coding Corrupt streaming";
    for run in Run::both() {
        let json = gzip(&[result("7").as_bytes()]);
        let mut wrong_check = json.clone();
        *wrong_check.iter_mut().rev().nth(5).unwrap() ^= 1;
        let mut broken = gzip(&[b"data: {\"jsonrpc\"", b":\"2.0\"}"]);
        broken.splice(28.., [0xFF; 40]);
        assert_eq!(run.clone().head(200, &[JSON, GZIP]).body(&wrong_check).marked().lines(), [failed]);
        assert_eq!(run.clone().head(200, &[SSE, GZIP]).body(&broken).marked().lines(), [failed]);
        assert_eq!(run.clone().head(200, &[SSE, GZIP]).body("data: plain\n\n").marked().lines(), [failed]);
        assert_eq!(run.clone().head(200, &[JSON, DEFLATE]).body([0x06; 20]).lines(), [failed], "at once");

        let (answer, after) = (event(&result("7")), event(&note("after")));
        let good = gzip(&[answer.as_bytes(), after.as_bytes()]);
        let mut damaged = gzip(&[answer.as_bytes()]);
        damaged.truncate(damaged.len() - 10);
        damaged.extend([0xFF; 40]);
        let story = run.clone().head(200, &[SSE, GZIP]).body(&damaged).story();
        assert_eq!(story.lines(), [ANSWER, "salvaged 200 corrupt"]);
        let mut late_check = good.clone();
        *late_check.last_mut().unwrap() ^= 1;
        let story = run.head(200, &[SSE, GZIP]).body(&late_check).marked().story();
        assert_eq!(story.lines(), [ANSWER, "note after", "salvaged 200 corrupt"]);
    }
    // Legacy with a cursor: the server answered, badly; nothing is resumed.
    let mut body = gzip(&[b"id: 1\n\n"]);
    body.truncate(body.len() - 10);
    body.extend([0xFF; 40]);
    assert_eq!(Run::legacy().head(200, &[SSE, GZIP]).body(&body).lines(), [failed]);
}

/// E13: a bomb stops within the limit plus one piece.
#[test]
fn e13_inflating_past_the_limit() {
    let bomb = gzip(&[&vec![b' '; 3 << 20]]);
    let limits = Limits::default().with_max_inflated_bytes(100_000);
    for run in Run::both() {
        for head in [SSE, JSON] {
            let run = run.clone().config(|config| config.with_limits(limits.clone())).head(200, &[head, GZIP]);
            let story = run.body(&bomb).marked().story();
            assert_eq!(story.lines(), ["failed too_large inflated 100000 streaming"]);
            assert!(story.exchange.exchange().held_bytes() <= 100_000 + INFLATE_PIECE);
        }
        // After the answer it is damage.
        let mut body = gzip(&[event(&result("7")).as_bytes()]);
        body.extend(gzip(&[&vec![b':'; 1 << 20]]));
        let run = run.config(|config| config.with_limits(limits.clone())).head(200, &[SSE, GZIP]).body(&body);
        assert_eq!(run.lines(), [ANSWER, "salvaged 200 toolarge"]);
    }
}

/// E13: what cannot be inflated fails at the head.
#[test]
fn e13_an_unknown_coding_fails_at_the_head() {
    for coding in ["br", "zstd", "x-made-up", "gzip, gzip", "gzip, br"] {
        for run in Run::both() {
            let story = run.head(200, &[JSON, ("Content-Encoding", coding)]).story();
            assert_eq!(story.lines(), ["failed content_coding Unsupported headed"], "{coding}");
        }
    }
}

/// E13: what only looks like gzip at first is read as it is.
#[test]
fn e13_one_byte_of_magic_is_no_gzip() {
    let body = [&b"\x1f"[..], b"\n", event(&result("7")).as_bytes()].concat();
    assert_eq!(Run::modern().head(200, &[SSE]).body(body).marked().lines(), [ANSWER, "settled 200"]);
    assert_eq!(Run::modern().head(200, &[JSON]).body(b"\x1f").marked().lines(), ["failed invalid_json at 0 streaming"]);
    assert_eq!(
        Run::modern().head(200, &[JSON]).body(b"\x1f\x1f\x8b").marked().lines(),
        ["failed invalid_json at 0 streaming"]
    );
}
