//! HTTP/1.1 for these examples, without I/O: a request as bytes, and a response's bytes as facts for an exchange. What is
//! left for each of them is its runtime's: sockets, and waiting.
//!
//! Heads are read by httparse, chunks by the core. Left out: a connection is not used a second time.

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::HttpRequest;
use mcp_sse_core::exchange::{BreakKind, Exchange, Framing, Misuse};
use mcp_sse_core::http::{Chunk, ChunkedReader, ResponseHead};

/// A head that is larger, or has more lines, is broken off.
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 64;

/// The request as it is written.
pub(crate) fn request_bytes(request: &HttpRequest) -> Vec<u8> {
    let endpoint = &request.endpoint;
    let host =
        if endpoint.host().contains(':') { format!("[{}]", endpoint.host()) } else { endpoint.host().to_owned() };
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, endpoint.target());
    head += &format!("Host: {host}:{}\r\nConnection: close\r\n", endpoint.port());
    if !request.body.is_empty() {
        head += &format!("Content-Length: {}\r\n", request.body.len());
    }
    for (name, value) in &request.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    [head.into_bytes(), request.body.clone()].concat()
}

/// A response on its way in.
#[derive(Default)]
pub(crate) struct Response {
    /// Received, and not yet told.
    bytes: Vec<u8>,
    /// Once the head was read.
    body: Option<Body>,
}

/// What is left of a body, by its framing.
enum Body {
    Length(u64),
    Chunked(ChunkedReader),
    UntilClose,
}

impl Response {
    /// Bytes have arrived.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Tells the exchange the next thing that these bytes say; false if that takes more of them. The exchange's events are
    /// to be taken in between: [`Client::poll_step`](mcp_sse_core::client::Client::poll_step) does.
    pub(crate) fn tell(&mut self, exchange: &mut Exchange, now: Timestamp) -> Result<bool, Misuse> {
        let Some(body) = &mut self.body else {
            return self.tell_head(exchange, now);
        };
        let mut rest = self.bytes.as_slice();
        let next = match body {
            Body::Chunked(reader) => reader.read(&mut rest),
            Body::Length(0) => Ok(Chunk::End),
            _ if rest.is_empty() => Ok(Chunk::More),
            Body::Length(left) => Ok(Chunk::Data(rest.len().min(usize::try_from(*left).unwrap_or(usize::MAX)))),
            Body::UntilClose => Ok(Chunk::Data(rest.len())),
        };
        let framing = self.bytes.len() - rest.len();
        self.bytes.drain(..framing);
        match next {
            Ok(Chunk::Data(length)) => {
                // It takes no more than it has an event for, so that what is kept stays bounded.
                let mut data = &self.bytes[..length];
                exchange.on_body(&mut data, now)?;
                let taken = length - data.len();
                self.bytes.drain(..taken);
                match body {
                    Body::Chunked(reader) => reader.take(taken),
                    Body::Length(left) => *left -= taken as u64,
                    Body::UntilClose => {}
                }
            }
            Ok(Chunk::End) => exchange.on_end(Framing::Marked, now)?,
            Ok(_) => return Ok(false),
            Err(_) => exchange.on_broken(BreakKind::Malformed, now)?,
        }
        Ok(true)
    }

    /// The connection ended, in the way that `kind` says, and nothing is left to [`tell`](Self::tell).
    pub(crate) fn tell_end(&self, kind: BreakKind, exchange: &mut Exchange, now: Timestamp) -> Result<(), Misuse> {
        let has_last_chunk = matches!(&self.body, Some(Body::Chunked(reader)) if reader.is_complete());
        exchange.on_connection_end(kind, has_last_chunk, now)
    }

    fn tell_head(&mut self, exchange: &mut Exchange, now: Timestamp) -> Result<bool, Misuse> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Response::new(&mut headers);
        let (length, status) = match (parsed.parse(&self.bytes), parsed.code) {
            (Ok(httparse::Status::Complete(length)), Some(status)) => (length, status),
            (Ok(_), _) if self.bytes.len() <= MAX_HEAD_BYTES => return Ok(false),
            (Ok(_), _) => return exchange.on_broken(BreakKind::HeadTooLarge, now).map(|()| true),
            (Err(_), _) => return exchange.on_broken(BreakKind::Malformed, now).map(|()| true),
        };
        let head = ResponseHead::from_headers(status, parsed.headers.iter().map(|header| (header.name, header.value)));
        self.bytes.drain(..length);
        // An interim head (1xx) changes nothing; the exchange is told of it as of any.
        if !head.is_informational() {
            self.body = Some(match head.content_length() {
                _ if head.is_chunked() => Body::Chunked(ChunkedReader::new()),
                _ if status == 204 || status == 304 => Body::Length(0),
                Some(length) => Body::Length(length),
                None => Body::UntilClose,
            });
        }
        exchange.on_head(&head, now).map(|()| true)
    }
}
