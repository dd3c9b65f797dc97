//! The listening stream of a session (2025-03-26 to 2025-11-25): who reads it, and for whom (F12, F15).
//!
//! Rules: a session has one, since servers refuse a second; whoever listens first reads it, and others follow what that
//! call is told. With requests to handle the client reads it by itself, from before the session's first call. Subscriptions
//! of 2026-07-28 are each a stream of their own and do not belong here, nor does the channel of 2024-11-05.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::Client;
use super::call::{Call, Kind, Phase};
use super::channel::MAX_QUEUED;
use super::http_request::Outgoing;
use super::origin::{Opening, Part, Route, Standing};
use super::outcome::{CallEvent, CallId, Done, Outcome, Step};
use super::policy::CallOptions;
use crate::exchange::FailureKind;
use crate::http::Era;
use crate::jsonrpc::Message;
use crate::time::Timestamp;

impl Client {
    /// F15: a server sends its requests on the stream of a call, or on the one that belongs to none; a client that
    /// handles any reads that one too. It is opened before the first call: a server may ask at once, and what it asks
    /// while nobody listens is gone.
    pub(super) fn listen_for_requests(&mut self, owner: CallId, now: Timestamp) {
        self.stop_listening(now);
        let has_session = matches!(self.origin.standing, Standing::Legacy(Some(_)));
        if !has_session || self.config.handled_requests.is_empty() {
            return self.opened(now);
        }
        let options = CallOptions::default().with_timeout(None);
        let call = self.enqueue(Kind::Requests, Outgoing::bare(Cow::Borrowed("")), options, now);
        self.origin.listening = Some(call);
        self.origin.opening = Some(Opening { part: Part::Listening, call });
        self.origin.listening_until = Some(now.saturating_add(self.config.listening_timeout));
        self.push(owner, Step::Background(owner, call));
    }

    /// The listening stream of a session is open, or will not be soon: calls need not wait for it any more.
    pub(super) fn on_listening(&mut self, id: CallId, now: Timestamp) {
        if self.origin.opening == Some(Opening { part: Part::Listening, call: id }) {
            self.opened(now);
        }
    }

    /// Whether calls have waited long enough for the listening stream to open. If so, they wait no more.
    pub(super) fn waits_no_more(&mut self, now: Timestamp) -> bool {
        let is_over = self.origin.listening_until.is_some_and(|until| now >= until);
        if is_over {
            self.opened(now);
        }
        is_over
    }

    /// The session is over, and with it what the client reads of it by itself. A caller's stream ends by its own means.
    pub(super) fn stop_listening(&mut self, now: Timestamp) {
        let Some(listening) = self.origin.listening else {
            return;
        };
        if self.calls.get(&listening).is_some_and(|call| call.kind == Kind::Requests) {
            self.give_up(listening, now);
        }
        self.origin.listening = None;
        for id in self.followers() {
            self.lead_or_follow(id, now);
        }
    }

    /// Whether another call reads the stream that this one asks for. If not, this one does from now on.
    pub(super) fn follows(&mut self, id: CallId) -> bool {
        let leader = self.origin.listening.filter(|leader| *leader != id && self.calls.contains_key(leader));
        if leader.is_none() {
            self.origin.listening = Some(id);
        }
        leader.is_some()
    }

    /// Lets a call be told what comes on the stream that another one reads.
    pub(super) fn follow(&mut self, id: CallId, route: Route) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.route = Some(route);
            call.id = None;
        }
        self.park(id, Phase::Awaiting);
    }

    fn lead_or_follow(&mut self, id: CallId, now: Timestamp) {
        self.park(id, Phase::Waiting(now));
        self.wake(id);
    }

    fn followers(&self) -> Vec<CallId> {
        let follows =
            |call: &Call| call.kind == Kind::Listen && call.phase == Phase::Awaiting && call.era() == Some(Era::Legacy);
        self.calls.iter().filter(|(_, call)| follows(call)).map(|(id, _)| *id).collect()
    }

    /// A notification came on the stream that this call reads.
    pub(super) fn tell_followers(&mut self, leader: CallId, message: &Message) {
        if self.origin.listening != Some(leader) {
            return;
        }
        for id in self.followers() {
            let Some(call) = self.calls.get_mut(&id).filter(|call| call.queued < MAX_QUEUED) else {
                continue;
            };
            call.queued += 1;
            let attempt = call.attempts.max(1);
            self.tell(id, CallEvent::Notification { attempt, message: message.clone() });
        }
    }

    /// The call that read the stream has ended. What the server has ended or refused is over for all; if only that call
    /// is, the next one reads.
    pub(super) fn on_listening_ended(&mut self, leader: CallId, done: &Done, now: Timestamp) {
        if self.origin.listening != Some(leader) {
            return;
        }
        self.origin.listening = None;
        for id in self.followers() {
            let Some(call) = self.calls.get(&id) else {
                continue;
            };
            let end = match &done.outcome {
                Outcome::ListeningEnded { status: Some(status) } => Some(call.listening_ended(Some(*status))),
                Outcome::Failed(failure) if !is_the_calls_own(&failure.kind) => {
                    Some(call.give_up(failure.kind.clone()))
                }
                _ => None,
            };
            match end {
                Some(done) => self.end(id, done, now),
                None => self.lead_or_follow(id, now),
            }
        }
    }

    /// The session is closed by our own will: nobody opens another for the sake of listening.
    pub(super) fn end_followers(&mut self, now: Timestamp) {
        for id in self.followers() {
            if let Some(call) = self.calls.get(&id) {
                let done = call.listening_ended(None);
                self.end(id, done, now);
            }
        }
    }
}

/// Whether only the call that failed so is concerned.
const fn is_the_calls_own(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::Cancelled | FailureKind::Timeout { .. } | FailureKind::SessionExpired)
}
