//! The client: calls carried out step by step, as the core says.
//!
//! Rules: the lock on the core is held for steps, never while waiting for the network or while a body's bytes are
//! decoded; each call is driven by the thread that made it. Nothing about the protocol is decided here.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{
    self as core_client, CallError, CallEvent, CallId, CallOptions, Done, Outcome, Reply, Step,
};
use serde::Serialize;

use crate::attempt::{Attempt, Patience, Progress, Tools};
use crate::builder::{BuildError, ClientBuilder};
use crate::clock::Clock;
use crate::connect::Connector;
use crate::pool::Pool;

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
}

pub(crate) struct Inner {
    pub(crate) core: Mutex<core_client::Client>,
    pub(crate) connector: Connector,
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    pub(crate) options: CallOptions,
    pub(crate) max_head_bytes: usize,
    /// How long, after the answer, the rest of a stream is read so that its connection can be used again.
    pub(crate) drain: Duration,
    pub(crate) background: Background,
}

/// After an answer, so many steps of reading what has come already are made before the caller gets it; a
/// server that goes on sending cannot hold the caller up.
const STEPS_AFTER_ANSWER: u32 = 16;

/// What to drive a call to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Answer,
    End,
}

/// What a call came to while it was driven.
#[derive(Default)]
struct Driven {
    reply: Option<Reply>,
    done: Option<Done>,
    attempt: Option<Attempt>,
}

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
        Self { inner: Arc::new(inner) }
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
        let id = self.begin(method, params, options)?;
        let driven = self.drive(id, Until::Answer, None, on_event);
        match (driven.reply, driven.done) {
            (Some(reply), done) => {
                if done.is_none() {
                    self.drain(id, driven.attempt);
                }
                Ok(reply)
            }
            (None, done) => Err(done.and_then(CallError::from_done).unwrap_or(CallError::Params)),
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
        let id = self.begin(method, params, options)?;
        let driven = self.drive(id, Until::End, None, on_event);
        match (driven.reply, driven.done) {
            (Some(reply), Some(done)) => Ok((reply, done)),
            (_, done) => Err(done.and_then(CallError::from_done).unwrap_or(CallError::Params)),
        }
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
        let inner = &self.inner;
        let params = to_json(params)?;
        let id = inner.core().notify(method, params.as_deref(), options.clone(), inner.clock.now())?;
        let driven = self.drive(id, Until::End, None, |_| ControlFlow::Continue(()));
        match driven.done {
            Some(Done { outcome: Outcome::Accepted { .. }, .. }) => Ok(()),
            done => Err(done.and_then(CallError::from_done).unwrap_or(CallError::Params)),
        }
    }

    /// How long ago the answer's bytes arrived: freshness counts from then, not from when the reply is looked at.
    #[must_use]
    pub fn age(&self, reply: &Reply) -> Duration {
        self.inner.clock.now().saturating_duration_since(reply.answer.info.arrived)
    }

    fn begin(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &CallOptions,
    ) -> Result<CallId, CallError> {
        let params = to_json(params)?;
        let now = self.inner.clock.now();
        Ok(self.inner.core().call(method, params.as_deref(), options.clone(), now)?)
    }

    /// Carries out a call's steps until its answer or its end. `attempt` is the one under way, if one is.
    fn drive(
        &self,
        call: CallId,
        until: Until,
        attempt: Option<Attempt>,
        mut on_event: impl FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Driven {
        let inner = &*self.inner;
        // An attempt that is given is one whose answer is there already: its rest is read within the bound.
        let mut drain_until = attempt.is_some().then(|| inner.clock.now().saturating_add(inner.drain));
        let mut driven = Driven { attempt, ..Driven::default() };
        let mut patience = Patience::Until(drain_until);
        let mut steps_left = STEPS_AFTER_ANSWER;
        let mut is_stopped = false;
        // A handler that panics leaves nothing of its call behind.
        let mut unfinished = Unfinished { inner, call: Some(call) };
        loop {
            let step = inner.core().poll_step_of(call, inner.clock.now());
            match step {
                Some(Step::Send(id, request)) => driven.attempt = Some(Attempt::new(id, request)),
                Some(Step::Release(_)) => {
                    if let Some(attempt) = driven.attempt.take() {
                        attempt.release(&inner.pool);
                    }
                }
                Some(Step::Background(_, other)) => self.drive_in_background(other),
                Some(Step::Event(_, event)) => match Reply::from_event(event) {
                    Ok(reply) => {
                        driven.reply = Some(reply);
                        let moment = inner.clock.now().saturating_add(inner.drain);
                        drain_until = Some(moment);
                        patience = match until {
                            // What has come already, and no more.
                            Until::Answer => Patience::None,
                            Until::End => Patience::Until(Some(moment)),
                        };
                    }
                    // A handler that asked to stop has heard enough.
                    Err(_) if is_stopped => {}
                    Err(event) => {
                        if on_event(event).is_break() {
                            is_stopped = true;
                            inner.core().cancel(call, inner.clock.now());
                        }
                    }
                },
                Some(Step::Done(_, done)) => {
                    unfinished.call = None;
                    driven.done = Some(done);
                    return driven;
                }
                // Close: what is dropped closes.
                Some(_) => driven.attempt = None,
                None => {
                    let progress = self.go_on(call, &mut driven, patience);
                    if patience == Patience::None {
                        steps_left -= 1;
                        if progress == Progress::None || steps_left == 0 {
                            unfinished.call = None;
                            return driven;
                        }
                    }
                    if drain_until.is_some_and(|moment| inner.clock.now() >= moment) {
                        inner.core().cancel(call, inner.clock.now());
                    }
                }
            }
        }
    }

    /// One thing that may wait: of the attempt under way, or until the next one is due.
    fn go_on(&self, call: CallId, driven: &mut Driven, patience: Patience) -> Progress {
        let inner = &*self.inner;
        let tools = Tools { connector: &inner.connector, pool: &inner.pool, max_head_bytes: inner.max_head_bytes };
        if let Some(attempt) = &mut driven.attempt {
            let lent = inner.core().lend_exchange(attempt.id);
            if let Some(mut exchange) = lent {
                let progress = attempt.advance(&mut exchange, &tools, patience);
                inner.core().return_exchange(attempt.id, exchange, inner.clock.now());
                return progress;
            }
        }
        let due = inner.core().poll_timeout_of(call);
        thread::sleep(due.map_or(Duration::from_millis(1), |due| inner.clock.until(due)));
        inner.core().on_timeout(inner.clock.now());
        Progress::Some
    }

    /// Reads the rest of an answered stream in a thread of its own, within a bound of time, so that the
    /// caller has its answer at once and the connection can be used again. No more streams are read so at once than
    /// connections are kept: the others are closed, which is as good.
    fn drain(&self, call: CallId, attempt: Option<Attempt>) {
        if self.inner.background.running() >= self.inner.pool.most {
            self.inner.abandon(call);
            return;
        }
        let client = self.clone();
        self.in_background(move || drop(client.drive(call, Until::End, attempt, |_| ControlFlow::Continue(()))), call);
    }

    /// Drives a call that nobody waits for.
    fn drive_in_background(&self, call: CallId) {
        let client = self.clone();
        let work = move || drop(client.drive(call, Until::End, None, |_| ControlFlow::Continue(())));
        self.in_background(work, call);
    }

    fn in_background(&self, work: impl FnOnce() + Send + 'static, call: CallId) {
        let inner = Arc::clone(&self.inner);
        inner.background.begin();
        let thread = thread::Builder::new().name("mcp-sse-background".to_owned()).spawn(move || {
            let _running = Running(&inner.background);
            work();
        });
        if thread.is_err() {
            // No thread is to be had: close instead.
            self.inner.background.end();
            self.inner.abandon(call);
        }
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
struct Running<'a>(&'a Background);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A call whose steps are still to be carried out. Dropped with the call in it, it gives the call up.
struct Unfinished<'a> {
    inner: &'a Inner,
    call: Option<CallId>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.inner.abandon(call);
        }
    }
}

impl Inner {
    pub(crate) fn core(&self) -> MutexGuard<'_, core_client::Client> {
        // The core never panics while it is locked, and it has no state that a panic could leave half made.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels a call and drops the steps that nobody carries out.
    fn abandon(&self, call: CallId) {
        let now = self.clock.now();
        let mut core = self.core();
        core.cancel(call, now);
        while let Some(step) = core.poll_step_of(call, now) {
            if let Step::Background(_, other) = step {
                core.cancel(other, now);
                while core.poll_step_of(other, now).is_some() {}
            }
        }
    }
}

/// Parameters as JSON text; those that serialise to `null` are none.
fn to_json(params: &(impl Serialize + ?Sized)) -> Result<Option<String>, CallError> {
    let json = serde_json::to_string(params).map_err(|_| CallError::Params)?;
    Ok((json != "null").then_some(json))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", self.inner.core().endpoint()).finish_non_exhaustive()
    }
}
