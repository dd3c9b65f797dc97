//! The server under any inputs in any order: nothing panics, each exchange is written as a response is, queues stay within
//! their bounds, and when everybody has gone nothing is left.
//!
//! Input: operations, one byte each with one or two bytes of choice behind it.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::server::{
    CallId, Change, ExchangeId, Output, ReplyBody, SendError, Sent, Server, ServerAnswer, ServerConfig, ServerEvent,
    ServerLimits, WhenFull,
};
use mcp_sse_core::sse::{Finish, SseDecoder, Tail};
use serde_json::{Value, json};

use crate::server_driver::{HttpMessage, config};

/// What a run came to, so that a test can see that runs come to something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Requests that the embedder heard of.
    pub calls: usize,
    /// Those that were answered.
    pub answered: usize,
    /// Those that were cancelled.
    pub cancelled: usize,
    /// Sessions that were opened.
    pub sessions: usize,
    /// Event streams that were written.
    pub streams: usize,
    /// Exchanges that were cut.
    pub cuts: usize,
    /// Messages that had no room.
    pub full: usize,
}

/// The target's body.
///
/// # Panics
/// When the server breaks a rule.
pub fn run(data: &[u8]) -> Seen {
    let Some((&settings, mut rest)) = data.split_first() else {
        return Seen::default();
    };
    let mut world = World::new(settings);
    while let Some(operation) = next(&mut rest) {
        let choice = usize::from(next(&mut rest).unwrap_or_default());
        world.step(operation, choice, &mut rest);
        world.after();
    }
    world.leave()
}

fn next(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

const MESSAGES: usize = 4;
const BYTES: usize = 2_000;
const ANSWER: usize = 4_000;

fn small(settings: u8) -> ServerConfig {
    let limits = ServerLimits::default()
        .with_max_queue_messages(MESSAGES)
        .with_max_queue_bytes(BYTES)
        .with_max_answer_bytes(ANSWER)
        .with_max_replay_messages(3)
        .with_max_sessions(4)
        .with_max_calls_per_session(3)
        .with_max_streams_per_session(3)
        .with_max_exchanges(12)
        .with_max_body_bytes(3_000);
    let policy = if settings & 1 == 0 { WhenFull::Refuse } else { WhenFull::Close };
    let config = config().with_limits(limits).with_when_full(policy).with_always_streams(settings & 2 != 0);
    config.with_keep_alive((settings & 4 == 0).then_some(Duration::from_secs(1)))
}

/// What was written to an exchange.
#[derive(Default)]
struct Written {
    is_stream: bool,
    has_head: bool,
    has_ended: bool,
    body: Vec<u8>,
}

struct World {
    server: Server,
    now: u64,
    drawn: u64,
    open: Vec<ExchangeId>,
    written: BTreeMap<ExchangeId, Written>,
    /// Requests whose bodies are still to come.
    reading: Vec<(ExchangeId, Vec<u8>)>,
    calls: Vec<CallId>,
    answered: Vec<CallId>,
    sessions: Vec<String>,
    endpoints: Vec<String>,
    last_ids: Vec<String>,
    asked: i64,
    is_shut_down: bool,
    seen: Seen,
}

impl World {
    fn new(settings: u8) -> Self {
        Self {
            server: Server::new(small(settings)),
            now: 0,
            drawn: 0,
            open: Vec::new(),
            written: BTreeMap::new(),
            reading: Vec::new(),
            calls: Vec::new(),
            answered: Vec::new(),
            sessions: Vec::new(),
            endpoints: Vec::new(),
            last_ids: Vec::new(),
            asked: 0,
            is_shut_down: false,
            seen: Seen::default(),
        }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    fn step(&mut self, operation: u8, choice: usize, rest: &mut &[u8]) {
        let now = self.time();
        let call = pick(&self.calls, choice);
        let exchange = pick(&self.open, choice);
        match operation % 16 {
            0..=3 => self.begin(choice, next(rest).unwrap_or_default(), operation % 16 == 3),
            4 => self.feed(choice, usize::from(next(rest).unwrap_or_default())),
            5 => {
                if let Some(id) = exchange {
                    self.gone(id);
                }
            }
            6 | 7 => {
                if let Some(id) = exchange {
                    self.pull(id);
                }
            }
            8 => {
                if let Some(call) = call {
                    self.answer(call, next(rest).unwrap_or_default());
                }
            }
            9 => {
                if let Some(call) = call {
                    let message = "x".repeat(choice * 3);
                    let sent = self.server.progress(call, 1.0, Some(2.0), Some(&message), now);
                    self.check_sent(call, sent);
                }
            }
            10 => {
                if let Some(call) = call {
                    if choice & 1 == 0 {
                        self.server.stream(call, now).ok()
                    } else {
                        self.server.pause(call, now).ok()
                    };
                }
            }
            11 => {
                if let Some(asked) = call.and_then(|call| self.server.ask(call, "roots/list", None, now).ok()) {
                    self.asked += 1;
                    assert_eq!(asked.to_string(), format!("question {}", self.asked));
                }
            }
            12 => {
                match choice % 3 {
                    0 => self.server.broadcast("notifications/a", Some("{\n}"), now),
                    1 => self.server.publish(Change::ToolsList, now),
                    _ => self.server.publish(Change::resource("file:///a"), now),
                };
            }
            13 => {
                // Seldom so much that everything is late.
                self.now += if choice == 255 { 2_000_000 } else { (choice * choice) as u64 / 10 };
                self.server.on_timeout(self.time());
                assert!(self.server.poll_timeout().is_none_or(|due| due > self.time()));
            }
            14 => {
                let session = self.server.sessions().nth(choice % 4);
                if let Some(session) = session {
                    self.server.end_session(session, now);
                }
            }
            _ => {
                if choice == 255 {
                    self.server.shut_down(now);
                    self.is_shut_down = true;
                } else if let Some(id) = exchange {
                    // Facts that make no sense.
                    self.server.on_body(id, b"x", now);
                    self.server.on_body_end(id, now);
                    self.reading.retain(|(known, _)| *known != id);
                }
            }
        }
    }

    fn begin(&mut self, choice: usize, other: u8, is_slow: bool) {
        self.draw();
        let now = self.time();
        let request = self.request(choice, other);
        let id = self.server.on_request(request.head(), now);
        self.open.push(id);
        self.written.insert(id, Written::default());
        if self.server.wants_body(id) {
            if is_slow {
                self.reading.push((id, request.body));
            } else {
                self.server.on_body(id, &request.body, now);
                self.draw();
                self.server.on_body_end(id, now);
            }
        }
    }

    fn draw(&mut self) {
        while self.server.wants_entropy() {
            self.drawn += 1;
            self.server.add_entropy(&self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
        }
    }

    fn feed(&mut self, choice: usize, size: usize) {
        let now = self.time();
        if self.reading.is_empty() {
            return;
        }
        let at = choice % self.reading.len();
        let (id, body) = &mut self.reading[at];
        let piece: Vec<u8> = body.drain(..size.min(body.len())).collect();
        self.server.on_body(*id, &piece, now);
        if body.is_empty() {
            let (id, _) = self.reading.remove(at);
            self.draw();
            self.server.on_body_end(id, now);
        }
    }

    fn request(&self, choice: usize, other: u8) -> HttpMessage {
        let other_choice = usize::from(other);
        let session = pick(&self.sessions, other_choice).unwrap_or_else(|| "0".repeat(48));
        let endpoint =
            pick(&self.endpoints, other_choice).unwrap_or_else(|| format!("/mcp?session_id={}", "0".repeat(48)));
        let id = u32::from(other) % 4;
        let message = |method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": "file:///a", "_meta": {"progressToken": id}}});
        let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream");
        match choice % 16 {
            0 => HttpMessage::modern(id, "tools/call", json!({"name": "x", "_meta": {"progressToken": "p"}})),
            1 => HttpMessage::modern(
                id,
                "subscriptions/listen",
                json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}}),
            ),
            2 => HttpMessage::modern(id, "server/discover", json!({})),
            3 | 4 => {
                let version = ["2025-11-25", "2025-03-26", "2025-06-18", "2024-11-05"][other_choice % 4];
                let params = json!({"protocolVersion": version});
                HttpMessage::post(
                    "/mcp",
                    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}).to_string(),
                )
            }
            5 => HttpMessage::in_session(&session, &message("tools/list")),
            6 => HttpMessage::in_session(
                &session,
                &message(if other & 64 == 0 { "ping" } else { "resources/subscribe" }),
            ),
            7 => HttpMessage::in_session(
                &session,
                &json!([message("tools/list"), message("ping"), {"jsonrpc": "2.0", "method": "a"}]),
            ),
            8 => HttpMessage::in_session(
                &session,
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
            ),
            9 => HttpMessage::in_session(&session, &json!({"jsonrpc": "2.0", "id": self.asked, "result": {}})),
            10 => get.with("Mcp-Session-Id", &session),
            11 => {
                let last = pick(&self.last_ids, other_choice).unwrap_or_default();
                get.with("Mcp-Session-Id", &session).with("Last-Event-ID", &last)
            }
            12 => get,
            13 => HttpMessage::post(
                &endpoint,
                message(["tools/list", "ping", "initialize"][other_choice % 3]).to_string(),
            ),
            14 => HttpMessage::new("DELETE", "/mcp").with("Mcp-Session-Id", &session),
            _ => {
                let mut body = message("tools/list").to_string().into_bytes();
                let at = other_choice % body.len();
                body[at] = body[at].wrapping_add(other);
                HttpMessage::post("/mcp", body)
            }
        }
    }

    fn answer(&mut self, call: CallId, kind: u8) {
        let answer = match kind % 4 {
            0 => ServerAnswer::result("{\"ok\":\ntrue}"),
            1 => ServerAnswer::result(json!({"big": "x".repeat(usize::from(kind) * 20)}).to_string()),
            2 => ServerAnswer::method_not_found(),
            _ => ServerAnswer::result("no JSON"),
        };
        let was_open = self.server.is_open(call);
        let sent = self.server.respond(call, answer, self.time());
        match sent {
            Ok(_) => {
                assert!(was_open && !self.answered.contains(&call), "one answer a call");
                self.answered.push(call);
                assert!(!self.server.is_open(call));
            }
            Err(SendError::Ended) => assert!(!was_open),
            Err(SendError::Full { .. }) => {
                assert!(!self.server.is_open(call), "an answer without room ends its stream")
            }
            Err(_) => assert!(self.server.is_open(call), "another answer can be given"),
        }
    }

    fn check_sent(&mut self, call: CallId, sent: Result<Sent, SendError>) {
        self.seen.full += usize::from(matches!(sent, Err(SendError::Full { .. })));
        if self.answered.contains(&call) {
            assert_eq!(sent, Err(SendError::Ended), "nothing follows an answer");
        }
    }

    fn pull(&mut self, id: ExchangeId) {
        let now = self.time();
        let written = self.written.entry(id).or_default();
        loop {
            let mut bytes = Vec::new();
            let output = self.server.poll_output(id, &mut bytes, now);
            assert!(!written.has_ended || matches!(output, Output::Cut), "nothing follows the end");
            assert_eq!(!bytes.is_empty(), matches!(output, Output::Bytes));
            assert!(bytes.len() <= 2 * (BYTES + ANSWER), "a queue of {} bytes", bytes.len());
            match output {
                Output::Wait => return,
                Output::Head(head) => {
                    assert!(!written.has_head, "one head");
                    written.has_head = true;
                    written.is_stream = matches!(head.body, ReplyBody::Stream);
                    self.seen.streams += usize::from(written.is_stream);
                    self.sessions.extend(head.header("Mcp-Session-Id").map(str::to_owned));
                    if let ReplyBody::Whole(body) = &head.body {
                        serde_json::from_slice::<Value>(body).expect("a body is JSON");
                    }
                    written.has_ended |= !written.is_stream;
                }
                Output::Bytes => {
                    assert!(written.is_stream);
                    written.body.extend_from_slice(&bytes);
                }
                Output::End => {
                    written.has_ended = true;
                }
                Output::Cut => {
                    self.seen.cuts += 1;
                    written.has_ended = true;
                }
                other => panic!("no word for {other:?}"),
            }
            if written.has_ended {
                break;
            }
        }
        self.open.retain(|known| *known != id);
        self.check_stream(id);
    }

    /// A stream holds whole events, each a message in one line, or nothing.
    fn check_stream(&mut self, id: ExchangeId) {
        let Some(written) = self.written.get(&id).filter(|written| written.is_stream) else {
            return;
        };
        let mut decoder = SseDecoder::new();
        let mut bytes = &written.body[..];
        while let Some(event) = decoder.decode(&mut bytes).expect("no limit is passed") {
            if event.kind() == "endpoint" {
                self.endpoints.push(format!("/mcp{}", event.data()));
            } else if !event.data().is_empty() {
                serde_json::from_str::<Value>(event.data()).expect("data is JSON");
            }
            self.last_ids.push(event.last_event_id().to_owned());
        }
        assert_eq!(decoder.finish(Finish::Strict).tail, Tail::Nothing);
    }

    fn gone(&mut self, id: ExchangeId) {
        self.server.on_gone(id, self.time());
        self.open.retain(|known| *known != id);
        self.reading.retain(|(known, _)| *known != id);
        self.check_stream(id);
    }

    /// What an embedder does after every step.
    fn after(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Request(request) => {
                    self.seen.calls += 1;
                    self.calls.push(request.call);
                }
                ServerEvent::Cancelled { call, .. } => {
                    assert!(!self.server.is_open(call));
                    assert!(!self.answered.contains(&call), "what is answered is not cancelled");
                    assert!(self.calls.contains(&call), "nobody hears of the end of what it never heard of");
                    self.seen.cancelled += 1;
                }
                ServerEvent::SessionOpened { .. } => self.seen.sessions += 1,
                _ => {}
            }
        }
        while self.server.poll_wake().is_some() {}
        assert!(self.server.sessions().count() <= 4);
    }

    /// Everybody goes.
    fn leave(mut self) -> Seen {
        for id in std::mem::take(&mut self.open) {
            self.server.on_gone(id, self.time());
        }
        for session in self.server.sessions().collect::<Vec<_>>() {
            self.server.end_session(session, self.time());
        }
        self.after();
        assert_eq!(self.server.exchange_count(), 0);
        assert_eq!(self.server.call_count(), 0, "calls are cancelled with who made them");
        assert_eq!(self.server.stream_count(), 0);
        let due = self.server.poll_timeout();
        assert!(due.is_none() || self.is_shut_down, "nothing is left to wait for: {due:?}");
        self.seen.answered = self.answered.len();
        self.seen
    }
}

fn pick<T: Clone>(from: &[T], choice: usize) -> Option<T> {
    from.get(choice.checked_rem(from.len())?).cloned()
}
