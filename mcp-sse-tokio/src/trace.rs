//! Spans and events for `tracing`, or nothing at all without the feature.
//!
//! Facts reported: none. Steps carried out: none. Numbers, sizes and kinds are told; no payload, no header, no
//! URL.

use mcp_sse_core::client::{CallEvent, CallId, Done, ExchangeId};

/// The span of a call or of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

#[cfg(feature = "tracing")]
impl Trace {
    pub(crate) fn call(call: CallId) -> Self {
        Self { span: tracing::debug_span!("call", %call) }
    }

    pub(crate) fn attempt(&self, exchange: ExchangeId, body_bytes: usize) -> Self {
        Self { span: tracing::debug_span!(parent: &self.span, "attempt", %exchange, body_bytes) }
    }

    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        self.span.in_scope(work)
    }

    pub(crate) fn event(&self, event: &CallEvent) {
        let parent = &self.span;
        match event {
            CallEvent::Answer { attempt, answer, damage, .. } => {
                let (status, bytes) = (answer.info.status, answer.message.as_json().len());
                tracing::debug!(parent: parent, attempt, status, bytes, is_damaged = damage.is_some(), "answer");
            }
            CallEvent::Reissue { attempt, cause, exposure, .. } => {
                tracing::info!(parent: parent, attempt, %cause, %exposure, "lost; sent again");
            }
            CallEvent::Notification { attempt, message, .. } => {
                tracing::trace!(parent: parent, attempt, bytes = message.as_json().len(), "notification");
            }
            CallEvent::Request { attempt, message, is_violation, .. } => {
                tracing::debug!(parent: parent, attempt, bytes = message.as_json().len(), is_violation, "request");
            }
            CallEvent::Stray { attempt, bytes, .. } => tracing::debug!(parent: parent, attempt, bytes, "stray"),
            CallEvent::Oversized { attempt, limit, .. } => {
                tracing::warn!(parent: parent, attempt, limit, "event too large");
            }
            _ => {}
        }
    }

    pub(crate) fn done(&self, done: &Done) {
        use mcp_sse_core::client::Outcome;

        let verdict = match &done.outcome {
            Outcome::Settled(_) => "settled",
            Outcome::Salvaged { .. } => "salvaged",
            Outcome::Accepted { .. } => "accepted",
            Outcome::Failed(failure) => failure.kind.as_str(),
            _ => "other",
        };
        let Done { attempts, exposure, earlier_may_have_run, .. } = done;
        tracing::debug!(parent: &self.span, verdict, attempts, %exposure, earlier_may_have_run, "done");
    }
}

#[cfg(not(feature = "tracing"))]
impl Trace {
    pub(crate) const fn call(_: CallId) -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn attempt(&self, _: ExchangeId, _: usize) -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(crate) const fn event(&self, _: &CallEvent) {}

    pub(crate) const fn done(&self, _: &Done) {}
}
