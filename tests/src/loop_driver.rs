//! The smallest loop around a [`Client`]: it carries out steps against scripted responses, on a clock of its
//! own and without sockets, and keeps what it saw.
//!
//! Rules: the n-th request that is sent meets the n-th script, and one without a script meets silence. Facts of
//! one moment are reported in the order in which they were planned; at a deadline, time comes before facts.
//! What a client should do is not judged here.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallEvent, CallId, CallOptions, Client, ClientConfig, Done, Endpoint, ExchangeId, HttpRequest, Outcome,
    RequestError, Step,
};
use mcp_sse_core::exchange::{Answer, BreakKind, Exchange, Failure, Framing, Misuse};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_core::jsonrpc::{Id, Message, MessageKind};
use mcp_sse_core::recording::RecordingConfig;

use crate::recordings;

/// Where requests go, unless a test says otherwise.
pub const ENDPOINT: &str = "http://mcp.test/mcp";

/// One fact about an exchange.
#[derive(Clone, Debug)]
pub enum Fact {
    /// A fresh connection.
    Connected,
    /// A kept connection.
    Reused,
    /// The first byte was written.
    Sending,
    /// The last byte was written.
    Sent,
    /// The response's head.
    Head(ResponseHead),
    /// Bytes of the body. `{id}` stands for the request's id as JSON.
    Body(String),
    /// The body's end.
    End(Framing),
    /// A break.
    Broken(BreakKind),
}

/// What becomes of one request: facts, each at a number of milliseconds after the request was handed out.
#[derive(Clone, Debug, Default)]
pub struct Script {
    facts: Vec<(u64, Fact)>,
    at: u64,
}

impl Script {
    /// Nothing happens.
    #[must_use]
    pub fn silence() -> Self {
        Self::default()
    }

    /// A fresh connection, and every byte of the request written, at once.
    #[must_use]
    pub fn sent() -> Self {
        Self::silence().then(Fact::Connected).then(Fact::Sending).then(Fact::Sent)
    }

    /// As [`sent`](Self::sent), and 200 with an event stream.
    #[must_use]
    pub fn stream() -> Self {
        Self::sent().head(200, &[("Content-Type", "text/event-stream")])
    }

    /// As [`sent`](Self::sent), and a response of this status, type and body, whole.
    #[must_use]
    pub fn whole(status: u16, media_type: &str, body: &str) -> Self {
        Self::sent().head(status, &[("Content-Type", media_type)]).body(body).then(Fact::End(Framing::Marked))
    }

    /// An event stream with the answer `{"ok":true}` in it, ended as it should.
    #[must_use]
    pub fn answered() -> Self {
        Self::stream().answer().then(Fact::End(Framing::Marked))
    }

    /// No connection can be made.
    #[must_use]
    pub fn refused() -> Self {
        Self::silence().broken(BreakKind::Connect)
    }

    /// The first bytes are written, and the connection is reset.
    #[must_use]
    pub fn partly_sent() -> Self {
        Self::silence().then(Fact::Connected).then(Fact::Sending).broken(BreakKind::Reset)
    }

    /// Everything is written, and the connection is reset before the status line.
    #[must_use]
    pub fn lost_sent() -> Self {
        Self::sent().broken(BreakKind::Reset)
    }

    /// The head of an event stream is read, and it breaks.
    #[must_use]
    pub fn lost_headed() -> Self {
        Self::stream().broken(BreakKind::Closed)
    }

    /// An event stream ends as it should, with a comment in it and no answer.
    #[must_use]
    pub fn lost_streaming() -> Self {
        Self::stream().body(": keep-alive\n\n").then(Fact::End(Framing::Marked))
    }

    /// What follows happens this many milliseconds later.
    #[must_use]
    pub fn after(mut self, millis: u64) -> Self {
        self.at += millis;
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn then(mut self, fact: Fact) -> Self {
        self.facts.push((self.at, fact));
        self
    }

    /// Adds a head.
    #[must_use]
    pub fn head(self, status: u16, headers: &[(&str, &str)]) -> Self {
        self.then(Fact::Head(ResponseHead::from_headers(status, headers.iter().copied())))
    }

    /// Adds bytes of a body.
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        self.then(Fact::Body(text.to_owned()))
    }

    /// Adds an event with the answer `{"ok":true}` to the request.
    #[must_use]
    pub fn answer(self) -> Self {
        self.body("data: {\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{\"ok\":true}}\n\n")
    }

    /// Adds a break.
    #[must_use]
    pub fn broken(self, kind: BreakKind) -> Self {
        self.then(Fact::Broken(kind))
    }
}

/// A request that was handed out.
#[derive(Clone, Debug)]
pub struct Post {
    /// When, in milliseconds.
    pub at: u64,
    /// Its exchange.
    pub exchange: ExchangeId,
    /// The request.
    pub request: HttpRequest,
    /// Whether any byte was written.
    pub was_begun: bool,
}

impl Post {
    /// The body.
    ///
    /// # Panics
    /// If it is not UTF-8.
    #[must_use]
    pub fn body(&self) -> &str {
        std::str::from_utf8(&self.request.body).expect("bodies are JSON")
    }

    /// The body as a message.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn message(&self) -> Message {
        Message::from_text(self.body().to_owned()).expect("bodies are messages")
    }

    /// The id, if it is a request.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        let message = self.message();
        (message.kind() == MessageKind::Request).then(|| message.id().cloned()).flatten()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.request, name)
    }

    /// The body with its id replaced by a word, to compare what must be equal.
    #[must_use]
    pub fn body_but_id(&self) -> String {
        let id = self.id().map_or_else(String::new, |id| format!("\"id\":{id},"));
        self.body().replacen(&id, "", 1)
    }
}

/// The value of a header of a request; it must not come twice.
///
/// # Panics
/// If it comes twice.
#[must_use]
pub fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let mut values = request.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    let value = values.next().map(|(_, value)| &**value);
    assert!(values.next().is_none(), "{name} comes twice");
    value
}

/// Reports a fact as an adapter does; for bytes, the exchange's events must have been drained by `drain`.
///
/// # Errors
/// What the exchange says to it.
pub fn report(exchange: &mut Exchange, fact: &Fact, id: &str, now: Timestamp) -> Result<(), Misuse> {
    match fact {
        Fact::Connected => exchange.on_connected(now),
        Fact::Reused => exchange.on_reused(now),
        Fact::Sending => exchange.on_sending(now),
        Fact::Sent => exchange.on_sent(now),
        Fact::Head(head) => exchange.on_head(head, now),
        Fact::Body(text) => exchange.on_body(&mut text.replace("{id}", id).as_bytes(), now),
        Fact::End(framing) => exchange.on_end(*framing, now),
        Fact::Broken(kind) => exchange.on_broken(*kind, now),
    }
}

/// A client, a clock, and what the two have done.
pub struct LoopDriver {
    /// The client.
    pub client: Client,
    /// The time, in milliseconds.
    pub now: u64,
    /// Requests handed out, in order.
    pub posts: Vec<Post>,
    /// Events told, in order.
    pub events: Vec<(CallId, CallEvent)>,
    /// Ends told, in order, with their time.
    pub done: Vec<(CallId, Done, u64)>,
    /// Exchanges to be closed.
    pub closed: Vec<ExchangeId>,
    /// Exchanges whose connections may be used again.
    pub released: Vec<ExchangeId>,
    /// Background calls: the call they go with, and themselves.
    pub background: Vec<(CallId, CallId)>,
    scripts: VecDeque<Script>,
    agenda: BTreeMap<(u64, u64), (usize, Fact)>,
    planned: u64,
}

impl LoopDriver {
    /// A driver of a client with this configuration.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        let config = config.with_recording(RecordingConfig::default());
        Self {
            client: Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), config),
            now: 0,
            posts: Vec::new(),
            events: Vec::new(),
            done: Vec::new(),
            closed: Vec::new(),
            released: Vec::new(),
            background: Vec::new(),
            scripts: VecDeque::new(),
            agenda: BTreeMap::new(),
            planned: 0,
        }
    }

    /// As [`new`](Self::new), with what the next requests will meet.
    #[must_use]
    pub fn with_scripts(config: ClientConfig, scripts: impl IntoIterator<Item = Script>) -> Self {
        let mut driver = Self::new(config);
        driver.scripts.extend(scripts);
        driver
    }

    /// Adds what the next request without a script will meet.
    pub fn script(&mut self, script: Script) {
        self.scripts.push_back(script);
    }

    /// The time.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Begins a call.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn call(&mut self, method: &str, params: Option<&str>, options: CallOptions) -> CallId {
        self.client.call(method, params, options, self.time()).expect("a call that can be sent")
    }

    /// Begins a notification.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn notify(&mut self, method: &str, params: Option<&str>, options: CallOptions) -> CallId {
        self.client.notify(method, params, options, self.time()).expect("a notification that can be sent")
    }

    /// Cancels a call.
    pub fn cancel(&mut self, call: CallId) {
        let now = self.time();
        self.client.cancel(call, now);
        self.carry_out();
    }

    /// Carries out steps until nothing more happens, ever.
    pub fn run(&mut self) {
        self.run_until(u64::MAX);
    }

    /// Carries out steps until this time, in milliseconds.
    ///
    /// # Panics
    /// If the client wants to be woken in the past over and over.
    pub fn run_until(&mut self, until: u64) {
        self.carry_out();
        while let Some(next) = self.next_moment().filter(|next| *next <= until) {
            assert!(next >= self.now, "a time-out in the past is left after it was served");
            self.now = next;
            let now = self.time();
            self.client.on_timeout(now);
            self.carry_out();
            while let Some(planned) = self.agenda.first_entry().filter(|planned| planned.key().0 <= next) {
                let (post, fact) = planned.remove();
                self.fact(post, &fact);
            }
            assert!(
                self.client.poll_timeout().is_none_or(|due| due > now),
                "a time-out at {now} is left after it was served"
            );
        }
        if until != u64::MAX {
            self.now = self.now.max(until);
        }
    }

    fn next_moment(&self) -> Option<u64> {
        let due = self.client.poll_timeout().map(|due| {
            // Rounded up, so that it is due then.
            u64::try_from(due.since_origin().as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
        });
        let planned = self.agenda.keys().next().map(|(at, _)| *at);
        due.into_iter().chain(planned).min()
    }

    /// Reports a fact about the request of this number now, whatever was scripted.
    pub fn fact(&mut self, post: usize, fact: &Fact) {
        let now = self.time();
        let Some(known) = self.posts.get_mut(post) else {
            return;
        };
        let id = known.id().map_or_else(String::new, |id| id.to_json());
        known.was_begun |= matches!(fact, Fact::Sending | Fact::Sent);
        let exchange = known.exchange;
        if let Fact::Body(text) = fact {
            let text = text.replace("{id}", &id);
            let mut input = text.as_bytes();
            while !input.is_empty() {
                let Some(exchange) = self.client.exchange(exchange) else {
                    return;
                };
                exchange.on_body(&mut input, now).expect("events were drained, and there was a head");
                self.carry_out();
            }
        } else if let Some(exchange) = self.client.exchange(exchange) {
            // A script may go on after the end.
            report(exchange, fact, &id, now).ok();
            self.carry_out();
        }
    }

    /// Carries out the steps there are now.
    pub fn carry_out(&mut self) {
        while let Some(step) = self.client.poll_step(self.time()) {
            match step {
                Step::Send(exchange, request) => {
                    let post = self.posts.len();
                    self.posts.push(Post { at: self.now, exchange, request: *request, was_begun: false });
                    for (after, fact) in self.scripts.pop_front().unwrap_or_default().facts {
                        self.agenda.insert((self.now + after, self.planned), (post, fact));
                        self.planned += 1;
                    }
                }
                Step::Close(exchange) => self.closed.push(exchange),
                Step::Release(exchange) => self.released.push(exchange),
                Step::Event(call, event) => self.events.push((call, event)),
                Step::Done(call, done) => self.done.push((call, done, self.now)),
                Step::Background(call, other) => self.background.push((call, other)),
                other => panic!("a step that is not known: {other:?}"),
            }
        }
    }

    /// The end of a call, if it has one.
    ///
    /// # Panics
    /// If it has several.
    #[must_use]
    pub fn end_of(&self, call: CallId) -> Option<&Done> {
        let mut ends = self.done.iter().filter(|(id, _, _)| *id == call);
        let end = ends.next().map(|(_, done, _)| done);
        assert!(ends.next().is_none(), "{call} has two ends");
        end
    }

    /// The failure of a call.
    ///
    /// # Panics
    /// If it has not failed.
    #[must_use]
    pub fn failure_of(&self, call: CallId) -> &Failure {
        match self.end_of(call).map(|done| &done.outcome) {
            Some(Outcome::Failed(failure)) => failure,
            other => panic!("{call} has not failed: {other:?}"),
        }
    }

    /// The time at which a call ended.
    ///
    /// # Panics
    /// If it has not.
    #[must_use]
    pub fn ended_at(&self, call: CallId) -> u64 {
        self.done.iter().find(|(id, _, _)| *id == call).map(|(_, _, at)| *at).expect("an end")
    }

    /// The answers of a call and the attempts they came on.
    #[must_use]
    pub fn answers_of(&self, call: CallId) -> Vec<(u32, &Answer)> {
        let events = self.events.iter().filter(|(id, _)| *id == call);
        events
            .filter_map(|(_, event)| match event {
                CallEvent::Answer { attempt, answer, .. } => Some((*attempt, &**answer)),
                _ => None,
            })
            .collect()
    }

    /// The ids of all requests handed out, notifications left out.
    #[must_use]
    pub fn ids(&self) -> Vec<Id> {
        self.posts.iter().filter_map(Post::id).collect()
    }

    /// The times at which requests were handed out.
    #[must_use]
    pub fn times(&self) -> Vec<u64> {
        self.posts.iter().map(|post| post.at).collect()
    }
}

/// Whatever a test did, it is written down, and tells the same when it is played again.
impl Drop for LoopDriver {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            recordings::check(|bodies| self.client.recording(bodies).expect("it was asked for"));
        }
    }
}

/// Options with this time-out, in milliseconds.
#[must_use]
pub fn within(millis: u64) -> CallOptions {
    CallOptions::default().with_timeout(Duration::from_millis(millis))
}

/// The request that a client of this configuration makes first.
///
/// # Errors
/// If the message cannot be sent.
///
/// # Panics
/// If the client's first step is another.
pub fn first_request(config: ClientConfig, method: &str, params: Option<&str>) -> Result<HttpRequest, RequestError> {
    let mut client = Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), config);
    client.call(method, params, CallOptions::default(), Timestamp::ZERO)?;
    match client.poll_step(Timestamp::ZERO) {
        Some(Step::Send(_, request)) => Ok(*request),
        other => panic!("the first step sends: {other:?}"),
    }
}

/// The body of the request that a client of this configuration makes first.
///
/// # Panics
/// If the message cannot be sent.
#[must_use]
pub fn first_body(config: ClientConfig, method: &str, params: Option<&str>) -> String {
    let request = first_request(config, method, params).expect("a message that can be sent");
    String::from_utf8(request.body).expect("bodies are JSON")
}
