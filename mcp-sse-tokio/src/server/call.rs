//! A request as its handler sees it: what was asked and by whom, and what can be said before the answer.
//!
//! Facts reported: none. Steps carried out: none; each word of a handler's is a command to the core.

use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use mcp_sse_core::client::params_to_json;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::server::{CallId, CancelReason, IncomingRequest, SendError, Sent, ServerAnswer, SessionKey};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::Server;

/// Who sent a request: its address, if the adapter knows it, and its headers; and which of the calls that it brought, one
/// nearly always, are cancelled.
#[derive(Debug, Default)]
pub(super) struct Sender {
    peer: Option<SocketAddr>,
    headers: HeaderMap,
    cancelled: Mutex<Vec<(CallId, CancelReason)>>,
    has_cancelled: Notify,
}

impl Sender {
    pub(super) fn new(peer: Option<SocketAddr>, headers: HeaderMap) -> Self {
        Self { peer, headers, ..Self::default() }
    }

    pub(super) fn cancel(&self, call: CallId, reason: CancelReason) {
        self.all_cancelled().push((call, reason));
        self.has_cancelled.notify_waiters();
    }

    fn cancelled(&self, call: CallId) -> Option<CancelReason> {
        self.all_cancelled().iter().find(|(cancelled, _)| *cancelled == call).map(|(_, reason)| *reason)
    }

    fn all_cancelled(&self) -> MutexGuard<'_, Vec<(CallId, CancelReason)>> {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request to be answered, and what can be said before its answer.
pub struct Call {
    pub(super) server: Server,
    pub(super) request: Box<IncomingRequest>,
    pub(super) sender: Arc<Sender>,
}

/// Why something that was asked of a client has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It was not asked.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The session ended, or nobody answered in time.
    #[error("nobody answered")]
    Unanswered,
}

impl Call {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.request.method()
    }

    /// The parameters, the raw JSON of an object.
    #[must_use]
    pub fn params(&self) -> Option<&str> {
        self.request.params()
    }

    /// The parameters as a type of the handler's; without any, as those of an empty object.
    ///
    /// # Errors
    /// An answer that says that they do not fit (-32602). It tells where, not what was sent.
    pub fn params_as<T: DeserializeOwned>(&self) -> Result<T, ServerAnswer> {
        serde_json::from_str(self.params().unwrap_or("{}")).map_err(|error| ServerAnswer::misfit(&error))
    }

    /// The request: its id, its progress token, what its client can do.
    #[must_use]
    pub fn request(&self) -> &IncomingRequest {
        &self.request
    }

    /// The revision that it is made under.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.request.version
    }

    /// The session it belongs to; since 2026-07-28 there is none.
    #[must_use]
    pub fn session(&self) -> Option<SessionKey> {
        self.request.session
    }

    /// The address of the peer, if it is known: `serve` knows it; who mounts the service tells it by an extension of the
    /// request, a [`SocketAddr`].
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.sender.peer
    }

    /// The first value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.sender.headers.get(name)?.to_str().ok()
    }

    /// The server that was asked.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Sends a notification that belongs to this call. `params` must serialise to a JSON object; `&()` sends none.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<Sent, SendError> {
        let params = params_to_json(params).map_err(|_| SendError::NotAnObject)?;
        self.server.inner.with(|core, now| core.notify(self.request.call, method, params.as_deref(), now))
    }

    /// Tells how far the call has got. A client that asked for no progress is not told ([`Sent::Unwanted`]).
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) -> Result<Sent, SendError> {
        self.server.inner.with(|core, now| core.progress(self.request.call, progress, total, message, now))
    }

    /// Asks the client something, and waits for its answer, a result or an error (before 2026-07-28; since then, a result
    /// that says `input_required` asks).
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<Message, AskError> {
        let params = params_to_json(params).map_err(|_| SendError::NotAnObject)?;
        let call = self.request.call;
        self.server.inner.ask(|core, now| core.ask(call, method, params.as_deref(), now)).await
    }

    /// Makes the response an event stream now, instead of once something comes before the answer.
    ///
    /// # Errors
    /// [`SendError::Ended`].
    pub fn stream(&self) -> Result<(), SendError> {
        self.server.inner.with(|core, now| core.stream(self.request.call, now))
    }

    /// Closes the connection, not the call: the client comes back for the rest (2025-11-25).
    ///
    /// # Errors
    /// [`SendError::Ended`], or [`SendError::NotInRevision`] if the client could not come back.
    pub fn pause(&self) -> Result<(), SendError> {
        self.server.inner.with(|core, now| core.pause(self.request.call, now))
    }

    /// Why nobody wants the answer any more, if so (S4).
    #[must_use]
    pub fn is_cancelled(&self) -> Option<CancelReason> {
        self.sender.cancelled(self.request.call)
    }

    /// Waits until nobody wants the answer any more, and tells why.
    ///
    /// Over HTTP/1.1, a client that has sent a further request already is not seen to go before something is written to it:
    /// hyper does not look behind what it has not read.
    pub async fn cancelled(&self) -> CancelReason {
        loop {
            // Listening before looking: between the two nothing is missed.
            let mut told = pin!(self.sender.has_cancelled.notified());
            told.as_mut().enable();
            if let Some(reason) = self.is_cancelled() {
                return reason;
            }
            told.await;
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("call", &self.request.call).finish_non_exhaustive()
    }
}
