//! E6, E26 and F11: the GET for the rest of a request's stream. Nothing that happens to it loses the cursor.

use core::time::Duration;

use mcp_sse_core::Limits;
use mcp_sse_core::exchange::{BreakKind, Carries, Cursor, TailRule, Verdict, Want};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, error, event, gzip, note, progress, result};

const ANSWER: &str = "answer {\"ok\":true}";
const SSE: (&str, &str) = ("Content-Type", "text/event-stream");

fn rest() -> Run {
    Run::resumption("g-1")
}

/// E2 to E4, E9, E13, E15: the answer on a resumed stream is an answer like any other.
#[test]
fn e6_the_rest_of_a_stream_brings_the_answer() {
    let run = rest().sse().event(&note("a"));
    assert_eq!(run.clone().event(&result("7")).lines(), ["note a", ANSWER]);
    assert_eq!(run.clone().event(&result("7")).marked().lines(), ["note a", ANSWER, "settled 200"]);
    assert_eq!(run.clone().event(&result("7")).cancel().lines(), ["note a", ANSWER, "settled 200"]);
    assert_eq!(run.clone().event(&result("7")).reset().lines(), ["note a", ANSWER, "salvaged 200 Reset"]);
    let tail = run.clone().body(format!("id: 9\ndata: {}", result("7"))).reset();
    assert_eq!(tail.lines(), ["note a", ANSWER, "salvaged 200 unterminated"]);
    assert_eq!(run.clone().event(&error("null", -5)).marked().lines()[1..], ["answer error -5 absent", "settled 200"]);
    let coerced = [format!("{ANSWER} coerced"), "settled 200".to_owned()];
    assert_eq!(run.event(&result("\"7\"")).marked().lines()[1..], coerced);
    let coded = gzip(&[event(&result("7")).as_bytes()]);
    let coded = rest().head(200, &[SSE, ("Content-Encoding", "gzip")]).body(coded).marked();
    assert_eq!(coded.lines(), [ANSWER, "settled 200"]);
    let strict = rest().config(|config| config.with_tail(TailRule::Strict)).sse();
    let strict = strict.body(format!("data: {}", result("7"))).reset();
    assert_eq!(strict.lines(), ["resume g-1 after 1000 Reset"]);
}

/// E6: a GET that was not sent, or that broke before its head, lost nothing.
#[test]
fn e6_a_resumption_that_did_not_get_through_is_asked_for_again() {
    let run = || Run::under(ProtocolVersion::V2025_11_25).carries(Carries::Resumption(Cursor::new("g-1")));
    for kind in [BreakKind::Resolve, BreakKind::Connect, BreakKind::Handshake, BreakKind::Reset, BreakKind::Malformed] {
        let told = [format!("resume g-1 after 1000 {kind:?}")];
        assert_eq!(run().broken(kind).lines(), told);
        assert_eq!(run().connected().broken(kind).lines(), told);
        assert_eq!(run().connected().sending().broken(kind).lines(), told);
        assert_eq!(run().sent().broken(kind).lines(), told);
    }
    assert_eq!(run().sent().marked().lines(), ["resume g-1 after 1000 Closed"]);
    // E1: a kept connection found closed is replaced first.
    let asks = run().reused().reset().story();
    assert_eq!((asks.verdict(), asks.exchange.exchange().want()), ("open".to_owned(), Want::Send { fresh: true }));
}

/// E6: ended without the answer, however politely, or broken: the stream is resumed again.
#[test]
fn e6_a_resumed_stream_without_the_answer_is_resumed_again() {
    for (run, cause) in [
        (rest().sse().marked(), "ended"),
        (rest().sse().unmarked(), "ended"),
        (rest().sse().short(), "short"),
        (rest().sse().reset(), "Reset"),
        (rest().sse().body(": hi\n\nevent: ping\ndata: x\n\n").marked(), "ended"),
        (rest().sse().event("12").marked(), "ended"),
        (rest().sse().body("data: {\"jsonrpc\"").reset(), "Reset"),
        (rest().sse().body(format!("data: {}", note("never"))).marked(), "ended"),
        // E24: without a type, and no JSON.
        (rest().head(200, &[]).body("\n\n").marked(), "ended"),
        (rest().head(200, &[]).body(":\n").unmarked(), "ended"),
        (rest().head(200, &[]).unmarked(), "ended"),
        (rest().head(200, &[]).reset(), "Reset"),
        (rest().head(200, &[]).short(), "short"),
    ] {
        assert_eq!(run.lines(), [format!("resume g-1 after 1000 {cause}")], "{run:?}");
    }
}

/// E26: the newest usable id takes the cursor's place; nothing clears it.
#[test]
fn e26_a_cursor_is_replaced_and_never_lost() {
    let cursor = |body: &str| rest().sse().body(body).reset().verdict();
    assert_eq!(cursor("id: n-1\ndata:\n\n"), "resume n-1 after 1000 Reset");
    assert_eq!(cursor("id: n-1\n\n"), "resume n-1 after 1000 Reset");
    assert_eq!(cursor("id: n-1\n\nid: n-2\n\nid: n-3\n"), "resume n-2 after 1000 Reset");
    let (long, longer) = ("x".repeat(1024), "x".repeat(1025));
    assert_eq!(cursor(&format!("id: {long}\n\n")), format!("resume {long} after 1000 Reset"));
    for bad in ["", " a", "a ", "a\tb", "caf\u{e9}", "a\0b", &longer] {
        assert_eq!(cursor(&format!("id: {bad}\n\n")), "resume g-1 after 1000 Reset", "{bad:?}");
        assert_eq!(cursor(&format!("id: {bad}\ndata:\n\n")), "resume g-1 after 1000 Reset", "{bad:?}");
        assert_eq!(cursor(&format!("id: n-1\n\nid: {bad}\n\n")), "resume n-1 after 1000 Reset", "{bad:?}");
    }
    assert_eq!(cursor("id\n\n"), "resume g-1 after 1000 Reset");
}

/// E26: a cursor that no header can carry is none, and no era but the legacy ones has any.
#[test]
fn e26_what_is_no_cursor_resumes_nothing() {
    for bad in ["", " ", "a\nb", "\u{7f}", &"x".repeat(1025)] {
        let run = Run::resumption(bad);
        assert_eq!(run.clone().sse().reset().lines(), ["failed lost Reset headed"], "{bad:?}");
        assert_eq!(run.clone().sse().body("id: n\n\n").reset().lines(), ["resume n after 1000 Reset"], "{bad:?}");
        let unsent = Run::under(ProtocolVersion::V2025_11_25).carries(Carries::Resumption(Cursor::new(bad)));
        assert_eq!(unsent.reset().lines(), ["failed unsent Reset unsent"], "{bad:?}");
    }
    for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2026_07_28] {
        let run = Run::under(version).sent().carries(Carries::Resumption(Cursor::new("g-1")));
        assert_eq!(run.sse().body("id: n\n\n").reset().lines(), ["failed lost Reset streaming"]);
    }
}

/// E26, F11: the wait is the last `retry` of this stream, else the cursor's, else 1 s; floored.
#[test]
fn e26_the_wait_before_the_next_resumption() {
    let given = |millis| Carries::Resumption(Cursor::new("g").with_retry(Duration::from_millis(millis)));
    let retry = |run: Run| match run.story().verdict {
        Some(Verdict::Resume { after, retry, .. }) => (after.as_millis(), retry.map(|retry| retry.as_millis())),
        other => panic!("{other:?}"),
    };
    assert_eq!(retry(rest().sse().reset()), (1000, None));
    assert_eq!(retry(rest().reset()), (1000, None));
    assert_eq!(retry(rest().sse().body("retry: 300\n").reset()), (300, Some(300)));
    let from = |millis| rest().carries(given(millis));
    assert_eq!(retry(from(50).reset()), (50, Some(50)));
    assert_eq!(retry(from(50).sse().marked()), (50, Some(50)));
    assert_eq!(retry(from(3).sse().marked()), (10, Some(10)));
    assert_eq!(retry(from(50).sse().body("retry: 70\nretry: soon\n\n").marked()), (70, Some(70)));
    assert_eq!(retry(from(50).sse().body("retry: 0\n\n").marked()), (10, Some(10)));
    // One that is cut is no directive.
    assert_eq!(retry(from(50).sse().body("retry: 7").marked()), (50, Some(50)));
}

/// F11: only a message with a new usable id is progress; a 200, an event without a message or an id again is none.
#[test]
fn f11_what_a_resumption_counts_as_progress() {
    let verdict = |body: String| rest().sse().body(body).marked().verdict();
    let message = note("a");
    let progressed = [
        format!("id: n-1\ndata: {message}\n\n"),
        format!("id: n-1\ndata:\n\nid: n-2\ndata: {message}\n\n"),
        "id: n-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}\n\n".to_owned(),
        // Progress stays, whatever comes afterwards.
        format!("id: n-1\ndata: {message}\n\nid: n-2\ndata:\n\n: bye\n\n"),
    ];
    for body in progressed {
        assert!(verdict(body.clone()).ends_with(" ended progressed"), "{body}");
    }
    let idle = [
        String::new(),
        event(&message),
        "id: n-1\ndata:\n\n".to_owned(),
        format!("id: g-1\ndata: {message}\n\n"),
        format!("id: n-1\ndata:\n\nid: n-1\ndata: {message}\n\n"),
        format!("id: n-1\ndata:\n\ndata: {message}\n\n"),
        format!("id: n-1\nevent: ping\ndata: {message}\n\n"),
        "id: n-1\ndata: 12\n\n".to_owned(),
        format!("id: caf\u{e9}\ndata: {message}\n\n"),
        format!("id:\ndata: {message}\n\n"),
        format!("id: n-1\ndata: {message}\n"),
    ];
    for body in idle {
        assert!(verdict(body.clone()).ends_with(" ended"), "{body}");
    }
}

/// E18, F11: a status of failure reaches the client as it is; an error in its body is told with it, for a GET is no request.
#[test]
fn e18_f11_a_refused_resumption() {
    for status in [300, 400, 401, 403, 404, 405, 429, 500, 503] {
        let head = [("Content-Type", "application/json")];
        for id in ["7", "null", "8"] {
            let refused = rest().head(status, &head).body(error(id, -32001)).marked();
            assert_eq!(refused.lines(), [format!("failed status {status} error -32001 streaming")]);
        }
        assert_eq!(rest().head(status, &[]).marked().lines(), [format!("failed status {status} headed")]);
        let result = rest().head(status, &head).body(result("7")).marked();
        assert_eq!(result.lines(), [format!("failed status {status} streaming")]);
        let broken = rest().head(status, &[SSE]).body("id: 3\n\n").reset();
        assert_eq!(broken.lines(), [format!("failed status {status} streaming")]);
    }
    // E18: it is POSTs that are sent elsewhere.
    let moved = rest().config(|config| config.with_follow_redirects(true)).head(307, &[("Location", "/x")]).marked();
    assert_eq!(moved.lines(), ["failed status 307 headed"]);
}

/// E19, E24: only an event stream will do.
#[test]
fn e24_a_resumption_is_an_event_stream() {
    for status in [202, 204] {
        assert_eq!(rest().head(status, &[SSE]).lines(), [format!("failed no_answer {status} headed")]);
    }
    for kind in ["application/json", "text/html", "application/problem+json"] {
        let told = rest().head(200, &[("Content-Type", kind)]).lines();
        assert_eq!(told, [format!("failed content_type {kind:?} headed")]);
    }
    // Without a type the first byte tells.
    for body in ["{\"jsonrpc\"", "[", " <html>"] {
        assert_eq!(rest().head(200, &[]).body(body).lines(), ["failed content_type \"\" streaming"], "{body}");
    }
    assert_eq!(rest().head(200, &[]).body(event(&result("7"))).lines(), [ANSWER]);
    assert_eq!(rest().head(200, &[]).marked().lines(), ["failed no_answer 200 headed"]);
    let unknown = rest().head(200, &[SSE, ("Content-Encoding", "br")]);
    assert_eq!(unknown.lines(), ["failed content_coding Unsupported headed"]);
}

/// E10, E13, E14, E16, E29: where the server answered, badly, nothing is resumed.
#[test]
fn e6_a_bad_answer_on_a_resumed_stream_is_told() {
    let run = rest().sse();
    assert_eq!(run.clone().event("oops").marked().lines(), ["failed invalid_json at 0 streaming"]);
    assert_eq!(run.clone().event(&result("8")).marked().lines(), ["stray 8", "failed id_mismatch 8 streaming"]);
    let malformed = run.clone().event("{\"jsonrpc\":\"2.0\",\"id\":7}").marked();
    assert_eq!(malformed.lines(), ["failed invalid_message envelope streaming"]);
    assert_eq!(run.clone().event("[]").marked().lines(), ["failed invalid_message array streaming"]);
    // Not when it broke: more may have come.
    assert_eq!(run.clone().event("oops").reset().lines(), ["resume g-1 after 1000 Reset"]);
    let limits = Limits::default().with_max_event_bytes(200);
    let large = run.config(|config| config.with_limits(limits)).event(&"x".repeat(300));
    assert_eq!(large.clone().event(&result("7")).marked().lines(), ["oversized 200", ANSWER, "settled 200"]);
    assert_eq!(large.reset().lines(), ["oversized 200", "failed too_large event 200 streaming"]);
    let mut corrupt = gzip(&[event(&note("a")).as_bytes()]);
    corrupt.truncate(corrupt.len() - 10);
    corrupt.extend([0xFF; 30]);
    let corrupt = rest().head(200, &[SSE, ("Content-Encoding", "gzip")]).body(corrupt);
    assert_eq!(corrupt.lines(), ["note a", "failed content_coding Corrupt streaming"]);
}

/// E11, E12, F9: its own limits.
#[test]
fn e11_e12_the_limits_of_a_resumption() {
    let run = rest().deadline(100).sse();
    assert_eq!(
        run.clone().at(100).event(&result("7")).lines(),
        ["failed timeout streaming".replace("streaming", "headed")]
    );
    assert_eq!(run.clone().at(99).event(&result("7")).lines(), [ANSWER]);
    assert_eq!(run.cancel().lines(), ["failed cancelled headed"]);
    let run = rest().token("t").config(|config| config.with_idle(Duration::from_millis(20))).sse();
    let run = run.at(15).event(&progress("\"t\"")).at(30).event(&note("a"));
    assert_eq!(run.clone().at(34).event(&result("7")).verdict(), "open");
    assert_eq!(run.at(35).timeout().verdict(), "failed timeout idle streaming");
}

/// E22, E25: requests from the server, and arrays where the revision has them.
#[test]
fn e22_e25_what_else_comes_on_a_resumed_stream() {
    let ping = r#"{"jsonrpc":"2.0","id":"s-1","method":"ping"}"#;
    let told = rest().sse().event(ping).event(&result("7")).marked().lines();
    assert_eq!(told, ["request ping", ANSWER, "settled 200"]);
    let array = format!("id: n-1\ndata: [1,{}]\n\n", note("a"));
    let run = Run::with_arrays().carries(Carries::Resumption(Cursor::new("g"))).sse().body(&array);
    assert_eq!(run.clone().reset().lines(), ["note a", "resume n-1 after 1000 Reset progressed"]);
    let answered = run.event(&format!("[{},{}]", result("7"), note("b"))).marked();
    assert_eq!(answered.lines(), ["note a", ANSWER, "note b", "settled 200"]);
}

/// E6: the cursor can be asked for while the stream is open.
#[test]
fn e6_the_cursor_as_it_stands() {
    let cursor = |run: &Run| run.once().exchange.exchange().cursor();
    assert_eq!(cursor(&rest()), Some(Cursor::new("g-1")));
    assert_eq!(cursor(&Run::legacy().sse()), None);
    let open = Run::legacy().sse().body("id: n-1\nretry: 5\n\n");
    assert_eq!(cursor(&open), Some(Cursor::new("n-1").with_retry(Duration::from_millis(10))));
    assert_eq!(cursor(&Run::modern().sse().body("id: n-1\n\n")), None);
}
