//! The smallest embedder and adapter around a [`Server`], on a clock of its own and without sockets: it gives requests in,
//! takes out what is to be written, and keeps what it saw.
//!
//! Rules: nothing is answered unless a test says so; an exchange is read only when a test pulls it. What a server should do is
//! not judged here.

use std::collections::{BTreeMap, VecDeque};

use mcp_sse_core::Timestamp;
use mcp_sse_core::http::RequestHead;
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::server::{
    AskId, CallId, ExchangeId, IncomingRequest, Output, ReplyBody, ReplyHead, Server, ServerAnswer, ServerConfig,
    ServerEvent, SessionKey,
};
use mcp_sse_core::sse::{Finish, SseDecoder, Tail};
use serde_json::{Value, json};

/// What the server says of itself, unless a test says otherwise.
pub const INFO: &str = r#"{"name":"test","version":"1.0.0"}"#;

/// A configuration that is nothing but its defaults, and can change everything that subscriptions name.
///
/// # Panics
/// Never.
#[must_use]
pub fn config() -> ServerConfig {
    let capabilities = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},
        "resources":{"listChanged":true,"subscribe":true}}"#;
    ServerConfig::new(INFO).expect("an object").with_capabilities(capabilities).expect("an object")
}

/// A request as it is given in.
#[derive(Clone, Debug)]
pub struct HttpMessage {
    /// The method.
    pub method: &'static str,
    /// The path and query.
    pub target: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Who sends it.
    pub principal: Option<&'static str>,
}

impl HttpMessage {
    /// A request with `Host` alone.
    #[must_use]
    pub fn new(method: &'static str, target: &str) -> Self {
        let headers = vec![("Host".to_owned(), "localhost:8000".to_owned())];
        Self { method, target: target.to_owned(), headers, body: Vec::new(), principal: None }
    }

    /// A POST of a JSON text.
    #[must_use]
    pub fn post(target: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut post = Self::new("POST", target)
            .with("Content-Type", "application/json")
            .with("Accept", "application/json, text/event-stream");
        post.body = body.into();
        post
    }

    /// A request of 2026-07-28 as it should be, but for headers that mirror arguments. `params` is an object; its `_meta` is
    /// added to.
    ///
    /// # Panics
    /// If `params` is no object.
    #[must_use]
    pub fn modern(id: impl Into<Value>, method: &str, params: Value) -> Self {
        let mut params = params;
        let members = params.as_object_mut().expect("an object");
        let name = members.get("name").or_else(|| members.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let meta = members.entry("_meta").or_insert_with(|| json!({})).as_object_mut().expect("an object");
        meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!("2026-07-28"));
        meta.entry("io.modelcontextprotocol/clientCapabilities").or_insert_with(|| json!({}));
        let message = json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params});
        let post = Self::post("/mcp", message.to_string())
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Method", method);
        match name.filter(|_| matches!(method, "tools/call" | "prompts/get" | "resources/read")) {
            Some(name) => post.with("Mcp-Name", &name),
            None => post,
        }
    }

    /// A message in a session of 2025-03-26 to 2025-11-25.
    #[must_use]
    pub fn in_session(session: &str, message: &Value) -> Self {
        Self::post("/mcp", message.to_string()).with("Mcp-Session-Id", session)
    }

    /// Adds a header, or replaces it.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Says who sends it.
    #[must_use]
    pub fn of(mut self, principal: &'static str) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Replaces the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Its head, as the server takes it.
    #[must_use]
    pub fn head(&self) -> RequestHead {
        let headers = self.headers.iter().map(|(name, value)| (name, value.as_bytes()));
        let head = RequestHead::from_headers(self.method, &self.target, headers);
        match self.principal {
            Some(principal) => head.with_principal(principal),
            None => head,
        }
    }
}

/// How a response stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// More may come.
    #[default]
    Open,
    /// It is whole.
    Whole,
    /// It was cut.
    Cut,
}

/// What was written to one exchange.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The head, once there was one.
    pub head: Option<ReplyHead>,
    /// The body so far.
    pub body: Vec<u8>,
    /// How it stands.
    pub end: End,
}

impl Written {
    /// The status.
    ///
    /// # Panics
    /// If there is no head yet.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.head.as_ref().expect("a head").status
    }

    /// A header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.as_ref()?.header(name)
    }

    /// Whether it is an event stream.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.header("Content-Type") == Some("text/event-stream")
    }

    /// The body as text.
    ///
    /// # Panics
    /// If it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    /// The JSON body.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        assert_eq!(self.header("Content-Type"), Some("application/json"));
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The code of the error in the JSON body.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }

    /// The events: their ids and data.
    ///
    /// # Panics
    /// If the stream ends within an event.
    #[must_use]
    pub fn events(&self) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::new();
        let mut bytes = &self.body[..];
        let mut events = Vec::new();
        while let Some(event) = decoder.decode(&mut bytes).expect("no limit is passed") {
            events.push((event.last_event_id().to_owned(), event.data().to_owned()));
        }
        assert_eq!(decoder.finish(Finish::Strict).tail, Tail::Nothing, "whole events only");
        events
    }

    /// The messages, those of events without data left out.
    ///
    /// # Panics
    /// If one is no JSON.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        let data = self.events().into_iter().filter(|(_, data)| !data.is_empty() && !data.starts_with('?'));
        data.map(|(_, data)| serde_json::from_str(&data).expect("JSON")).collect()
    }
}

/// A server, a clock, and what was seen.
pub struct ServerDriver {
    /// The server.
    pub server: Server,
    /// The time, in milliseconds.
    pub now: u64,
    /// What the embedder was told and no test has taken yet.
    pub events: VecDeque<ServerEvent>,
    written: BTreeMap<ExchangeId, Written>,
    drawn: u64,
}

impl Default for ServerDriver {
    fn default() -> Self {
        Self::new(config())
    }
}

impl ServerDriver {
    /// A driver of a server of this configuration.
    #[must_use]
    pub fn new(config: ServerConfig) -> Self {
        let server = Server::new(config);
        Self { server, now: 0, events: VecDeque::new(), written: BTreeMap::new(), drawn: 0 }
    }

    /// The time.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    /// Gives a whole request in. Bytes that stand for chance are added as an adapter does.
    pub fn give(&mut self, request: &HttpMessage) -> ExchangeId {
        self.draw();
        let now = self.time();
        let id = self.server.on_request(request.head(), now);
        if self.server.wants_body(id) {
            self.server.on_body(id, &request.body, now);
            self.draw();
            self.server.on_body_end(id, now);
        }
        self.collect();
        id
    }

    /// Adds bytes that stand for chance, each different.
    pub fn draw(&mut self) {
        while self.server.wants_entropy() {
            self.drawn += 1;
            self.server.add_entropy(&(self.drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes());
        }
    }

    fn collect(&mut self) {
        self.events.extend(std::iter::from_fn(|| self.server.poll_event()));
    }

    /// Takes all that is to be written to an exchange now.
    pub fn pull(&mut self, id: ExchangeId) -> &Written {
        let now = self.time();
        let written = self.written.entry(id).or_default();
        while written.end == End::Open {
            match self.server.poll_output(id, &mut written.body, now) {
                Output::Wait => break,
                Output::Head(mut head) => {
                    assert!(written.head.is_none(), "one head");
                    match std::mem::replace(&mut head.body, ReplyBody::Empty) {
                        ReplyBody::Empty => written.end = End::Whole,
                        ReplyBody::Whole(body) => {
                            written.body = body;
                            written.end = End::Whole;
                        }
                        ReplyBody::Stream => {}
                        other => panic!("no word for {other:?}"),
                    }
                    written.head = Some(head);
                }
                Output::Bytes => assert!(written.head.is_some(), "the head is first"),
                Output::End => written.end = End::Whole,
                Output::Cut => written.end = End::Cut,
                other => panic!("no word for {other:?}"),
            }
        }
        self.events.extend(std::iter::from_fn(|| self.server.poll_event()));
        &self.written[&id]
    }

    /// As [`give`](Self::give), and [`pull`](Self::pull).
    pub fn exchange(&mut self, request: &HttpMessage) -> Written {
        let id = self.give(request);
        self.pull(id).clone()
    }

    /// What the embedder is told next.
    pub fn event(&mut self) -> Option<ServerEvent> {
        self.collect();
        self.events.pop_front()
    }

    /// The request that the embedder is told of next; what it is told of before is skipped.
    ///
    /// # Panics
    /// If there is none.
    pub fn request(&mut self) -> IncomingRequest {
        self.collect();
        while let Some(event) = self.events.pop_front() {
            if let ServerEvent::Request(request) = event {
                return *request;
            }
        }
        panic!("no request");
    }

    /// The calls that the embedder was told are cancelled, since it last asked; all other events are dropped.
    pub fn cancelled(&mut self) -> Vec<CallId> {
        self.collect();
        let events = self.events.drain(..);
        let calls = events.filter_map(|event| match event {
            ServerEvent::Cancelled { call, .. } => Some(call),
            _ => None,
        });
        calls.collect()
    }

    /// The answer to what was asked; what the embedder is told of before it is skipped.
    ///
    /// # Panics
    /// If the next answer is to something else, or there is none.
    pub fn reply_to(&mut self, asked: AskId) -> Message {
        self.collect();
        while let Some(event) = self.events.pop_front() {
            if let ServerEvent::Reply { ask, message } = event {
                assert_eq!(ask, asked);
                return message;
            }
        }
        panic!("no reply");
    }

    /// Answers with `{"ok":true}`.
    ///
    /// # Panics
    /// If that has nowhere to go.
    pub fn answer(&mut self, call: CallId) {
        let now = self.time();
        self.server.respond(call, ServerAnswer::result(r#"{"ok":true}"#), now).expect("an open call");
        self.collect();
    }

    /// The client of an exchange goes away.
    pub fn leave(&mut self, id: ExchangeId) {
        self.server.on_gone(id, self.time());
        self.collect();
    }

    /// Time passes, and the server is told whenever it wants to be.
    ///
    /// # Panics
    /// If it wants to be told in the past over and over.
    pub fn wait(&mut self, millis: u64) {
        let until = self.now + millis;
        while let Some(due) = self.server.poll_timeout() {
            let due = u64::try_from(due.since_origin().as_nanos().div_ceil(1_000_000)).unwrap();
            if due > until {
                break;
            }
            self.now = self.now.max(due);
            self.server.on_timeout(self.time());
            assert!(self.server.poll_timeout().is_none_or(|next| next > self.time()), "a time-out is left");
        }
        self.now = until;
        self.collect();
    }

    /// Opens a session of a revision from 2025-03-26 to 2025-11-25, and gives its id.
    ///
    /// # Panics
    /// If the server does not open one.
    pub fn initialize(&mut self, version: &str) -> String {
        self.initialize_as(version, None)
    }

    /// As [`initialize`](Self::initialize), for somebody.
    ///
    /// # Panics
    /// If the server does not open one.
    pub fn initialize_as(&mut self, version: &str, principal: Option<&'static str>) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {"sampling": {}}, "clientInfo": {"name": "t", "version": "1"},
        }});
        let mut post = HttpMessage::post("/mcp", message.to_string());
        post.principal = principal;
        let reply = self.exchange(&post);
        assert_eq!(reply.status(), 200);
        assert_eq!(reply.json()["result"]["protocolVersion"], version);
        reply.header("Mcp-Session-Id").expect("a session").to_owned()
    }

    /// Opens a channel of 2024-11-05, and gives its exchange and where messages go.
    ///
    /// # Panics
    /// If the server does not open one.
    pub fn open_channel(&mut self) -> (ExchangeId, String) {
        let id = self.give(&HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream"));
        let written = self.pull(id);
        assert_eq!(written.status(), 200);
        let (_, endpoint) = written.events().remove(0);
        (id, format!("/mcp{endpoint}"))
    }

    /// The session that was opened last.
    ///
    /// # Panics
    /// If none was.
    #[must_use]
    pub fn last_session(&self) -> SessionKey {
        self.server.sessions().last().expect("a session")
    }
}
