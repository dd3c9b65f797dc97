//! A client that costs as little as can be: requests written beforehand, answers read as far as it takes to know their end.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Failure;
use crate::server::Running;

/// The bytes of a POST of this message.
pub(crate) fn post(server: &Running, method: &str, name: Option<&str>, body: &str) -> Vec<u8> {
    let name = name.map_or_else(String::new, |name| format!("Mcp-Name: {name}\r\n"));
    format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
        server.path,
        server.authority,
        body.len()
    )
    .into_bytes()
}

/// A connection that is kept.
pub(crate) struct Connection {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(server: &Running) -> Result<Self, Failure> {
        let socket = TcpStream::connect(&server.authority).await?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, buffer: Vec::with_capacity(16 << 10) })
    }

    /// Writes a request and reads its response, of a stated length or in chunks; gives its body, without the chunks' marks.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, Failure> {
        self.socket.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            let Some(head) = find(&self.buffer, b"\r\n\r\n").map(|at| at + 4) else {
                continue;
            };
            if !self.buffer.starts_with(b"HTTP/1.1 200 ") {
                return Err(String::from_utf8_lossy(&self.buffer).into_owned().into());
            }
            let length = header(&self.buffer[..head], b"content-length");
            match length {
                Some(length) if self.buffer.len() >= head + length => {
                    return Ok(self.buffer[head..head + length].to_vec());
                }
                None if self.buffer.ends_with(b"\r\n0\r\n\r\n") => {
                    return Ok(self.buffer[head..].to_vec());
                }
                _ => {}
            }
        }
    }
}

/// A stream of 2024-11-05.
pub(crate) struct Session {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Session {
    /// Opens a session, and waits for its `endpoint`.
    pub(crate) async fn open(server: &Running) -> Result<Self, Failure> {
        let mut socket = TcpStream::connect(&server.authority).await?;
        let request =
            format!("GET {} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n", server.path, server.authority);
        socket.write_all(request.as_bytes()).await?;
        let mut session = Self { socket, buffer: Vec::new() };
        session.read_until(b"event: endpoint", 1).await?;
        Ok(session)
    }

    /// Reads until this has come so often.
    pub(crate) async fn read_until(&mut self, pattern: &[u8], times: usize) -> Result<(), Failure> {
        let mut seen = 0;
        loop {
            while let Some(at) = find(&self.buffer, pattern) {
                seen += 1;
                self.buffer.drain(..at + pattern.len());
                if seen == times {
                    return Ok(());
                }
            }
            let keep = self.buffer.len().saturating_sub(pattern.len());
            self.buffer.drain(..keep);
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed a stream".into());
            }
        }
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, pattern)
}

fn header(head: &[u8], name: &[u8]) -> Option<usize> {
    let lines = head.split(|byte| *byte == b'\n');
    let mut values = lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon].eq_ignore_ascii_case(name).then(|| line[colon + 1..].trim_ascii())
    });
    std::str::from_utf8(values.next()?).ok()?.parse().ok()
}
