//! A loop around a [`Client`] for calls that are more than one exchange: handshakes, channels, subscriptions. It carries
//! out every step, background calls included, and a function answers each request; on a clock of its own and without
//! sockets.
//!
//! Rules: a reply is facts, each some milliseconds after the request was handed out, about the request's own exchange or
//! about the newest GET. What happens is the same whether the steps of all calls are taken together or each call is asked
//! only when it was woken, has a fact or is due ([`Manner`]): tests run both. A call has one end, and nothing after it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallEvent, CallId, CallOptions, Client, ClientConfig, Done, Endpoint, ExchangeId, HttpRequest, Outcome, Step,
};
use mcp_sse_core::exchange::{Answer, BreakKind, Failure, FailureKind, Framing, Want};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_core::jsonrpc::{Message, MessageKind};
use serde_json::Value;

use crate::loop_driver::{Fact, header, report};

/// How the client's steps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Those of all calls, by one driver.
    Together,
    /// Those of each call by itself: it is asked when it begins, when it was woken, after a fact about its exchange and
    /// when it is due, and else never.
    EachCall,
}

/// Both manners.
pub const MANNERS: [Manner; 2] = [Manner::Together, Manner::EachCall];

/// A request that was handed out.
#[derive(Clone, Debug)]
pub struct Sent {
    /// When, in milliseconds.
    pub at: u64,
    /// Its exchange.
    pub exchange: ExchangeId,
    /// The request.
    pub request: HttpRequest,
    /// Whether it must not go over a kept connection.
    pub wants_fresh: bool,
}

impl Sent {
    /// The body as JSON; null if there is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.request.body).unwrap_or(Value::Null)
    }

    /// What is asked: the JSON-RPC method, `response` for an answer, the HTTP method for a request without a body.
    #[must_use]
    pub fn what(&self) -> String {
        if self.request.body.is_empty() {
            return self.request.method.to_owned();
        }
        self.json()["method"].as_str().unwrap_or("response").to_owned()
    }

    /// The id as JSON text, if it is a request.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        let text = String::from_utf8(self.request.body.clone()).ok()?;
        let message = Message::from_text(text).ok()?;
        (message.kind() == MessageKind::Request).then(|| message.id().map(|id| id.to_json())).flatten()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.request, name)
    }

    /// Whether it is a request of the modern era.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        self.header("Mcp-Method").is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    Itself,
    NewestGet,
}

/// What a server does about one request: facts, each some milliseconds after the request was handed out. In bodies,
/// `{id}` stands for the request's id.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    facts: Vec<(u64, About, Fact)>,
    at: u64,
}

impl Reply {
    /// Nothing happens.
    #[must_use]
    pub fn silence() -> Self {
        Self::default()
    }

    /// The request is read, and nothing happens.
    #[must_use]
    pub fn read() -> Self {
        Self::silence().then(Fact::Connected).then(Fact::Sending).then(Fact::Sent)
    }

    /// No connection can be made.
    #[must_use]
    pub fn refused() -> Self {
        Self::silence().then(Fact::Broken(BreakKind::Connect))
    }

    /// The request is read, and a response of this status begins.
    #[must_use]
    pub fn head(status: u16, headers: &[(&str, &str)]) -> Self {
        Self::read().then(Fact::Head(ResponseHead::from_headers(status, headers.iter().copied())))
    }

    /// A whole response.
    #[must_use]
    pub fn whole(status: u16, media_type: &str, body: &str) -> Self {
        Self::head(status, &[("Content-Type", media_type)]).body(body).end()
    }

    /// A whole response of JSON.
    #[must_use]
    pub fn json(status: u16, body: &str) -> Self {
        Self::whole(status, "application/json", body)
    }

    /// A status of failure with a text.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::whole(status, "text/plain", "no")
    }

    /// A JSON-RPC error.
    #[must_use]
    pub fn error(status: u16, code: i64, data: &str) -> Self {
        let error = format!(r#"{{"code":{code},"message":"no","data":{data}}}"#);
        Self::json(status, &format!(r#"{{"jsonrpc":"2.0","id":{{id}},"error":{error}}}"#))
    }

    /// A result.
    #[must_use]
    pub fn result(result: &str) -> Self {
        Self::json(200, &format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#))
    }

    /// The result of `initialize`, under this session if one is named.
    #[must_use]
    pub fn initialized(version: &str, session: Option<&str>) -> Self {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        let body = format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{}}}"#, initialize_result(version));
        Self::head(200, &headers).body(&body).end()
    }

    /// 202 without a body.
    #[must_use]
    pub fn accepted() -> Self {
        Self::head(202, &[("Content-Length", "0")]).end()
    }

    /// An event stream that stays open.
    #[must_use]
    pub fn stream() -> Self {
        Self::head(200, &[("Content-Type", "text/event-stream")])
    }

    /// The channel of 2024-11-05, with this endpoint.
    #[must_use]
    pub fn channel(endpoint: &str) -> Self {
        Self::stream().body(&format!("event: endpoint\ndata: {endpoint}\n\n"))
    }

    /// What follows happens this many milliseconds later.
    #[must_use]
    pub fn after(mut self, millis: u64) -> Self {
        self.at += millis;
        self
    }

    /// All of it happens this many milliseconds later.
    #[must_use]
    pub fn delayed(mut self, millis: u64) -> Self {
        for (at, _, _) in &mut self.facts {
            *at += millis;
        }
        self.at += millis;
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn then(mut self, fact: Fact) -> Self {
        self.facts.push((self.at, About::Itself, fact));
        self
    }

    /// Adds bytes of the body.
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        self.then(Fact::Body(text.to_owned()))
    }

    /// Adds an event.
    #[must_use]
    pub fn event(self, data: &str) -> Self {
        self.body(&format!("data: {data}\n\n"))
    }

    /// Adds the body's end.
    #[must_use]
    pub fn end(self) -> Self {
        self.then(Fact::End(Framing::Marked))
    }

    /// Adds a break.
    #[must_use]
    pub fn broken(self) -> Self {
        self.then(Fact::Broken(BreakKind::Reset))
    }

    /// Adds an event on the newest GET.
    #[must_use]
    pub fn on_channel(mut self, data: &str) -> Self {
        self.facts.push((self.at, About::NewestGet, Fact::Body(format!("data: {data}\n\n"))));
        self
    }

    /// Adds a result on the newest GET.
    #[must_use]
    pub fn answer_on_channel(self, result: &str) -> Self {
        self.on_channel(&format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{result}}}"#))
    }
}

/// The result of `initialize` of a server that speaks this revision.
#[must_use]
pub fn initialize_result(version: &str) -> String {
    format!(r#"{{"protocolVersion":"{version}","capabilities":{{}},"serverInfo":{{"name":"peer","version":"1"}}}}"#)
}

type Server = Box<dyn FnMut(&Sent, usize) -> Reply>;

/// A client, a server and a clock, and what they have done.
pub struct ChannelDriver {
    /// The client.
    pub client: Client,
    /// The time, in milliseconds.
    pub now: u64,
    /// Requests handed out, in order.
    pub sent: Vec<Sent>,
    /// Events told, in order.
    pub events: Vec<(CallId, CallEvent)>,
    /// Ends told, in order, with their time.
    pub done: Vec<(CallId, Done, u64)>,
    /// Exchanges to be closed, with the time.
    pub closed: Vec<(ExchangeId, u64)>,
    /// Calls that nobody asks for their steps, though they have some ([`Manner::EachCall`]).
    pub held: BTreeSet<CallId>,
    manner: Manner,
    server: Server,
    agenda: BTreeMap<(u64, u64), (ExchangeId, Fact)>,
    planned: u64,
    owners: BTreeMap<ExchangeId, CallId>,
    living: BTreeSet<CallId>,
    ready: VecDeque<CallId>,
}

impl ChannelDriver {
    /// A driver of a client of this endpoint; `server` answers each request, which it is given with its number.
    ///
    /// # Panics
    /// If the endpoint is none.
    pub fn new(
        endpoint: &str,
        config: ClientConfig,
        manner: Manner,
        server: impl FnMut(&Sent, usize) -> Reply + 'static,
    ) -> Self {
        Self {
            client: Client::new(Endpoint::parse(endpoint).expect("a URL"), config),
            now: 0,
            sent: Vec::new(),
            events: Vec::new(),
            done: Vec::new(),
            closed: Vec::new(),
            held: BTreeSet::new(),
            manner,
            server: Box::new(server),
            agenda: BTreeMap::new(),
            planned: 0,
            owners: BTreeMap::new(),
            living: BTreeSet::new(),
            ready: VecDeque::new(),
        }
    }

    /// The time.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Begins a call; its steps are not taken yet.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn call(&mut self, method: &str, params: Option<&str>, options: CallOptions) -> CallId {
        let call = self.client.call(method, params, options, self.time()).expect("a call that can be sent");
        self.began(call)
    }

    /// Begins a notification; its steps are not taken yet.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn notify(&mut self, method: &str) -> CallId {
        let options = CallOptions::default();
        let call = self.client.notify(method, None, options, self.time()).expect("a notification that can be sent");
        self.began(call)
    }

    /// Begins to listen; the steps are not taken yet.
    ///
    /// # Panics
    /// If the filter is none.
    pub fn listen(&mut self, filter: &str) -> CallId {
        let options = CallOptions::default().with_timeout(None);
        let call = self.client.listen(filter, options, self.time()).expect("a filter");
        self.began(call)
    }

    /// Cancels a call.
    pub fn cancel(&mut self, call: CallId) {
        self.client.cancel(call, self.time());
        self.ready.push_back(call);
        self.carry_out();
    }

    /// Closes the client.
    pub fn close(&mut self) {
        if let Some(call) = self.client.close(self.time()) {
            self.began(call);
        }
        self.carry_out();
    }

    /// Takes a call on that was begun on the client itself.
    pub fn began(&mut self, call: CallId) -> CallId {
        self.living.insert(call);
        self.ready.push_back(call);
        call
    }

    /// Has the call asked for its steps again.
    pub fn release(&mut self, call: CallId) {
        self.held.remove(&call);
        self.ready.push_back(call);
        self.carry_out();
    }

    /// Carries out steps until nothing more happens, ever.
    pub fn run(&mut self) {
        self.run_until(u64::MAX);
    }

    /// Carries out steps until this time, in milliseconds.
    ///
    /// # Panics
    /// If the client wants to be woken over and over without the time moving on.
    pub fn run_until(&mut self, until: u64) {
        self.carry_out();
        let mut rounds = 0;
        while let Some(next) = self.next_moment().filter(|next| *next <= until) {
            rounds = if next > self.now { 0 } else { rounds + 1 };
            assert!(rounds < 10_000, "the client never rests");
            assert!(next >= self.now, "a time-out in the past is left after it was served");
            self.now = next;
            self.pass_time();
            self.carry_out();
            while let Some(planned) = self.agenda.first_entry().filter(|planned| planned.key().0 <= next) {
                let (exchange, fact) = planned.remove();
                self.fact(exchange, &fact);
            }
        }
        if until != u64::MAX {
            self.now = self.now.max(until);
        }
    }

    fn next_moment(&self) -> Option<u64> {
        let due = match self.manner {
            Manner::Together => self.client.poll_timeout(),
            Manner::EachCall => self.living.iter().filter_map(|call| self.client.poll_timeout_of(*call)).min(),
        };
        // Rounded up, so that it is due then.
        let due = due.map(|due| u64::try_from(due.since_origin().as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX));
        due.into_iter().chain(self.agenda.keys().next().map(|(at, _)| *at)).min()
    }

    fn pass_time(&mut self) {
        let now = self.time();
        if self.manner == Manner::EachCall {
            let living = self.living.iter().copied();
            let due = living.filter(|call| self.client.poll_timeout_of(*call).is_some_and(|due| due <= now));
            self.ready.extend(due.collect::<Vec<_>>());
        }
        self.client.on_timeout(now);
    }

    /// Reports a fact about an exchange now; one that has ended takes none.
    ///
    /// # Panics
    /// If the exchange refuses bytes.
    pub fn fact(&mut self, exchange: ExchangeId, fact: &Fact) {
        let now = self.time();
        self.ready.extend(self.owners.get(&exchange));
        if let Fact::Body(text) = fact {
            let mut input = text.as_bytes();
            while !input.is_empty() {
                // One that has no head yet is another's, and cannot be told.
                let Some(known) = self.client.exchange(exchange).filter(|known| known.head().is_some()) else {
                    return;
                };
                known.on_body(&mut input, now).expect("events were drained, and there was a head");
                self.ready.extend(self.owners.get(&exchange));
                self.carry_out();
            }
        } else if let Some(known) = self.client.exchange(exchange) {
            report(known, fact, "", now).ok();
            self.carry_out();
        }
    }

    /// An event on the newest GET, now.
    pub fn on_channel(&mut self, data: &str) {
        if let Some(get) = self.newest_get() {
            self.fact(get, &Fact::Body(format!("data: {data}\n\n")));
        }
    }

    /// The newest GET breaks, now.
    pub fn break_channel(&mut self) {
        if let Some(get) = self.newest_get() {
            self.fact(get, &Fact::Broken(BreakKind::Reset));
        }
    }

    fn newest_get(&self) -> Option<ExchangeId> {
        self.sent.iter().rev().find(|sent| sent.request.method == "GET").map(|sent| sent.exchange)
    }

    /// Carries out the steps there are now.
    ///
    /// # Panics
    /// If the client does not know a step.
    pub fn carry_out(&mut self) {
        match self.manner {
            Manner::Together => {
                while let Some(step) = self.client.poll_step(self.time()) {
                    self.step(step, None);
                }
                self.ready.clear();
            }
            Manner::EachCall => {
                self.note_wakes();
                while let Some(call) = self.ready.pop_front() {
                    while !self.held.contains(&call) {
                        let step = self.client.poll_step_of(call, self.time());
                        self.note_wakes();
                        let Some(step) = step else {
                            break;
                        };
                        self.step(step, Some(call));
                    }
                }
            }
        }
    }

    fn note_wakes(&mut self) {
        while let Some(call) = self.client.poll_wake() {
            self.ready.push_back(call);
        }
    }

    fn step(&mut self, step: Step, owner: Option<CallId>) {
        match step {
            Step::Send(exchange, request) => {
                self.owners.extend(owner.map(|owner| (exchange, owner)));
                let want = self.client.exchange(exchange).map(|exchange| exchange.want());
                let wants_fresh = matches!(want, Some(Want::Send { fresh: true }));
                let sent = Sent { at: self.now, exchange, request: *request, wants_fresh };
                let reply = (self.server)(&sent, self.sent.len());
                let id = sent.id().unwrap_or_default();
                self.sent.push(sent);
                for (after, about, fact) in reply.facts {
                    let target = match about {
                        About::Itself => Some(exchange),
                        About::NewestGet => self.newest_get(),
                    };
                    let fact = match fact {
                        Fact::Body(text) => Fact::Body(text.replace("{id}", &id)),
                        fact => fact,
                    };
                    if let Some(target) = target {
                        self.agenda.insert((self.now + after, self.planned), (target, fact));
                        self.planned += 1;
                    }
                }
            }
            Step::Close(exchange) => self.closed.push((exchange, self.now)),
            Step::Release(_) => {}
            Step::Event(call, event) => {
                assert!(!self.has_ended(call), "an event after the end of {call}: {event:?}");
                self.events.push((call, event));
            }
            Step::Done(call, done) => {
                assert!(!self.has_ended(call), "a second end of {call}: {done:?}");
                self.living.remove(&call);
                self.done.push((call, done, self.now));
            }
            Step::Background(_, call) => {
                self.began(call);
            }
            other => panic!("a step that is not known: {other:?}"),
        }
    }

    fn has_ended(&self, call: CallId) -> bool {
        self.done.iter().any(|(known, _, _)| *known == call)
    }

    /// The end of a call, if it has one, and its time.
    #[must_use]
    pub fn end_of(&self, call: CallId) -> Option<(&Done, u64)> {
        self.done.iter().find(|(known, _, _)| *known == call).map(|(_, done, at)| (done, *at))
    }

    /// The failure of a call.
    ///
    /// # Panics
    /// If it has not failed.
    pub fn failure_of(&self, call: CallId) -> &Failure {
        match self.end_of(call).map(|(done, _)| &done.outcome) {
            Some(Outcome::Failed(failure)) => failure,
            other => panic!("{call} has not failed: {other:?}; sent: {:?}", self.whats()),
        }
    }

    /// The kind of failure of a call.
    #[must_use]
    pub fn failure_kind_of(&self, call: CallId) -> &FailureKind {
        &self.failure_of(call).kind
    }

    /// What a call has told.
    #[must_use]
    pub fn events_of(&self, call: CallId) -> Vec<&CallEvent> {
        self.events.iter().filter(|(known, _)| *known == call).map(|(_, event)| event).collect()
    }

    /// The methods of the notifications that a call has told.
    #[must_use]
    pub fn notifications_of(&self, call: CallId) -> Vec<String> {
        let events = self.events_of(call).into_iter();
        events
            .filter_map(|event| match event {
                CallEvent::Notification { message, .. } => message.method().map(ToOwned::to_owned),
                _ => None,
            })
            .collect()
    }

    /// The one answer of a call.
    ///
    /// # Panics
    /// If it has none, or several.
    pub fn answer_of(&self, call: CallId) -> &Answer {
        let answers: Vec<_> = self
            .events_of(call)
            .into_iter()
            .filter_map(|event| match event {
                CallEvent::Answer { answer, .. } => Some(&**answer),
                _ => None,
            })
            .collect();
        let [answer] = answers[..] else {
            panic!("{call} has {} answers; ended: {:?}; sent: {:?}", answers.len(), self.end_of(call), self.whats());
        };
        answer
    }

    /// What was asked, in order.
    #[must_use]
    pub fn whats(&self) -> Vec<String> {
        self.sent.iter().map(Sent::what).collect()
    }

    /// The requests of this kind, in order.
    #[must_use]
    pub fn asked(&self, what: &str) -> Vec<&Sent> {
        self.sent.iter().filter(|sent| sent.what() == what).collect()
    }
}
