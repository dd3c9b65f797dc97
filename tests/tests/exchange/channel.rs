//! H1, H2, H4, H5: the 2024-11-05 channel. First an endpoint, then messages of all requests, until it is lost.

use core::time::Duration;

use mcp_sse_core::Limits;
use mcp_sse_core::exchange::{BreakKind, State, TailRule, Want};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, error, event, gzip, note, result};

const SSE: (&str, &str) = ("Content-Type", "text/event-stream");
const ENDPOINT: &str = "event: endpoint\ndata: /m?sid=1\n\n";
const READY: &str = "endpoint /m?sid=1";

fn open() -> Run {
    Run::channel().sse().body(ENDPOINT)
}

/// H1: the endpoint is given out as it was written; it is not judged here.
#[test]
fn h1_the_endpoint_is_given_out_raw() {
    for reference in ["/m?sid=1", "../m", "https://other.example/m", " /m", "a%2Fb%26c", "caf\u{e9}", "//", "{}"] {
        let run = Run::channel().sse().body(format!("event: endpoint\r\ndata: {reference}\r\n\r\n"));
        let story = run.story();
        assert_eq!(story.lines(), [format!("endpoint {reference}")]);
        let exchange = story.exchange.exchange();
        assert_eq!((exchange.state(), exchange.want()), (State::Open, Want::Read));
    }
    // With empty data too: the handshake fails by it, at once.
    assert_eq!(Run::channel().sse().body("event: endpoint\ndata\n\n").lines(), ["endpoint "]);
    // Without data, or its blank line, there is no event.
    assert_eq!(Run::channel().sse().body("event: endpoint\n\n").marked().lines(), ["failed lost ended streaming"]);
    let unfinished = Run::channel().sse().body("event: endpoint\ndata: /m\n").marked();
    assert_eq!(unfinished.lines(), ["failed lost ended streaming"]);
    // The limit on events is its limit.
    let limits = Limits::default().with_max_event_bytes(64);
    let run = Run::channel().config(|config| config.with_limits(limits)).sse();
    let long = format!("event: endpoint\ndata: /{}\n\n", "x".repeat(64));
    assert_eq!(run.body(long).body(ENDPOINT).lines(), ["oversized 64", READY]);
}

/// H2: a later endpoint is refused.
#[test]
fn h2_a_later_endpoint_is_refused() {
    let story = open().body("event: endpoint\ndata: //evil\n\n").body(ENDPOINT).event(&note("a")).story();
    assert_eq!(story.lines(), [READY, "note a"]);
    let ignored = story.exchange.exchange().ignored();
    assert_eq!((ignored.endpoints, ignored.events), (2, 0));
}

/// H2: messages before the first endpoint are refused, answers and requests among them.
#[test]
fn h2_messages_before_the_endpoint_are_refused() {
    let early = [
        event(&note("a")),
        event(&result("7")),
        event(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        event("oops"),
        event("[]"),
    ]
    .concat();
    let story = Run::channel().sse().body(&early).body(": hi\n\nevent: ping\ndata: x\n\n").body(ENDPOINT).story();
    assert_eq!(story.lines(), [READY]);
    let ignored = story.exchange.exchange().ignored();
    assert_eq!((ignored.early_messages, ignored.messages, ignored.events, ignored.endpoints), (5, 0, 1, 0));
    // An unfinished one too.
    let tail = Run::channel().sse().body(format!("data: {}", result("7"))).marked().story();
    assert_eq!(tail.lines(), ["failed lost ended streaming"]);
    assert_eq!(tail.exchange.exchange().ignored().early_messages, 1);
}

/// H4, E21 to E23: what comes on an open channel, in order.
#[test]
fn h4_messages_of_all_requests() {
    let body = [
        event(&note("a")),
        event(&result("7")),
        event(&result("\"x\"")),
        event(&error("9", -32601)),
        // It concerns the connection: whose it is, is not said here.
        event(&error("null", -5)),
        event(r#"{"jsonrpc":"2.0","error":{"code":-6,"message":""}}"#),
        event(r#"{"jsonrpc":"2.0","id":"s-1","method":"sampling/createMessage"}"#),
        "event: ping\ndata: 2024\n\n".to_owned(),
        "event: other\ndata: x\n\n".to_owned(),
        event("oops"),
        event("12"),
        event(&format!("[{}]", note("never"))),
        event("{\"jsonrpc\":\"2.0\",\"id\":7}"),
        event(&note("b")),
    ]
    .concat();
    let story = open().body(body).story();
    let told = [
        READY,
        "note a",
        "response {\"ok\":true} 7",
        "response {\"ok\":true} \"x\"",
        "response error -32601 9",
        "response error -5 null",
        "response error -6 none",
        "request sampling/createMessage",
        "note b",
    ];
    assert_eq!(story.lines(), told);
    let ignored = story.exchange.exchange().ignored();
    assert_eq!((ignored.events, ignored.messages), (2, 4));
}

/// H5: every end loses the channel; nothing is resumed, event ids or not.
#[test]
fn h5_every_end_loses_the_channel() {
    let unsent =
        || Run::under(ProtocolVersion::V2024_11_05).notification().carries(mcp_sse_core::exchange::Carries::Channel);
    for kind in [BreakKind::Resolve, BreakKind::Connect, BreakKind::Handshake] {
        assert_eq!(unsent().broken(kind).lines(), [format!("failed unsent {kind:?} unsent")]);
    }
    assert_eq!(unsent().connected().sending().reset().lines(), ["failed lost Reset partly_sent"]);
    assert_eq!(Run::channel().reset().lines(), ["failed lost Reset sent"]);
    assert_eq!(Run::channel().sse().marked().lines(), ["failed lost ended headed"]);
    let run = open().body("id: 4\nretry: 20\ndata:\n\n");
    for (ended, cause) in [
        (run.clone().marked(), "ended"),
        (run.clone().unmarked(), "ended"),
        (run.clone().short(), "short"),
        (run.clone().reset(), "Reset"),
        (run.clone().event(&result("7")).event("oops").event("[]").marked(), "ended"),
    ] {
        assert_eq!(ended.verdict(), format!("failed lost {cause} streaming"));
    }
    assert_eq!(run.cancel().verdict(), "failed cancelled streaming");
}

/// E18, E19, E24: a channel that was not opened.
#[test]
fn h5_a_channel_that_was_refused() {
    for status in [400, 401, 404, 405, 503] {
        assert_eq!(Run::channel().head(status, &[]).marked().lines(), [format!("failed status {status} headed")]);
    }
    // Nothing of its body is a message.
    let body = [ENDPOINT, &event(&note("a")), &event(&result("7")), &event(&error("7", -3))].concat();
    let refused = Run::channel().head(404, &[SSE]).body(body).marked();
    assert_eq!(refused.lines(), ["failed status 404 error -3 streaming"]);
    assert_eq!(Run::channel().head(204, &[]).lines(), ["failed no_answer 204 headed"]);
    assert_eq!(Run::channel().head(202, &[SSE]).lines(), ["failed no_answer 202 headed"]);
    assert_eq!(Run::channel().head(200, &[]).marked().lines(), ["failed no_answer 200 headed"]);
    for kind in ["application/json", "text/html"] {
        let told = Run::channel().head(200, &[("Content-Type", kind)]).body(ENDPOINT).lines();
        assert_eq!(told, [format!("failed content_type {kind:?} headed")]);
    }
    assert_eq!(Run::channel().head(200, &[]).body("{}").lines(), ["failed content_type \"\" streaming"]);
    assert_eq!(Run::channel().head(200, &[]).body(ENDPOINT).lines(), [READY]);
}

/// E11, E12, H1: the deadline is the handshake's; nothing moves it, and the open channel has none.
#[test]
fn e11_the_deadline_ends_with_the_endpoint() {
    let run = Run::channel().deadline(100).config(|config| config.with_idle(Duration::from_millis(5)));
    assert_eq!(run.clone().at(100).timeout().lines(), ["failed timeout sent"]);
    let run = run.at(5).sse().at(99).body(": hi\n\n").event(&note("a"));
    assert_eq!(run.clone().at(100).body(ENDPOINT).lines(), ["failed timeout streaming"]);
    let open = run.at(99).body(ENDPOINT);
    assert_eq!(open.once().exchange.exchange().poll_timeout(), None);
    let late = open.at(100).timeout().at(1_000_000).event(&result("7")).event(&note("b")).reset();
    assert_eq!(late.lines(), [READY, "response {\"ok\":true} 7", "note b", "failed lost Reset streaming"]);
}

/// E9: an answer whose JSON is whole was delivered, blank line or not.
#[test]
fn e9_an_unterminated_answer_on_a_channel() {
    let run = open().body(format!("data: {}", result("7")));
    let delivered = [READY, "response {\"ok\":true} 7"];
    assert_eq!(run.clone().reset().lines()[..2], delivered);
    assert_eq!(run.clone().reset().lines()[2], "failed lost Reset streaming");
    assert_eq!(run.clone().marked().lines()[..2], delivered);
    assert_eq!(run.clone().cancel().lines(), [READY, "failed cancelled streaming"]);
    assert_eq!(run.config(|config| config.with_tail(TailRule::Strict)).reset().lines().len(), 2);
    for tail in [note("a"), result("7")[..20].to_owned(), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned()] {
        assert_eq!(open().body(format!("data: {tail}")).reset().lines(), [READY, "failed lost Reset streaming"]);
    }
    let ping = format!("event: ping\ndata: {}", result("7"));
    assert_eq!(open().body(ping).reset().lines(), [READY, "failed lost Reset streaming"]);
}

/// E13, E14: limits and codings as elsewhere.
#[test]
fn e13_e14_the_limits_of_a_channel() {
    let limits = Limits::default().with_max_event_bytes(100).with_max_inflated_bytes(400);
    let run = || Run::channel().config(|config| config.with_limits(limits.clone()));
    let large = run().sse().body(ENDPOINT).event(&"x".repeat(101)).event(&note("a")).marked();
    assert_eq!(large.lines(), [READY, "oversized 100", "note a", "failed lost ended streaming"]);
    let head = [SSE, ("Content-Encoding", "gzip")];
    let coded = gzip(&[ENDPOINT.as_bytes(), event(&result("7")).as_bytes()]);
    let told = [READY, "response {\"ok\":true} 7", "failed lost ended streaming"];
    assert_eq!(run().head(200, &head).body(coded).marked().lines(), told);
    let bomb = gzip(&[ENDPOINT.as_bytes(), &[b':'; 1000]]);
    assert_eq!(run().head(200, &head).body(bomb).lines(), [READY, "failed too_large inflated 400 streaming"]);
}
