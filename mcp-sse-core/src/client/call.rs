//! One call: attempts until one outcome. Every rule on what follows a verdict is here (F1, F2, F11 to F14, E18);
//! whether a cancel is told to the server (E11, F9) is the client's affair, since that is a call of its own, and so
//! is what an answer says of the server (`detour`).
//!
//! Rules: a call knows its own attempts and nothing of other calls; what calls share is given to it. Steps
//! are the client's affair: here is only decided.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::config::ClientConfig;
use super::detour::Detour;
use super::endpoint::Endpoint;
use super::http_request::Outgoing;
use super::origin::Route;
use super::outcome::{Done, Outcome};
use super::policy::{CallOptions, ReissuePolicy};
use super::subscription;
use crate::exchange::{
    Answer, AnswerInfo, BreakKind, Cause, Cursor, Exchange, Exposure, Failure, FailureKind, Verdict,
};
use crate::http::{Era, ResponseHead};
use crate::jsonrpc::Id;
use crate::legacy::Resumption;
use crate::time::Timestamp;

/// How many redirects are followed for one request (E18).
const MAX_REDIRECTS: u32 = 3;

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A caller's request.
    Request,
    /// A caller's notification, or a cancel that goes with a call.
    Notification,
    /// A caller listens: `subscriptions/listen`, the listening GET, or the channel that is there.
    Listen,
    /// The listening GET of a session, read for the server's requests alone.
    Requests,
    /// `server/discover`, to find out what the server speaks.
    Probe,
    /// `initialize`.
    Initialize,
    /// `notifications/initialized`.
    Initialized,
    /// The GET of the 2024-11-05 channel.
    Channel,
    /// `tools/list`, read again because its headers did not match (F4).
    ToolList,
    /// An answer to a request of the server's.
    Response,
    /// The DELETE of a session.
    Deletion,
}

impl Kind {
    /// Whether it is the caller's own, so that its events are told.
    pub(super) const fn is_the_callers(self) -> bool {
        matches!(self, Self::Request | Self::Notification | Self::Listen)
    }

    /// Whether it goes out only when the handshake is done.
    pub(super) const fn waits_for_the_handshake(self) -> bool {
        matches!(self, Self::Request | Self::Notification | Self::Listen | Self::Requests | Self::ToolList)
    }

    /// Whether it asks for the stream that belongs to no request, in the eras that have one.
    pub(super) const fn listens(self) -> bool {
        matches!(self, Self::Listen | Self::Requests)
    }

    /// Whether it belongs to something earlier, and goes the way that it was begun by, if that is known.
    pub(super) const fn goes_where_it_belongs(self) -> bool {
        matches!(self, Self::Deletion | Self::Notification | Self::Response)
    }

    /// Whether it is sent with an id, to be answered.
    pub(super) const fn expects_answer(self) -> bool {
        matches!(self, Self::Request | Self::Listen | Self::Probe | Self::Initialize | Self::ToolList)
    }
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The next attempt starts at this moment.
    Waiting(Timestamp),
    /// An exchange is under way.
    Running,
    /// A handshake is under way that it needs.
    Blocked,
    /// The list of tools is read again, which it needs (F4).
    Listing,
    /// It was posted, and its answer comes on the channel (H3).
    Awaiting,
}

/// What a verdict leads to.
pub(super) enum Next {
    /// Another attempt, not before this moment.
    Reissue { cause: Cause, exposure: Exposure, at: Timestamp },
    /// The rest of the stream, after a wait that ends at this moment.
    Resume { cause: Cause, after: Duration, at: Timestamp },
    /// The same request, under the same id, to another place.
    Redirect(Endpoint),
    /// It was posted: the channel answers.
    Await,
    /// The end.
    Done(Done),
}

/// One call.
pub(super) struct Call {
    pub(super) kind: Kind,
    pub(super) outgoing: Outgoing,
    pub(super) options: CallOptions,
    pub(super) deadline: Option<Timestamp>,
    pub(super) phase: Phase,
    /// Whether its caller waits for the end of the exchange, and not only for the answer.
    pub(super) reads_to_end: bool,
    /// The id of the attempt under way, or of the last one.
    pub(super) id: Option<Id>,
    /// How the attempt under way, or the last one, went out.
    pub(super) route: Option<Route>,
    /// Where its stream goes on, once it has broken (E6, F12).
    pub(super) cursor: Option<Cursor>,
    resumption: Resumption,
    /// Whether the exchange under way asks for the rest of a stream.
    pub(super) is_resuming: bool,
    /// What its answer leads to besides the answer itself, once the exchange has ended.
    pub(super) detour: Option<Detour>,
    /// What the answer that came on the channel was (H3).
    pub(super) answered: Option<AnswerInfo>,
    /// The channel was lost while the request was being posted.
    pub(super) lost_channel: Option<Cause>,
    /// F3, F4, F7: each happens once.
    pub(super) has_changed_version: bool,
    pub(super) has_listed_tools: bool,
    pub(super) has_renewed_session: bool,
    /// F4: the answer that stands if nothing better comes, and the attempt it came on.
    pub(super) first_refusal: Option<(u32, Box<Answer>)>,
    /// Requests of the server's that the embedder is still to answer (F15).
    pub(super) asked: Vec<Id>,
    /// F10: whether the subscription was ever acknowledged.
    pub(super) is_acknowledged: bool,
    /// F10: losses in a row without an acknowledgment.
    pub(super) losses: u32,
    /// What waits to be told of the channel, so that it stays bounded.
    pub(super) queued: usize,
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
    pub(super) fn new(kind: Kind, outgoing: Outgoing, options: CallOptions, most_barren: u32, now: Timestamp) -> Self {
        Self {
            kind,
            outgoing,
            deadline: options.timeout.map(|timeout| now.saturating_add(timeout)),
            options,
            phase: Phase::Waiting(now),
            reads_to_end: false,
            id: None,
            route: None,
            cursor: None,
            resumption: Resumption::new(most_barren),
            is_resuming: false,
            detour: None,
            answered: None,
            lost_channel: None,
            has_changed_version: false,
            has_listed_tools: false,
            has_renewed_session: false,
            first_refusal: None,
            asked: Vec::new(),
            is_acknowledged: false,
            losses: 0,
            queued: 0,
            attempts: 0,
            reached: Exposure::Unsent,
            earlier: Exposure::Unsent,
            lost: None,
            reissues: 0,
            redirects: 0,
        }
    }

    /// The era of the attempt under way, or of the last one.
    pub(super) fn era(&self) -> Option<Era> {
        self.route.as_ref().map(|route| route.era)
    }

    /// Whether the stream of `initialize` itself is being asked for again.
    pub(super) fn is_resuming_the_handshake(&self) -> bool {
        self.kind == Kind::Initialize && self.cursor.is_some()
    }

    /// The head of the response to `initialize` names the session, and a stream that is resumed has another head.
    pub(super) fn keep_session_id(&mut self, exchange: Option<&Exchange>) {
        let named = exchange.and_then(Exchange::head).and_then(ResponseHead::session_id);
        if let (Kind::Initialize, Some(route), Some(named)) = (self.kind, &mut self.route, named) {
            route.session_id = Some(named.to_owned());
        }
    }

    /// Another attempt is made; the rest of a stream is not one.
    pub(super) const fn begin_attempt(&mut self) {
        self.phase = Phase::Running;
        if !self.is_resuming {
            self.attempts += 1;
            self.earlier = self.reached;
        }
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
        if let Some(answer) = self.answered {
            // It came before the response to the request that asked for it (H3).
            return Next::Done(self.done(Outcome::Settled(answer)));
        }
        let outcome = match verdict {
            Verdict::Settled(answer) => Outcome::Settled(answer),
            Verdict::Salvaged { answer, damage } => Outcome::Salvaged { answer, damage },
            Verdict::Accepted { .. } if self.era() == Some(Era::HttpSse) && self.kind.expects_answer() => {
                self.reach(Exposure::Headed);
                if let Some(cause) = self.lost_channel {
                    // It was taken, and nobody can answer it any more (H5).
                    return Next::Done(self.give_up(FailureKind::Lost { cause, replacement: None }));
                }
                return Next::Await;
            }
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
            Verdict::Reissue { cause, exposure } if self.kind == Kind::Listen => {
                self.lose(cause, exposure);
                return Next::Reissue { cause, exposure, at: self.reopen_at(config, now) };
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
            Verdict::Resume { last_event_id, after, retry, progressed, cause, exposure } => {
                let mut cursor = Cursor::new(last_event_id);
                cursor.retry = retry;
                // The request's own stream is no opening that could have been barren (F11).
                let is_new = progressed || !self.is_resuming;
                self.cursor = Some(cursor);
                self.lose(cause, exposure);
                if let Some(next) = self.resume(cause, after, is_new, now) {
                    return next;
                }
                Outcome::Failed(Failure::new(FailureKind::Lost { cause, replacement: None }, exposure))
            }
            Verdict::Reopen { cursor, after, progressed, cause } => {
                self.cursor = cursor;
                if let Some(next) = self.resume(cause, after, progressed, now) {
                    return next;
                }
                Outcome::Failed(Failure::new(FailureKind::Lost { cause, replacement: None }, Exposure::Streaming))
            }
            Verdict::Failed(failure) => match self.on_failure(failure, exchange, config, now) {
                Ok(outcome) => outcome,
                Err(next) => return next,
            },
        };
        Next::Done(self.done(outcome))
    }

    /// What a failed exchange means for a call that is more than one request: a resumed stream, a listening one, or a
    /// request whose answer comes elsewhere.
    fn on_failure(
        &mut self,
        failure: Failure,
        exchange: Option<&Exchange>,
        config: &ClientConfig,
        now: Timestamp,
    ) -> Result<Outcome, Next> {
        let lost = |cause| FailureKind::Lost { cause, replacement: None };
        if let Some(cause) = self.lost_channel {
            // Its request was closed because nobody can answer it any more (H5).
            let kind = match (failure.may_have_run(), cause) {
                (true, _) => lost(cause),
                (false, Cause::Broken(cause)) => FailureKind::Unsent { cause },
                (false, _) => FailureKind::Unsent { cause: BreakKind::Closed },
            };
            return Ok(Outcome::Failed(Failure::new(kind, failure.exposure)));
        }
        let is_listening = self.kind.listens() && self.era() == Some(Era::Legacy);
        match &failure.kind {
            // H3: what the network did to the POST says nothing of the answer, if the request may have got there.
            FailureKind::Lost { .. }
                if self.era() == Some(Era::HttpSse) && self.kind.expects_answer() && failure.may_have_run() =>
            {
                self.reach(failure.exposure);
                return Err(Next::Await);
            }
            // "The server MAY respond with 405": it ends sessions by itself, and 404 says that it has.
            FailureKind::Status(status) if self.kind == Kind::Deletion && matches!(status.status(), 404 | 405) => {
                return Ok(Outcome::Accepted { status: status.status() });
            }
            // F12: there is no such stream, or none any more; that is no error of the session.
            FailureKind::Status(status) if is_listening && matches!(status.status(), 404 | 405) => {
                return Ok(Outcome::ListeningEnded { status: Some(status.status()) });
            }
            FailureKind::NoAnswer { status } if is_listening => {
                return Ok(Outcome::ListeningEnded { status: Some(*status) });
            }
            FailureKind::Status(status) if self.is_resuming => match status.status() {
                404 if self.route.as_ref().is_some_and(|route| route.session_id.is_some()) => {
                    return Ok(Outcome::Failed(Failure::new(FailureKind::SessionExpired, failure.exposure)));
                }
                404 | 405 => {
                    let kind = self.lost.map_or_else(|| failure.kind.clone(), lost);
                    return Ok(Outcome::Failed(Failure::new(kind, failure.exposure)));
                }
                401 | 403 => {}
                // It cannot now; it is asked again within the budget.
                _ => {
                    let cause = self.lost.unwrap_or(Cause::Ended);
                    let asked = exchange.and_then(Exchange::head).and_then(ResponseHead::retry_after);
                    let floor = asked.and_then(|asked| asked.delay()).unwrap_or_default();
                    let kept = self.cursor.as_ref().and_then(|cursor| cursor.retry).unwrap_or(DEFAULT_RETRY);
                    if let Some(next) = self.resume(cause, kept.max(floor), false, now) {
                        return Err(next);
                    }
                }
            },
            // F10: a server that was heard once is asked again, also if it cannot be reached for a while.
            FailureKind::Unsent { cause } if self.kind == Kind::Listen && self.is_acknowledged => {
                let (cause, exposure) = (Cause::Broken(*cause), failure.exposure);
                return Err(Next::Reissue { cause, exposure, at: self.reopen_at(config, now) });
            }
            _ => {}
        }
        Ok(Outcome::Failed(failure))
    }

    /// F11, F12: the rest of the stream is asked for, unless its budget is used up or the deadline comes before.
    fn resume(&mut self, cause: Cause, asked: Duration, progressed: bool, now: Timestamp) -> Option<Next> {
        let after = self.resumption.next(asked, progressed)?;
        let at = now.saturating_add(after);
        self.deadline.is_none_or(|deadline| at < deadline).then_some(Next::Resume { cause, after, at })
    }

    /// F10: when a lost subscription is opened again.
    fn reopen_at(&mut self, config: &ClientConfig, now: Timestamp) -> Timestamp {
        self.losses = self.losses.saturating_add(1);
        now.saturating_add(subscription::reopen_wait(self.losses, config.seed))
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

    /// F7: whether the request may be sent again after a 404, which a gateway can send after the call ran; and F5:
    /// whether there was not enough of that already.
    pub(super) fn may_be_repeated(&self, config: &ClientConfig) -> bool {
        let method = &*self.outgoing.method;
        self.kind.expects_answer()
            && self.attempts < MAX_REQUESTS.saturating_add(self.options.max_reissues)
            && (READ_METHODS.contains(&method)
                || self.options.replay_safe
                || config.replay_safe_methods.contains(method))
    }

    /// The request got as far as this verdict says.
    pub(super) fn reach_by(&mut self, verdict: &Verdict) {
        self.reach(match verdict {
            Verdict::Failed(failure) => failure.exposure,
            Verdict::Settled(_) | Verdict::Salvaged { .. } => Exposure::Streaming,
            _ => Exposure::Headed,
        });
    }

    /// F1, F13, F14: whether a lost request is sent again, and when.
    fn reissue_at(&self, exchange: Option<&Exchange>, config: &ClientConfig, now: Timestamp) -> Option<Timestamp> {
        let method = &*self.outgoing.method;
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
    pub(super) fn done(&self, outcome: Outcome) -> Done {
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
            Outcome::Accepted { .. } | Outcome::ListeningEnded { .. } => Exposure::Headed.max(self.reached),
            _ => Exposure::Streaming,
        };
        Done { outcome, attempts: self.attempts, exposure, earlier_may_have_run: self.earlier_may_have_run() }
    }
}

/// F5: how many requests a call sends at most, besides the replacements that its caller allows.
const MAX_REQUESTS: u32 = 3;

/// The methods whose requests only read, and so do no harm when they are repeated (F7).
pub const READ_METHODS: [&str; 8] = [
    "ping",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// F11: what a stream that said nothing waits.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);

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
