//! What of an exchange goes onto its tape: facts in the words of its methods, events and verdicts as what is expected.
//!
//! Rules: a fact is written once it was taken: what was a mistake, and a time-out that came early, changed nothing and
//! is not. Payloads of events are told by size and checksum. How a line is read back is in
//! [`recording`](crate::recording), in the same words.

use alloc::boxed::Box;
use alloc::string::String;

use super::outcome::{
    AnswerInfo, BreakKind, Cause, CodingProblem, Damage, Failure, FailureKind, HandshakeProblem, IdMatch,
    MessageProblem, SizeLimit, TimeLimit,
};
use super::request::{Carries, Cursor, ExchangeConfig, Request, TailRule};
use super::state::Fact;
use super::{Exchange, ExchangeEvent, Framing, Verdict};
use crate::http::ResponseHead;
use crate::jsonrpc::Message;
use crate::tape::{Line, Tape, duration, millis};
use crate::time::Timestamp;

impl Exchange {
    /// Writes a line, if anything is written down.
    pub(super) fn note(&mut self, now: Timestamp, make: impl FnOnce(Line) -> Line, word: &'static str) {
        if let Some(tape) = &mut self.tape {
            let line = make(Line::at(now, word).arg(tape.number));
            tape.write(line);
        }
    }

    pub(super) fn note_fact(&mut self, fact: Fact, now: Timestamp) {
        let word = match fact {
            Fact::Connected => "on_connected",
            Fact::Reused => "on_reused",
            Fact::FirstByteWritten => "on_sending",
            Fact::AllWritten => "on_sent",
            // The others come with more than their name.
            _ => return,
        };
        self.note(now, |line| line, word);
    }

    pub(super) fn note_head(&mut self, head: &ResponseHead, now: Timestamp) {
        let write = |line: Line| {
            let line = line.arg(head.status());
            head.facts().into_iter().fold(line, |line, (name, value)| line.named(name, value))
        };
        self.note(now, write, "on_head");
    }

    /// Of what was given, all but the last `left` bytes were taken.
    pub(super) fn note_body(&mut self, given: &[u8], left: usize, now: Timestamp) {
        let taken = given.len().checked_sub(left).and_then(|taken| given.get(..taken)).unwrap_or_default();
        match &mut self.tape {
            Some(tape) if !tape.has_room_for(taken.len()) => tape.stop(),
            Some(_) => self.note(now, |line| line.payload(taken), "on_body"),
            None => {}
        }
    }

    pub(super) fn note_drain(&mut self, until: Timestamp, bytes: u64) {
        let now = self.tape.as_ref().map_or(until, |tape| tape.latest);
        self.note(now, |line| line.named("until", millis(until)).named("bytes", bytes), "drain_until");
    }

    /// The tape that a client gives to its exchange, to be emptied by it.
    pub(crate) fn tape_mut(&mut self) -> &mut Option<Box<Tape>> {
        &mut self.tape
    }

    /// The lines that begin a recording of this exchange alone.
    pub(crate) fn head_lines(&self) -> Option<([Line; 2], &Tape)> {
        let tape = self.tape.as_deref()?;
        let exchange = request_words(&self.request, Line::new("exchange").named("begun", millis(tape.begun)));
        Some(([exchange, config_words(&self.config)], tape))
    }
}

pub(super) fn note_event(tape: &mut Option<Box<Tape>>, event: &ExchangeEvent) {
    if let Some(tape) = tape.as_deref_mut().filter(|tape| tape.keeps_events) {
        tape.write(event_words(event));
    }
}

fn request_words(request: &Request, line: Line) -> Line {
    let line = line
        .named("method", &request.method)
        .named("version", request.version)
        .maybe("id", request.id.as_ref())
        .maybe("progress_token", request.progress_token.as_ref());
    let cursor = |line: Line, cursor: &Cursor| {
        line.named("last_event_id", &cursor.last_event_id).maybe("retry", cursor.retry.map(duration))
    };
    match &request.carries {
        Carries::Message => line.named("carries", "message"),
        Carries::Resumption(at) => cursor(line.named("carries", "resumption"), at),
        Carries::Listening(at) => {
            let line = line.named("carries", "listening");
            at.iter().fold(line, cursor)
        }
        Carries::Channel => line.named("carries", "channel"),
        Carries::Deletion => line.named("carries", "deletion"),
    }
}

fn config_words(config: &ExchangeConfig) -> Line {
    let line = Line::new("config")
        .named("tail", name_of_tail(config.tail))
        .named("strict_ids", config.strict_ids)
        .maybe("deadline", config.deadline.map(millis))
        .maybe("idle", config.idle.map(duration))
        .named("follow_redirects", config.follow_redirects)
        .named("fresh_connection", config.fresh_connection)
        .named("failed_body_time", duration(config.failed_body_time));
    config.limits.words(line)
}

/// What an exchange told.
pub(crate) fn event_words(event: &ExchangeEvent) -> Line {
    let line = Line::new("expect");
    match event {
        ExchangeEvent::Notification(message) => sized_message(line.arg("notification"), message),
        ExchangeEvent::Request { message, is_violation } => {
            sized_message(line.arg("request").flag("violation", *is_violation), message)
        }
        ExchangeEvent::Answer(answer) => {
            let line =
                answer_words(line.arg("answer"), &answer.info).maybe("damage", answer.damage.map(name_of_damage));
            sized_message(line, &answer.message)
        }
        ExchangeEvent::Stray { id, bytes } => line.arg("stray").maybe("id", id.as_ref()).named("bytes", bytes),
        ExchangeEvent::Response(message) => sized_message(line.arg("response"), message),
        ExchangeEvent::Endpoint(reference) => line.arg("endpoint").sized(reference.as_bytes()),
        ExchangeEvent::Oversized { limit } => line.arg("oversized").named("limit", limit),
        ExchangeEvent::Ended(verdict) => verdict_words(line.arg("ended"), verdict),
    }
}

/// A message: what it is and whose, and no more of it than size and checksum.
pub(crate) fn sized_message(line: Line, message: &Message) -> Line {
    let line = line.maybe("method", message.method()).maybe("id", message.id());
    line.maybe("code", message.error().map(|error| error.code)).sized(message.as_json().as_bytes())
}

/// Facts about an answer.
pub(crate) fn answer_words(line: Line, info: &AnswerInfo) -> Line {
    let id_match = match info.id_match {
        IdMatch::Exact => "exact",
        IdMatch::Coerced => "coerced",
        IdMatch::Absent => "absent",
        IdMatch::Foreign => "foreign",
    };
    line.named("status", info.status)
        .named("id_match", id_match)
        .flag("error", info.is_error)
        .named("arrived", millis(info.arrived))
        .flag("proves_modern", info.proves_modern)
}

fn verdict_words(line: Line, verdict: &Verdict) -> Line {
    match verdict {
        Verdict::Settled(answer) => answer_words(line.arg("settled"), answer),
        Verdict::Salvaged { answer, damage } => {
            answer_words(line.arg("salvaged").named("damage", name_of_damage(*damage)), answer)
        }
        Verdict::Reissue { cause, exposure } => {
            line.arg("reissue").named("cause", name_of_cause(*cause)).named("exposure", exposure)
        }
        Verdict::Resume { last_event_id, after, retry, progressed, cause, exposure } => line
            .arg("resume")
            .named("id_bytes", last_event_id.len())
            .named("crc", crate::tape::checksum(last_event_id.as_bytes()))
            .named("after", duration(*after))
            .maybe("retry", retry.map(duration))
            .flag("progressed", *progressed)
            .named("cause", name_of_cause(*cause))
            .named("exposure", exposure),
        Verdict::Reopen { cursor, after, progressed, cause } => line
            .arg("reopen")
            .maybe("id_bytes", cursor.as_ref().map(|cursor| cursor.last_event_id.len()))
            .named("after", duration(*after))
            .flag("progressed", *progressed)
            .named("cause", name_of_cause(*cause)),
        Verdict::Redirect { location } => line.arg("redirect").sized(location.as_bytes()),
        Verdict::Accepted { status } => line.arg("accepted").named("status", status),
        Verdict::Failed(failure) => failure_words(line.arg("failed"), failure),
    }
}

/// How something failed, and how far it had got.
pub(crate) fn failure_words(line: Line, failure: &Failure) -> Line {
    kind_words(line.arg(failure.kind.as_str()), &failure.kind).named("exposure", failure.exposure)
}

fn kind_words(line: Line, kind: &FailureKind) -> Line {
    match kind {
        FailureKind::Unsent { cause } => line.named("cause", name_of_break(*cause)),
        FailureKind::Lost { cause, replacement } => {
            line.named("cause", name_of_cause(*cause)).maybe("replacement", replacement.map(name_of_break))
        }
        FailureKind::Timeout { limit } => line.named(
            "limit",
            match limit {
                TimeLimit::Deadline => "deadline",
                TimeLimit::Idle => "idle",
            },
        ),
        FailureKind::Status(failure) => {
            let line = line.named("status", failure.status()).maybe("code", failure.error_code);
            line.sized(failure.excerpt.as_bytes())
        }
        FailureKind::TooLarge { which, limit } => {
            let which = match which {
                SizeLimit::Event => "event",
                SizeLimit::JsonBody => "json_body",
                SizeLimit::Inflated => "inflated",
            };
            line.named("which", which).named("limit", limit)
        }
        FailureKind::InvalidJson { position } => line.named("position", position),
        FailureKind::InvalidMessage { problem } => match &**problem {
            MessageProblem::NotAnAnswer => line.arg("not_an_answer"),
            MessageProblem::Array => line.arg("array"),
            MessageProblem::Envelope(error) => line.arg("envelope").named("position", error.position()),
        },
        FailureKind::ContentType { essence } => line.sized(essence.as_bytes()),
        FailureKind::ContentCoding { problem } => line.arg(match problem {
            CodingProblem::Unsupported => "unsupported",
            CodingProblem::Corrupt => "corrupt",
        }),
        FailureKind::IdMismatch { got } => line.maybe("got", got.as_ref()),
        FailureKind::NoAnswer { status } => line.named("status", status),
        FailureKind::UnsupportedVersion { ours, theirs } => {
            let line = ours.iter().fold(line, |line, version| line.named("ours", version));
            theirs.iter().fold(line, |line, version| line.named("theirs", version))
        }
        FailureKind::Handshake { problem } => match &**problem {
            HandshakeProblem::Refused { code } => line.arg("refused").named("code", code),
            HandshakeProblem::Version { theirs } => line.arg("version").maybe("theirs", *theirs),
            HandshakeProblem::Endpoint => line.arg("endpoint"),
            HandshakeProblem::ForeignEndpoint => line.arg("foreign_endpoint"),
            // No kind holds a handshake within a handshake.
            HandshakeProblem::Failed(kind) => match kind {
                FailureKind::Handshake { .. } => line.arg(kind.as_str()),
                kind => kind_words(line.arg(kind.as_str()), kind),
            },
        },
        FailureKind::SessionExpired | FailureKind::Cancelled => line,
    }
}

/// The word for a kind of break.
pub(crate) const fn name_of_break(kind: BreakKind) -> &'static str {
    match kind {
        BreakKind::Resolve => "resolve",
        BreakKind::Connect => "connect",
        BreakKind::ConnectTimeout => "connect_timeout",
        BreakKind::Proxy => "proxy",
        BreakKind::ProxyAuthentication => "proxy_authentication",
        BreakKind::Handshake => "handshake",
        BreakKind::Closed => "closed",
        BreakKind::Reset => "reset",
        BreakKind::TlsTruncated => "tls_truncated",
        BreakKind::Malformed => "malformed",
        BreakKind::HeadTooLarge => "head_too_large",
        BreakKind::Io => "io",
    }
}

/// The word for how a body's end was marked.
pub(crate) const fn name_of_framing(framing: Framing) -> &'static str {
    match framing {
        Framing::Marked => "marked",
        Framing::Unmarked => "unmarked",
        Framing::Short => "short",
        Framing::Discarded => "discarded",
    }
}

/// The word for what an unfinished last event is worth.
pub(crate) const fn name_of_tail(tail: TailRule) -> &'static str {
    match tail {
        TailRule::Salvage => "salvage",
        TailRule::Strict => "strict",
    }
}

/// The word for how an answer was lost.
pub(crate) fn name_of_cause(cause: Cause) -> String {
    match cause {
        Cause::Broken(kind) => alloc::format!("broken:{}", name_of_break(kind)),
        Cause::Ended => String::from("ended"),
        Cause::Short => String::from("short"),
        Cause::Cut => String::from("cut"),
    }
}

/// The word for what was damaged.
pub(crate) fn name_of_damage(damage: Damage) -> String {
    String::from(match damage {
        Damage::UnterminatedEvent => "unterminated_event",
        Damage::Broken(kind) => return alloc::format!("broken:{}", name_of_break(kind)),
        Damage::Stalled => "stalled",
        Damage::Short => "short",
        Damage::Corrupt => "corrupt",
        Damage::TooLarge => "too_large",
    })
}
