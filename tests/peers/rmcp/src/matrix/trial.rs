//! What is tried, and what it comes to.

use std::fmt;
use std::time::Duration;

use mcp_sse_tests::legacy_peer::{ends_sessions, opens_no_session, opens_sessions_of, replays};
use mcp_sse_tests::peer::{At, Ending, Framing, Kind, Peer, Request, Response, Scenario, Script, Sse, Text};

use crate::client::{self, Begins, Got, Who};

/// The time of a call's deadline with our transport; nobody waits longer than twice that.
const DEADLINE: Duration = Duration::from_secs(1);
/// How long a handshake may take, which nothing breaks.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a trial came to. Their meanings stand at the head of `main.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Answer,
    Error,
    Twice,
    Lost,
    Hung,
}

impl Verdict {
    pub(crate) const ALL: [Self; 5] = [Self::Answer, Self::Error, Self::Twice, Self::Lost, Self::Hung];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Error => "error",
            Self::Twice => "twice",
            Self::Lost => "lost",
            Self::Hung => "hung",
        }
    }
}

/// One response to one call, broken at one place in one way.
#[derive(Clone)]
pub(crate) struct Trial {
    pub(crate) who: Who,
    /// The places of the conversation, the form and the kind of break in their lists.
    pub(crate) row: (usize, usize, usize),
    pub(crate) conversation: &'static str,
    pub(crate) form: &'static str,
    begins: Begins,
    /// The handshake, and what else belongs to the conversation.
    around: Vec<Script>,
    whole: Script,
    /// How much is written, and what happens then; `None`: all, and nothing.
    broken: Option<(usize, Break)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Close,
    Reset,
    Silence,
}

/// A trial that was made: the verdict waits until all are, so that a second run is seen whenever it comes.
pub(crate) struct Made {
    trial: Trial,
    scenario: Scenario,
    got: Got,
}

/// All trials, of both transports.
pub(crate) fn all() -> Vec<Trial> {
    let session = vec![opens_sessions_of("2025-11-25"), ends_sessions(200)];
    let conversations = [
        ("2025-11-25, with a session", Begins::Initialize, session),
        ("2025-11-25, without a session", Begins::Initialize, vec![opens_no_session("2025-11-25")]),
        ("2026-07-28", Begins::Discover, vec![is_discovered()]),
    ];
    let mut trials = Vec::new();
    for (number, (conversation, begins, around)) in conversations.into_iter().enumerate() {
        for (form_number, (form, response, replay)) in forms(begins).into_iter().enumerate() {
            let whole = Script::new(response);
            let rendered = whole.render(&Request::sample("tools/call", 2));
            let marks = rendered.boundaries();
            let around_marks = |at: &usize| [at.saturating_sub(1), *at, (at + 1).min(rendered.bytes.len())];
            let mut offsets: Vec<usize> = marks.iter().flat_map(around_marks).collect();
            offsets.sort_unstable();
            offsets.dedup();
            let broken = |offsets: &[usize], kind| offsets.iter().map(|at| Some((*at, kind))).collect::<Vec<_>>();
            let kinds = [
                vec![None],
                broken(&offsets, Break::Close),
                broken(&offsets, Break::Reset),
                broken(&marks, Break::Silence),
            ];
            for (kind, broken) in kinds.into_iter().enumerate() {
                for (broken, who) in broken.iter().flat_map(|broken| [(*broken, Who::Alone), (*broken, Who::Ours)]) {
                    let around = around.iter().cloned().chain(replay.clone()).collect();
                    let (row, whole) = ((number, form_number, kind), whole.clone());
                    trials.push(Trial { who, row, conversation, form, begins, around, whole, broken });
                }
            }
        }
    }
    trials
}

/// Answers `server/discover`, with all that rmcp wants to see there.
fn is_discovered() -> Script {
    let text = r#"{"jsonrpc":"2.0","id":{id},"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"scripted-peer","version":"1"},"ttlMs":0,"cacheScope":"private","resultType":"complete"}}"#;
    Script::new(Response::json(text)).for_method("server/discover")
}

/// The forms of the response, and what answers a GET for the rest of its stream.
fn forms(begins: Begins) -> Vec<(&'static str, Response, Option<Script>)> {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"on its way"}}"#;
    let events = || Response::sse([Sse::message(note), Sse::charged()]);
    let mut forms = vec![
        ("event stream, chunked", events(), None),
        ("event stream until the close", events().framing(Framing::UntilClose), None),
        ("JSON with a length", Response::json(Text::charged()), None),
    ];
    if begins == Begins::Initialize {
        let resumable = Response::sse([Sse::data("").id("e-1").retry(20), Sse::charged()]);
        let rest = replays("e-1", Response::sse([Sse::charged().id("e-2")]));
        forms.push(("event stream with event ids", resumable, Some(rest)));
    }
    forms
}

impl Trial {
    /// Makes the call, with as many times the time as it is made for.
    pub(crate) async fn make(self, peer: &Peer, round: u32) -> Made {
        let first = match self.broken {
            Some((offset, kind)) => {
                let ending = match kind {
                    Break::Close => Ending::Fin,
                    Break::Reset => Ending::Reset,
                    Break::Silence => Ending::Stall,
                };
                self.whole.clone().cut(At::byte(offset), ending)
            }
            None => self.whole.clone(),
        };
        let mut scripts = self.around.clone();
        scripts.extend([first, self.whole.clone()].map(|script| script.for_method("tools/call")));
        let scenario = peer.scenario(scripts);
        let url = scenario.url();
        let begun = client::begin(self.who, self.begins, &url, DEADLINE * round);
        let service = match tokio::time::timeout(PATIENCE, begun).await {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => panic!("{self}: no handshake: {error}"),
            Err(_) => panic!("{self}: the handshake hangs"),
        };
        let got = client::call(&service, 2 * DEADLINE * round).await;
        Made { trial: self, scenario, got }
    }

    /// Whether our transport may come to this.
    pub(crate) fn may_come_to(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Answer => true,
            Verdict::Error => self.broken.is_some(),
            _ => false,
        }
    }

    pub(crate) fn broken_by(&self) -> &'static str {
        match self.broken {
            None => "nothing",
            Some((_, Break::Close)) => "a close",
            Some((_, Break::Reset)) => "a reset",
            Some((_, Break::Silence)) => "silence",
        }
    }
}

impl Made {
    pub(crate) fn verdict(&self) -> Verdict {
        let runs = self.scenario.executions_of("tools/call");
        match self.got {
            _ if runs > 1 => Verdict::Twice,
            Got::Nothing => Verdict::Hung,
            Got::Result => Verdict::Answer,
            Got::Error { denies } if (denies && runs > 0) || self.is_delivered() => Verdict::Lost,
            Got::Error { .. } => Verdict::Error,
        }
    }

    /// Whether the answer's last byte was written, by the response to the call or by that to a GET for the rest.
    fn is_delivered(&self) -> bool {
        let log = self.scenario.log();
        log.requests.iter().zip(&log.responses).any(|(request, response)| {
            let is_call = request.kind() == Kind::Call && request.method() == Some("tools/call");
            let is_rest = request.http_method == "GET" && request.header("last-event-id").is_some();
            let delivered_at = self.trial.whole.render(request).answer_delivered_at;
            (is_call && delivered_at.is_some_and(|at| response.written >= at)) || (is_rest && response.done)
        })
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.broken.map_or(String::new(), |(offset, _)| format!(" after {offset} bytes"));
        write!(f, "{:?}, {}, {}: broken by {}{place}", self.who, self.conversation, self.form, self.broken_by())
    }
}
