//! One connection: requests one after another, each answered before the next is read.
//!
//! Facts reported: bytes of bodies, their ends; that the peer is gone. Steps carried out: what is to be written is written.
//!
//! Rules: every wait is bounded, and looked up from often enough to see that the server closes. Bytes are taken from the core
//! only when the last have been written, so that a slow reader holds up its own thread and nothing else. A peer that closes
//! its side is gone, as most servers see it. What comes early is kept, within the bound of a head.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::http::Chunk;
use mcp_sse_core::server::{Output, ReplyBody, ReplyHead};
use rustls::ServerConnection;

use super::call::Sender;
use super::exchange::{Exchange, Next};
use super::pool::{Kind, Place};
use super::reply::{self, BodyFraming};
use super::request::{self, Framing, Request};
use super::serve::Serving;
use crate::stream::{Input, Stream, Wait};

/// How long a thread is stuck in reading or writing at most, before it looks around.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// While an answer is waited for, it is looked whether the peer is still there: first after the one, then ever more
/// seldom, at last by the other. A short call costs no look, and a long stream four a second.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LAST_LOOK: Duration = Duration::from_millis(250);
/// How long a request waits for a place among those that wait. Short calls come and go; behind a long one, waiting here
/// would take what was reserved.
const PLACE_TIMEOUT: Duration = Duration::from_millis(500);
/// A new connection gets so long for its first bytes, even if others wait for its thread.
const FIRST_BYTES: Duration = Duration::from_secs(1);
/// How long a peer whose request was not read to its end gets to read what it was told before the connection is closed:
/// closed with bytes unread, it would be reset, and the response lost (RFC 9112 section 9.6).
const LINGER: Duration = Duration::from_secs(1);
/// Bytes are read in pieces of at most this many.
const PIECE_BYTES: usize = 16 << 10;
/// A body up to this size is written together with its head.
const SMALL_BODY: usize = 16 << 10;

/// A connection.
pub(super) struct Connection {
    serving: Arc<Serving>,
    peer: SocketAddr,
    /// Received and not yet used.
    unread: Vec<u8>,
    /// Among those that wait.
    place: Option<Place>,
    is_new: bool,
}

/// The peer is gone, or has to be taken for it.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// What becomes of the connection behind a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It takes the next request.
    Next,
    /// It is closed, so that the peer can still read what was written.
    Close,
}

/// What reading a body came to.
enum Read {
    Whole,
    /// The core wants no more of it.
    Unwanted,
    Malformed,
}

impl Connection {
    pub(super) fn new(serving: Arc<Serving>, peer: SocketAddr) -> Self {
        Self { serving, peer, unread: Vec::new(), place: None, is_new: true }
    }

    /// Serves it to its end.
    pub(super) fn run(mut self, socket: TcpStream) {
        // Events are small and written at once; failing to say so costs speed only.
        socket.set_nodelay(true).ok();
        if let Some(mut stream) = self.accept(socket) {
            while let Ok(after) = self.serve_one(&mut stream) {
                self.place = None;
                self.is_new = false;
                if after == After::Close {
                    self.close(&mut stream);
                    break;
                }
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.serving.inner.clock.now()
    }

    /// The connection, its TLS handshake done.
    fn accept(&mut self, socket: TcpStream) -> Option<Stream> {
        let Some(tls) = &self.serving.config.tls else {
            return Some(Stream::plain(socket));
        };
        let mut stream = Stream::tls(socket, ServerConnection::new(Arc::clone(tls)).ok()?);
        let until = self.now().saturating_add(self.serving.config.head_timeout);
        while !stream.is_ready() {
            if self.now() >= until || self.serving.is_over() {
                return None;
            }
            let before = self.now();
            stream.handshake(Wait::AtMost(Some(LOOK_AROUND))).ok()?;
            if self.now().saturating_duration_since(before) >= LOOK_AROUND {
                self.hold().ok()?;
            }
        }
        self.place = None;
        Some(stream)
    }

    /// The peer is slow: that takes a place among streams, so that the slow cannot take what is reserved. Where there is
    /// none, it has to go as soon as somebody waits for what it holds.
    fn hold(&mut self) -> Result<(), Gone> {
        let serving = &self.serving;
        let has_room = match &mut self.place {
            Some(place) => place.lasts(),
            None => {
                self.place = serving.waiting.take(Kind::Lasting, Duration::ZERO);
                self.place.is_some()
            }
        };
        if has_room || !(serving.threads.is_pressed() || serving.waiting.is_pressed()) { Ok(()) } else { Err(Gone) }
    }

    /// Reads what has come, waiting once at most. Whether there was anything.
    fn fill(&mut self, stream: &mut Stream, wait: Wait) -> Result<bool, Gone> {
        let filled = self.unread.len();
        self.unread.resize(filled + PIECE_BYTES, 0);
        let input = stream.read(self.unread.get_mut(filled..).unwrap_or_default(), wait);
        let bytes = if let Ok(Input::Bytes(bytes)) = input { bytes } else { 0 };
        self.unread.truncate(filled + bytes);
        match input? {
            Input::End | Input::Cut => Err(Gone),
            _ => Ok(bytes > 0),
        }
    }

    /// One request and its response.
    fn serve_one(&mut self, stream: &mut Stream) -> Result<After, Gone> {
        let head = match self.read_head(stream)? {
            Ok(head) => head,
            Err(status) => return self.refuse(stream, status),
        };
        match request::read(&head) {
            Ok(request) => self.serve_request(stream, head, request),
            Err(bad) => self.refuse(stream, bad.0),
        }
    }

    /// The head of the next request, or the status that it is refused with.
    fn read_head(&mut self, stream: &mut Stream) -> Result<Result<Vec<u8>, u16>, Gone> {
        let begun = self.now();
        let least = if self.is_new { FIRST_BYTES } else { LOOK_AROUND };
        let mut head_until = None;
        let mut seen = 0;
        let mut has_looked = false;
        loop {
            // Empty lines before a request mean nothing (RFC 9112 section 2.2).
            let blank = self.unread.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if blank > 0 && seen == 0 {
                self.unread.drain(..blank);
            }
            let most = self.serving.config.max_head_bytes;
            match request::head_bytes(&self.unread, seen) {
                Some(bytes) if bytes <= most => {
                    let rest = self.unread.split_off(bytes);
                    return Ok(Ok(std::mem::replace(&mut self.unread, rest)));
                }
                None if self.unread.len() <= most => {}
                _ => return Ok(Err(431)),
            }
            seen = self.unread.len();
            let now = self.now();
            if self.unread.is_empty() {
                let is_idle = now.saturating_duration_since(begun) >= least;
                let is_late = now.saturating_duration_since(begun) >= self.serving.config.idle_timeout;
                // Closed without a word, as its client must expect of a connection that it does not use.
                let is_pressed = is_idle && self.serving.threads.is_pressed();
                if has_looked && (is_late || is_pressed || self.serving.is_closing()) {
                    return Err(Gone);
                }
            } else {
                let until = *head_until.get_or_insert_with(|| now.saturating_add(self.serving.config.head_timeout));
                if now >= until {
                    return Ok(Err(408));
                }
            }
            if self.serving.is_over() {
                return Err(Gone);
            }
            let wait = match self.unread.is_empty() {
                true if self.serving.is_closing() => Wait::No,
                true => Wait::AtMost(Some(LAST_LOOK)),
                false => Wait::AtMost(Some(LOOK_AROUND)),
            };
            has_looked = !self.fill(stream, wait)?;
            if has_looked && !self.unread.is_empty() {
                self.hold()?;
            }
        }
    }

    /// Refuses what is no request that could be judged.
    fn refuse(&mut self, stream: &mut Stream, status: u16) -> Result<After, Gone> {
        self.write(stream, &reply::refusal(status))?;
        Ok(After::Close)
    }

    fn serve_request(&mut self, stream: &mut Stream, head: Vec<u8>, request: Request) -> Result<After, Gone> {
        let Request { head: facts, mut body, mut keeps_alive, is_http11, expects_continue, wants_head_only } = request;
        let sender = Sender { peer: Some(self.peer), head };
        let mut exchange = Exchange::begin(&self.serving, facts, sender);
        let mut is_read = false;
        if exchange.wants_body() {
            if expects_continue && self.unread.is_empty() && !body.is_nothing() {
                self.write(stream, reply::CONTINUE)?;
            }
            match self.read_body(stream, &exchange, &mut body)? {
                Read::Whole => is_read = true,
                Read::Unwanted => keeps_alive = false,
                Read::Malformed => {
                    drop(exchange);
                    return self.refuse(stream, 400);
                }
            }
        } else {
            keeps_alive &= body.is_nothing();
        }
        let mut responding = Responding { keeps_alive, is_http11, wants_head_only, out: Vec::new() };
        let mut look = FIRST_LOOK;
        let mut look_at = self.now().saturating_add(look);
        loop {
            responding.keeps_alive &= !self.serving.is_closing();
            let mut bytes = Vec::new();
            let Next { output, errands } = exchange.poll(std::mem::take(&mut is_read), &mut bytes);
            let waits = match &output {
                Output::Head(head) => head.body == ReplyBody::Stream,
                Output::Wait => true,
                _ => false,
            };
            if waits && self.place.is_none() {
                // A stream that belongs to no call lasts until somebody ends it.
                let kind = if errands.calls.is_empty() { Kind::Lasting } else { Kind::Brief };
                self.place = self.serving.waiting.take(kind, PLACE_TIMEOUT);
                if self.place.is_none() {
                    exchange.decline(errands);
                    self.write(stream, &reply::busy(responding.keeps_alive))?;
                    return Ok(responding.after());
                }
            }
            match output {
                Output::Head(head) if waits => {
                    exchange.run(errands);
                    responding.begin(&head);
                }
                Output::Head(head) => {
                    let written = self.write_whole(stream, head, &mut responding);
                    exchange.run(errands);
                    return written.map(|()| responding.after());
                }
                Output::Wait => {
                    exchange.run(errands);
                    self.write(stream, &std::mem::take(&mut responding.out))?;
                    exchange.wait(look_at.saturating_duration_since(self.now()));
                    if self.now() >= look_at {
                        self.look(stream)?;
                        look = (look * 2).min(LAST_LOOK);
                        look_at = self.now().saturating_add(look);
                    }
                }
                Output::Bytes => {
                    exchange.run(errands);
                    self.write_chunk(stream, &bytes, &mut responding)?;
                }
                Output::End => {
                    exchange.run(errands);
                    responding.end();
                    self.write(stream, &responding.out)?;
                    return Ok(responding.after());
                }
                // Closed without the body's end.
                _ => {
                    exchange.run(errands);
                    return Err(Gone);
                }
            }
        }
    }

    fn read_body(&mut self, stream: &mut Stream, exchange: &Exchange, body: &mut Framing) -> Result<Read, Gone> {
        loop {
            // All that is there at once, however small its chunks are.
            let (mut rest, mut data) = (&self.unread[..], Vec::new());
            let read = loop {
                match body.read(&mut rest) {
                    Ok(Chunk::Data(bytes)) => {
                        let (used, behind) = rest.split_at_checked(bytes).unwrap_or((rest, &[]));
                        data.extend_from_slice(used);
                        body.take(used.len());
                        rest = behind;
                    }
                    Ok(Chunk::End) => break Some(Read::Whole),
                    Ok(_) => break None,
                    Err(_) => break Some(Read::Malformed),
                }
            };
            let taken = self.unread.len() - rest.len();
            self.unread.drain(..taken);
            if !data.is_empty() && !exchange.take_body(&data) {
                return Ok(Read::Unwanted);
            }
            if let Some(read) = read {
                return Ok(read);
            }
            while !self.fill(stream, Wait::AtMost(Some(LOOK_AROUND)))? {
                // How long a body may take, the core says.
                if !exchange.wants_body() {
                    return Ok(Read::Unwanted);
                }
                self.hold()?;
            }
        }
    }

    /// Whether the peer is still there (S4). What it sends meanwhile is its next request, and waits.
    fn look(&mut self, stream: &mut Stream) -> Result<(), Gone> {
        if self.unread.len() < self.serving.config.max_head_bytes {
            self.fill(stream, Wait::No)?;
        }
        Ok(())
    }

    fn write_whole(&mut self, stream: &mut Stream, head: ReplyHead, responding: &mut Responding) -> Result<(), Gone> {
        responding.begin(&head);
        let body = match head.body {
            ReplyBody::Whole(body) if !responding.wants_head_only => body,
            _ => Vec::new(),
        };
        self.write_with(stream, &body, b"", responding)
    }

    fn write_chunk(&mut self, stream: &mut Stream, bytes: &[u8], responding: &mut Responding) -> Result<(), Gone> {
        if !responding.is_http11 {
            return self.write_with(stream, bytes, b"", responding);
        }
        reply::begin_chunk(&mut responding.out, bytes.len());
        self.write_with(stream, bytes, b"\r\n", responding)
    }

    /// Writes what is ready, and a body behind it; in one piece if it is small.
    fn write_with(
        &mut self,
        stream: &mut Stream,
        body: &[u8],
        end: &[u8],
        responding: &mut Responding,
    ) -> Result<(), Gone> {
        let out = &mut responding.out;
        if body.len() <= SMALL_BODY {
            out.extend_from_slice(body);
            out.extend_from_slice(end);
            self.write(stream, out)?;
        } else {
            self.write(stream, out)?;
            self.write(stream, body)?;
            self.write(stream, end)?;
        }
        responding.out.clear();
        Ok(())
    }

    /// Writes all of it, as long as the peer takes anything within the time that a message may wait.
    fn write(&mut self, stream: &mut Stream, bytes: &[u8]) -> Result<(), Gone> {
        if bytes.is_empty() {
            return Ok(());
        }
        let timeout = self.serving.stall_timeout;
        let (mut rest, mut taken_at) = (bytes, self.now());
        loop {
            let output = stream.write(rest, Wait::AtMost(Some(LOOK_AROUND)))?;
            rest = rest.get(output.taken..).unwrap_or_default();
            if rest.is_empty() && output.is_flushed {
                return Ok(());
            }
            let now = self.now();
            if self.serving.is_over() || now.saturating_duration_since(taken_at) >= timeout {
                return Err(Gone);
            }
            if output.written > 0 {
                taken_at = now;
            } else {
                self.hold()?;
            }
        }
    }

    /// Closes the connection so that the peer can read what was written last, even if it is still sending.
    fn close(&mut self, stream: &mut Stream) {
        if stream.finish().is_err() {
            return;
        }
        let until = self.now().saturating_add(LINGER);
        while self.now() < until && !self.serving.threads.is_pressed() && !self.serving.is_over() {
            self.unread.clear();
            if self.fill(stream, Wait::AtMost(Some(LOOK_AROUND))).is_err() {
                return;
            }
        }
    }
}

/// A response on its way.
struct Responding {
    keeps_alive: bool,
    is_http11: bool,
    wants_head_only: bool,
    /// To be written.
    out: Vec<u8>,
}

impl Responding {
    fn begin(&mut self, head: &ReplyHead) {
        let framing = if self.is_http11 { BodyFraming::Chunked } else { BodyFraming::UntilClose };
        reply::write_head(&mut self.out, head, framing, self.keeps_alive);
    }

    fn end(&mut self) {
        if self.is_http11 {
            self.out.extend_from_slice(reply::LAST_CHUNK);
        }
    }

    const fn after(&self) -> After {
        if self.keeps_alive { After::Next } else { After::Close }
    }
}
