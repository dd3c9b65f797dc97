//! The loop of the core's front page over `std::net` and nothing else: a third adapter, small enough to be read at once, to hold
//! the two others against.
//!
//! Rules: one call, plain HTTP/1.1, a connection for each request. Heads are parsed by httparse. Nothing is decided here.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallOptions, Client, ClientConfig, ConnectionConfig, Endpoint, ExchangeId, Reply, Step};
use mcp_sse_core::exchange::{BreakKind, Framing, Misuse};
use mcp_sse_core::http::ResponseHead;
use serde_json::Value;

use crate::matrix::{METHOD, Target, Told};

/// One connection and what was read of its response.
struct Carried {
    id: ExchangeId,
    stream: TcpStream,
    /// Read, and not yet used.
    bytes: Vec<u8>,
    body: Option<Body>,
}

/// How the rest of a body is framed.
enum Body {
    Length(usize),
    /// Before a chunk's size line, its data, or the line end behind its data.
    Chunk,
    ChunkData(usize),
    ChunkEnd,
    Trailers,
    UntilClose,
    Over,
}

/// What the bytes at hand come to.
enum Piece {
    Data(usize),
    Framing(usize, Body),
    End,
    More,
}

struct Clock(Instant);

impl Clock {
    fn now(&self) -> Timestamp {
        Timestamp::new(self.0.elapsed())
    }
}

/// Makes the call and follows it to its end, reading on after the answer for no longer than `drain`.
///
/// # Panics
/// If the URL is none, or the parameters cannot be sent.
pub fn call(target: &Target, params: &Value, drain: Duration) -> Told {
    let clock = Clock(Instant::now());
    let endpoint = Endpoint::parse(&target.url).expect("a URL");
    let connections = ConnectionConfig::default().with_drain_timeout(drain);
    let mut client = Client::new(endpoint, ClientConfig::default().with_connections(connections));
    let options = CallOptions::default().with_timeout(target.timeout);
    let call = client.call(METHOD, Some(&params.to_string()), options, clock.now()).expect("a call");
    client.read_to_end(call);
    let (mut events, mut reply, mut carried) = (Vec::new(), None, None::<Carried>);
    loop {
        match client.poll_step(clock.now()) {
            Some(Step::Send(id, request)) => {
                let address = (request.endpoint.host(), request.endpoint.port());
                let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.endpoint.target());
                head.push_str(&format!(
                    "Host: {}:{}\r\nContent-Length: {}\r\n",
                    address.0,
                    address.1,
                    request.body.len()
                ));
                for (name, value) in &request.headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                let bytes = [head.as_bytes(), b"\r\n", &request.body].concat();
                carried = send(&mut client, id, address, &bytes, &clock);
            }
            Some(Step::Close(_) | Step::Release(_)) => carried = None,
            Some(Step::Event(_, event)) => match Reply::from_event(event) {
                Ok(answered) => reply = Some(answered),
                Err(event) => events.push(event),
            },
            Some(Step::Done(_, done)) => {
                let (result, done) = match done.into_reply(reply) {
                    Ok((reply, done)) => (Ok(reply), Some(done)),
                    Err(error) => (Err(error), None),
                };
                return Told { result, events, done };
            }
            Some(_) => {}
            None => {
                let left = client.poll_timeout().map(|due| due.saturating_duration_since(clock.now()));
                match &mut carried {
                    // Misuse means that the exchange has ended, which the next step says too.
                    Some(carried) => drop(carried.advance(&mut client, left, &clock)),
                    None => std::thread::sleep(left.unwrap_or(Duration::from_millis(1))),
                }
                client.on_timeout(clock.now());
            }
        }
    }
}

fn send(client: &mut Client, id: ExchangeId, address: (&str, u16), bytes: &[u8], clock: &Clock) -> Option<Carried> {
    let exchange = client.exchange(id)?;
    let Ok(mut stream) = TcpStream::connect(address) else {
        exchange.on_broken(BreakKind::Connect, clock.now()).ok()?;
        return None;
    };
    exchange.on_connected(clock.now()).ok()?;
    // Small requests go out at once or not at all.
    let written = stream.write_all(bytes);
    exchange.on_sending(clock.now()).ok()?;
    if written.is_ok() {
        exchange.on_sent(clock.now()).ok()?;
    }
    Some(Carried { id, stream, bytes: Vec::new(), body: None })
}

impl Carried {
    /// Uses what is there, or reads once.
    fn advance(&mut self, client: &mut Client, left: Option<Duration>, clock: &Clock) -> Result<(), Misuse> {
        let Some(exchange) = client.exchange(self.id) else {
            return Ok(());
        };
        let Some(body) = &mut self.body else {
            let Some((length, interim, head, body)) = parse_head(&self.bytes) else {
                return self.read(client, left, clock);
            };
            self.bytes.drain(..length);
            if interim {
                return Ok(());
            }
            self.body = Some(body);
            return exchange.on_head(&head, clock.now());
        };
        match body.next(&self.bytes) {
            Piece::Framing(length, next) => {
                self.bytes.drain(..length);
                *body = next;
                Ok(())
            }
            Piece::Data(length) => {
                let mut rest = &self.bytes[..length];
                let result = exchange.on_body(&mut rest, clock.now());
                let used = length - rest.len();
                self.bytes.drain(..used);
                body.take(used);
                result
            }
            Piece::End => {
                *body = Body::Over;
                exchange.on_end(Framing::Marked, clock.now())
            }
            Piece::More => self.read(client, left, clock),
        }
    }

    fn read(&mut self, client: &mut Client, left: Option<Duration>, clock: &Clock) -> Result<(), Misuse> {
        let left = left.map(|left| left.max(Duration::from_millis(1)));
        let mut piece = [0; 4096];
        let read = self.stream.set_read_timeout(left).and_then(|()| self.stream.read(&mut piece));
        let Some(exchange) = client.exchange(self.id) else {
            return Ok(());
        };
        match read {
            Ok(0) => match &self.body {
                None => exchange.on_broken(BreakKind::Closed, clock.now()),
                Some(Body::UntilClose) => exchange.on_end(Framing::Unmarked, clock.now()),
                // The last chunk came: only trailers are missing.
                Some(Body::Trailers) => exchange.on_end(Framing::Marked, clock.now()),
                Some(_) => exchange.on_end(Framing::Short, clock.now()),
            },
            Ok(length) => {
                self.bytes.extend_from_slice(&piece[..length]);
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
            Err(_) => exchange.on_broken(BreakKind::Reset, clock.now()),
        }
    }
}

impl Body {
    fn next(&self, bytes: &[u8]) -> Piece {
        let line = bytes.windows(2).position(|two| two == b"\r\n").map(|at| at + 2);
        match self {
            Self::Length(0) => Piece::End,
            Self::Over => Piece::More,
            Self::Chunk => match (httparse::parse_chunk_size(bytes), line) {
                (Ok(httparse::Status::Complete((length, 0))), _) => Piece::Framing(length, Self::Trailers),
                (Ok(httparse::Status::Complete((length, size))), _) => {
                    Piece::Framing(length, Self::ChunkData(usize::try_from(size).unwrap_or(usize::MAX)))
                }
                _ => Piece::More,
            },
            Self::ChunkData(0) => Piece::Framing(0, Self::ChunkEnd),
            Self::ChunkEnd if bytes.len() >= 2 => Piece::Framing(2, Self::Chunk),
            Self::Trailers => match line {
                Some(2) => Piece::End,
                Some(length) => Piece::Framing(length, Self::Trailers),
                None => Piece::More,
            },
            _ if bytes.is_empty() => Piece::More,
            Self::Length(left) | Self::ChunkData(left) => Piece::Data((*left).min(bytes.len())),
            Self::UntilClose => Piece::Data(bytes.len()),
            Self::ChunkEnd => Piece::More,
        }
    }

    fn take(&mut self, bytes: usize) {
        if let Self::Length(left) | Self::ChunkData(left) = self {
            *left -= bytes;
        }
    }
}

/// A head, if it is whole: its length, whether it is an interim one, what it says, and how its body is framed.
fn parse_head(bytes: &[u8]) -> Option<(usize, bool, ResponseHead, Body)> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(length)) = parsed.parse(bytes) else {
        return None;
    };
    let status = parsed.code?;
    let pairs = parsed.headers.iter().map(|header| (header.name, header.value));
    let head = ResponseHead::from_headers(status, pairs);
    let is_chunked = parsed.headers.iter().any(|header| header.name.eq_ignore_ascii_case("transfer-encoding"));
    let body = match head.content_length() {
        _ if is_chunked => Body::Chunk,
        Some(declared) => Body::Length(usize::try_from(declared).ok()?),
        None => Body::UntilClose,
    };
    Some((length, (100..200).contains(&status), head, body))
}
