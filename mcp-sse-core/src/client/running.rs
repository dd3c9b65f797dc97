//! Steps: what exchanges tell is turned into steps of their calls, and attempts are started when they are due.
//!
//! Rules: one exchange a call at a time; an event is handed on in the order it came; what a verdict leads to is decided
//! in `call` and `detour`, and carried out here.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::call::{Call, Kind, Next, Phase};
use super::detour::{self};
use super::endpoint::Endpoint;
use super::exchanges::Running;
use super::http_request::{Carried, INITIALIZE};
use super::origin::{Readiness, Standing};
use super::outcome::{CallEvent, CallId, Done, Outcome, Step};
use super::policy::CallOptions;
use super::subscription::{self, Honoured, Part};
use super::{Client, ExchangeId, versions};
use crate::exchange::{
    Answer, AnswerInfo, Carries, Exchange, ExchangeConfig, ExchangeEvent, FailureKind, Request, TimeLimit, Verdict,
    Want,
};
use crate::http::Era;
use crate::jsonrpc::Message;
use crate::time::Timestamp;
use crate::tools::ToolHeaders;

impl Client {
    /// A step of a call; whoever drives it is woken, unless it is the one that asks.
    pub(super) fn push(&mut self, call: CallId, step: Step) {
        self.steps.push_back((call, step));
        self.wake(call);
    }

    pub(super) fn wake(&mut self, call: CallId) {
        if self.asking != Some(call) {
            self.woken.insert(call);
        }
    }

    /// A step of this call was taken.
    pub(super) fn took(&mut self, call: CallId) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.queued = call.queued.saturating_sub(1);
        }
    }

    /// Drains exchanges, one event at a time, until there is a step (of `call`, if one is named); then starts the
    /// attempts that are due.
    pub(super) fn settle(&mut self, call: Option<CallId>, now: Timestamp) {
        let is_of = |owner: CallId| call.is_none_or(|call| call == owner);
        // An exchange that ended before its request was handed out takes the request back, before anybody gets it.
        if !self.steps.is_empty() && self.exchanges.touched().next().is_some() {
            let unsent = self.exchanges.touched().filter(|id| self.send_step(*id).is_some());
            for id in unsent.collect::<Vec<_>>() {
                self.drain(id, now);
            }
        }
        loop {
            if self.steps.iter().any(|(owner, _)| is_of(*owner)) {
                return;
            }
            let Some(id) = self.exchanges.first_touched(call) else {
                break;
            };
            if !self.drain_one(id, now) {
                self.exchanges.untouch(id);
            }
        }
        // An attempt may end at once, and so unblock others.
        loop {
            let due = self.waiting.iter().copied().find(|id| self.due(*id).is_some_and(|at| now >= at));
            let Some(due) = due else {
                break;
            };
            self.attempt(due, now);
        }
    }

    /// Where the step that hands out this exchange's request waits, if it does.
    pub(super) fn send_step(&self, id: ExchangeId) -> Option<usize> {
        self.steps.iter().rposition(|(_, step)| matches!(step, Step::Send(sent, _) if *sent == id))
    }

    /// A waiting call is due: its next attempt, a new exchange under a new id, or its end.
    fn attempt(&mut self, id: CallId, now: Timestamp) {
        self.waiting.remove(&id);
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if call.deadline.is_some_and(|deadline| now >= deadline) {
            if call.phase == Phase::Listing {
                return self.let_first_refusal_stand(id, now);
            }
            let done = call.give_up(FailureKind::Timeout { limit: TimeLimit::Deadline });
            self.end(id, done, now);
            return;
        }
        let is_negotiation = call.outgoing.method == INITIALIZE;
        if call.phase == Phase::Blocked && self.waits_no_more(now) {
            return;
        }
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let earlier = call.route.take();
        if call.kind.waits_for_the_handshake() && earlier.as_ref().is_some_and(|route| self.origin.is_gone(route)) {
            // An event id names a place in that session's streams, and in no other's.
            let was_resuming = call.cursor.take().is_some() && !call.kind.listens();
            if was_resuming {
                let done = call.give_up(FailureKind::SessionExpired);
                return self.end(id, done, now);
            }
            if call.kind == Kind::Requests {
                // The next session has a listening stream of its own.
                let done = call.listening_ended(None);
                return self.end(id, done, now);
            }
        }
        // What goes with something goes where that was begun, whatever has come after it.
        let given = earlier.filter(|_| call.kind.goes_where_it_belongs() || call.is_resuming_the_handshake());
        let readiness = given.map_or_else(
            || self.origin.readiness(call.kind, is_negotiation, &self.endpoint, &self.config, now),
            Readiness::Ready,
        );
        let route = match readiness {
            Readiness::Ready(route) => route,
            Readiness::Blocked => return self.park(id, Phase::Blocked),
            Readiness::Begin(part) => {
                self.park(id, Phase::Blocked);
                return self.begin_part(part, id, now);
            }
            Readiness::At(at) => return self.park(id, Phase::Waiting(at)),
        };
        if call.kind == Kind::Requests && route.era != Era::Legacy {
            // The session that it belonged to is gone, and the server was found to be of another era.
            let done = call.listening_ended(None);
            return self.end(id, done, now);
        }
        if call.kind == Kind::Listen && route.era == Era::HttpSse {
            // What the channel brings is told to whoever listens, for as long as there is one.
            call.route = Some(route);
            call.id = None;
            return self.park(id, Phase::Awaiting);
        }
        let is_legacy_listening = call.kind.listens() && route.era == Era::Legacy;
        if is_legacy_listening && self.follows(id) {
            return self.follow(id, route);
        }
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        call.is_resuming = call.cursor.is_some() && !is_legacy_listening && route.era == Era::Legacy;
        if is_legacy_listening {
            call.id = None;
        }
        if call.kind.expects_answer() && !call.is_resuming && !is_legacy_listening {
            call.id = self.shared.next_id();
            if call.id.is_none() {
                // Nine quadrillion calls later: an id that was used is never used again (F8).
                let done = call.give_up(FailureKind::Cancelled);
                self.end(id, done, now);
                return;
            }
        }
        call.begin_attempt();
        let endpoint = route.endpoint.clone();
        call.route = Some(route);
        self.send(id, endpoint, now);
    }

    /// Lets a call wait, for a moment or for something to happen.
    pub(super) fn park(&mut self, id: CallId, phase: Phase) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.phase = phase;
            self.waiting.insert(id);
        }
    }

    /// Makes the exchange of an attempt, and the step that sends it.
    fn send(&mut self, id: CallId, endpoint: Endpoint, now: Timestamp) {
        let Some(call) = self.calls.get(&id) else {
            return;
        };
        let Some(mut route) = call.route.clone() else {
            return;
        };
        route.endpoint = endpoint.clone();
        let (carries, carried) = match (call.kind, &call.cursor) {
            (Kind::Channel, _) => (Carries::Channel, Carried::Stream { last_event_id: None }),
            (Kind::Deletion, _) => (Carries::Deletion, Carried::Deletion),
            (kind, cursor) if kind.listens() && route.era == Era::Legacy => {
                let last_event_id = cursor.as_ref().map(|cursor| cursor.last_event_id.as_str());
                (Carries::Listening(cursor.clone()), Carried::Stream { last_event_id })
            }
            (_, Some(cursor)) if call.is_resuming => {
                let last_event_id = Some(cursor.last_event_id.as_str());
                (Carries::Resumption(cursor.clone()), Carried::Stream { last_event_id })
            }
            _ => (Carries::Message, Carried::Message(call.id.as_ref())),
        };
        let mut request = Request::new(&*call.outgoing.method).with_version(route.exchange_version());
        request.id = call.id.clone().filter(|_| !matches!(carries, Carries::Listening(_)));
        request.carries = carries;
        request.progress_token.clone_from(&call.outgoing.progress_token);
        let mut config = ExchangeConfig::default()
            .with_limits(self.config.limits.clone())
            .with_tail(self.config.tail)
            .with_strict_ids(self.config.strict_ids)
            .with_follow_redirects(self.config.follow_redirects);
        config.deadline = call.deadline;
        config.idle = call.options.idle;
        // What was refused before a handshake may have been refused with the connection, and nothing said of that.
        config.fresh_connection = call.attempts > 1 || call.is_resuming || call.kind == Kind::Initialize;
        let http_request = call.outgoing.build(carried, &route, &self.origin.tools, &self.config);
        self.last_exchange += 1;
        let exchange_id = ExchangeId(self.last_exchange);
        let running = Running {
            exchange: Some(Box::new(self.recorded(Exchange::of(request, config, now), exchange_id))),
            call: id,
            attempt: call.attempts,
            is_cancelled: false,
            endpoint,
        };
        self.exchanges.insert(exchange_id, running);
        self.push(id, Step::Send(exchange_id, Box::new(http_request)));
    }

    /// Turns all that an exchange has to tell into steps.
    pub(super) fn drain(&mut self, id: ExchangeId, now: Timestamp) {
        while self.drain_one(id, now) {}
    }

    /// Turns one thing that an exchange has to tell into steps; false if there is none.
    fn drain_one(&mut self, id: ExchangeId, now: Timestamp) -> bool {
        let Some(running) = self.exchanges.get_mut(id) else {
            return false;
        };
        let (call, attempt) = (running.call, running.attempt);
        if running.exchange.as_ref().is_some_and(|exchange| exchange.head().is_some()) {
            self.on_listening(call, now);
        }
        let Some(running) = self.exchanges.get_mut(id) else {
            return false;
        };
        let Some(event) = running.exchange.as_deref_mut().and_then(Exchange::poll_event) else {
            return false;
        };
        let event = match event {
            ExchangeEvent::Notification(message) => {
                self.on_notification(call, attempt, message, now);
                return true;
            }
            ExchangeEvent::Request { message, is_violation } => {
                self.on_request(call, attempt, message, is_violation, now);
                return true;
            }
            ExchangeEvent::Answer(answer) => {
                self.on_answer(call, id, attempt, answer, now);
                return true;
            }
            ExchangeEvent::Endpoint(reference) => {
                self.on_endpoint(call, id, &reference, now);
                return true;
            }
            ExchangeEvent::Response(message) => {
                self.on_response(message, now);
                return true;
            }
            ExchangeEvent::Stray { id, bytes } => CallEvent::Stray { attempt, id, bytes },
            ExchangeEvent::Oversized { limit }
                if self.calls.get(&call).is_some_and(|call| call.kind == Kind::Channel) =>
            {
                self.on_channel_oversized(limit);
                return true;
            }
            ExchangeEvent::Oversized { limit } => CallEvent::Oversized { attempt, limit },
            ExchangeEvent::Ended(verdict) => {
                self.conclude(id, verdict, now);
                return true;
            }
        };
        self.tell(call, event);
        true
    }

    /// Tells a caller; nobody is told of the client's own calls.
    pub(super) fn tell(&mut self, call: CallId, event: CallEvent) {
        if self.calls.get(&call).is_some_and(|call| call.kind.is_the_callers()) {
            self.push(call, Step::Event(call, event));
        }
    }

    fn on_notification(&mut self, id: CallId, attempt: u32, message: Message, now: Timestamp) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if call.kind == Kind::Channel {
            return self.on_channel_notification(message);
        }
        let is_subscription = call.kind == Kind::Listen && call.era() == Some(Era::Modern);
        let (true, Some(request)) = (is_subscription, &call.id) else {
            self.tell_followers(id, &message);
            return self.tell(id, CallEvent::Notification { attempt, message });
        };
        match subscription::part(&message, request) {
            Part::Acknowledgment => {
                call.is_acknowledged = true;
                call.losses = 0;
                let asked = call.outgoing.params().unwrap_or_default();
                let is_whole = subscription::honoured(&asked, message.params().unwrap_or_default()) == Honoured::All;
                self.tell(id, CallEvent::Acknowledged { attempt, message, is_whole });
            }
            // A cancellation that names us is the server's goodbye; a result may follow, and need not.
            Part::End => {
                let done = call.listening_ended(None);
                self.abandon_exchange(id, now);
                self.end(id, done, now);
            }
            // "MUST NOT send any notification on the subscription before" the acknowledgment of this very stream.
            Part::Notification if !call.is_acknowledged || call.losses > 0 => {
                self.tell(id, CallEvent::Stray { attempt, id: None, bytes: message.as_json().len() });
            }
            _ => self.tell(id, CallEvent::Notification { attempt, message }),
        }
    }

    fn on_answer(&mut self, id: CallId, exchange: ExchangeId, attempt: u32, mut answer: Box<Answer>, now: Timestamp) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let connections = &self.config.connections;
        let bytes = if call.reads_to_end { u64::MAX } else { connections.drain_bytes };
        if let Some(exchange) = self.exchanges.exchange(exchange) {
            exchange.bound_drain(now.saturating_add(connections.drain_timeout), bytes);
        }
        match call.kind {
            Kind::Initialize => return self.on_initialize_answer(id, &answer, now),
            Kind::Probe | Kind::Request | Kind::Listen | Kind::ToolList => {}
            _ => return,
        }
        // A detour that follows may only narrow down what it shows.
        self.learn(id, &answer);
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if let Some(detour) = detour::of_answer(call, &answer, &self.origin, self.config.protocol) {
            call.detour = Some(detour);
            if let Some(exchange) = self.exchanges.exchange(exchange) {
                // What it says is known. It ends here, if it has not yet.
                exchange.close(now);
            }
            return;
        }
        if let Some((first_attempt, first)) = call.first_refusal.take().filter(|_| detour::is_header_mismatch(&answer))
        {
            call.answered = Some(first.info);
            return self.hand_out(id, first_attempt, first);
        }
        let is_modern = call.era() == Some(Era::Modern);
        if is_modern && call.outgoing.method == TOOLS_LIST && matches!(call.kind, Kind::Request | Kind::ToolList) {
            let is_first_page = !call.outgoing.has_cursor();
            self.on_tool_list(id, attempt, &mut answer, is_first_page);
        }
        self.hand_out(id, attempt, answer);
    }

    /// Gives an answer to its caller.
    pub(super) fn hand_out(&mut self, id: CallId, attempt: u32, answer: Box<Answer>) {
        let earlier_may_have_run = self.calls.get(&id).is_some_and(|call| call.earlier_may_have_run());
        self.tell(id, CallEvent::Answer { attempt, damage: answer.damage, answer, earlier_may_have_run });
    }

    /// F6: what an answer shows of the server's era.
    fn learn(&mut self, id: CallId, answer: &Answer) {
        let route = self.calls.get(&id).and_then(|call| call.route.as_ref());
        let (Standing::Unknown, Some(route)) = (&self.origin.standing, route) else {
            return;
        };
        if answer.info.proves_modern || answer.message.result().is_some_and(versions::has_result_type) {
            self.origin.standing = Standing::Modern(route.version);
        } else if answer.message.result().is_some() {
            self.origin.standing = Standing::Legacy(None);
        }
    }

    /// F4: what a list of tools says of their headers; tools that are not to be shown are taken out.
    fn on_tool_list(&mut self, id: CallId, attempt: u32, answer: &mut Answer, is_first_page: bool) {
        let Some(result) = answer.message.result() else {
            return;
        };
        let reading = ToolHeaders::read(result);
        if self.origin.tool_list == Some(id) {
            self.origin.next_tool_page = reading.next_cursor;
        }
        if is_first_page {
            self.origin.tools = reading.headers;
        } else {
            self.origin.tools.merge(reading.headers);
        }
        for tool in reading.dropped {
            self.tell(id, CallEvent::ToolDropped { attempt, tool });
        }
        if let (Some(result), Some(request)) = (reading.result, answer.message.id()) {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request.to_json());
            // It is made of raw parts of a message, so it is one.
            if let Ok(message) = Message::from_text(text) {
                answer.message = message;
            }
        }
    }

    /// An exchange has ended: what its call does next.
    fn conclude(&mut self, id: ExchangeId, verdict: Verdict, now: Timestamp) {
        let Some(running) = self.exchanges.remove(id) else {
            return;
        };
        let call_id = running.call;
        self.on_listening(call_id, now);
        let want = running.exchange.as_deref().map_or(Want::Close, Exchange::want);
        if let Some(at) = self.send_step(id) {
            // Nobody has begun with it, and nobody is to: it ended unsent, by a cancel or a deadline.
            self.steps.remove(at);
        } else {
            let release = if want == Want::Close { Step::Close(id) } else { Step::Release(id) };
            self.push(call_id, release);
        }
        let Some(call) = self.calls.get_mut(&call_id) else {
            return;
        };
        let detour = call.detour.take().or_else(|| match &verdict {
            Verdict::Failed(failure) => detour::of_failure(call, &failure.kind, &self.origin),
            _ => None,
        });
        if let Some(detour) = detour {
            call.reach_by(&verdict);
            if call.kind.waits_for_the_handshake() || call.kind == Kind::Probe {
                return self.take(detour, call_id, now);
            }
        }
        let status = running.exchange.as_deref().and_then(Exchange::head).map(crate::http::ResponseHead::status);
        let route = call.route.as_ref().filter(|route| call.is_resuming && route.session_id.is_some());
        if let (Some(404), Some(route)) = (status, route) {
            // F11: the session is gone, for all of its calls.
            self.origin.expire(route.generation);
        }
        match call.conclude(verdict, running.exchange.as_deref(), &running.endpoint, &self.config, now) {
            Next::Reissue { cause, exposure, at } => {
                let attempt = call.attempts + 1;
                self.park(call_id, Phase::Waiting(at));
                self.tell(call_id, CallEvent::Reissue { attempt, cause, exposure });
            }
            Next::Resume { cause, after, at } => {
                let attempt = call.attempts;
                call.keep_session_id(running.exchange.as_deref());
                self.park(call_id, Phase::Waiting(at));
                self.tell(call_id, CallEvent::Resume { attempt, cause, after });
            }
            Next::Redirect(endpoint) => self.send(call_id, endpoint, now),
            Next::Await => self.park(call_id, Phase::Awaiting),
            Next::Done(done) => self.end(call_id, done, now),
        }
    }

    /// A call has ended; what waited for it goes on.
    pub(super) fn end(&mut self, id: CallId, done: Done, now: Timestamp) {
        let Some(call) = self.calls.get(&id) else {
            return;
        };
        match call.kind {
            Kind::ToolList => self.on_tools_listed(id, &done, now),
            Kind::Probe | Kind::Initialize | Kind::Initialized | Kind::Requests => self.on_part_ended(id, &done, now),
            Kind::Channel => self.on_channel_ended(id, &done, now),
            _ => {}
        }
        self.on_listening_ended(id, &done, now);
        self.waiting.remove(&id);
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        if let Some(cancel) = self.cancel_notification(&call, &done, now) {
            self.push(id, Step::Background(id, cancel));
        }
        self.push(id, Step::Done(id, done));
    }

    /// Takes the exchange of a call away, because the call ends without its verdict.
    fn abandon_exchange(&mut self, call: CallId, now: Timestamp) {
        let Some(id) = self.exchanges.of(call) else {
            return;
        };
        if let Some(mut exchange) = self.exchanges.remove(id).and_then(|running| running.exchange) {
            exchange.close(now);
        }
        self.push(call, Step::Close(id));
    }

    /// E11, F9: where a disconnect is no cancel, the server is told; but not of `initialize`, and not of a
    /// request that it cannot have.
    fn cancel_notification(&mut self, call: &Call, done: &Done, now: Timestamp) -> Option<CallId> {
        let Outcome::Failed(failure) = &done.outcome else {
            return None;
        };
        let reason = match failure.kind {
            FailureKind::Timeout { .. } => "no answer in time",
            FailureKind::Cancelled => "cancelled by the caller",
            _ => return None,
        };
        let id = call.id.as_ref()?;
        let is_told = call.era().is_some_and(|era| era != Era::Modern)
            && call.outgoing.method != INITIALIZE
            && failure.may_have_run();
        if !is_told {
            return None;
        }
        let params = format!(r#"{{"requestId":{},"reason":"{reason}"}}"#, id.to_json());
        let options = CallOptions::default().with_timeout(self.config.cancel_timeout);
        let method = "notifications/cancelled";
        let cancel = self.begin(Kind::Notification, method, Some(&params), options, now).ok()?;
        if let Some(cancel) = self.calls.get_mut(&cancel) {
            cancel.route.clone_from(&call.route);
        }
        Some(cancel)
    }
}

impl Call {
    /// The end of a call that has been answered.
    pub(super) fn settled(&self, info: AnswerInfo) -> Done {
        self.done(Outcome::Settled(info))
    }

    /// The end of a listening call that is no failure.
    pub(super) fn listening_ended(&self, status: Option<u16>) -> Done {
        self.done(Outcome::ListeningEnded { status })
    }
}

/// The request whose answer tells of headers (F4).
pub(super) const TOOLS_LIST: &str = "tools/list";
