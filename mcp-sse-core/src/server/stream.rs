//! One event stream, or the answer that never needed one: what waits on it, who reads it, and when it is over (S3, S5).
//!
//! Rules: the form of a response is decided as late as it can be: JSON if the answer comes first, an event stream once
//! anything comes before it. Nothing follows what ended a stream. A stream outlives its reader if it can be resumed. Which
//! messages go on which stream is not decided here.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::output::{ReplyBody, ReplyHead, SendError, Sent};
use super::queue::{Queue, QueueLimit, Weight};
use super::timers::Timer;
use super::{CallId, ExchangeId, Server, SessionKey, StreamId, WhenFull};
use crate::sse::{EventFields, SseEncoder};
use crate::time::Timestamp;

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The response to one request, or to those of an array.
    Response,
    /// What a session is told outside of its requests (2025-03-26 to 2025-11-25).
    Listening,
    /// All that a session of 2024-11-05 is told.
    Channel,
    /// A subscription (2026-07-28).
    Subscription,
}

/// What the body is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing has been said yet.
    Undecided,
    /// The answer alone, under this status.
    Json(u16, Vec<u8>),
    /// Events.
    Events,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) purpose: Purpose,
    pub(super) form: Form,
    /// Who reads it now.
    pub(super) exchange: Option<ExchangeId>,
    pub(super) session: Option<SessionKey>,
    pub(super) queue: Queue,
    /// Calls whose answers belong here and have not come.
    pub(super) open_calls: OpenCalls,
    /// Of a stream that can be resumed.
    pub(super) ids: Option<EventIds>,
    /// Nothing will be added.
    pub(super) is_over: bool,
    /// This connection ends once all is written; the stream does not.
    pub(super) closes: bool,
}

/// Calls by their names. Nearly all streams have one, for which nothing is allocated.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    one: Option<CallId>,
    others: BTreeSet<CallId>,
}

impl OpenCalls {
    pub(super) fn insert(&mut self, call: CallId) {
        if self.one.is_none() {
            self.one = Some(call);
        } else {
            self.others.insert(call);
        }
    }

    pub(super) fn remove(&mut self, call: CallId) {
        if self.one == Some(call) {
            self.one = None;
        } else {
            self.others.remove(&call);
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, the earliest first; none is left.
    pub(super) fn take(&mut self) -> BTreeSet<CallId> {
        let mut all = core::mem::take(&mut self.others);
        all.extend(self.one.take());
        all
    }
}

/// How the events of a stream are named (S11): the stream's number within its session, and a count.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventIds {
    pub(super) stream: u64,
    pub(super) last: u64,
    /// Whether the first event is an empty one, that gives a client an id to come back with (since 2025-11-25: before,
    /// clients take every event for a message).
    pub(super) primes: bool,
}

impl Stream {
    pub(super) fn new(purpose: Purpose, exchange: ExchangeId, session: Option<SessionKey>) -> Self {
        Self {
            purpose,
            form: if purpose == Purpose::Response { Form::Undecided } else { Form::Events },
            exchange: Some(exchange),
            session,
            queue: Queue::default(),
            open_calls: OpenCalls::default(),
            ids: None,
            is_over: false,
            closes: false,
        }
    }
}

/// Reads an event's id: the stream's number, and the count.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, count) = id.split_once('-')?;
    let number = |text: &str| {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        if is_plain { text.parse().ok() } else { None }
    };
    Some((number(stream)?, number(count)?))
}

/// The head of an event stream.
pub(super) fn stream_head() -> ReplyHead {
    const HEADERS: &[(&str, Cow<'static, str>)] = &[
        ("Content-Type", Cow::Borrowed("text/event-stream")),
        ("Cache-Control", Cow::Borrowed("no-cache")),
        // Tells proxies to pass each event on at once ("Receiving Messages").
        ("X-Accel-Buffering", Cow::Borrowed("no")),
    ];
    ReplyHead { status: 200, headers: Cow::Borrowed(HEADERS), body: ReplyBody::Stream }
}

impl Server {
    /// A stream that is new.
    pub(super) fn add_stream(&mut self, stream: Stream, now: Timestamp) -> StreamId {
        self.last_stream += 1;
        let id = StreamId(self.last_stream);
        let exchange = stream.exchange;
        self.streams.insert(id, stream);
        self.attached(id, exchange, now);
        id
    }

    /// A stream has found a reader.
    pub(super) fn attached(&mut self, id: StreamId, exchange: Option<ExchangeId>, now: Timestamp) {
        if let Some(exchange) = exchange {
            self.timers.clear(Timer::Replay(id));
            self.attach_exchange(exchange, id);
            self.wakes.insert(exchange);
            self.restart_keep_alive(id, now);
        }
    }

    pub(super) fn restart_keep_alive(&mut self, id: StreamId, now: Timestamp) {
        if let Some(interval) = self.config.keep_alive {
            self.timers.set(Timer::KeepAlive(id), now.saturating_add(interval));
        }
    }

    /// A message goes on a stream, or is refused whole.
    pub(super) fn enqueue(
        &mut self,
        id: StreamId,
        json: &str,
        weight: Weight,
        now: Timestamp,
    ) -> Result<Sent, SendError> {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| !stream.is_over) else {
            return Err(SendError::Ended);
        };
        if stream.form == Form::Undecided && stream.exchange.is_none() {
            // Its reader went before it had an id to come back with.
            return Ok(Sent::Dropped);
        }
        let limits = &self.config.limits;
        // Framing adds little to a message; the bound is one of what waits, so it counts.
        let bytes = json.len().saturating_add(FRAMING);
        if let Err(limit) = stream.queue.check(weight, bytes, stream.open_calls.len(), limits) {
            return Err(self.refuse(id, weight, bytes, limit, now));
        }
        self.decide_events(id, now);
        let Some(stream) = self.streams.get_mut(&id) else {
            return Err(SendError::Ended);
        };
        let (frame, number) = stream.frame(json);
        stream.queue.push(frame, number, weight);
        let sent = match (stream.exchange, stream.ids) {
            (Some(_), _) => Sent::Queued,
            (None, Some(_)) => Sent::Kept,
            (None, None) => Sent::Dropped,
        };
        self.queued(id, now);
        Ok(sent)
    }

    /// Something waits on a stream that did not before.
    pub(super) fn queued(&mut self, id: StreamId, now: Timestamp) {
        if let Some(exchange) = self.streams.get(&id).and_then(|stream| stream.exchange) {
            self.wakes.insert(exchange);
            if !self.timers.is_set(Timer::Stall(id)) {
                self.timers.set(Timer::Stall(id), now.saturating_add(self.config.limits.stall_timeout));
            }
        }
    }

    fn refuse(&mut self, id: StreamId, weight: Weight, bytes: usize, limit: QueueLimit, now: Timestamp) -> SendError {
        let most = match weight {
            Weight::Answer => self.config.limits.max_answer_bytes,
            _ => self.config.limits.max_queue_bytes,
        };
        if bytes > most {
            return SendError::TooLarge { bytes, limit };
        }
        if self.config.when_full == WhenFull::Close {
            self.cut(id, now);
        }
        SendError::Full { limit }
    }

    /// A response becomes an event stream, if its form was open; its reader gets an id to come back with.
    pub(super) fn decide_events(&mut self, id: StreamId, now: Timestamp) {
        let retry = self.config.retry;
        let is_open = |stream: &&mut Stream| stream.form == Form::Undecided && stream.exchange.is_some();
        let Some(stream) = self.streams.get_mut(&id).filter(is_open) else {
            return;
        };
        stream.form = Form::Events;
        if stream.ids.is_some_and(|ids| ids.primes) {
            stream.prime(retry);
        }
        self.queued(id, now);
    }

    /// Nothing will be added to a stream. One that nobody reads, and nobody can come back for, is forgotten.
    pub(super) fn finish(&mut self, id: StreamId, now: Timestamp) {
        self.decide_events(id, now);
        // One whose reader went before anything was said is not kept either.
        let is_kept = self.is_kept(id);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.is_over = true;
            match stream.exchange {
                Some(exchange) => {
                    self.wakes.insert(exchange);
                }
                None => self.keep_or_forget(id, is_kept, now),
            }
        }
    }

    /// The connection of a stream is to be closed at once: its reader does not read.
    pub(super) fn cut(&mut self, id: StreamId, now: Timestamp) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let exchange = stream.exchange;
        if let Some(exchange) = exchange {
            self.abandon(exchange);
            self.lost_reader(id, now);
        }
    }

    /// Whether a stream is kept though nobody reads it: its session lives, and its events have ids.
    pub(super) fn is_kept(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| {
            stream.ids.is_some()
                && stream.form == Form::Events
                && stream.session.is_some_and(|session| self.sessions.contains_key(&session))
        })
    }

    /// What becomes of a stream that has lost its reader, or was read to its end. One that goes on is kept with its session.
    pub(super) fn keep_or_forget(&mut self, id: StreamId, is_kept: bool, now: Timestamp) {
        if !is_kept {
            self.forget_stream(id);
        } else if self.streams.get(&id).is_some_and(|stream| stream.is_over) {
            self.timers.set(Timer::Replay(id), now.saturating_add(self.config.limits.replay_timeout));
        }
    }

    pub(super) fn forget_stream(&mut self, id: StreamId) {
        self.timers.clear(Timer::KeepAlive(id));
        self.timers.clear(Timer::Stall(id));
        self.timers.clear(Timer::Replay(id));
        if let Some(stream) = self.streams.remove(&id) {
            if let Some(session) = stream.session.and_then(|session| self.sessions.get_mut(&session)) {
                if let Some(ids) = stream.ids {
                    session.streams.remove(&ids.stream);
                }
                if session.listening == Some(id) {
                    session.listening = None;
                }
            }
        }
    }

    /// A stream has been silent for a while.
    pub(super) fn keep_alive(&mut self, id: StreamId, now: Timestamp) {
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.exchange.is_some()) else {
            return;
        };
        match stream.form {
            Form::Json(..) => return,
            Form::Undecided => self.decide_events(id, now),
            // While something waits, a comment would tell nothing.
            Form::Events if stream.queue.has_waiting() || stream.is_over => {}
            Form::Events => {
                let mut frame = Vec::new();
                SseEncoder::new(&mut frame).comment("");
                stream.queue.push(frame, 0, Weight::Nothing);
                self.queued(id, now);
            }
        }
        self.restart_keep_alive(id, now);
    }
}

/// What an event has beside its message, at most by and large.
const FRAMING: usize = 32;

impl Stream {
    /// An event with the next id.
    fn frame(&mut self, json: &str) -> (Vec<u8>, u64) {
        let (id, number) = self.next_id();
        let mut frame = Vec::with_capacity(json.len() + FRAMING);
        // The id is ours: digits and a hyphen.
        SseEncoder::new(&mut frame).json(fields(id.as_deref()), json).ok();
        (frame, number)
    }

    fn next_id(&mut self) -> (Option<String>, u64) {
        match &mut self.ids {
            None => (None, 0),
            Some(ids) => {
                ids.last += 1;
                (Some(format!("{}-{}", ids.stream, ids.last)), ids.last)
            }
        }
    }

    /// An event without a message, so that there is an id to come back with.
    pub(super) fn prime(&mut self, retry: core::time::Duration) {
        let (id, number) = self.next_id();
        let mut frame = Vec::new();
        SseEncoder::new(&mut frame).event(fields(id.as_deref()).with_retry(retry), "").ok();
        self.queue.push(frame, number, Weight::Nothing);
    }
}

fn fields(id: Option<&str>) -> EventFields<'_> {
    id.map_or_else(EventFields::default, |id| EventFields::default().with_id(id))
}
