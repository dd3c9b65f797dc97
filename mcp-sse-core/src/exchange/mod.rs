//! One HTTP request and all that came back: facts and bytes in, events and one verdict out.
//!
//! Lives here: [`Exchange`], which carries inputs to the states and the body, and keeps the evidence.
//! `state` holds every transition and judges heads and endings, `body` reads bodies, `salvage` reads texts and tails,
//! `reading` says whose a message is; `carriage` turns what was seen of a connection into facts; `request`, `event`, `verdict` and `outcome` have the words. Does not belong here:
//! what happens after the verdict (see [`client`](crate::client)), sockets, clocks.

mod body;
mod carriage;
mod event;
mod outcome;
mod reading;
mod request;
mod salvage;
mod state;
mod taping;
mod verdict;

use alloc::boxed::Box;
use alloc::string::String;
use core::time::Duration;

pub use body::Ignored;
use body::{Body, Manner};
pub use carriage::Carriage;
use event::Waiting;
pub use event::{ExchangeEvent, Framing, Misuse, Want};
pub use outcome::{
    Answer, AnswerInfo, BreakKind, Cause, CodingProblem, Damage, Excerpt, Exposure, Failure, FailureKind,
    HandshakeProblem, IdMatch, MessageProblem, SizeLimit, StatusFailure, TimeLimit,
};
use reading::Closing;
pub use request::{Carries, Cursor, ExchangeConfig, Request, TailRule};
use state::{BodyKind, Complaints, Due, Ending, Evidence};
pub use state::{Fact, State, Transition, transitions};
pub(crate) use taping::{
    answer_words, event_words, failure_words, name_of_break, name_of_cause, name_of_damage, name_of_framing,
    name_of_tail, sized_message,
};
pub use verdict::Verdict;

use crate::http::ResponseHead;
use crate::tape::Tape;
use crate::time::Timestamp;

/// One HTTP request and all that came back.
///
/// Its methods are of four kinds:
/// - *facts in*, `on_*`: what happened to the connection, the request and the response. Each takes `now`;
///   one that comes at or after the deadline lets the exchange expire first (E12) and then changes nothing, but that
///   bytes of the request were written is remembered.
/// - *commands*: [`cancel`](Self::cancel).
/// - *outputs*, `poll_*` and [`want`](Self::want): events to drain after each input, the time at which
///   [`on_timeout`](Self::on_timeout) is due, and what to do next.
/// - *getters*: [`exposure`](Self::exposure), [`state`](Self::state), [`cursor`](Self::cursor), [`ignored`](Self::ignored).
///
/// Any input may come in any order and any number of times; a mistake is answered by [`Misuse`] and changes
/// nothing. No method panics.
///
/// ```
/// use mcp_sse_core::Timestamp;
/// use mcp_sse_core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Framing, Request, Verdict};
/// use mcp_sse_core::http::ResponseHead;
///
/// let now = Timestamp::ZERO;
/// let request = Request::new("tools/list").with_id(7);
/// let mut exchange = Exchange::new(&request, ExchangeConfig::default(), now);
///
/// exchange.on_connected(now)?;
/// exchange.on_sending(now)?;
/// exchange.on_sent(now)?;
/// exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), now)?;
/// let mut body: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[]}}\n\n";
/// exchange.on_body(&mut body, now)?;
/// let Some(ExchangeEvent::Answer(answer)) = exchange.poll_event() else { panic!() };
/// assert_eq!(answer.message.result(), Some(r#"{"tools":[]}"#));
///
/// exchange.on_end(Framing::Marked, now)?;
/// assert!(matches!(exchange.poll_event(), Some(ExchangeEvent::Ended(Verdict::Settled(_)))));
/// # Ok::<(), mcp_sse_core::exchange::Misuse>(())
/// ```
pub struct Exchange {
    request: Request,
    due: Due,
    config: ExchangeConfig,
    state: State,
    exposure: Exposure,
    fresh_only: bool,
    idle_until: Option<Timestamp>,
    /// Until when, and up to which byte, the body is read on after the answer.
    drain: Option<(Timestamp, u64)>,
    /// When the last bytes of the body came (E28).
    received_at: Timestamp,
    head: Option<Box<ResponseHead>>,
    head_at: Option<Timestamp>,
    body: Option<Body>,
    answer: Option<AnswerInfo>,
    /// The ending under way, until the verdict is given.
    closing: Option<Box<Closing>>,
    from_tail: bool,
    /// Whether a message came that is not the one the stream began at (F11).
    progressed: bool,
    complaints: Complaints,
    events: Waiting,
    want_after: Want,
    /// What is written down, if anything is.
    tape: Option<Box<Tape>>,
}

impl Exchange {
    /// An exchange for `request`, which starts to live at `now`.
    #[must_use]
    pub fn new(request: &Request, config: ExchangeConfig, now: Timestamp) -> Self {
        Self::of(request.clone(), config, now)
    }

    pub(crate) fn of(request: Request, config: ExchangeConfig, now: Timestamp) -> Self {
        let due = Due::of(&request);
        Self {
            request,
            due,
            state: State::default(),
            exposure: Exposure::default(),
            fresh_only: config.fresh_connection,
            idle_until: config.idle.filter(|_| due.is_of_request()).map(|idle| now.saturating_add(idle)),
            tape: config.recording.as_ref().map(|recording| Box::new(Tape::new(recording, now, 1, true))),
            config,
            drain: None,
            received_at: now,
            head: None,
            head_at: None,
            body: None,
            answer: None,
            closing: None,
            from_tail: false,
            progressed: false,
            complaints: Complaints::default(),
            events: Waiting::default(),
            want_after: Want::Close,
        }
    }

    // Facts in.

    /// A fresh connection is ready, its TLS handshake done.
    ///
    /// # Errors
    /// [`Misuse`] if it comes too late to mean anything.
    pub fn on_connected(&mut self, now: Timestamp) -> Result<(), Misuse> {
        self.fact(Fact::Connected, now)
    }

    /// A kept connection is used again. If [`on_broken`](Self::on_broken) follows before anything was
    /// written, the exchange asks for a fresh one instead of failing (E1).
    ///
    /// # Errors
    /// [`Misuse`] if it comes too late to mean anything.
    pub fn on_reused(&mut self, now: Timestamp) -> Result<(), Misuse> {
        self.fact(Fact::Reused, now)
    }

    /// The first byte of the request was written.
    ///
    /// # Errors
    /// [`Misuse`] if it comes too late to mean anything.
    pub fn on_sending(&mut self, now: Timestamp) -> Result<(), Misuse> {
        self.fact(Fact::FirstByteWritten, now)
    }

    /// The last byte of the request was written.
    ///
    /// # Errors
    /// [`Misuse`] if it comes too late to mean anything.
    pub fn on_sent(&mut self, now: Timestamp) -> Result<(), Misuse> {
        self.fact(Fact::AllWritten, now)
    }

    /// The response's head was read. Heads of status 1xx are interim and change nothing.
    ///
    /// # Errors
    /// [`Misuse`] for a second head, or after the end.
    pub fn on_head(&mut self, head: &ResponseHead, now: Timestamp) -> Result<(), Misuse> {
        if self.is_over(now)? || head.is_informational() {
            return Ok(());
        }
        if self.head.is_some() {
            return Err(Misuse::SecondHead);
        }
        self.note_head(head, now);
        self.advance(Fact::Head);
        self.head = Some(Box::new(head.clone()));
        self.head_at = Some(now);
        // E18: it is the same POST that is sent elsewhere.
        let follows_redirects = self.config.follow_redirects && self.request.carries == Carries::Message;
        if let Some(ending) = state::judge_head(head, self.due, follows_redirects) {
            self.end(ending);
            return Ok(());
        }
        let manner = Manner {
            is_failed: !head.is_success(),
            arrays: self.request.version.allows_arrays(),
            streams_only: self.due.is_stream(),
            endpoints: self.due == Due::Channel && head.is_success(),
            tracks_cursor: self.request.tracks_cursor(),
            cursor: self.request.cursor().map(|cursor| cursor.last_event_id.clone()),
        };
        self.body = Some(Body::new(head, manner, &self.config.limits));
        Ok(())
    }

    /// Bytes of the response's body, chunked framing undone, content coding not. Takes from the front of
    /// `input` until an event is ready, so that queues stay bounded whatever the chunk: call it, drain
    /// [`poll_event`](Self::poll_event) to `None`, and repeat until `input` is empty. Bytes taken may hold
    /// more than one event (a coded piece, an array); `poll_event` gives out the others in turn.
    ///
    /// # Errors
    /// [`Misuse`] before the head, while events wait, or after the end (`input` is then emptied).
    pub fn on_body(&mut self, input: &mut &[u8], now: Timestamp) -> Result<(), Misuse> {
        match self.is_over(now) {
            Ok(false) => {}
            ended => {
                *input = &[];
                return ended.map(|_| ());
            }
        }
        if !self.events.is_empty() {
            return Err(Misuse::EventsWaiting);
        }
        if self.body.is_none() {
            return Err(Misuse::NoHead);
        }
        if !input.is_empty() {
            self.advance(Fact::BodyByte);
            self.received_at = now;
        }
        let given = *input;
        self.read_until_event(input);
        self.note_body(given, input.len(), now);
        let received = self.body.as_ref().map_or(0, |body| body.received);
        if !self.has_ended() && self.drain_limit().is_some_and(|(_, most)| received > most) {
            self.end(Ending::Closed);
        }
        Ok(())
    }

    /// The body ended, in the way that `framing` says. Before the head it is a break.
    ///
    /// # Errors
    /// [`Misuse`] after the end.
    pub fn on_end(&mut self, framing: Framing, now: Timestamp) -> Result<(), Misuse> {
        if self.is_over(now)? {
            return Ok(());
        }
        let Some(body) = &self.body else {
            return self.on_broken(BreakKind::Closed, now);
        };
        let (received, is_coding_short) = (body.received, body.is_coding_short());
        self.note(now, |line| line.arg(name_of_framing(framing)), "on_end");
        let declared = self.head.as_ref().and_then(|head| head.content_length());
        let ending = Ending::of_body(framing, declared, received, is_coding_short);
        let is_usable = matches!(ending, Ending::Marked) && framing == Framing::Marked;
        self.want_after = if is_usable { Want::Nothing } else { Want::Close };
        self.finish(ending, now);
        Ok(())
    }

    /// The connection ended, in the way that `kind` says, before the body did. `has_last_chunk` says whether the last
    /// chunk of a chunked one had come: then nothing is missing but trailers, and an end without TLS's alert is as good
    /// as one in order.
    ///
    /// # Errors
    /// [`Misuse`] after the end.
    pub fn on_connection_end(&mut self, kind: BreakKind, has_last_chunk: bool, now: Timestamp) -> Result<(), Misuse> {
        let is_complete = has_last_chunk && self.head.as_ref().is_some_and(|head| head.is_chunked());
        match kind {
            BreakKind::Closed | BreakKind::TlsTruncated if is_complete => self.on_end(Framing::Marked, now),
            BreakKind::Closed if self.head.as_ref().is_some_and(|head| head.marks_end()) => {
                self.on_end(Framing::Short, now)
            }
            BreakKind::Closed => self.on_end(Framing::Unmarked, now),
            kind => self.on_broken(kind, now),
        }
    }

    /// The connection or the stream broke, or could not be made. Only the [`Exposure`] reached so far and
    /// the bytes that arrived decide what it means; `kind` is for people.
    ///
    /// # Errors
    /// [`Misuse`] after the end.
    pub fn on_broken(&mut self, kind: BreakKind, now: Timestamp) -> Result<(), Misuse> {
        if self.is_over(now)? {
            return Ok(());
        }
        self.note(now, |line| line.arg(name_of_break(kind)), "on_broken");
        if self.advance(Fact::ReusedClosed) {
            self.fresh_only = true;
            return Ok(());
        }
        self.finish(Ending::Broken(kind), now);
        Ok(())
    }

    /// Time has passed. Early calls change nothing.
    ///
    /// # Errors
    /// [`Misuse`] after the end.
    pub fn on_timeout(&mut self, now: Timestamp) -> Result<(), Misuse> {
        self.is_over(now).map(|_| ())
    }

    // Commands.

    /// The caller wants no more of it. Having the answer, it is settled; else it is cancelled (E3, E30).
    ///
    /// # Errors
    /// [`Misuse`] after the end.
    pub fn cancel(&mut self, now: Timestamp) -> Result<(), Misuse> {
        if !self.is_over(now)? {
            self.note(now, |line| line, "cancel_exchange");
            self.end(Ending::Closed);
        }
        Ok(())
    }

    /// As [`cancel`](Self::cancel), by a client whose doing is not the exchange's to write down.
    pub(crate) fn close(&mut self, now: Timestamp) {
        if self.expire(now) == Ok(false) {
            self.end(Ending::Closed);
        }
    }

    /// Bounds how long a body is read on after its answer: until this moment, or so many bytes further. Then the
    /// exchange closes by itself, and is settled (E3). Without an answer it goes on as before.
    pub fn drain_until(&mut self, until: Timestamp, bytes: u64) {
        self.note_drain(until, bytes);
        self.bound_drain(until, bytes);
    }

    /// As [`drain_until`](Self::drain_until), by a client.
    pub(crate) fn bound_drain(&mut self, until: Timestamp, bytes: u64) {
        let received = self.body.as_ref().map_or(0, |body| body.received);
        self.drain = Some((until, received.saturating_add(bytes)));
    }

    // Outputs.

    /// The next event, in order. Drain it to `None` after each input.
    #[must_use = "an event that is dropped is lost"]
    #[inline]
    pub fn poll_event(&mut self) -> Option<ExchangeEvent> {
        // Each input is asked after to `None`.
        if self.events.is_empty() { None } else { self.next_event() }
    }

    fn next_event(&mut self) -> Option<ExchangeEvent> {
        taping::note_event(&mut self.tape, self.events.first()?);
        let may_hold_more = self.closing.is_some() || self.body.as_ref().is_some_and(Body::may_hold_more);
        if may_hold_more { self.poll_and_read_on() } else { self.events.pop() }
    }

    /// E2: what came with an event in the same bytes does not wait for more of them.
    fn poll_and_read_on(&mut self) -> Option<ExchangeEvent> {
        let event = self.events.pop();
        self.read_until_event(&mut &[][..]);
        event
    }

    /// The next event that is ready, left in its place.
    #[must_use]
    pub fn peek_event(&self) -> Option<&ExchangeEvent> {
        self.events.first()
    }

    /// When [`on_timeout`](Self::on_timeout) is due, if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        if self.has_ended() {
            return None;
        }
        // Most have a deadline and nothing else, of which none is the latest there could be.
        let mut due = self.deadline();
        let drained = self.drain_limit().map(|(until, _)| until);
        for limit in [self.idle_limit(), self.failed_limit(), drained] {
            if limit.is_some_and(|limit| due.is_none_or(|due| limit < due)) {
                due = limit;
            }
        }
        due
    }

    /// What the adapter should do next.
    #[must_use]
    pub const fn want(&self) -> Want {
        if self.has_ended() {
            return self.want_after;
        }
        match self.state {
            State::Unsent | State::Reusing | State::PartlySent => Want::Send { fresh: self.fresh_only },
            State::Sent | State::Headed | State::Streaming | State::Open => Want::Read,
            State::Answered => Want::Drain,
            State::Ended => self.want_after,
        }
    }

    // Getters.

    /// How far the request got.
    #[must_use]
    pub const fn exposure(&self) -> Exposure {
        self.exposure
    }

    /// Where the exchange stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The head of the final response, once it was read.
    #[must_use]
    pub fn head(&self) -> Option<&ResponseHead> {
        self.head.as_deref()
    }

    /// When the head of the final response was read; `Retry-After` counts from then (F13).
    #[must_use]
    pub const fn head_arrived(&self) -> Option<Timestamp> {
        self.head_at
    }

    /// Where the stream could be resumed as it stands: at its newest usable event id, else at the one it began at, with
    /// the last `retry`. `None` in eras without resumption, and as long as there is no such id (E26).
    #[must_use]
    pub fn cursor(&self) -> Option<Cursor> {
        Some(Cursor { last_event_id: self.last_event_id()?, retry: self.retry() })
    }

    /// The last `retry` of this stream, else the one that came with the cursor it began at; at least 10 ms (E26).
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        let begun_at = || self.request.cursor().and_then(|cursor| cursor.retry);
        let retry = self.body.as_ref().and_then(Body::retry).or_else(begun_at);
        retry.map(|retry| retry.max(state::MIN_RETRY))
    }

    /// What was passed over without a word (E23).
    #[must_use]
    pub fn ignored(&self) -> Ignored {
        self.body.as_ref().map(Body::ignored).unwrap_or_default()
    }

    /// Bytes of the body that are held, events that wait to be polled included; bounded by [`Limits`](crate::Limits).
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let closing = self.closing.as_ref().map_or(0, |closing| closing.held_bytes());
        let events = self.events.iter().map(ExchangeEvent::held_bytes).sum::<usize>();
        self.body.as_ref().map_or(0, Body::held_bytes) + closing + events
    }

    // Within.

    /// Records that `fact` happened; false if the state does not know it.
    fn advance(&mut self, fact: Fact) -> bool {
        let Some(next) = self.state.after(fact) else {
            return false;
        };
        self.state = next;
        self.exposure = self.exposure.max(next.exposure());
        true
    }

    /// What was written was written, also if the limit has passed meanwhile: a failure that told less would have the
    /// caller run it twice.
    fn fact(&mut self, fact: Fact, now: Timestamp) -> Result<(), Misuse> {
        if self.has_ended() {
            return Err(Misuse::Ended);
        }
        let is_known = self.advance(fact);
        if self.expire(now)? || is_known {
            self.note_fact(fact, now);
            return Ok(());
        }
        Err(Misuse::OutOfOrder)
    }

    /// E12: an input at or after a limit lets the exchange expire first; then it is over, and the input is
    /// dropped without being anybody's mistake.
    fn is_over(&mut self, now: Timestamp) -> Result<bool, Misuse> {
        let is_over = self.expire(now)?;
        if is_over {
            self.note(now, |line| line, "on_timeout");
        }
        Ok(is_over)
    }

    /// Ends what has reached its limit, and says whether it has.
    pub(crate) fn expire(&mut self, now: Timestamp) -> Result<bool, Misuse> {
        if self.has_ended() {
            return Err(Misuse::Ended);
        }
        let passed = |limit: Option<Timestamp>| limit.is_some_and(|limit| now >= limit);
        let limit = if passed(self.deadline()) || passed(self.failed_limit()) {
            TimeLimit::Deadline
        } else if passed(self.idle_limit()) {
            TimeLimit::Idle
        } else if passed(self.drain_limit().map(|(until, _)| until)) {
            self.end(Ending::Closed);
            return Ok(true);
        } else {
            return Ok(false);
        };
        self.finish(Ending::TimedOut(limit), now);
        Ok(true)
    }

    /// Whether no input counts any more: the verdict was given, or only has to be read out.
    const fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended) || self.closing.is_some()
    }

    /// Whether the response has a status of failure.
    fn is_failed(&self) -> bool {
        self.head.as_ref().is_some_and(|head| !head.is_success())
    }

    fn last_event_id(&self) -> Option<String> {
        let body = self.body.as_ref().and_then(Body::cursor);
        body.or_else(|| self.request.cursor().map(|cursor| cursor.last_event_id.as_str())).map(String::from)
    }

    /// The deadline, which an open channel has none of: it lasts as long as the session.
    fn deadline(&self) -> Option<Timestamp> {
        self.config.deadline.filter(|_| self.state != State::Open)
    }

    /// How long the body of a failed response is waited for: its status is known, and nothing better can come.
    fn failed_limit(&self) -> Option<Timestamp> {
        let is_failed = self.answer.is_none() && self.is_failed();
        self.head_at.filter(|_| is_failed).map(|at| at.saturating_add(self.config.failed_body_time))
    }

    /// The idle limit, which ends with the answer: then only the deadline is left.
    fn idle_limit(&self) -> Option<Timestamp> {
        self.idle_until.filter(|_| self.answer.is_none())
    }

    /// What bounds the reading on after the answer, once there is one.
    fn drain_limit(&self) -> Option<(Timestamp, u64)> {
        self.drain.filter(|_| self.answer.is_some())
    }

    /// The one place where an exchange ends.
    fn end(&mut self, ending: Ending) {
        let body = self.body.as_ref();
        let complaints = core::mem::take(&mut self.complaints);
        let evidence = Evidence {
            era: self.request.version.era(),
            due: self.due,
            exposure: self.exposure,
            status: self.head.as_ref().map(|head| head.status()),
            answer: self.answer,
            from_tail: self.from_tail,
            body: body.map_or(BodyKind::None, Body::kind),
            empty: body.is_none_or(|body| body.received == 0),
            failed: self.head.as_deref().filter(|head| !head.is_success()).map(|head| {
                Box::new(StatusFailure {
                    head: head.clone(),
                    excerpt: Excerpt::new(body.map(Body::excerpt).unwrap_or_default()),
                    error_code: complaints.error_code,
                })
            }),
            complaints,
            cursor: self.last_event_id(),
            retry: self.retry(),
            progressed: self.progressed,
        };
        if ending.leaves_the_connection_usable() {
            self.want_after = Want::Drain;
        }
        let verdict = state::judge(ending, evidence);
        self.advance(Fact::Verdict);
        self.events.push(ExchangeEvent::Ended(verdict));
    }
}

impl core::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exchange")
            .field("state", &self.state)
            .field("exposure", &self.exposure)
            .field("deadline", &self.config.deadline)
            .field("events", &self.events.iter().count())
            .finish_non_exhaustive()
    }
}
