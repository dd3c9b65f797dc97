//! The server: what its owner tells it, what its handler is told, and who is woken.
//!
//! Facts reported: that time has passed. Steps carried out: handlers are set going, told of cancels, and given what they
//! asked for. One connection is `connection`'s affair, listeners and threads are `serve`'s.
//!
//! Rules: the lock on the core is held for facts, outputs and commands, never while a handler runs or anybody waits. A
//! connection's thread waits by parking, and is unparked when its exchange has something to write.

mod call;
mod config;
mod connection;
mod exchange;
mod handler;
mod pool;
mod reply;
mod request;
mod serve;

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::Duration;

pub use call::{AskError, Call};
use call::{News, Sender};
pub use config::ServeConfig;
pub use handler::Handler;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::params_to_json;
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::server::{
    self as core_server, AskId, CallId, Change, Delivery, ExchangeId, IncomingRequest, SendError, Sent, ServerAnswer,
    ServerConfig, ServerEvent, SessionKey,
};
use mcp_sse_core::tools::DroppedTool;
use pool::{Kind, Place, Places, Pool};
use serde::Serialize;
use serve::Listeners;

use crate::clock::Clock;

/// An MCP endpoint: all five revisions, over HTTP/1.1.
///
/// Cheap to clone; all clones are one server. Its threads are those of [`ServeConfig`], besides one that keeps time and the
/// one that [`serve`](Self::serve) is called on.
///
/// ```no_run
/// use mcp_sse_blocking::{Call, Server, ServerAnswer, ServerConfig};
///
/// let config = ServerConfig::new(r#"{"name":"clock","version":"1.0.0"}"#)?.with_capabilities(r#"{"tools":{}}"#)?;
/// let server = Server::new(config, |call: Call| match call.method() {
///     "tools/list" => ServerAnswer::result(r#"{"tools":[{"name":"time","inputSchema":{"type":"object"}}]}"#),
///     "tools/call" => ServerAnswer::result(r#"{"content":[{"type":"text","text":"late"}]}"#),
///     _ => ServerAnswer::method_not_found(),
/// });
/// server.serve(std::net::TcpListener::bind("127.0.0.1:8000")?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    handler: Arc<dyn Handler>,
    clock: Clock,
    /// Bounded by the places of whoever brings a call.
    handlers: Arc<Pool>,
    listeners: Listeners,
    /// When shutting down is over, once it was asked for.
    closing: OnceLock<Timestamp>,
}

struct State {
    core: core_server::Server,
    timer: Option<Thread>,
    /// When the timer wakes up; none before it has begun.
    due: Option<Timestamp>,
    /// The thread that serves each exchange, and who sent it.
    exchanges: HashMap<ExchangeId, (Thread, Arc<Sender>)>,
    calls: HashMap<CallId, Arc<News>>,
    asks: HashMap<AskId, Arc<News>>,
}

/// What is done once the lock is let go.
#[derive(Default)]
struct Errands {
    wakes: Vec<Thread>,
    calls: Vec<(Box<IncomingRequest>, Arc<Sender>, Arc<News>)>,
    events: Vec<ServerEvent>,
}

/// The timer looks at least so often: some platforms take no longer wait.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

impl State {
    /// Takes what the core gives out besides what is written.
    fn errands(&mut self) -> Errands {
        let mut errands = Errands::default();
        while let Some(id) = self.core.poll_wake() {
            errands.wakes.extend(self.exchanges.get(&id).map(|(thread, _)| thread.clone()));
        }
        while let Some(event) = self.core.poll_event() {
            match event {
                ServerEvent::Request(request) => {
                    let sender = self.exchanges.get(&request.exchange).map(|(_, sender)| Arc::clone(sender));
                    let news = Arc::<News>::default();
                    self.calls.insert(request.call, Arc::clone(&news));
                    errands.calls.push((request, sender.unwrap_or_default(), news));
                }
                ServerEvent::Cancelled { call, reason } => {
                    if let Some(news) = self.calls.remove(&call) {
                        news.cancel(reason);
                    }
                }
                ServerEvent::Reply { ask, message } => {
                    if let Some(news) = self.asks.remove(&ask) {
                        news.reply(ask, Some(message));
                    }
                }
                ServerEvent::AskFailed { ask } => {
                    if let Some(news) = self.asks.remove(&ask) {
                        news.reply(ask, None);
                    }
                }
                event => errands.events.push(event),
            }
        }
        let due = self.core.poll_timeout();
        if due.is_some_and(|due| self.due.is_none_or(|set| due < set)) {
            self.due = due;
            errands.wakes.extend(self.timer.clone());
        }
        errands
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // The core never panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the core a command, and does what follows from it.
    fn with<T>(self: &Arc<Self>, command: impl FnOnce(&mut core_server::Server, Timestamp) -> T) -> T {
        let (done, errands) = self.take_errands(|state, now| command(&mut state.core, now));
        self.run(errands, None);
        done
    }

    /// Does something to the core, and gives what is to follow from it.
    fn take_errands<T>(&self, work: impl FnOnce(&mut State, Timestamp) -> T) -> (T, Errands) {
        let mut state = self.state();
        let done = work(&mut state, self.clock.now());
        let errands = state.errands();
        (done, errands)
    }

    /// Does what follows; handlers take places, if there is a bound.
    fn run(self: &Arc<Self>, errands: Errands, places: Option<&Arc<Places>>) {
        errands.wakes.iter().for_each(Thread::unpark);
        self.tell(errands.events);
        for (request, sender, news) in errands.calls {
            let place = places.map(|places| places.take(Kind::Brief, Duration::ZERO));
            let call = Call { server: Server { inner: Arc::clone(self) }, request, sender, news };
            match place {
                Some(None) => self.decline(&call.request),
                Some(place) => self.answer(call, place),
                None => self.answer(call, None),
            }
        }
    }

    fn tell(&self, events: Vec<ServerEvent>) {
        for event in events {
            // What it had to say, the panic hook has said.
            catch_unwind(AssertUnwindSafe(|| match event {
                ServerEvent::Notification(notification) => self.handler.notification(*notification),
                ServerEvent::SessionOpened { session } => self.handler.session_opened(session),
                ServerEvent::SessionEnded { session } => self.handler.session_ended(session),
                _ => {}
            }))
            .ok();
        }
    }

    /// Has a call answered by its handler, on a thread of its own: the connection's thread looks out for the peer meanwhile,
    /// and the answer to what the handler asks comes by another one.
    fn answer(self: &Arc<Self>, call: Call, place: Option<Place>) {
        let (inner, request) = (Arc::clone(self), call.request.call);
        let job = move || {
            let answer = catch_unwind(AssertUnwindSafe(|| inner.handler.call(call)));
            // Before the answer can bring the next call.
            drop(place);
            inner.respond(request, answer.unwrap_or_else(|_| ServerAnswer::internal_error()));
        };
        if self.handlers.run(Box::new(job)).is_err() {
            self.respond(request, busy());
        }
    }

    /// Answers a call that no handler has time for.
    fn decline(self: &Arc<Self>, request: &IncomingRequest) {
        self.respond(request.call, busy());
    }

    fn respond(self: &Arc<Self>, call: CallId, answer: ServerAnswer) {
        let ((), errands) = self.take_errands(|state, now| {
            state.core.conclude(call, answer, now);
            state.calls.remove(&call);
        });
        self.run(errands, None);
    }

    /// Asks by a command, and waits for the answer.
    fn ask(
        self: &Arc<Self>,
        news: &Arc<News>,
        command: impl FnOnce(&mut core_server::Server, Timestamp) -> Result<AskId, SendError>,
    ) -> Result<Message, AskError> {
        let (asked, errands) = self.take_errands(|state, now| {
            let ask = command(&mut state.core, now)?;
            state.asks.insert(ask, Arc::clone(news));
            Ok::<_, SendError>(ask)
        });
        self.run(errands, None);
        let ask = asked?;
        news.wait_for_reply(ask).ok_or_else(|| {
            self.state().asks.remove(&ask);
            AskError::Unanswered
        })
    }

    /// Begins to keep time, once.
    fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let mut state = self.state();
        if state.timer.is_none() {
            let inner = Arc::downgrade(self);
            let timer = thread::Builder::new().name("mcp-sse-timer".to_owned()).spawn(move || keep_time(&inner))?;
            state.timer = Some(timer.thread().clone());
        }
        Ok(())
    }
}

fn busy() -> ServerAnswer {
    ServerAnswer::error(-32603, "The server is busy")
}

/// Tells the core that time has passed, whenever it wants to know.
fn keep_time(inner: &Weak<Inner>) {
    while let Some(server) = inner.upgrade() {
        let (due, mut errands) = server.take_errands(|state, now| {
            // A time that was set stays, though what it was set for may be over: it would be set anew for each call.
            if state.due.is_none_or(|due| due <= now) {
                state.core.on_timeout(now);
                state.due = state.core.poll_timeout();
            }
            state.due
        });
        // Its owner's code must not hold up the time.
        let events = std::mem::take(&mut errands.events);
        server.run(errands, None);
        if !events.is_empty() {
            let teller = Arc::clone(&server);
            server.handlers.run(Box::new(move || teller.tell(events))).ok();
        }
        let sleep = due.map_or(LONGEST_SLEEP, |due| server.clock.until(due).min(LONGEST_SLEEP));
        drop(server);
        thread::park_timeout(sleep);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(timer) = &self.state().timer {
            timer.unpark();
        }
    }
}

impl Server {
    /// A server of one endpoint. It serves nobody until it is told whom: [`serve`](Self::serve).
    pub fn new(config: ServerConfig, handler: impl Handler) -> Self {
        let state = State {
            core: core_server::Server::new(config),
            timer: None,
            due: None,
            exchanges: HashMap::new(),
            calls: HashMap::new(),
            asks: HashMap::new(),
        };
        let inner = Inner {
            state: Mutex::new(state),
            handler: Arc::new(handler),
            clock: Clock::new(),
            handlers: Pool::new("mcp-sse-handler", usize::MAX),
            listeners: Listeners::default(),
            closing: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sends a notification to one session of an earlier revision. `params` must serialise to a JSON object; `&()` sends
    /// none.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn send(
        &self,
        session: SessionKey,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Sent, SendError> {
        let params = params_to_json(params).map_err(|_| SendError::NotAnObject)?;
        self.inner.with(|core, now| core.send(session, method, params.as_deref(), now))
    }

    /// Sends a notification to all sessions of the earlier revisions, and tells of each what became of it (S8). What does
    /// not serialise to a JSON object goes to nobody.
    pub fn broadcast(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Vec<Delivery> {
        let Ok(params) = params_to_json(params) else {
            return Vec::new();
        };
        self.inner.with(|core, now| core.broadcast(method, params.as_deref(), now))
    }

    /// Tells of a change everyone who wants to know, in every era.
    pub fn publish(&self, change: Change<'_>) -> Vec<Delivery> {
        self.inner.with(|core, now| core.publish(change, now))
    }

    /// Tells which tools there are, by the result of `tools/list`: calls of them must bear the headers that their schemas
    /// ask for by `x-mcp-header`. Given back are those whose annotations are invalid.
    pub fn set_tools(&self, list: &str) -> Vec<DroppedTool> {
        self.inner.with(|core, _| core.set_tools(list))
    }

    /// Asks a session something outside of its calls, and waits for the answer.
    ///
    /// # Errors
    /// [`AskError`].
    pub fn ask_session(
        &self,
        session: SessionKey,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Message, AskError> {
        let params = params_to_json(params).map_err(|_| SendError::NotAnObject)?;
        let news = Arc::default();
        self.inner.ask(&news, |core, now| core.ask_session(session, method, params.as_deref(), now))
    }

    /// The sessions of the earlier revisions.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionKey> {
        self.inner.state().core.sessions().collect()
    }

    /// Ends a session: its calls are cancelled, its streams end once what waits on them is written.
    pub fn end_session(&self, session: SessionKey) {
        self.inner.with(|core, now| core.end_session(session, now));
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("core", &self.inner.state().core).finish_non_exhaustive()
    }
}
