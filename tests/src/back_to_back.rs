//! Our client and our server, back to back over pipes that cut and delay at random, on one clock and without sockets.
//!
//! Rules: chance follows from a seed alone. Whatever is moved, is moved in pieces: a request's bytes, a head, a body's bytes, an
//! end, an answer, a moment. What the two should do is not judged here, but what they say of each other must agree.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallEvent, CallId, CallOptions, Client, ClientConfig, Done, Endpoint, ExchangeId, HttpRequest, Step,
};
use mcp_sse_core::exchange::{BreakKind, Framing};
use mcp_sse_core::http::{RequestHead, ResponseHead};
use mcp_sse_core::server::{self, Output, ReplyBody, ReplyHead, Server, ServerAnswer, ServerConfig, ServerEvent};
use serde_json::{Value, json};

use crate::chunking::Random;

/// One HTTP exchange between the two.
struct Link {
    client: ExchangeId,
    server: Option<server::ExchangeId>,
    request: HttpRequest,
    sent: usize,
    is_sent: bool,
    head: Option<ReplyHead>,
    is_headed: bool,
    body: Vec<u8>,
    delivered: usize,
    end: Option<bool>,
}

/// A call as the server's handler has it.
struct Handled {
    call: server::CallId,
    number: u64,
}

/// What became of one call.
#[derive(Debug, Default)]
pub struct Story {
    /// The numbers that answers bore.
    pub answers: Vec<u64>,
    /// The end.
    pub done: Option<Done>,
    /// Progress that was told.
    pub progress: usize,
}

/// The two and what is between them.
pub struct BackToBack {
    /// The client.
    pub client: Client,
    /// The server.
    pub server: Server,
    /// How often the handler was asked to run each number.
    pub runs: BTreeMap<u64, u32>,
    /// What became of each call, by its number.
    pub stories: BTreeMap<u64, Story>,
    /// How many links were cut.
    pub cuts: usize,
    calls: BTreeMap<CallId, u64>,
    links: Vec<Link>,
    handled: VecDeque<Handled>,
    random: Random,
    /// One cut in so many moves; never if zero.
    cut_in: usize,
    now: u64,
    drawn: u64,
}

impl BackToBack {
    /// A client and a server of these configurations.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn new(client: ClientConfig, server: ServerConfig, seed: u64, cut_in: usize) -> Self {
        Self {
            client: Client::new(Endpoint::parse("http://localhost/mcp").expect("a URL"), client),
            server: Server::new(server),
            runs: BTreeMap::new(),
            stories: BTreeMap::new(),
            cuts: 0,
            calls: BTreeMap::new(),
            links: Vec::new(),
            handled: VecDeque::new(),
            random: Random::new(seed),
            cut_in,
            now: 0,
            drawn: 0,
        }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Makes a call that bears this number.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn call(&mut self, number: u64, options: CallOptions) {
        let params = json!({"name": "t", "arguments": {"n": number}}).to_string();
        let call = self.client.call("tools/call", Some(&params), options, self.time()).expect("a call");
        self.calls.insert(call, number);
        self.stories.insert(number, Story::default());
    }

    /// Moves until every call has ended and nothing is between the two but what stays open.
    ///
    /// # Panics
    /// If that takes too long.
    pub fn run(&mut self) {
        for _ in 0..200_000 {
            self.carry_out();
            if self.stories.values().all(|story| story.done.is_some()) {
                return;
            }
            self.once();
        }
        let waiting: Vec<_> = self.stories.iter().filter(|(_, story)| story.done.is_none()).collect();
        panic!("calls without an end: {waiting:?}");
    }

    /// Gives back what the client holds open, and lets everything settle.
    pub fn close(&mut self) {
        self.cut_in = 0;
        self.client.close(self.time());
        for _ in 0..20_000 {
            self.carry_out();
            self.once();
        }
    }

    fn once(&mut self) {
        let choice = self.random.below(12);
        if choice < 9 && !self.links.is_empty() {
            let at = self.random.below(self.links.len());
            if self.cut_in > 0 && self.random.below(self.cut_in) == 0 {
                self.cut(at);
            } else {
                self.advance(at);
            }
        } else if choice < 11 && !self.handled.is_empty() {
            self.handle();
        } else {
            self.now += self.random.below(40) as u64;
            let due = self.client.poll_timeout().filter(|_| self.links.is_empty() && self.handled.is_empty());
            if let Some(due) = due {
                self.now = self.now.max(u64::try_from(due.since_origin().as_millis()).unwrap_or(self.now) + 1);
            }
            self.client.on_timeout(self.time());
            self.server.on_timeout(self.time());
        }
        while let Some(event) = self.server.poll_event() {
            self.told(event);
        }
        while self.server.poll_wake().is_some() {}
    }

    fn told(&mut self, event: ServerEvent) {
        match event {
            ServerEvent::Request(request) => {
                let params: Value = serde_json::from_str(request.params().unwrap_or("{}")).expect("JSON");
                let number = params["arguments"]["n"].as_u64().expect("a number");
                *self.runs.entry(number).or_default() += 1;
                self.handled.push_back(Handled { call: request.call, number });
            }
            ServerEvent::Cancelled { call, .. } => self.handled.retain(|handled| handled.call != call),
            _ => {}
        }
    }

    fn handle(&mut self) {
        let now = self.time();
        let at = self.random.below(self.handled.len());
        let Handled { call, number } = self.handled[at];
        if self.random.below(3) > 0 {
            self.server.progress(call, 1.0, None, Some("one\nmore"), now).ok();
            return;
        }
        let filler = "y".repeat(self.random.below(200));
        let answer = ServerAnswer::result(json!({"n": number, "text": filler}).to_string());
        self.server.respond(call, answer, now).ok();
        self.handled.remove(at);
    }

    fn cut(&mut self, at: usize) {
        let now = self.time();
        let link = self.links.remove(at);
        self.cuts += 1;
        if let Some(server) = link.server {
            self.server.on_gone(server, now);
        }
        if let Some(exchange) = self.client.exchange(link.client) {
            exchange.on_broken(BreakKind::Reset, now).ok();
        }
    }

    /// Moves one piece over a link.
    fn advance(&mut self, at: usize) {
        let now = self.time();
        self.draw();
        let size = 1 + self.random.below(60);
        let link = &mut self.links[at];
        if !link.is_sent {
            let server = match link.server {
                Some(server) => server,
                None => {
                    if let Some(exchange) = self.client.exchange(link.client) {
                        exchange.on_sending(now).ok();
                    }
                    let headers = link.request.headers.iter().map(|(name, value)| (&**name, value.as_bytes()));
                    let headers = headers.chain([("Host", &b"localhost"[..])]);
                    let head = RequestHead::from_headers(link.request.method, link.request.endpoint.target(), headers);
                    *link.server.insert(self.server.on_request(head, now))
                }
            };
            let rest = &link.request.body[link.sent..];
            let piece = &rest[..size.min(rest.len())];
            self.server.on_body(server, piece, now);
            link.sent += piece.len();
            if link.sent == link.request.body.len() {
                self.server.on_body_end(server, now);
                link.is_sent = true;
                if let Some(exchange) = self.client.exchange(link.client) {
                    exchange.on_sent(now).ok();
                }
            }
            return;
        }
        let Some(server) = link.server else {
            return;
        };
        if link.end.is_none() && self.random.below(2) == 0 {
            match self.server.poll_output(server, &mut link.body, now) {
                Output::Head(mut head) => {
                    match std::mem::replace(&mut head.body, ReplyBody::Empty) {
                        ReplyBody::Whole(body) => {
                            link.body = body;
                            link.end = Some(true);
                        }
                        ReplyBody::Empty => link.end = Some(true),
                        _ => {}
                    }
                    link.head = Some(head);
                }
                Output::End => link.end = Some(true),
                Output::Cut => link.end = Some(false),
                _ => {}
            }
            return;
        }
        let client = link.client;
        if !link.is_headed {
            if let Some(head) = &link.head {
                link.is_headed = true;
                let headers = head.headers.iter().map(|(name, value)| (*name, value.as_bytes()));
                let head = ResponseHead::from_headers(head.status, headers);
                if let Some(exchange) = self.client.exchange(client) {
                    exchange.on_head(&head, now).ok();
                }
                return;
            }
        }
        let rest = &link.body[link.delivered..];
        if link.is_headed && !rest.is_empty() {
            let piece = rest[..size.min(rest.len())].to_vec();
            link.delivered += piece.len();
            let mut input = &piece[..];
            while !input.is_empty() {
                let exchange = self.client.exchange(client);
                if exchange.is_none_or(|exchange| exchange.on_body(&mut input, now).is_err()) {
                    break;
                }
                self.carry_out();
            }
        } else if let Some(is_whole) = link.end {
            self.links.remove(at);
            if let Some(exchange) = self.client.exchange(client) {
                if is_whole {
                    exchange.on_end(Framing::Marked, now).ok()
                } else {
                    exchange.on_broken(BreakKind::Reset, now).ok()
                };
            }
        }
    }

    fn draw(&mut self) {
        while self.server.wants_entropy() {
            self.drawn += 1;
            self.server.add_entropy(&self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
        }
    }

    fn carry_out(&mut self) {
        while let Some(step) = self.client.poll_step(self.time()) {
            match step {
                Step::Send(client, request) => {
                    let now = self.time();
                    if let Some(exchange) = self.client.exchange(client) {
                        exchange.on_connected(now).ok();
                    }
                    self.links.push(Link {
                        client,
                        server: None,
                        request: *request,
                        sent: 0,
                        is_sent: false,
                        head: None,
                        is_headed: false,
                        body: Vec::new(),
                        delivered: 0,
                        end: None,
                    });
                }
                Step::Close(client) | Step::Release(client) => {
                    if let Some(at) = self.links.iter().position(|link| link.client == client) {
                        let link = self.links.remove(at);
                        if let Some(server) = link.server {
                            self.server.on_gone(server, self.time());
                        }
                    }
                }
                Step::Event(call, event) => self.event(call, &event),
                Step::Done(call, done) => {
                    if let Some(story) = self.calls.get(&call).and_then(|number| self.stories.get_mut(number)) {
                        assert!(story.done.replace(done).is_none(), "one end");
                    }
                }
                _ => {}
            }
        }
    }

    fn event(&mut self, call: CallId, event: &CallEvent) {
        let Some(story) = self.calls.get(&call).and_then(|number| self.stories.get_mut(number)) else {
            return;
        };
        match event {
            CallEvent::Answer { answer, .. } => {
                let result: Value = serde_json::from_str(answer.message.result().unwrap_or("{}")).expect("JSON");
                story.answers.extend(result["n"].as_u64());
            }
            CallEvent::Notification { .. } => story.progress += 1,
            _ => {}
        }
    }
}

/// Options that give a call a minute.
#[must_use]
pub fn a_minute() -> CallOptions {
    CallOptions::default().with_timeout(Duration::from_secs(60))
}
