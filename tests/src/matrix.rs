//! The break matrix: shapes of responses, places to break them, ways to break, and what a call must then come to.
//!
//! Rules: nothing here knows an adapter; each one runs the very same table through a [`Caller`]. What is expected follows
//! from the rendered bytes and the framing alone (rows E2 to E13 and F1): delivered means executed once and answered, lost
//! means executed again under a new id, and a stall is never sent again. Sockets are the peer's affair.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sse_core::client::{CallError, CallEvent, Done, Outcome, Reply};
use mcp_sse_core::exchange::{BreakKind, Cause, Damage, Exposure, FailureKind};
use serde_json::{Value, json};

use crate::peer::{
    At, Chunked, Coding, Ending, Framing, LineEnd, Log, Mark, Peer, Rendered, Request, Response, Scenario, Script, Sse,
};

/// Nothing that is not stalled takes so long, on a busy machine either.
const PATIENCE: Duration = Duration::from_secs(20);
/// The deadline of a call whose answer comes only when its time is over: long enough for the bytes before the stall.
const SALVAGED_AT: Duration = Duration::from_millis(1500);
/// The deadline of a call whose answer never comes.
const LOST_AT: Duration = Duration::from_millis(500);
/// A call that is not back so long after its deadline hangs.
const GRACE: Duration = Duration::from_secs(20);

/// One shape of response.
pub struct Shape {
    /// What it is, for messages.
    pub name: &'static str,
    /// The script that answers with it, whole.
    pub script: Script,
    /// Its bytes in answer to the first request of a client.
    pub rendered: Rendered,
    framing: How,
    is_json: bool,
    is_coded: bool,
    line_end: LineEnd,
    has_blank_line: bool,
    /// The numbers of the blocks that are notifications, in order.
    notifications: Vec<usize>,
}

/// How a body's end is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Chunked,
    Length,
    UntilClose,
}

/// How a response is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// FIN; under TLS after close_notify.
    Fin,
    /// FIN without close_notify. Only under TLS.
    TlsTruncate,
    /// RST.
    Reset,
    /// Silence.
    Stall,
}

/// One response broken at one place in one way.
#[derive(Clone)]
pub struct Case {
    /// The response.
    pub shape: Arc<Shape>,
    /// How many of its bytes are written.
    pub offset: usize,
    /// What happens then.
    pub ending: Break,
}

/// What a call is made to.
pub struct Target {
    /// The URL.
    pub url: String,
    /// The certificate to trust, under TLS.
    pub certificate_pem: Option<String>,
    /// The call's overall deadline.
    pub timeout: Duration,
}

/// What a call told.
pub struct Told {
    /// What it came to.
    pub result: Result<Reply, CallError>,
    /// What it showed meanwhile, in order.
    pub events: Vec<CallEvent>,
    /// How it ended, if the adapter waited for that.
    pub done: Option<Done>,
}

/// Makes one call of [`METHOD`] with [`params`] by a new client, its ids counted from 1, under default options but the time-out.
pub type Caller = dyn Fn(&Target) -> Told + Send + Sync;

/// The method that is called.
pub const METHOD: &str = "tools/call";

/// The parameters of the call.
pub fn params() -> Value {
    json!({"name": "charge", "arguments": {"amount": 7, "to": "Zoë"}})
}

/// The answer: it names the execution it tells of, by number and by id.
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":{id},"result":{"run":{executions},"as":{id},"text":"é€😀 \u00e9","resultType":"complete"}}"#;
/// The same over several lines.
const ANSWER_IN_LINES: &str = "{\"jsonrpc\":\"2.0\",\n\"id\":{id},\"result\":\n {\"run\":{executions},\"as\":{id}}\n}";
/// As short as it can be.
const SHORT_ANSWER: &str = r#"{"jsonrpc":"2.0","id":{id},"result":{"run":{executions},"as":{id}}}"#;
/// An answer that is an error.
const ERROR: &str =
    r#"{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"no","data":{"run":{executions},"as":{id}}}}"#;

fn note(number: usize) -> Sse {
    Sse::message(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{number}}}}}"#
    ))
}

/// All shapes.
///
/// # Panics
/// Never, as long as the peer can render.
pub fn shapes() -> Vec<Arc<Shape>> {
    use LineEnd::{Cr, CrLf, Lf};
    let chunks = |sizes: &[usize]| Framing::Chunked(Chunked::new().sizes(sizes));
    let json = || Response::json(ANSWER);
    let mut shapes = vec![
        sse("SSE in a chunk for each block", Lf, Framing::Chunked(Chunked::new()), Coding::identity(), |response| {
            response.interim(103, &["Link: </a>"])
        }),
        sse("SSE in uneven chunks, CR", Cr, chunks(&[7, 1, 30]), Coding::identity(), |response| response),
        sse("SSE in chunks with extensions and a trailer, CR LF", CrLf, extended_chunks(), Coding::identity(), |it| it),
        sse("SSE with a length, CR LF", CrLf, Framing::ContentLength, Coding::identity(), |response| response),
        sse("SSE until the close", Lf, Framing::UntilClose, Coding::identity(), |response| response),
        sse("gzip SSE in a chunk for each block", Lf, Framing::Chunked(Chunked::new()), Coding::gzip(), |it| it),
        sse("gzip SSE until the close, CR LF", CrLf, Framing::UntilClose, Coding::gzip(), |response| response),
        sse("SSE in gzip members, in small chunks", Lf, chunks(&[9]), Coding::gzip_members(), |response| response),
        sse("deflate SSE with a length, CR", Cr, Framing::ContentLength, Coding::deflate(), |response| response),
        sse("raw deflate SSE until the close", Lf, Framing::UntilClose, Coding::raw_deflate(), |response| response),
    ];
    let blocks = |blocks: Vec<Sse>| Response::sse(blocks);
    let single = |name, response: Response, line_end: LineEnd, framing: Framing| {
        (name, response.line_end(line_end).framing(framing), line_end, true)
    };
    let more = [
        single("SSE in chunks of one byte, CR LF", blocks(vec![Sse::data(SHORT_ANSWER)]), CrLf, chunks(&[1])),
        single("SSE without spaces", blocks(vec![Sse::data(SHORT_ANSWER).without_space()]), Cr, Framing::ContentLength),
        single("data in several lines", blocks(vec![Sse::message(ANSWER_IN_LINES)]), CrLf, chunks(&[20])),
        single("data in several lines, CR", blocks(vec![Sse::data(ANSWER_IN_LINES)]), Cr, Framing::UntilClose),
        single("an error as the answer", blocks(vec![Sse::message(ERROR)]), Lf, chunks(&[64])),
        (
            "no blank line, in chunks",
            blocks(vec![Sse::message(ANSWER).without_blank_line()]).framing(chunks(&[50])),
            Lf,
            false,
        ),
        (
            "no blank line, with a length, CR LF",
            blocks(vec![Sse::data(ANSWER_IN_LINES).without_blank_line()])
                .line_end(CrLf)
                .framing(Framing::ContentLength),
            CrLf,
            false,
        ),
        (
            "no blank line, until the close",
            blocks(vec![Sse::message(ANSWER).without_blank_line()]).framing(Framing::UntilClose),
            Lf,
            false,
        ),
        (
            "no blank line, gzip",
            blocks(vec![Sse::message(ANSWER).without_blank_line()]).coding(Coding::gzip()),
            Lf,
            false,
        ),
    ];
    for (name, response, line_end, has_blank_line) in more {
        shapes.push(Shape::new(name, response, false, line_end, has_blank_line, Vec::new()));
    }
    let bodies = [
        ("JSON with a length", json()),
        ("JSON and white space with a length", Response::json(format!("\r\n {ANSWER} \r\n"))),
        ("JSON in chunks with a trailer", json().framing(extended_chunks())),
        ("JSON in chunks of three bytes", Response::json(SHORT_ANSWER).framing(chunks(&[3]))),
        ("JSON until the close", json().framing(Framing::UntilClose)),
        (
            "JSON and white space until the close",
            Response::json(format!("{ANSWER_IN_LINES}\n ")).framing(Framing::UntilClose),
        ),
        ("gzip JSON with a length", json().coding(Coding::gzip())),
        ("gzip JSON until the close", json().coding(Coding::gzip()).framing(Framing::UntilClose)),
        ("deflate JSON in chunks", json().coding(Coding::deflate()).framing(chunks(&[40]))),
        ("a JSON error", Response::json(ERROR)),
    ];
    for (name, response) in bodies {
        shapes.push(Shape::new(name, response, true, Lf, true, Vec::new()));
    }
    shapes.into_iter().map(Arc::new).collect()
}

fn extended_chunks() -> Framing {
    Framing::Chunked(Chunked::new().sizes([40]).extension("name=\"value\"").trailer("X-Trailer: yes"))
}

/// An event stream as servers write them: a comment, two notifications, the answer.
fn sse(
    name: &'static str,
    line_end: LineEnd,
    framing: Framing,
    coding: Coding,
    adjust: impl Fn(Response) -> Response,
) -> Shape {
    let blocks = [Sse::comment("keep-alive"), note(1).id("e1"), Sse::comment(""), note(2), Sse::message(ANSWER)];
    let response = Response::sse(blocks).line_end(line_end).framing(framing).coding(coding);
    Shape::new(name, adjust(response), false, line_end, true, vec![1, 3])
}

impl Shape {
    fn new(
        name: &'static str,
        response: Response,
        is_json: bool,
        line_end: LineEnd,
        has_blank_line: bool,
        notifications: Vec<usize>,
    ) -> Self {
        let script = Script::new(response);
        let rendered = script.render(&Request::sample(METHOD, 1));
        let head = String::from_utf8_lossy(&rendered.bytes[..rendered.head_len]).to_ascii_lowercase();
        let framing = if head.contains("transfer-encoding") {
            How::Chunked
        } else if head.contains("content-length") {
            How::Length
        } else {
            How::UntilClose
        };
        let is_coded = head.contains("content-encoding");
        Self { name, script, rendered, framing, is_json, is_coded, line_end, has_blank_line, notifications }
    }

    /// The number of bytes.
    #[allow(clippy::len_without_is_empty, reason = "no shape is empty")]
    pub fn len(&self) -> usize {
        self.rendered.bytes.len()
    }

    /// Whether the body is coded, so that its length is the encoder's affair.
    pub fn is_coded(&self) -> bool {
        self.is_coded
    }

    /// Every offset, the whole length included.
    pub fn every_offset(&self) -> Vec<usize> {
        (0..=self.len()).collect()
    }

    /// The offsets at which something begins or ends, and those next to them.
    pub fn offsets_at_boundaries(&self) -> Vec<usize> {
        let around = |at: usize| [at.saturating_sub(1), at, (at + 1).min(self.len())];
        let mut offsets: Vec<usize> = self.rendered.boundaries().into_iter().flat_map(around).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    fn delivered_at(&self) -> usize {
        self.rendered.answer_delivered_at.expect("every shape holds an answer")
    }

    /// The length at which the framing shows the end of the body's data, if it does.
    fn data_ended_at(&self) -> Option<usize> {
        match self.framing {
            How::Chunked => Some(self.rendered.at(Mark::LastChunkStart).expect("a last chunk") + "0\r\n".len()),
            How::Length => Some(self.len()),
            How::UntilClose => None,
        }
    }

    /// How many notifications were complete after so many bytes: at least and at most. They differ where the line feed of
    /// a CR LF is still to come.
    fn notifications_at(&self, offset: usize) -> (usize, usize) {
        let complete = |mark: fn(usize) -> Mark| {
            let ended = |block: &&usize| self.rendered.at(mark(**block)).expect("a mark of a block") <= offset;
            self.notifications.iter().filter(ended).count()
        };
        let least = complete(Mark::BlockEnd);
        let most = if self.line_end == LineEnd::CrLf || self.is_coded { complete(Mark::DataEnd) } else { least };
        (least, most)
    }
}

/// What must become of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Expected {
    outcome: Expectation,
    /// Notifications of the first attempt: at least and at most.
    notifications: (usize, usize),
    /// How far the first attempt got: the possible answers.
    exposures: Vec<Exposure>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expectation {
    /// Answered by the first execution, before the deadline. The damage that may be told with the answer.
    Answered(Vec<Option<Damage>>),
    /// Answered by the first execution, when the time is over.
    AnsweredAtDeadline,
    /// Lost, and answered by a second execution.
    Reissued(Cause),
    /// Not answered, and not sent again.
    TimedOut,
}

impl Case {
    fn expected(&self) -> Expected {
        let (shape, offset) = (&self.shape, self.offset);
        let exposures = if offset < shape.rendered.head_len {
            vec![Exposure::Sent]
        } else if offset == shape.rendered.head_len {
            vec![Exposure::Headed]
        } else if shape.framing == How::Chunked {
            vec![Exposure::Headed, Exposure::Streaming]
        } else {
            vec![Exposure::Streaming]
        };
        let is_delivered = offset >= shape.delivered_at();
        let outcome = match (is_delivered, self.ending) {
            (true, Break::Stall) if self.is_answered_at_once() => Expectation::Answered(vec![self.shape.own_damage()]),
            (true, Break::Stall) => Expectation::AnsweredAtDeadline,
            (true, _) => Expectation::Answered(self.damage()),
            (false, Break::Stall) => Expectation::TimedOut,
            (false, _) => Expectation::Reissued(self.cause()),
        };
        Expected { outcome, notifications: shape.notifications_at(offset), exposures }
    }

    /// E2: whether the answer has arrived, so that nothing that follows is waited for.
    fn is_answered_at_once(&self) -> bool {
        let shape = &self.shape;
        let is_terminated = shape.rendered.answer_terminated_at.is_some_and(|at| self.offset >= at);
        let is_whole = self.offset == shape.len() && shape.framing != How::UntilClose;
        is_whole || (is_terminated && !(shape.is_json && shape.framing == How::UntilClose))
    }

    /// What may be told as damaged together with a delivered answer.
    fn damage(&self) -> Vec<Option<Damage>> {
        let shape = &self.shape;
        if self.is_answered_at_once() {
            return vec![shape.own_damage()];
        }
        if !shape.is_json {
            return vec![Some(Damage::UnterminatedEvent)];
        }
        let is_marked = shape.data_ended_at().is_some_and(|at| self.offset >= at);
        match self.break_kind() {
            // Behind the last chunk nothing is missing but trailers, so a close is as good without TLS's alert.
            None | Some(BreakKind::TlsTruncated) if is_marked => vec![None],
            Some(kind) => vec![Some(Damage::Broken(kind))],
            // The coded data may have its last byte still to come, although all of the text is there.
            None if shape.framing == How::UntilClose && shape.is_coded => vec![None, Some(Damage::Short)],
            None if shape.framing == How::UntilClose => vec![None],
            None => vec![Some(Damage::Short)],
        }
    }

    /// How a lost answer was lost.
    fn cause(&self) -> Cause {
        let shape = &self.shape;
        match self.break_kind() {
            Some(kind) => Cause::Broken(kind),
            None if self.offset < shape.rendered.head_len => Cause::Broken(BreakKind::Closed),
            None if shape.framing != How::UntilClose => Cause::Short,
            // No coded data at all is not short of any.
            None if shape.is_coded && self.offset > shape.rendered.head_len => Cause::Short,
            None if shape.is_json => Cause::Cut,
            None => Cause::Ended,
        }
    }

    fn break_kind(&self) -> Option<BreakKind> {
        match self.ending {
            Break::Fin | Break::Stall => None,
            Break::TlsTruncate => Some(BreakKind::TlsTruncated),
            Break::Reset => Some(BreakKind::Reset),
        }
    }

    fn timeout(&self) -> Duration {
        match self.expected().outcome {
            Expectation::AnsweredAtDeadline => SALVAGED_AT,
            Expectation::TimedOut => LOST_AT,
            Expectation::Answered(_) | Expectation::Reissued(_) => PATIENCE,
        }
    }

    fn scripts(&self) -> [Script; 2] {
        let ending = match self.ending {
            Break::Fin => Ending::Fin,
            Break::TlsTruncate => Ending::TlsTruncate,
            Break::Reset => Ending::Reset,
            Break::Stall => Ending::Stall,
        };
        let whole = self.shape.script.clone();
        [whole.clone().cut(At::byte(self.offset), ending), whole]
    }

    /// Runs the case and says what is wrong.
    fn run(&self, peer: &Peer, certificate_pem: Option<&str>, caller: &Caller) -> Result<(), String> {
        let mut timeout = self.timeout();
        loop {
            let scenario = peer.scenario(self.scripts());
            let target = Target { url: scenario.url(), certificate_pem: certificate_pem.map(str::to_owned), timeout };
            let begun = Instant::now();
            let told = caller(&target);
            let result = self.check(&told, &scenario, timeout, begun.elapsed());
            // On a busy machine the time may be over before all bytes before the stall are there. That is the machine's
            // fault, as long as the call got less far and did nothing more than it should.
            let is_late = matches!(&told.result, Err(error) if error.kind() == "timeout") && scenario.executions() <= 1;
            if result.is_ok() || !is_late || timeout >= PATIENCE {
                return result;
            }
            timeout *= 4;
        }
    }

    fn check(&self, told: &Told, scenario: &Scenario, deadline: Duration, elapsed: Duration) -> Result<(), String> {
        let expected = self.expected();
        let requests = scenario.requests();
        let runs = scenario.executed();
        let attempts = if matches!(expected.outcome, Expectation::Reissued(_)) { 2 } else { 1 };
        ensure(requests.len() == attempts, || format!("{} requests instead of {attempts}", requests.len()))?;
        ensure(runs.len() == attempts, || format!("{} executions instead of {attempts}", runs.len()))?;
        ensure(requests[0].id() == Some(&json!(1)), || "the first id is not 1".to_owned())?;
        self.check_events(told, &expected)?;
        let (answer, damages) = match (&expected.outcome, &told.result) {
            (Expectation::TimedOut, result) => return check_timeout(result, &expected.exposures),
            (_, Err(error)) => return Err(format!("failed: {error}")),
            (Expectation::AnsweredAtDeadline, Ok(reply)) => {
                ensure(elapsed >= deadline, || format!("answered after {elapsed:?}, before its deadline"))?;
                ensure(reply.damage.is_some(), || "no damage is told".to_owned())?;
                (reply, vec![reply.damage])
            }
            (Expectation::Answered(damages), Ok(reply)) => (reply, damages.clone()),
            (Expectation::Reissued(_), Ok(reply)) => {
                check_replacement(&requests)?;
                (reply, vec![self.shape.own_damage()])
            }
        };
        ensure(damages.contains(&answer.damage), || format!("damage {:?}, not one of {damages:?}", answer.damage))?;
        ensure(answer.attempts as usize == attempts, || format!("answered by attempt {}", answer.attempts))?;
        let facts = answer_facts(answer);
        let right = (json!(attempts), runs[attempts - 1].id.clone());
        ensure(facts == right, || format!("the answer tells of run and id {facts:?}, not of {right:?}"))?;
        self.check_done(told, &expected)
    }

    /// E21: each notification once, in order, with its attempt, and F1's word of the replacement between.
    fn check_events(&self, told: &Told, expected: &Expected) -> Result<(), String> {
        let mut shown = vec![Vec::new(), Vec::new()];
        let mut reissued = None;
        for event in &told.events {
            match event {
                CallEvent::Notification { attempt, message } => {
                    let params: Value = serde_json::from_str(message.params().unwrap_or_default()).unwrap_or_default();
                    let list = shown.get_mut(*attempt as usize - 1).ok_or("a notification of a third attempt")?;
                    list.push(params["data"].as_u64().unwrap_or_default());
                    ensure((reissued.is_some()) == (*attempt == 2), || "a notification out of order".to_owned())?;
                }
                CallEvent::Reissue { attempt: 2, cause, exposure } if reissued.is_none() => {
                    reissued = Some((*cause, *exposure));
                }
                other => return Err(format!("an unexpected event: {other:?}")),
            }
        }
        let (least, most) = expected.notifications;
        let in_order = shown.iter().all(|list| list.iter().copied().eq(1..=list.len() as u64));
        ensure(in_order, || format!("notifications {shown:?}"))?;
        let first = shown[0].len();
        ensure((least..=most).contains(&first), || format!("{first} notifications, expected {least} to {most}"))?;
        let second = if reissued.is_some() { self.shape.notifications.len() } else { 0 };
        ensure(shown[1].len() == second, || format!("{} notifications of the replacement", shown[1].len()))?;
        match (&expected.outcome, reissued) {
            (Expectation::Reissued(cause), Some((told, exposure))) => {
                ensure(*cause == told, || format!("lost by {told:?}, not {cause:?}"))?;
                ensure(expected.exposures.contains(&exposure), || format!("exposure {exposure} of the lost attempt"))
            }
            (Expectation::Reissued(_), None) => Err("no word of a replacement".to_owned()),
            (_, Some(_)) => Err("word of a replacement".to_owned()),
            (_, None) => Ok(()),
        }
    }

    /// E3, E4: how the exchange of the answer ended, where the adapter waited for it.
    fn check_done(&self, told: &Told, expected: &Expected) -> Result<(), String> {
        let Some(done) = &told.done else {
            return Ok(());
        };
        let is_broken = !matches!(expected.outcome, Expectation::Reissued(_));
        let shape = &self.shape;
        // The data may have ended, with its last trailer or the rest of the framing missing.
        let is_ended = shape.data_ended_at().is_some_and(|at| self.offset >= at && self.ending == Break::Fin);
        let is_whole = self.offset == shape.len();
        let needs_close = shape.framing == How::UntilClose;
        let settles = match &done.outcome {
            Outcome::Settled(_) => true,
            Outcome::Salvaged { .. } => false,
            other => return Err(format!("answered, and yet {other:?}")),
        };
        let expects = if shape.own_damage().is_some() {
            Some(false)
        } else if !is_broken || (is_whole && !needs_close) || is_ended {
            Some(true)
        } else if needs_close && self.ending == Break::Fin {
            // A whole event or JSON text, and a close in order: nothing is known to be missing, but of coded data.
            let is_terminated =
                shape.is_json || shape.rendered.answer_terminated_at.is_some_and(|at| self.offset >= at);
            (!shape.is_coded || !is_terminated).then_some(is_terminated)
        } else {
            Some(false)
        };
        ensure(expects.is_none_or(|expects| expects == settles), || format!("ended as {:?}", done.outcome))
    }
}

impl Shape {
    /// What is damaged in the whole response.
    fn own_damage(&self) -> Option<Damage> {
        (!self.has_blank_line).then_some(Damage::UnterminatedEvent)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, offset, length) = (self.shape.name, self.offset, self.shape.len());
        write!(f, "{name}: {:?} after {offset} of {length} bytes", self.ending)
    }
}

fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(complaint()) }
}

fn check_timeout(result: &Result<Reply, CallError>, exposures: &[Exposure]) -> Result<(), String> {
    let Err(CallError::Failed { failure, attempts: 1, earlier_may_have_run: false, .. }) = result else {
        return Err(format!("{result:?} instead of a time-out of the first attempt"));
    };
    ensure(matches!(failure.kind, FailureKind::Timeout { .. }), || format!("{failure}"))?;
    ensure(failure.may_have_run() && exposures.contains(&failure.exposure), || {
        format!("exposure {} at the time-out", failure.exposure)
    })
}

/// F1: a new id, everything else the same.
fn check_replacement(requests: &[Request]) -> Result<(), String> {
    let [first, second] = requests else {
        return Err("not two requests".to_owned());
    };
    ensure(first.id() != second.id(), || "the replacement has the same id".to_owned())?;
    ensure(first.method() == second.method(), || "the replacement has another method".to_owned())?;
    ensure(first.params() == second.params(), || "the replacement has other params".to_owned())?;
    ensure(first.headers == second.headers, || "the replacement has other headers".to_owned())?;
    ensure(first.connection != second.connection, || "the replacement came on the broken connection".to_owned())
}

/// The number and the id of the execution that an answer tells of.
fn answer_facts(reply: &Reply) -> (Value, Value) {
    let message: Value = serde_json::from_str(reply.message().as_json()).unwrap_or_default();
    let facts = message.get("result").unwrap_or(&message["error"]["data"]);
    (facts["run"].clone(), facts["as"].clone())
}

/// Runs the cases through a caller, many at once, each on connections of its own, and says how many were run.
///
/// # Panics
/// If a case comes to anything but what it must, or if a call does not come back.
pub fn run(cases: Vec<Case>, is_tls: bool, threads: usize, caller: Arc<Caller>) -> usize {
    let count = cases.len();
    let cases = Arc::new(cases);
    let next = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    for _ in 0..threads {
        let (cases, next, sender, caller) =
            (Arc::clone(&cases), Arc::clone(&next), sender.clone(), Arc::clone(&caller));
        thread::spawn(move || {
            let peer = if is_tls { Peer::start_tls() } else { Peer::start() };
            let certificate_pem = is_tls.then(|| peer.certificate_pem().to_owned());
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = case.run(&peer, certificate_pem.as_deref(), &*caller);
                if sender.send((case.to_string(), result)).is_err() {
                    return;
                }
            }
            // E2, F9: no client keeps a connection open behind the back of a caller who has gone.
            let all_ended = |log: &Log| log.connections.iter().all(|connection| connection.ended);
            let closed = ensure(peer.wait_for(all_ended, GRACE), || "a connection was never closed".to_owned());
            sender.send(("after all".to_owned(), closed)).ok();
        });
    }
    drop(sender);
    let mut wrong = Vec::new();
    let mut reports = 0;
    // Each thread reports once more when its connections are closed.
    while reports < count + threads {
        // A case that panics or hangs never reports.
        let Ok((case, result)) = receiver.recv_timeout(PATIENCE + GRACE) else {
            panic!("{reports} of {count} cases came back; wrong so far: {wrong:#?}");
        };
        reports += 1;
        if let Err(complaint) = result {
            wrong.push(format!("{case}: {complaint}"));
        }
    }
    let shown = wrong.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} cases are wrong:\n{shown}", wrong.len());
    reports - threads
}
