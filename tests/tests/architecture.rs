//! ARCHITECTURE.md shows what the code does: its drawing of the states and its tables of endings are made
//! from the code and compared. `UPDATE_DRAWINGS=1 cargo test -p mcp-sse-tests --test architecture` writes them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    BreakKind, Exchange, ExchangeConfig, ExchangeEvent, Fact, Framing, Misuse, Request, State, Verdict, transitions,
};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};

const NOW: Timestamp = Timestamp::from_millis(10);
const DEADLINE: Timestamp = Timestamp::from_millis(1_000);

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// A situation, and the facts that lead to it.
type Situation = (&'static str, fn(&mut Exchange));

fn sent(exchange: &mut Exchange) {
    exchange.on_connected(NOW).expect("the first fact");
    exchange.on_sending(NOW).expect("in order");
    exchange.on_sent(NOW).expect("in order");
}

fn response(exchange: &mut Exchange, status: u16, media_type: &str, body: &str) {
    sent(exchange);
    exchange.on_head(&ResponseHead::from_headers(status, [("content-type", media_type)]), NOW).expect("in order");
    let mut rest = body.as_bytes();
    while !rest.is_empty() {
        exchange.on_body(&mut rest, NOW).expect("in order");
        while exchange.poll_event().is_some() {}
    }
}

const SITUATIONS: &[Situation] = &[
    ("nothing written", |_| {}),
    ("request partly written", |exchange| {
        exchange.on_connected(NOW).expect("the first fact");
        exchange.on_sending(NOW).expect("in order");
    }),
    ("request written", sent),
    ("event stream, no answer", |exchange| response(exchange, 200, "text/event-stream", ": keep-alive\n\n")),
    ("event stream, an event id seen", |exchange| response(exchange, 200, "text/event-stream", "id: 1\ndata:\n\n")),
    ("event stream, the answer cut", |exchange| {
        response(exchange, 200, "text/event-stream", &format!("data: {}", &ANSWER[..20]));
    }),
    ("event stream, the answer unterminated", |exchange| {
        response(exchange, 200, "text/event-stream", &format!("data: {ANSWER}"));
    }),
    ("event stream, the answer", |exchange| {
        response(exchange, 200, "text/event-stream", &format!("data: {ANSWER}\n\n"));
    }),
    ("event stream, another's answer", |exchange| {
        response(exchange, 200, "text/event-stream", "data: {\"id\":8,\"result\":{}}\n\n");
    }),
    ("event stream, an event that is not JSON", |exchange| {
        response(exchange, 200, "text/event-stream", "data: oops\n\n");
    }),
    ("JSON, empty", |exchange| response(exchange, 200, "application/json", "")),
    ("JSON, cut", |exchange| response(exchange, 200, "application/json", &ANSWER[..20])),
    ("JSON, the answer", |exchange| response(exchange, 200, "application/json", ANSWER)),
    ("JSON, no answer", |exchange| response(exchange, 200, "application/json", "{}")),
    ("status 503", |exchange| response(exchange, 503, "text/plain", "down")),
];

/// An ending, and the input that brings it.
type Ending = (&'static str, fn(&mut Exchange) -> Result<(), Misuse>);

const ENDINGS: &[Ending] = &[
    ("end, marked", |exchange| exchange.on_end(Framing::Marked, NOW)),
    ("end, unmarked", |exchange| exchange.on_end(Framing::Unmarked, NOW)),
    ("end, short", |exchange| exchange.on_end(Framing::Short, NOW)),
    ("break", |exchange| exchange.on_broken(BreakKind::Reset, NOW)),
    ("deadline", |exchange| exchange.on_timeout(DEADLINE)),
    ("cancel", |exchange| exchange.cancel(NOW)),
];

/// What each ending is worth in each situation.
fn endings(version: ProtocolVersion) -> String {
    let mut table = String::from("| |");
    for (name, _) in ENDINGS {
        write!(table, " {name} |").expect("a string takes all");
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(ENDINGS.len()));
    for (name, lead) in SITUATIONS {
        write!(table, "\n| {name} |").expect("a string takes all");
        for (_, end) in ENDINGS {
            let request = Request::new("tools/call").with_id(7).with_version(version);
            let config = ExchangeConfig::default().with_deadline(DEADLINE);
            let mut exchange = Exchange::new(&request, config, Timestamp::ZERO);
            lead(&mut exchange);
            end(&mut exchange).expect("it has not ended");
            let mut verdicts = Vec::new();
            while let Some(event) = exchange.poll_event() {
                if let ExchangeEvent::Ended(verdict) = event {
                    verdicts.push(verdict);
                }
            }
            let [verdict] = verdicts.as_slice() else { panic!("{name}: one verdict was expected") };
            write!(table, " {} |", word(verdict)).expect("a string takes all");
        }
    }
    table.push('\n');
    table
}

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Settled(_) => "**settled**".to_owned(),
        Verdict::Salvaged { .. } => "**salvaged**".to_owned(),
        Verdict::Reissue { .. } => "re-issue".to_owned(),
        Verdict::Resume { .. } => "resume".to_owned(),
        Verdict::Failed(failure) => format!("`{}`", failure.kind.as_str()),
        other => panic!("a request does not come to {other:?}"),
    }
}

/// The states and the facts between them, as a Mermaid diagram.
fn states() -> String {
    let mut diagram = format!("```mermaid\nstateDiagram-v2\n    [*] --> {:?}\n", State::Unsent);
    for row in transitions() {
        writeln!(diagram, "    {:?} --> {:?}: {}", row.from, row.to, fact(row.fact)).expect("a string takes all");
    }
    writeln!(diagram, "    {:?} --> [*]\n```", State::Ended).expect("a string takes all");
    diagram
}

fn fact(fact: Fact) -> &'static str {
    match fact {
        Fact::Connected => "connected",
        Fact::Reused => "kept connection taken",
        Fact::ReusedClosed => "found closed",
        Fact::FirstByteWritten => "first byte written",
        Fact::AllWritten => "last byte written",
        Fact::Head => "head read",
        Fact::BodyByte => "body byte read",
        Fact::Answer => "answer handed out",
        Fact::Verdict => "verdict",
        other => panic!("{other:?} is not drawn yet"),
    }
}

#[test]
fn the_drawings_are_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md");
    let page = fs::read_to_string(&path).expect("ARCHITECTURE.md is there");
    let mut drawn = page.clone();
    for (name, content) in [
        ("states", states()),
        ("endings-modern", endings(ProtocolVersion::V2026_07_28)),
        ("endings-legacy", endings(ProtocolVersion::V2025_11_25)),
    ] {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
        let (before, rest) = drawn.split_once(&begin).unwrap_or_else(|| panic!("no place for {name}"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no end of {name}"));
        drawn = format!("{before}{begin}{content}{end}{after}");
    }
    if std::env::var_os("UPDATE_DRAWINGS").is_some() {
        fs::write(&path, &drawn).expect("ARCHITECTURE.md can be written");
        return;
    }
    assert!(drawn == page, "ARCHITECTURE.md is not what the code does; UPDATE_DRAWINGS=1 writes it anew");
}
