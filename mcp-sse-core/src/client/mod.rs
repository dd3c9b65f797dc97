//! What calls share, and each call until one outcome.
//!
//! Lives here: [`Client`], which owns calls and exchanges, hands out steps, and keeps what calls share: ids
//! today; the era, version, session and tool headers of an origin have their room beside them (`shared`).
//! `call` decides what follows a verdict, `http_request` makes a request's bytes, `endpoint` checks URLs,
//! `policy` and `config` hold the caller's choices, `outcome` has the words. Does not belong here: what a
//! response means ([`exchange`](crate::exchange)), sockets, clocks.

mod call;
mod config;
mod connections;
mod endpoint;
mod http_request;
mod outcome;
mod policy;
mod reply;
mod shared;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use call::{Call, Next, Phase};
pub use config::{BuildError, ClientConfig, ConfigError};
pub use connections::{ConnectionConfig, IdleConnections};
pub use endpoint::{Endpoint, EndpointError};
pub use http_request::{HttpRequest, RequestError};
use http_request::{INITIALIZE, Outgoing};
pub use outcome::{CallEvent, CallId, Done, Outcome, Step};
pub use policy::{Backoff, CallOptions, ReissuePolicy};
pub use reply::{CallError, Reply, ResultError, params_to_json};
use shared::Shared;

use crate::exchange::{
    Exchange, ExchangeConfig, ExchangeEvent, Exposure, FailureKind, Request, TimeLimit, Verdict, Want,
};
use crate::http::Era;
use crate::jsonrpc::Id;
use crate::time::Timestamp;

/// Names an exchange of a [`Client`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(u64);

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exchange {}", self.0)
    }
}

/// An exchange under way.
struct Running {
    /// `None` while it is lent out.
    exchange: Option<Exchange>,
    call: CallId,
    attempt: u32,
    /// Whether the call was cancelled while the exchange was lent out.
    is_cancelled: bool,
    endpoint: Endpoint,
}

/// What calls share, and each call until one outcome. The adapter only carries out steps.
///
/// Its methods are of four kinds:
/// - *commands*: [`call`](Self::call), [`notify`](Self::notify), [`cancel`](Self::cancel);
/// - *facts in*: those of [`Exchange`], reached by [`exchange`](Self::exchange) or
///   [`lend_exchange`](Self::lend_exchange), and [`on_timeout`](Self::on_timeout);
/// - *outputs*: [`poll_step`](Self::poll_step) until it gives none, and [`poll_timeout`](Self::poll_timeout);
/// - *getters*: [`endpoint`](Self::endpoint), [`config`](Self::config).
///
/// See the crate's page for the loop around it.
pub struct Client {
    endpoint: Endpoint,
    config: ClientConfig,
    shared: Shared,
    calls: BTreeMap<CallId, Call>,
    exchanges: BTreeMap<ExchangeId, Running>,
    /// Exchanges that were given out since their events were last drained.
    touched: BTreeSet<ExchangeId>,
    /// Calls whose next attempt is due at some time.
    waiting: BTreeSet<CallId>,
    steps: VecDeque<(CallId, Step)>,
    last_call: u64,
    last_exchange: u64,
}

impl Client {
    /// A client of one endpoint.
    #[must_use]
    pub const fn new(endpoint: Endpoint, config: ClientConfig) -> Self {
        Self {
            endpoint,
            config,
            shared: Shared::new(),
            calls: BTreeMap::new(),
            exchanges: BTreeMap::new(),
            touched: BTreeSet::new(),
            waiting: BTreeSet::new(),
            steps: VecDeque::new(),
            last_call: 0,
            last_exchange: 0,
        }
    }

    // Commands.

    /// Makes a request. `params` is the JSON text of an object; its members are handed on as they are, and
    /// what the revision wants in `_meta` is added. Its steps follow by [`poll_step`](Self::poll_step).
    ///
    /// # Errors
    /// [`RequestError`] if the message cannot be sent; nothing was begun.
    pub fn call(
        &mut self,
        method: &str,
        params: Option<&str>,
        options: CallOptions,
        now: Timestamp,
    ) -> Result<CallId, RequestError> {
        self.begin(method, params, true, options, now)
    }

    /// Sends a notification. It is never sent again (E20): of the options, the times count.
    ///
    /// # Errors
    /// [`RequestError`] if the message cannot be sent; nothing was begun.
    pub fn notify(
        &mut self,
        method: &str,
        params: Option<&str>,
        options: CallOptions,
        now: Timestamp,
    ) -> Result<CallId, RequestError> {
        self.begin(method, params, false, options, now)
    }

    fn begin(
        &mut self,
        method: &str,
        params: Option<&str>,
        expects_answer: bool,
        options: CallOptions,
        now: Timestamp,
    ) -> Result<CallId, RequestError> {
        if expects_answer && self.shared.ids_left() == 0 {
            return Err(RequestError::NoIdLeft);
        }
        let mut outgoing = Outgoing::new(method, params)?;
        self.last_call += 1;
        let id = CallId(self.last_call);
        if expects_answer && options.idle.is_some() {
            // E12: only progress under a token moves the idle limit.
            outgoing.ask_for_progress(Id::from(format!("mcp-sse-{}", self.last_call)));
        }
        self.calls.insert(id, Call::new(outgoing, expects_answer, options, now));
        self.waiting.insert(id);
        Ok(id)
    }

    /// The caller wants no more of this call: its stream is closed, and no other (F9). A call that has its
    /// answer is settled. In the eras in which a disconnect is no cancel, `notifications/cancelled` goes out
    /// as a background call. While its exchange is lent out, all this waits for its return. Unknown and
    /// ended calls are none of these.
    pub fn cancel(&mut self, call: CallId, now: Timestamp) {
        // What its exchange has come to already has its own verdict; a replacement or a redirect that follows
        // from it is then cancelled below.
        if let Some(id) = self.exchange_of(call) {
            self.drain(id, now);
        }
        if let Some(id) = self.exchange_of(call) {
            if let Some(running) = self.exchanges.get_mut(&id) {
                match &mut running.exchange {
                    Some(exchange) => {
                        // It is still under way, or it would have been drained away.
                        exchange.cancel(now).ok();
                        self.drain(id, now);
                    }
                    None => running.is_cancelled = true,
                }
            }
        } else if let Some(waiting) = self.calls.get(&call) {
            // E12: an input at the deadline lets the call expire first.
            let is_late = waiting.deadline.is_some_and(|deadline| now >= deadline);
            let timeout = FailureKind::Timeout { limit: TimeLimit::Deadline };
            let done = waiting.give_up(if is_late { timeout } else { FailureKind::Cancelled });
            self.finish(call, done, now);
        }
    }

    /// The caller of this call waits for the end of its exchange: what follows the answer is read on within the bound
    /// of time ([`ConnectionConfig::drain_timeout`]) alone, and not of bytes. For before the answer.
    pub fn read_to_end(&mut self, call: CallId) {
        if let Some(call) = self.calls.get_mut(&call) {
            call.reads_to_end = true;
        }
    }

    fn exchange_of(&self, call: CallId) -> Option<ExchangeId> {
        self.exchanges.iter().find(|(_, running)| running.call == call).map(|(id, _)| *id)
    }

    // Facts in.

    /// The exchange of this name, to report facts to; `None` if it has ended or is lent out.
    pub fn exchange(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        let exchange = self.exchanges.get_mut(&id)?.exchange.as_mut()?;
        self.touched.insert(id);
        Some(exchange)
    }

    /// Takes the exchange of this name out, so that bytes can be given to it without holding the client;
    /// [`return_exchange`](Self::return_exchange) puts it back, or [`forget_exchange`](Self::forget_exchange) says
    /// that nobody will. Meanwhile the client does not see it: its deadline and a cancel wait for its return.
    pub fn lend_exchange(&mut self, id: ExchangeId) -> Option<Exchange> {
        self.exchanges.get_mut(&id)?.exchange.take()
    }

    /// Puts back an exchange that was lent. One of another name is dropped.
    pub fn return_exchange(&mut self, id: ExchangeId, exchange: Exchange, now: Timestamp) {
        if let Some(running) = self.exchanges.get_mut(&id).filter(|running| running.exchange.is_none()) {
            running.exchange = Some(exchange);
            self.touched.insert(id);
            if running.is_cancelled {
                let call = running.call;
                self.cancel(call, now);
            }
        }
    }

    /// Gives up an exchange that was lent and cannot be returned, because whoever held it is gone: its call ends as
    /// cancelled, and may have run. Without this a lent exchange holds its call for ever.
    pub fn forget_exchange(&mut self, id: ExchangeId, now: Timestamp) {
        if self.exchanges.get(&id).is_some_and(|running| running.exchange.is_none()) {
            let Some(running) = self.exchanges.remove(&id) else {
                return;
            };
            self.steps.push_back((running.call, Step::Close(id)));
            if let Some(call) = self.calls.get_mut(&running.call) {
                call.reach(Exposure::Sent);
                let done = call.give_up(FailureKind::Cancelled);
                self.finish(running.call, done, now);
            }
        }
    }

    /// Time has passed. Early calls change nothing.
    pub fn on_timeout(&mut self, now: Timestamp) {
        for (id, running) in &mut self.exchanges {
            if let Some(exchange) = &mut running.exchange {
                if exchange.poll_timeout().is_some_and(|due| now >= due) {
                    // It is still under way, or it would have no time-out.
                    exchange.on_timeout(now).ok();
                    self.touched.insert(*id);
                }
            }
        }
    }

    // Outputs.

    /// The next step, of any call. Ask until there is none, after each input.
    #[must_use = "a step that is dropped is never carried out"]
    pub fn poll_step(&mut self, now: Timestamp) -> Option<Step> {
        self.settle(None, now);
        self.steps.pop_front().map(|(_, step)| step)
    }

    /// The next step of one call, for adapters that drive each call by a thread or task of its own.
    #[must_use = "a step that is dropped is never carried out"]
    pub fn poll_step_of(&mut self, call: CallId, now: Timestamp) -> Option<Step> {
        self.settle(Some(call), now);
        let at = self.steps.iter().position(|(owner, _)| *owner == call)?;
        self.steps.remove(at).map(|(_, step)| step)
    }

    /// When [`on_timeout`](Self::on_timeout) or [`poll_step`](Self::poll_step) is due, if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let exchanges = self.exchanges.values().filter_map(|running| running.exchange.as_ref()?.poll_timeout());
        let waiting = self.waiting.iter().filter_map(|id| self.due(*id));
        exchanges.chain(waiting).min()
    }

    /// When [`on_timeout`](Self::on_timeout) or [`poll_step_of`](Self::poll_step_of) is due for one call, if
    /// nothing happens before.
    #[must_use]
    pub fn poll_timeout_of(&self, call: CallId) -> Option<Timestamp> {
        let running = self.exchanges.values().find(|running| running.call == call);
        running.and_then(|running| running.exchange.as_ref()?.poll_timeout()).or_else(|| self.due(call))
    }

    fn due(&self, call: CallId) -> Option<Timestamp> {
        match self.calls.get(&call)?.phase {
            Phase::Waiting(at) => Some(at),
            Phase::Running => None,
        }
    }

    // Getters.

    /// Where requests go.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// How the client was made.
    #[must_use]
    pub const fn config(&self) -> &ClientConfig {
        &self.config
    }

    // Within.

    /// Drains exchanges, one event at a time, until there is a step (of `call`, if one is named); then starts the
    /// attempts that are due.
    fn settle(&mut self, call: Option<CallId>, now: Timestamp) {
        let is_of = |owner: CallId| call.is_none_or(|call| call == owner);
        // An exchange that ended before its request was handed out takes the request back, before anybody gets it.
        let unsent = self.touched.iter().copied().filter(|id| self.send_step(*id).is_some());
        for id in unsent.collect::<Vec<_>>() {
            self.drain(id, now);
        }
        loop {
            if self.steps.iter().any(|(owner, _)| is_of(*owner)) {
                return;
            }
            let exchanges = &self.exchanges;
            let touched = self.touched.iter().copied();
            let next = touched.into_iter().find(|id| exchanges.get(id).is_none_or(|running| is_of(running.call)));
            let Some(id) = next else {
                break;
            };
            if !self.drain_one(id, now) {
                self.touched.remove(&id);
            }
        }
        let due: Vec<CallId> =
            self.waiting.iter().copied().filter(|id| self.due(*id).is_some_and(|at| now >= at)).collect();
        for call in due {
            self.attempt(call, now);
        }
    }

    /// Where the step that hands out this exchange's request waits, if it does.
    fn send_step(&self, id: ExchangeId) -> Option<usize> {
        self.steps.iter().rposition(|(_, step)| matches!(step, Step::Send(sent, _) if *sent == id))
    }

    /// Starts the next attempt of a waiting call: a new exchange under a new id.
    fn attempt(&mut self, id: CallId, now: Timestamp) {
        self.waiting.remove(&id);
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if call.deadline.is_some_and(|deadline| now >= deadline) {
            let done = call.give_up(FailureKind::Timeout { limit: TimeLimit::Deadline });
            self.finish(id, done, now);
            return;
        }
        if call.expects_answer {
            call.id = self.shared.next_id();
            if call.id.is_none() {
                // Nine quadrillion calls later: an id that was used is never used again (F8).
                let done = call.give_up(FailureKind::Cancelled);
                self.finish(id, done, now);
                return;
            }
        }
        call.begin_attempt();
        let endpoint = self.endpoint.clone();
        self.send(id, endpoint, now);
    }

    /// Makes the exchange of an attempt, and the step that sends it.
    fn send(&mut self, id: CallId, endpoint: Endpoint, now: Timestamp) {
        let Some(call) = self.calls.get(&id) else {
            return;
        };
        let mut request = Request::new(call.outgoing.method.clone()).with_version(self.config.version);
        request.id.clone_from(&call.id);
        request.progress_token.clone_from(&call.outgoing.progress_token);
        let mut config = ExchangeConfig::default()
            .with_limits(self.config.limits.clone())
            .with_tail(self.config.tail)
            .with_strict_ids(self.config.strict_ids)
            .with_follow_redirects(self.config.follow_redirects);
        config.deadline = call.deadline;
        config.idle = call.options.idle;
        config.fresh_connection = call.attempts > 1;
        let http_request = call.outgoing.build(call.id.as_ref(), &endpoint, &self.config);
        self.last_exchange += 1;
        let exchange_id = ExchangeId(self.last_exchange);
        let running = Running {
            exchange: Some(Exchange::new(&request, config, now)),
            call: id,
            attempt: call.attempts,
            is_cancelled: false,
            endpoint,
        };
        self.exchanges.insert(exchange_id, running);
        self.steps.push_back((id, Step::Send(exchange_id, Box::new(http_request))));
    }

    /// Turns all that an exchange has to tell into steps.
    fn drain(&mut self, id: ExchangeId, now: Timestamp) {
        while self.drain_one(id, now) {}
    }

    /// Turns one thing that an exchange has to tell into steps; false if there is none.
    fn drain_one(&mut self, id: ExchangeId, now: Timestamp) -> bool {
        let Some(running) = self.exchanges.get_mut(&id) else {
            return false;
        };
        let (call, attempt) = (running.call, running.attempt);
        let Some(event) = running.exchange.as_mut().and_then(Exchange::poll_event) else {
            return false;
        };
        let event = match event {
            ExchangeEvent::Notification(message) => CallEvent::Notification { attempt, message },
            ExchangeEvent::Request { message, is_violation } => CallEvent::Request { attempt, message, is_violation },
            ExchangeEvent::Answer(answer) => {
                let calling = self.calls.get(&call);
                let earlier_may_have_run = calling.is_some_and(Call::earlier_may_have_run);
                let connections = &self.config.connections;
                let is_waited_for = calling.is_some_and(|call| call.reads_to_end);
                let bytes = if is_waited_for { u64::MAX } else { connections.drain_bytes };
                if let Some(exchange) = &mut running.exchange {
                    exchange.drain_until(now.saturating_add(connections.drain_timeout), bytes);
                }
                CallEvent::Answer { attempt, damage: answer.damage, answer, earlier_may_have_run }
            }
            ExchangeEvent::Stray { id, bytes } => CallEvent::Stray { attempt, id, bytes },
            ExchangeEvent::Oversized { limit } => CallEvent::Oversized { attempt, limit },
            ExchangeEvent::Ended(verdict) => {
                self.conclude(id, verdict, now);
                return true;
            }
        };
        self.steps.push_back((call, Step::Event(call, event)));
        true
    }

    /// An exchange has ended: what its call does next.
    fn conclude(&mut self, id: ExchangeId, verdict: Verdict, now: Timestamp) {
        let Some(running) = self.exchanges.remove(&id) else {
            return;
        };
        let call_id = running.call;
        let want = running.exchange.as_ref().map_or(Want::Close, Exchange::want);
        if let Some(at) = self.send_step(id) {
            // Nobody has begun with it, and nobody is to: it ended unsent, by a cancel or a deadline.
            self.steps.remove(at);
        } else {
            let release = if want == Want::Close { Step::Close(id) } else { Step::Release(id) };
            self.steps.push_back((call_id, release));
        }
        let Some(call) = self.calls.get_mut(&call_id) else {
            return;
        };
        match call.conclude(verdict, running.exchange.as_ref(), &running.endpoint, &self.config, now) {
            Next::Reissue { cause, exposure, at } => {
                call.phase = Phase::Waiting(at);
                let attempt = call.attempts + 1;
                self.waiting.insert(call_id);
                let event = CallEvent::Reissue { attempt, cause, exposure };
                self.steps.push_back((call_id, Step::Event(call_id, event)));
            }
            Next::Redirect(endpoint) => self.send(call_id, endpoint, now),
            Next::Done(done) => self.finish(call_id, done, now),
        }
    }

    /// A call has ended.
    fn finish(&mut self, id: CallId, done: Done, now: Timestamp) {
        self.waiting.remove(&id);
        if let Some(call) = self.calls.remove(&id) {
            if let Some(cancel) = self.cancel_notification(&call, &done, now) {
                self.steps.push_back((id, Step::Background(id, cancel)));
            }
        }
        self.steps.push_back((id, Step::Done(id, done)));
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
        let is_told =
            self.config.version.era() != Era::Modern && call.outgoing.method != INITIALIZE && failure.may_have_run();
        if !is_told {
            return None;
        }
        let params = format!(r#"{{"requestId":{},"reason":"{reason}"}}"#, id.to_json());
        let options = CallOptions::default().with_timeout(self.config.cancel_timeout);
        self.notify("notifications/cancelled", Some(&params), options, now).ok()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.endpoint)
            .field("calls", &self.calls.len())
            .field("exchanges", &self.exchanges.len())
            .finish_non_exhaustive()
    }
}
