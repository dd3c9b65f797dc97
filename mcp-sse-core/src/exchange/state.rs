//! The states of an exchange and every transition between them: what each fact leads to, and what each
//! ending is worth.
//!
//! Rules: all transitions live here, nowhere else. A fact that the table does not know in a state changes
//! nothing. [`judge`] is a pure function of the ending and the evidence, so that it can be walked
//! exhaustively; it sees no bytes. Reading bodies happens in `body`, tails in `salvage`; `mod` only carries.
//! ARCHITECTURE.md draws both tables, and a test keeps it equal to this file.

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

use super::Framing;
use super::outcome::{
    AnswerInfo, BreakKind, Cause, CodingProblem, Damage, Exposure, Failure, FailureKind, SizeLimit, StatusFailure,
    TimeLimit,
};
use super::request::{Carries, Cursor, Request};
use super::verdict::Verdict;
use crate::http::{ContentCoding, Era, MediaType, ResponseHead, can_inflate};

/// Where an exchange stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Nothing was written; there may be no connection yet.
    #[default]
    Unsent,
    /// A reused connection was given; nothing was written to it yet.
    Reusing,
    /// Some of the request was written.
    PartlySent,
    /// All of the request was written.
    Sent,
    /// The response's head was read.
    Headed,
    /// Bytes of the response's body were read.
    Streaming,
    /// The answer was handed out; the stream is still open.
    Answered,
    /// The endpoint of a 2024-11-05 channel was handed out: messages may come.
    Open,
    /// The verdict was given.
    Ended,
}

/// What can happen to an exchange, as far as its state is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fact {
    /// A fresh connection is ready, its TLS handshake done.
    Connected,
    /// A connection that carried earlier exchanges is used again.
    Reused,
    /// The reused connection turned out to be closed before anything was written to it.
    ReusedClosed,
    /// The first byte of the request was written.
    FirstByteWritten,
    /// The last byte of the request was written.
    AllWritten,
    /// The final response's head was read.
    Head,
    /// A byte of the response's body was read.
    BodyByte,
    /// The answer was handed out.
    Answer,
    /// The endpoint was handed out.
    Endpoint,
    /// An ending was judged: the verdict was given.
    Verdict,
}

/// One row of the table of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The state before.
    pub from: State,
    /// What happened.
    pub fact: Fact,
    /// The state after.
    pub to: State,
}

const fn row(from: State, fact: Fact, to: State) -> Transition {
    Transition { from, fact, to }
}

/// Every transition. A response may come before the request is wholly written (a refusal by size, say), and
/// an embedder that has only the response reports no facts of sending: so `Head` is known everywhere before it.
static TRANSITIONS: &[Transition] = &[
    row(State::Unsent, Fact::Connected, State::Unsent),
    row(State::Unsent, Fact::Reused, State::Reusing),
    row(State::Reusing, Fact::ReusedClosed, State::Unsent),
    row(State::Unsent, Fact::FirstByteWritten, State::PartlySent),
    row(State::Reusing, Fact::FirstByteWritten, State::PartlySent),
    row(State::Unsent, Fact::AllWritten, State::Sent),
    row(State::Reusing, Fact::AllWritten, State::Sent),
    row(State::PartlySent, Fact::AllWritten, State::Sent),
    row(State::Unsent, Fact::Head, State::Headed),
    row(State::Reusing, Fact::Head, State::Headed),
    row(State::PartlySent, Fact::Head, State::Headed),
    row(State::Sent, Fact::Head, State::Headed),
    row(State::Headed, Fact::AllWritten, State::Headed),
    row(State::Streaming, Fact::AllWritten, State::Streaming),
    row(State::Answered, Fact::AllWritten, State::Answered),
    row(State::Open, Fact::AllWritten, State::Open),
    row(State::Headed, Fact::BodyByte, State::Streaming),
    row(State::Streaming, Fact::Answer, State::Answered),
    row(State::Streaming, Fact::Endpoint, State::Open),
    row(State::Unsent, Fact::Verdict, State::Ended),
    row(State::Reusing, Fact::Verdict, State::Ended),
    row(State::PartlySent, Fact::Verdict, State::Ended),
    row(State::Sent, Fact::Verdict, State::Ended),
    row(State::Headed, Fact::Verdict, State::Ended),
    row(State::Streaming, Fact::Verdict, State::Ended),
    row(State::Answered, Fact::Verdict, State::Ended),
    row(State::Open, Fact::Verdict, State::Ended),
];

/// The same table to look things up in: the state after each fact, by the state before.
#[expect(clippy::indexing_slicing, reason = "it is done by the compiler")]
static AFTER: [[Option<State>; FACTS]; STATES] = {
    let (mut after, mut rows) = ([[None; FACTS]; STATES], TRANSITIONS);
    while let [row, rest @ ..] = rows {
        after[row.from as usize][row.fact as usize] = Some(row.to);
        rows = rest;
    }
    after
};

const STATES: usize = State::Ended as usize + 1;
const FACTS: usize = Fact::Verdict as usize + 1;

/// The table of transitions, for drawings and tests.
#[must_use]
pub fn transitions() -> &'static [Transition] {
    TRANSITIONS
}

impl State {
    /// The state after `fact`, or `None` if the fact means nothing here.
    pub(super) fn after(self, fact: Fact) -> Option<Self> {
        *AFTER.get(self as usize)?.get(fact as usize)?
    }

    /// How far the request is known to have got by being in this state; the exchange keeps the maximum.
    pub(super) const fn exposure(self) -> Exposure {
        match self {
            Self::Unsent | Self::Reusing | Self::Ended => Exposure::Unsent,
            Self::PartlySent => Exposure::PartlySent,
            Self::Sent => Exposure::Sent,
            Self::Headed => Exposure::Headed,
            Self::Streaming | Self::Answered | Self::Open => Exposure::Streaming,
        }
    }
}

/// What is due to an HTTP request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// An answer, in this response.
    Answer,
    /// A status and no more: to a notification, to a deletion, and to any message under 2024-11-05 (H3).
    Status,
    /// The rest of a request's stream, with its answer.
    Rest,
    /// Messages that belong to no request, for as long as the stream lasts (F12).
    Messages,
    /// An endpoint, and then messages (H1 to H5).
    Channel,
}

impl Due {
    pub(super) fn of(request: &Request) -> Self {
        match &request.carries {
            Carries::Message if request.id.is_some() && request.version.era() != Era::HttpSse => Self::Answer,
            Carries::Message | Carries::Deletion => Self::Status,
            Carries::Resumption(_) => Self::Rest,
            Carries::Listening(_) => Self::Messages,
            Carries::Channel => Self::Channel,
        }
    }

    /// Whether the response has to be an event stream: the request is a GET.
    pub(super) const fn is_stream(self) -> bool {
        matches!(self, Self::Rest | Self::Messages | Self::Channel)
    }

    /// Whether the stream belongs to one request.
    pub(super) const fn is_of_request(self) -> bool {
        !matches!(self, Self::Messages | Self::Channel)
    }
}

/// How an exchange came to its end.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    /// The body ended, and its framing says so: length, last chunk, end of stream.
    Marked,
    /// The body ended because the connection did; nothing says that this was its end.
    Unmarked,
    /// The body ended short of its framing or of its coded data.
    Short,
    /// The body ended otherwise than its framing said, and what came last of it was thrown away unread.
    Discarded,
    /// The connection or the stream broke.
    Broken(BreakKind),
    /// A time limit was reached.
    TimedOut(TimeLimit),
    /// The caller closed it.
    Closed,
    /// The head or the body itself settled that no answer can come of it.
    Refused(FailureKind),
    /// The body turned out to be corrupt as coded data.
    Corrupt,
    /// The body as a whole passed a limit.
    TooLarge { which: SizeLimit, limit: u64 },
    /// A status was due, and it is one of success.
    Accepted,
    /// The head sends the request elsewhere, and the caller asked to follow.
    Redirected(String),
}

impl Ending {
    /// E8, E13: how a body ended, by its framing, by the length that was declared, and by its coding.
    pub(super) fn of_body(framing: Framing, declared: Option<u64>, received: u64, is_coding_short: bool) -> Self {
        let is_short = framing == Framing::Short || declared.is_some_and(|declared| received < declared);
        match framing {
            Framing::Discarded => Self::Discarded,
            _ if is_short || is_coding_short => Self::Short,
            // A declared length that was reached marks the end, whatever else did not.
            Framing::Unmarked if declared.is_none() => Self::Unmarked,
            _ => Self::Marked,
        }
    }

    /// Whether the head settled it and all is well with the connection: what is left of the body is of no use.
    pub(super) const fn leaves_the_connection_usable(&self) -> bool {
        matches!(self, Self::Accepted | Self::Refused(FailureKind::NoAnswer { .. }))
    }
}

/// What kind of body the head promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKind {
    /// There is no head yet.
    None,
    /// An event stream.
    EventStream,
    /// JSON, or too little of a body to tell.
    Json,
    /// Too little of a body to tell, where only an event stream will do.
    Untold,
    /// The body of a failed response.
    Failed,
}

/// What an unanswered exchange has seen that was no answer, in the order of what it proves: the first that
/// applies is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints {
    /// An event passed its limit (E14): it may have been the answer.
    pub(super) oversized: Option<u64>,
    /// A malformed message under our id, an array, or JSON that is no answer (E29).
    pub(super) malformed: Option<Box<super::outcome::MessageProblem>>,
    /// Something that is not JSON (E10), and the byte at which it is not.
    pub(super) not_json: Option<usize>,
    /// An answer under another id (E16): the id, if it is one and short enough.
    pub(super) stray: Option<Option<crate::jsonrpc::Id>>,
    /// Whether what is not JSON could have become JSON with more bytes.
    pub(super) prefix: bool,
    /// The code of the error with which something was refused that is no request (E20).
    pub(super) error_code: Option<i64>,
}

/// All that is known when an ending is judged.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    pub(super) era: Era,
    pub(super) due: Due,
    pub(super) exposure: Exposure,
    pub(super) status: Option<u16>,
    pub(super) answer: Option<AnswerInfo>,
    /// Whether the answer was found in an unfinished event (E9).
    pub(super) from_tail: bool,
    pub(super) body: BodyKind,
    /// Whether the body had no bytes at all.
    pub(super) empty: bool,
    pub(super) complaints: Complaints,
    /// The failed response, if the status is one of failure.
    pub(super) failed: Option<Box<StatusFailure>>,
    /// The newest usable event id of this stream, else the one it began at (legacy eras).
    pub(super) cursor: Option<String>,
    /// The last `retry` of this stream, else the one that came with the cursor; floored.
    pub(super) retry: Option<Duration>,
    /// Whether a message came that is not the one the stream began at (F11).
    pub(super) progressed: bool,
}

/// F11: what is waited before a stream is asked for again, if it said nothing.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);

/// E26: what is waited at least.
pub(super) const MIN_RETRY: Duration = Duration::from_millis(10);

impl Evidence {
    /// Whether what was asked for is still over there, however this request ended.
    fn can_ask_again(&self) -> bool {
        match self.due {
            Due::Messages => true,
            Due::Rest => self.era == Era::Legacy && self.cursor.is_some(),
            Due::Answer | Due::Status | Due::Channel => false,
        }
    }
}

/// What a final head alone settles: E13, E18, E19, E20, E24. Nothing, if its body is to be read.
pub(super) fn judge_head(head: &ResponseHead, due: Due, follows_redirects: bool) -> Option<Ending> {
    let status = head.status();
    if !head.is_success() {
        let location = head.location().filter(|_| follows_redirects && matches!(status, 307 | 308));
        return location.map(|location| Ending::Redirected(String::from(location)));
    }
    if due == Due::Status {
        return Some(Ending::Accepted);
    }
    if matches!(status, 202 | 204) {
        return Some(Ending::Refused(FailureKind::NoAnswer { status }));
    }
    let coding = head.content_coding();
    if coding != ContentCoding::Identity && !can_inflate(coding) {
        return Some(Ending::Refused(FailureKind::ContentCoding { problem: CodingProblem::Unsupported }));
    }
    let media_type = head.media_type();
    if media_type == MediaType::Other || (due.is_stream() && media_type == MediaType::Json) {
        let essence = String::from(head.media_type_text().unwrap_or_default());
        return Some(Ending::Refused(FailureKind::ContentType { essence }));
    }
    None
}

/// What an ending damages around an answer that was delivered: E3, E4, E8, E9, E13. `from_tail` says that the
/// answer was found in an unfinished event.
pub(super) const fn damage(ending: &Ending, from_tail: bool) -> Option<Damage> {
    Some(match ending {
        _ if from_tail => Damage::UnterminatedEvent,
        Ending::Closed | Ending::Marked | Ending::Unmarked | Ending::Accepted | Ending::Redirected(_) => return None,
        Ending::Short | Ending::Discarded => Damage::Short,
        Ending::Broken(kind) => Damage::Broken(*kind),
        Ending::TimedOut(_) => Damage::Stalled,
        Ending::Corrupt | Ending::Refused(_) => Damage::Corrupt,
        Ending::TooLarge { .. } => Damage::TooLarge,
    })
}

/// What an ending is worth: rows E1 to E20, E29, F12 and H5, in one place.
pub(super) fn judge(ending: Ending, evidence: Evidence) -> Verdict {
    let (exposure, due) = (evidence.exposure, evidence.due);
    let is_marked = matches!(ending, Ending::Marked);
    // What was thrown away may have been the answer: running it again could run twice what was delivered (E8).
    let may_reissue = !matches!(ending, Ending::Discarded);
    let can_ask_again = evidence.can_ask_again();
    let fail = |kind| Verdict::Failed(Failure::new(kind, exposure));

    // E2 to E4, E8, E9, E13: what was delivered stays delivered, however the exchange ends.
    if let Some(answer) = evidence.answer {
        return match damage(&ending, evidence.from_tail) {
            Some(damage) => Verdict::Salvaged { answer, damage },
            None => Verdict::Settled(answer),
        };
    }

    let cause = match (ending, evidence.failed) {
        (Ending::Closed, _) => return fail(FailureKind::Cancelled),
        (Ending::Redirected(location), _) => return Verdict::Redirect { location },
        // E18, E20: a status of failure is told, cut or whole; nothing is sent again for it.
        (_, Some(failed)) => return fail(FailureKind::Status(failed)),
        (Ending::Accepted, _) => return Verdict::Accepted { status: evidence.status.unwrap_or_default() },
        (Ending::Refused(kind), _) => return fail(kind),
        (Ending::Corrupt, _) => return fail(FailureKind::ContentCoding { problem: CodingProblem::Corrupt }),
        (Ending::TooLarge { which, limit }, _) => return fail(FailureKind::TooLarge { which, limit }),
        (Ending::TimedOut(limit), _) => return fail(FailureKind::Timeout { limit }),
        // A GET that asks for what is kept over there loses nothing by not being sent: it is asked for again.
        (Ending::Broken(cause), _) if exposure == Exposure::Unsent && !can_ask_again => {
            return fail(FailureKind::Unsent { cause });
        }
        (Ending::Broken(kind), _) => Cause::Broken(kind),
        (Ending::Short | Ending::Discarded, _) => Cause::Short,
        (Ending::Unmarked, _) if evidence.body == BodyKind::Json => Cause::Cut,
        (Ending::Marked | Ending::Unmarked, _) => Cause::Ended,
    };

    // E14: an event too large to keep may have been the answer.
    if let Some(limit) = evidence.complaints.oversized.filter(|_| due.is_of_request()) {
        return fail(FailureKind::TooLarge { which: SizeLimit::Event, limit });
    }
    // E19: an empty body of no type is no stream.
    if is_marked && evidence.body == BodyKind::Untold {
        return fail(FailureKind::NoAnswer { status: evidence.status.unwrap_or_default() });
    }
    // E10, E16, E19, E29: the server came to its end and had answered badly, or not at all.
    let json_may_be_cut = cause == Cause::Cut && evidence.complaints.prefix;
    if due.is_of_request() && matches!(cause, Cause::Ended | Cause::Cut) && !json_may_be_cut {
        let complaints = evidence.complaints;
        if let Some(problem) = complaints.malformed {
            return fail(FailureKind::InvalidMessage { problem });
        }
        if evidence.body == BodyKind::Json && evidence.empty {
            return fail(FailureKind::NoAnswer { status: evidence.status.unwrap_or_default() });
        }
        if let Some(position) = complaints.not_json {
            return fail(FailureKind::InvalidJson { position });
        }
        if let Some(got) = complaints.stray {
            return fail(FailureKind::IdMismatch { got });
        }
    }
    // E5 to E7, E20, F12, H5: lost.
    let retry = evidence.retry;
    let after = retry.unwrap_or(DEFAULT_RETRY);
    let progressed = evidence.progressed;
    match (due, evidence.era, evidence.cursor) {
        (Due::Answer, Era::Modern, _) if may_reissue => Verdict::Reissue { cause, exposure },
        (Due::Answer | Due::Rest, Era::Legacy, Some(last_event_id)) => {
            Verdict::Resume { last_event_id, after, retry, progressed, cause, exposure }
        }
        (Due::Messages, _, cursor) => {
            let cursor = cursor.map(|last_event_id| Cursor { last_event_id, retry });
            Verdict::Reopen { cursor, after, progressed, cause }
        }
        _ => fail(FailureKind::Lost { cause, replacement: None }),
    }
}
