//! What a server's owner writes: what becomes of a request.
//!
//! Facts reported: none. Steps carried out: none.

use std::future::Future;
use std::pin::Pin;

use mcp_sse_core::server::{IncomingNotification, ServerAnswer, SessionKey};

use super::call::Call;

/// Answers requests, and hears of what else there is to know. A function from a [`Call`] to a future is one.
///
/// Each call runs for itself: one that is slow, or panics, concerns no other. What a panic says goes to the panic hook; the
/// peer is told of an internal error.
///
/// ```
/// use mcp_sse_tokio::{Call, Handler, ServerAnswer};
///
/// struct Tools;
///
/// impl Handler for Tools {
///     async fn call(&self, call: Call) -> ServerAnswer {
///         match call.method() {
///             "tools/list" => ServerAnswer::result(r#"{"tools":[]}"#),
///             _ => ServerAnswer::method_not_found(),
///         }
///     }
/// }
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Answers a request. The future is dropped when the server is, and not when the call is cancelled:
    /// [`Call::cancelled`] tells of that.
    fn call(&self, call: Call) -> impl Future<Output = ServerAnswer> + Send;

    /// A notification came. By default it is ignored.
    fn notification(&self, notification: IncomingNotification) {
        drop(notification);
    }

    /// A session of an earlier revision began.
    fn session_opened(&self, session: SessionKey) {
        let _ = session;
    }

    /// A session of an earlier revision ended.
    fn session_ended(&self, session: SessionKey) {
        let _ = session;
    }
}

impl<F, R> Handler for F
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output: Into<ServerAnswer>> + Send,
{
    async fn call(&self, call: Call) -> ServerAnswer {
        self(call).await.into()
    }
}

/// A handler's future, whatever its type.
pub(super) type Answering = Pin<Box<dyn Future<Output = ServerAnswer> + Send>>;

/// A handler, whatever its type.
pub(super) trait AnyHandler: Send + Sync {
    fn call(self: std::sync::Arc<Self>, call: Call) -> Answering;
    fn notification(&self, notification: IncomingNotification);
    fn session_opened(&self, session: SessionKey);
    fn session_ended(&self, session: SessionKey);
}

impl<H: Handler> AnyHandler for H {
    fn call(self: std::sync::Arc<Self>, call: Call) -> Answering {
        Box::pin(async move { Handler::call(&*self, call).await })
    }

    fn notification(&self, notification: IncomingNotification) {
        Handler::notification(self, notification);
    }

    fn session_opened(&self, session: SessionKey) {
        Handler::session_opened(self, session);
    }

    fn session_ended(&self, session: SessionKey) {
        Handler::session_ended(self, session);
    }
}
