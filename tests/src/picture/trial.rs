//! One trial: a response, where and how it is broken, and what a client's call then came to.

use std::time::Duration;

use crate::matrix::METHOD;
use crate::peer::{At, Ending, Mark, Peer, Rendered, Request, Response, Scenario, Script, Sse};

/// Bytes between two places that are tried; where the answer ends each is.
const STEP: usize = 12;

/// A way to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// FIN.
    Fin,
    /// RST.
    Reset,
    /// Silence.
    Stall,
}

impl Breaks {
    pub(super) const ALL: [Self; 3] = [Self::Fin, Self::Reset, Self::Stall];

    /// As the table has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fin => "FIN",
            Self::Reset => "RST",
            Self::Stall => "silence",
        }
    }
}

/// A response broken in one way behind one byte.
#[derive(Clone, Debug)]
pub struct Trial {
    /// How many bytes are written.
    pub offset: usize,
    /// What happens then.
    pub breaks: Breaks,
}

/// What a caller got.
#[derive(Clone, Debug)]
pub struct Told {
    /// Whether it is the tool's result; else it is an error.
    pub is_answered: bool,
    /// How long it took.
    pub after: Duration,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The tool ran once, and the caller has its result.
    Answer,
    /// The answer was not written whole, and the call was made again: the caller has the second one's result.
    Again,
    /// The answer was not written whole, and the caller was told by an error.
    Error,
    /// Nothing ended, and the answer was not written whole: the caller waited until the time-out that it had set.
    Waited,
    /// The answer was written whole, and the caller got an error.
    Lost,
    /// The answer was written whole, and the tool ran again.
    Twice,
    /// The stream had ended, and the caller waited until the time-out that it had set, or longer.
    Hung,
}

impl Verdict {
    pub(super) const ALL: [Self; 7] =
        [Self::Answer, Self::Again, Self::Error, Self::Waited, Self::Lost, Self::Twice, Self::Hung];

    /// The letter in the table.
    pub fn letter(self) -> char {
        match self {
            Self::Answer => 'A',
            Self::Again => 'G',
            Self::Error => 'E',
            Self::Waited => 'W',
            Self::Lost => 'L',
            Self::Twice => 'T',
            Self::Hung => 'H',
        }
    }

    /// In words, for a legend.
    pub fn words(self) -> &'static str {
        match self {
            Self::Answer => "answered, run once",
            Self::Again => "lost, made again, answered",
            Self::Error => "lost, and told so",
            Self::Waited => "silence: waited until its time-out",
            Self::Lost => "delivered, and an error",
            Self::Twice => "delivered, and run twice",
            Self::Hung => "ended, and waited until its time-out",
        }
    }

    /// Whether nothing is wrong with it.
    pub fn is_sound(self) -> bool {
        matches!(self, Self::Answer | Self::Again | Self::Error | Self::Waited)
    }
}

/// What servers send: a notification, then the answer, in chunks.
fn script() -> Script {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"charging"}}"#;
    Script::new(Response::sse([Sse::message(note), Sse::charged()]))
}

/// What clients of 2026-07-28 ask for besides, with the members that some will not do without.
fn cacheable() -> [Script; 2] {
    [("server/discover", r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}"#),
     ("tools/list", r#""tools":[{"name":"charge","inputSchema":{"type":"object"}}]"#)]
    .map(|(method, members)| {
        let result = format!(r#"{{{members},"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#);
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#);
        Script::new(Response::json(answer)).for_method(method)
    })
}

/// Its bytes. The id of a request has one digit, and so has the number of its run.
pub(super) fn rendered() -> Rendered {
    script().render(&Request::sample(METHOD, 1))
}

/// The places that are tried.
pub(super) fn offsets() -> Vec<usize> {
    let rendered = rendered();
    let at = |mark| rendered.at(mark).expect("it is in each stream");
    let mut offsets: Vec<usize> = (0..rendered.bytes.len()).step_by(STEP).collect();
    offsets.extend(at(Mark::AnswerEnd) - 2..=rendered.bytes.len());
    offsets.extend([Mark::HeadEnd, Mark::BlockEnd(0), Mark::AnswerStart].map(at));
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// All trials, one row after the other.
pub(super) fn all() -> Vec<Trial> {
    let of = |breaks| offsets().into_iter().map(move |offset| Trial { offset, breaks });
    Breaks::ALL.into_iter().flat_map(of).collect()
}

impl Trial {
    /// Whether all of the response is written.
    pub(super) fn is_whole(&self) -> bool {
        self.offset == rendered().bytes.len()
    }

    /// A scenario whose first call is broken so, and whose others are not. What clients ask before it is answered.
    pub(super) fn scenario(&self, peer: &Peer) -> Scenario {
        let ending = match self.breaks {
            Breaks::Fin => Ending::Fin,
            Breaks::Reset => Ending::Reset,
            Breaks::Stall => Ending::Stall,
        };
        let calls = [script().cut(At::byte(self.offset), ending), script()];
        peer.scenario(calls.map(|script| script.for_method(METHOD)).into_iter().chain(cacheable()))
    }

    /// What the call came to. The caller's time-out was `timeout`; `None` is a call that was not back long after that.
    pub(super) fn verdict(&self, scenario: &Scenario, told: Option<&Told>, timeout: Duration) -> Verdict {
        let runs = scenario.executions_of(METHOD);
        let is_delivered = rendered().answer_delivered_at.is_some_and(|at| self.offset >= at);
        let is_answered = told.is_some_and(|told| told.is_answered);
        let is_late = told.is_none_or(|told| told.after >= timeout.mul_f32(0.9));
        match (runs, is_delivered) {
            (2.., true) | (3.., false) => Verdict::Twice,
            (2, false) if is_answered => Verdict::Again,
            _ if is_answered => Verdict::Answer,
            (_, false) if is_late && self.breaks == Breaks::Stall => Verdict::Waited,
            (_, true) if is_late && self.breaks == Breaks::Stall && told.is_some() => Verdict::Lost,
            _ if is_late => Verdict::Hung,
            (_, true) => Verdict::Lost,
            (_, false) => Verdict::Error,
        }
    }
}
