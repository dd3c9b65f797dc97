//! One connection from its acceptance to its end: carrying out what the scripts say.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::feed::{Feed, Next, Piece};
use super::log::{ClientClose, Place};
use super::render::{Rendered, render};
use super::request::{Head, Request, RequestReader, messages_of};
use super::script::{Ending, OnConnection, Script};
use super::server::Shared;
use super::wire::{Waited, Wire};

/// How long the peer waits for a client that is silent, and holds a stalled connection.
const HOLD: Duration = Duration::from_secs(60);
/// How long the peer waits, its own side being closed, for the client to close.
const DRAIN: Duration = Duration::from_secs(5);
/// How often a feed is looked at, between looks at the client.
const LOOK: Duration = Duration::from_millis(4);

/// Serves the connection until it ends. The socket is closed when this returns.
pub(super) fn serve(shared: &Arc<Shared>, tcp: Arc<TcpStream>, number: usize, fault: OnConnection) {
    // Fails only if the client is gone already.
    let Ok(wire) = Wire::new(tcp, Arc::clone(&shared.stop)) else {
        return;
    };
    let mut connection = Connection { shared, number, wire, reader: RequestReader::default() };
    let ending = connection.open(fault);
    if let Some(ending) = ending.or_else(|| connection.exchange_all()) {
        connection.end(ending);
    }
}

struct Connection<'a> {
    shared: &'a Shared,
    number: usize,
    wire: Wire,
    reader: RequestReader,
}

impl Connection<'_> {
    /// Everything before the first request. An ending, if it comes to none.
    fn open(&mut self, fault: OnConnection) -> Option<Ending> {
        let tls = self.shared.tls.clone();
        self.wire.set_read_bound(HOLD).ok()?;
        match fault {
            OnConnection::End(ending) => return Some(ending),
            OnConnection::WriteThen(bytes, ending) => {
                let written = self.wire.write_all(&bytes);
                return Some(self.ending_after(written, ending));
            }
            OnConnection::CutHandshake(bytes, ending) => {
                let config = tls.expect("a cut handshake needs a peer with TLS");
                let written = self.wire.cut_handshake(config, bytes);
                return Some(self.ending_after(written, ending));
            }
            OnConnection::Serve | OnConnection::ReadThen(..) => {}
        }
        if let Some(config) = tls {
            if let Err(error) = self.wire.handshake(config) {
                self.note_close(&Err(error));
                return Some(Ending::TlsTruncate);
            }
            self.shared.journal.on_connection(self.number, |record| record.handshake = true);
        }
        match fault {
            OnConnection::ReadThen(bytes, ending) => {
                let read = self.read_slowly(bytes).map(|_| ());
                Some(self.ending_after(read, ending))
            }
            _ => None,
        }
    }

    fn ending_after(&self, result: io::Result<()>, ending: Ending) -> Ending {
        match result {
            Ok(()) => ending,
            Err(error) => {
                self.note_close(&Err(error));
                Ending::Fin
            }
        }
    }

    /// Reads exactly so many bytes and not one more, so that the rest stays in the client's way.
    fn read_slowly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            match self.wire.read(&mut bytes[filled..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(bytes)
    }

    /// Request after request, as long as the connection is kept alive. `None`: the client ended it, and it can just be dropped.
    fn exchange_all(&mut self) -> Option<Ending> {
        loop {
            self.wire.set_read_bound(HOLD).ok()?;
            let head = self.reader.head(&mut self.wire);
            if let Some(ending) = self.shared.end_idle(self.number) {
                return Some(ending);
            }
            self.shared.set_idle(self.number, false);
            let head = match head {
                Ok(Some(head)) => head,
                Ok(None) => {
                    self.note_close(&Ok(0));
                    return None;
                }
                Err(error) => return self.unreadable(error),
            };
            let scenario = scenario_of(&head.target);
            if let Some((bytes, ending)) = self.shared.journal.take_request_cut(scenario) {
                let body = self.reader.exactly(bytes, &mut self.wire).unwrap_or_default();
                self.shared.journal.on_cut_request(scenario.unwrap_or_default(), body);
                return Some(ending);
            }
            let body = match self.reader.body(&head, &mut self.wire) {
                Ok(body) => body,
                Err(error) => return self.unreadable(error),
            };
            let request = request_of(head, body, self.number);
            let (place, request, script) = self.shared.journal.on_request(scenario, request);
            match self.respond(place, &request, &script) {
                Ok(Ending::KeepAlive) => self.shared.set_idle(self.number, true),
                Ok(ending) => return Some(ending),
                Err(error) => {
                    self.note_close(&Err(error));
                    return None;
                }
            }
        }
    }

    fn unreadable(&mut self, error: io::Error) -> Option<Ending> {
        if error.kind() == io::ErrorKind::InvalidData {
            let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            return self.wire.write_all(refusal).is_ok().then_some(Ending::Fin);
        }
        self.note_close(&Err(error));
        None
    }

    fn respond(&mut self, place: Option<Place>, request: &Request, script: &Script) -> io::Result<Ending> {
        if let Some(before) = &script.before {
            before(request);
        }
        let response = script.response(request);
        let rendered = render(&response, request);
        let (end, ending) = match &script.ending {
            Some((at, ending)) => (at.resolve(&rendered), ending.clone()),
            None if response.keeps_alive() && !request.wants_close() => (rendered.bytes.len(), Ending::KeepAlive),
            None => (rendered.bytes.len(), Ending::Fin),
        };
        let mut pauses: Vec<_> = script.pauses.iter().map(|(at, pause)| (at.resolve(&rendered), pause)).collect();
        pauses.retain(|(offset, _)| *offset <= end);
        pauses.sort_by_key(|(offset, _)| *offset);
        let mut written = 0;
        for (offset, pause) in pauses {
            self.write(place, &rendered, &mut written, offset, script.drip)?;
            if let Some(duration) = pause.duration_or_wait(&self.shared.stop) {
                self.wait(duration)?;
            }
        }
        self.write(place, &rendered, &mut written, end, script.drip)?;
        let ending = match &script.feed {
            Some(feed) => self.feed(feed)?,
            None => ending,
        };
        self.shared.journal.on_response(place, |record| record.done = true);
        if let Some(after) = &script.after {
            after(request);
        }
        Ok(ending)
    }

    /// Writes what is fed, a chunk for each piece, until it ends or another connection reads it.
    fn feed(&mut self, feed: &Feed) -> io::Result<Ending> {
        let reader = feed.begin();
        let end = Instant::now() + HOLD;
        loop {
            match feed.next(reader) {
                Next::Do(Piece::Bytes(bytes)) => {
                    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                    chunk.extend(bytes);
                    chunk.extend(b"\r\n");
                    self.wire.write_all(&chunk)?;
                }
                Next::Do(Piece::End(Ending::KeepAlive)) => {
                    self.wire.write_all(b"0\r\n\r\n")?;
                    return Ok(Ending::KeepAlive);
                }
                Next::Do(Piece::End(ending)) => return Ok(ending),
                Next::Wait if Instant::now() < end && !self.wire.stopping() => self.wait(LOOK)?,
                Next::Wait | Next::Over => return Ok(Ending::Fin),
            }
        }
    }

    /// Writes on, up to this offset.
    fn write(
        &mut self,
        place: Option<Place>,
        rendered: &Rendered,
        written: &mut usize,
        up_to: usize,
        drip: Option<(usize, Duration)>,
    ) -> io::Result<()> {
        while *written < up_to {
            let size = drip.map_or(up_to - *written, |(size, _)| size.min(up_to - *written));
            self.wire.write_all(&rendered.bytes[*written..*written + size])?;
            *written += size;
            self.shared.journal.on_response(place, |record| record.written = *written);
            if let Some((_, every)) = drip.filter(|_| *written < up_to) {
                self.wait(every)?;
            }
        }
        Ok(())
    }

    /// Lets time pass, and notices meanwhile if the client goes; then nothing more is written.
    fn wait(&mut self, duration: Duration) -> io::Result<()> {
        match self.wire.watch(duration) {
            Waited::Over => Ok(()),
            Waited::Closed(close) => {
                self.note(close);
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    fn end(mut self, ending: Ending) {
        match &ending {
            Ending::Reset => return self.wire.reset(),
            Ending::Stall => self.hold(HOLD),
            Ending::Repeat { bytes, every } => self.repeat(bytes, *every),
            Ending::Fin | Ending::TlsTruncate | Ending::KeepAlive => {}
        }
        if ending != Ending::TlsTruncate {
            self.wire.close_notify();
        }
        self.wire.fin();
        self.hold(DRAIN);
    }

    fn hold(&mut self, bound: Duration) {
        if let Waited::Closed(close) = self.wire.watch(bound) {
            self.note(close);
        }
    }

    fn repeat(&mut self, bytes: &[u8], every: Duration) {
        let end = Instant::now() + HOLD;
        while Instant::now() < end && !self.wire.stopping() {
            let outcome = self.wire.write_all(bytes).and_then(|()| self.wait(every));
            if let Err(error) = outcome {
                return self.note_close(&Err(error));
            }
        }
    }

    /// Notes how the client closed, if this result says that it did.
    fn note_close(&self, result: &io::Result<usize>) {
        if let Some(close) = self.wire.close_of(result) {
            self.note(close);
        }
    }

    fn note(&self, close: ClientClose) {
        // The first sign counts: a write after a FIN fails with a reset.
        self.shared.journal.on_connection(self.number, |record| {
            record.client_close.get_or_insert(close);
        });
    }
}

fn request_of(head: Head, body: Vec<u8>, connection: usize) -> Request {
    Request {
        http_method: head.http_method,
        target: head.target,
        headers: head.headers,
        messages: messages_of(&body),
        body,
        connection,
        attempt: 0,
        executions: 0,
        earlier_call: None,
    }
}

/// The scenario whose path the target begins with.
fn scenario_of(target: &str) -> Option<usize> {
    let (_, rest) = target.split_once("/s/")?;
    rest.split(['/', '?']).next()?.parse().ok()
}
