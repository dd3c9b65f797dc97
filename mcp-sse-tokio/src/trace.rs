//! Spans and events for `tracing`, or nothing at all without the feature.
//!
//! Facts reported: none. Steps carried out: none. Numbers, sizes and kinds are told, in the core's words; no payload, no
//! header, no URL.

use std::fmt::Display;

use mcp_sse_core::client::{CallId, ExchangeId};

/// The span of a call or of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody listens"))]
impl Trace {
    pub(crate) fn call(call: CallId) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            span: tracing::debug_span!("call", %call),
        }
    }

    pub(crate) fn attempt(&self, exchange: ExchangeId, body_bytes: usize) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            span: tracing::debug_span!(parent: &self.span, "attempt", %exchange, body_bytes),
        }
    }

    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        return self.span.in_scope(work);
        #[cfg(not(feature = "tracing"))]
        work()
    }

    pub(crate) fn tell(&self, what: &impl Display) {
        #[cfg(feature = "tracing")]
        tracing::debug!(parent: &self.span, "{what}");
    }
}
