//! Calls: what a client asked and the embedder answers, and what is said about them meanwhile (S3, S4).
//!
//! Rules: one answer a call, and nothing after it; what is said for a call that has ended goes nowhere and says so. A call
//! belongs to a stream; on which one it is decided when it begins.

use alloc::format;
use alloc::string::String;

use super::output::{CancelReason, Capabilities, IncomingRequest, SendError, Sent, ServerAnswer, ServerEvent};
use super::params::{CallParams, Level};
use super::queue::Weight;
use super::stream::{Form, Purpose};
use super::timers::Timer;
use super::{AskId, CallId, ExchangeId, Server, SessionKey, StreamId, text};
use crate::http::{Era, ProtocolVersion};
use crate::jsonrpc::{Completeness, Id, Message, Shape, check, object_member, shape, string};
use crate::time::Timestamp;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: Id,
    pub(super) stream: StreamId,
    pub(super) session: Option<SessionKey>,
    pub(super) version: ProtocolVersion,
    progress_token: Option<Id>,
    log_level: Option<Level>,
    /// Whether the embedder has heard of it. Of a call that the server answers by itself it never does.
    is_told: bool,
    /// What an answer changes in its session: a resource is watched (true) or no longer (false).
    watches: Option<(bool, String)>,
}

/// A request of the server's that waits for its answer.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) session: SessionKey,
}

/// Whom a request of the server's goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AskOf {
    Call(CallId),
    Session(SessionKey),
}

impl Server {
    // Commands.

    /// Answers a call. Before anything else was said for it, the answer is the whole body, as JSON; after that, the last
    /// event of the stream.
    ///
    /// # Errors
    /// [`SendError`]: the call has ended (cancelled, say), and the answer goes nowhere; or the answer is no JSON object or
    /// is too large, and another answer is to be given.
    pub fn respond(&mut self, call: CallId, answer: ServerAnswer, now: Timestamp) -> Result<Sent, SendError> {
        let known = self.told(call)?;
        let is_modern = known.version.era() == Era::Modern;
        let (text, status, is_result) = match answer {
            ServerAnswer::Result(result) if is_modern => {
                let answer = text::modern_answer(&known.id, &result, &self.config.server_info);
                (answer.ok_or(SendError::NotAnObject)?, 200, true)
            }
            ServerAnswer::Result(result) => {
                is_object(&result)?;
                (text::result(&known.id, &result), 200, true)
            }
            ServerAnswer::Error { code, message, data } => {
                if data.as_deref().is_some_and(|data| check(data) != Completeness::Whole) {
                    return Err(SendError::NotAnObject);
                }
                let status = if is_modern { status_of(code) } else { 200 };
                (text::error(Some(&known.id), code, &message, data.as_deref()), status, false)
            }
        };
        let watches = known.watches.clone().filter(|_| is_result).zip(known.session);
        let sent = self.answer(call, text, status, now)?;
        if let Some(((begins, uri), session)) = watches {
            self.watch(session, begins, uri);
        }
        Ok(sent)
    }

    /// As [`respond`](Self::respond), for who has no other answer to give: one that cannot be sent becomes an internal
    /// error, and one that nobody waits for goes nowhere.
    pub fn conclude(&mut self, call: CallId, answer: ServerAnswer, now: Timestamp) {
        if let Err(SendError::NotAnObject | SendError::TooLarge { .. }) = self.respond(call, answer, now) {
            self.respond(call, ServerAnswer::internal_error(), now).ok();
        }
    }

    /// Sends a notification that belongs to a call, before its answer. `params` is the JSON text of an object.
    ///
    /// Since 2026-07-28 a `notifications/message` goes only to who asked for its level in the request.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn notify(
        &mut self,
        call: CallId,
        method: &str,
        params: Option<&str>,
        now: Timestamp,
    ) -> Result<Sent, SendError> {
        let known = self.told(call)?;
        params.map_or(Ok(()), is_object)?;
        if method == "notifications/message" && known.version.era() == Era::Modern {
            let level = params.and_then(|params| object_member(params, "level")).and_then(Level::read);
            if known.log_level.is_none_or(|least| level.is_some_and(|level| level < least)) {
                return Ok(Sent::Unwanted);
            }
        }
        let stream = known.stream;
        self.enqueue(stream, &text::notification(method, params), Weight::Message, now)
    }

    /// Tells how far a call has got, under the client's own token; a client that gave none is not told.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent. A number that is not finite has no form in JSON, and is as good as none.
    pub fn progress(
        &mut self,
        call: CallId,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        now: Timestamp,
    ) -> Result<Sent, SendError> {
        let known = self.told(call)?;
        let Some(token) = known.progress_token.as_ref().filter(|_| progress.is_finite()) else {
            return Ok(Sent::Unwanted);
        };
        let total =
            total.filter(|total| total.is_finite()).map_or_else(String::new, |total| format!(r#","total":{total}"#));
        let message =
            message.map_or_else(String::new, |message| format!(r#","message":{}"#, text::json_string(message)));
        let params = format!(r#"{{"progressToken":{token},"progress":{progress}{total}{message}}}"#);
        self.notify(call, "notifications/progress", Some(&params), now)
    }

    /// Makes the response of a call an event stream now, instead of once something comes before the answer.
    ///
    /// # Errors
    /// [`SendError::Ended`].
    pub fn stream(&mut self, call: CallId, now: Timestamp) -> Result<(), SendError> {
        let stream = self.told(call)?.stream;
        self.decide_events(stream, now);
        Ok(())
    }

    /// Closes the connection of a call's stream and not the stream: the client is told when to come back for the rest, which
    /// is kept for it (2025-11-25; "polling").
    ///
    /// # Errors
    /// [`SendError::Ended`]; [`SendError::NotInRevision`] if the client could not come back.
    pub fn pause(&mut self, call: CallId, now: Timestamp) -> Result<(), SendError> {
        let known = self.told(call)?;
        let id = known.stream;
        let stream = self.streams.get(&id).ok_or(SendError::Ended)?;
        // Without an event that bore an id there is nothing to come back with.
        if stream.purpose != Purpose::Response || !stream.ids.is_some_and(|ids| ids.primes || ids.last > 0) {
            return Err(SendError::NotInRevision);
        }
        self.decide_events(id, now);
        let retry = self.config.retry;
        if let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.exchange.is_some()) {
            // The first event of a stream that is primed has said it.
            if !stream.ids.is_some_and(|ids| ids.primes) {
                stream.queue.push_retry(retry);
            }
            stream.closes = true;
            self.queued(id, now);
        }
        Ok(())
    }

    /// Asks the client of a call something, on the call's stream (before 2026-07-28; since then, a result that says
    /// `input_required` asks). The answer comes as [`ServerEvent::Reply`].
    ///
    /// # Errors
    /// [`SendError`]; nothing was asked.
    pub fn ask(
        &mut self,
        call: CallId,
        method: &str,
        params: Option<&str>,
        now: Timestamp,
    ) -> Result<AskId, SendError> {
        self.ask_of(AskOf::Call(call), method, params, now)
    }

    /// Asks a session something outside of its calls, as [`ask`](Self::ask) does.
    ///
    /// # Errors
    /// [`SendError`]; nothing was asked.
    pub fn ask_session(
        &mut self,
        session: SessionKey,
        method: &str,
        params: Option<&str>,
        now: Timestamp,
    ) -> Result<AskId, SendError> {
        self.ask_of(AskOf::Session(session), method, params, now)
    }

    fn ask_of(&mut self, of: AskOf, method: &str, params: Option<&str>, now: Timestamp) -> Result<AskId, SendError> {
        params.map_or(Ok(()), is_object)?;
        let (session, stream) = match of {
            AskOf::Call(call) => {
                let call = self.told(call)?;
                (call.session.ok_or(SendError::NotInRevision)?, call.stream)
            }
            AskOf::Session(session) => (session, self.stream_of_session(session)?),
        };
        let open = self.sessions.get(&session).ok_or(SendError::Ended)?;
        if open.asks.len() >= self.config.limits.max_calls_per_session {
            return Err(SendError::Full { limit: super::QueueLimit::Messages });
        }
        let ask = AskId(self.last_ask + 1);
        let request = text::request(&Id::from(ask.0), method, params);
        if self.enqueue(stream, &request, Weight::Message, now)? == Sent::Dropped {
            return Err(SendError::NoReader);
        }
        self.last_ask = ask.0;
        self.asks.insert(ask, Ask { session });
        if let Some(session) = self.sessions.get_mut(&session) {
            session.asks.insert(ask);
        }
        self.timers.set(Timer::Ask(ask), now.saturating_add(self.config.limits.ask_timeout));
        Ok(ask)
    }

    /// Whether a call is still to be answered.
    #[must_use]
    pub fn is_open(&self, call: CallId) -> bool {
        self.told(call).is_ok()
    }

    // Inside.

    /// A call of the embedder's.
    fn told(&self, call: CallId) -> Result<&Call, SendError> {
        self.calls.get(&call).filter(|call| call.is_told).ok_or(SendError::Ended)
    }

    /// The embedder hears of a call, unless it has ended meanwhile.
    pub(super) fn tell(&mut self, request: IncomingRequest) {
        if let Some(call) = self.calls.get_mut(&request.call) {
            call.is_told = true;
            self.events.push_back(ServerEvent::Request(request.into()));
        }
    }

    /// A call begins on a stream: what the embedder is told of it.
    pub(super) fn begin_call(
        &mut self,
        begun: Begun,
        message: Message,
        params: CallParams,
        now: Timestamp,
    ) -> IncomingRequest {
        let Begun { exchange, stream, session, version } = begun;
        self.last_call += 1;
        let name = CallId(self.last_call);
        let call = Call {
            id: message.id().cloned().unwrap_or(Id::Null),
            stream,
            session,
            version,
            progress_token: params.progress_token.clone(),
            log_level: params.log_level,
            is_told: false,
            watches: watches(&message),
        };
        self.calls.insert(name, call);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.open_calls.insert(name);
        }
        let capabilities = match session.and_then(|session| self.sessions.get_mut(&session)) {
            Some(session) => {
                session.calls.insert(name);
                Capabilities::Said(session.capabilities.clone())
            }
            None => Capabilities::InMessage(params.capabilities.unwrap_or_default()),
        };
        self.timers.set(Timer::Call(name), now.saturating_add(self.config.limits.call_timeout));
        let progress_token = params.progress_token;
        IncomingRequest { call: name, exchange, session, version, message, progress_token, capabilities }
    }

    /// The answer of a call goes on its stream, or is the whole body.
    pub(super) fn answer(
        &mut self,
        name: CallId,
        text: String,
        status: u16,
        now: Timestamp,
    ) -> Result<Sent, SendError> {
        let id = self.calls.get(&name).ok_or(SendError::Ended)?.stream;
        let limit = self.config.limits.max_answer_bytes;
        let Some(stream) = self.streams.get_mut(&id) else {
            self.forget_call(name);
            return Ok(Sent::Dropped);
        };
        let is_alone = stream.open_calls.len() == 1 && stream.purpose == Purpose::Response;
        let sent = match (&stream.form, stream.exchange) {
            (Form::Undecided, None) => Sent::Dropped,
            // A stream could not bear the error's status.
            (Form::Undecided, Some(exchange)) if is_alone && (!self.config.always_streams || status != 200) => {
                if text.len() > limit {
                    return Err(SendError::TooLarge { bytes: text.len(), limit: super::QueueLimit::AnswerBytes });
                }
                stream.form = Form::Json(status, text.into_bytes());
                self.wakes.insert(exchange);
                self.timers.clear(Timer::KeepAlive(id));
                Sent::Queued
            }
            _ => match self.enqueue(id, &text, Weight::Answer, now) {
                Err(error @ SendError::Full { .. }) => {
                    // An answer that has no room can never come: the stream must not look as if it could.
                    self.forget_call(name);
                    self.cut(id, now);
                    return Err(error);
                }
                sent => sent?,
            },
        };
        self.forget_call(name);
        self.after_answer(id, sent, now);
        Ok(sent)
    }

    /// What an answer, or a call's end without one, means to its stream.
    fn after_answer(&mut self, id: StreamId, sent: Sent, now: Timestamp) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        if !stream.open_calls.is_empty() {
            return;
        }
        match stream.purpose {
            Purpose::Response if sent == Sent::Dropped => self.forget_stream(id),
            Purpose::Response if matches!(stream.form, Form::Json(..)) => stream.is_over = true,
            Purpose::Response | Purpose::Subscription => self.finish(id, now),
            Purpose::Channel if self.is_closing => self.finish(id, now),
            Purpose::Channel | Purpose::Listening => {}
        }
    }

    pub(super) fn forget_call(&mut self, name: CallId) -> Option<Call> {
        let call = self.calls.remove(&name)?;
        self.timers.clear(Timer::Call(name));
        if let Some(stream) = self.streams.get_mut(&call.stream) {
            stream.open_calls.remove(name);
        }
        if let Some(session) = call.session.and_then(|session| self.sessions.get_mut(&session)) {
            session.calls.remove(&name);
        }
        Some(call)
    }

    /// Nobody wants the answer of a call.
    pub(super) fn cancel_call(&mut self, name: CallId, reason: CancelReason, now: Timestamp) {
        if let Some(call) = self.forget_call(name) {
            if call.is_told {
                self.events.push_back(ServerEvent::Cancelled { call: name, reason });
            }
            let is_read = self.streams.get(&call.stream).is_some_and(|stream| stream.exchange.is_some());
            self.after_answer(call.stream, if is_read { Sent::Queued } else { Sent::Kept }, now);
        }
    }

    pub(super) fn call_timed_out(&mut self, name: CallId, now: Timestamp) {
        if let Some(call) = self.calls.get(&name) {
            let text = text::error(Some(&call.id), super::refusal::INTERNAL_ERROR, "The request took too long", None);
            let is_told = call.is_told;
            if self.answer(name, text, 200, now).is_ok() && is_told {
                self.events.push_back(ServerEvent::Cancelled { call: name, reason: CancelReason::Timeout });
            }
        }
    }

    pub(super) fn fail_ask(&mut self, ask: AskId) {
        self.timers.clear(Timer::Ask(ask));
        if let Some(failed) = self.asks.remove(&ask) {
            if let Some(session) = self.sessions.get_mut(&failed.session) {
                session.asks.remove(&ask);
            }
            self.events.push_back(ServerEvent::AskFailed { ask });
        }
    }

    /// An answer from a client: to what was asked of its own session, or a stray.
    pub(super) fn take_reply(&mut self, session: SessionKey, message: Message) -> Option<ServerEvent> {
        let Some(Id::Integer(number)) = message.id() else {
            return None;
        };
        let ask = AskId(u64::try_from(*number).ok()?);
        if self.asks.get(&ask)?.session != session {
            return None;
        }
        self.asks.remove(&ask);
        self.timers.clear(Timer::Ask(ask));
        if let Some(session) = self.sessions.get_mut(&session) {
            session.asks.remove(&ask);
        }
        Some(ServerEvent::Reply { ask, message })
    }
}

/// What a call begins with.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) exchange: ExchangeId,
    pub(super) stream: StreamId,
    pub(super) session: Option<SessionKey>,
    pub(super) version: ProtocolVersion,
}

/// The status under which an error is answered since 2026-07-28, if it is the whole body: the specification names it for
/// errors of its own; other errors are ordinary answers.
const fn status_of(code: i64) -> u16 {
    match code {
        super::refusal::METHOD_NOT_FOUND => 404,
        super::refusal::HEADER_MISMATCH | super::refusal::MISSING_CAPABILITY | super::refusal::UNSUPPORTED_VERSION => {
            400
        }
        _ => 200,
    }
}

pub(super) fn is_object(text: &str) -> Result<(), SendError> {
    match (shape(text), check(text)) {
        (Shape::Object, Completeness::Whole) => Ok(()),
        _ => Err(SendError::NotAnObject),
    }
}

/// What a request of the earlier revisions does to the list of resources that its session is told of.
fn watches(message: &Message) -> Option<(bool, String)> {
    let begins = match message.method()? {
        "resources/subscribe" => true,
        "resources/unsubscribe" => false,
        _ => return None,
    };
    let uri = object_member(message.params()?, "uri").and_then(string)?;
    Some((begins, uri.into_owned()))
}
