//! Why rmcp is refused something, and how to find that in what rmcp makes of it.

use std::error::Error as StdError;

use ::rmcp::ServiceError;
use ::rmcp::service::ClientInitializeError;
use mcp_sse_core::client::{BuildError, CallError};

/// Why the transport has no answer for rmcp.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Caller: there is no client with these settings. Nothing was sent.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The call failed: [`CallError`] says whether it was sent and may have run.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Caller: a message before `initialize` or `server/discover`, or after the end. Nothing was sent.
    #[error("the connection has not begun, or is over")]
    NotOpen,
    /// Caller: the revision that rmcp wants to begin with has another way to begin. Nothing was sent.
    #[error("this revision does not begin so")]
    Revision,
    /// Caller or peer: a message that one side cannot read as the other wrote it.
    #[error("a message cannot be read: {0}")]
    Message(#[from] serde_json::Error),
}

impl Error {
    /// The transport's error in what a call of rmcp's came to, if it is one.
    ///
    /// ```
    /// use mcp_sse_tokio::rmcp::Error;
    /// use rmcp::ServiceError;
    ///
    /// fn may_be_made_again(error: &ServiceError) -> bool {
    ///     matches!(Error::in_call(error), Some(Error::Call(call)) if !call.may_have_run())
    /// }
    /// # assert!(!may_be_made_again(&ServiceError::TransportClosed));
    /// ```
    #[must_use]
    pub fn in_call(error: &ServiceError) -> Option<&Self> {
        find(error)
    }

    /// The transport's error in why rmcp's client did not begin, if it is one.
    #[must_use]
    pub fn in_startup(error: &ClientInitializeError) -> Option<&Self> {
        match error {
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => Self::in_startup(fallback),
            ClientInitializeError::TransportError { error, .. } => find(error),
            error => find(error),
        }
    }
}

fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Error> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        current = error.source();
    }
    None
}
