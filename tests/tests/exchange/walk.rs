//! Property 5: every sequence of facts up to a depth is walked, and each step is held against the literal model in
//! `walk_model`.
//!
//! Rules: a branch is cut when the verdict is given, and then fed a few inputs more. What holds for every input (one
//! verdict, nothing after it, exposure that never falls, ...) is checked by `Watched`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{BreakKind, ExchangeConfig, Framing, Misuse, Request};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_tests::story::{Watched, error, event, note, result};

use super::walk_model::Input::{self, *};
use super::walk_model::{Kind, Model};

const DEADLINE: u64 = 10;

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

/// What comes once the verdict was given.
const AFTER_THE_END: [Input; 5] = [HeadSse, AnswerPiece, Marked, Broken, Cancel];

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
