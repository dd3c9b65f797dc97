//! The server: what its owner tells it, what its handler is told, and who is woken.
//!
//! Facts reported: that time has passed. Steps carried out: handlers are set going, told of cancels, and given what they
//! asked for. Each HTTP exchange is `service`'s affair, connections are `serve`'s.
//!
//! Rules: the lock on the core is held for facts, outputs and commands, never while a handler runs or anybody is woken.

mod call;
mod handler;
mod serve;
mod service;
mod silence;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use call::Sender;
pub use call::{AskError, Call};
pub use handler::Handler;
use handler::{Answering, AnyHandler};
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::params_to_json;
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::server::{
    self as core_server, AskId, CallId, Change, Delivery, ExchangeId, IncomingRequest, SendError, Sent, ServerAnswer,
    ServerConfig, ServerEvent, SessionKey,
};
use mcp_sse_core::tools::DroppedTool;
use serde::Serialize;
pub use serve::ServeConfig;
pub use service::{ResponseBody, Service};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout_at;

use crate::clock::Clock;

/// An MCP endpoint: all five revisions, over HTTP/1.1 and HTTP/2.
///
/// Cheap to clone; all clones are one server. It must be used within a tokio runtime whose I/O and timers are enabled.
///
/// ```no_run
/// use mcp_sse_tokio::{Call, Server, ServerAnswer, ServerConfig};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let config = ServerConfig::new(r#"{"name":"clock","version":"1.0.0"}"#)?.with_capabilities(r#"{"tools":{}}"#)?;
/// let server = Server::new(config, |call: Call| async move {
///     match call.method() {
///         "tools/list" => ServerAnswer::result(r#"{"tools":[{"name":"time","inputSchema":{"type":"object"}}]}"#),
///         "tools/call" => ServerAnswer::result(r#"{"content":[{"type":"text","text":"late"}]}"#),
///         _ => ServerAnswer::method_not_found(),
///     }
/// });
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// server.serve(listener).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    handler: Arc<dyn AnyHandler>,
    clock: Clock,
    runtime: OnceLock<Handle>,
    /// Told when the time to wake up has become an earlier one, and when there is no server any more.
    timer: Arc<Notify>,
    is_closing: watch::Sender<bool>,
    /// The same, for a look. It is said here first.
    closes: AtomicBool,
    has_ended: watch::Sender<bool>,
}

struct State {
    core: core_server::Server,
    /// When the timer wakes up.
    due: Option<Timestamp>,
    wakers: ById<ExchangeId, Waker>,
    /// Who asked for what is not answered yet, and is told if nobody wants the answer any more.
    calls: ById<CallId, Arc<Sender>>,
    asks: ById<AskId, oneshot::Sender<Message>>,
}

/// A table by names that the core gives.
type ById<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Spreads names that the core gives, one after another: no peer can choose them, so that a product is enough.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        // The golden ratio's digits: neighbours come far apart in the high bits, and stay apart in the low ones.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// What is done once the lock is let go.
#[derive(Default)]
struct Errands {
    wakers: Vec<Waker>,
    /// The first request to be answered: nearly always there is one and no more.
    call: Option<Called>,
    more_calls: Vec<Called>,
    events: Vec<ServerEvent>,
}

/// A request to be answered.
struct Called {
    request: Box<IncomingRequest>,
    sender: Arc<Sender>,
}

impl State {
    /// Takes what the core gives out besides what is written. Requests are told of only when something happens to the
    /// exchange that brought them: it is known who sent that.
    fn errands(&mut self, sender: Option<&Arc<Sender>>) -> Errands {
        let mut errands = Errands::default();
        while let Some(id) = self.core.poll_wake() {
            if !self.wakers.is_empty() {
                errands.wakers.extend(self.wakers.remove(&id));
            }
        }
        while let Some(event) = self.core.poll_event() {
            match event {
                ServerEvent::Request(request) => {
                    let sender = sender.cloned().unwrap_or_default();
                    self.calls.insert(request.call, Arc::clone(&sender));
                    let called = Called { request, sender };
                    match &errands.call {
                        None => errands.call = Some(called),
                        Some(_) => errands.more_calls.push(called),
                    }
                }
                ServerEvent::Cancelled { call, reason } => {
                    if let Some(sender) = self.calls.remove(&call) {
                        sender.cancel(call, reason);
                    }
                }
                ServerEvent::Reply { ask, message } => {
                    if let Some(asked) = self.asks.remove(&ask) {
                        // Whoever asked may have gone.
                        asked.send(message).ok();
                    }
                }
                ServerEvent::AskFailed { ask } => drop(self.asks.remove(&ask)),
                event => errands.events.push(event),
            }
        }
        errands
    }

    /// A call is answered.
    fn conclude(&mut self, call: CallId, answer: ServerAnswer, now: Timestamp) {
        self.core.conclude(call, answer, now);
        self.calls.remove(&call);
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // The core never panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the core a command, and does what follows from it.
    fn with<T>(self: &Arc<Self>, command: impl FnOnce(&mut core_server::Server, Timestamp) -> T) -> T {
        self.with_state(None, |state, now| command(&mut state.core, now))
    }

    fn with_state<T>(
        self: &Arc<Self>,
        sender: Option<&Arc<Sender>>,
        work: impl FnOnce(&mut State, Timestamp) -> T,
    ) -> T {
        let (done, errands) = self.take_errands(sender, work);
        self.run(errands);
        done
    }

    /// Does something to the core, to an exchange of this sender's perhaps, and gives what is to follow from it.
    fn take_errands<T>(
        &self,
        sender: Option<&Arc<Sender>>,
        work: impl FnOnce(&mut State, Timestamp) -> T,
    ) -> (T, Errands) {
        let mut state = self.state();
        let done = work(&mut state, self.clock.now());
        let errands = state.errands(sender);
        let due = state.core.poll_timeout();
        let is_sooner = due.is_some_and(|due| state.due.is_none_or(|set| due < set));
        if is_sooner {
            state.due = due;
        }
        let has_ended = state.core.is_shut_down();
        drop(state);
        if is_sooner {
            self.timer.notify_one();
        }
        if has_ended {
            self.has_ended.send_replace(true);
        }
        (done, errands)
    }

    fn run(self: &Arc<Self>, errands: Errands) {
        let Errands { wakers, call, more_calls, events } = errands;
        for waker in wakers {
            waker.wake();
        }
        for event in events {
            // What it had to say, the panic hook has said. It must take with it neither a connection nor the time.
            catch_unwind(AssertUnwindSafe(|| match event {
                ServerEvent::Notification(notification) => self.handler.notification(*notification),
                ServerEvent::SessionOpened { session } => self.handler.session_opened(session),
                ServerEvent::SessionEnded { session } => self.handler.session_ended(session),
                _ => {}
            }))
            .ok();
        }
        for called in call.into_iter().chain(more_calls) {
            let id = called.request.call;
            if let Some(answer) = self.answer(called) {
                self.with_state(None, |state, now| state.conclude(id, answer, now));
            }
        }
    }

    /// Has a call answered by its handler: here and now if the answer is there at once, else by a task of its own, which says
    /// it.
    fn answer(self: &Arc<Self>, called: Called) -> Option<ServerAnswer> {
        let Called { request, sender } = called;
        let id = request.call;
        let call = Call { server: Server { inner: Arc::clone(self) }, request, sender };
        let mut answering: Answering = Arc::clone(&self.handler).call(call);
        let mut answering = move |cx: &mut Context<'_>| {
            let answer = catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(cx)));
            answer.unwrap_or_else(|_| Poll::Ready(ServerAnswer::internal_error()))
        };
        match answering(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => {
                let inner = Arc::downgrade(self);
                if let Some(runtime) = Handle::try_current().ok().or_else(|| self.runtime.get().cloned()) {
                    drop(runtime.spawn(async move {
                        let answer = std::future::poll_fn(answering).await;
                        if let Some(inner) = inner.upgrade() {
                            inner.with_state(None, |state, now| state.conclude(id, answer, now));
                        }
                    }));
                }
                None
            }
        }
    }

    /// Asks by a command, and waits for the answer.
    async fn ask<C>(self: &Arc<Self>, command: C) -> Result<Message, AskError>
    where
        C: FnOnce(&mut core_server::Server, Timestamp) -> Result<AskId, SendError>,
    {
        let answer = self.with_state(None, |state, now| {
            let ask = command(&mut state.core, now)?;
            let (asked, answer) = oneshot::channel();
            state.asks.insert(ask, asked);
            Ok::<_, SendError>(answer)
        })?;
        answer.await.map_err(|_| AskError::Unanswered)
    }

    /// Begins to keep time, once, in the runtime that this is called in.
    fn start(self: &Arc<Self>) {
        self.runtime.get_or_init(|| {
            let runtime = Handle::current();
            runtime.spawn(keep_time(Arc::downgrade(self), Arc::clone(&self.timer)));
            runtime
        });
    }
}

/// Tells the core that time has passed, whenever it wants to know.
async fn keep_time(inner: Weak<Inner>, timer: Arc<Notify>) {
    // A time that was set stays, though what it was set for may be over: nearly all calls are over soon, and to set it anew
    // for each would cost more than to wake up for nothing now and then.
    let mut is_over = true;
    loop {
        let Some(server) = inner.upgrade() else {
            return;
        };
        let due = {
            let mut state = server.state();
            if is_over {
                state.due = state.core.poll_timeout();
            }
            state.due.and_then(|due| server.clock.instant(due))
        };
        is_over = false;
        drop(server);
        match due {
            None => timer.notified().await,
            Some(due) => {
                is_over = timeout_at(due, timer.notified()).await.is_err();
                if is_over {
                    if let Some(server) = inner.upgrade() {
                        server.with(core_server::Server::on_timeout);
                    }
                }
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.timer.notify_one();
    }
}

impl Server {
    /// A server of one endpoint. It serves nobody until it is told whom: [`serve`](Self::serve), or
    /// [`service`](Self::service).
    pub fn new(config: ServerConfig, handler: impl Handler) -> Self {
        let state = State {
            core: core_server::Server::new(config),
            due: None,
            wakers: HashMap::default(),
            calls: HashMap::default(),
            asks: HashMap::default(),
        };
        let inner = Inner {
            state: Mutex::new(state),
            handler: Arc::new(handler),
            clock: Clock::new(),
            runtime: OnceLock::new(),
            timer: Arc::default(),
            is_closing: watch::Sender::new(false),
            closes: AtomicBool::new(false),
            has_ended: watch::Sender::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The server as a service, for hyper's connections, for tower, and to be mounted under axum.
    #[must_use]
    pub fn service(&self) -> Service {
        Service::new(Arc::clone(&self.inner))
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
    pub async fn ask_session(
        &self,
        session: SessionKey,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Message, AskError> {
        let params = params_to_json(params).map_err(|_| SendError::NotAnObject)?;
        self.inner.ask(|core, now| core.ask_session(session, method, params.as_deref(), now)).await
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

    /// Takes no new requests, ends what is open, and waits until that is done, for
    /// [`shutdown_timeout`](mcp_sse_core::server::ServerLimits::shutdown_timeout) at most (S10). Then
    /// [`serve`](Self::serve) ends too.
    pub async fn shut_down(&self) {
        let mut ended = self.inner.has_ended.subscribe();
        self.inner.start();
        self.inner.closes.store(true, Ordering::Release);
        self.inner.is_closing.send_replace(true);
        self.inner.with(core_server::Server::shut_down);
        // The sender is ours: it cannot have gone.
        ended.wait_for(|ended| *ended).await.ok();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("core", &self.inner.state().core).finish_non_exhaustive()
    }
}
