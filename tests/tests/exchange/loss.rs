//! E5 to E8 and E26: a response that came to nothing is asked for again, resumed or lost, by the era.

use mcp_sse_core::exchange::BreakKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, event, note, result};

/// Bodies of an event stream without an answer; the second says what is told on the way.
fn unanswered() -> Vec<(String, Vec<&'static str>)> {
    vec![
        (String::new(), vec![]),
        (": keep-alive\n\n".to_owned(), vec![]),
        (event(&note("a")), vec!["note a"]),
        ("data: \n\n".to_owned(), vec![]),
        (format!("data: {}", &result("7")[..20]), vec![]),
        (format!("event: ping\n{}", event("x")), vec![]),
    ]
}

/// E5: broken, or an event stream that ended cleanly.
#[test]
fn e5_a_modern_loss_is_sent_again() {
    for (body, told) in unanswered() {
        let exposure = if body.is_empty() { "headed" } else { "streaming" };
        let run = Run::modern().sse().body(&body);
        for (ended, cause) in [
            (run.clone().reset(), "Reset"),
            (run.clone().broken(BreakKind::TlsTruncated), "TlsTruncated"),
            (run.clone().marked(), "ended"),
            (run.clone().unmarked(), "ended"),
            (run.clone().short(), "short"),
        ] {
            let mut expected: Vec<String> = told.iter().map(|&line| line.to_owned()).collect();
            expected.push(format!("reissue {cause} {exposure}"));
            assert_eq!(ended.lines(), expected, "{body:?}");
        }
    }
}

/// E5: later revisions are modern too.
#[test]
fn e5_holds_for_later_revisions() {
    let run = Run::under("2027-01-31".parse().unwrap()).sent().sse().marked();
    assert_eq!(run.lines(), ["reissue ended headed"]);
}

/// E5, E7: a JSON body that is cut.
#[test]
fn e5_e7_a_cut_json_body_is_lost() {
    let whole = result("7");
    for cut in 0..whole.len() {
        let (modern, legacy) = (Run::modern().json(), Run::legacy().json());
        let exposure = if cut == 0 { "headed" } else { "streaming" };
        let body = &whole[..cut];
        assert_eq!(modern.clone().body(body).reset().lines(), [format!("reissue Reset {exposure}")]);
        assert_eq!(modern.clone().body(body).short().lines(), [format!("reissue short {exposure}")]);
        assert_eq!(modern.body(body).unmarked().lines(), [format!("reissue cut {exposure}")]);
        assert_eq!(legacy.clone().body(body).reset().lines(), [format!("failed lost Reset {exposure}")]);
        assert_eq!(legacy.body(body).unmarked().lines(), [format!("failed lost cut {exposure}")]);
    }
}

/// E6, F11: whether a message with a new id came is told, for the budget of the GETs to come.
#[test]
fn e6_tells_whether_a_message_came_with_the_id() {
    let verdict = |body: &str| Run::legacy().sse().body(body).reset().verdict();
    let message = note("a");
    assert_eq!(verdict(&format!("id: 1\ndata: {message}\n\n")), "resume 1 after 1000 Reset progressed");
    assert_eq!(verdict(&format!("id: 1\ndata:\n\ndata: {message}\n\n")), "resume 1 after 1000 Reset");
    assert_eq!(verdict(&format!("data: {message}\n\nid: 1\ndata:\n\n")), "resume 1 after 1000 Reset");
    assert_eq!(verdict("id: 1\ndata: 12\n\n"), "resume 1 after 1000 Reset");
}

/// E6: a usable id on this stream, on whichever block.
#[test]
fn e6_a_legacy_loss_with_a_cursor_is_resumed() {
    for body in ["id: c-1\ndata: \n\n", "id: c-1\n\n", "id: c-1\nevent: ping\ndata: x\n\n"] {
        for (run, cause) in [
            (Run::legacy().sse().body(body).reset(), "Reset"),
            (Run::legacy().sse().body(body).marked(), "ended"),
            (Run::legacy().sse().body(body).unmarked(), "ended"),
            (Run::legacy().sse().body(body).short(), "short"),
        ] {
            assert_eq!(run.lines(), [format!("resume c-1 after 1000 {cause}")], "{body:?}");
        }
    }
    for version in [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18] {
        let run = Run::under(version).sent().sse().body("id: c-1\ndata:\n\n").reset();
        assert_eq!(run.lines(), ["resume c-1 after 1000 Reset"]);
    }
}

/// E6: an answer makes a cursor of no use, and an unfinished block's id is none.
#[test]
fn e6_resumes_nothing_that_was_answered() {
    let run = Run::legacy().sse().body("id: c-1\ndata:\n\n").event(&result("7"));
    assert_eq!(run.clone().reset().verdict(), "salvaged 200 Reset");
    assert_eq!(run.marked().verdict(), "settled 200");
    let unfinished = Run::legacy().sse().body(format!("id: c-2\ndata: {}", &result("7")[..9])).reset();
    assert_eq!(unfinished.verdict(), "failed lost Reset streaming");
}

/// E7: without one. HTTP+SSE has no resumption (its other losses are in `accepted` and `channel`).
#[test]
fn e7_a_legacy_loss_without_a_cursor_fails() {
    for (body, _) in unanswered() {
        let exposure = if body.is_empty() { "headed" } else { "streaming" };
        let run = Run::legacy().sse().body(&body);
        assert_eq!(run.clone().reset().verdict(), format!("failed lost Reset {exposure}"));
        assert_eq!(run.clone().marked().verdict(), format!("failed lost ended {exposure}"));
        assert_eq!(run.short().verdict(), format!("failed lost short {exposure}"));
    }
    let oldest = Run::under(ProtocolVersion::V2024_11_05).sent().reset();
    assert_eq!(oldest.verdict(), "failed lost Reset sent");
}

/// E8: a byte counts once, however many events its chunk brings.
#[test]
fn e8_a_body_of_many_events_is_short_by_a_byte() {
    let body = [note("a"), note("b"), note("c")].map(|note| event(&note)).concat();
    for missing in [1, 40, 200] {
        let length = (body.len() + missing).to_string();
        let head = [("Content-Type", "text/event-stream"), ("Content-Length", length.as_str())];
        let told = Run::modern().head(200, &head).body(&body).unmarked().lines();
        assert_eq!(told, ["note a", "note b", "note c", "reissue short streaming"]);
    }
}

/// E8: below its Content-Length, or without its last chunk.
#[test]
fn e8_a_short_body_is_worth_its_answer() {
    let (json, sse) = (("Content-Type", "application/json"), ("Content-Type", "text/event-stream"));
    let losses = ["reissue short streaming", "failed lost short streaming"];
    for (run, lost) in Run::both().into_iter().zip(losses) {
        for (head, body) in [(json, result("7")), (sse, event(&result("7")))] {
            let length = (body.len() + 1).to_string();
            let declared = run.clone().head(200, &[head, ("Content-Length", &length)]).body(&body);
            // The length tells even an adapter that does not.
            for ended in [declared.clone().marked(), declared.clone().unmarked(), declared.short()] {
                assert_eq!(ended.lines(), ["answer {\"ok\":true}", "salvaged 200 short"]);
            }
            let chunked = run.clone().head(200, &[head]).body(&body).short();
            assert_eq!(chunked.lines(), ["answer {\"ok\":true}", "salvaged 200 short"]);

            let exact = run.clone().head(200, &[head, ("Content-Length", &body.len().to_string())]).body(&body);
            assert_eq!(exact.clone().marked().verdict(), "settled 200");
            assert_eq!(exact.unmarked().verdict(), "settled 200");

            let cut = run.clone().head(200, &[head, ("Content-Length", "4096")]).body(&body[..30]).marked();
            assert_eq!(cut.lines(), [lost]);
        }
    }
    let cursor = Run::legacy().sse().body("id: c\n\n").body("data: {").short();
    assert_eq!(cursor.lines(), ["resume c after 1000 short"]);
}

/// E8: nothing but an answer comes of a JSON body that is short.
#[test]
fn e8_a_short_body_proves_no_bad_answer() {
    for body in ["{}", "null", "{\"jsonrpc\":\"2.0\",\"id\":7}", "<html>"] {
        assert_eq!(Run::modern().json().body(body).short().verdict(), "reissue short streaming", "{body}");
        assert_eq!(Run::legacy().json().body(body).short().verdict(), "failed lost short streaming", "{body}");
    }
}

/// E26: which ids are cursors.
#[test]
fn e26_a_cursor_can_be_sent_back_as_it_is() {
    let cursor = |body: &str| Run::legacy().sse().body("id: first\n\n").body(body).reset().verdict();
    let long = "x".repeat(1024);
    for good in ["a", "a b", "~!\"", "7", &long] {
        assert_eq!(cursor(&format!("id: {good}\n\n")), format!("resume {good} after 1000 Reset"));
    }
    let too_long = "x".repeat(1025);
    let huge = "x".repeat(9000);
    for bad in ["", " a", "a ", " ", "\u{7f}", "a\tb", "caf\u{e9}", "a\0b", "\u{feff}", &too_long, &huge] {
        assert_eq!(cursor(&format!("id: {bad}\n\n")), "resume first after 1000 Reset", "{bad:?}");
        assert_eq!(cursor(&format!("id: {bad}\ndata: \n\n")), "resume first after 1000 Reset", "{bad:?}");
    }
    // The newest one counts; a block without one changes nothing; one that never ended does not count.
    assert_eq!(cursor("id: 2\n\nid: 3\ndata:\n\ndata: x\n\nid: 4\n"), "resume 3 after 1000 Reset");
    // E26: the modern era has none.
    assert_eq!(Run::modern().sse().body("id: 1\n\nretry: 5\n\n").reset().verdict(), "reissue Reset streaming");
}

/// E26: `retry` is honoured, and floored.
#[test]
fn e26_retry_is_honoured() {
    let after = |retry: &str| Run::legacy().sse().body(format!("{retry}id: 1\n\n")).marked().verdict();
    assert_eq!(after(""), "resume 1 after 1000 ended");
    assert_eq!(after("retry: 2500\n"), "resume 1 after 2500 ended");
    assert_eq!(after("retry: 10\n"), "resume 1 after 10 ended");
    assert_eq!(after("retry: 9\n"), "resume 1 after 10 ended");
    assert_eq!(after("retry: 0\n"), "resume 1 after 10 ended");
    assert_eq!(after("retry: soon\n"), "resume 1 after 1000 ended");
    assert_eq!(after("retry: 2500\n\nretry: 30\n"), "resume 1 after 30 ended");
    // It takes effect with its line; one that is cut is no directive.
    assert_eq!(Run::legacy().sse().body("id: 1\n\nretry: 40\n").reset().verdict(), "resume 1 after 40 Reset");
    assert_eq!(Run::legacy().sse().body("id: 1\n\nretry: 4").reset().verdict(), "resume 1 after 1000 Reset");
    assert_eq!(Run::legacy().sse().body("id: 1\nretry: 90\n\nretry: 4").marked().verdict(), "resume 1 after 90 ended");
}
