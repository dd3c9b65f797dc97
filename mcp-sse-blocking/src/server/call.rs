//! A request as its handler sees it: what was asked and by whom, and what can be said before the answer.
//!
//! Facts reported: none. Steps carried out: none; each word of a handler's is a command to the core.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_sse_core::client::params_to_json;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::server::{AskId, CancelReason, IncomingRequest, SendError, Sent, ServerAnswer, SessionKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Server;
use super::request::header_of;

/// Who sent a request: its address, and its head as it came.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) peer: Option<SocketAddr>,
    pub(super) head: Vec<u8>,
}

/// Why something that was asked of a client has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It was not asked.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The session ended, nobody answered in time, or the call that it was asked for was cancelled.
    #[error("nobody answered")]
    Unanswered,
}

/// What a handler waits for.
#[derive(Debug, Default)]
pub(super) struct News {
    heard: Mutex<Heard>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    cancelled: Option<CancelReason>,
    /// What was asked and has ended; without a message, nobody answered.
    replies: HashMap<AskId, Option<Message>>,
}

impl News {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cancel(&self, reason: CancelReason) {
        self.heard().cancelled = Some(reason);
        self.changed.notify_all();
    }

    pub(super) fn cancelled(&self) -> Option<CancelReason> {
        self.heard().cancelled
    }

    pub(super) fn reply(&self, ask: AskId, message: Option<Message>) {
        self.heard().replies.insert(ask, message);
        self.changed.notify_all();
    }

    fn wait_for_cancel(&self, at_most: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.heard(), at_most, |heard| heard.cancelled.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.cancelled.is_some()
    }

    /// The answer to what was asked. The core bounds how long that takes.
    pub(super) fn wait_for_reply(&self, ask: AskId) -> Option<Message> {
        let goes_on = |heard: &mut Heard| heard.cancelled.is_none() && !heard.replies.contains_key(&ask);
        let waited = self.changed.wait_while(self.heard(), goes_on);
        waited.unwrap_or_else(PoisonError::into_inner).replies.remove(&ask).flatten()
    }
}

/// A request to be answered, and what can be said before its answer.
pub struct Call {
    pub(super) server: Server,
    pub(super) request: Box<IncomingRequest>,
    pub(super) sender: Arc<Sender>,
    pub(super) news: Arc<News>,
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
    pub const fn request(&self) -> &IncomingRequest {
        &self.request
    }

    /// The revision that it is made under.
    #[must_use]
    pub const fn version(&self) -> ProtocolVersion {
        self.request.version
    }

    /// The session it belongs to; since 2026-07-28 there is none.
    #[must_use]
    pub const fn session(&self) -> Option<SessionKey> {
        self.request.session
    }

    /// The address of the peer.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.sender.peer
    }

    /// The first value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header_of(&self.sender.head, name)
    }

    /// The server that was asked.
    #[must_use]
    pub const fn server(&self) -> &Server {
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
    pub fn ask(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<Message, AskError> {
        let params = params_to_json(params).map_err(|_| SendError::NotAnObject)?;
        let call = self.request.call;
        self.server.inner.ask(&self.news, |core, now| core.ask(call, method, params.as_deref(), now))
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

    /// Why nobody wants the answer any more, if so (S4). That a client has gone is seen within 250 ms.
    #[must_use]
    pub fn is_cancelled(&self) -> Option<CancelReason> {
        self.news.cancelled()
    }

    /// Waits until nobody wants the answer any more, for so long at most, and says whether that is so: a pause for whoever has
    /// to wait for something else.
    pub fn wait_for_cancel(&self, at_most: Duration) -> bool {
        self.news.wait_for_cancel(at_most)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("call", &self.request.call).finish_non_exhaustive()
    }
}
