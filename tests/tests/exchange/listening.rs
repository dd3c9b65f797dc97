//! F12: the GET of a listening stream. It belongs to no request, and its end ends nothing else.

use core::time::Duration;

use mcp_sse_core::Limits;
use mcp_sse_core::exchange::{BreakKind, Carries, Cursor, Verdict, Want};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, error, event, gzip, note, result};

const SSE: (&str, &str) = ("Content-Type", "text/event-stream");

/// F12, E21, E22: notifications and requests are given out; an answer belongs to nobody here.
#[test]
fn f12_what_comes_on_a_listening_stream() {
    let body = [
        event(&note("a")),
        event(r#"{"jsonrpc":"2.0","id":"s-1","method":"roots/list"}"#),
        event(&result("7")),
        event(&error("null", -5)),
        event("oops"),
        "event: ping\ndata: x\n\n".to_owned(),
        "event: endpoint\ndata: /m\n\n".to_owned(),
        event(&note("b")),
        format!("data: {}", note("never")),
    ]
    .concat();
    let told = ["note a", "request roots/list", "stray 7", "stray null", "note b"];
    let story = Run::listening().sse().body(&body).story();
    assert_eq!(story.lines(), told);
    let ignored = story.exchange.exchange().ignored();
    assert_eq!((ignored.messages, ignored.events, ignored.endpoints), (1, 2, 0));
    let ended = Run::listening().sse().body(&body).marked().lines();
    assert_eq!((&ended[..5], &*ended[5]), (&told.map(str::to_owned)[..], "reopen start after 1000 ended progressed"));
    // An id does not make it a request's.
    assert_eq!(Run::listening().id(7).sse().event(&result("7")).lines(), ["stray 7"]);
}

/// F12: any end reopens it, also one before its head.
#[test]
fn f12_any_end_reopens_it() {
    let unsent = || Run::under(ProtocolVersion::V2025_06_18).notification().carries(Carries::Listening(None));
    for (run, cause) in [
        (unsent().broken(BreakKind::Connect), "Connect"),
        (unsent().connected().sending().reset(), "Reset"),
        (Run::listening().reset(), "Reset"),
        (Run::listening().marked(), "Closed"),
        (Run::listening().sse().marked(), "ended"),
        (Run::listening().sse().unmarked(), "ended"),
        (Run::listening().sse().short(), "short"),
        (Run::listening().sse().body(": hi\n\n").broken(BreakKind::TlsTruncated), "TlsTruncated"),
        (Run::listening().sse().event("oops").marked(), "ended"),
        (Run::listening().sse().event("[]").marked(), "ended"),
        (Run::listening().head(200, &[]).body("\n").marked(), "ended"),
    ] {
        assert_eq!(run.lines(), [format!("reopen start after 1000 {cause}")], "{run:?}");
    }
    assert_eq!(Run::listening().sse().cancel().lines(), ["failed cancelled headed"]);
    let asks = unsent().reused().reset().story();
    assert_eq!(asks.exchange.exchange().want(), Want::Send { fresh: true });
}

/// F12, E26: with its cursor, kept as that of a resumption is.
#[test]
fn f12_e26_the_cursor_of_a_listening_stream() {
    let from = |id: &str| {
        let cursor = Cursor::new(id).with_retry(Duration::from_millis(40));
        Run::listening().carries(Carries::Listening(Some(cursor)))
    };
    assert_eq!(from("g").reset().verdict(), "reopen g after 40 Reset");
    assert_eq!(from("g").sse().body("id:\n\nid: caf\u{e9}\n\n").marked().verdict(), "reopen g after 40 ended");
    assert_eq!(from("g").sse().body("id: n\nretry: 90\n\n").marked().verdict(), "reopen n after 90 ended");
    assert_eq!(from("").sse().marked().verdict(), "reopen start after 1000 ended");
    assert_eq!(Run::listening().sse().body("id: n\ndata:\n\n").marked().verdict(), "reopen n after 1000 ended");
    let Some(Verdict::Reopen { cursor: Some(cursor), .. }) =
        from("g").sse().body("retry: 1\n\n").marked().story().verdict
    else {
        panic!("it is reopened")
    };
    assert_eq!(cursor, Cursor::new("g").with_retry(Duration::from_millis(10)));
}

/// F11, F12: an opening is empty unless a message came that is not the one it was to begin behind.
#[test]
fn f12_what_a_listening_stream_counts_as_progress() {
    let from = |body: &str| {
        let run = Run::listening().carries(Carries::Listening(Some(Cursor::new("g"))));
        run.sse().body(body).marked().verdict().ends_with(" progressed")
    };
    let start = |body: &str| Run::listening().sse().body(body).marked().verdict().ends_with(" progressed");
    for empty in ["", ": hi\n\n", "id: n\ndata:\n\n", "id: n\n\n", "data: 12\n\n", "event: ping\ndata: {}\n\n"] {
        assert!(!start(empty) && !from(empty), "{empty}");
    }
    let message = note("a");
    for full in [
        event(&message),
        format!("id: n\ndata: {message}\n\n"),
        format!("id: n\ndata:\n\ndata: {message}\n\n"),
        event(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
    ] {
        assert!(start(&full) && from(&full), "{full}");
    }
    assert!(!from(&format!("id: g\ndata: {message}\n\n")), "the message it was to begin behind, again");
}

/// F12, E18, E19, E24: what declines it, and what is no stream.
#[test]
fn f12_a_refused_listening_stream() {
    for status in [400, 401, 403, 404, 405, 503] {
        assert_eq!(Run::listening().head(status, &[]).marked().lines(), [format!("failed status {status} headed")]);
    }
    let body = error("null", -32000);
    let refused = Run::listening().head(405, &[("Content-Type", "application/json")]).body(body).marked();
    assert_eq!(refused.lines(), ["failed status 405 error -32000 streaming"]);
    for status in [202, 204] {
        assert_eq!(Run::listening().head(status, &[]).lines(), [format!("failed no_answer {status} headed")]);
    }
    assert_eq!(Run::listening().head(200, &[]).marked().lines(), ["failed no_answer 200 headed"]);
    for kind in ["application/json", "text/html"] {
        let told = Run::listening().head(200, &[("Content-Type", kind)]).lines();
        assert_eq!(told, [format!("failed content_type {kind:?} headed")]);
    }
    assert_eq!(Run::listening().head(200, &[]).body("{}").lines(), ["failed content_type \"\" streaming"]);
}

/// E12, E13, E14: no idle limit; a limit on one event passes over that event only; coded bodies as elsewhere.
#[test]
fn e12_e13_e14_the_limits_of_a_listening_stream() {
    let run = Run::listening().config(|config| config.with_idle(Duration::from_millis(5))).sse();
    assert_eq!(run.clone().once().exchange.exchange().poll_timeout(), None);
    assert_eq!(run.at(1_000_000).event(&note("a")).lines(), ["note a"]);
    let limits = Limits::default().with_max_event_bytes(100);
    let run = Run::listening().config(|config| config.with_limits(limits)).sse();
    let large = run.event(&"x".repeat(101)).event(&note("a")).reset();
    assert_eq!(large.lines(), ["oversized 100", "note a", "reopen start after 1000 Reset progressed"]);
    let mut coded = gzip(&[event(&note("a")).as_bytes()]);
    let head = [SSE, ("Content-Encoding", "gzip")];
    let whole = Run::listening().head(200, &head).body(&coded).marked();
    assert_eq!(whole.lines(), ["note a", "reopen start after 1000 ended progressed"]);
    coded.truncate(coded.len() - 10);
    coded.extend([0xFF; 30]);
    let corrupt = Run::listening().head(200, &head).body(coded);
    assert_eq!(corrupt.lines(), ["note a", "failed content_coding Corrupt streaming"]);
}

/// E26: without an era that has cursors there is none.
#[test]
fn e26_other_eras_keep_no_cursor() {
    for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2026_07_28] {
        let run = Run::under(version).notification().carries(Carries::Listening(Some(Cursor::new("g")))).sent();
        assert_eq!(run.sse().body("id: n\n\n").reset().lines(), ["reopen start after 1000 Reset"]);
    }
}
