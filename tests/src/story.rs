//! What an exchange tells when facts and bytes are fed to it: a script on a virtual clock, the story it gives, and
//! the rules that hold after every single input.
//!
//! Rules: a script's story is the same however its bodies are cut, so [`Run::story`] plays each script whole, byte by
//! byte and cut at random, and compares; every input of every test goes through [`Watched`], which checks what
//! must hold at every step. What a story should be is said by the tests, not here.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    Answer, BreakKind, Cause, Damage, Exchange, ExchangeConfig, ExchangeEvent, Exposure, Failure, FailureKind, Framing,
    IdMatch, MessageProblem, Misuse, Request, SizeLimit, State, TimeLimit, Verdict, Want,
};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::jsonrpc::Id;

use crate::chunking::Random;

/// An exchange whose every input is followed by the checks that hold for all of them.
pub struct Watched {
    exchange: Exchange,
    version: ProtocolVersion,
    deadline: Option<Timestamp>,
    exposure: Exposure,
    /// What it told, as one line each.
    pub lines: Vec<String>,
    /// The answer, if it was given.
    pub answer: Option<Answer>,
    /// The verdict, if it was given.
    pub verdict: Option<Verdict>,
}

impl Watched {
    /// Starts an exchange.
    pub fn new(request: &Request, config: ExchangeConfig, now: Timestamp) -> Self {
        Self {
            version: request.version,
            deadline: config.deadline,
            exchange: Exchange::new(request, config, now),
            exposure: Exposure::Unsent,
            lines: Vec::new(),
            answer: None,
            verdict: None,
        }
    }

    /// The exchange itself, to be asked.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// One input that is no body, then all it has to tell.
    pub fn input<T>(&mut self, input: impl FnOnce(&mut Exchange) -> Result<T, Misuse>) -> Result<T, Misuse> {
        let was_over = self.exchange.state() == State::Ended;
        let result = input(&mut self.exchange);
        if was_over {
            assert_eq!(result.as_ref().err(), Some(&Misuse::Ended), "an input after the end is answered as one");
        }
        self.drain();
        result
    }

    /// One chunk of the body, then all it has to tell.
    pub fn body(&mut self, chunk: &[u8], now: Timestamp) -> Result<(), Misuse> {
        let mut input = chunk;
        loop {
            let was_over = self.exchange.state() == State::Ended;
            let before = input.len();
            let result = self.exchange.on_body(&mut input, now);
            assert!(input.len() <= before && chunk.ends_with(input), "bytes are taken from the front");
            if was_over {
                assert_eq!((result, input.len()), (Err(Misuse::Ended), 0));
            }
            self.drain();
            if result.is_err() || input.is_empty() {
                return result;
            }
            assert!(input.len() < before, "every call takes bytes");
        }
    }

    fn drain(&mut self) {
        while let Some(event) = self.exchange.poll_event() {
            self.tell(event);
        }
        assert!(self.exchange.peek_event().is_none() && self.exchange.poll_event().is_none());
        self.check();
    }

    fn tell(&mut self, event: ExchangeEvent) {
        assert!(self.verdict.is_none(), "nothing comes after the verdict: {event:?}");
        self.lines.push(line(&event));
        match event {
            ExchangeEvent::Answer(answer) => {
                assert!(self.answer.is_none(), "there is one answer");
                assert!(
                    self.deadline.is_none_or(|deadline| answer.info.arrived < deadline),
                    "late bytes are no answer"
                );
                self.answer = Some(*answer);
            }
            ExchangeEvent::Ended(verdict) => self.verdict = Some(verdict),
            _ => {}
        }
    }

    /// What holds after every input.
    fn check(&mut self) {
        let exchange = &self.exchange;
        assert!(exchange.exposure() >= self.exposure, "exposure never falls");
        self.exposure = exchange.exposure();
        assert_eq!(exchange.state() == State::Ended, self.verdict.is_some());
        match &self.verdict {
            None => {
                assert!(!matches!(exchange.want(), Want::Close | Want::Nothing));
                assert!(exchange.poll_timeout() <= self.deadline.or(exchange.poll_timeout()));
            }
            Some(verdict) => {
                assert_eq!(exchange.poll_timeout(), None, "no time is waited for after the end");
                assert!(matches!(exchange.want(), Want::Close | Want::Nothing | Want::Drain));
                self.check_verdict(verdict);
            }
        }
        if self.answer.is_some() {
            assert!(exchange.exposure() == Exposure::Streaming && exchange.head().is_some());
            assert!(matches!(exchange.state(), State::Answered | State::Ended));
        }
    }

    fn check_verdict(&self, verdict: &Verdict) {
        let told = self.answer.as_ref().map(|answer| answer.info);
        match verdict {
            Verdict::Settled(info) | Verdict::Salvaged { answer: info, .. } => assert_eq!(Some(*info), told),
            _ => assert_eq!(told, None, "what was delivered is settled or salvaged"),
        }
        let is_modern = self.version >= ProtocolVersion::V2026_07_28;
        match verdict {
            Verdict::Reissue { exposure, .. } => {
                assert!(is_modern && *exposure == self.exposure && *exposure > Exposure::Unsent);
            }
            Verdict::Resume { last_event_id, after, .. } => {
                assert!(!is_modern && self.version > ProtocolVersion::V2024_11_05);
                assert!(after.as_millis() >= 10 && (1..=1024).contains(&last_event_id.len()));
                assert!(last_event_id.trim_matches(' ').bytes().all(|byte| (0x20..=0x7E).contains(&byte)));
            }
            Verdict::Failed(failure) => {
                assert_eq!(failure.exposure, self.exposure, "a failure says how far the request got");
                let did_not_run = self.exposure <= Exposure::PartlySent;
                assert_eq!(failure.may_have_run(), !did_not_run);
                assert_eq!(failure.to_string().ends_with("it did not run"), did_not_run);
                if let FailureKind::Unsent { .. } = failure.kind {
                    assert_eq!(failure.exposure, Exposure::Unsent);
                }
            }
            _ => {}
        }
    }
}

/// An event as one line.
pub fn line(event: &ExchangeEvent) -> String {
    match event {
        ExchangeEvent::Notification(message) => format!("note {}", message.method().unwrap_or_default()),
        ExchangeEvent::Request { message, is_violation } => {
            let kind = if *is_violation { "violation" } else { "request" };
            format!("{kind} {}", message.method().unwrap_or_default())
        }
        ExchangeEvent::Answer(answer) => {
            let content = match (answer.message.result(), answer.message.error()) {
                (Some(result), _) => result.to_owned(),
                (None, Some(error)) => format!("error {}", error.code),
                (None, None) => panic!("an answer is one or the other"),
            };
            assert_eq!(answer.info.is_error, answer.message.error().is_some());
            assert_eq!(answer.info.status, answer.head.status());
            let id_match = match answer.info.id_match {
                IdMatch::Exact => "",
                IdMatch::Coerced => " coerced",
                IdMatch::Absent => " absent",
                IdMatch::Foreign => " foreign",
                other => panic!("no word for {other:?}"),
            };
            let proof = if answer.info.proves_modern { " modern" } else { "" };
            format!("answer {content}{id_match}{proof}")
        }
        ExchangeEvent::Stray { id, .. } => format!("stray {}", id.as_ref().map_or("none".to_owned(), Id::to_json)),
        ExchangeEvent::Oversized { limit } => format!("oversized {limit}"),
        ExchangeEvent::Ended(verdict) => verdict_line(verdict),
        other => panic!("no word for {other:?}"),
    }
}

/// A verdict as one line.
pub fn verdict_line(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Settled(info) => format!("settled {}", info.status),
        Verdict::Salvaged { answer, damage } => format!("salvaged {} {}", answer.status, damage_word(*damage)),
        Verdict::Reissue { cause, exposure } => format!("reissue {} {exposure}", cause_word(*cause)),
        Verdict::Resume { last_event_id, after, cause } => {
            format!("resume {last_event_id} after {} {}", after.as_millis(), cause_word(*cause))
        }
        Verdict::Redirect { location } => format!("redirect {location}"),
        Verdict::Accepted { status } => format!("accepted {status}"),
        Verdict::Failed(failure) => failure_line(failure),
        other => panic!("no word for {other:?}"),
    }
}

fn failure_line(failure: &Failure) -> String {
    let detail = match &failure.kind {
        FailureKind::Unsent { cause } => format!(" {cause:?}"),
        FailureKind::Lost { cause, replacement: None } => format!(" {}", cause_word(*cause)),
        FailureKind::Timeout { limit: TimeLimit::Deadline } | FailureKind::Cancelled => String::new(),
        FailureKind::Timeout { limit: TimeLimit::Idle } => " idle".to_owned(),
        FailureKind::Status(status) => {
            let code = status.error_code.map_or(String::new(), |code| format!(" error {code}"));
            format!(" {}{code}", status.status())
        }
        FailureKind::TooLarge { which: SizeLimit::Event, limit } => format!(" event {limit}"),
        FailureKind::TooLarge { which: SizeLimit::JsonBody, limit } => format!(" json {limit}"),
        FailureKind::TooLarge { which: SizeLimit::Inflated, limit } => format!(" inflated {limit}"),
        FailureKind::InvalidJson { position } => format!(" at {position}"),
        FailureKind::InvalidMessage { problem } => match &**problem {
            MessageProblem::NotAnAnswer => " no answer".to_owned(),
            MessageProblem::Array => " array".to_owned(),
            MessageProblem::Envelope(_) => " envelope".to_owned(),
            other => panic!("no word for {other:?}"),
        },
        FailureKind::ContentType { essence } => format!(" {essence:?}"),
        FailureKind::ContentCoding { problem } => format!(" {problem:?}"),
        FailureKind::IdMismatch { got } => format!(" {}", got.as_ref().map_or("none".to_owned(), Id::to_json)),
        FailureKind::NoAnswer { status } => format!(" {status}"),
        other => panic!("no word for {other:?}"),
    };
    format!("failed {}{detail} {}", failure.kind.as_str(), failure.exposure)
}

fn cause_word(cause: Cause) -> String {
    match cause {
        Cause::Broken(kind) => format!("{kind:?}"),
        Cause::Ended => "ended".to_owned(),
        Cause::Short => "short".to_owned(),
        Cause::Cut => "cut".to_owned(),
        other => panic!("no word for {other:?}"),
    }
}

fn damage_word(damage: Damage) -> String {
    match damage {
        Damage::UnterminatedEvent => "unterminated".to_owned(),
        Damage::Broken(kind) => format!("{kind:?}"),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// One step of a script.
#[derive(Clone, Debug)]
enum Step {
    Connected,
    Reused,
    Sending,
    Sent,
    Head(Box<ResponseHead>),
    Body(Vec<u8>),
    End(Framing),
    Broken(BreakKind),
    Timeout,
    Cancel,
}

/// A script: a request, how the exchange is to behave, and what happens when.
#[derive(Clone, Debug)]
pub struct Run {
    request: Request,
    config: ExchangeConfig,
    now: u64,
    steps: Vec<(u64, Step)>,
}

/// What came of a script.
pub struct Story {
    /// What was told, and when, in milliseconds.
    pub told: Vec<(u64, String)>,
    /// The answer, if it was given.
    pub answer: Option<Answer>,
    /// The verdict, if it was given.
    pub verdict: Option<Verdict>,
    /// The exchange as the script left it.
    pub exchange: Watched,
}

impl Story {
    /// What was told, in order, the verdict last.
    pub fn lines(&self) -> Vec<&str> {
        self.told.iter().map(|(_, line)| line.as_str()).collect()
    }

    /// The same, with times.
    pub fn timed(&self) -> Vec<(u64, &str)> {
        self.told.iter().map(|(at, line)| (*at, line.as_str())).collect()
    }

    /// The verdict as a line; `"open"` without one.
    pub fn verdict(&self) -> String {
        self.verdict.as_ref().map_or("open".to_owned(), verdict_line)
    }

    /// The failure.
    pub fn failure(&self) -> &Failure {
        match &self.verdict {
            Some(Verdict::Failed(failure)) => failure,
            other => panic!("no failure: {other:?}"),
        }
    }
}

/// The three ways a body is cut; the last with its seed.
const CUTTINGS: [Cutting; 5] =
    [Cutting::Whole, Cutting::Bytes, Cutting::Random(1), Cutting::Random(2), Cutting::Random(3)];

#[derive(Clone, Copy, Debug)]
enum Cutting {
    Whole,
    Bytes,
    Random(u64),
}

impl Run {
    /// A request with id 7 under this revision. Steps begin at 0 ms.
    pub fn under(version: ProtocolVersion) -> Self {
        Self {
            request: Request::new("tools/call").with_id(7).with_version(version),
            config: ExchangeConfig::default(),
            now: 0,
            steps: Vec::new(),
        }
    }

    /// The same under 2026-07-28, sent.
    pub fn modern() -> Self {
        Self::under(ProtocolVersion::V2026_07_28).sent()
    }

    /// The same under 2025-11-25, sent.
    pub fn legacy() -> Self {
        Self::under(ProtocolVersion::V2025_11_25).sent()
    }

    /// The same under 2025-03-26, which has arrays, sent.
    pub fn with_arrays() -> Self {
        Self::under(ProtocolVersion::V2025_03_26).sent()
    }

    /// One run for each era that has a verdict of its own for a loss.
    pub fn both() -> [Self; 2] {
        [Self::modern(), Self::legacy()]
    }

    /// Sets the request's id.
    pub fn id(mut self, id: impl Into<Id>) -> Self {
        self.request = self.request.with_id(id);
        self
    }

    /// Makes it a notification.
    pub fn notification(mut self) -> Self {
        self.request.id = None;
        self
    }

    /// Sets the request's progress token.
    pub fn token(mut self, token: impl Into<Id>) -> Self {
        self.request = self.request.with_progress_token(token);
        self
    }

    /// Changes how the exchange behaves.
    pub fn config(mut self, change: impl FnOnce(ExchangeConfig) -> ExchangeConfig) -> Self {
        self.config = change(self.config);
        self
    }

    /// Sets the deadline, in milliseconds.
    pub fn deadline(self, at: u64) -> Self {
        self.config(|config| config.with_deadline(Timestamp::from_millis(at)))
    }

    /// The steps that follow happen at this time, in milliseconds.
    pub fn at(mut self, now: u64) -> Self {
        self.now = now;
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push((self.now, step));
        self
    }

    /// A fresh connection is ready.
    pub fn connected(self) -> Self {
        self.step(Step::Connected)
    }

    /// A kept connection is taken.
    pub fn reused(self) -> Self {
        self.step(Step::Reused)
    }

    /// The first byte is written.
    pub fn sending(self) -> Self {
        self.step(Step::Sending)
    }

    /// The last byte is written.
    pub fn sent(self) -> Self {
        self.step(Step::Sent)
    }

    /// The head is read.
    pub fn head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        self.step(Step::Head(Box::new(ResponseHead::from_headers(status, headers.iter().copied()))))
    }

    /// A head of 200 with an event stream.
    pub fn sse(self) -> Self {
        self.head(200, &[("Content-Type", "text/event-stream")])
    }

    /// A head of 200 with JSON.
    pub fn json(self) -> Self {
        self.head(200, &[("Content-Type", "application/json")])
    }

    /// Bytes of the body.
    pub fn body(self, bytes: impl AsRef<[u8]>) -> Self {
        self.step(Step::Body(bytes.as_ref().to_vec()))
    }

    /// One event with this data.
    pub fn event(self, data: &str) -> Self {
        self.body(format!("data: {data}\n\n"))
    }

    /// The body ends.
    pub fn end(self, framing: Framing) -> Self {
        self.step(Step::End(framing))
    }

    /// The body ends as its framing says.
    pub fn marked(self) -> Self {
        self.end(Framing::Marked)
    }

    /// The body ends because the connection does.
    pub fn unmarked(self) -> Self {
        self.end(Framing::Unmarked)
    }

    /// The body ends short of its framing.
    pub fn short(self) -> Self {
        self.end(Framing::Short)
    }

    /// The connection breaks.
    pub fn broken(self, kind: BreakKind) -> Self {
        self.step(Step::Broken(kind))
    }

    /// The connection is reset.
    pub fn reset(self) -> Self {
        self.broken(BreakKind::Reset)
    }

    /// Time passes.
    pub fn timeout(self) -> Self {
        self.step(Step::Timeout)
    }

    /// The caller cancels.
    pub fn cancel(self) -> Self {
        self.step(Step::Cancel)
    }

    /// Plays the script with its bodies whole, byte by byte and cut at random; all must tell the same.
    pub fn story(&self) -> Story {
        let story = self.play(Cutting::Whole);
        for cutting in &CUTTINGS[1..] {
            let other = self.play(*cutting);
            assert_eq!(other.told, story.told, "cut {cutting:?}: {self:?}");
            assert_eq!(other.answer.map(|answer| answer.info), story.answer.as_ref().map(|answer| answer.info));
            assert_eq!(format!("{:?}", other.verdict), format!("{:?}", story.verdict));
            assert_eq!(other.exchange.exchange().ignored(), story.exchange.exchange().ignored());
            assert_eq!(other.exchange.exchange().want(), story.exchange.exchange().want());
        }
        story
    }

    /// The story's verdict as a line.
    pub fn verdict(&self) -> String {
        self.story().verdict()
    }

    /// The story's lines.
    pub fn lines(&self) -> Vec<String> {
        self.story().told.into_iter().map(|(_, line)| line).collect()
    }

    /// Plays the script once, with whole bodies.
    pub fn once(&self) -> Story {
        self.play(Cutting::Whole)
    }

    fn play(&self, cutting: Cutting) -> Story {
        let mut watched = Watched::new(&self.request, self.config.clone(), Timestamp::ZERO);
        let mut told = Vec::new();
        for (at, step) in &self.steps {
            // What an input after the end or out of order is answered is checked by `Watched` and by the tests of E27.
            let _ = perform(&mut watched, step, Timestamp::from_millis(*at), cutting);
            let seen = told.len();
            told.extend(watched.lines.iter().skip(seen).map(|line| (*at, line.clone())));
        }
        Story { told, answer: watched.answer.clone(), verdict: watched.verdict.clone(), exchange: watched }
    }
}

fn perform(watched: &mut Watched, step: &Step, now: Timestamp, cutting: Cutting) -> Result<(), Misuse> {
    match step {
        Step::Connected => watched.input(|exchange| exchange.on_connected(now)),
        Step::Reused => watched.input(|exchange| exchange.on_reused(now)),
        Step::Sending => watched.input(|exchange| exchange.on_sending(now)),
        Step::Sent => watched.input(|exchange| exchange.on_sent(now)),
        Step::Head(head) => watched.input(|exchange| exchange.on_head(head, now)),
        Step::End(framing) => watched.input(|exchange| exchange.on_end(*framing, now)),
        Step::Broken(kind) => watched.input(|exchange| exchange.on_broken(*kind, now)),
        Step::Timeout => watched.input(|exchange| exchange.on_timeout(now)),
        Step::Cancel => watched.input(|exchange| exchange.cancel(now)),
        Step::Body(bytes) => {
            for chunk in chunks(bytes, cutting) {
                watched.body(chunk, now)?;
            }
            Ok(())
        }
    }
}

fn chunks(bytes: &[u8], cutting: Cutting) -> Vec<&[u8]> {
    match cutting {
        Cutting::Whole => vec![bytes],
        Cutting::Bytes => bytes.chunks(1).collect(),
        Cutting::Random(seed) => {
            let (mut random, mut rest, mut chunks) = (Random::new(seed), bytes, Vec::new());
            while !rest.is_empty() {
                // Empty chunks too.
                let (chunk, after) = rest.split_at(random.below(24).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            chunks
        }
    }
}

/// A result for the id.
pub fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}"#)
}

/// An error for the id.
pub fn error(id: &str, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#)
}

/// A notification.
pub fn note(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{}}}}"#)
}

/// A progress notification for the token, given as JSON.
pub fn progress(token: &str) -> String {
    let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
}

/// The data as one event.
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// gzip's form of the pieces, which can each be inflated as soon as they came.
pub fn gzip(pieces: &[&[u8]]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for piece in pieces {
        encoder.write_all(piece).and_then(|()| encoder.flush()).expect("memory takes all");
    }
    encoder.finish().expect("memory takes all")
}

/// The zlib form.
pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// Deflate data without a header.
pub fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}
