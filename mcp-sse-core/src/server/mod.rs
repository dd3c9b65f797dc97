//! The server's side: requests in, answers and events out, for all five revisions on one endpoint.
//!
//! Lives here: [`Server`], its facts and outputs. `admission` judges requests, `refusal` words what they are refused with,
//! `modern` takes those of 2026-07-28 and `subscription` its subscriptions, `streamable` the sessions of 2025-03-26 to
//! 2025-11-25, `channel` those of 2024-11-05, `session` finds a session; `calling` has the commands about calls, `stream` what waits on one
//! event stream, `queue` its bounds, `closing` the end. Does not belong here: sockets, clocks, chance, what methods mean.

mod admission;
mod calling;
mod channel;
mod closing;
mod config;
mod hosts;
mod limits;
mod modern;
mod output;
mod params;
mod polling;
mod queue;
mod refusal;
mod session;
mod stream;
mod streamable;
mod subscription;
mod table;
mod telling;
mod text;
mod timers;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use calling::{Ask, Call};
pub use config::{ServerConfig, ServerConfigError, WhenFull};
pub use hosts::AllowedHosts;
pub use limits::ServerLimits;
pub use output::{
    CancelReason, Delivery, IncomingNotification, IncomingRequest, Output, Recipient, ReplyBody, ReplyHead, SendError,
    Sent, ServerAnswer, ServerEvent,
};
pub use queue::QueueLimit;
use refusal::{INVALID_REQUEST, Refusal};
use session::{Finder, Session};
use stream::Stream;
use subscription::Subscription;
use table::Table;
pub use telling::Change;
use timers::{Timer, Timers};

use self::admission::{Asked, Body};
use crate::http::{Era, RequestHead};
use crate::jsonrpc::MessageKind;
use crate::time::Timestamp;
use crate::tools::{DroppedTool, ToolHeaders};

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $word:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(u64);

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!($word, " {}"), self.0)
                }
            }
        )*
    };
}

names! {
    /// Names an HTTP exchange of a [`Server`]: one request, and its response.
    ExchangeId, "exchange";
    /// Names a request that the embedder answers.
    CallId, "call";
    /// Names a request that the server makes of a client.
    AskId, "question";
    /// Names a session. It is no secret, unlike the id that the client knows.
    SessionKey, "session";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct StreamId(u64);

/// An HTTP request under way.
struct Exchange {
    state: State,
    /// What follows once the head has been taken, so that no answer on another stream comes before it.
    then: Vec<Then>,
}

enum State {
    /// The body is being read.
    Reading(Box<Reading>),
    /// All that is to be written is known.
    Reply(ReplyHead),
    /// It reads a stream.
    Attached { stream: StreamId, is_head_taken: bool },
    /// It is to be closed.
    Cut,
}

struct Reading {
    head: RequestHead,
    asked: Asked,
    body: Vec<u8>,
}

/// What follows a head.
enum Then {
    Tell(ServerEvent),
    /// A request on a channel.
    Request(Box<IncomingRequest>),
    /// An answer on a channel, to this call.
    Answer(CallId, String),
}

/// One endpoint of a server. The adapter only carries out what is given out, and says what happens.
///
/// Its methods are of four kinds:
/// - *facts in*: [`on_request`](Self::on_request), [`on_body`](Self::on_body), [`on_body_end`](Self::on_body_end),
///   [`on_gone`](Self::on_gone), [`on_timeout`](Self::on_timeout), and the bytes of
///   [`add_entropy`](Self::add_entropy);
/// - *outputs*: [`poll_output`](Self::poll_output) for one exchange, [`poll_wake`](Self::poll_wake) and
///   [`poll_event`](Self::poll_event) until they give none, [`poll_timeout`](Self::poll_timeout);
/// - *commands*: [`respond`](Self::respond), [`notify`](Self::notify), [`progress`](Self::progress),
///   [`stream`](Self::stream), [`pause`](Self::pause), [`ask`](Self::ask), [`send`](Self::send),
///   [`broadcast`](Self::broadcast), [`publish`](Self::publish), [`set_tools`](Self::set_tools),
///   [`end_session`](Self::end_session), [`shut_down`](Self::shut_down);
/// - *getters*.
///
/// Each fact can be given at any time, in any order, for names that are not known too; nothing panics, and what makes no
/// sense changes nothing.
///
/// ```
/// use mcp_sse_core::Timestamp;
/// use mcp_sse_core::http::RequestHead;
/// use mcp_sse_core::server::{Output, ReplyBody, Server, ServerAnswer, ServerConfig, ServerEvent};
///
/// let now = Timestamp::ZERO;
/// let mut server = Server::new(ServerConfig::new(r#"{"name":"echo","version":"1.0.0"}"#)?);
///
/// // A request comes in: its head, its body in any pieces, its end.
/// let headers = [
///     ("Host", "localhost:8000"),
///     ("Content-Type", "application/json"),
///     ("Accept", "application/json, text/event-stream"),
///     ("MCP-Protocol-Version", "2026-07-28"),
///     ("Mcp-Method", "tools/call"),
///     ("Mcp-Name", "echo"),
/// ];
/// let exchange = server.on_request(RequestHead::from_headers("POST", "/mcp", headers), now);
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},
///     "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7,
///              "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// server.on_body(exchange, body, now);
/// server.on_body_end(exchange, now);
///
/// // The embedder is told, and answers. What comes before the answer makes the response an event stream.
/// let Some(ServerEvent::Request(request)) = server.poll_event() else { panic!("a request") };
/// server.progress(request.call, 0.5, Some(1.0), None, now)?;
/// server.respond(request.call, ServerAnswer::result(r#"{"content":[]}"#), now)?;
///
/// // The adapter writes what there is to write.
/// let (mut written, mut status) = (Vec::new(), 0);
/// loop {
///     match server.poll_output(exchange, &mut written, now) {
///         Output::Head(head) => {
///             status = head.status;
///             assert_eq!(head.body, ReplyBody::Stream);
///         }
///         Output::Bytes => {}
///         Output::End => break,
///         other => panic!("nothing was cut, and nothing is waited for: {other:?}"),
///     }
/// }
/// let written = String::from_utf8(written)?;
/// assert_eq!(status, 200);
/// assert!(written.starts_with(r#"data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7"#));
/// assert!(written.contains(r#""result":{"resultType":"complete","content":[]"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    config: ServerConfig,
    tools: ToolHeaders,
    /// Random bytes that no session has used yet.
    entropy: Vec<u8>,
    exchanges: Table<ExchangeId, Exchange>,
    calls: Table<CallId, Call>,
    streams: Table<StreamId, Stream>,
    subscriptions: BTreeMap<CallId, Subscription>,
    sessions: BTreeMap<SessionKey, Session>,
    finder: Finder,
    asks: BTreeMap<AskId, Ask>,
    events: VecDeque<ServerEvent>,
    wakes: BTreeSet<ExchangeId>,
    timers: Timers,
    is_closing: bool,
    last_exchange: u64,
    last_call: u64,
    last_stream: u64,
    last_session: u64,
    last_ask: u64,
}

/// Random bytes that are held at most: those of 64 sessions.
const MAX_ENTROPY: usize = 64 * session::SessionId::BYTES;

/// Memory that a stated length reserves at most before the bytes have come.
const MAX_RESERVED: usize = 64 << 10;

impl Server {
    /// A server of one endpoint.
    #[must_use]
    pub fn new(mut config: ServerConfig) -> Self {
        config.note_eras();
        Self {
            config,
            tools: ToolHeaders::default(),
            entropy: Vec::new(),
            exchanges: Table::new(),
            calls: Table::new(),
            streams: Table::new(),
            subscriptions: BTreeMap::new(),
            sessions: BTreeMap::new(),
            finder: Finder::default(),
            asks: BTreeMap::new(),
            events: VecDeque::new(),
            wakes: BTreeSet::new(),
            timers: Timers::default(),
            is_closing: false,
            last_exchange: 0,
            last_call: 0,
            last_stream: 0,
            last_session: 0,
            last_ask: 0,
        }
    }

    /// Tells which tools there are, by the result of `tools/list`, all pages joined: calls of them must bear the headers
    /// that their schemas ask for by `x-mcp-header`. The tools told before are forgotten. Given back are those whose
    /// annotations are invalid, which clients will not show; to be called at the start, and when the tools change.
    pub fn set_tools(&mut self, list: &str) -> Vec<DroppedTool> {
        let reading = ToolHeaders::read(list);
        self.tools = reading.headers;
        reading.dropped
    }

    /// Whether random bytes are needed before the next session can be opened. Ask before each
    /// [`on_request`](Self::on_request) and [`on_body_end`](Self::on_body_end), and call
    /// [`add_entropy`](Self::add_entropy).
    #[must_use]
    pub fn wants_entropy(&self) -> bool {
        self.entropy.len() < session::SessionId::BYTES
    }

    /// Takes bytes from the operating system's source of randomness, and from nowhere else: whoever can guess them can
    /// take over sessions. Each is used once, 24 a session; more than 1,536 are not kept. Without them no session of an
    /// earlier revision is opened.
    pub fn add_entropy(&mut self, bytes: &[u8]) {
        let room = MAX_ENTROPY.saturating_sub(self.entropy.len());
        self.entropy.extend(bytes.iter().take(room));
    }

    // Facts in.

    /// A request's head was read. If it is refused by its head, [`wants_body`](Self::wants_body) says so, and the
    /// reply is ready.
    pub fn on_request(&mut self, head: RequestHead, now: Timestamp) -> ExchangeId {
        self.last_exchange += 1;
        let id = ExchangeId(self.last_exchange);
        let is_full = self.exchanges.len() >= self.config.limits.max_exchanges;
        self.exchanges.insert(id, Exchange { state: State::Cut, then: Vec::new() });
        let judged = admission::of_head(&head, &self.config)
            .and_then(|asked| if is_full { Err(Refusal::unavailable("The server is busy")) } else { Ok(asked) });
        let judged = judged.and_then(|asked| match asked {
            Asked::Message | Asked::ChannelMessage => {
                self.expect_body(id, head, asked, now)?;
                Ok(())
            }
            Asked::Stream if self.is_closing => Err(closing::refusal()),
            Asked::Stream => self.open_stream(id, &head, now),
            Asked::Deletion => self.delete_session(id, &head, now),
        });
        if let Err(refusal) = judged {
            self.reply(id, refusal.into_reply());
        }
        id
    }

    fn expect_body(&mut self, id: ExchangeId, head: RequestHead, asked: Asked, now: Timestamp) -> Result<(), Refusal> {
        if asked == Asked::ChannelMessage {
            self.session_of_query(head.query(admission::SESSION_QUERY), &head)?;
        } else if !head.session_id().is_absent() && admission::is_earlier(&head, &self.config) {
            self.session_of_header(&head)?;
        }
        let stated = head.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or_default();
        let body = Vec::with_capacity(stated.min(self.config.limits.max_body_bytes).min(MAX_RESERVED));
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.state = State::Reading(Box::new(Reading { head, asked, body }));
        }
        self.timers.set(Timer::Body(id), now.saturating_add(self.config.limits.body_timeout));
        Ok(())
    }

    /// Whether bytes of the body are wanted. If not, the reply is ready; over HTTP/1.1 a connection whose request was not
    /// read to its end is then to be closed behind the reply.
    #[must_use]
    pub fn wants_body(&self, id: ExchangeId) -> bool {
        self.exchanges.get(&id).is_some_and(|exchange| matches!(exchange.state, State::Reading(_)))
    }

    /// Bytes of a request's body came.
    pub fn on_body(&mut self, id: ExchangeId, bytes: &[u8], _now: Timestamp) {
        let limit = self.config.limits.max_body_bytes;
        if let Some(Exchange { state: State::Reading(reading), .. }) = self.exchanges.get_mut(&id) {
            if bytes.len() > limit.saturating_sub(reading.body.len()) {
                self.reply(id, admission::too_large().into_reply());
            } else {
                reading.body.extend_from_slice(bytes);
            }
        }
    }

    /// A request's body has ended as its framing says.
    pub fn on_body_end(&mut self, id: ExchangeId, now: Timestamp) {
        let Some(exchange) = self.exchanges.get_mut(&id).filter(|known| matches!(known.state, State::Reading(_)))
        else {
            return;
        };
        let State::Reading(reading) = core::mem::replace(&mut exchange.state, State::Cut) else {
            return;
        };
        self.timers.clear(Timer::Body(id));
        if let Err(refusal) = self.take_message(id, reading, now) {
            self.reply(id, refusal.into_reply());
        }
    }

    fn take_message(&mut self, id: ExchangeId, mut reading: Box<Reading>, now: Timestamp) -> Result<(), Refusal> {
        let (message, seen) = match admission::of_message(core::mem::take(&mut reading.body))? {
            Body::Message(message, seen) => (message, seen),
            Body::Array(text) if reading.asked == Asked::Message => {
                return self.take_array(id, &reading.head, &text, now);
            }
            Body::Array(_) => return Err(Refusal::new(400, INVALID_REQUEST, "Arrays are not taken here")),
        };
        if self.is_closing && message.kind() == MessageKind::Request {
            return Err(closing::refusal());
        }
        let (head, params) = (&reading.head, seen.in_message(&message));
        if reading.asked == Asked::ChannelMessage {
            let params = params.kept;
            return self.take_channel_message(id, head, message, params, now);
        }
        let era = admission::era(head, &message, &params, &self.config);
        match message.kind() {
            MessageKind::Request if era == Era::Modern => {
                let version = admission::modern(head, &message, &params, &self.config, &self.tools)?;
                let params = params.kept;
                self.take_modern_request(id, version, message, params, now)
            }
            _ if era == Era::Modern => self.take_modern_one_way(id, head, message),
            _ => {
                let params = params.kept;
                self.take_session_message(id, head, message, params, now)
            }
        }
    }

    /// The client went away, or the connection broke: before its request was whole, while its response was written, or
    /// while it was waited for. A request that was written whole counts as read.
    pub fn on_gone(&mut self, id: ExchangeId, now: Timestamp) {
        let Some(exchange) = self.exchanges.remove(&id) else {
            return;
        };
        self.wakes.remove(&id);
        self.timers.clear(Timer::Body(id));
        self.follow(exchange.then, now);
        if let State::Attached { stream, .. } = exchange.state {
            self.lost_reader(stream, now);
        }
    }

    /// Time has passed. Early calls change nothing.
    pub fn on_timeout(&mut self, now: Timestamp) {
        // Each once: what is set anew meanwhile, at the end of time say, waits for the next call.
        for _ in 0..self.timers.count() {
            let Some(timer) = self.timers.take_due(now) else {
                return;
            };
            match timer {
                Timer::Body(id) => {
                    self.reply(id, Refusal::new(408, INVALID_REQUEST, "The body took too long").into_reply());
                }
                Timer::KeepAlive(stream) => self.keep_alive(stream, now),
                Timer::Stall(stream) => self.cut(stream, now),
                Timer::Replay(stream) => self.forget_stream(stream),
                Timer::Call(call) => self.call_timed_out(call, now),
                Timer::Ask(ask) => self.fail_ask(ask),
                Timer::Session(session) => self.session_timed_out(session, now),
                Timer::Shutdown => self.cut_all(now),
            }
        }
    }

    // Getters.

    /// What the server was made from.
    #[must_use]
    pub const fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// How many HTTP exchanges are under way.
    #[must_use]
    pub fn exchange_count(&self) -> usize {
        self.exchanges.len()
    }

    /// How many calls wait for the embedder's answer.
    #[must_use]
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// How many event streams there are, those without a reader that can be resumed included.
    #[must_use]
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// The sessions of the earlier revisions.
    pub fn sessions(&self) -> impl Iterator<Item = SessionKey> {
        self.sessions.keys().copied()
    }

    // Inside.

    fn reply(&mut self, id: ExchangeId, head: ReplyHead) {
        self.timers.clear(Timer::Body(id));
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.state = State::Reply(head);
            self.wakes.insert(id);
        }
    }

    /// 202 with an empty body, and what follows it.
    fn accept(&mut self, id: ExchangeId, then: Vec<Then>) {
        self.reply(id, ReplyHead { status: 202, headers: Cow::Borrowed(&[]), body: ReplyBody::Empty });
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.then = then;
        }
    }

    fn follow(&mut self, then: Vec<Then>, now: Timestamp) {
        for next in then {
            match next {
                Then::Tell(event) => self.events.push_back(event),
                Then::Request(request) => self.tell(*request),
                Then::Answer(call, answer) => {
                    self.answer(call, answer, 200, now).ok();
                }
            }
        }
    }

    fn attach_exchange(&mut self, id: ExchangeId, stream: StreamId) {
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.state = State::Attached { stream, is_head_taken: false };
        }
    }

    /// The adapter is to close an exchange at once.
    fn abandon(&mut self, id: ExchangeId) {
        self.timers.clear(Timer::Body(id));
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.state = State::Cut;
            self.wakes.insert(id);
        }
    }
}

/// A response that is one JSON text.
fn json_head(status: u16, body: Vec<u8>) -> ReplyHead {
    const HEADERS: &[(&str, Cow<'static, str>)] = &[("Content-Type", Cow::Borrowed("application/json"))];
    ReplyHead { status, headers: Cow::Borrowed(HEADERS), body: ReplyBody::Whole(body) }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("exchanges", &self.exchanges.len())
            .field("calls", &self.calls.len())
            .field("streams", &self.streams.len())
            .field("sessions", &self.sessions.len())
            .finish_non_exhaustive()
    }
}
