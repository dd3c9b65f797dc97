//! What of a client goes onto its tape: commands and facts in the words of its methods, steps as what is expected.
//!
//! Rules: only what changed something is written, so that a recording is as short as what happened. Facts that come to an
//! exchange while it is lent out are its own until it is returned, and are written then, with their own times; that it
//! was lent is written only if anything else happened meanwhile, since nothing else could tell. What the client does by
//! itself is never written: it follows. How a line is read back is in [`recording`](crate::recording).

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;

use super::asking::ErrorReply;
use super::config::{ClientConfig, Protocol};
use super::outcome::{CallEvent, CallId, Done, Outcome, Step};
use super::policy::{CallOptions, ReissuePolicy};
use super::{Client, ExchangeId};
use crate::exchange::{
    Exchange, answer_words, failure_words, name_of_cause, name_of_damage, name_of_tail, sized_message,
};
use crate::jsonrpc::Id;
use crate::tape::{Line, RecordingConfig, Tape, duration};
use crate::time::Timestamp;

/// A client's tape, and which exchanges are lent out without anybody having had to know.
pub(super) struct Recorder {
    tape: Tape,
    lent: BTreeSet<ExchangeId>,
}

/// A poll that may have to be written.
pub(super) struct Poll {
    call: Option<CallId>,
    now: Timestamp,
    /// Whether it does something even if it gives no step.
    works: bool,
}

impl Recorder {
    pub(super) const fn new(config: &RecordingConfig) -> Self {
        Self { tape: Tape::new(config, Timestamp::ZERO, 0, false), lent: BTreeSet::new() }
    }

    fn write(&mut self, line: Line) {
        let latest = self.tape.latest;
        while let Some(id) = self.lent.pop_first() {
            self.tape.write(Line::at(latest, "lend_exchange").arg(id.0));
        }
        self.tape.write(line);
    }

    /// Takes over what an exchange has written.
    fn take(&mut self, exchange: &mut Exchange) {
        let Some((lines, is_full)) = exchange.tape_mut().as_deref_mut().map(Tape::take) else {
            return;
        };
        lines.into_iter().for_each(|line| self.tape.write(line));
        if is_full {
            self.tape.stop();
        }
    }
}

impl Client {
    /// Writes a line, after all that the exchanges at hand were told.
    pub(super) fn note(&mut self, now: Timestamp, word: &'static str, make: impl FnOnce(Line) -> Line) {
        self.collect();
        if let Some(recorder) = &mut self.recorder {
            recorder.write(make(Line::at(now, word)));
        }
    }

    /// As [`note`](Self::note), for what has no time of its own.
    pub(super) fn note_now(&mut self, word: &'static str, make: impl FnOnce(Line) -> Line) {
        if let Some(now) = self.recorder.as_ref().map(|recorder| recorder.tape.latest) {
            self.note(now, word, make);
        }
    }

    /// The line of a call that is about to begin, if anything is written down.
    pub(super) fn line_of(
        &self,
        word: &'static str,
        (method, params): (&str, Option<&str>),
        options: &CallOptions,
        now: Timestamp,
    ) -> Option<Line> {
        self.recorder.as_ref()?;
        let line = Line::at(now, word);
        // There is one way to listen.
        let line = if word == "listen" { line } else { line.arg(method) };
        Some(params.into_iter().fold(options_words(line, options), Line::payload))
    }

    /// Writes that line, if it has begun: one that cannot be sent changes nothing.
    pub(super) fn note_begun<T, E>(&mut self, line: Option<Line>, begun: Result<T, E>) -> Result<T, E> {
        if let (Some(line), Ok(_)) = (line, &begun) {
            self.collect();
            if let Some(recorder) = &mut self.recorder {
                recorder.write(line);
            }
        }
        begun
    }

    pub(super) fn note_respond(
        &mut self,
        call: CallId,
        request: &Id,
        answer: Result<&&str, &ErrorReply>,
        now: Timestamp,
    ) {
        self.note(now, "respond", |line| {
            let line = line.arg(call.0).named("id", request);
            match answer {
                Ok(result) => line.payload(*result),
                Err(error) => line.named("error", error.code).payload(error.message.as_str()),
            }
        });
    }

    pub(super) fn note_timeout(&mut self, now: Timestamp) {
        let is_due = |exchange: &Exchange| exchange.poll_timeout().is_some_and(|due| now >= due);
        let is_any = || self.exchanges.present().any(is_due);
        if self.recorder.is_some() && is_any() {
            self.note(now, "on_timeout", |line| line);
        }
    }

    pub(super) fn note_lent(&mut self, id: ExchangeId) {
        self.collect();
        if let Some(recorder) = &mut self.recorder {
            recorder.lent.insert(id);
        }
    }

    pub(super) fn note_returned(&mut self, id: ExchangeId, exchange: &mut Exchange, now: Timestamp) {
        let is_lent = self.exchanges.get(id).is_some_and(|running| running.exchange.is_none());
        if let Some(recorder) = self.recorder.as_mut().filter(|_| is_lent) {
            recorder.take(exchange);
            if !recorder.lent.remove(&id) {
                self.note(now, "return_exchange", |line| line.arg(id.0));
            }
        }
    }

    pub(super) fn note_poll(&mut self, call: Option<CallId>, now: Timestamp) -> Option<Poll> {
        self.recorder.as_ref()?;
        self.collect();
        // What an exchange was told changes nothing here until it has something to tell; but for the opening of a session's
        // listening stream, which a head alone ends.
        let tells = |id| {
            let running = self.exchanges.get(id).filter(|running| call.is_none_or(|call| running.call == call));
            running.and_then(|running| running.exchange.as_ref()?.peek_event()).is_some()
        };
        let is_due = |id: &CallId| self.due(*id).is_some_and(|at| now >= at);
        let has_unsent = || self.exchanges.touched().any(|id| self.send_step(id).is_some());
        let works = self.origin.opening.is_some()
            || self.exchanges.touched().any(tells)
            || self.waiting.iter().any(is_due)
            || has_unsent();
        Some(Poll { call, now, works })
    }

    pub(super) fn note_step(&mut self, poll: Option<Poll>, step: Option<&Step>) {
        let (Some(recorder), Some(poll)) = (&mut self.recorder, poll) else {
            return;
        };
        if step.is_none() && !poll.works {
            return;
        }
        recorder.write(match poll.call {
            Some(call) => Line::at(poll.now, "poll_step_of").arg(call.0),
            None => Line::at(poll.now, "poll_step"),
        });
        recorder.write(step.map_or_else(|| Line::new("expect").arg("none"), step_words));
    }

    /// Gives a new exchange its tape.
    pub(super) fn recorded(&self, mut exchange: Exchange, id: ExchangeId) -> Exchange {
        let recording = self.config.recording.as_ref().filter(|_| self.recorder.is_some());
        *exchange.tape_mut() = recording.map(|recording| Box::new(Tape::new(recording, Timestamp::ZERO, id.0, false)));
        exchange
    }

    /// Takes over what the exchanges at hand were told.
    fn collect(&mut self) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        self.exchanges.each_touched(|exchange| recorder.take(exchange));
    }

    /// The lines that begin a recording, and the tape; nothing if nothing is recorded.
    pub(crate) fn head_lines(&mut self) -> Option<([Line; 2], &Tape)> {
        self.collect();
        let tape = &self.recorder.as_ref()?.tape;
        Some(([Line::new("client").arg(self.endpoint.as_str()), config_words(&self.config)], tape))
    }
}

fn options_words(line: Line, options: &CallOptions) -> Line {
    line.maybe("timeout", options.timeout.map(duration))
        .maybe("idle", options.idle.map(duration))
        .named("reissue", name_of_policy(options.reissue))
        .named("max_reissues", options.max_reissues)
        .named("backoff_first", duration(options.backoff.first))
        .named("backoff_most", duration(options.backoff.most))
        .named("replay_safe", options.replay_safe)
        .named("hinted_idempotent", options.hinted_idempotent)
}

/// The word for a policy.
pub(crate) const fn name_of_policy(policy: ReissuePolicy) -> &'static str {
    match policy {
        ReissuePolicy::Always => "always",
        ReissuePolicy::ReplaySafe => "replay_safe",
        ReissuePolicy::Never => "never",
    }
}

/// How the client was made. Of headers, which hold credentials, the names alone.
fn config_words(config: &ClientConfig) -> Line {
    let protocol = match config.protocol {
        Protocol::Fixed(version) => String::from(version.as_str()),
        Protocol::Auto => String::from("auto"),
    };
    let line = Line::new("config")
        .named("protocol", protocol)
        .named("handshake", config.handshake)
        .named("probe", config.probe)
        .named("handshake_timeout", duration(config.handshake_timeout))
        .named("listening_timeout", duration(config.listening_timeout))
        .named("max_barren_openings", config.max_barren_openings)
        .named("allows_foreign_endpoint", config.allows_foreign_endpoint)
        .named("max_answers_in_flight", config.max_answers_in_flight)
        .named("seed", config.seed)
        .named("tail", name_of_tail(config.tail))
        .named("strict_ids", config.strict_ids)
        .named("follow_redirects", config.follow_redirects)
        .named("trusts_server_hints", config.trusts_server_hints)
        .named("cancel_timeout", duration(config.cancel_timeout))
        .named("drain_timeout", duration(config.connections.drain_timeout))
        .named("drain_bytes", config.connections.drain_bytes)
        .named("client_info", &config.client_info)
        .named("capabilities", &config.capabilities);
    let line = config.headers.iter().fold(line, |line, (name, _)| line.named("header", name));
    let line = config.replay_safe_methods.iter().fold(line, |line, method| line.named("replay_safe_method", method));
    let never = config.never_reissued_methods.iter();
    let line = never.fold(line, |line, method| line.named("never_reissued_method", method));
    let line = config.handled_requests.iter().fold(line, |line, method| line.named("handled_request", method));
    config.limits.words(line)
}

/// A step that was given out. Of a request its place, its size and the names of its headers; no query, which may hold a
/// secret.
pub(crate) fn step_words(step: &Step) -> Line {
    let line = Line::new("expect");
    match step {
        Step::Send(id, request) => {
            let place = request.endpoint.as_str();
            let place = place.split_once('?').map_or(place, |(place, _)| place);
            let line = line.arg("send").arg(id.0).arg(request.method).arg(place);
            let names = request.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
            let names = names.collect::<alloc::vec::Vec<_>>().join(",");
            line.named("headers", names).sized(&request.body)
        }
        Step::Close(id) => line.arg("close").arg(id.0),
        Step::Release(id) => line.arg("release").arg(id.0),
        Step::Event(call, event) => call_event_words(line.arg("event").arg(call.0), event),
        Step::Done(call, done) => done_words(line.arg("done").arg(call.0), done),
        Step::Background(call, other) => line.arg("background").arg(call.0).arg(other.0),
    }
}

fn call_event_words(line: Line, event: &CallEvent) -> Line {
    match event {
        CallEvent::Notification { attempt, message } => {
            sized_message(line.arg("notification").named("attempt", attempt), message)
        }
        CallEvent::Request { attempt, message, is_violation, awaits_reply } => {
            let line = line.arg("request").named("attempt", attempt);
            sized_message(line.flag("violation", *is_violation).flag("awaits_reply", *awaits_reply), message)
        }
        CallEvent::Stray { attempt, id, bytes } => {
            line.arg("stray").named("attempt", attempt).maybe("id", id.as_ref()).named("bytes", bytes)
        }
        CallEvent::Oversized { attempt, limit } => {
            line.arg("oversized").named("attempt", attempt).named("limit", limit)
        }
        CallEvent::Reissue { attempt, cause, exposure } => line
            .arg("reissue")
            .named("attempt", attempt)
            .named("cause", name_of_cause(*cause))
            .named("exposure", exposure),
        CallEvent::Resume { attempt, cause, after } => line
            .arg("resume")
            .named("attempt", attempt)
            .named("cause", name_of_cause(*cause))
            .named("after", duration(*after)),
        CallEvent::Acknowledged { attempt, message, is_whole } => {
            let line = line.arg("acknowledged").named("attempt", attempt).named("whole", is_whole);
            sized_message(line, message)
        }
        CallEvent::ToolDropped { attempt, tool } => {
            line.arg("tool_dropped").named("attempt", attempt).named("index", tool.index)
        }
        CallEvent::Answer { attempt, answer, damage, earlier_may_have_run } => {
            let line = answer_words(line.arg("answer").named("attempt", attempt), &answer.info)
                .maybe("damage", damage.map(name_of_damage))
                .flag("earlier_may_have_run", *earlier_may_have_run);
            sized_message(line, &answer.message)
        }
    }
}

fn done_words(line: Line, done: &Done) -> Line {
    let line = match &done.outcome {
        Outcome::Settled(answer) => answer_words(line.arg("settled"), answer),
        Outcome::Salvaged { answer, damage } => {
            answer_words(line.arg("salvaged").named("damage", name_of_damage(*damage)), answer)
        }
        Outcome::Accepted { status } => line.arg("accepted").named("status", status),
        Outcome::ListeningEnded { status } => line.arg("listening_ended").maybe("status", *status),
        Outcome::Failed(failure) => failure_words(line.arg("failed"), failure),
    };
    line.named("attempts", done.attempts)
        .named("reached", done.exposure)
        .flag("earlier_may_have_run", done.earlier_may_have_run)
}
