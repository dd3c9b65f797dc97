//! The 2024-11-05 channel: whose a message on it is, and what its loss means (H3 to H5).
//!
//! Rules: a waiter is known before its POST is handed out, so an answer can never come too early; answers are matched
//! by equal ids only, since the channel belongs to all; every waiter ends, by answer, loss or deadline.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Client;
use super::call::{Call, Kind, Phase};
use super::origin::{Part, Standing};
use super::outcome::{CallEvent, CallId, Done, Outcome};
use crate::exchange::{Answer, AnswerInfo, BreakKind, Cause, FailureKind, IdMatch};
use crate::http::Era;
use crate::jsonrpc::{self, Id, Message, MessageKind};
use crate::legacy::Reconnect;
use crate::time::Timestamp;

/// How many things wait to be told to one caller at most; what the channel brings beyond it is dropped, for one slow
/// caller must not stop the others (an answer is never dropped).
pub(super) const MAX_QUEUED: usize = 1024;

impl Client {
    /// A notification on the channel: to the call whose progress it reports, else to all who listen.
    pub(super) fn on_channel_notification(&mut self, message: Message) {
        self.channel_has_spoken();
        let token = message
            .params()
            .and_then(|params| jsonrpc::object_member(params, "progressToken"))
            .and_then(Id::parse)
            .filter(|_| message.method() == Some("notifications/progress"));
        self.tell_on_channel(
            |call| match &token {
                Some(token) => call.outgoing.progress_token.as_ref() == Some(token),
                None => call.kind == Kind::Listen,
            },
            |attempt| CallEvent::Notification { attempt, message: message.clone() },
        );
    }

    /// E14: an event on the channel was too large; whose it was, nobody can know, so all who wait are told.
    pub(super) fn on_channel_oversized(&mut self, limit: u64) {
        self.channel_has_spoken();
        let waits =
            |call: &Call| call.era() == Some(Era::HttpSse) && matches!(call.phase, Phase::Running | Phase::Awaiting);
        self.tell_on_channel(waits, |attempt| CallEvent::Oversized { attempt, limit });
    }

    /// Tells those who are meant, as long as they take what they are told.
    fn tell_on_channel(&mut self, is_meant: impl Fn(&Call) -> bool, event: impl Fn(u32) -> CallEvent) {
        let meant = self.calls.iter_mut().filter(|(_, call)| call.era() != Some(Era::Modern) && is_meant(call));
        let mut told = Vec::new();
        for (id, call) in meant {
            if call.queued < MAX_QUEUED {
                call.queued += 1;
                told.push((*id, call.attempts.max(1)));
            }
        }
        for (id, attempt) in told {
            self.tell(id, event(attempt));
        }
    }

    /// A result or error on the channel: the answer to the call that waits under its id.
    pub(super) fn on_response(&mut self, message: Message, now: Timestamp) {
        self.channel_has_spoken();
        // H4: an error without an id concerns the connection, and an id that nobody waits under is a stray.
        let theirs = message.id();
        let waiter = self.calls.iter().find(|(_, call)| {
            call.era() == Some(Era::HttpSse)
                && matches!(call.phase, Phase::Running | Phase::Awaiting)
                && call.answered.is_none()
                && call.id.is_some()
                && call.id.as_ref() == theirs
        });
        let Some(id) = waiter.map(|(id, _)| *id) else {
            let (id, bytes) = (message.id().cloned(), message.as_json().len());
            return self.tell_on_channel(
                |call| call.kind == Kind::Listen,
                |attempt| CallEvent::Stray { attempt, id: id.clone(), bytes },
            );
        };
        let Some(channel) = self.origin.channel_mut() else {
            return;
        };
        let head = channel.head.clone();
        let info = AnswerInfo {
            status: head.status(),
            id_match: IdMatch::Exact,
            is_error: message.kind() == MessageKind::Error,
            arrived: now,
            proves_modern: false,
        };
        let answer = Box::new(Answer { message, info, head, damage: None });
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        call.answered = Some(info);
        let (attempt, phase, done) = (call.attempts, call.phase, call.settled(info));
        if call.kind == Kind::Initialize {
            self.on_initialize_answer(id, &answer, now);
        } else {
            self.hand_out(id, attempt, answer);
        }
        if phase == Phase::Awaiting {
            self.end(id, done, now);
        }
    }

    fn channel_has_spoken(&mut self) {
        if let Some(channel) = self.origin.channel_mut() {
            channel.has_spoken = true;
            self.origin.barren_channels = 0;
        }
    }

    /// H5: the channel is lost, and with it all that waits for an answer on it.
    pub(super) fn on_channel_ended(&mut self, id: CallId, done: &Done, now: Timestamp) {
        let is_opening = self.origin.opening.is_some_and(|opening| opening.part == Part::Channel && opening.call == id);
        let is_ours = matches!(&self.origin.standing, Standing::HttpSse(Some(channel)) if channel.call == id);
        let kind = match &done.outcome {
            Outcome::Failed(failure) => failure.kind.clone(),
            _ => FailureKind::Cancelled,
        };
        let cause = match &kind {
            FailureKind::Lost { cause, .. } => *cause,
            FailureKind::Unsent { cause } => Cause::Broken(*cause),
            _ => Cause::Broken(BreakKind::Closed),
        };
        if is_opening || is_ours {
            let wait = Reconnect::CHANNEL.wait(self.origin.barren_channels, self.config.seed);
            self.origin.barren_channels = self.origin.barren_channels.saturating_add(1);
            self.origin.channel_from = Some(now.saturating_add(wait));
        }
        if is_ours {
            self.origin.standing = Standing::HttpSse(None);
        }
        if is_ours || is_opening {
            self.lose_waiters(cause, false, now);
            if self.origin.opening.is_some() {
                self.fail_opening(&kind, now);
            }
        }
    }

    /// Whoever waits for the channel has lost what it waits for. `is_closed`: by our own will, so that nobody opens
    /// another for the sake of listening.
    pub(super) fn lose_waiters(&mut self, cause: Cause, is_closed: bool, now: Timestamp) {
        let waiters = self.calls.iter().filter(|(_, call)| {
            call.era() == Some(Era::HttpSse) && call.kind.expects_answer() && call.kind != Kind::Listen
        });
        for id in waiters.map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(call) = self.calls.get_mut(&id) else {
                continue;
            };
            match call.phase {
                Phase::Awaiting => {
                    let done = match call.answered {
                        Some(info) => call.settled(info),
                        None => call.give_up(FailureKind::Lost { cause, replacement: None }),
                    };
                    self.end(id, done, now);
                }
                Phase::Running if call.answered.is_none() => {
                    call.lost_channel = Some(cause);
                    self.give_up(id, now);
                }
                _ => {}
            }
        }
        // Who listens goes on with the next channel, as often as that may fail.
        let listening =
            self.calls.iter().filter(|(_, call)| call.kind == Kind::Listen && call.phase == Phase::Awaiting);
        for id in listening.map(|(id, _)| *id).collect::<Vec<_>>() {
            if is_closed || self.origin.barren_channels >= self.config.max_barren_openings {
                if let Some(call) = self.calls.get(&id) {
                    let done = call.give_up(FailureKind::Lost { cause, replacement: None });
                    self.end(id, done, now);
                }
            } else {
                self.park(id, Phase::Waiting(self.origin.channel_from.unwrap_or(now)));
                self.wake(id);
            }
        }
    }
}
