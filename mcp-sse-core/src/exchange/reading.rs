//! What is read of a body, and what it means for the exchange: whose a message is, what is handed out, what is
//! only noted for the verdict.
//!
//! Rules: an item is handed out or noted in the order it came; nothing unfinished is handed out but an answer.
//! What an ending is worth is judged in `state`; how bytes become items is in `body` and `salvage`.

use alloc::boxed::Box;
use alloc::string::String;

use super::body::{Body, Fault};
use super::outcome::{Answer, AnswerInfo, FailureKind, IdMatch, MessageProblem};
use super::request::{Carries, TailRule};
use super::salvage::{Item, Items};
use super::state::{self, BodyKind, Due, Ending, Fact, State};
use super::{Exchange, ExchangeEvent};
use crate::http::Era;
use crate::jsonrpc::{Id, Message, MessageKind};
use crate::time::Timestamp;

/// An ending under way: what is left is still being read out.
pub(super) struct Closing {
    ending: Ending,
    now: Timestamp,
    rest: Rest,
}

/// What is left to read.
enum Rest {
    /// What the body took and kept: inflated bytes, an array's elements.
    Kept,
    /// A JSON body.
    Json(Items),
    /// An unfinished event.
    Tail { items: Items, has_answer: bool },
}

impl Closing {
    pub(super) fn held_bytes(&self) -> usize {
        match &self.rest {
            Rest::Kept => 0,
            Rest::Json(items) | Rest::Tail { items, .. } => items.held_bytes(),
        }
    }
}

const fn ending_of(fault: Fault) -> Ending {
    match fault {
        Fault::Corrupt => Ending::Corrupt,
        Fault::TooLarge { which, limit } => Ending::TooLarge { which, limit },
        Fault::NeitherKind => Ending::Refused(FailureKind::ContentType { essence: String::new() }),
        Fault::ExcerptFull => Ending::Marked,
    }
}

impl Exchange {
    /// Reads on until an event is ready, or `input` and what is kept of earlier input hold no more.
    pub(super) fn read_until_event(&mut self, input: &mut &[u8]) {
        while self.events.is_empty() && self.read_item(input) {}
    }

    /// Reads one item; false if there is none yet, or none any more.
    fn read_item(&mut self, input: &mut &[u8]) -> bool {
        if self.state == State::Ended {
            return false;
        }
        if let Some(closing) = self.closing.take() {
            return self.read_closing(closing);
        }
        let Some(body) = &mut self.body else {
            return false;
        };
        let fed = body.feed(input);
        if fed.is_err() {
            *input = &[];
        }
        self.on_fed(fed)
    }

    /// What a body gave; true if it was an item. A function of its own, so that an item is taken from where it lies and not
    /// moved first.
    #[inline(never)]
    fn on_fed(&mut self, fed: Result<Option<Item>, Fault>) -> bool {
        match fed {
            Ok(Some(item)) => {
                self.on_item(item, self.received_at);
                true
            }
            Ok(None) => false,
            Err(fault) => {
                self.on_fault(fault);
                false
            }
        }
    }

    /// Apart, so that a body's items are moved whole: beside what is read out of a fault they would be moved in bytes.
    #[cold]
    #[inline(never)]
    fn on_fault(&mut self, fault: Fault) {
        self.end(ending_of(fault));
    }

    /// Begins to end: what the body still holds is read out first, one item after another, and the verdict last.
    pub(super) fn finish(&mut self, ending: Ending, now: Timestamp) {
        self.closing = Some(Box::new(Closing { ending, now, rest: Rest::Kept }));
        self.read_until_event(&mut &[][..]);
    }

    /// One item of what an ending leaves: what was taken and kept, then a JSON body, then an unfinished event (E9).
    #[inline(never)]
    fn read_closing(&mut self, mut closing: Box<Closing>) -> bool {
        let is_cut = !matches!(closing.ending, Ending::Marked | Ending::Unmarked);
        match &mut closing.rest {
            Rest::Kept => match self.body.as_mut().map(|body| body.feed(&mut &[][..])) {
                Some(Ok(Some(item))) => {
                    self.closing = Some(closing);
                    self.on_item(item, self.received_at);
                    return true;
                }
                Some(Err(fault)) => {
                    self.on_fault(fault);
                    return false;
                }
                Some(Ok(None)) | None => {
                    let json = self.body.as_mut().filter(|_| self.answer.is_none()).map(Body::take_json);
                    closing.rest = Rest::Json(json.unwrap_or_default());
                }
            },
            Rest::Json(items) => {
                if let Some(item) = items.next() {
                    // E28: a JSON body arrives with its end; what is found without one came with its last bytes.
                    let arrived = if is_cut { self.received_at } else { closing.now };
                    self.closing = Some(closing);
                    // A body that is cut is worth its answer and nothing else: what it lacks may still have come.
                    if !is_cut || is_message(&item) {
                        self.on_item(item, arrived);
                    }
                    return true;
                }
                let may_hold_answer = self.answer.is_none() && self.due != Due::Messages;
                let salvages = self.config.tail == TailRule::Salvage && may_hold_answer;
                let items = self.body.as_mut().filter(|_| salvages).map(Body::take_tail).unwrap_or_default();
                closing.rest = Rest::Tail { has_answer: items.any(|item| self.is_answer(item)), items };
            }
            Rest::Tail { items, has_answer } => {
                let has_answer = *has_answer;
                if let Some(item) = items.next() {
                    self.closing = Some(closing);
                    // An unfinished event is worth an answer, and what an array with the answer holds besides. One
                    // that is whole and bad shows all the same that the server answered (E16, E29).
                    let is_bad = !is_cut && is_bad_answer(&item);
                    if is_bad || is_response(&item) || (has_answer && is_message(&item)) {
                        self.on_item(item, self.received_at);
                    }
                    return true;
                }
                if self.answer.is_none() && !is_cut {
                    self.complain_of_json();
                }
                self.end(closing.ending);
                return false;
            }
        }
        self.closing = Some(closing);
        true
    }

    /// E29: a whole JSON body that was JSON, but in which no answer was found.
    fn complain_of_json(&mut self) {
        let Some(body) = &self.body else {
            return;
        };
        let complaints = &mut self.complaints;
        let silent = complaints.malformed.is_none() && complaints.not_json.is_none() && complaints.stray.is_none();
        if silent && body.kind() == BodyKind::Json && body.received > 0 {
            complaints.malformed = Some(Box::new(MessageProblem::NotAnAnswer));
        }
    }

    fn on_item(&mut self, item: Item, now: Timestamp) {
        if self.refuses(&item) {
            return;
        }
        match item {
            Item::Message(message) => self.on_message(message, now),
            Item::Endpoint(reference) => {
                self.advance(Fact::Endpoint);
                self.events.push(ExchangeEvent::Endpoint(reference));
            }
            Item::Oversized(limit) => {
                self.complaints.oversized.get_or_insert(limit);
                self.events.push(ExchangeEvent::Oversized { limit });
            }
            Item::NotJson { position, prefix } => {
                self.complaints.not_json.get_or_insert(position);
                self.complaints.prefix |= prefix;
                self.ignore_message();
            }
            Item::Array => {
                self.complaints.malformed.get_or_insert_with(|| Box::new(MessageProblem::Array));
                self.ignore_message();
            }
            Item::Malformed(error) => {
                let is_body = self.body.as_ref().is_some_and(|body| body.kind() == BodyKind::Json);
                if is_body || self.compare(error.id()).is_some() {
                    self.complaints.malformed.get_or_insert_with(|| Box::new(MessageProblem::Envelope(error)));
                }
                self.ignore_message();
            }
            Item::Scalar => self.ignore_message(),
        }
    }

    /// H2: on a channel, messages are refused before the endpoint, and endpoints after it.
    fn refuses(&mut self, item: &Item) -> bool {
        // An error under a status of failure is told with the status.
        if self.due != Due::Channel || (self.is_failed() && is_response(item)) {
            return false;
        }
        let is_open = self.state == State::Open;
        let Some(ignored) = self.body.as_mut().map(Body::ignored_mut) else {
            return false;
        };
        match item {
            Item::Oversized(_) => false,
            Item::Endpoint(_) => {
                ignored.endpoints += u64::from(is_open);
                is_open
            }
            _ => {
                ignored.early_messages += u64::from(!is_open);
                !is_open
            }
        }
    }

    /// F11, F12: whether a message shows that the stream leads somewhere. Where an answer is awaited, its event has to
    /// have a new id, so that the next GET begins behind it; elsewhere it must only not be the event that the stream was
    /// to begin behind.
    fn note_progress(&mut self) {
        let Some(body) = &self.body else {
            return;
        };
        self.progressed |= match &self.request.carries {
            Carries::Listening(_) => {
                self.request.cursor().is_none_or(|cursor| cursor.last_event_id != body.last_event_id())
            }
            _ => body.has_new_id(),
        };
    }

    fn on_message(&mut self, message: Message, now: Timestamp) {
        self.note_progress();
        match message.kind() {
            MessageKind::Notification => {
                if let Some(idle) = self.config.idle.filter(|_| self.request.owns_progress(&message)) {
                    self.idle_until = Some(now.saturating_add(idle));
                }
                self.events.push(ExchangeEvent::Notification(message));
            }
            MessageKind::Request => {
                let is_violation = self.request.version.era() == Era::Modern;
                self.events.push(ExchangeEvent::Request { message, is_violation });
            }
            MessageKind::Result | MessageKind::Error => self.on_response(message, now),
        }
    }

    fn on_response(&mut self, message: Message, now: Timestamp) {
        let whose = match self.due {
            Due::Channel if !self.is_failed() => {
                self.events.push(ExchangeEvent::Response(message));
                return;
            }
            Due::Messages if !self.is_failed() => Whose::Other,
            _ => self.whose(&message),
        };
        match whose {
            Whose::Ours(_) if self.answer.is_some() => self.ignore_message(),
            Whose::Ours(id_match) => self.on_answer(message, id_match, now),
            Whose::Nobodys => self.ignore_message(),
            Whose::Other => {
                let id = message.id().filter(|id| tellable(id)).cloned();
                self.complaints.stray.get_or_insert_with(|| id.clone());
                self.events.push(ExchangeEvent::Stray { id, bytes: message.as_json().len() });
            }
        }
    }

    /// E15, E17: whose answer a result or error is.
    fn whose(&self, message: &Message) -> Whose {
        let is_error = message.kind() == MessageKind::Error;
        let is_failed = self.is_failed();
        if is_failed && !is_error {
            return Whose::Nobodys;
        }
        match self.compare(message.id()) {
            Some(id_match) => Whose::Ours(id_match),
            None if is_error && matches!(message.id(), None | Some(Id::Null)) => Whose::Ours(IdMatch::Absent),
            // The response itself says whose error it is.
            None if is_failed => Whose::Ours(IdMatch::Foreign),
            None => Whose::Other,
        }
    }

    fn is_answer(&self, item: &Item) -> bool {
        is_response(item) && matches!(item, Item::Message(message) if matches!(self.whose(message), Whose::Ours(_)))
    }

    fn on_answer(&mut self, message: Message, id_match: IdMatch, now: Timestamp) {
        let Some(head) = self.head.as_deref() else {
            return;
        };
        let status = head.status();
        let is_of_message = self.request.carries == Carries::Message;
        if self.request.id.is_none() || (!is_of_message && self.is_failed()) {
            // E20: a notification or a GET has no answer; an error in its refusal is told with the refusal.
            self.complaints.error_code = message.error().map(|error| error.code);
            return;
        }
        let code = message.error().map(|error| error.code);
        let info = AnswerInfo {
            status,
            id_match,
            is_error: message.kind() == MessageKind::Error,
            arrived: now,
            proves_modern: matches!((status, code), (400, Some(-32022..=-32020)) | (404, Some(-32601))),
        };
        let (damage, from_tail) = match self.closing.as_deref() {
            Some(Closing { rest: Rest::Tail { .. }, ending, .. }) => (state::damage(ending, true), true),
            Some(Closing { rest: Rest::Json(_), ending, .. }) => (state::damage(ending, false), false),
            _ => (None, false),
        };
        self.from_tail = from_tail;
        let answer = Answer { message, info, head: head.clone(), damage };
        self.answer = Some(info);
        self.advance(Fact::Answer);
        self.events.push(ExchangeEvent::Answer(Box::new(answer)));
    }

    /// E15: how `theirs` compares with the request's id; `None` if it is another.
    fn compare(&self, theirs: Option<&Id>) -> Option<IdMatch> {
        let ours = self.request.id.as_ref().filter(|_| self.due.is_of_request())?;
        let theirs = theirs?;
        if ours == theirs {
            Some(IdMatch::Exact)
        } else if !self.config.strict_ids && (ours.spells(theirs) || theirs.spells(ours)) {
            Some(IdMatch::Coerced)
        } else {
            None
        }
    }

    fn ignore_message(&mut self) {
        if let Some(body) = &mut self.body {
            body.ignored_mut().messages += 1;
        }
    }
}

/// Whose a result or error is.
enum Whose {
    Ours(IdMatch),
    /// An answer under another id.
    Other,
    /// A result under a status of failure (E18): the status is what counts.
    Nobodys,
}

fn is_response(item: &Item) -> bool {
    matches!(item, Item::Message(message) if matches!(message.kind(), MessageKind::Result | MessageKind::Error))
}

fn is_message(item: &Item) -> bool {
    matches!(item, Item::Message(_))
}

/// E29: what is JSON and whole, and no message.
fn is_bad_answer(item: &Item) -> bool {
    matches!(item, Item::Malformed(_) | Item::Array)
}

/// The longest id that is told, in bytes.
const MAX_TOLD_ID: usize = 64;

/// Whether an id is short enough to be told in an error: it is a peer's text.
fn tellable(id: &Id) -> bool {
    match id {
        Id::String(text) => text.len() <= MAX_TOLD_ID,
        Id::Number(number) => number.as_str().len() <= MAX_TOLD_ID,
        _ => true,
    }
}
