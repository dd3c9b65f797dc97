//! One call: attempts until one outcome. Every rule on what follows a verdict is here (F1, F2, F13, F14, E18);
//! whether a cancel is told to the server (E11, F9) is the client's affair, since that is a call of its own.
//!
//! Rules: a call knows its own attempts and nothing of other calls; what calls share is given to it. Steps
//! are the client's affair: here is only decided.

use super::config::ClientConfig;
use super::endpoint::Endpoint;
use super::http_request::Outgoing;
use super::outcome::{Done, Outcome};
use super::policy::{CallOptions, ReissuePolicy};
use crate::exchange::{Cause, Exchange, Exposure, Failure, FailureKind, Verdict};
use crate::http::ResponseHead;
use crate::jsonrpc::Id;
use crate::time::Timestamp;

/// How many redirects are followed for one request (E18).
const MAX_REDIRECTS: u32 = 3;

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The next attempt starts at this moment.
    Waiting(Timestamp),
    /// An exchange is under way.
    Running,
}

/// What a verdict leads to.
pub(super) enum Next {
    /// Another attempt, not before this moment.
    Reissue { cause: Cause, exposure: Exposure, at: Timestamp },
    /// The same request, under the same id, to another place.
    Redirect(Endpoint),
    /// The end.
    Done(Done),
}

/// One call.
pub(super) struct Call {
    pub(super) outgoing: Outgoing,
    pub(super) options: CallOptions,
    pub(super) deadline: Option<Timestamp>,
    pub(super) phase: Phase,
    /// Whether an answer is due: a request, not a notification.
    pub(super) expects_answer: bool,
    /// Whether its caller waits for the end of the exchange, and not only for the answer.
    pub(super) reads_to_end: bool,
    /// The id of the attempt under way, or of the last one.
    pub(super) id: Option<Id>,
    /// Attempts made, the one under way included.
    pub(super) attempts: u32,
    /// How far the requests that have ended got, at most: those of lost attempts, and those redirected.
    reached: Exposure,
    /// How far the attempts before the last one got, at most.
    earlier: Exposure,
    /// How the first attempt that got furthest was lost.
    lost: Option<Cause>,
    reissues: u32,
    redirects: u32,
}

impl Call {
    pub(super) fn new(outgoing: Outgoing, expects_answer: bool, options: CallOptions, now: Timestamp) -> Self {
        Self {
            outgoing,
            deadline: options.timeout.map(|timeout| now.saturating_add(timeout)),
            options,
            phase: Phase::Waiting(now),
            expects_answer,
            reads_to_end: false,
            id: None,
            attempts: 0,
            reached: Exposure::Unsent,
            earlier: Exposure::Unsent,
            lost: None,
            reissues: 0,
            redirects: 0,
        }
    }

    /// Another attempt is made.
    pub(super) fn begin_attempt(&mut self) {
        self.attempts += 1;
        self.phase = Phase::Running;
        self.earlier = self.reached;
    }

    /// What the verdict of an attempt leads to. `exchange` is the one that came to it.
    pub(super) fn conclude(
        &mut self,
        verdict: Verdict,
        exchange: Option<&Exchange>,
        endpoint: &Endpoint,
        config: &ClientConfig,
        now: Timestamp,
    ) -> Next {
        let outcome = match verdict {
            Verdict::Settled(answer) => Outcome::Settled(answer),
            Verdict::Salvaged { answer, damage } => Outcome::Salvaged { answer, damage },
            Verdict::Accepted { status } => Outcome::Accepted { status },
            Verdict::Redirect { location } => {
                let target = (self.redirects < MAX_REDIRECTS).then(|| endpoint.join_same_origin(&location)).flatten();
                if let Some(target) = target {
                    self.redirects += 1;
                    self.reach(Exposure::Headed);
                    return Next::Redirect(target);
                }
                Outcome::Failed(redirect_refused(exchange.and_then(Exchange::head)))
            }
            Verdict::Reissue { cause, exposure } => {
                if let Some(at) = self.reissue_at(exchange, config, now) {
                    self.reissues += 1;
                    self.redirects = 0;
                    self.lose(cause, exposure);
                    return Next::Reissue { cause, exposure, at };
                }
                Outcome::Failed(Failure::new(FailureKind::Lost { cause, replacement: None }, exposure))
            }
            // Resuming needs the session that an era of its own keeps; without one, the stream is lost (E7).
            Verdict::Resume { cause, .. } => {
                Outcome::Failed(Failure::new(FailureKind::Lost { cause, replacement: None }, Exposure::Streaming))
            }
            Verdict::Failed(failure) => Outcome::Failed(failure),
        };
        Next::Done(self.done(outcome))
    }

    /// The end of a call that has no exchange under way.
    pub(super) fn give_up(&self, kind: FailureKind) -> Done {
        self.done(Outcome::Failed(Failure::new(kind, Exposure::Unsent)))
    }

    /// Whether an attempt before the one under way may have run (F14).
    pub(super) const fn earlier_may_have_run(&self) -> bool {
        self.earlier.may_have_run()
    }

    /// The request got this far, as far as anybody can know.
    pub(super) fn reach(&mut self, exposure: Exposure) {
        self.reached = self.reached.max(exposure);
    }

    /// F1, F13, F14: whether a lost request is sent again, and when.
    fn reissue_at(&self, exchange: Option<&Exchange>, config: &ClientConfig, now: Timestamp) -> Option<Timestamp> {
        let method = self.outgoing.method.as_str();
        let allowed = match self.options.reissue {
            ReissuePolicy::Always => true,
            ReissuePolicy::ReplaySafe => {
                self.options.replay_safe
                    || config.replay_safe_methods.contains(method)
                    || (self.options.hinted_idempotent && config.trusts_server_hints)
            }
            ReissuePolicy::Never => false,
        };
        if !allowed || self.reissues >= self.options.max_reissues || config.never_reissued_methods.contains(method) {
            return None;
        }
        let wanted = now.saturating_add(self.options.backoff.wait(self.reissues + 1));
        let at = exchange.and_then(asked_to_wait_until).map_or(wanted, |floor| wanted.max(floor));
        // A replacement that cannot be sent before the deadline is none.
        (self.deadline.is_none_or(|deadline| at < deadline)).then_some(at)
    }

    /// Remembers a lost attempt before another one is made.
    fn lose(&mut self, cause: Cause, exposure: Exposure) {
        if self.lost.is_none() || exposure > self.reached {
            self.lost = Some(cause);
        }
        self.reach(exposure);
    }

    /// F2: once any attempt got as far as `Sent`, the call never ends unsent.
    fn done(&self, outcome: Outcome) -> Done {
        let outcome = match outcome {
            Outcome::Failed(mut failure) => {
                if let (true, FailureKind::Unsent { cause: why }) = (self.reached.may_have_run(), &failure.kind) {
                    failure.kind = match self.lost {
                        Some(cause) => FailureKind::Lost { cause, replacement: Some(*why) },
                        // The request was redirected, and the place it was sent on to was not reached.
                        None => FailureKind::Lost { cause: Cause::Broken(*why), replacement: None },
                    };
                }
                failure.exposure = failure.exposure.max(self.reached);
                Outcome::Failed(failure)
            }
            outcome => outcome,
        };
        let exposure = match &outcome {
            Outcome::Failed(failure) => failure.exposure,
            Outcome::Accepted { .. } => Exposure::Headed.max(self.reached),
            _ => Exposure::Streaming,
        };
        Done { outcome, attempts: self.attempts, exposure, earlier_may_have_run: self.earlier_may_have_run() }
    }
}

/// F13: until when the response's head asks to wait, counted from its arrival.
fn asked_to_wait_until(exchange: &Exchange) -> Option<Timestamp> {
    let delay = exchange.head()?.retry_after()?.delay()?;
    Some(exchange.head_arrived()?.saturating_add(delay))
}

/// E18: a redirect that leads elsewhere, or on and on, is a failure like any other status.
fn redirect_refused(head: Option<&ResponseHead>) -> Failure {
    let head = head.cloned().unwrap_or_else(|| ResponseHead::new(0));
    Failure::new(FailureKind::status(head), Exposure::Headed)
}
