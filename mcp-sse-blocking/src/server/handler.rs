//! What a server's owner writes: what becomes of a request.
//!
//! Facts reported: none. Steps carried out: none.

use mcp_sse_core::server::{IncomingNotification, ServerAnswer, SessionKey};

use super::call::Call;

/// Answers requests, and hears of what else there is to know. A function from a [`Call`] to an answer is one.
///
/// Each call has a thread for itself: one that is slow, waits for its client, or panics, concerns no other. What a panic says
/// goes to the panic hook; the peer is told of an internal error.
///
/// ```
/// use mcp_sse_blocking::{Call, Handler, ServerAnswer};
///
/// struct Tools;
///
/// impl Handler for Tools {
///     fn call(&self, call: Call) -> ServerAnswer {
///         match call.method() {
///             "tools/list" => ServerAnswer::result(r#"{"tools":[]}"#),
///             _ => ServerAnswer::method_not_found(),
///         }
///     }
/// }
/// ```
pub trait Handler: Send + Sync + 'static {
    /// Answers a request. A call that is cancelled goes on unless it looks: [`Call::is_cancelled`] tells.
    fn call(&self, call: Call) -> ServerAnswer;

    /// A notification came. By default it is ignored. It is told on the thread of its connection, which takes no further
    /// request meanwhile.
    fn notification(&self, notification: IncomingNotification) {
        drop(notification);
    }

    /// A session of an earlier revision began. To be brief, as for notifications.
    fn session_opened(&self, session: SessionKey) {
        let _ = session;
    }

    /// A session of an earlier revision ended. To be brief, as for notifications.
    fn session_ended(&self, session: SessionKey) {
        let _ = session;
    }
}

impl<F, R> Handler for F
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Into<ServerAnswer>,
{
    fn call(&self, call: Call) -> ServerAnswer {
        self(call).into()
    }
}
