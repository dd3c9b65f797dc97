//! A client that is nothing but a socket, and what came on it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use mcp_sse_core::http::{Chunk, ChunkedReader};
use serde_json::{Value, json};

use crate::blocking::BOUND;
use crate::server_driver::HttpMessage;

/// A call of a tool, as parameters.
pub fn tool(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 1}})
}

/// The text that a tool answered with.
///
/// # Panics
/// If the result is no JSON.
pub fn text_of(result: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap();
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// A call of a tool as 2026-07-28 wants it.
pub fn modern(name: &str, arguments: &Value) -> HttpMessage {
    HttpMessage::modern(1, "tools/call", tool(name, arguments))
}

/// A request as bytes, with its body's length.
pub fn bytes(message: &HttpMessage) -> Vec<u8> {
    let length = message.body.len().to_string();
    let message =
        if message.method == "POST" { message.clone().with("Content-Length", &length) } else { message.clone() };
    let mut bytes = head(&message);
    bytes.extend_from_slice(&message.body);
    bytes
}

/// The head of a request.
pub fn head(message: &HttpMessage) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", message.method, message.target);
    for (name, value) in &message.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A connection, and what came on it.
pub struct Socket {
    /// The connection.
    pub stream: TcpStream,
    unread: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body, as far as it came.
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub is_whole: bool,
}

impl Response {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The body.
    ///
    /// # Panics
    /// If it is no text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body.
    ///
    /// # Panics
    /// If it is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Socket {
    /// Connects.
    ///
    /// # Panics
    /// If nobody listens.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        Self { stream, unread: Vec::new() }
    }

    /// Sends these bytes.
    ///
    /// # Panics
    /// If the connection takes no more.
    pub fn send(&mut self, bytes: &[u8]) -> &mut Self {
        self.stream.write_all(bytes).unwrap();
        self
    }

    /// Sends a request, and reads its response.
    pub fn exchange(&mut self, message: &HttpMessage) -> Response {
        self.send(&bytes(message)).response()
    }

    /// Reads more. Whether there was more.
    fn fill(&mut self) -> bool {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(bytes) => {
                self.unread.extend_from_slice(&piece[..bytes]);
                bytes > 0
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("nothing comes: {error}"),
        }
    }

    /// The head of the next response.
    ///
    /// # Panics
    /// If there is none.
    pub fn response_head(&mut self) -> Response {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 32];
            let mut parsed = httparse::Response::new(&mut headers);
            if let httparse::Status::Complete(bytes) = parsed.parse(&self.unread).unwrap() {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let headers =
                    parsed.headers.iter().map(|header| (header.name.to_owned(), text(header.value))).collect();
                let response = Response { status: parsed.code.unwrap(), headers, body: Vec::new(), is_whole: false };
                self.unread.drain(..bytes);
                return response;
            }
            assert!(
                self.fill(),
                "the connection ends instead of a response: {:?}",
                String::from_utf8_lossy(&self.unread)
            );
        }
    }

    /// The next response.
    ///
    /// # Panics
    /// If there is none.
    pub fn response(&mut self) -> Response {
        let mut response = self.response_head();
        if response.status == 100 {
            return response;
        }
        if response.header("Transfer-Encoding") == Some("chunked") {
            response.is_whole = self.chunks(&mut response.body, usize::MAX);
            return response;
        }
        let length: Option<usize> = response.header("Content-Length").map(|length| length.parse().unwrap());
        while self.unread.len() < length.unwrap_or(usize::MAX) && self.fill() {}
        let taken = length.unwrap_or(usize::MAX).min(self.unread.len());
        response.body = self.unread.drain(..taken).collect();
        response.is_whole = length.is_none_or(|length| length == taken);
        response
    }

    /// Reads a chunked body, until so many bytes have come at least. Whether it came to its end.
    ///
    /// # Panics
    /// If it is malformed.
    pub fn chunks(&mut self, body: &mut Vec<u8>, at_least: usize) -> bool {
        let mut reader = ChunkedReader::new();
        loop {
            let mut rest = &self.unread[..];
            let taken = match reader.read(&mut rest).unwrap() {
                Chunk::Data(bytes) => {
                    body.extend_from_slice(&rest[..bytes]);
                    reader.take(bytes);
                    self.unread.len() - rest.len() + bytes
                }
                Chunk::End => {
                    let taken = self.unread.len() - rest.len();
                    self.unread.drain(..taken);
                    return true;
                }
                _ => {
                    self.unread.clear();
                    if body.len() >= at_least || !self.fill() {
                        return false;
                    }
                    continue;
                }
            };
            self.unread.drain(..taken);
        }
    }

    /// Whether the connection ends here, with nothing left unread.
    pub fn is_at_end(&mut self) -> bool {
        self.unread.is_empty() && !self.fill()
    }
}
