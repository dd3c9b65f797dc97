//! A call under way: its steps, carried out one after the other as the core says.
//!
//! Facts reported: by its attempt; besides, that time has passed. Steps carried out: all of them, for one call.
//!
//! Rules: the lock on the core is held for steps, never while bytes are read; whoever polls drives, so there is
//! no task behind a call that is being waited for. A driver that is dropped gives its call up, and nobody
//! else's.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use mcp_sse_core::client::{Asked, CallEvent, CallId, Done, ErrorReply, RespondError, Step};
use mcp_sse_core::jsonrpc::Id;
use tokio::runtime::Handle;

use crate::attempt::Attempt;
use crate::client::{Inner, Used};
use crate::clock::Timer;
use crate::trace::Trace;

/// Drives one call.
pub(crate) struct Driver {
    inner: Arc<Inner>,
    /// `None` once the call has ended.
    call: Option<CallId>,
    attempt: Option<Attempt>,
    timer: Timer,
    /// Where background work goes, also when the call is given up outside of a runtime.
    runtime: Option<Handle>,
    trace: Trace,
    /// Keeps what calls share open, if somebody waits for this one.
    _used: Option<Arc<Used>>,
}

impl Driver {
    pub(crate) fn new(inner: Arc<Inner>, call: CallId, runtime: Option<Handle>, used: Option<Arc<Used>>) -> Self {
        let trace = Trace::call(call);
        Self { inner, call: Some(call), attempt: None, timer: Timer::default(), runtime, trace, _used: used }
    }

    /// To the end; what it tells before is dropped.
    pub(crate) async fn run(mut self) -> Done {
        loop {
            if let ControlFlow::Break(done) = poll_fn(|cx| self.poll(cx)).await {
                return done;
            }
        }
    }

    /// The next event of the call, or its end; pending for ever after that.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ControlFlow<Done, CallEvent>> {
        self.runtime = self.runtime.take().or_else(|| Handle::try_current().ok());
        let Some(call) = self.call else {
            return Poll::Pending;
        };
        self.inner.register(call, cx.waker());
        loop {
            let now = self.inner.clock.now();
            match self.inner.step_of(call, now) {
                Some(Step::Send(id, request)) => {
                    let trace = self.trace.attempt(id, request.body.len());
                    self.attempt = Some(Attempt::new(id, request, trace));
                }
                Some(Step::Release(_)) => self.attempt.take().into_iter().for_each(|it| it.release(&self.inner, now)),
                Some(Step::Background(_, other)) => {
                    Self::new(Arc::clone(&self.inner), other, self.runtime.clone(), None).run_in_background();
                }
                Some(Step::Event(_, event)) => {
                    self.trace.tell(&event);
                    self.handle(call, &event);
                    return Poll::Ready(ControlFlow::Continue(event));
                }
                Some(Step::Done(_, done)) => {
                    self.trace.tell(&done);
                    self.inner.forget(call);
                    self.call = None;
                    return Poll::Ready(ControlFlow::Break(done));
                }
                // Close: what is dropped closes.
                Some(_) => self.attempt = None,
                None => ready!(self.poll_progress(call, cx)),
            }
        }
    }

    /// Has a request of the server's answered by its handler, if there is one, in a task of its own.
    fn handle(&self, call: CallId, event: &CallEvent) {
        let Some((method, id, message)) = event.awaiting() else {
            return;
        };
        if let (Some(handler), Some(runtime)) = (self.inner.handlers.get(method), &self.runtime) {
            let inner = Arc::clone(&self.inner);
            let asked = Asked::new(id.clone(), move |id, answer| inner.respond(call, id, answer));
            let answer = handler(message.clone());
            drop(runtime.spawn(async move { asked.answer(answer.await) }));
        }
    }

    /// Answers a request of the server's that came on this call.
    pub(crate) fn respond(&self, request: &Id, answer: Result<&str, ErrorReply>) -> Result<(), RespondError> {
        self.call.map_or(Err(RespondError::NotAsked), |call| self.inner.respond(call, request, answer))
    }

    /// One thing that may wait: of the attempt under way, or until the next one is due.
    fn poll_progress(&mut self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        let inner = &self.inner;
        if let Some(attempt) = &mut self.attempt {
            let lent = inner.core().lend_exchange(attempt.id);
            if let Some(mut exchange) = lent {
                let trace = attempt.trace.clone();
                let progress = trace.within(|| {
                    loop {
                        let progress = attempt.poll_advance(&mut exchange, inner, cx);
                        // What tells nothing leads to no step.
                        if progress.is_pending() || exchange.peek_event().is_some() {
                            break progress;
                        }
                    }
                });
                inner.core().return_exchange(attempt.id, exchange, inner.clock.now());
                if progress.is_ready() {
                    return Poll::Ready(());
                }
            }
        }
        let due = inner.core().poll_timeout_of(call);
        self.timer.poll(inner.clock, due, cx)
    }

    /// The caller waits for the end of the exchange too.
    pub(crate) fn read_to_end(&self) {
        self.call.into_iter().for_each(|call| self.inner.core().read_to_end(call));
    }

    /// Drives a call that nobody waits for any more, in a task of its own. Without a runtime it is dropped here, which
    /// gives it up.
    pub(crate) fn run_in_background(self) {
        if let Some(runtime) = self.runtime.clone().filter(|_| self.call.is_some()) {
            drop(runtime.spawn(self.run()));
        }
    }

    /// Cancels the call. Gives its end, unless it has come before.
    pub(crate) fn give_up(&mut self) -> Option<Done> {
        let call = self.call?;
        let mut core = self.inner.core();
        if let Some(attempt) = &self.attempt {
            core.exchange(attempt.id).into_iter().for_each(|exchange| attempt.tell_sent(exchange));
        }
        core.cancel(call, self.inner.clock.now());
        drop(core);
        // What it has to tell is told already, and waits for nothing.
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(told) = self.poll(&mut cx) {
            if let Some(done) = told.break_value() {
                return Some(done);
            }
        }
        None
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.give_up();
    }
}
