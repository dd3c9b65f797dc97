//! The client: what calls share, and how each is begun.
//!
//! Facts reported: none. Steps carried out: none; each call has a driver of its own for them.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    self as core_client, BuildError, CallError, CallId, CallOptions, Done, ErrorReply, Reply, RequestError,
    RespondError, ResultError, Step, params_to_json,
};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::{Id, Message};
use mcp_sse_core::recording::{Bodies, Recording};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::builder::ClientBuilder;
use crate::clock::Clock;
use crate::connect::Connector;
use crate::drive::Driver;
use crate::updates::{CallFuture, CallStream};

/// An async client of one MCP endpoint.
///
/// Cheap to clone, and safe to use from many tasks: each call has its own stream, and none disturbs another.
/// Dropping the last clone closes the kept connections. Calls must be polled within a tokio runtime whose I/O
/// and timers are enabled. What a call returns borrows nothing and can be spawned.
///
/// ```no_run
/// use mcp_sse_tokio::Client;
/// use serde_json::json;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("https://example.com/mcp")?;
/// let reply = client.call("tools/call", &json!({"name": "add", "arguments": {"a": 1, "b": 2}})).await?;
/// match reply.result() {
///     Ok(result) => println!("{result}"),
///     Err(error) => eprintln!("the server refused: {} {}", error.code, error.message),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    used: Arc<Used>,
}

pub(crate) struct Inner {
    pub(crate) core: Mutex<core_client::Client>,
    pub(crate) connector: Arc<Connector>,
    pub(crate) clock: Clock,
    pub(crate) options: CallOptions,
    pub(crate) handlers: BTreeMap<String, Handler>,
    /// Who is to be woken when a call has steps by what happened to another one.
    pub(crate) wakers: Mutex<BTreeMap<CallId, Waker>>,
}

/// Held by each client and by each call that somebody waits for. With the last one the 2024-11-05 channel, which the
/// background reads, is closed.
pub(crate) struct Used(Weak<Inner>);

impl Drop for Used {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            let deletion = inner.core().close(inner.clock.now());
            // Nobody waits for it: `close` is there for those who do.
            deletion.into_iter().for_each(|deletion| inner.core().abandon(deletion, inner.clock.now()));
            inner.wake();
        }
    }
}

/// Answers a request of the server's.
pub(crate) type Handler = Arc<dyn Fn(Message) -> HandlerFuture + Send + Sync>;
/// What a handler comes to: a result as JSON text, or an error.
pub(crate) type HandlerFuture = Pin<Box<dyn Future<Output = Result<String, ErrorReply>> + Send>>;

impl Inner {
    pub(crate) fn core(&self) -> MutexGuard<'_, core_client::Client> {
        // The core never panics while it is locked, and it has no state that a panic could leave half made.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wakers(&self) -> MutexGuard<'_, BTreeMap<CallId, Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has this call's driver woken when the core says so; before its steps are asked for, so that none is missed.
    pub(crate) fn register(&self, call: CallId, waker: &Waker) {
        self.wakers().entry(call).and_modify(|known| known.clone_from(waker)).or_insert_with(|| waker.clone());
    }

    pub(crate) fn forget(&self, call: CallId) {
        self.wakers().remove(&call);
    }

    /// Answers a request of the server's that came on this call.
    pub(crate) fn respond(&self, call: CallId, id: &Id, answer: Result<&str, ErrorReply>) -> Result<(), RespondError> {
        let responded = self.core().respond(call, id, answer, self.clock.now());
        self.wake();
        responded
    }

    /// The next step of a call. Others whom it concerns are woken.
    pub(crate) fn step_of(&self, call: CallId, now: Timestamp) -> Option<Step> {
        let (step, woken) = {
            let mut core = self.core();
            (core.poll_step_of(call, now), core.poll_wake())
        };
        self.wake_from(woken);
        step
    }

    /// Wakes whom the core names.
    pub(crate) fn wake(&self) {
        let woken = self.core().poll_wake();
        self.wake_from(woken);
    }

    fn wake_from(&self, mut woken: Option<CallId>) {
        // The lock on the core is free again before a waker is asked for.
        while let Some(call) = woken {
            if let Some(waker) = self.wakers().get(&call) {
                waker.wake_by_ref();
            }
            woken = self.core().poll_wake();
        }
    }
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
        let inner = Arc::new(inner);
        Self { used: Arc::new(Used(Arc::downgrade(&inner))), inner }
    }

    #[cfg(feature = "rmcp")]
    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// A client over the same connections, with handlers and options of this one, that has found out nothing yet.
    #[cfg(feature = "rmcp")]
    pub(crate) fn anew(&self, config: core_client::ClientConfig) -> Self {
        let endpoint = self.inner.core().endpoint().clone();
        Self::from_inner(Inner {
            core: Mutex::new(core_client::Client::new(endpoint, config)),
            connector: Arc::clone(&self.inner.connector),
            clock: self.inner.clock,
            options: self.inner.options.clone(),
            handlers: self.inner.handlers.clone(),
            wakers: Mutex::default(),
        })
    }

    /// Makes a request and waits for its answer, under the client's default options. `params` must serialise
    /// to a JSON object; `&()` sends none. The call returns when the answer arrives, whatever the stream does
    /// afterwards. Its time runs from here, not from when it is first polled.
    ///
    /// A JSON-RPC error is a [`Reply`] like any other answer: the server answered.
    ///
    /// # Errors
    /// [`CallError`] says whether the request was sent, whether it may have run, and the status.
    pub fn call(&self, method: &str, params: &(impl Serialize + ?Sized)) -> CallFuture<Result<Reply, CallError>> {
        Box::pin(self.call_with(method, params, &self.inner.options).reply())
    }

    /// As [`call`](Self::call), with options of its own, as a stream: each event as it comes (notifications,
    /// strays, replacements), then the reply or an error. Dropping the stream cancels the call (E30).
    ///
    /// ```no_run
    /// # async fn example(client: mcp_sse_tokio::Client) -> Result<(), mcp_sse_tokio::CallError> {
    /// use mcp_sse_tokio::{CallOptions, Update};
    ///
    /// let mut updates = client.call_with("tools/list", &(), &CallOptions::default());
    /// while let Some(update) = updates.next().await {
    ///     match update? {
    ///         Update::Reply(reply) => println!("{}", reply.message().as_json()),
    ///         update => println!("{update:?}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn call_with(&self, method: &str, params: &(impl Serialize + ?Sized), options: &CallOptions) -> CallStream {
        CallStream::new(self.begin(params, |core, params, now| core.call(method, params, options.clone(), now)))
    }

    /// As [`call_with`](Self::call_with), but waits for the end of the exchange too (within the client's bound
    /// of time for that), and tells how it ended. For the events as well, see [`CallStream::until_end`].
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_to_end(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &CallOptions,
    ) -> CallFuture<Result<(Reply, Done), CallError>> {
        Box::pin(self.call_with(method, params, options).reply_and_done())
    }

    /// As [`call`](Self::call), and reads the result as a type of the caller's.
    ///
    /// ```no_run
    /// # async fn example(client: mcp_sse_tokio::Client) -> Result<(), mcp_sse_tokio::ResultError> {
    /// // Any type that serde can read, such as a struct of your own.
    /// let result: std::collections::BTreeMap<String, serde_json::Value> = client.call_as("tools/list", &()).await?;
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
    ) -> CallFuture<Result<T, ResultError>> {
        let reply = self.call(method, params);
        Box::pin(async move { reply.await?.into_result() })
    }

    /// Sends a notification under the client's default options, and waits until the server has taken it.
    ///
    /// # Errors
    /// [`CallError`], also if the server refuses it. It is never sent again.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> CallFuture<Result<(), CallError>> {
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
    ) -> CallFuture<Result<(), CallError>> {
        let begun = self.begin(params, |core, params, now| core.notify(method, params, options.clone(), now));
        Box::pin(async move { begun?.run().await.into_result().map(drop) })
    }

    /// Listens to what the server tells outside of calls: an event for each notification, until the stream is dropped or
    /// the server ends it. `filter` says what is wanted, such as `{"toolsListChanged": true}` (2026-07-28,
    /// `subscriptions/listen`); earlier revisions have no filter and tell all. A lost stream is opened again (F10, F12).
    pub fn listen(&self, filter: &(impl Serialize + ?Sized)) -> CallStream {
        let options = CallOptions::default().with_timeout(None);
        CallStream::new(self.begin(filter, |core, filter, now| core.listen(filter.unwrap_or("{}"), options, now)))
    }

    /// Ends the session of an earlier revision, and waits until the server has taken that; closes the 2024-11-05 channel.
    /// Servers of 2026-07-28 keep nothing that could be ended. A later call begins anew.
    ///
    /// # Errors
    /// [`CallError`], if the server could not be told. That it ends no sessions on demand (405) is no error.
    pub fn close(&self) -> CallFuture<Result<(), CallError>> {
        let deletion = self.inner.core().close(self.inner.clock.now());
        self.inner.wake();
        let driver = deletion.map(|deletion| Driver::new(Arc::clone(&self.inner), deletion, None, None));
        Box::pin(async move {
            match driver {
                Some(driver) => driver.run().await.into_result().map(drop),
                None => Ok(()),
            }
        })
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

    fn begin(
        &self,
        params: &(impl Serialize + ?Sized),
        make: impl FnOnce(&mut core_client::Client, Option<&str>, Timestamp) -> Result<CallId, RequestError>,
    ) -> Result<Driver, CallError> {
        let params = params_to_json(params)?;
        let call = make(&mut self.inner.core(), params.as_deref(), self.inner.clock.now())?;
        self.inner.wake();
        Ok(Driver::new(Arc::clone(&self.inner), call, None, Some(Arc::clone(&self.used))))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", self.inner.core().endpoint()).finish_non_exhaustive()
    }
}
