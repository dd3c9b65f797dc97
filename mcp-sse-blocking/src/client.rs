//! The client: calls carried out step by step, as the core says.
//!
//! Rules: the lock on the core is held for steps, never while waiting for the network or while a body's bytes are
//! decoded; each call is driven by the thread that made it. Nothing about the protocol is decided here.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{
    self as core_client, Asked, BuildError, CallError, CallEvent, CallId, CallOptions, Done, ErrorReply,
    IdleConnections, Reply, RespondError, ResultError, Step, params_to_json,
};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::{Id, Message};
use mcp_sse_core::recording::{Bodies, Recording};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::{Attempt, FIRST_BUFFER_BYTES, Patience, Progress};
use crate::builder::ClientBuilder;
use crate::clock::Clock;
use crate::connect::Connector;
use crate::stream::Stream;

/// A blocking client of one MCP endpoint.
///
/// Cheap to clone, and safe to use from many threads: each call has its own stream, and none disturbs
/// another. Dropping the last clone closes the kept connections.
///
/// ```no_run
/// use mcp_sse_blocking::Client;
/// use serde_json::json;
///
/// let client = Client::new("https://example.com/mcp")?;
/// let reply = client.call("tools/call", &json!({"name": "add", "arguments": {"a": 1, "b": 2}}))?;
/// match reply.result() {
///     Ok(result) => println!("{result}"),
///     Err(error) => eprintln!("the server refused: {} {}", error.code, error.message),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// `None` in the background.
    _used: Option<Arc<Used>>,
}

/// Held by each client that somebody has. With the last one the 2024-11-05 channel, which the background reads, is
/// closed.
struct Used(Weak<Inner>);

impl Drop for Used {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            let deletion = inner.core().close(inner.clock.now());
            // Nobody waits for it: `close` is there for those who do.
            deletion.into_iter().for_each(|deletion| inner.abandon(deletion));
            inner.wake();
        }
    }
}

/// Answers a request of the server's.
pub(crate) type Handler = Arc<dyn Fn(&Message) -> Result<String, ErrorReply> + Send + Sync>;

pub(crate) struct Inner {
    pub(crate) core: Mutex<core_client::Client>,
    pub(crate) connector: Connector,
    pub(crate) idle: Mutex<IdleConnections<Stream>>,
    /// What attempts read into, for those that follow.
    pub(crate) buffers: Mutex<Vec<Vec<u8>>>,
    /// No more answered streams are read in the background at once than this.
    pub(crate) most_background: usize,
    pub(crate) clock: Clock,
    pub(crate) options: CallOptions,
    pub(crate) max_head_bytes: usize,
    pub(crate) background: Background,
    pub(crate) handlers: BTreeMap<String, Handler>,
    /// Told when a call has steps by what happened to another one.
    pub(crate) changed: Condvar,
}

/// How long a thread is stuck in reading at most, if the call may be ended by another thread.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// So many buffers are kept at most, whatever was at work at once: a call takes one for as long as it reads.
const MAX_BUFFERS: usize = 8;
/// Some platforms take no longer wait.
const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

impl Client {
    /// A client with default settings.
    ///
    /// # Errors
    /// [`BuildError`] if the URL is no endpoint, or the platform's certificates cannot be read.
    pub fn new(url: &str) -> Result<Self, BuildError> {
        Self::builder(url).build()
    }

    /// Settings for a client of this URL.
    pub fn builder(url: &str) -> ClientBuilder {
        ClientBuilder::new(url)
    }

    pub(crate) fn from_inner(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        Self { _used: Some(Arc::new(Used(Arc::downgrade(&inner)))), inner }
    }

    /// Makes a request and waits for its answer, under the client's default options. `params` must serialise
    /// to a JSON object; `&()` sends none. The call returns when the answer arrives, whatever the stream does
    /// afterwards.
    ///
    /// A JSON-RPC error is a [`Reply`] like any other answer: the server answered.
    ///
    /// # Errors
    /// [`CallError`] says whether the request was sent, whether it may have run, and the status.
    pub fn call(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<Reply, CallError> {
        self.call_with(method, params, &self.inner.options, |_| ControlFlow::Continue(()))
    }

    /// As [`call`](Self::call), with options of its own, and shows each event as it comes: notifications,
    /// strays, replacements. The handler runs on the calling thread; a slow one slows the reading of this
    /// stream and nothing else. [`ControlFlow::Break`] cancels the call (E30).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_with(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &CallOptions,
        on_event: impl FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<Reply, CallError> {
        let mut drive = self.begin(method, params, options, on_event)?;
        match drive.run_to_answer() {
            Driven::Answered(reply) => {
                self.drain(drive.leave());
                Ok(reply)
            }
            Driven::Ended(reply, done) => done.into_reply(reply).map(|(reply, _)| reply),
        }
    }

    /// As [`call_with`](Self::call_with), but waits for the end of the exchange too (within the client's
    /// bound for that), and tells how it ended.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_to_end(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &CallOptions,
        on_event: impl FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<(Reply, Done), CallError> {
        let mut drive = self.begin(method, params, options, on_event)?;
        drive.read_to_end();
        let (reply, done) = drive.run_to_end();
        done.into_reply(reply)
    }

    /// As [`call`](Self::call), and reads the result as a type of the caller's.
    ///
    /// ```no_run
    /// # fn example(client: &mcp_sse_blocking::Client) -> Result<(), mcp_sse_blocking::ResultError> {
    /// // Any type that serde can read, such as a struct of your own.
    /// let result: std::collections::BTreeMap<String, serde_json::Value> = client.call_as("tools/list", &())?;
    /// println!("{:?}", result.get("tools"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ResultError`] tells a failed call, a JSON-RPC error and a result of another type apart.
    pub fn call_as<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<T, ResultError> {
        self.call(method, params)?.into_result()
    }

    /// Sends a notification under the client's default options, and waits until the server has taken it.
    ///
    /// # Errors
    /// [`CallError`], also if the server refuses it. It is never sent again.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), CallError> {
        self.notify_with(method, params, &self.inner.options)
    }

    /// As [`notify`](Self::notify), with options of its own; of them, the times count.
    ///
    /// # Errors
    /// As [`notify`](Self::notify).
    pub fn notify_with(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &CallOptions,
    ) -> Result<(), CallError> {
        let (inner, params) = (&self.inner, params_to_json(params)?);
        let call = inner.core().notify(method, params.as_deref(), options.clone(), inner.clock.now())?;
        self.drive(call, None, |_| ControlFlow::Continue(())).run_to_end().1.into_result().map(drop)
    }

    /// Listens to what the server tells outside of calls, on this thread: `on_event` gets each notification, until it asks
    /// to stop or the server ends it. `filter` says what is wanted, such as `{"toolsListChanged": true}` (2026-07-28,
    /// `subscriptions/listen`); earlier revisions have no filter and tell all. A lost stream is opened again (F10, F12).
    ///
    /// # Errors
    /// As [`call`](Self::call); a handler that asks to stop is [`Cancelled`](mcp_sse_core::exchange::FailureKind).
    pub fn listen(
        &self,
        filter: &(impl Serialize + ?Sized),
        on_event: impl FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<Done, CallError> {
        let (inner, filter) = (&self.inner, params_to_json(filter)?);
        let options = CallOptions::default().with_timeout(None);
        let call = inner.core().listen(filter.as_deref().unwrap_or("{}"), options, inner.clock.now())?;
        self.drive(call, None, on_event).run_to_end().1.into_result()
    }

    /// Ends the session of an earlier revision, and waits until the server has taken that; closes the 2024-11-05 channel.
    /// Servers of 2026-07-28 keep nothing that could be ended. A later call begins anew.
    ///
    /// # Errors
    /// [`CallError`], if the server could not be told. That it ends no sessions on demand (405) is no error.
    pub fn close(&self) -> Result<(), CallError> {
        let deletion = self.inner.core().close(self.inner.clock.now());
        self.inner.wake();
        match deletion {
            Some(call) => self.drive(call, None, |_| ControlFlow::Continue(())).run_to_end().1.into_result().map(drop),
            None => Ok(()),
        }
    }

    /// The revision that is spoken, once it is known.
    #[must_use]
    pub fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.inner.core().protocol_version()
    }

    /// The server's last result of `initialize`, as raw JSON; only the eras before 2026-07-28 have one.
    #[must_use]
    pub fn initialize_result(&self) -> Option<String> {
        self.inner.core().initialize_result().map(str::to_owned)
    }

    /// What happened so far, if [`ClientBuilder::record`] asked for it to be written down.
    #[must_use]
    pub fn recording(&self, bodies: Bodies) -> Option<Recording> {
        self.inner.core().recording(bodies)
    }

    /// How long ago the answer's bytes arrived: freshness counts from then, not from when the reply is looked at.
    #[must_use]
    pub fn age(&self, reply: &Reply) -> Duration {
        self.inner.clock.now().saturating_duration_since(reply.answer.info.arrived)
    }

    fn begin<F: FnMut(CallEvent) -> ControlFlow<()>>(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &CallOptions,
        on_event: F,
    ) -> Result<Drive<'_, F>, CallError> {
        let (inner, params) = (&self.inner, params_to_json(params)?);
        let call = inner.core().call(method, params.as_deref(), options.clone(), inner.clock.now())?;
        Ok(self.drive(call, None, on_event))
    }

    const fn drive<F>(&self, call: CallId, attempt: Option<Attempt>, on_event: F) -> Drive<'_, F>
    where
        F: FnMut(CallEvent) -> ControlFlow<()>,
    {
        Drive { client: self, call: Some(call), attempt, reply: None, on_event, is_stopped: false }
    }

    /// Reads the rest of an answered stream in a thread of its own, so that the caller has its answer at once and the
    /// connection can be used again. No more streams are read so at once than connections are kept: the others are
    /// closed, which is as good.
    fn drain(&self, left: Option<(CallId, Option<Attempt>)>) {
        match left {
            Some((call, _)) if self.inner.background.running() >= self.inner.most_background => {
                self.inner.abandon(call)
            }
            Some((call, attempt)) => self.in_background(call, attempt),
            None => {}
        }
    }

    /// Drives a call that nobody waits for, in a thread of its own.
    fn in_background(&self, call: CallId, attempt: Option<Attempt>) {
        let client = Self { inner: Arc::clone(&self.inner), _used: None };
        let running = Running::new(Arc::clone(&self.inner));
        let thread = thread::Builder::new().name("mcp-sse-background".to_owned()).spawn(move || {
            let _running = running;
            client.drive(call, attempt, |_| ControlFlow::Continue(())).run_to_end();
        });
        if thread.is_err() {
            // No thread is to be had: close instead.
            self.inner.abandon(call);
        }
    }

    /// Has a request of the server's answered by its handler, if there is one. A stream that is read for all goes on
    /// meanwhile, whatever the handler waits for: it may be an answer that comes on that very stream.
    fn handle(&self, call: CallId, event: &CallEvent) {
        let Some((method, id, message)) = event.awaiting() else {
            return;
        };
        let Some(handler) = self.inner.handlers.get(method) else {
            return;
        };
        let inner = Arc::clone(&self.inner);
        let asked = Asked::new(id.clone(), move |id, answer| inner.respond(call, id, answer));
        if !self.inner.core().is_shared(call) {
            return asked.answer(handler(message));
        }
        let (handler, message) = (Arc::clone(handler), message.clone());
        let running = Running::new(Arc::clone(&self.inner));
        let thread = thread::Builder::new().name("mcp-sse-handler".to_owned());
        // If no thread is to be had, `asked` is dropped, and the server told.
        drop(thread.spawn(move || {
            let _running = running;
            asked.answer(handler(&message));
        }));
    }

    /// Waits until nothing is done in the background any more: no stream read to its end after its answer, no
    /// `notifications/cancelled` on its way (legacy revisions). A program that is about to end loses what is still
    /// under way. `false` if `most` was over first.
    pub fn wait_for_background(&self, most: Duration) -> bool {
        self.inner.background.wait(most)
    }
}

/// How many background threads are at work.
#[derive(Default)]
pub(crate) struct Background {
    running: Mutex<usize>,
    changed: Condvar,
}

impl Background {
    fn running(&self) -> usize {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn end(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.changed.notify_all();
    }

    fn wait(&self, most: Duration) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(running, most, |running| *running > 0);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Counts a background thread for as long as it lives, however it ends.
struct Running(Arc<Inner>);

impl Running {
    fn new(inner: Arc<Inner>) -> Self {
        inner.background.begin();
        Self(inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.background.end();
    }
}

/// A call under way: its steps, carried out by the thread that it is in. Dropped before its end, it gives the call up,
/// also if a handler panics.
struct Drive<'a, F: FnMut(CallEvent) -> ControlFlow<()>> {
    client: &'a Client,
    /// `None` once the call has ended, or was left to somebody else.
    call: Option<CallId>,
    attempt: Option<Attempt>,
    reply: Option<Reply>,
    on_event: F,
    /// Whether the handler asked to stop.
    is_stopped: bool,
}

/// What a call was driven to.
enum Driven {
    /// Its answer; its exchange goes on.
    Answered(Reply),
    /// Its end.
    Ended(Option<Reply>, Done),
}

/// What one turn came to.
enum Turn {
    /// Something happened; go on.
    Some,
    /// Nothing, and nothing will without waiting.
    None,
    Done(Done),
}

impl<F: FnMut(CallEvent) -> ControlFlow<()>> Drive<'_, F> {
    /// To the answer, and through what has come with it and needs no waiting: most streams end there. How much that is
    /// at most, the exchange says.
    fn run_to_answer(&mut self) -> Driven {
        loop {
            let patience = if self.reply.is_some() { Patience::None } else { Patience::Some };
            match self.turn(patience) {
                Turn::Done(done) => return Driven::Ended(self.reply.take(), done),
                Turn::Some => {}
                Turn::None => {
                    if let Some(reply) = self.reply.take() {
                        return Driven::Answered(reply);
                    }
                }
            }
        }
    }

    fn run_to_end(&mut self) -> (Option<Reply>, Done) {
        loop {
            if let Turn::Done(done) = self.turn(Patience::Some) {
                return (self.reply.take(), done);
            }
        }
    }

    fn read_to_end(&self) {
        if let Some(call) = self.call {
            self.client.inner.core().read_to_end(call);
        }
    }

    /// What is to be driven on by somebody else.
    fn leave(mut self) -> Option<(CallId, Option<Attempt>)> {
        self.call.take().map(|call| (call, self.attempt.take()))
    }

    /// One step, or else one thing that may wait.
    fn turn(&mut self, patience: Patience) -> Turn {
        let inner = &*self.client.inner;
        let Some(call) = self.call else {
            return Turn::None;
        };
        let step = {
            let mut core = inner.core();
            let step = core.poll_step_of(call, inner.clock.now());
            inner.wake_by(&mut core);
            step
        };
        match step {
            Some(Step::Send(id, request)) => self.attempt = Some(Attempt::new(id, request, inner)),
            Some(Step::Release(_)) => {
                if let Some(attempt) = self.attempt.take() {
                    attempt.release(inner);
                }
            }
            Some(Step::Background(_, other)) => self.client.in_background(other, None),
            Some(Step::Event(_, event)) => match Reply::from_event(event) {
                Ok(reply) => self.reply = Some(reply),
                // A handler that asked to stop has heard enough.
                Err(_) if self.is_stopped => {}
                Err(event) => {
                    self.client.handle(call, &event);
                    if (self.on_event)(event).is_break() {
                        self.is_stopped = true;
                        inner.core().cancel(call, inner.clock.now());
                    }
                }
            },
            Some(Step::Done(_, done)) => {
                self.call = None;
                return Turn::Done(done);
            }
            // Close: what is dropped closes.
            Some(_) => self.attempt = None,
            None => return self.go_on(call, patience),
        }
        Turn::Some
    }

    /// One thing that may wait: of the attempt under way, or until the next one is due.
    fn go_on(&mut self, call: CallId, patience: Patience) -> Turn {
        let inner = &*self.client.inner;
        if let Some(attempt) = &mut self.attempt {
            let (lent, is_shared) = {
                let mut core = inner.core();
                (core.lend_exchange(attempt.id), patience == Patience::Some && core.is_shared(call))
            };
            if let Some(mut exchange) = lent {
                let patience = if is_shared { Patience::AtMost(LOOK_AROUND) } else { patience };
                let mut progress = attempt.advance(&mut exchange, inner, patience);
                // What tells nothing leads to no step; but a call that others may end looks for one.
                while progress == Progress::Some && !is_shared && exchange.peek_event().is_none() {
                    progress = attempt.advance(&mut exchange, inner, patience);
                }
                inner.core().return_exchange(attempt.id, exchange, inner.clock.now());
                return if progress == Progress::None { Turn::None } else { Turn::Some };
            }
        }
        let mut core = inner.core();
        if !core.has_step_of(call) {
            let due = core.poll_timeout_of(call).map_or(Duration::MAX, |due| inner.clock.until(due));
            let waited = inner.changed.wait_timeout(core, due.min(LONGEST_SLEEP));
            core = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        core.on_timeout(inner.clock.now());
        Turn::Some
    }
}

impl<F: FnMut(CallEvent) -> ControlFlow<()>> Drop for Drive<'_, F> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.client.inner.abandon(call);
        }
    }
}

impl Inner {
    pub(crate) fn core(&self) -> MutexGuard<'_, core_client::Client> {
        // The core never panics while it is locked, and it has no state that a panic could leave half made.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn idle(&self) -> MutexGuard<'_, IdleConnections<Stream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a buffer that has not grown, if there are few.
    pub(crate) fn keep_buffer(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers();
        if buffer.len() <= FIRST_BUFFER_BYTES && buffers.len() < MAX_BUFFERS {
            buffers.push(buffer);
        }
    }

    /// Answers a request of the server's that came on this call.
    fn respond(&self, call: CallId, id: &Id, answer: Result<&str, ErrorReply>) -> Result<(), RespondError> {
        let responded = self.core().respond(call, id, answer, self.clock.now());
        self.wake();
        responded
    }

    /// Wakes those whom the core names: all who wait look for themselves.
    fn wake(&self) {
        self.wake_by(&mut self.core());
    }

    fn wake_by(&self, core: &mut core_client::Client) {
        let mut is_any = false;
        while core.poll_wake().is_some() {
            is_any = true;
        }
        if is_any {
            self.changed.notify_all();
        }
    }

    /// Cancels a call and drops the steps that nobody carries out.
    fn abandon(&self, call: CallId) {
        self.core().abandon(call, self.clock.now());
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", self.inner.core().endpoint()).finish_non_exhaustive()
    }
}
