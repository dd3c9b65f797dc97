//! Property 5: every sequence of facts up to a depth is walked, and each step is held against a literal model of the rows
//! E1 to E20, and F11, F12 and H2 for the legacy eras' other requests.
//!
//! Rules: the model knows nothing of how the exchange is built; it is the rows again, written for scripts of few kinds of
//! bytes. A branch is cut when the verdict is given, and then fed a few inputs more. What holds for every input (one
//! verdict, nothing after it, exposure that never falls, ...) is checked by `Watched`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use core::time::Duration;
use mcp_sse_core::Timestamp;

use mcp_sse_core::exchange::{BreakKind, Carries, Cursor, ExchangeConfig, Framing, Misuse, Request};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_tests::story::{Watched, error, event, note, result};

const DEADLINE: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Connected,
    Reused,
    Sending,
    Sent,
    HeadSse,
    HeadJson,
    Head202,
    Head500,
    Interim,
    /// Bytes of the body without the answer: an event with a notification and an id, or white space.
    Piece,
    /// Bytes with the answer: an event, or a text.
    AnswerPiece,
    /// An answer to something else, in an event or as a text.
    StrayPiece,
    /// An event that is not JSON, or such a text.
    BadPiece,
    /// An event that names an endpoint.
    EndpointPiece,
    Marked,
    Unmarked,
    Short,
    Broken,
    Early,
    Late,
    /// The answer, at the deadline.
    LateAnswer,
    Cancel,
}

use Input::*;

/// The facts that are walked to the full depth.
const FACTS: &[Input] = &[
    Connected,
    Reused,
    Sending,
    Sent,
    HeadSse,
    HeadJson,
    Head202,
    Head500,
    Piece,
    AnswerPiece,
    Marked,
    Unmarked,
    Short,
    Broken,
    Early,
    Late,
    Cancel,
];

/// More kinds of bytes and of time, walked less deep.
const MORE_FACTS: &[Input] = &[
    Sent,
    HeadSse,
    HeadJson,
    Head500,
    Interim,
    Piece,
    AnswerPiece,
    StrayPiece,
    BadPiece,
    Marked,
    Unmarked,
    Short,
    Broken,
    Late,
    LateAnswer,
    Cancel,
];

/// What is walked for requests to which a stream is due.
const STREAM_FACTS: &[Input] = &[
    Reused,
    Sending,
    Sent,
    HeadSse,
    HeadJson,
    Head202,
    Head500,
    Piece,
    AnswerPiece,
    StrayPiece,
    BadPiece,
    EndpointPiece,
    Marked,
    Short,
    Broken,
    Early,
    Late,
    LateAnswer,
    Cancel,
];

/// What an HTTP request is, under which era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Modern,
    Legacy,
    /// A request under 2024-11-05, whose answer comes elsewhere.
    HttpSse,
    ModernNotification,
    LegacyNotification,
    Deletion,
    /// From the cursor `g`, with a `retry` of 50 ms.
    Resumption,
    Listening,
    /// The same, from the cursor `g`, with a `retry` of 50 ms.
    ListeningFrom,
    Channel,
}

impl Kind {
    /// A status is due and no more.
    fn is_status_due(self) -> bool {
        matches!(self, Self::HttpSse | Self::ModernNotification | Self::LegacyNotification | Self::Deletion)
    }

    fn is_listening(self) -> bool {
        matches!(self, Self::Listening | Self::ListeningFrom)
    }

    /// Only an event stream will do.
    fn is_stream_due(self) -> bool {
        matches!(self, Self::Resumption | Self::Channel) || self.is_listening()
    }

    /// Whether a POST of a request is answered by an error under a status of failure (E17).
    fn is_posted_request(self) -> bool {
        matches!(self, Self::Modern | Self::Legacy | Self::HttpSse)
    }

    fn request(self) -> Request {
        let given = || Cursor::new("g").with_retry(Duration::from_millis(50));
        let (version, id, carries) = match self {
            Self::Modern => (ProtocolVersion::LATEST, true, Carries::Message),
            Self::Legacy => (ProtocolVersion::V2025_11_25, true, Carries::Message),
            Self::HttpSse => (ProtocolVersion::V2024_11_05, true, Carries::Message),
            Self::ModernNotification => (ProtocolVersion::LATEST, false, Carries::Message),
            Self::LegacyNotification => (ProtocolVersion::V2025_11_25, false, Carries::Message),
            Self::Deletion => (ProtocolVersion::V2025_11_25, false, Carries::Deletion),
            Self::Resumption => (ProtocolVersion::V2025_11_25, true, Carries::Resumption(given())),
            Self::Listening => (ProtocolVersion::V2025_11_25, false, Carries::Listening(None)),
            Self::ListeningFrom => (ProtocolVersion::V2025_11_25, false, Carries::Listening(Some(given()))),
            Self::Channel => (ProtocolVersion::V2024_11_05, false, Carries::Channel),
        };
        let request = Request::new("tools/call").with_version(version).with_carries(carries);
        if id { request.with_id(7) } else { request }
    }
}

/// What comes once the verdict was given.
const AFTER_THE_END: [Input; 5] = [HeadSse, AnswerPiece, Marked, Broken, Cancel];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exposure {
    Unsent,
    PartlySent,
    Sent,
    Headed,
    Streaming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Sse,
    Json,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Marked,
    Unmarked,
    Short,
    Broken(&'static str),
    TimedOut,
    Cancelled,
}

/// The rows, literally.
#[derive(Clone, Debug)]
struct Model {
    kind: Kind,
    exposure: Exposure,
    is_reused: bool,
    head: Option<Head>,
    /// The body of a JSON or failed response, as the letters of its pieces: white space, answer, stray, bad.
    text: String,
    has_cursor: bool,
    has_answer: bool,
    has_stray: bool,
    has_bad: bool,
    has_endpoint: bool,
    /// Whether a message came that shows that the stream leads somewhere.
    has_progress: bool,
    is_over: bool,
}

impl Model {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            exposure: Exposure::Unsent,
            is_reused: false,
            head: None,
            text: String::new(),
            has_cursor: false,
            has_answer: false,
            has_stray: false,
            has_bad: false,
            has_endpoint: false,
            has_progress: false,
            is_over: false,
        }
    }

    fn exposure_word(&self) -> &'static str {
        match self.exposure {
            Exposure::Unsent => "unsent",
            Exposure::PartlySent => "partly_sent",
            Exposure::Sent => "sent",
            Exposure::Headed => "headed",
            Exposure::Streaming => "streaming",
        }
    }

    /// What the input is answered, and what is told.
    fn apply(&mut self, input: Input) -> (Result<(), Misuse>, Vec<String>) {
        let mut told = Vec::new();
        let result = if self.is_over {
            Err(Misuse::Ended)
        } else if matches!(input, Late | LateAnswer) && !self.has_endpoint {
            // A channel has no deadline once its endpoint came.
            self.end(Ending::TimedOut, &mut told);
            Ok(())
        } else {
            self.take(input, &mut told)
        };
        (result, told)
    }

    fn take(&mut self, input: Input, told: &mut Vec<String>) -> Result<(), Misuse> {
        let before_writing = self.exposure == Exposure::Unsent && !self.is_reused;
        match input {
            Connected if before_writing => {}
            Reused if before_writing => self.is_reused = true,
            Sending if self.exposure == Exposure::Unsent => self.exposure = Exposure::PartlySent,
            Sent if self.exposure < Exposure::Sent => self.exposure = Exposure::Sent,
            // A response may come before the request is whole.
            Sent if self.head.is_some() => {}
            Connected | Reused | Sending | Sent => return Err(Misuse::OutOfOrder),
            Interim | Early | Late => {}
            HeadSse | HeadJson | Head202 | Head500 if self.head.is_some() => return Err(Misuse::SecondHead),
            HeadSse | HeadJson | Head202 | Head500 => self.take_head(input, told),
            Piece | AnswerPiece | StrayPiece | BadPiece | EndpointPiece | LateAnswer => match self.head {
                None => return Err(Misuse::NoHead),
                Some(head) => self.take_piece(head, input, told),
            },
            Marked => self.end(Ending::Marked, told),
            Unmarked => self.end(Ending::Unmarked, told),
            Short => self.end(Ending::Short, told),
            Broken => self.end(Ending::Broken("Reset"), told),
            Cancel => self.end(Ending::Cancelled, told),
        }
        Ok(())
    }

    fn take_head(&mut self, input: Input, told: &mut Vec<String>) {
        self.exposure = Exposure::Headed;
        self.head = Some(match input {
            HeadSse => Head::Sse,
            Head500 => Head::Failed,
            _ => Head::Json,
        });
        let status = if input == Head202 { 202 } else { 200 };
        match input {
            // E20, H3: any 2xx.
            HeadSse | HeadJson | Head202 if self.kind.is_status_due() => told.push(format!("accepted {status}")),
            // E24: a GET is for a stream.
            HeadJson if self.kind.is_stream_due() => {
                told.push("failed content_type \"application/json\" headed".to_owned());
            }
            // E19
            Head202 => told.push("failed no_answer 202 headed".to_owned()),
            _ => return,
        }
        self.is_over = true;
    }

    fn take_piece(&mut self, head: Head, input: Input, told: &mut Vec<String>) {
        self.exposure = Exposure::Streaming;
        if head != Head::Sse {
            self.text.push(match input {
                Piece => ' ',
                AnswerPiece | LateAnswer => 'a',
                StrayPiece => 's',
                _ => 'b',
            });
            return;
        }
        if self.kind == Kind::Channel {
            // H2, H4
            match input {
                EndpointPiece if !self.has_endpoint => {
                    self.has_endpoint = true;
                    told.push("endpoint /m".to_owned());
                }
                Piece if self.has_endpoint => told.push("note n".to_owned()),
                AnswerPiece | LateAnswer if self.has_endpoint => told.push("response {\"ok\":true} 7".to_owned()),
                StrayPiece if self.has_endpoint => told.push("response {\"ok\":true} 8".to_owned()),
                _ => {}
            }
            return;
        }
        // F11, F12: where an answer is awaited a message has to have a new id; `Piece` is the only one with any.
        self.has_progress |= match input {
            Piece => self.kind.is_listening() || !self.has_cursor,
            AnswerPiece | StrayPiece => self.kind.is_listening(),
            _ => false,
        };
        match input {
            Piece => {
                self.has_cursor = true;
                told.push("note n".to_owned());
            }
            EndpointPiece => {}
            AnswerPiece if self.kind.is_listening() => told.push("stray 7".to_owned()),
            // E2; a second one is ignored.
            AnswerPiece if !self.has_answer => {
                self.has_answer = true;
                told.push("answer {\"ok\":true}".to_owned());
            }
            AnswerPiece => {}
            StrayPiece => {
                self.has_stray = true;
                told.push("stray 8".to_owned());
            }
            _ => self.has_bad = true,
        }
    }

    /// What the text of a JSON or failed response is, without its white space.
    fn content(&self) -> &str {
        self.text.trim_matches(' ')
    }

    fn end(&mut self, ending: Ending, told: &mut Vec<String>) {
        // Before the head an end is a break.
        let ending = match (ending, self.head) {
            (Ending::Marked | Ending::Unmarked | Ending::Short, None) => Ending::Broken("Closed"),
            _ => ending,
        };
        // E1
        let is_broken = matches!(ending, Ending::Broken(_));
        if is_broken && self.is_reused && self.exposure == Exposure::Unsent {
            self.is_reused = false;
            return;
        }
        let status = if self.head == Some(Head::Failed) { 500 } else { 200 };
        // A JSON body is judged at its end, but not by who closes it. Under 500 only an error is an answer, under any id.
        if ending != Ending::Cancelled && self.kind.is_posted_request() {
            match (self.head, self.content()) {
                (Some(Head::Json), "a") => {
                    self.has_answer = true;
                    told.push("answer {\"ok\":true}".to_owned());
                }
                (Some(Head::Json), "s") => {
                    self.has_stray = true;
                    told.push("stray 8".to_owned());
                }
                (Some(Head::Failed), "a") => {
                    self.has_answer = true;
                    told.push("answer error -5".to_owned());
                }
                (Some(Head::Failed), "s") => {
                    self.has_answer = true;
                    told.push("answer error -5 foreign".to_owned());
                }
                _ => {}
            }
        }
        told.push(self.verdict(ending, status));
        self.is_over = true;
    }

    fn verdict(&self, ending: Ending, status: u16) -> String {
        let exposure = self.exposure_word();
        // E3, E4, E8
        if self.has_answer {
            return match ending {
                Ending::Marked | Ending::Unmarked | Ending::Cancelled => format!("settled {status}"),
                Ending::Short => format!("salvaged {status} short"),
                Ending::Broken(kind) => format!("salvaged {status} {kind}"),
                Ending::TimedOut => format!("salvaged {status} stalled"),
            };
        }
        // E30, E18, E11
        match ending {
            Ending::Cancelled => return format!("failed cancelled {exposure}"),
            _ if status == 500 => {
                let is_refusal = !self.kind.is_posted_request() && matches!(self.content(), "a" | "s");
                let error = if is_refusal { " error -5" } else { "" };
                return format!("failed status 500{error} {exposure}");
            }
            Ending::TimedOut => return format!("failed timeout {exposure}"),
            // E1; a GET that was not sent lost nothing.
            Ending::Broken(kind) if exposure == "unsent" && !self.can_ask_again() => {
                return format!("failed unsent {kind} unsent");
            }
            _ => {}
        }
        let mut cause = match ending {
            Ending::Broken(kind) => kind,
            Ending::Short => "short",
            _ => "ended",
        };
        let is_json = self.head == Some(Head::Json);
        if cause == "ended" && is_json && ending == Ending::Unmarked {
            cause = "cut";
        }
        let ended = matches!(cause, "ended" | "cut");
        if ended && is_json {
            match (self.content(), ending) {
                // E19
                ("", Ending::Marked) if self.text.is_empty() => return format!("failed no_answer 200 {exposure}"),
                // E10: white space is the beginning of anything.
                ("", Ending::Marked) => return format!("failed invalid_json at {} {exposure}", self.text.len()),
                ("", _) => {}
                ("s", _) => return format!("failed id_mismatch 8 {exposure}"),
                (content, _) => return format!("failed invalid_json at {} {exposure}", self.bad_at(content)),
            }
        } else if ended && !self.kind.is_listening() && self.kind != Kind::Channel {
            // E10, E16
            if self.has_bad {
                return format!("failed invalid_json at 0 {exposure}");
            }
            if self.has_stray {
                return format!("failed id_mismatch 8 {exposure}");
            }
        }
        // E5 to E7, F11, F12
        let progress = if self.has_progress { " progressed" } else { "" };
        match (self.kind, self.has_cursor) {
            (Kind::Modern, _) => format!("reissue {cause} {exposure}"),
            (Kind::Legacy, true) => format!("resume c after 1000 {cause}{progress}"),
            (Kind::Resumption, true) => format!("resume c after 50 {cause}{progress}"),
            (Kind::Resumption, false) => format!("resume g after 50 {cause}{progress}"),
            (Kind::Listening, true) => format!("reopen c after 1000 {cause}{progress}"),
            (Kind::Listening, false) => format!("reopen start after 1000 {cause}{progress}"),
            (Kind::ListeningFrom, true) => format!("reopen c after 50 {cause}{progress}"),
            (Kind::ListeningFrom, false) => format!("reopen g after 50 {cause}{progress}"),
            _ => format!("failed lost {cause} {exposure}"),
        }
    }

    fn can_ask_again(&self) -> bool {
        self.kind == Kind::Resumption || self.kind.is_listening()
    }

    /// Where several texts in a row, or one that is bad, stop being JSON.
    fn bad_at(&self, content: &str) -> usize {
        let lead = self.text.len() - self.text.trim_start().len();
        let first = content.chars().next().unwrap();
        let rest = &content[1..];
        let gap = rest.len() - rest.trim_start().len();
        lead + match first {
            'a' => result("7").len() + gap,
            's' => result("8").len() + gap,
            _ => 0,
        }
    }
}

/// What does not change from one sequence to the next.
struct World {
    request: Request,
    kind: Kind,
    heads: [ResponseHead; 5],
    sse: [String; 5],
    json: [String; 5],
    failed: [String; 5],
    walked: AtomicU64,
}

impl World {
    fn new(kind: Kind) -> Self {
        let pieces = |answer: String, stray: String| {
            let endpoint = format!("event: endpoint\n{}", event("/m"));
            [format!("id: c\n{}", event(&note("n"))), event(&answer), event(&stray), event("oops"), endpoint]
        };
        let head = |status, kind| ResponseHead::from_headers(status, [("Content-Type", kind)]);
        let (sse, json) = ("text/event-stream", "application/json");
        Self {
            request: kind.request(),
            kind,
            heads: [head(200, sse), head(200, json), head(202, json), head(500, json), head(103, json)],
            sse: pieces(result("7"), result("8")),
            json: [" ".to_owned(), result("7"), result("8"), "oops".to_owned(), "oops".to_owned()],
            failed: [" ".to_owned(), error("7", -5), error("8", -5), "oops".to_owned(), "oops".to_owned()],
            walked: AtomicU64::new(0),
        }
    }

    fn piece(&self, watched: &Watched, input: Input) -> &str {
        let index = match input {
            Piece => 0,
            AnswerPiece | LateAnswer => 1,
            StrayPiece => 2,
            BadPiece => 3,
            _ => 4,
        };
        match watched.exchange().head() {
            Some(head) if head == &self.heads[0] => &self.sse[index],
            Some(head) if head == &self.heads[3] => &self.failed[index],
            _ => &self.json[index],
        }
    }

    fn perform(&self, watched: &mut Watched, input: Input) -> Result<(), Misuse> {
        let now = Timestamp::from_millis(if matches!(input, Late | LateAnswer) { DEADLINE } else { 1 });
        match input {
            Connected => watched.input(|exchange| exchange.on_connected(now)),
            Reused => watched.input(|exchange| exchange.on_reused(now)),
            Sending => watched.input(|exchange| exchange.on_sending(now)),
            Sent => watched.input(|exchange| exchange.on_sent(now)),
            HeadSse => watched.input(|exchange| exchange.on_head(&self.heads[0], now)),
            HeadJson => watched.input(|exchange| exchange.on_head(&self.heads[1], now)),
            Head202 => watched.input(|exchange| exchange.on_head(&self.heads[2], now)),
            Head500 => watched.input(|exchange| exchange.on_head(&self.heads[3], now)),
            Interim => watched.input(|exchange| exchange.on_head(&self.heads[4], now)),
            Piece | AnswerPiece | StrayPiece | BadPiece | EndpointPiece | LateAnswer => {
                let piece = self.piece(watched, input).to_owned();
                watched.body(piece.as_bytes(), now)
            }
            Marked => watched.input(|exchange| exchange.on_end(Framing::Marked, now)),
            Unmarked => watched.input(|exchange| exchange.on_end(Framing::Unmarked, now)),
            Short => watched.input(|exchange| exchange.on_end(Framing::Short, now)),
            Broken => watched.input(|exchange| exchange.on_broken(BreakKind::Reset, now)),
            Early | Late => watched.input(|exchange| exchange.on_timeout(now)),
            Cancel => watched.input(|exchange| exchange.cancel(now)),
        }
    }

    /// Plays a sequence, each step held against the model.
    fn play(&self, sequence: &[Input]) {
        let mut model = Model::new(self.kind);
        let config = ExchangeConfig::default().with_deadline(Timestamp::from_millis(DEADLINE));
        let mut watched = Watched::new(&self.request, config, Timestamp::ZERO);
        let after: &[Input] = if sequence.len() < 3 { &AFTER_THE_END } else { &AFTER_THE_END[..2] };
        for (at, &input) in sequence.iter().chain(after).enumerate() {
            if at >= sequence.len() && !model.is_over {
                break;
            }
            let before = observed(&watched);
            watched.lines.clear();
            let expected = model.apply(input);
            let result = self.perform(&mut watched, input);
            assert!(
                result == expected.0 && watched.lines == expected.1,
                "{sequence:?} at {at}, {input:?} of {:?}:\nexpected {expected:?}\ngot {result:?} {:?}",
                self.request,
                watched.lines
            );
            if result.is_err() || matches!(input, Early | Interim) {
                assert_eq!(observed(&watched), before, "{input:?} changed something in {sequence:?}");
            }
        }
        self.walked.fetch_add(1, Ordering::Relaxed);
    }

    /// Every sequence that begins as `sequence` does: the model tells where a branch ends, so that only whole
    /// sequences are played.
    fn walk(&self, facts: &[Input], depth: usize, sequence: &mut Vec<Input>, model: &Model) {
        if model.is_over || sequence.len() == depth {
            self.play(sequence);
            return;
        }
        for &input in facts {
            let mut next = model.clone();
            let _ = next.apply(input);
            sequence.push(input);
            self.walk(facts, depth, sequence, &next);
            sequence.pop();
        }
    }

    /// The walk, shared between two threads by the first fact.
    fn walk_all(&self, facts: &[Input], depth: usize) -> u64 {
        thread::scope(|scope| {
            for half in 0..2 {
                scope.spawn(move || {
                    for &first in facts.iter().skip(half).step_by(2) {
                        let mut model = Model::new(self.kind);
                        let _ = model.apply(first);
                        self.walk(facts, depth, &mut vec![first], &model);
                    }
                });
            }
        });
        self.walked.load(Ordering::Relaxed)
    }
}

fn observed(watched: &Watched) -> impl PartialEq + core::fmt::Debug + use<> {
    let exchange = watched.exchange();
    let facts = (exchange.state(), exchange.exposure(), exchange.want(), exchange.poll_timeout());
    (facts, exchange.ignored(), exchange.held_bytes(), exchange.head().map(ResponseHead::status))
}

/// E1 to E20, E27: a request in the modern era.
#[test]
fn e27_walk_of_a_modern_request() {
    let walked = World::new(Kind::Modern).walk_all(FACTS, 6);
    assert!(walked > 1_000_000, "{walked}");
}

/// E1 to E20, E27: a request in the legacy era.
#[test]
fn e27_walk_of_a_legacy_request() {
    let walked = World::new(Kind::Legacy).walk_all(FACTS, 6);
    assert!(walked > 1_000_000, "{walked}");
}

/// E20, E27: a notification, in both.
#[test]
fn e20_walk_of_a_notification() {
    for kind in [Kind::ModernNotification, Kind::LegacyNotification] {
        let walked = World::new(kind).walk_all(FACTS, 5);
        assert!(walked > 50_000, "{walked}");
    }
}

/// E10, E12, E16, E17: more kinds of bytes, and bytes that come late.
#[test]
fn e27_walk_of_more_kinds_of_bytes() {
    for kind in [Kind::Modern, Kind::Legacy, Kind::ModernNotification, Kind::LegacyNotification] {
        let walked = World::new(kind).walk_all(MORE_FACTS, 5);
        assert!(walked > 20_000, "{walked}");
    }
}

/// E6, E27, F11: the rest of a request's stream.
#[test]
fn e27_walk_of_a_resumption() {
    let walked = World::new(Kind::Resumption).walk_all(STREAM_FACTS, 5);
    assert!(walked > 100_000, "{walked}");
}

/// E27, F12: a listening stream, from its beginning and from a cursor.
#[test]
fn e27_walk_of_a_listening_stream() {
    for kind in [Kind::Listening, Kind::ListeningFrom] {
        let walked = World::new(kind).walk_all(STREAM_FACTS, 5);
        assert!(walked > 100_000, "{walked}");
    }
}

/// E27, H2, H4: the 2024-11-05 channel.
#[test]
fn e27_walk_of_a_channel() {
    let walked = World::new(Kind::Channel).walk_all(STREAM_FACTS, 5);
    assert!(walked > 100_000, "{walked}");
}

/// E27, H3: what only a status is due to, besides a notification.
#[test]
fn e27_walk_of_a_deletion_and_of_a_2024_11_05_request() {
    for kind in [Kind::Deletion, Kind::HttpSse] {
        let walked = World::new(kind).walk_all(FACTS, 5);
        assert!(walked > 50_000, "{walked}");
        World::new(kind).walk_all(MORE_FACTS, 4);
    }
}
