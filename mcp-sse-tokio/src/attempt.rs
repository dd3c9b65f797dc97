//! One attempt: a request carried over a connection, and everything that happens reported as facts.
//!
//! Facts reported: connected, reused, sending, sent, head, body, end, broken, and that time has passed. Steps
//! carried out: `Step::Send`; dropping an attempt is `Step::Close`, [`Attempt::release`] is `Step::Release`.
//!
//! Rules: what a fact means is the exchange's affair; that one comes too late, because the exchange has ended
//! meanwhile, is told by the steps that follow. Bytes are reported as written under the time at which writing began,
//! so that a deadline that passes meanwhile cannot hide how far the request got. Over HTTP/2 that a request was sent is
//! told once nothing can take it back: the peer may still say that it refused it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use hyper::body::Incoming;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ExchangeId, HttpRequest};
use mcp_sse_core::exchange::{BreakKind, Exchange, Want};

use crate::client::Inner;
use crate::link::{Boxed, Link, Sending, is_refusal};
use crate::reader::Reader;
use crate::request::Progress;
use crate::trace::Trace;

/// When a connection is given back, so many frames that have come already are read to find the body's end.
const STEPS_TO_END: u32 = 16;

/// One attempt.
pub(crate) struct Attempt {
    pub(crate) id: ExchangeId,
    pub(crate) trace: Trace,
    request: Box<HttpRequest>,
    body: Bytes,
    /// Whether a connection that was there already has failed.
    must_be_new: bool,
    /// One of these, or neither before it has begun and after a failure.
    connecting: Option<Boxed<Result<(Link, bool), BreakKind>>>,
    carrying: Option<Box<Carrying>>,
}

struct Carrying {
    link: Link,
    progress: Arc<Progress>,
    /// When the request was given to hyper.
    begun_at: Timestamp,
    response: Option<Sending>,
    reader: Option<Reader<Incoming>>,
}

impl Attempt {
    pub(crate) fn new(id: ExchangeId, mut request: Box<HttpRequest>, trace: Trace) -> Self {
        let body = Bytes::from(std::mem::take(&mut request.body));
        Self { id, trace, request, body, must_be_new: false, connecting: None, carrying: None }
    }

    /// Does one thing that may wait, and reports what happened.
    pub(crate) fn poll_advance(&mut self, exchange: &mut Exchange, inner: &Inner, cx: &mut Context<'_>) -> Poll<()> {
        let now = inner.clock.now();
        if exchange.poll_timeout().is_some_and(|due| now >= due) {
            self.tell_sent(exchange);
            exchange.on_timeout(now).ok();
            return Poll::Ready(());
        }
        if let Some(carrying) = &mut self.carrying {
            ready!(carrying.poll(exchange, now, cx));
            // If it failed, and nothing was written to a kept connection, the exchange asks for a fresh one.
            self.carrying = self.carrying.take().filter(|it| it.response.is_some() || it.reader.is_some());
        } else if let Some(connecting) = &mut self.connecting {
            let connected = ready!(connecting.as_mut().poll(cx));
            self.connecting = None;
            self.begin(connected, exchange, inner.clock.now());
        } else {
            let (connector, endpoint) = (&inner.connector, &self.request.endpoint);
            let wants_fresh = matches!(exchange.want(), Want::Send { fresh: true });
            let kept = if self.must_be_new { None } else { connector.take(endpoint, wants_fresh, now) };
            if let Some(link) = kept {
                self.begin(Ok((link, true)), exchange, now);
            } else {
                let (connector, due) = (Arc::clone(connector), exchange.poll_timeout());
                self.connecting = Some(Box::pin(connector.connect(endpoint.clone(), self.must_be_new, due)));
            }
        }
        Poll::Ready(())
    }

    /// Gives the request to hyper, over a new connection or one that was there already; nothing is written yet.
    fn begin(&mut self, connected: Result<(Link, bool), BreakKind>, exchange: &mut Exchange, now: Timestamp) {
        let begun = connected.and_then(|(mut link, is_reused)| {
            self.must_be_new = is_reused;
            let told = if is_reused { exchange.on_reused(now) } else { exchange.on_connected(now) };
            // The time for it may be over.
            if told.is_ok() && matches!(exchange.want(), Want::Send { .. }) {
                let sent = link.send(&self.request, self.body.clone());
                // The client checked its endpoint and headers; what HTTP still refuses was not sent.
                let (response, progress) = sent.map_err(|_| BreakKind::Io)?;
                let response = Some(response);
                self.carrying = Some(Box::new(Carrying { link, progress, begun_at: now, response, reader: None }));
            }
            Ok(())
        });
        if let Err(kind) = begun {
            exchange.on_broken(kind, now).ok();
        }
    }

    /// Tells what is held back until nothing can change it any more. For when the exchange is about to end.
    pub(crate) fn tell_sent(&self, exchange: &mut Exchange) {
        self.carrying.iter().for_each(|carrying| carrying.tell_sent(exchange));
    }

    /// Gives the connection back, if its response was read to the end; what is left of a body and has come
    /// already is read. Else the connection (HTTP/2: the stream) is closed.
    pub(crate) fn release(self, inner: &Inner, now: Timestamp) {
        let carrying = self.carrying.filter(|carrying| !carrying.link.is_shared()).map(|carrying| *carrying);
        let Some(Carrying { mut link, reader: Some(mut reader), .. }) = carrying else {
            return;
        };
        let mut cx = Context::from_waker(Waker::noop());
        let is_idle = (0..STEPS_TO_END).any(|_| reader.poll_discard(&mut cx).is_ready() & link.drive(&mut cx));
        if is_idle && link.meter.carriage().is_sent() {
            inner.connector.keep(&self.request.endpoint, link, now);
        }
    }
}

impl Carrying {
    fn poll(&mut self, exchange: &mut Exchange, now: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        // Asking for a frame first lets the connection read one.
        if self.poll_body(exchange, now, cx).is_ready() {
            return Poll::Ready(());
        }
        self.link.drive(cx);
        self.link.meter.carriage().tell(exchange, now);
        let Some(response) = &mut self.response else {
            return self.poll_body(exchange, now, cx);
        };
        let response = ready!(response.as_mut().poll(cx));
        self.response = None;
        match response {
            // 101: nobody asked for another protocol.
            Ok(response) if response.status().is_informational() => {
                exchange.on_broken(BreakKind::Malformed, now).ok();
            }
            Ok(response) => {
                let (parts, body) = response.into_parts();
                self.reader = Some(Reader::begin(&parts, body, exchange, now));
            }
            Err(error) => self.tell_failure(error.as_ref(), exchange, now),
        }
        Poll::Ready(())
    }

    /// HTTP/2: whether hyper has taken the request. It does so in a task of its own, which wakes nobody, so this is asked
    /// for at the end, and told under the time at which the request was given to it. One that was not taken by then
    /// never will be.
    fn tell_sent(&self, exchange: &mut Exchange) {
        if self.link.is_shared() && !self.progress.withdraw() {
            exchange.on_sent(self.begun_at).ok();
        }
    }

    fn poll_body(&mut self, exchange: &mut Exchange, now: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        let read = self.reader.as_mut().map_or(Poll::Pending, |reader| reader.poll(exchange, now, cx));
        read.map(|read| read.unwrap_or_else(|error| self.tell_failure(Some(&error), exchange, now)))
    }

    fn tell_failure(&self, error: Option<&hyper::Error>, exchange: &mut Exchange, now: Timestamp) {
        if !error.is_some_and(is_refusal) {
            self.tell_sent(exchange);
        }
        self.link.tell_failure(error, exchange, now);
    }
}
