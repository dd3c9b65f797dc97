//! What the transport and its calls share: the way to rmcp, the client that is spoken through, who waits for what.
//!
//! Rules: nothing here waits but for room on the way to rmcp, and for rmcp's own answers. A lock is held for no longer than
//! it takes to look something up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::rmcp::model::{
    ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use mcp_sse_core::client::{ErrorReply, Reply};
use mcp_sse_core::jsonrpc::Message;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::error::Error;
use crate::client::Client;

/// JSON-RPC: not a request.
const INVALID_REQUEST: i64 = -32600;

type Answer = Result<Value, ErrorReply>;

pub(super) struct Link {
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
    stop: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` before a handshake, and after the end.
    client: Option<Client>,
    /// rmcp's requests under way, by its ids.
    calls: HashMap<RequestId, CancellationToken>,
    /// The server's requests that rmcp has not answered yet, by the server's ids.
    asked: HashMap<RequestId, oneshot::Sender<Answer>>,
}

impl Link {
    pub(super) fn new(incoming: mpsc::Sender<ServerJsonRpcMessage>) -> Self {
        Self { incoming, stop: CancellationToken::new(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Maps are never left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancelled when the transport is closed or dropped.
    pub(super) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    pub(super) fn client(&self) -> Result<Client, Error> {
        self.state().client.clone().ok_or(Error::NotOpen)
    }

    pub(super) fn take_client(&self) -> Option<Client> {
        self.state().client.take()
    }

    pub(super) fn set_client(&self, client: Client) {
        // A client that was there before ends what it has open; not under the lock.
        let earlier = self.state().client.replace(client);
        drop(earlier);
    }

    /// A request of rmcp's is under way.
    pub(super) fn register(self: &Arc<Self>, id: &RequestId) -> Pending {
        let cancelled = self.stop.child_token();
        self.state().calls.insert(id.clone(), cancelled.clone());
        Pending { link: Arc::clone(self), id: id.clone(), cancelled }
    }

    /// rmcp wants no more of a request of its own.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(cancelled) = self.state().calls.remove(id) {
            cancelled.cancel();
        }
    }

    /// Hands a message to rmcp; waits for room.
    pub(super) async fn give(&self, message: ServerJsonRpcMessage) {
        // It fails when rmcp is gone, and then nobody misses the message.
        self.incoming.send(message).await.ok();
    }

    /// Hands on what the server tells. What rmcp cannot read it has no use for.
    pub(super) async fn tell(&self, message: Value) {
        let Ok(message) = serde_json::from_value::<ServerJsonRpcMessage>(message) else {
            return;
        };
        if let JsonRpcMessage::Notification(notification) = &message {
            if let ServerNotification::CancelledNotification(cancelled) = &notification.notification {
                // rmcp will not answer it any more.
                cancelled.params.request_id.as_ref().map(|id| self.state().asked.remove(id));
            }
        }
        self.give(message).await;
    }

    /// Has rmcp answer a request of the server's.
    pub(super) async fn ask(&self, message: &Message) -> Answer {
        let Ok(request @ JsonRpcMessage::Request(_)) = serde_json::from_str(message.as_json()) else {
            return Err(ErrorReply::new(INVALID_REQUEST, "Invalid request"));
        };
        let (answer, answered) = oneshot::channel();
        if let JsonRpcMessage::Request(request) = &request {
            self.state().asked.insert(request.id.clone(), answer);
        }
        self.give(request).await;
        // It has none if rmcp drops it, or is gone itself.
        let answer = self.stop.run_until_cancelled(answered).await.and_then(Result::ok);
        answer.unwrap_or_else(|| Err(ErrorReply::internal()))
    }

    /// rmcp has answered a request of the server's.
    pub(super) fn answered(&self, id: &RequestId, answer: Answer) {
        if let Some(asked) = self.state().asked.remove(id) {
            // Whoever asked may be gone.
            asked.send(answer).ok();
        }
    }
}

/// A request of rmcp's under way.
pub(super) struct Pending {
    pub(super) link: Arc<Link>,
    /// rmcp's id; ours is another, and a new one with each attempt.
    pub(super) id: RequestId,
    /// Cancelled when rmcp wants no more of it.
    pub(super) cancelled: CancellationToken,
}

impl Pending {
    /// Hands the answer to rmcp under its own id.
    pub(super) async fn answer(&self, reply: &Reply) -> Result<(), Error> {
        let message = match reply.result() {
            Ok(result) => JsonRpcMessage::response(serde_json::from_str::<ServerResult>(result)?, self.id.clone()),
            Err(error) => {
                let data = error.data.map(serde_json::from_str).transpose()?;
                let code = i32::try_from(error.code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
                let error = ErrorData::new(ErrorCode(code), error.message.into_owned(), data);
                JsonRpcMessage::error(error, Some(self.id.clone()))
            }
        };
        self.link.give(message).await;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.link.state().calls.remove(&self.id);
    }
}
