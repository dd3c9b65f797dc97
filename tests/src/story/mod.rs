//! What an exchange tells when facts and bytes are fed to it: a script on a virtual clock, the story it gives, and
//! the rules that hold after every single input.
//!
//! Rules: a script's story is the same however its bodies are cut, so [`Run::story`] plays each script whole, byte by
//! byte and cut at random, and compares; every input of every test goes through [`Watched`], which checks what
//! must hold at every step. What a story should be is said by the tests, not here.

mod messages;
mod watched;
mod words;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    Answer, BreakKind, Carries, Cursor, ExchangeConfig, Failure, Framing, Misuse, Request, Verdict,
};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_core::recording::RecordingConfig;

pub use messages::{error, event, gzip, note, progress, raw_deflate, result, zlib};
pub use watched::Watched;
pub use words::{line, verdict_line};

use crate::chunking::Random;
use crate::recordings;

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

/// The ways a body is cut, one of them with its seed.
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

    /// The GET for the rest of the request's stream under 2025-11-25, sent.
    pub fn resumption(last_event_id: &str) -> Self {
        Self::legacy().carries(Carries::Resumption(Cursor::new(last_event_id)))
    }

    /// The GET of a listening stream under 2025-11-25, sent, from its beginning.
    pub fn listening() -> Self {
        Self::legacy().notification().carries(Carries::Listening(None))
    }

    /// The GET of a 2024-11-05 channel, sent.
    pub fn channel() -> Self {
        Self::under(ProtocolVersion::V2024_11_05).sent().notification().carries(Carries::Channel)
    }

    /// The DELETE of a session, sent.
    pub fn deletion() -> Self {
        Self::legacy().notification().carries(Carries::Deletion)
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

    /// Sets what the HTTP request is.
    pub fn carries(mut self, carries: Carries) -> Self {
        self.request = self.request.with_carries(carries);
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
        self.recorded(&story);
        story
    }

    /// Plays the script with its bodies cut, writes it down, and holds what is played again against it.
    fn recorded(&self, story: &Story) {
        let run = self.clone().config(|config| config.with_recording(RecordingConfig::default()));
        let recorded = run.play(Cutting::Random(4));
        assert_eq!(recorded.told, story.told, "recording changes nothing");
        recordings::check(|bodies| recorded.exchange.recording(bodies).expect("it was asked for"));
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
        _ if bytes.is_empty() => vec![bytes],
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
