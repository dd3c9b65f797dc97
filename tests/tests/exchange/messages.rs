//! E21 to E24: what else comes on a stream, and which bodies are streams.

use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, event, gzip, note, result};

/// E21: notifications are told as they complete, once, in order, whatever becomes of the stream.
#[test]
fn e21_notifications_as_they_complete() {
    for run in Run::both() {
        let run = run.deadline(100).sse().at(10).event(&note("a")).at(20).event(&note("b")).event(&note("c"));
        assert_eq!(run.story().timed(), [(10, "note a"), (20, "note b"), (20, "note c")]);
        for ended in [
            run.clone().marked(),
            run.clone().reset(),
            run.clone().short(),
            run.clone().at(100).timeout(),
            run.clone().cancel(),
            run.clone().event("oops").marked(),
        ] {
            let told = ended.lines();
            assert_eq!(told[..3], ["note a", "note b", "note c"]);
            assert_eq!(told.len(), 4);
        }
        // One that is unfinished is not told.
        let unfinished = run.body(format!("data: {}\n", note("d"))).reset();
        assert_eq!(unfinished.lines().len(), 4);
    }
}

/// E21: also out of coded bodies, and before corruption.
#[test]
fn e21_notifications_of_a_coded_stream() {
    let mut body = gzip(&[event(&note("a")).as_bytes(), event(&note("b")).as_bytes()]);
    body.truncate(body.len() - 10);
    body.extend([0xFF; 30]);
    let head = [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip")];
    let told = Run::modern().head(200, &head).body(body).lines();
    assert_eq!(told, ["note a", "note b", "failed content_coding Corrupt streaming"]);
}

/// E21: a JSON body may hold one too.
#[test]
fn e21_a_notification_in_a_json_body() {
    let told = Run::modern().json().body(note("a")).marked().lines();
    assert_eq!(told, ["note a", "failed invalid_message no answer streaming"]);
    assert_eq!(Run::modern().json().body(note("a")).reset().lines(), ["note a", "reissue Reset streaming"]);
}

/// E22: a request from the server: a violation in the modern era, to be answered in the older ones.
#[test]
fn e22_requests_from_the_server() {
    let ping = event(r#"{"jsonrpc":"2.0","id":"s-1","method":"ping"}"#);
    // The oldest has them on its channel.
    for &version in &ProtocolVersion::KNOWN[1..] {
        let kind = if version == ProtocolVersion::V2026_07_28 { "violation ping" } else { "request ping" };
        let story = Run::under(version).sent().sse().at(3).body(&ping).at(9).event(&result("7")).marked().story();
        assert_eq!(story.timed(), [(3, kind), (9, "answer {\"ok\":true}"), (9, "settled 200")]);
    }
    // Its id may be ours: it is no answer.
    let ours = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    assert_eq!(Run::modern().sse().event(ours).reset().lines(), ["violation ping", "reissue Reset streaming"]);
}

/// E23: other types are ignored and counted; a priming event is no message.
#[test]
fn e23_other_events_are_ignored_and_counted() {
    let body = [
        event(&note("a")),
        format!("event: ping\n{}", event(&result("7"))),
        format!("event: MESSAGE\n{}", event(&result("7"))),
        format!("event: endpoint\n{}", event("/other")),
        format!("event: {}\n{}", "m".repeat(2000), event(&result("7"))),
        "id: 1\ndata:\n\n".to_owned(),
        "data\n\n".to_owned(),
        ": comment\n\nretry: 20\n\n".to_owned(),
        format!("event: message\n{}", event(&note("b"))),
        format!("event:\n{}", event(&note("c"))),
    ]
    .concat();
    for run in Run::both() {
        let story = run.sse().body(&body).event(&result("7")).marked().story();
        assert_eq!(story.lines(), ["note a", "note b", "note c", "answer {\"ok\":true}", "settled 200"]);
        let ignored = story.exchange.exchange().ignored();
        assert_eq!((ignored.events, ignored.messages), (6, 0));
    }
}

/// E24: by essence, without case or parameters.
#[test]
fn e24_the_content_type_by_its_essence() {
    for kind in
        ["text/event-stream", "Text/Event-Stream; charset=utf-8", "TEXT/EVENT-STREAM;x=\"a,b\"", " text/event-stream "]
    {
        let run = Run::modern().head(200, &[("Content-Type", kind)]).event(&result("7"));
        assert_eq!(run.lines(), ["answer {\"ok\":true}"], "{kind}");
    }
    for kind in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"] {
        let run = Run::modern().head(200, &[("Content-Type", kind)]).body(result("7"));
        assert_eq!(run.lines(), Vec::<String>::new());
        assert_eq!(run.marked().lines(), ["answer {\"ok\":true}", "settled 200"], "{kind}");
    }
}

/// E24: neither, under success: fails at the head, and the type is named.
#[test]
fn e24_another_content_type_fails_at_the_head() {
    for run in Run::both() {
        for kind in ["text/html", "text/plain; charset=utf-8", "application/octet-stream", "garbage", "text/events"] {
            let story = run.clone().head(200, &[("Content-Type", kind)]).body(event(&result("7"))).marked().story();
            let essence = kind.split(';').next().unwrap();
            assert_eq!(story.lines(), [format!("failed content_type {essence:?} headed")]);
            assert!(matches!(&story.failure().kind, FailureKind::ContentType { .. }));
        }
    }
}

/// E24: missing: the first byte that is no BOM or white space tells.
#[test]
fn e24_without_a_type_the_first_byte_tells() {
    let told = ["answer {\"ok\":true}", "settled 200"];
    for run in Run::both() {
        let run = run.head(200, &[]);
        for lead in ["", "\u{feff}", " \t\r\n", "\u{feff}\n \n", "\n\n\n"] {
            let json = run.clone().body(format!("{lead}{}", result("7")));
            assert_eq!(json.marked().lines(), told, "{lead:?}");
        }
        for lead in ["", "\u{feff}", "\n", "\r\n\r\n", ": hi\n", "id: 1\n", "x\n", "\u{feff}:\n"] {
            let sse = run.clone().body(format!("{lead}{}", event(&result("7"))));
            assert_eq!(sse.lines(), told[..1], "{lead:?}");
            assert_eq!(sse.marked().lines(), told, "{lead:?}");
        }
        for lead in ["", "\u{feff}", " \n"] {
            let markup = run.clone().body(format!("{lead}<!doctype html>"));
            assert_eq!(markup.lines(), ["failed content_type \"\" streaming"], "{lead:?}");
        }
    }
    let array = format!(" [{}]", result("7"));
    assert_eq!(Run::with_arrays().head(200, &[]).body(array).marked().lines(), told);
    // A stream can be resumed whatever said that it is one.
    let run = Run::legacy().head(200, &[]).body("id: 4\nretry: 30\ndata:\n\n").reset();
    assert_eq!(run.lines(), ["resume 4 after 30 Reset"]);
}

/// E24 with property 1: so much white space tells nothing, however it is cut.
#[test]
fn e24_endless_white_space() {
    for (spaces, is_json) in [(100, true), (4095, true), (4096, false), (9000, false)] {
        let run = Run::modern().head(200, &[]).body(" ".repeat(spaces)).body(result("7")).marked();
        let told = run.lines();
        assert_eq!(told.last().unwrap().as_str() == "settled 200", is_json, "{spaces} {told:?}");
    }
    for (pieces, is_json) in [(&[2000, 2000][..], true), (&[2000, 2000, 95], true), (&[2000, 2000, 96], false)] {
        let run = Run::modern().head(200, &[]);
        let run = pieces.iter().fold(run, |run, spaces| run.body(" ".repeat(*spaces)));
        let told = run.body(result("7")).marked().lines();
        assert_eq!(told.last().unwrap().as_str() == "settled 200", is_json, "{pieces:?} {told:?}");
    }
    let stream = Run::modern().head(200, &[]).body("\n".repeat(9000)).event(&result("7"));
    assert_eq!(stream.lines(), ["answer {\"ok\":true}"], "while it is still open");
    assert_eq!(stream.marked().lines(), ["answer {\"ok\":true}", "settled 200"]);
}
