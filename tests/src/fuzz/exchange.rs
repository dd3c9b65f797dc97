//! An exchange fed with any facts in any order: the rules that hold at every step, memory under small limits, and one
//! story for every cutting of its bodies.
//!
//! Input: four bytes that choose the revision (low three bits) and what the HTTP request is (the next three), how the
//! exchange behaves, the limits and the response's head; then facts, a byte each. Of a fact's byte the low five bits say what happens, the high three how many milliseconds have passed
//! before it. A body of the fuzzer's own is followed by its length, one byte, and its bytes; the other bodies are
//! canned, so that whole answers are met often.

use core::time::Duration;

use mcp_sse_core::exchange::{BreakKind, Carries, Cursor, ExchangeConfig, Framing, Misuse, Request, State, TailRule};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::{Limits, Timestamp};

use crate::chunking::Random;
use crate::story::{Watched, error, event, gzip, note, progress, result, zlib};

/// A run of more facts than this says nothing new.
const MAX_FACTS: usize = 200;

/// The bytes, taken from the front; zero once there are none.
pub(super) struct Reader<'d>(pub(super) &'d [u8]);

impl<'d> Reader<'d> {
    pub(super) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    fn bytes(&mut self, count: usize) -> &'d [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

#[derive(Debug)]
pub(super) enum Fact {
    Connected,
    Reused,
    Sending,
    Sent,
    Head(ResponseHead),
    Body(Vec<u8>),
    End(Framing),
    Broken(BreakKind),
    Timeout,
    Cancel,
}

pub(super) struct Script {
    pub(super) request: Request,
    pub(super) config: ExchangeConfig,
    pub(super) facts: Vec<(Timestamp, Fact)>,
}

/// The target's body.
///
/// # Panics
/// When the exchange breaks a rule.
pub fn run(data: &[u8]) {
    let script = script(data);
    let whole = play(&script, |bytes| vec![bytes]);
    let single = play(&script, |bytes| bytes.chunks(1).collect());
    assert_eq!(single, whole, "byte by byte");
    let mut random = Random::new(data.len() as u64);
    let cut = play(&script, |mut bytes| {
        let mut chunks = Vec::new();
        while !bytes.is_empty() {
            let (chunk, rest) = bytes.split_at(random.below(9).min(bytes.len()));
            chunks.push(chunk);
            bytes = rest;
        }
        chunks
    });
    assert_eq!(cut, whole, "cut at random");
}

pub(super) fn script(data: &[u8]) -> Script {
    let mut reader = Reader(data);
    let version = reader.byte();
    let behaviour = reader.byte();
    let limits = usize::from(reader.byte());
    let head = reader.byte();

    let versions = ProtocolVersion::KNOWN;
    let carries = carries(version >> 3 & 7);
    let version = match versions.get(usize::from(version % 8)) {
        Some(version) => *version,
        None => "2030-01-01".parse().unwrap_or(ProtocolVersion::LATEST),
    };
    let has = |bit: u8| behaviour & (1 << bit) != 0;
    let mut request = Request::new("tools/call").with_version(version).with_carries(carries);
    if !has(0) {
        request = if has(1) { request.with_id("7") } else { request.with_id(7) };
    }
    if has(2) {
        request = request.with_progress_token("t");
    }
    let mut config = ExchangeConfig::default().with_strict_ids(has(3)).with_follow_redirects(has(4));
    if has(5) {
        config = config.with_tail(TailRule::Strict);
    }
    if has(6) {
        config = config.with_deadline(Timestamp::from_millis(40));
    }
    if has(7) {
        config = config.with_idle(Duration::from_millis(15));
    }
    config = config.with_limits(
        Limits::default()
            .with_max_event_bytes(limits * 2)
            .with_max_json_bytes(limits * 3)
            .with_max_inflated_bytes(limits as u64 * 8)
            .with_max_excerpt_bytes(limits % 32),
    );
    let mut now = 0;
    let mut facts = Vec::new();
    while !reader.0.is_empty() && facts.len() < MAX_FACTS {
        let byte = reader.byte();
        now += u64::from(byte >> 5);
        let fact = fact(byte & 0x1F, head, &request.carries, &mut reader);
        facts.push((Timestamp::from_millis(now), fact));
    }
    Script { request, config, facts }
}

fn carries(choice: u8) -> Carries {
    let given = || Cursor::new("g 1").with_retry(Duration::from_millis(7));
    match choice {
        1 => Carries::Resumption(given()),
        2 => Carries::Listening(None),
        3 => Carries::Listening(Some(given())),
        4 => Carries::Channel,
        5 => Carries::Deletion,
        // One that no header can carry.
        6 => Carries::Resumption(Cursor::new("")),
        _ => Carries::Message,
    }
}

pub(super) fn fact(choice: u8, head: u8, carries: &Carries, reader: &mut Reader<'_>) -> Fact {
    let canned = |text: String| Fact::Body(text.into_bytes());
    match (choice, carries) {
        // What the streams that a GET opens are about.
        (21, Carries::Channel) => return canned("event: endpoint\ndata: /m\n\n".to_owned()),
        (22, Carries::Resumption(_) | Carries::Listening(_)) => return canned(format!("id: m\n{}", event(&note("n")))),
        _ => {}
    }
    match choice {
        0 => Fact::Connected,
        1 => Fact::Reused,
        2 => Fact::Sending,
        3 => Fact::Sent,
        4 => Fact::Head(self::head(head)),
        5 => Fact::Head(self::head(reader.byte())),
        6 => Fact::End(Framing::Marked),
        7 => Fact::End(Framing::Unmarked),
        8 => Fact::End(Framing::Short),
        9 => Fact::Broken(BreakKind::Reset),
        10 => Fact::Broken(BreakKind::Connect),
        11 => Fact::Timeout,
        12 => Fact::Cancel,
        13 => canned(event(&result("7"))),
        14 => canned(result("7")),
        15 => canned(event(&note("n"))),
        16 => canned(format!("data: {}", result("\"7\""))),
        17 => canned(event(&error("null", -32020))),
        18 => canned(error("8", -32601)),
        19 => canned(event(&progress("\"t\""))),
        20 => canned(format!("id: c{choice}\nretry: 3\ndata:\n\n")),
        21 => canned(format!("[{},{},1]", note("n"), result("7"))),
        22 => canned(event("[")),
        23 => canned("\r\n".to_owned()),
        24 => canned("data: ".to_owned()),
        25 => canned("event: ping\r".to_owned()),
        26 => Fact::Body(gzip(&[event(&note("n")).as_bytes(), event(&result("7")).as_bytes()])),
        27 => Fact::Body(gzip(&[result("7").as_bytes()])),
        28 => Fact::Body(zlib(event(&format!("[{},{}]", note("n"), result("7"))).as_bytes())),
        29 => Fact::Body(gzip(&[&vec![reader.byte(); 5000]])),
        30 => Fact::Body(vec![reader.byte(); 300]),
        _ => {
            let length = usize::from(reader.byte());
            Fact::Body(reader.bytes(length).to_vec())
        }
    }
}

fn head(choice: u8) -> ResponseHead {
    let kinds = ["text/event-stream", "application/json", "", "text/html"];
    let codings = ["", "gzip", "deflate", "br"];
    let statuses = [200, 200, 200, 200, 200, 202, 204, 400, 404, 500, 307, 103, 201, 401, 301, 99];
    let at = |bits: u8, count: usize| usize::from(bits) % count;
    let status = statuses[at(choice >> 4, statuses.len())];
    let mut head = ResponseHead::new(status);
    head.header("Content-Type", kinds[at(choice, kinds.len())].as_bytes());
    head.header("Content-Encoding", codings[at(choice >> 2, codings.len())].as_bytes());
    if status == 201 {
        head.header("Content-Length", b"70");
    }
    if matches!(status, 301 | 307) {
        head.header("Location", b"/x");
    }
    head
}

/// Plays the script with its bodies cut in this way; gives all that it told, and how it stood at its end.
fn play<'s>(script: &'s Script, mut cut: impl FnMut(&'s [u8]) -> Vec<&'s [u8]>) -> Vec<String> {
    let mut watched = Watched::new(&script.request, script.config.clone(), Timestamp::ZERO);
    let mut story = Vec::new();
    for (now, fact) in &script.facts {
        let now = *now;
        let due = watched.exchange().poll_timeout();
        let was_over = watched.exchange().state() == State::Ended;
        let result = match fact {
            Fact::Connected => watched.input(|exchange| exchange.on_connected(now)),
            Fact::Reused => watched.input(|exchange| exchange.on_reused(now)),
            Fact::Sending => watched.input(|exchange| exchange.on_sending(now)),
            Fact::Sent => watched.input(|exchange| exchange.on_sent(now)),
            Fact::Head(head) => watched.input(|exchange| exchange.on_head(head, now)),
            Fact::End(framing) => watched.input(|exchange| exchange.on_end(*framing, now)),
            Fact::Broken(kind) => watched.input(|exchange| exchange.on_broken(*kind, now)),
            Fact::Timeout => watched.input(|exchange| exchange.on_timeout(now)),
            Fact::Cancel => watched.input(|exchange| exchange.cancel(now)),
            Fact::Body(bytes) => body(&mut watched, &script.config.limits, cut(bytes), now),
        };
        let is_late = due.is_some_and(|due| now >= due);
        let is_over = watched.exchange().state() == State::Ended;
        assert!(is_over || !is_late, "nothing outlives its limits");
        if matches!(fact, Fact::Timeout) {
            assert_eq!(is_over, was_over || is_late, "an early time-out ends nothing");
        }
        // How often a body is refused depends on its chunks; all else does not.
        if !matches!(fact, Fact::Body(_)) {
            story.push(format!("{result:?}"));
        }
        story.append(&mut watched.lines);
    }
    let exchange = watched.exchange();
    story.push(format!("{:?} {:?} {:?}", exchange.state(), exchange.exposure(), exchange.ignored()));
    story.push(format!("{:?} {:?}", watched.answer.as_ref().map(|answer| answer.info), watched.verdict));
    story
}

fn body(watched: &mut Watched, limits: &Limits, mut chunks: Vec<&[u8]>, now: Timestamp) -> Result<(), Misuse> {
    if chunks.is_empty() {
        // No bytes are an input all the same: time has passed.
        chunks.push(&[]);
    }
    for chunk in chunks {
        let result = watched.body(chunk, now);
        let texts = limits.max_event_bytes + limits.max_json_bytes + limits.max_excerpt_bytes;
        // An id in the making, one that holds, the cursor, and a name.
        let names = 2 * limits.max_id_bytes + 1024 + limits.max_kind_bytes;
        assert!(watched.exchange().held_bytes() <= texts + names + chunk.len());
        result?;
    }
    Ok(())
}
