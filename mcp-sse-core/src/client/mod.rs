//! What calls share, and each call until one outcome.
//!
//! Lives here: [`Client`], its commands, inputs and outputs. `running` turns what exchanges tell into steps and starts
//! attempts; `origin` keeps what was found out about the server, `opening` makes the handshakes that find it out,
//! `detour` reads what an answer says of the server and `detouring` acts on it, `channel` hands out what comes on the
//! 2024-11-05 channel, `listening` what comes on the stream of a session that belongs to no call, `asking` answers the
//! server's requests, `exchanges` holds those under way. `call` decides what follows a verdict, `http_request` makes a
//! request's bytes, `endpoint` checks URLs, `policy` and `config` hold the caller's choices, `settings` collects them,
//! `outcome` has the words. Does not belong here: what a response
//! means ([`exchange`](crate::exchange)), sockets, clocks.

mod asking;
mod call;
mod channel;
mod config;
mod connections;
mod detour;
mod detouring;
mod endpoint;
mod exchanges;
mod http_request;
mod listening;
mod opening;
mod origin;
mod outcome;
mod policy;
mod reply;
mod running;
mod settings;
mod shared;
pub mod subscription;
mod taping;
pub mod versions;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use core::fmt;

pub use asking::{Asked, ErrorReply, RespondError};
pub use call::READ_METHODS;
use call::{Call, Kind, Phase};
pub use config::{BuildError, ClientConfig, ConfigError, Protocol};
pub use connections::{ConnectionConfig, IdleConnections};
pub use endpoint::{Endpoint, EndpointError};
use exchanges::Exchanges;
use http_request::Outgoing;
pub use http_request::{HttpRequest, RequestError};
use origin::Origin;
pub use outcome::{CallEvent, CallId, Done, Outcome, Step};
pub use policy::{Backoff, CallOptions, ReissuePolicy};
pub use reply::{CallError, Reply, ResultError, params_to_json, result_to_json};
pub use settings::{Built, Settings};
use shared::Shared;
use taping::Recorder;
pub(crate) use taping::{name_of_policy, step_words};

use crate::exchange::{Exchange, Exposure, FailureKind, TimeLimit};
use crate::http::{Era, ProtocolVersion};
use crate::jsonrpc::{self, Id};
use crate::time::Timestamp;

/// Names an exchange of a [`Client`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId(pub(crate) u64);

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exchange {}", self.0)
    }
}

/// What calls share, and each call until one outcome. The adapter only carries out steps.
///
/// Its methods are of four kinds:
/// - *commands*: [`call`](Self::call), [`notify`](Self::notify), [`listen`](Self::listen),
///   [`respond`](Self::respond), [`cancel`](Self::cancel), [`close`](Self::close);
/// - *facts in*: those of [`Exchange`], reached by [`exchange`](Self::exchange) or
///   [`lend_exchange`](Self::lend_exchange), and [`on_timeout`](Self::on_timeout);
/// - *outputs*: [`poll_step`](Self::poll_step) until it gives none, and [`poll_timeout`](Self::poll_timeout); or those
///   of one call, and [`poll_wake`](Self::poll_wake);
/// - *getters*: [`endpoint`](Self::endpoint), [`config`](Self::config),
///   [`protocol_version`](Self::protocol_version), [`initialize_result`](Self::initialize_result),
///   [`recording`](Self::recording).
///
/// See the crate's page for the loop around it.
pub struct Client {
    endpoint: Endpoint,
    config: ClientConfig,
    shared: Shared,
    origin: Origin,
    /// Boxed, because maps move what they hold.
    calls: BTreeMap<CallId, Box<Call>>,
    exchanges: Exchanges,
    /// Calls whose next attempt is due at some time.
    waiting: BTreeSet<CallId>,
    steps: VecDeque<(CallId, Step)>,
    /// Calls that have steps, or a time of their own, since something happened to another one.
    woken: BTreeSet<CallId>,
    /// The call whose steps are being asked for: it needs no waking.
    asking: Option<CallId>,
    /// The code of the error that the last `initialize` was refused with.
    refusal: Option<i64>,
    /// Requests of the server's that were refused because too many were under way (F15).
    refused_requests: u64,
    last_call: u64,
    last_exchange: u64,
    /// What is written down, if anything is.
    recorder: Option<Box<Recorder>>,
}

impl Client {
    /// A client of one endpoint.
    #[must_use]
    pub fn new(endpoint: Endpoint, config: ClientConfig) -> Self {
        Self {
            endpoint,
            origin: Origin::new(config.protocol),
            recorder: config.recording.as_ref().map(|recording| Box::new(Recorder::new(recording))),
            config,
            shared: Shared::new(),
            calls: BTreeMap::new(),
            exchanges: Exchanges::default(),
            waiting: BTreeSet::new(),
            steps: VecDeque::new(),
            woken: BTreeSet::new(),
            asking: None,
            refusal: None,
            refused_requests: 0,
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
        let line = self.line_of("call", (method, params), &options, now);
        let begun = self.begin(Kind::Request, method, params, options, now);
        self.note_begun(line, begun)
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
        let line = self.line_of("notify", (method, params), &options, now);
        let begun = self.begin(Kind::Notification, method, params, options, now);
        self.note_begun(line, begun)
    }

    /// Listens to what the server has to tell outside of calls (F10, F12). `filter` is the JSON text of an object that
    /// says what is wanted, such as `{"toolsListChanged":true}` (2026-07-28, "Notification Filter"); earlier revisions
    /// have no filter and tell all. Notifications and requests follow as events. A lost stream is opened again: in
    /// the modern era for as long as it takes, before that within
    /// [`max_barren_openings`](ClientConfig::max_barren_openings). Give it no time-out; of the other options, none counts.
    ///
    /// # Errors
    /// [`RequestError`] if the filter is no JSON object; nothing was begun.
    pub fn listen(&mut self, filter: &str, options: CallOptions, now: Timestamp) -> Result<CallId, RequestError> {
        let line = self.line_of("listen", (subscription::LISTEN, Some(filter)), &options, now);
        let params = format!(r#"{{"notifications":{filter}}}"#);
        if jsonrpc::shape(filter) != jsonrpc::Shape::Object {
            return Err(RequestError::NotAnObject);
        }
        let begun = self.begin(Kind::Listen, subscription::LISTEN, Some(&params), options, now);
        self.note_begun(line, begun)
    }

    /// Ends what the eras before 2026-07-28 keep open: a session is given back by DELETE, as a call of its own that is
    /// named here and is to be driven; the 2024-11-05 channel is closed. Calls under way are not touched, but those that
    /// wait for the channel end as lost. A later call begins anew.
    pub fn close(&mut self, now: Timestamp) -> Option<CallId> {
        self.note(now, "close", |line| line);
        self.close_origin(now)
    }

    fn begin(
        &mut self,
        kind: Kind,
        method: &str,
        params: Option<&str>,
        options: CallOptions,
        now: Timestamp,
    ) -> Result<CallId, RequestError> {
        if kind.expects_answer() && self.shared.ids_left() == 0 {
            return Err(RequestError::NoIdLeft);
        }
        let mut outgoing = Outgoing::new(method, params)?;
        if kind.expects_answer() && options.idle.is_some() {
            // E12: only progress under a token moves the idle limit.
            outgoing.ask_for_progress(Id::from(format!("mcp-sse-{}", self.last_call + 1)));
        }
        Ok(self.enqueue(kind, outgoing, options, now))
    }

    /// A call that is to be attempted at once.
    fn enqueue(&mut self, kind: Kind, outgoing: Outgoing, options: CallOptions, now: Timestamp) -> CallId {
        self.last_call += 1;
        let id = CallId(self.last_call);
        let call = Call::new(kind, outgoing, options, self.config.max_barren_openings, now);
        self.calls.insert(id, Box::new(call));
        self.waiting.insert(id);
        id
    }

    /// The caller wants no more of this call: its stream is closed, and no other (F9). A call that has its
    /// answer is settled. In the eras in which a disconnect is no cancel, `notifications/cancelled` goes out
    /// as a background call. While its exchange is lent out, all this waits for its return. Unknown and
    /// ended calls are none of these.
    pub fn cancel(&mut self, call: CallId, now: Timestamp) {
        self.note(now, "cancel", |line| line.arg(call.0));
        self.give_up(call, now);
    }

    /// As [`cancel`](Self::cancel), by the client itself.
    fn give_up(&mut self, call: CallId, now: Timestamp) {
        // What its exchange has come to already has its own verdict; a replacement or a redirect that follows
        // from it is then cancelled below.
        if let Some(id) = self.exchanges.of(call) {
            self.drain(id, now);
        }
        if let Some(id) = self.exchanges.of(call) {
            if let Some(running) = self.exchanges.get_mut(id) {
                match &mut running.exchange {
                    Some(exchange) => {
                        exchange.close(now);
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
            self.end(call, done, now);
        }
    }

    /// Cancels a call whose steps nobody will carry out any more: it drops them, those of background calls included.
    pub fn abandon(&mut self, call: CallId, now: Timestamp) {
        self.cancel(call, now);
        while let Some(step) = self.poll_step_of(call, now) {
            if let Step::Background(_, other) = step {
                self.abandon(other, now);
            }
        }
    }

    /// The caller of this call waits for the end of its exchange: what follows the answer is read on within the bound
    /// of time ([`ConnectionConfig::drain_timeout`]) alone, and not of bytes. For before the answer.
    pub fn read_to_end(&mut self, call: CallId) {
        self.note_now("read_to_end", |line| line.arg(call.0));
        if let Some(call) = self.calls.get_mut(&call) {
            call.reads_to_end = true;
        }
    }

    // Facts in.

    /// The exchange of this name, to report facts to; `None` if it has ended or is lent out.
    pub fn exchange(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        self.exchanges.given_out(id)
    }

    /// Takes the exchange of this name out, so that bytes can be given to it without holding the client;
    /// [`return_exchange`](Self::return_exchange) puts it back, or [`forget_exchange`](Self::forget_exchange) says
    /// that nobody will. Meanwhile the client does not see it: its deadline and a cancel wait for its return.
    pub fn lend_exchange(&mut self, id: ExchangeId) -> Option<Box<Exchange>> {
        let exchange = self.exchanges.get_mut(id)?.exchange.take()?;
        self.note_lent(id);
        Some(exchange)
    }

    /// Puts back an exchange that was lent. One of another name is dropped.
    pub fn return_exchange(&mut self, id: ExchangeId, mut exchange: Box<Exchange>, now: Timestamp) {
        self.note_returned(id, &mut exchange, now);
        if let Some(running) = self.exchanges.get_mut(id).filter(|running| running.exchange.is_none()) {
            running.exchange = Some(exchange);
            let (call, is_cancelled) = (running.call, running.is_cancelled);
            self.exchanges.touch(id);
            if is_cancelled {
                self.give_up(call, now);
            }
        }
    }

    /// Gives up an exchange that was lent and cannot be returned, because whoever held it is gone: its call ends as
    /// cancelled, and may have run. Without this a lent exchange holds its call for ever.
    pub fn forget_exchange(&mut self, id: ExchangeId, now: Timestamp) {
        if self.exchanges.get(id).is_some_and(|running| running.exchange.is_none()) {
            let Some(running) = self.exchanges.remove(id) else {
                return;
            };
            self.note(now, "forget_exchange", |line| line.arg(id.0));
            self.push(running.call, Step::Close(id));
            if let Some(call) = self.calls.get_mut(&running.call) {
                call.reach(Exposure::Sent);
                let done = call.give_up(FailureKind::Cancelled);
                self.end(running.call, done, now);
            }
        }
    }

    /// Time has passed. Early calls change nothing.
    pub fn on_timeout(&mut self, now: Timestamp) {
        self.note_timeout(now);
        self.exchanges.touch_if(|exchange| {
            let is_due = exchange.poll_timeout().is_some_and(|due| now >= due);
            // It is still under way, or it would have no time-out.
            is_due && exchange.expire(now).is_ok()
        });
    }

    // Outputs.

    /// The next step, of any call. Ask until there is none, after each input.
    #[must_use = "a step that is dropped is never carried out"]
    pub fn poll_step(&mut self, now: Timestamp) -> Option<Step> {
        let poll = self.note_poll(None, now);
        self.settle(None, now);
        // Whoever takes the steps of all calls needs no call named.
        self.woken.clear();
        let next = self.steps.pop_front();
        self.note_step(poll, next.as_ref().map(|(_, step)| step));
        let (owner, step) = next?;
        self.took(owner);
        Some(step)
    }

    /// The next step of one call, for adapters that drive each call by a thread or task of its own.
    #[must_use = "a step that is dropped is never carried out"]
    pub fn poll_step_of(&mut self, call: CallId, now: Timestamp) -> Option<Step> {
        self.asking = Some(call);
        self.woken.remove(&call);
        let poll = self.note_poll(Some(call), now);
        self.settle(Some(call), now);
        self.asking = None;
        let at = self.steps.iter().position(|(owner, _)| *owner == call);
        let step = match at {
            Some(0) => self.steps.pop_front(),
            at => at.and_then(|at| self.steps.remove(at)),
        };
        let step = step.map(|(_, step)| step);
        self.note_step(poll, step.as_ref());
        if step.is_some() {
            self.took(call);
        }
        step
    }

    /// A call whose own steps or time-out have changed by what happened to another one: a handshake that it waited for,
    /// a message on a channel that all share. An adapter that drives each call by itself asks after each
    /// [`poll_step_of`](Self::poll_step_of) and each command, until there is none, and has that call asked for its steps.
    #[must_use = "a call that is not woken waits for ever"]
    pub fn poll_wake(&mut self) -> Option<CallId> {
        self.woken.pop_first()
    }

    /// Whether a step of this call waits to be taken. For adapters that sleep under the same lock that others wake them
    /// under.
    #[must_use]
    pub fn has_step_of(&self, call: CallId) -> bool {
        self.steps.iter().any(|(owner, _)| *owner == call)
    }

    /// Whether this call may be ended by what comes on the exchange of another one: it waits on a 2024-11-05 channel, or
    /// is a stream that is read for all. A thread that is stuck in reading its own exchange must look for steps from time to time.
    #[must_use]
    pub fn is_shared(&self, call: CallId) -> bool {
        let is_read_for_all = |kind| matches!(kind, Kind::Channel | Kind::Requests);
        self.calls.get(&call).is_some_and(|call| is_read_for_all(call.kind) || call.era() == Some(Era::HttpSse))
    }

    /// When [`on_timeout`](Self::on_timeout) or [`poll_step`](Self::poll_step) is due, if nothing happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        let exchanges = self.exchanges.present().filter_map(Exchange::poll_timeout);
        let waiting = self.waiting.iter().filter_map(|id| self.due(*id));
        exchanges.chain(waiting).min()
    }

    /// When [`on_timeout`](Self::on_timeout) or [`poll_step_of`](Self::poll_step_of) is due for one call, if
    /// nothing happens before.
    #[must_use]
    pub fn poll_timeout_of(&self, call: CallId) -> Option<Timestamp> {
        let running = self.exchanges.of(call).and_then(|id| self.exchanges.get(id));
        running.and_then(|running| running.exchange.as_ref()?.poll_timeout()).or_else(|| self.due(call))
    }

    fn due(&self, call: CallId) -> Option<Timestamp> {
        let call = self.calls.get(&call)?;
        match call.phase {
            // A wait may be longer than the call has time.
            Phase::Waiting(at) => Some(call.deadline.map_or(at, |deadline| at.min(deadline))),
            Phase::Blocked => [call.deadline, self.origin.listening_until].into_iter().flatten().min(),
            Phase::Listing | Phase::Awaiting => call.deadline,
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

    /// The revision that requests go out under, once it is known: what the caller fixed, or what was found out (F6).
    #[must_use]
    pub const fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.origin.version()
    }

    /// The server's last result of `initialize`, as raw JSON: its name, version and capabilities. Only the eras before
    /// 2026-07-28 have one.
    #[must_use]
    pub fn initialize_result(&self) -> Option<&str> {
        self.origin.initialize_result.as_deref()
    }

    /// How many of the server's requests were neither given out nor answered, because too many were under way (F15).
    #[must_use]
    pub const fn refused_requests(&self) -> u64 {
        self.refused_requests
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
