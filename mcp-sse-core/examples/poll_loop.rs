//! A poll loop: a thousand calls at once, in one thread, without a runtime.
//!
//! `cargo run -p mcp-sse-core --example poll_loop` starts a server that waits until all are there, then answers in event streams
//! and breaks three of five: before the answer, within it, and right behind it. Each call has one outcome; those that were
//! lost run again, and no other does.
#![allow(clippy::disallowed_methods, reason = "an embedder has a clock; the core has none")]

mod http1;

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http1::{Response, request_bytes};
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallEvent, CallId, CallOptions, Client, ClientConfig, Endpoint, ExchangeId, HttpRequest, Step,
};
use mcp_sse_core::exchange::{BreakKind, Exchange, Misuse};
use mcp_sse_tests::peer::{At, Ending, Gate, Mark, Peer, Scenario, Script};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

const CALLS: usize = 1000;

/// An exchange on its way.
struct Connection {
    exchange: ExchangeId,
    stream: TcpStream,
    is_connected: bool,
    request: Vec<u8>,
    written: usize,
    response: Response,
}

struct Loop {
    start: Instant,
    client: Client,
    poll: Poll,
    connections: HashMap<Token, Connection>,
    tokens: HashMap<ExchangeId, Token>,
    next_token: usize,
    /// What each call came to: how often it was answered, and its outcomes.
    calls: BTreeMap<CallId, (usize, Vec<&'static str>)>,
    /// How many connections there were at once.
    most: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    allow_many_sockets()?;
    let peer = Peer::start();
    let scenario = breaking_server(&peer);

    let mut work = Loop::new(&scenario.url())?;
    for number in 0..CALLS {
        let params = format!(r#"{{"name":"charge","arguments":{{"number":{number}}}}}"#);
        let options = CallOptions::default().with_timeout(Duration::from_secs(60));
        let call = work.client.call("tools/call", Some(&params), options, work.now())?;
        work.calls.insert(call, (0, Vec::new()));
    }
    work.run()?;

    let mut outcomes = BTreeMap::new();
    for outcome in work.calls.values().flat_map(|(_, outcomes)| outcomes) {
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    println!("{CALLS} calls, {} at once: {outcomes:?}; run {} times", work.most, scenario.executions());
    let each_ends_once = work.calls.values().all(|(answers, outcomes)| (*answers, outcomes.len()) == (1, 1));
    // Two of five were lost.
    let lost_run_again = scenario.executions() == CALLS + CALLS * 2 / 5;
    if each_ends_once && lost_run_again { Ok(()) } else { Err("not one answer and one outcome for each call".into()) }
}

impl Loop {
    fn new(url: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            start: Instant::now(),
            client: Client::new(Endpoint::parse(url)?, ClientConfig::default()),
            poll: Poll::new()?,
            connections: HashMap::new(),
            tokens: HashMap::new(),
            next_token: 0,
            calls: BTreeMap::new(),
            most: 0,
        })
    }

    fn now(&self) -> Timestamp {
        Timestamp::new(self.start.elapsed())
    }

    /// Until each call has its outcome.
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(256);
        self.carry_out_steps()?;
        while self.calls.values().any(|(_, outcomes)| outcomes.is_empty()) {
            let due = self.client.poll_timeout();
            let left = due.map(|due| due.saturating_duration_since(self.now()));
            match self.poll.poll(&mut events, left) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
            for event in &events {
                // mio tells of a socket once, so that it is used until it has no more to give.
                while self.advance(event.token())? {
                    self.carry_out_steps()?;
                }
                self.carry_out_steps()?;
            }
            if due.is_some_and(|due| self.now() >= due) {
                self.client.on_timeout(self.now());
                self.carry_out_steps()?;
            }
        }
        Ok(())
    }

    fn carry_out_steps(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(step) = self.client.poll_step(self.now()) {
            match step {
                Step::Send(exchange, request) => self.connect(exchange, &request)?,
                Step::Close(exchange) | Step::Release(exchange) => {
                    // Dropped, a connection is closed, and no longer polled.
                    self.tokens.remove(&exchange).and_then(|token| self.connections.remove(&token));
                }
                Step::Event(call, CallEvent::Answer { .. }) => self.calls.entry(call).or_default().0 += 1,
                Step::Done(call, done) => self.calls.entry(call).or_default().1.push(done.outcome.as_str()),
                _ => {}
            }
        }
        Ok(())
    }

    fn connect(&mut self, id: ExchangeId, request: &HttpRequest) -> Result<(), Box<dyn Error>> {
        let now = self.now();
        // Names would have to be resolved elsewhere, since the platform's resolver waits; this one is an address.
        let address = (request.endpoint.host(), request.endpoint.port()).to_socket_addrs()?.next();
        let connected = address.ok_or_else(|| io::Error::other("no address")).and_then(TcpStream::connect);
        let Some(exchange) = self.client.exchange(id) else {
            return Ok(());
        };
        let Ok(mut stream) = connected else {
            return Ok(exchange.on_broken(BreakKind::Connect, now)?);
        };
        let token = Token(self.next_token);
        self.next_token += 1;
        self.poll.registry().register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        let (request, response) = (request_bytes(request), Response::default());
        let connection = Connection { exchange: id, stream, is_connected: false, request, written: 0, response };
        self.connections.insert(token, connection);
        self.tokens.insert(id, token);
        self.most = self.most.max(self.connections.len());
        Ok(())
    }

    /// Does one thing that does not wait, and tells the exchange of it; false if there is none.
    fn advance(&mut self, token: Token) -> Result<bool, Misuse> {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(&token) else {
            return Ok(false);
        };
        match self.client.exchange(connection.exchange) {
            Some(exchange) => connection.advance(exchange, now),
            None => Ok(false),
        }
    }
}

impl Connection {
    fn advance(&mut self, exchange: &mut Exchange, now: Timestamp) -> Result<bool, Misuse> {
        if !self.is_connected {
            // A socket that is told of is connected, or has failed, or is looked at too early.
            return match (self.stream.take_error(), self.stream.peer_addr()) {
                (Ok(None), Ok(_)) => {
                    self.is_connected = true;
                    exchange.on_connected(now).map(|()| true)
                }
                (Ok(None), Err(error)) if error.kind() == ErrorKind::NotConnected => Ok(false),
                _ => exchange.on_broken(BreakKind::Connect, now).map(|()| true),
            };
        }
        let unwritten = &self.request[self.written..];
        if !unwritten.is_empty() {
            match self.stream.write(unwritten) {
                Ok(length) => {
                    self.written += length;
                    exchange.on_sending(now)?;
                    if self.written == self.request.len() {
                        exchange.on_sent(now)?;
                    }
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
                // The server may have answered all the same, so that it is read below.
                Err(error) if error.kind() != ErrorKind::WouldBlock => self.written = self.request.len(),
                Err(_) => {}
            }
        }
        if self.response.tell(exchange, now)? {
            return Ok(true);
        }
        let mut buffer = [0; 16 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.response.tell_end(BreakKind::Closed, exchange, now)?,
            Ok(length) => self.response.receive(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => self.response.tell_end(BreakKind::from(&error), exchange, now)?,
        }
        Ok(true)
    }
}

/// Both ends of each connection are in this process, and many systems allow it a thousand files.
fn allow_many_sockets() -> Result<(), Box<dyn Error>> {
    #[cfg(unix)]
    {
        let wanted = 2 * CALLS as u64 + 100;
        let allowed = rlimit::increase_nofile_limit(wanted)?;
        if allowed < wanted {
            return Err(format!("the system allows {allowed} files, and {wanted} are wanted").into());
        }
    }
    Ok(())
}

/// The calls wait at a gate until the last of them has come; then each has an end of its own.
fn breaking_server(peer: &Peer) -> Scenario {
    let (gate, arrived) = (Gate::new(), Arc::new(AtomicUsize::new(0)));
    let first = (0..CALLS).map(|number| {
        let (opened, arrived) = (gate.clone(), Arc::clone(&arrived));
        let script = match number % 5 {
            0 => Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Reset),
            1 => Script::whole().cut(At::mark(Mark::AnswerEnd).plus(-5), Ending::Fin),
            2 => Script::whole().cut(At::mark(Mark::AnswerEnd), Ending::Reset),
            _ => Script::whole(),
        };
        script.wait_at(At::byte(0), &gate).before(move |_| {
            if arrived.fetch_add(1, Ordering::Relaxed) + 1 == CALLS {
                opened.open();
            }
        })
    });
    peer.scenario(first.chain([Script::whole()]))
}
