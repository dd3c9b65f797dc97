//! Handshakes: how it is found out what a server speaks (F6), and how a session or a channel is begun.
//!
//! Rules: one handshake at a time, and every call that needs it waits for it; each part of it is a call of its own,
//! driven in the background. What it finds is kept in `origin`; if it fails, those who waited fail with its reason, and
//! the next call begins anew.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::call::{Kind, Phase};
use super::http_request::{INITIALIZE, Outgoing, json_string};
use super::origin::{Opening, Origin, Part, Session, Standing};
use super::outcome::{CallId, Done, Outcome, Step};
use super::policy::CallOptions;
use super::{Client, ExchangeId, versions};
use crate::exchange::{Answer, BreakKind, Cause, Failure, FailureKind, HandshakeProblem};
use crate::http::{Era, ProtocolVersion};
use crate::time::Timestamp;

const INITIALIZED: &str = "notifications/initialized";
const DISCOVER: &str = "server/discover";

impl Client {
    /// Begins a part of a handshake; `owner` is the call whose driver sets the new one going.
    pub(super) fn begin_part(&mut self, part: Part, owner: CallId, now: Timestamp) {
        self.origin.listening_until = None;
        let options = CallOptions::default().with_timeout(self.config.handshake_timeout);
        let begun = match part {
            Part::Probe => self.begin(Kind::Probe, DISCOVER, None, options, now),
            Part::Initialize => {
                let params = format!(
                    r#"{{"protocolVersion":{},"capabilities":{},"clientInfo":{}}}"#,
                    json_string(self.origin.offer.as_str()),
                    self.config.capabilities,
                    self.config.client_info,
                );
                self.origin.generation += 1;
                self.begin(Kind::Initialize, INITIALIZE, Some(&params), options, now)
            }
            Part::Initialized => self.begin(Kind::Initialized, INITIALIZED, None, options, now),
            Part::Channel => {
                self.origin.generation += 1;
                Ok(self.enqueue(Kind::Channel, Outgoing::bare(Cow::Borrowed("")), options, now))
            }
            Part::Listening => return self.listen_for_requests(owner, now),
        };
        match begun {
            Ok(call) => {
                self.origin.opening = Some(Opening { part, call });
                self.push(owner, Step::Background(owner, call));
            }
            // No id is left, so no call will ever be made again.
            Err(_) => self.fail_blocked(&FailureKind::Cancelled, now),
        }
    }

    /// F6: the next rung of the ladder after a modern request was refused.
    pub(super) fn climb(&mut self, part: Part, owner: CallId, now: Timestamp) {
        let is_probe = self.calls.get(&owner).is_some_and(|call| call.kind == Kind::Probe);
        self.begin_part(part, owner, now);
        if is_probe {
            // Its answer was what it was for.
            if let Some(call) = self.calls.get(&owner) {
                let done = call.give_up(FailureKind::Cancelled);
                self.end(owner, done, now);
            }
        }
    }

    /// The answer to `initialize`, from the response to it or from the channel.
    pub(super) fn on_initialize_answer(&mut self, id: CallId, answer: &Answer, now: Timestamp) {
        if self.origin.opening != Some(Opening { part: Part::Initialize, call: id }) {
            return;
        }
        if matches!(self.origin.standing, Standing::Modern(_)) {
            // Another request has found out more meanwhile; seen when it ends.
            return;
        }
        let Some(result) = answer.message.result() else {
            if matches!(answer.info.status, 401 | 403) {
                // Whoever has credentials to give is told so, whatever the body says of it.
                return self.fail_opening(&FailureKind::status(answer.head.clone()), now);
            }
            self.refusal = answer.message.error().map(|error| error.code);
            // A refusal. Its status may lead on; that is seen when the exchange ends.
            return;
        };
        let theirs = versions::negotiated(result);
        let Some(version) = theirs.filter(|version| Origin::allowed(self.config.protocol, *version)) else {
            let problem = HandshakeProblem::Version { theirs };
            return self.fail_opening(&FailureKind::Handshake { problem: Box::new(problem) }, now);
        };
        if version.era() == Era::Modern {
            // It has no sessions, so it cannot be what a handshake comes to.
            let problem = HandshakeProblem::Version { theirs };
            return self.fail_opening(&FailureKind::Handshake { problem: Box::new(problem) }, now);
        }
        self.origin.initialize_result = Some(result.to_owned());
        if matches!(self.origin.standing, Standing::HttpSse(_)) {
            self.origin.offer = version;
        } else {
            // If its stream was resumed, the head that named the session was an earlier one.
            let earlier = self.calls.get(&id).and_then(|call| call.route.as_ref()?.session_id.clone());
            let session_id = answer.head.session_id().map(ToOwned::to_owned).or(earlier);
            self.origin.standing = Standing::Legacy(Some(Session { id: session_id, version }));
        }
        self.begin_part(Part::Initialized, id, now);
    }

    /// A part of the handshake has ended, one way or the other.
    pub(super) fn on_part_ended(&mut self, id: CallId, done: &Done, now: Timestamp) {
        let Some(opening) = self.origin.opening.filter(|opening| opening.call == id) else {
            return;
        };
        match (opening.part, &done.outcome) {
            // What another request has found out meanwhile holds, whatever this one came to.
            (Part::Probe | Part::Initialize, _) if matches!(self.origin.standing, Standing::Modern(_)) => {
                self.opened(now);
            }
            (Part::Probe, _) if !matches!(self.origin.standing, Standing::Unknown) => self.opened(now),
            // The server was told; what it says of that is no reason to stop, for the next request will show.
            (Part::Initialized, _) => self.listen_for_requests(id, now),
            // Nor is a server that has no such stream.
            (Part::Listening, _) => self.opened(now),
            (Part::Probe, Outcome::Settled(_) | Outcome::Salvaged { .. }) => {
                // Only an error under 2xx comes here: it knows no such method, so it is of an earlier era.
                self.origin.standing = Standing::Legacy(None);
                self.opened(now);
            }
            (Part::Initialize, Outcome::Settled(info) | Outcome::Salvaged { answer: info, .. }) => {
                if self.falls_back(info.status) {
                    return self.begin_part(Part::Channel, id, now);
                }
                let problem = Box::new(HandshakeProblem::Refused { code: self.refusal.take().unwrap_or_default() });
                self.fail_opening(&FailureKind::Handshake { problem }, now);
            }
            (Part::Initialize, Outcome::Failed(Failure { kind: FailureKind::Status(status), .. }))
                if self.falls_back(status.status()) =>
            {
                self.begin_part(Part::Channel, id, now);
            }
            (_, Outcome::Failed(failure)) => self.fail_opening(&failure.kind, now),
            _ => self.fail_opening(&FailureKind::Cancelled, now),
        }
    }

    /// F6: these show a server of 2024-11-05, if it is to be found out what it is.
    const fn falls_back(&self, status: u16) -> bool {
        matches!(self.origin.standing, Standing::Unknown) && matches!(status, 400 | 404 | 405)
    }

    /// H1: the first event of the channel says where to post.
    pub(super) fn on_endpoint(&mut self, id: CallId, exchange: ExchangeId, reference: &str, now: Timestamp) {
        let opening = Opening { part: Part::Channel, call: id };
        if self.origin.opening != Some(opening) {
            return;
        }
        let Some(running) = self.exchanges.get(exchange) else {
            return;
        };
        let stream = running.endpoint.clone();
        let head = running.exchange.as_ref().and_then(|exchange| exchange.head().cloned());
        let allows_foreign = self.config.allows_foreign_endpoint;
        let endpoint = match stream.resolve(reference) {
            None => Err(HandshakeProblem::Endpoint),
            Some(endpoint) if !allows_foreign && !endpoint.has_origin_of(&stream) => {
                Err(HandshakeProblem::ForeignEndpoint)
            }
            Some(endpoint) => Ok(endpoint),
        };
        match endpoint {
            Ok(endpoint) => {
                let head = head.unwrap_or_else(|| crate::http::ResponseHead::new(200));
                let channel = super::origin::Channel { call: id, endpoint, head, has_spoken: false };
                if matches!(self.origin.standing, Standing::Unknown) {
                    // The last rung of the ladder (F6): no later revision has such a channel.
                    self.origin.offer = ProtocolVersion::V2024_11_05;
                }
                self.origin.standing = Standing::HttpSse(Some(Box::new(channel)));
                // H5: it is there; only its loss ends it.
                if let Some(call) = self.calls.get_mut(&id) {
                    call.deadline = None;
                }
                if self.config.handshake {
                    self.begin_part(Part::Initialize, id, now);
                } else {
                    self.opened(now);
                }
            }
            Err(problem) => {
                self.fail_opening(&FailureKind::Handshake { problem: Box::new(problem) }, now);
                self.give_up(id, now);
            }
        }
    }

    /// The handshake is done: who waited for it goes on.
    pub(super) fn opened(&mut self, now: Timestamp) {
        self.origin.opening = None;
        self.origin.listening_until = None;
        for id in self.blocked() {
            self.park(id, Phase::Waiting(now));
            self.wake(id);
        }
    }

    /// The handshake came to nothing.
    pub(super) fn fail_opening(&mut self, kind: &FailureKind, now: Timestamp) {
        self.origin.opening = None;
        self.origin.listening_until = None;
        // A session stands only behind a handshake that has not failed.
        if let Standing::HttpSse(channel) = &mut self.origin.standing {
            if let Some(channel) = channel.take() {
                self.give_up(channel.call, now);
            }
        }
        self.fail_blocked(kind, now);
    }

    /// Those who waited fail, with the handshake's reason; they themselves were not sent.
    fn fail_blocked(&mut self, kind: &FailureKind, now: Timestamp) {
        let kind = match kind {
            FailureKind::Unsent { .. }
            | FailureKind::Status(_)
            | FailureKind::Handshake { .. }
            | FailureKind::UnsupportedVersion { .. } => kind.clone(),
            kind => FailureKind::Handshake { problem: Box::new(HandshakeProblem::Failed(kind.clone())) },
        };
        for id in self.blocked() {
            if let Some(call) = self.calls.get(&id) {
                let done = call.give_up(kind.clone());
                self.end(id, done, now);
            }
        }
    }

    fn blocked(&self) -> Vec<CallId> {
        self.calls.iter().filter(|(_, call)| call.phase == Phase::Blocked).map(|(id, _)| *id).collect()
    }

    /// Ends the session or the channel.
    pub(super) fn close_origin(&mut self, now: Timestamp) -> Option<CallId> {
        let route = self.origin.route(Kind::Deletion, &self.endpoint);
        self.end_followers(now);
        self.stop_listening(now);
        match &mut self.origin.standing {
            Standing::Legacy(session) => {
                session.take()?.id?;
                let options = CallOptions::default().with_timeout(self.config.cancel_timeout);
                let deletion = self.enqueue(Kind::Deletion, Outgoing::bare(Cow::Borrowed("")), options, now);
                if let Some(call) = self.calls.get_mut(&deletion) {
                    call.route = Some(route);
                }
                Some(deletion)
            }
            Standing::HttpSse(channel) => {
                if let Some(channel) = channel.take() {
                    self.give_up(channel.call, now);
                    self.lose_waiters(Cause::Broken(BreakKind::Closed), true, now);
                }
                self.abandon_channel_opening(now);
                None
            }
            _ => {
                self.abandon_channel_opening(now);
                None
            }
        }
    }

    /// A channel that is wanted no more before it is there; the next one need not wait for that (H5).
    fn abandon_channel_opening(&mut self, now: Timestamp) {
        if let Some(opening) = self.origin.opening.filter(|opening| opening.part == Part::Channel) {
            self.give_up(opening.call, now);
        }
        self.origin.barren_channels = 0;
        self.origin.channel_from = None;
    }
}
