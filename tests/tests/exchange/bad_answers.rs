//! E10, E16, E25 and E29: the server answered, badly. It may have run the request, so it is not asked again.

use mcp_sse_tests::story::{Run, error, event, note, result};

/// The same in both eras, and on a legacy stream that could be resumed (the script's own head is then a second one,
/// which is not taken).
fn everywhere(script: impl Fn(Run) -> Run, expected: &[&str]) {
    for run in Run::both() {
        let run = script(run);
        assert_eq!(run.lines(), expected, "{run:?}");
    }
    let resumable = format!("{:?}", script(Run::legacy()));
    if resumable.contains("EventStream") {
        assert_eq!(script(Run::legacy().sse().body("id: 1\n\n")).lines(), expected);
    }
}

/// E10: a JSON body that its framing says is whole.
#[test]
fn e10_a_whole_body_that_is_not_json() {
    for (body, position) in [
        ("<html>", 0),
        ("{\"jsonrpc\":\"2.0\",", 17),
        ("{\"id\":7}}", 8),
        ("{'id':7}", 1),
        ("nul", 3),
        ("[1,", 3),
        ("\u{feff}{]", 4),
        ("  ", 2),
        ("{}{}", 2),
    ] {
        let expected = format!("failed invalid_json at {position} streaming");
        everywhere(|run| run.json().body(body).marked(), &[&expected]);
    }
    let mut bytes = b"{\"a\":\"".to_vec();
    bytes.extend([0xFF, b'"', b'}']);
    everywhere(|run| run.json().body(&bytes).marked(), &["failed invalid_json at 6 streaming"]);
}

/// E10: without a mark of its end, what could have become JSON counts as cut, and what could not as bad.
#[test]
fn e10_an_unmarked_prefix_counts_as_cut() {
    for prefix in ["", " ", "{\"a\":", "[", "nul", "-", "\"a", "\u{feff}"] {
        let exposure = if prefix.is_empty() { "headed" } else { "streaming" };
        assert_eq!(Run::modern().json().body(prefix).unmarked().verdict(), format!("reissue cut {exposure}"));
        assert_eq!(Run::legacy().json().body(prefix).unmarked().verdict(), format!("failed lost cut {exposure}"));
    }
    everywhere(|run| run.json().body("{]").unmarked(), &["failed invalid_json at 1 streaming"]);
    everywhere(|run| run.json().body("<p>").unmarked(), &["failed invalid_json at 0 streaming"]);
}

/// E10: a `message` event that is not JSON, if the stream ended cleanly, unanswered.
#[test]
fn e10_an_event_that_is_not_json() {
    for data in ["oops", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":", "[1", "{]"] {
        for named in ["", "event: message\n"] {
            let body = format!("{named}{}", event(data));
            let position = match data {
                "oops" => 0,
                "{]" => 1,
                cut => cut.len(),
            };
            let expected = format!("failed invalid_json at {position} streaming");
            for run in Run::both() {
                let run = run.sse().body(&body);
                assert_eq!(run.clone().marked().lines(), [&*expected]);
                assert_eq!(run.clone().unmarked().lines(), [&*expected]);
                // The first of several counts; with an answer none does.
                assert_eq!(run.clone().event("really").marked().lines(), [&*expected]);
                assert_eq!(run.event(&result("7")).marked().verdict(), "settled 200");
            }
            let resumable = Run::legacy().sse().body("id: 1\n\n").body(&body);
            assert_eq!(resumable.clone().marked().lines(), [&*expected]);
            // Broken, the rest may have come: lost as ever.
            assert_eq!(resumable.reset().verdict(), "resume 1 after 1000 Reset");
            assert_eq!(Run::modern().sse().body(&body).reset().verdict(), "reissue Reset streaming");
            assert_eq!(Run::modern().sse().body(&body).short().verdict(), "reissue short streaming");
        }
    }
    let other_type = Run::modern().sse().body("event: status\ndata: oops\n\n").marked();
    assert_eq!(other_type.lines(), ["reissue ended streaming"]);
}

/// E16: answered under another id, and not under ours.
#[test]
fn e16_only_a_stray_answer() {
    for (data, id) in [(result("8"), "8"), (error("\"x\"", 1), "\"x\""), (result("null"), "null")] {
        let stray = format!("stray {id}");
        let failed = format!("failed id_mismatch {id} streaming");
        everywhere(|run| run.sse().event(&data).marked(), &[&stray, &failed]);
        everywhere(|run| run.sse().event(&data).unmarked(), &[&stray, &failed]);
        everywhere(|run| run.json().body(&data).marked(), &[&stray, &failed]);
        everywhere(|run| run.json().body(&data).unmarked(), &[&stray, &failed]);
        // Broken or short: lost.
        assert_eq!(Run::modern().sse().event(&data).reset().lines(), [&*stray, "reissue Reset streaming"]);
        assert_eq!(Run::legacy().sse().event(&data).short().lines(), [&*stray, "failed lost short streaming"]);
    }
    everywhere(
        |run| run.json().body(r#"{"jsonrpc":"2.0","result":{}}"#).marked(),
        &["stray none", "failed id_mismatch none streaming"],
    );
    // An id too long to tell is not told.
    let long = format!("\"{}\"", "x".repeat(65));
    everywhere(|run| run.json().body(result(&long)).marked(), &["stray none", "failed id_mismatch none streaming"]);
    // Of several the first is named; with an answer none matters.
    let two = |run: Run| run.sse().event(&result("8")).event(&result("9"));
    everywhere(|run| two(run).marked(), &["stray 8", "stray 9", "failed id_mismatch 8 streaming"]);
    everywhere(
        |run| two(run).event(&result("7")).marked(),
        &["stray 8", "stray 9", "answer {\"ok\":true}", "settled 200"],
    );
}

/// E25: an array is its messages, in 2025-03-26, in an event and in a body.
#[test]
fn e25_each_element_in_turn() {
    let array = format!("[{}, {} ,{}]", note("a"), result("7"), note("b"));
    let told = ["note a", "answer {\"ok\":true}", "note b", "settled 200"];
    assert_eq!(Run::with_arrays().sse().event(&array).marked().lines(), told);
    assert_eq!(Run::with_arrays().json().body(&array).marked().lines(), told);
    assert_eq!(Run::with_arrays().json().body(&array).unmarked().lines(), told);

    let mixed = format!("[1,null,[{}],{{}},{},{}]", result("7"), result("8"), error("7", 3));
    let told = ["stray 8", "answer error 3", "settled 200"];
    assert_eq!(Run::with_arrays().sse().event(&mixed).marked().lines(), told);
    assert_eq!(Run::with_arrays().json().body(&mixed).marked().lines(), told);

    // A single message is as good.
    assert_eq!(Run::with_arrays().json().body(result("7")).marked().verdict(), "settled 200");
    // Empty, or without the answer.
    assert_eq!(Run::with_arrays().json().body("[]").marked().lines(), ["failed invalid_message no answer streaming"]);
    assert_eq!(
        Run::with_arrays().sse().event("[]").event(&note("a")).marked().lines(),
        ["note a", "failed lost ended streaming"]
    );
    let cut = &array[..array.len() - 1];
    assert_eq!(Run::with_arrays().json().body(cut).unmarked().lines(), ["failed lost cut streaming"]);
    assert_eq!(
        Run::with_arrays().json().body(cut).marked().verdict(),
        format!("failed invalid_json at {} streaming", cut.len())
    );
}

/// E25: in any other revision it is no message.
#[test]
fn e25_e29_an_array_in_any_other_revision() {
    for array in ["[]".to_owned(), format!("[{}]", result("7")), format!("[{},{}]", note("a"), result("7"))] {
        let failed = "failed invalid_message array streaming";
        everywhere(|run| run.sse().event(&array).marked(), &[failed]);
        everywhere(|run| run.json().body(&array).marked(), &[failed]);
        everywhere(|run| run.json().body(&array).unmarked(), &[failed]);
        everywhere(
            |run| run.sse().event(&array).event(&result("7")).marked(),
            &["answer {\"ok\":true}", "settled 200"],
        );
        assert_eq!(Run::modern().sse().event(&array).reset().lines(), ["reissue Reset streaming"]);
    }
    let next = Run::under("2025-06-18".parse().unwrap()).sent().sse().event(&format!("[{}]", result("7"))).marked();
    assert_eq!(next.lines(), ["failed invalid_message array streaming"]);
}

/// E29: a JSON body that is whole and JSON, but no answer.
#[test]
fn e29_a_whole_body_that_is_no_answer() {
    for (body, problem) in [
        ("{}", "envelope"),
        ("null", "no answer"),
        ("7", "no answer"),
        ("\"text\"", "no answer"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "envelope"),
        (r#"{"jsonrpc":"2.0","id":9}"#, "envelope"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#, "envelope"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{}}"#, "envelope"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"x","result":1}"#, "envelope"),
    ] {
        let failed = format!("failed invalid_message {problem} streaming");
        everywhere(|run| run.json().body(body).marked(), &[&failed]);
        everywhere(|run| run.json().body(body).unmarked(), &[&failed]);
    }
    let failed = "failed invalid_message no answer streaming";
    everywhere(|run| run.json().body(note("a")).marked(), &["note a", failed]);
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    assert_eq!(Run::modern().json().body(ping).marked().lines(), ["violation ping", failed]);
    assert_eq!(Run::legacy().json().body(ping).marked().lines(), ["request ping", failed]);
}

/// E29: in an event stream only what is malformed under our id.
#[test]
fn e29_an_event_malformed_under_our_id() {
    let failed = "failed invalid_message envelope streaming";
    for ours in [
        r#"{"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","id":"7"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","result":1}"#,
        r#"{"id":7,"error":"text"}"#,
    ] {
        everywhere(|run| run.sse().event(ours).marked(), &[failed]);
        everywhere(|run| run.sse().event(ours).unmarked(), &[failed]);
        everywhere(|run| run.sse().event(ours).event(&result("7")).marked(), &["answer {\"ok\":true}", "settled 200"]);
        assert_eq!(Run::modern().sse().event(ours).reset().lines(), ["reissue Reset streaming"]);
        assert_eq!(Run::legacy().sse().event(ours).short().lines(), ["failed lost short streaming"]);
    }
    for foreign in [r#"{"jsonrpc":"2.0","id":8}"#, "{\"type\":\"heartbeat\"}", "12", "null", "\"x\""] {
        let story = Run::modern().sse().event(foreign).marked().story();
        assert_eq!(story.lines(), ["reissue ended streaming"], "{foreign}");
        assert_eq!(story.exchange.exchange().ignored().messages, 1);
    }
    let strict = Run::modern().config(|config| config.with_strict_ids(true)).sse();
    let spelt = strict.event(r#"{"jsonrpc":"2.0","id":"7"}"#).marked();
    assert_eq!(spelt.lines(), ["reissue ended streaming"]);
}
