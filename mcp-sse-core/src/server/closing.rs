//! The end of a server (S10): nothing new, what is open ends as it should, and that within a bound.
//!
//! Rules: requests under way may be answered until the bound; subscriptions and listening streams end at once, gracefully;
//! a channel ends with its last answer. What is left at the bound is cancelled and cut.

use alloc::vec::Vec;

use super::output::CancelReason;
use super::refusal::Refusal;
use super::session::Carriage;
use super::timers::Timer;
use super::{CallId, ExchangeId, Server, SessionKey, StreamId};
use crate::time::Timestamp;

pub(super) fn refusal() -> Refusal {
    Refusal::unavailable("The server is shutting down")
}

impl Server {
    /// Takes no new requests, and ends what is open within [`shutdown_timeout`](super::ServerLimits::shutdown_timeout).
    /// Go on as before until [`is_shut_down`](Self::is_shut_down).
    pub fn shut_down(&mut self, now: Timestamp) {
        if self.is_closing {
            return;
        }
        self.is_closing = true;
        self.timers.set(Timer::Shutdown, now.saturating_add(self.config.limits.shutdown_timeout));
        let subscriptions: Vec<CallId> = self.subscriptions.keys().copied().collect();
        for subscription in subscriptions {
            self.end_subscription(subscription, now);
        }
        let mut idle: Vec<StreamId> = Vec::new();
        for session in self.sessions.values() {
            match session.carriage {
                Carriage::Channel(stream) if session.calls.is_empty() => idle.push(stream),
                Carriage::Channel(_) => {}
                Carriage::Header => idle.extend(session.listening),
            }
        }
        for stream in idle {
            self.finish(stream, now);
        }
    }

    /// Whether shutting down was asked for, and every exchange has ended.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.is_closing && self.exchanges.is_empty()
    }

    /// The bound has been reached.
    pub(super) fn cut_all(&mut self, now: Timestamp) {
        let calls: Vec<CallId> = self.calls.keys().copied().collect();
        for call in calls {
            self.cancel_call(call, CancelReason::Shutdown, now);
        }
        let sessions: Vec<SessionKey> = self.sessions.keys().copied().collect();
        for session in sessions {
            self.end_session(session, now);
        }
        let exchanges: Vec<ExchangeId> = self.exchanges.keys().copied().collect();
        for exchange in exchanges {
            self.abandon(exchange);
        }
        let streams: Vec<StreamId> = self.streams.keys().copied().collect();
        for stream in streams {
            self.forget_stream(stream);
        }
    }
}
