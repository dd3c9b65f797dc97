//! Recordings: whatever is told to an exchange or to a client, in any order, is written down and tells the same when it is
//! played again; and no text that is read as a recording breaks its reader or its replay.
//!
//! Input of [`run`]: that of the `exchange` target; and, read once more, two bytes that choose how a client is made, and
//! what is told to it, a byte each: of that, the low five bits say what, the high three how much time has passed. What
//! concerns a call or an exchange is followed by its number, a fact by which one.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sse_core::client::{
    CallEvent, CallId, CallOptions, Client, ClientConfig, Endpoint, ExchangeId, Protocol, ReissuePolicy, Step,
};
use mcp_sse_core::exchange::{Exchange, TailRule};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::jsonrpc::{Id, Message};
use mcp_sse_core::recording::{Bodies, Recording, RecordingConfig};
use mcp_sse_core::{Limits, Timestamp};

use super::exchange::{self, Fact, Reader};
use crate::recordings;
use crate::story::Watched;

/// A run of more than this says nothing new.
const MAX_INPUTS: usize = 200;
/// How many milliseconds may have passed.
const PASSED: [u64; 8] = [0, 0, 1, 7, 50, 700, 6_000, 40_000];

/// The target's body: facts are recorded, replayed and compared.
///
/// # Panics
/// When a replay tells anything else than what was recorded.
pub fn run(data: &[u8]) {
    of_exchange(data);
    of_client(data);
}

fn of_exchange(data: &[u8]) {
    let script = exchange::script(data);
    let config = script.config.clone().with_recording(recording(data));
    let mut watched = Watched::new(&script.request, config, Timestamp::ZERO);
    for (now, fact) in &script.facts {
        let now = *now;
        // What a mistake is answered is compared elsewhere.
        let _ = match fact {
            Fact::Body(bytes) => watched.body(bytes, now),
            fact => watched.input(|exchange| report(exchange, fact, now)),
        };
    }
    recordings::check(|bodies| watched.recording(bodies).expect("it was asked for"));
}

/// Mostly one that holds all of it.
fn recording(data: &[u8]) -> RecordingConfig {
    let is_short = data.len() % 16 == 15;
    RecordingConfig::default().with_max_bytes(if is_short { 2_000 } else { 16 << 20 })
}

fn report(exchange: &mut Exchange, fact: &Fact, now: Timestamp) -> Result<(), mcp_sse_core::exchange::Misuse> {
    match fact {
        Fact::Connected => exchange.on_connected(now),
        Fact::Reused => exchange.on_reused(now),
        Fact::Sending => exchange.on_sending(now),
        Fact::Sent => exchange.on_sent(now),
        Fact::Head(head) => exchange.on_head(head, now),
        Fact::End(framing) => exchange.on_end(*framing, now),
        Fact::Broken(kind) => exchange.on_broken(*kind, now),
        Fact::Timeout => exchange.on_timeout(now),
        Fact::Cancel => exchange.cancel(now),
        Fact::Body(bytes) => exchange.on_body(&mut &**bytes, now),
    }
}

/// A client under way, and what is known of it.
struct Play {
    client: Client,
    now: Timestamp,
    calls: Vec<CallId>,
    exchanges: Vec<(ExchangeId, String)>,
    lent: BTreeMap<ExchangeId, Box<Exchange>>,
    asked: Vec<(CallId, Id)>,
}

fn of_client(data: &[u8]) {
    let mut reader = Reader(data);
    let (protocol, behaviour) = (reader.byte(), reader.byte());
    let has = |bit: u8| behaviour & (1 << bit) != 0;
    let protocol = match ProtocolVersion::KNOWN.get(usize::from(protocol % 7)) {
        Some(version) => Protocol::Fixed(*version),
        None => Protocol::Auto,
    };
    let mut config = ClientConfig::default()
        .with_protocol(protocol)
        .with_handshake(!has(0))
        .with_probe(has(1))
        .with_follow_redirects(has(2))
        .with_strict_ids(has(3))
        .with_seed(u64::from(behaviour))
        .with_recording(recording(data));
    if has(4) {
        config = config.with_handled_request("ping");
    }
    if has(5) {
        config = config.with_limits(Limits::default().with_max_event_bytes(90).with_max_json_bytes(90));
    }
    if has(6) {
        config = config.with_tail(TailRule::Strict);
    }
    let endpoint = Endpoint::parse("http://mcp.test/mcp?key=secret").expect("a URL");
    let mut play = Play {
        client: Client::new(endpoint, config),
        now: Timestamp::ZERO,
        calls: Vec::new(),
        exchanges: Vec::new(),
        lent: BTreeMap::new(),
        asked: Vec::new(),
    };
    let mut count = 0;
    while !reader.0.is_empty() && count < MAX_INPUTS {
        count += 1;
        let byte = reader.byte();
        let passed = PASSED[usize::from(byte >> 5)];
        play.now = play.now.saturating_add(Duration::from_millis(passed));
        play.tell(byte & 0x1F, &mut reader);
    }
    recordings::check(|bodies| {
        let recording = play.client.recording(bodies).expect("it was asked for");
        assert!(!recording.to_string().contains("secret"), "no query is written");
        recording
    });
}

impl Play {
    fn tell(&mut self, what: u8, reader: &mut Reader<'_>) {
        let now = self.now;
        match what {
            0 => {
                let params = r#"{"name":"charge","arguments":{"to":"Zoe"},"_meta":{"progressToken":"t"}}"#;
                let call = self.client.call("tools/call", Some(params), options(reader.byte()), now);
                self.calls.extend(call);
            }
            1 => self.calls.extend(self.client.call("tools/list", None, options(reader.byte()), now)),
            2 => self.calls.extend(self.client.notify("notifications/roots/list_changed", None, options(0), now)),
            3 => {
                let filter = r#"{"toolsListChanged":true}"#;
                self.calls.extend(self.client.listen(filter, CallOptions::default().with_timeout(None), now));
            }
            4 => self.of_call(reader).into_iter().for_each(|call| self.client.cancel(call, now)),
            5 => self.calls.extend(self.client.close(now)),
            6 => self.of_call(reader).into_iter().for_each(|call| self.client.read_to_end(call)),
            7 => {
                if let Some((id, _)) = self.of_exchange(reader) {
                    self.lent.extend(self.client.lend_exchange(id).map(|exchange| (id, exchange)));
                }
            }
            8 => {
                if let Some((id, exchange)) = self.lent.pop_first() {
                    self.client.return_exchange(id, exchange, now);
                }
            }
            9 => {
                if let Some((id, _)) = self.of_exchange(reader) {
                    self.lent.remove(&id);
                    self.client.forget_exchange(id, now);
                }
            }
            10 => self.client.on_timeout(now),
            11 => {
                if let Some(call) = self.of_call(reader) {
                    let step = self.client.poll_step_of(call, now);
                    self.on_step(step);
                }
            }
            12 => {
                if let Some((call, id)) = self.asked.pop() {
                    let refusal = mcp_sse_core::client::ErrorReply::new(-1, "no, secretly");
                    let answer = if reader.byte() % 2 == 0 { Ok(r#"{"a":"b"}"#) } else { Err(refusal) };
                    // It may be over.
                    self.client.respond(call, &id, answer, now).ok();
                }
            }
            13 => self.poll(),
            _ => self.fact(reader),
        }
    }

    fn of_call(&self, reader: &mut Reader<'_>) -> Option<CallId> {
        let at = usize::from(reader.byte());
        self.calls.get(at.checked_rem(self.calls.len())?).copied()
    }

    fn of_exchange(&self, reader: &mut Reader<'_>) -> Option<(ExchangeId, String)> {
        // The newest is number 0.
        let at = usize::from(reader.byte()).checked_rem(self.exchanges.len())?;
        self.exchanges.iter().rev().nth(at).cloned()
    }

    fn poll(&mut self) {
        while let Some(step) = self.client.poll_step(self.now) {
            self.on_step(Some(step));
        }
    }

    fn on_step(&mut self, step: Option<Step>) {
        match step {
            Some(Step::Send(id, request)) => {
                let message = String::from_utf8(request.body).ok().and_then(|body| Message::from_text(body).ok());
                let own = message.as_ref().and_then(Message::id).map_or_else(|| "1".to_owned(), Id::to_json);
                self.exchanges.push((id, own));
            }
            Some(Step::Background(_, call)) => self.calls.push(call),
            Some(Step::Event(call, CallEvent::Request { message, awaits_reply: true, .. })) => {
                self.asked.extend(message.id().map(|id| (call, id.clone())));
            }
            _ => {}
        }
    }

    fn fact(&mut self, reader: &mut Reader<'_>) {
        let choice = reader.byte();
        let Some((id, own)) = self.of_exchange(reader) else { return };
        let text = |text: String| Fact::Body(text.replace("\"id\":7", &format!("\"id\":{own}")).into_bytes());
        let head = |media| Fact::Head(ResponseHead::from_headers(200, [("Content-Type", media)]));
        let fact = match choice % 40 {
            32 => head("text/event-stream"),
            33 => head("application/json"),
            34 => Fact::Head(ResponseHead::from_headers(404, [("Content-Type", "text/plain")])),
            35 => text(
                r#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{}}}"#
                    .to_owned(),
            ),
            36 => text("event: endpoint\ndata: /messages?session=1\n\n".to_owned()),
            37 => text("data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"}\n\n".to_owned()),
            38 => text("id: e1\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":\"complete\",\"tools\":[{\"name\":\"charge\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"string\",\"x-mcp-header\":\"To\"}}}}]}}\n\n".to_owned()),
            39 => text(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"],"requested":"2026-07-28"}}}"#.to_owned()),
            choice => {
                let carries = mcp_sse_core::exchange::Carries::Message;
                match exchange::fact(choice & 0x1F, choice, &carries, reader) {
                    Fact::Body(bytes) => match String::from_utf8(bytes) {
                        Ok(bytes) => text(bytes),
                        Err(error) => Fact::Body(error.into_bytes()),
                    },
                    fact => fact,
                }
            }
        };
        let now = self.now;
        let Fact::Body(bytes) = &fact else {
            let exchange = self.lent.get_mut(&id).map(Box::as_mut).or_else(|| self.client.exchange(id));
            // What a mistake is answered is compared elsewhere.
            exchange.map(|exchange| report(exchange, &fact, now).ok());
            return if choice >= 128 {
                self.poll()
            };
        };
        let mut rest = &**bytes;
        for _ in 0..8 {
            let exchange = self.lent.get_mut(&id).map(Box::as_mut).or_else(|| self.client.exchange(id));
            let taken = exchange.map(|exchange| exchange.on_body(&mut rest, now));
            if taken != Some(Ok(())) || rest.is_empty() || choice < 128 {
                break;
            }
            self.poll();
        }
    }
}

fn options(choice: u8) -> CallOptions {
    let policies = [ReissuePolicy::Always, ReissuePolicy::ReplaySafe, ReissuePolicy::Never];
    let options = CallOptions::default()
        .with_reissue(policies[usize::from(choice % 3)])
        .with_max_reissues(u32::from(choice / 3 % 3));
    let options = if choice & 0x40 == 0 { options } else { options.with_idle(Duration::from_millis(40)) };
    if choice & 0x80 == 0 { options } else { options.with_timeout(Duration::from_millis(300)) }
}

/// The body of the target `recording_text`: what is read is written as it was, and any of it can be played.
///
/// # Panics
/// When a recording that was read is written as another.
pub fn read(text: &[u8]) {
    let Ok(recording) = Recording::parse(text) else { return };
    let written = recording.to_string();
    let again = Recording::parse(written.as_bytes()).expect("what was written can be read");
    assert_eq!(again.to_string(), written);
    // It may come to anything.
    let whole = recording.replay();
    assert_eq!(again.replay().is_ok(), whole.is_ok());
    for bodies in [Bodies::Redacted, Bodies::Sized] {
        let shown = recording.with_bodies(bodies);
        let written = shown.to_string();
        assert_eq!(Recording::parse(written.as_bytes()).expect("what was written can be read").to_string(), written);
        assert!(shown.bodies() >= bodies.max(recording.bodies()));
    }
}
