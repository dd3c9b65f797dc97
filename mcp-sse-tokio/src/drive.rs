//! A call under way: its steps, carried out one after the other as the core says.
//!
//! Facts reported: by its attempt; besides, that time has passed. Steps carried out: all of them, for one call.
//!
//! Rules: the lock on the core is held for steps, never while bytes are read; whoever polls drives, so there is
//! no task behind a call that is being waited for. A driver that is dropped gives its call up, and nobody
//! else's.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallEvent, CallId, Done, Step};
use tokio::runtime::Handle;

use crate::attempt::Attempt;
use crate::client::Inner;
use crate::clock::Timer;
use crate::trace::Trace;

/// What a call tells.
pub(crate) enum Told {
    Event(CallEvent),
    Done(Done),
}

/// How long a call that has its answer is read on for.
#[derive(Clone, Copy, Debug)]
struct Drain {
    until: Timestamp,
    /// Up to this many bytes of the body, counted from its beginning.
    bytes: u64,
}

/// Drives one call.
pub(crate) struct Driver {
    pub(crate) inner: Arc<Inner>,
    /// `None` once the call has ended.
    call: Option<CallId>,
    attempt: Option<Attempt>,
    timer: Timer,
    drain: Option<Drain>,
    /// Where background work goes, also when it is given up outside of a runtime.
    runtime: Option<Handle>,
    trace: Trace,
}

impl Driver {
    pub(crate) fn new(inner: Arc<Inner>, call: CallId) -> Self {
        let trace = Trace::call(call);
        Self { inner, call: Some(call), attempt: None, timer: Timer::default(), drain: None, runtime: None, trace }
    }

    /// The next thing that the call has to tell; pending for ever after its end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Told> {
        if self.runtime.is_none() {
            self.runtime = Handle::try_current().ok();
        }
        let Some(call) = self.call else {
            return Poll::Pending;
        };
        loop {
            let step = self.inner.core().poll_step_of(call, self.inner.clock.now());
            match step {
                Some(Step::Send(id, request)) => {
                    let trace = self.trace.attempt(id, request.body.len());
                    self.attempt = Some(Attempt::new(id, request, trace));
                }
                Some(Step::Release(_)) => {
                    if let Some(attempt) = self.attempt.take() {
                        attempt.release(&self.inner.pool);
                    }
                }
                Some(Step::Background(_, other)) => self.spawn(Self::new(Arc::clone(&self.inner), other)),
                Some(Step::Event(_, event)) => {
                    self.trace.event(&event);
                    return Poll::Ready(Told::Event(event));
                }
                Some(Step::Done(_, done)) => {
                    self.trace.done(&done);
                    self.call = None;
                    return Poll::Ready(Told::Done(done));
                }
                // Close: what is dropped closes.
                Some(_) => self.attempt = None,
                None => ready!(self.poll_progress(call, cx)),
            }
        }
    }

    /// One thing that may wait: of the attempt under way, or until the next one is due.
    fn poll_progress(&mut self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        let inner = &self.inner;
        if self.drain.is_some_and(|drain| self.has_drained(drain)) {
            self.cancel(call);
            return Poll::Ready(());
        }
        let mut due = self.drain.map(|drain| drain.until);
        if let Some(attempt) = &mut self.attempt {
            let lent = inner.core().lend_exchange(attempt.id);
            if let Some(mut exchange) = lent {
                let span = attempt.trace.clone();
                let progress = span.within(|| attempt.poll_advance(&mut exchange, inner, cx));
                due = due.into_iter().chain(exchange.poll_timeout()).min();
                inner.core().return_exchange(attempt.id, exchange, inner.clock.now());
                if progress.is_ready() {
                    return Poll::Ready(());
                }
                return self.timer.poll(inner.clock, due, cx);
            }
        }
        let next = inner.core().poll_timeout_of(call);
        self.timer.poll(inner.clock, due.into_iter().chain(next).min(), cx)
    }

    /// Reads on for as long as the client's settings allow, from now.
    pub(crate) fn start_draining(&mut self, is_waited_for: bool) {
        let until = self.inner.clock.now().saturating_add(self.inner.drain);
        let received = self.attempt.as_ref().map_or(0, Attempt::received);
        let bytes = if is_waited_for { u64::MAX } else { received.saturating_add(self.inner.drain_bytes) };
        self.drain = Some(Drain { until, bytes });
    }

    fn has_drained(&self, drain: Drain) -> bool {
        self.inner.clock.now() >= drain.until
            || self.attempt.as_ref().is_some_and(|attempt| attempt.received() > drain.bytes)
    }

    /// Reads the rest of an answered stream in a task of its own, so that the caller has its answer at once and
    /// the connection can be used again.
    pub(crate) fn drain_in_background(mut self) {
        if self.call.is_some() {
            self.start_draining(false);
            let runtime = self.runtime.clone();
            Self::run(runtime, self);
        }
    }

    /// Drives a call that nobody waits for.
    fn spawn(&self, driver: Self) {
        Self::run(self.runtime.clone(), driver);
    }

    /// Without a runtime the driver is dropped here, which gives its call up.
    fn run(runtime: Option<Handle>, mut driver: Self) {
        if let Some(runtime) = runtime {
            drop(runtime.spawn(async move { while let Told::Event(_) = poll_fn(|cx| driver.poll(cx)).await {} }));
        }
    }

    fn cancel(&mut self, call: CallId) {
        if let Some(attempt) = &mut self.attempt {
            let lent = self.inner.core().lend_exchange(attempt.id);
            if let Some(mut exchange) = lent {
                attempt.tell_sent(&mut exchange);
                self.inner.core().return_exchange(attempt.id, exchange, self.inner.clock.now());
            }
        }
        self.inner.core().cancel(call, self.inner.clock.now());
    }
}

impl Driver {
    /// Cancels the call and drops the steps that nobody carries out; what goes out in the background still does.
    /// Gives the call's end, unless it has come before.
    pub(crate) fn give_up(&mut self) -> Option<Done> {
        let call = self.call.take()?;
        self.cancel(call);
        self.attempt = None;
        let mut end = None;
        loop {
            // Not in the head of a `while let`: there it would hold the lock until the body ends.
            let step = self.inner.core().poll_step_of(call, self.inner.clock.now());
            match step {
                Some(Step::Background(_, other)) => self.spawn(Self::new(Arc::clone(&self.inner), other)),
                Some(Step::Done(_, done)) => {
                    self.trace.done(&done);
                    end = Some(done);
                }
                Some(_) => {}
                None => return end,
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.give_up();
    }
}
