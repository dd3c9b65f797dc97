//! A server of some tools, who hears what it is told; and a client that is nothing but a socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mcp_sse_blocking::{
    Call, Client, ClientBuilder, Handler, IncomingNotification, Protocol, ServeConfig, Server, ServerAnswer,
    ServerConfig, SessionKey,
};
use mcp_sse_core::http::{Chunk, ChunkedReader, ProtocolVersion};
use mcp_sse_tests::blocking::{BOUND, within};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::{Value, json};

/// Every revision, and how it is spoken.
pub const ERAS: [ProtocolVersion; 5] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

/// What was heard, in order.
#[derive(Default)]
pub struct Heard {
    words: Mutex<Vec<String>>,
    changed: Condvar,
}

impl Heard {
    pub fn say(&self, word: impl Into<String>) {
        self.words.lock().unwrap().push(word.into());
        self.changed.notify_all();
    }

    /// Waits until this was said, so many times.
    pub fn wait_for(&self, word: &str, times: usize) {
        let count = |words: &Vec<String>| words.iter().filter(|said| *said == word).count();
        let words = self.words.lock().unwrap();
        let (words, waited) = self.changed.wait_timeout_while(words, BOUND, |words| count(words) < times).unwrap();
        assert!(!waited.timed_out(), "{word:?} was not said {times} times: {words:?}");
    }

    pub fn count(&self, word: &str) -> usize {
        self.words.lock().unwrap().iter().filter(|said| *said == word).count()
    }
}

struct Tools(Arc<Heard>);

impl Handler for Tools {
    fn call(&self, call: Call) -> ServerAnswer {
        match call.method() {
            "tools/list" => ServerAnswer::of(&json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]})),
            "tools/call" => self.tool(&call).into(),
            _ => ServerAnswer::method_not_found(),
        }
    }

    fn notification(&self, notification: IncomingNotification) {
        self.0.say(notification.message.method().unwrap_or_default());
    }

    fn session_opened(&self, _: SessionKey) {
        self.0.say("opened");
    }

    fn session_ended(&self, _: SessionKey) {
        self.0.say("ended");
    }
}

impl Tools {
    fn tool(&self, call: &Call) -> Result<ServerAnswer, ServerAnswer> {
        let params: Value = call.params_as()?;
        let arguments = &params["arguments"];
        let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
        let text = |text: &str| ServerAnswer::of(&json!({"content": [{"type": "text", "text": text}]}));
        Ok(match params["name"].as_str().unwrap_or_default() {
            "add" => text(&(number("a") + number("b")).to_string()),
            "progress" => {
                for done in 1..=3 {
                    call.progress(f64::from(done), Some(3.0), None).ok();
                }
                text("done")
            }
            "wait" => {
                self.0.say("waits");
                let is_cancelled = call.wait_for_cancel(BOUND);
                self.0.say(format!("{:?}", call.is_cancelled()));
                text(if is_cancelled { "cancelled" } else { "waited" })
            }
            "listen" => {
                call.stream().ok();
                self.0.say("streams");
                call.wait_for_cancel(BOUND);
                text("listened")
            }
            "ask" => match call.ask("sampling/createMessage", &json!({"messages": []})) {
                Ok(message) => text(message.result().unwrap_or("an error")),
                Err(error) => {
                    self.0.say(error.to_string());
                    text(&error.to_string())
                }
            },
            "flood" => {
                let line = "x".repeat(64 << 10);
                let mut sent = 0;
                while call.notify("notifications/message", &json!({"level": "info", "data": line})).is_ok() {
                    sent += 1;
                }
                self.0.say("full");
                text(&sent.to_string())
            }
            "large" => {
                self.0.say("large");
                text(&"x".repeat(usize::try_from(number("bytes")).unwrap()))
            }
            "array" => ServerAnswer::result("[]"),
            "header" => text(call.header("X-Test").unwrap_or("none")),
            "peer" => text(&call.peer().map(|peer| peer.ip().to_string()).unwrap_or_default()),
            "panic" => panic!("a secret"),
            _ => return Err(ServerAnswer::invalid_params("Unknown tool")),
        })
    }
}

/// A server that serves, until it is dropped.
pub struct Served {
    pub server: Server,
    pub address: SocketAddr,
    pub heard: Arc<Heard>,
    is_tls: bool,
    serving: Option<JoinHandle<()>>,
}

impl Served {
    pub fn new() -> Self {
        Self::with(config(), ServeConfig::default())
    }

    pub fn with(config: ServerConfig, serve: ServeConfig) -> Self {
        let heard = Arc::<Heard>::default();
        let server = Server::new(config.with_path("/mcp"), Tools(Arc::clone(&heard)));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_tls = serve.tls.is_some();
        let serving = thread::spawn({
            let server = server.clone();
            move || server.serve_with(listener, serve).unwrap()
        });
        Self { server, address, heard, is_tls, serving: Some(serving) }
    }

    pub fn url(&self) -> String {
        format!("http{}://{}/mcp", if self.is_tls { "s" } else { "" }, self.address)
    }

    pub fn builder(&self, protocol: Protocol) -> ClientBuilder {
        Client::builder(&self.url()).protocol(protocol).options(within(BOUND))
    }

    pub fn client(&self, protocol: Protocol) -> Client {
        self.builder(protocol).build().unwrap()
    }

    pub fn socket(&self) -> Socket {
        Socket::connect(self.address)
    }

    /// Shuts the server down, and waits for the thread that serves.
    pub fn end(&mut self) {
        self.server.shut_down();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

/// A call of a tool, as parameters.
pub fn tool(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 1}})
}

/// The text that a tool answered with.
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
    pub stream: TcpStream,
    unread: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub is_whole: bool,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Socket {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        Self { stream, unread: Vec::new() }
    }

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

/// Waits until it is so.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < BOUND, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}
