//! E9: what an unfinished last event is worth.

use mcp_sse_core::exchange::{ExchangeConfig, TailRule};
use mcp_sse_tests::story::{Run, error, event, note, result};

const ANSWER: &str = "answer {\"ok\":true}";

fn endings(run: &Run) -> Vec<Run> {
    vec![
        run.clone().marked(),
        run.clone().unmarked(),
        run.clone().short(),
        run.clone().reset(),
        run.clone().deadline(100).at(100).timeout(),
    ]
}

/// E9: the answer is whole, its blank line is not there.
#[test]
fn e9_an_unterminated_answer_was_delivered() {
    for run in Run::both() {
        for tail in ["", "\n", "\r", "\r\n", "\nid: 9", "\n: comment", "\nevent: message\n", "\nevent: mes", "\nev"] {
            let body = format!("data: {}{tail}", result("7"));
            let run = run.clone().sse().body(&body);
            assert_eq!(run.lines(), Vec::<String>::new(), "it is judged at an end only");
            for ended in endings(&run) {
                assert_eq!(ended.lines(), [ANSWER, "salvaged 200 unterminated"], "{tail:?}");
            }
        }
        // Over several data lines, and after other events.
        let parts = format!("{}data: {{\"id\":7,\ndata:\"result\":{{\"ok\":true}}}}", event(&note("a")));
        for ended in endings(&run.clone().sse().body(parts)) {
            assert_eq!(ended.lines(), ["note a", ANSWER, "salvaged 200 unterminated"]);
        }
        let errors = run.sse().body(format!("data: {}", error("7", -5))).reset();
        assert_eq!(errors.lines(), ["answer error -5", "salvaged 200 unterminated"]);
    }
}

/// E9: what is no answer, or not whole, or of another type, is dropped with its event.
#[test]
fn e9_what_is_no_whole_answer_is_dropped() {
    let whole = result("7");
    let cut = format!("data: {}", &whole[..whole.len() - 1]);
    let tails = [
        cut,
        format!("data: {}", note("never")),
        format!("event: ping\ndata: {whole}"),
        format!("data: {whole}\nevent: ping"),
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_owned(),
        "data: 12".to_owned(),
        format!(": {whole}"),
    ];
    for tail in &tails {
        assert_eq!(Run::modern().sse().body(tail).reset().lines(), ["reissue Reset streaming"], "{tail}");
        assert_eq!(Run::modern().sse().body(tail).marked().lines(), ["reissue ended streaming"], "{tail}");
        assert_eq!(Run::legacy().sse().body(tail).marked().lines(), ["failed lost ended streaming"], "{tail}");
        let resumed = Run::legacy().sse().body("id: 1\n\n").body(tail).reset();
        assert_eq!(resumed.lines(), ["resume 1 after 1000 Reset"], "{tail}");
    }
}

/// E9: HTML's reading, if it is asked for.
#[test]
fn e9_strict_drops_the_tail() {
    let strict = |config: ExchangeConfig| config.with_tail(TailRule::Strict);
    let body = format!("data: {}\n", result("7"));
    let modern = Run::modern().config(strict).sse().body(&body);
    assert_eq!(modern.clone().marked().lines(), ["reissue ended streaming"]);
    assert_eq!(modern.clone().reset().lines(), ["reissue Reset streaming"]);
    assert_eq!(modern.deadline(5).at(5).timeout().lines(), ["failed timeout streaming"]);
    let legacy = Run::legacy().config(strict).sse().body("id: 1\n\n").body(&body).marked();
    assert_eq!(legacy.lines(), ["resume 1 after 1000 ended"]);
    // What is terminated counts, and a JSON body has no tail.
    let terminated = Run::modern().config(strict).sse().event(&result("7")).reset();
    assert_eq!(terminated.lines(), [ANSWER, "salvaged 200 Reset"]);
    let json = Run::modern().config(strict).json().body(result("7")).reset();
    assert_eq!(json.lines(), [ANSWER, "salvaged 200 Reset"]);
}

/// E9: a tail is not judged when the caller closes.
#[test]
fn e9_a_cancel_judges_no_tail() {
    let run = Run::modern().sse().body(format!("data: {}", result("7"))).cancel();
    assert_eq!(run.lines(), ["failed cancelled streaming"]);
}

/// E9 with E25: the answer's array brings what else it holds.
#[test]
fn e9_an_unterminated_array_with_the_answer() {
    let body = format!("data: [{},{},{}]", note("a"), result("7"), note("b"));
    let run = Run::with_arrays().sse().body(&body).reset();
    assert_eq!(run.lines(), ["note a", ANSWER, "note b", "salvaged 200 unterminated"]);
    let without = Run::with_arrays().sse().body(format!("data: [{}]", note("a"))).reset();
    assert_eq!(without.lines(), ["failed lost Reset streaming"]);
    assert_eq!(Run::modern().sse().body(&body).reset().lines(), ["reissue Reset streaming"]);
}

/// E9 with E16 and E29: a bad answer that is whole was delivered too; a re-issue would run the request twice.
#[test]
fn e9_a_whole_bad_answer_in_the_tail_is_told() {
    let malformed = r#"data: {"jsonrpc":"2.0","id":7}"#;
    assert_eq!(Run::modern().sse().body(malformed).marked().lines(), ["failed invalid_message envelope streaming"]);
    assert_eq!(Run::modern().sse().body("data: []").marked().lines(), ["failed invalid_message array streaming"]);
    let stray = format!("data: {}", result("8"));
    assert_eq!(Run::modern().sse().body(&stray).marked().lines(), ["stray 8", "failed id_mismatch 8 streaming"]);
    // Not under our id; and not when the stream broke, since more may have come.
    let other = r#"data: {"jsonrpc":"2.0","id":8}"#;
    assert_eq!(Run::modern().sse().body(other).marked().lines(), ["reissue ended streaming"]);
    assert_eq!(Run::modern().sse().body(malformed).reset().lines(), ["reissue Reset streaming"]);
}
