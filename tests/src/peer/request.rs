//! One HTTP request as the peer read it, and the reading of it off the wire.
//!
//! Heads are parsed by httparse; bodies come by Content-Length or chunked. A request that is cut short is no request.

use std::io;

use serde_json::Value;

use super::wire::Wire;

/// A head over this is refused, so that a broken client cannot fill memory.
const HEAD_LIMIT: usize = 1 << 20;
/// A body over this is refused, for the same reason.
const BODY_LIMIT: usize = 256 << 20;

/// What a request carries, as far as the peer cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At least one JSON-RPC request (it has a method and an id): counted when it runs.
    Call,
    /// JSON-RPC notifications only.
    Notification,
    /// JSON-RPC results or errors only (a client of an older revision answers the server).
    Reply,
    /// A POST whose body is no JSON-RPC message.
    Unreadable,
    /// Any other HTTP method: GET, DELETE, …
    Other,
}

/// One HTTP request, whole.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP method, as sent.
    pub http_method: String,
    /// The request target, as sent: path and query.
    pub target: String,
    /// Header names in lower case and values, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body with chunked framing undone.
    pub body: Vec<u8>,
    /// The JSON-RPC messages of the body: one, or the elements of an array; none if it is not JSON.
    pub messages: Vec<Value>,
    /// The number of the connection it came on, from 0.
    pub connection: usize,
    /// Its number among the requests of its scenario, from 1.
    pub attempt: usize,
    /// How often the method of [`message`](Self::message) has run in its scenario, this run included.
    pub executions: usize,
    /// The latest call of the scenario before this request: a GET that resumes a stream is answered with that call's id.
    pub earlier_call: Option<Value>,
}

impl Request {
    /// A request as a client might send it, to render a script without a connection.
    pub fn sample(method: &str, id: impl Into<Value>) -> Self {
        let message =
            serde_json::json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": {"name": "charge"}});
        Self {
            http_method: "POST".to_owned(),
            target: "/".to_owned(),
            headers: Vec::new(),
            body: message.to_string().into_bytes(),
            messages: vec![message],
            connection: 0,
            attempt: 1,
            executions: 1,
            earlier_call: None,
        }
    }

    /// The value of the first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The message that an answer answers: the first call, else the first message; without a message (a GET), the
    /// latest call of the scenario.
    pub fn message(&self) -> Option<&Value> {
        let call = self.messages.iter().find(|message| is_call(message));
        call.or_else(|| self.messages.first()).or(self.earlier_call.as_ref())
    }

    /// The JSON-RPC id of [`message`](Self::message).
    pub fn id(&self) -> Option<&Value> {
        self.message()?.get("id")
    }

    /// The JSON-RPC method of [`message`](Self::message).
    pub fn method(&self) -> Option<&str> {
        self.message()?.get("method")?.as_str()
    }

    /// The params of [`message`](Self::message), or null.
    pub fn params(&self) -> &Value {
        self.message().and_then(|message| message.get("params")).unwrap_or(&Value::Null)
    }

    /// What it carries.
    pub fn kind(&self) -> Kind {
        let has_method = |message: &Value| message.get("method").is_some();
        let has_outcome = |message: &Value| message.get("result").is_some() || message.get("error").is_some();
        if self.http_method != "POST" {
            Kind::Other
        } else if self.messages.iter().any(is_call) {
            Kind::Call
        } else if self.messages.is_empty() {
            Kind::Unreadable
        } else if self.messages.iter().all(has_method) {
            Kind::Notification
        } else if self.messages.iter().all(has_outcome) {
            Kind::Reply
        } else {
            Kind::Unreadable
        }
    }

    /// Whether the client asks for the connection to be closed after the response.
    pub(super) fn wants_close(&self) -> bool {
        self.header("connection").is_some_and(|value| value.to_ascii_lowercase().contains("close"))
    }
}

pub(super) fn is_call(message: &Value) -> bool {
    message.get("method").is_some_and(Value::is_string) && message.get("id").is_some()
}

/// The head of a request; its body is still on the wire.
pub(super) struct Head {
    pub(super) http_method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
}

/// Reads the requests of one connection, keeping what was read beyond the last one.
#[derive(Default)]
pub(super) struct RequestReader {
    buffer: Vec<u8>,
}

impl RequestReader {
    /// The next head. `Ok(None)`: the connection ended, idle, before its first byte.
    pub(super) fn head(&mut self, wire: &mut Wire) -> io::Result<Option<Head>> {
        loop {
            if let Some((length, head)) = parse_head(&self.buffer)? {
                self.buffer.drain(..length);
                return Ok(Some(head));
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(invalid("request head over the limit"));
            }
            if self.fill(wire)? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(cut_short()) };
            }
        }
    }

    /// The body that belongs to `head`.
    pub(super) fn body(&mut self, head: &Head, wire: &mut Wire) -> io::Result<Vec<u8>> {
        let value_of = |name: &str| head.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        if value_of("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked")) {
            return self.chunked_body(wire);
        }
        match value_of("content-length") {
            None => Ok(Vec::new()),
            Some(length) => self.exactly(length.parse().map_err(|_| invalid("Content-Length is no number"))?, wire),
        }
    }

    /// Exactly `length` bytes of what follows.
    pub(super) fn exactly(&mut self, length: usize, wire: &mut Wire) -> io::Result<Vec<u8>> {
        if length > BODY_LIMIT {
            return Err(invalid("request body over the limit"));
        }
        while self.buffer.len() < length {
            if self.fill(wire)? == 0 {
                return Err(cut_short());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn chunked_body(&mut self, wire: &mut Wire) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let (line_length, size) = loop {
                match httparse::parse_chunk_size(&self.buffer) {
                    Ok(httparse::Status::Complete((length, size))) => break (length, size),
                    Ok(httparse::Status::Partial) if self.fill(wire)? > 0 => {}
                    Ok(httparse::Status::Partial) => return Err(cut_short()),
                    Err(_) => return Err(invalid("malformed chunk size")),
                }
            };
            self.buffer.drain(..line_length);
            let size = usize::try_from(size).map_err(|_| invalid("chunk over the limit"))?;
            if body.len().saturating_add(size) > BODY_LIMIT {
                return Err(invalid("request body over the limit"));
            }
            if size == 0 {
                // Trailer lines, each read up to its line end, until the empty one.
                while self.line(wire)? != b"\r\n" {}
                return Ok(body);
            }
            body.extend(self.exactly(size, wire)?);
            if self.exactly(2, wire)? != b"\r\n" {
                return Err(invalid("no line end after a chunk"));
            }
        }
    }

    fn line(&mut self, wire: &mut Wire) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                return Ok(self.buffer.drain(..=end).collect());
            }
            if self.buffer.len() > HEAD_LIMIT {
                return Err(invalid("trailer over the limit"));
            }
            if self.fill(wire)? == 0 {
                return Err(cut_short());
            }
        }
    }

    fn fill(&mut self, wire: &mut Wire) -> io::Result<usize> {
        let mut piece = [0; 16 * 1024];
        let count = wire.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..count]);
        Ok(count)
    }
}

fn parse_head(bytes: &[u8]) -> io::Result<Option<(usize, Head)>> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => Err(invalid("malformed request head")),
        Ok(httparse::Status::Complete(length)) => {
            let head = Head {
                http_method: parsed.method.unwrap_or_default().to_owned(),
                target: parsed.path.unwrap_or_default().to_owned(),
                headers: parsed
                    .headers
                    .iter()
                    .map(|header| {
                        (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned())
                    })
                    .collect(),
            };
            Ok(Some((length, head)))
        }
    }
}

/// The messages of a body: the elements of an array, or the one value; none if it is not JSON.
pub(super) fn messages_of(body: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(messages)) => messages,
        Ok(message) => vec![message],
        Err(_) => Vec::new(),
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut_short() -> io::Error {
    io::Error::from(io::ErrorKind::UnexpectedEof)
}
