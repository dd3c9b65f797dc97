//! The client: what calls share, and how each is begun.
//!
//! Facts reported: none. Steps carried out: none; each call has a driver of its own for them.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    self as core_client, BuildError, CallError, CallId, CallOptions, Done, Reply, RequestError, ResultError,
    params_to_json,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::builder::ClientBuilder;
use crate::clock::Clock;
use crate::connect::Connector;
use crate::drive::{Driver, Told};
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
}

pub(crate) struct Inner {
    pub(crate) core: Mutex<core_client::Client>,
    pub(crate) connector: Connector,
    pub(crate) clock: Clock,
    pub(crate) options: CallOptions,
}

impl Inner {
    pub(crate) fn core(&self) -> MutexGuard<'_, core_client::Client> {
        // The core never panics while it is locked, and it has no state that a panic could leave half made.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
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
        Self { inner: Arc::new(inner) }
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
        Box::pin(async move {
            let mut driver = begun?;
            loop {
                if let Told::Done(done) = poll_fn(|cx| driver.poll(cx)).await {
                    return done.into_result().map(drop);
                }
            }
        })
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
        Ok(Driver::new(Arc::clone(&self.inner), call, None))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", self.inner.core().endpoint()).finish_non_exhaustive()
    }
}
