//! ARCHITECTURE.md shows what the code does: its drawing of the states and its tables of endings are made
//! from the code and compared. `UPDATE_DRAWINGS=1 cargo test -p mcp-sse-tests --test architecture` writes them. And the tokio
//! adapter's client is what the page says it is: facts and steps, in few lines, and no decision.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    BreakKind, Carries, Cursor, Exchange, ExchangeConfig, ExchangeEvent, Fact, Framing, Misuse, Request, State,
    Verdict, Want, transitions,
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
    // What the head has settled has no use for the body.
    while !rest.is_empty() && exchange.state() != State::Ended {
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
    ("end, some discarded", |exchange| exchange.on_end(Framing::Discarded, NOW)),
    ("break", |exchange| exchange.on_broken(BreakKind::Reset, NOW)),
    ("deadline", |exchange| exchange.on_timeout(DEADLINE)),
    ("cancel", |exchange| exchange.cancel(NOW)),
];

/// Situations of the legacy eras' other requests.
const OTHER_SITUATIONS: &[Situation] = &[
    ("nothing written", |_| {}),
    ("request written", sent),
    ("event stream, nothing yet", |exchange| response(exchange, 200, "text/event-stream", ": keep-alive\n\n")),
    ("event stream, an event id seen", |exchange| response(exchange, 200, "text/event-stream", "id: 1\ndata:\n\n")),
    ("event stream, the endpoint", |exchange| {
        response(exchange, 200, "text/event-stream", "event: endpoint\ndata: /m\n\n");
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
    ("JSON, the answer", |exchange| response(exchange, 200, "application/json", ANSWER)),
    ("status 202", |exchange| response(exchange, 202, "application/json", "")),
    ("status 404", |exchange| response(exchange, 404, "text/plain", "no")),
];

/// A request that is no POST of a message, or whose answer comes elsewhere.
type Other = (&'static str, fn() -> Request);

const OTHERS: &[Other] = &[
    ("resumption", || legacy(Carries::Resumption(Cursor::new("0"))).with_id(7)),
    ("listening", || legacy(Carries::Listening(None))),
    ("channel", || legacy(Carries::Channel).with_version(ProtocolVersion::V2024_11_05)),
    ("POST under 2024-11-05", || Request::new("tools/call").with_id(7).with_version(ProtocolVersion::V2024_11_05)),
    ("DELETE", || legacy(Carries::Deletion)),
];

fn legacy(carries: Carries) -> Request {
    Request::new("tools/call").with_version(ProtocolVersion::V2025_11_25).with_carries(carries)
}

/// What a clean end and a break are worth to the other requests in each situation.
fn other_endings() -> String {
    let mut table = String::from("| |");
    for (name, _) in OTHERS {
        write!(table, " {name} |").expect("a string takes all");
    }
    table.push_str("\n|---|");
    table.push_str(&"---|".repeat(OTHERS.len()));
    for (name, lead) in OTHER_SITUATIONS {
        write!(table, "\n| {name} |").expect("a string takes all");
        for (_, request) in OTHERS {
            let worth = |framing: Option<Framing>| {
                let mut exchange = Exchange::new(&request(), ExchangeConfig::default(), Timestamp::ZERO);
                lead(&mut exchange);
                match framing {
                    _ if exchange.state() == State::Ended => Ok(()),
                    Some(framing) => exchange.on_end(framing, NOW),
                    None => exchange.on_broken(BreakKind::Reset, NOW),
                }
                .expect("it has not ended");
                word(&verdict(name, &mut exchange))
            };
            let (end, broken) = (worth(Some(Framing::Marked)), worth(None));
            let both = if end == broken { end } else { format!("{end}; {broken}") };
            write!(table, " {both} |").expect("a string takes all");
        }
    }
    table.push('\n');
    table
}

/// The one verdict of an exchange that has ended.
fn verdict(name: &str, exchange: &mut Exchange) -> Verdict {
    let mut verdicts = Vec::new();
    while let Some(event) = exchange.poll_event() {
        if let ExchangeEvent::Ended(verdict) = event {
            verdicts.push(verdict);
        }
    }
    assert_eq!(verdicts.len(), 1, "{name}: one verdict was expected");
    verdicts.remove(0)
}

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
            write!(table, " {} |", word(&verdict(name, &mut exchange))).expect("a string takes all");
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
        Verdict::Reopen { .. } => "reopen".to_owned(),
        Verdict::Accepted { .. } => "accepted".to_owned(),
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

/// What leads to each state but the last.
const LEADS: &[Situation] = &[
    ("Unsent", |_| {}),
    ("Reusing", |exchange| exchange.on_reused(NOW).expect("the first fact")),
    ("PartlySent", |exchange| {
        exchange.on_connected(NOW).expect("the first fact");
        exchange.on_sending(NOW).expect("in order");
    }),
    ("Sent", sent),
    ("Headed", |exchange| response(exchange, 200, "text/event-stream", "")),
    ("Streaming", |exchange| response(exchange, 200, "text/event-stream", ": keep-alive\n\n")),
    ("Answered", |exchange| response(exchange, 200, "text/event-stream", &format!("data: {ANSWER}\n\n"))),
    ("Open", |exchange| response(exchange, 200, "text/event-stream", "event: endpoint\ndata: /m\n\n")),
];

/// What each state asks of the adapter, and tells of the request.
fn meanings() -> String {
    let mut table = String::from(
        "| state | the adapter is to | the request has got as far as | it may have run |\n|---|---|---|---|\n",
    );
    for (name, lead) in LEADS {
        let request = match *name {
            "Open" => legacy(Carries::Channel).with_version(ProtocolVersion::V2024_11_05),
            _ => Request::new("tools/call").with_id(7),
        };
        let mut exchange = Exchange::new(&request, ExchangeConfig::default(), Timestamp::ZERO);
        lead(&mut exchange);
        assert_eq!(format!("{:?}", exchange.state()), *name);
        let want = match exchange.want() {
            Want::Send { .. } => "connect and write",
            Want::Read => "read",
            Want::Drain => "read on for a while, or close",
            other => panic!("{other:?} is of the end"),
        };
        let exposure = exchange.exposure();
        let may_have_run = if exposure.may_have_run() { "yes" } else { "no" };
        writeln!(table, "| {name} | {want} | {exposure} | {may_have_run} |").expect("a string takes all");
    }
    table.push_str("| Ended | close; or keep the connection, if all was read | | |\n");
    table
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
        Fact::Endpoint => "endpoint handed out",
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
        ("states-meaning", meanings()),
        ("endings-modern", endings(ProtocolVersion::V2026_07_28)),
        ("endings-legacy", endings(ProtocolVersion::V2025_11_25)),
        ("endings-other", other_endings()),
    ] {
        let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
        let (before, rest) = drawn.split_once(&begin).unwrap_or_else(|| panic!("no place for {name}"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no end of {name}"));
        drawn = format!("{before}{begin}{content}{end}{after}");
    }
    if std::env::var_os("UPDATE_DRAWINGS").is_some() {
        // At once, since another test reads it.
        let anew = path.with_extension("anew");
        fs::write(&anew, &drawn).and_then(|()| fs::rename(&anew, &path)).expect("ARCHITECTURE.md can be written");
        return;
    }
    assert!(drawn == page, "ARCHITECTURE.md is not what the code does; UPDATE_DRAWINGS=1 writes it anew");
}

/// The drawing of a call is made by hand: it has the phases that the code has, and no other.
#[test]
fn the_phases_of_a_call_are_drawn() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = fs::read_to_string(root.join("mcp-sse-core/src/client/call.rs")).expect("it is there");
    let (_, phases) = source.split_once("enum Phase {").expect("its phases");
    let (phases, _) = phases.split_once("\n}").expect("their end");
    let variants = phases.lines().map(str::trim).filter(|line| line.starts_with(char::is_uppercase));
    let phases: BTreeSet<&str> = variants.filter_map(|line| line.split(['(', ',']).next()).collect();
    assert!(phases.len() > 3, "{phases:?}");

    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let (_, drawing) = page.split_once("## One call\n").expect("its section");
    let (_, drawing) = drawing.split_once("```mermaid\n").expect("its drawing");
    let (drawing, _) = drawing.split_once("```").expect("its end");
    let ends = drawing.lines().filter_map(|line| line.split_once(" --> "));
    let drawn: BTreeSet<&str> = ends
        .flat_map(|(from, to)| [from.trim(), to.split(':').next().unwrap_or_default().trim()])
        .filter(|state| *state != "[*]")
        .collect();
    assert_eq!(drawn, phases);
}

/// The files of the tokio adapter's client that report facts and carry out steps.
const FACTS_AND_STEPS: &[&str] = &["attempt", "clock", "connect", "drive", "io", "link", "proxy", "reader", "request"];

/// Its other files: what its callers see, and what others embed.
const FACE: &[&str] = &["body", "builder", "client", "codec", "events", "lib", "trace", "updates"];

/// How many lines [`FACTS_AND_STEPS`] may have together.
const MOST_LINES: usize = 900;

/// Words of the protocol, as they stand in code: whoever names one has decided something.
const PROTOCOL_WORDS: &[&str] = &[
    "jsonrpc\"",
    "\"result",
    "\"error",
    "\"method",
    "\"params",
    "_meta",
    "tools/",
    "initialize\"",
    "notifications/",
    "subscriptions/",
    "progressToken",
    "Mcp-",
    "mcp-protocol",
    "mcp-session",
    "ast-event-id",
    "ast-Event-ID",
    "etry-After",
    "etry-after",
    "event-stream",
    "application/json",
    "-320",
    "-326",
];

/// What only the core may judge by, or come to. The face hands some of them on, the files of facts and steps none.
const DECISIONS: &[&str] = &[
    "Verdict",
    "Outcome",
    "Exposure",
    "FailureKind",
    "Damage",
    "Cause",
    "Cursor",
    "Era",
    "ProtocolVersion",
    "ReissuePolicy",
    "Limits",
    "StatusCode",
];

/// The lines of a file's code: those that are neither blank nor a comment, up to its tests.
fn code(name: &str) -> (String, Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-sse-tokio/src").join(format!("{name}.rs"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).map(str::to_owned).collect();
    (text, lines)
}

/// The words of a line of code.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

#[test]
fn the_tokio_client_has_no_other_files() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-sse-tokio/src");
    let mut found = Vec::new();
    for entry in fs::read_dir(source).expect("the adapter is there") {
        let name = entry.expect("a file").file_name().into_string().expect("a plain name");
        found.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    found.sort();
    let mut known = [FACTS_AND_STEPS, FACE].concat();
    known.sort_unstable();
    assert_eq!(found, known, "each file reports facts and carries out steps, or is a part of the face");
}

#[test]
fn the_tokio_clients_files_say_which_facts_they_report_and_which_steps_they_carry_out() {
    for name in FACTS_AND_STEPS {
        let (text, _) = code(name);
        let head = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let head = head.collect::<Vec<_>>().join(" ");
        for said in ["Facts reported: ", "Steps carried out: "] {
            assert!(head.contains(said), "{name} does not say: {said}");
        }
    }
}

#[test]
fn the_tokio_clients_facts_and_steps_take_few_lines() {
    let mut table = String::new();
    let mut all = 0;
    for name in FACTS_AND_STEPS {
        let (_, lines) = code(name);
        all += lines.len();
        writeln!(table, "{name} {}", lines.len()).expect("a string takes all");
    }
    assert!(
        all <= MOST_LINES,
        "{all} lines, and {MOST_LINES} are allowed; what is no I/O belongs in the core:\n{table}"
    );
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md"));
    let told = format!("at most {MOST_LINES} lines");
    assert!(page.expect("ARCHITECTURE.md is there").contains(&told), "ARCHITECTURE.md does not say {told:?}");
}

/// No decision in an adapter: its client part names no revision, no member of a message, no header of MCP's, no status and
/// no code of an error, and its facts and steps none of the types that a decision is made by. The one status is the
/// proxy's, whose answer to CONNECT is a fact about the connection.
#[test]
fn the_tokio_client_decides_nothing() {
    for name in FACTS_AND_STEPS.iter().chain(FACE) {
        for line in code(name).1 {
            let line = line.split(" // ").next().unwrap_or_default();
            for word in PROTOCOL_WORDS {
                assert!(!line.contains(word), "{name}: {word} in {line:?}");
            }
            for word in words(line) {
                let is_year =
                    word.len() == 4 && word.starts_with("20") && word.bytes().all(|byte| byte.is_ascii_digit());
                // A bound of the adapter's own may be any number, and has a name.
                let is_status = !line.starts_with("const ") && matches!(word.parse(), Ok(100_u16..=599));
                assert!(!is_year && !is_status, "{name}: {word} in {line:?}");
                let is_allowed = FACE.contains(name) || (*name == "proxy" && word == "StatusCode");
                assert!(is_allowed || !DECISIONS.contains(&word), "{name}: {word} in {line:?}");
            }
        }
    }
}
