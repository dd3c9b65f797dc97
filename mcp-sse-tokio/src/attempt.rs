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
use crate::clock::Clock;
use crate::connect::Connected;
use crate::link::{Boxed, Link, Sending};
use crate::reader::Reader;
use crate::request::{self, Progress};
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
    connecting: Option<Boxed<Result<Connected, BreakKind>>>,
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
            ready!(carrying.poll(exchange, inner.clock, now, cx));
            // If it failed, and nothing was written to a kept connection, the exchange asks for a fresh one.
            self.carrying = self.carrying.take().filter(|it| it.response.is_some() || it.reader.is_some());
        } else if let Some(connecting) = &mut self.connecting {
            let connected = ready!(connecting.as_mut().poll(cx));
            self.connecting = None;
            if let Err(kind) = connected.and_then(|connected| self.begin(connected, exchange, inner)) {
                exchange.on_broken(kind, inner.clock.now()).ok();
            }
        } else {
            let wants_fresh = matches!(exchange.want(), Want::Send { fresh: true });
            let (connector, endpoint) = (Arc::clone(&inner.connector), self.request.endpoint.clone());
            let connecting = connector.connect(endpoint, wants_fresh, self.must_be_new, exchange.poll_timeout());
            self.connecting = Some(Box::pin(connecting));
        }
        Poll::Ready(())
    }

    /// Gives the request to hyper; nothing is written yet.
    fn begin(&mut self, connected: Connected, exchange: &mut Exchange, inner: &Inner) -> Result<(), BreakKind> {
        let ((mut link, is_reused), begun_at) = (connected, inner.clock.now());
        self.must_be_new = is_reused;
        let told = if is_reused { exchange.on_reused(begun_at) } else { exchange.on_connected(begun_at) };
        if told.is_err() {
            return Ok(());
        }
        let progress = Arc::new(Progress::of(&self.body));
        let is_http2 = matches!(link, Link::Http2(_));
        let proxy = inner.connector.forwarder(&self.request.endpoint)?;
        let request =
            request::build(&self.request, self.body.clone(), is_http2, proxy.as_deref(), Arc::clone(&progress));
        // The client checked its endpoint and headers; what HTTP still refuses was not sent.
        let request = request.map_err(|_| BreakKind::Io)?;
        let response = Some(link.send(request, Arc::clone(&progress), !is_reused));
        self.carrying = Some(Box::new(Carrying { link, progress, begun_at, response, reader: None }));
        Ok(())
    }

    /// Tells what is held back until nothing can change it any more. For when the exchange is about to end.
    pub(crate) fn tell_sent(&self, exchange: &mut Exchange) {
        self.carrying.iter().for_each(|carrying| carrying.tell_sent(exchange));
    }

    /// Gives the connection back, if its response was read to the end; what is left of a body and has come
    /// already is read. Else the connection (HTTP/2: the stream) is closed.
    pub(crate) fn release(self, inner: &Inner) {
        let carrying = self.carrying.map(|carrying| *carrying);
        let Some(Carrying { link: Link::Http1(mut link), reader: Some(mut reader), .. }) = carrying else {
            return;
        };
        let mut cx = Context::from_waker(Waker::noop());
        let mut is_at_end = || link.drive(&mut cx) && reader.poll_discard(&mut cx).is_ready();
        let has_ended = (0..STEPS_TO_END).any(|_| is_at_end());
        if has_ended && link.drive(&mut cx) && link.meter.facts().is_sent && link.sender.is_ready() {
            inner.connector.pool.keep(&self.request.endpoint, link, inner.clock.now());
        }
    }
}

impl Carrying {
    fn poll(&mut self, exchange: &mut Exchange, clock: Clock, now: Timestamp, cx: &mut Context<'_>) -> Poll<()> {
        // Asking for a frame first lets the connection read one.
        if self.poll_body(exchange, clock, cx).is_ready() {
            return Poll::Ready(());
        }
        if let Link::Http1(link) = &mut self.link {
            link.drive(cx);
            let facts = link.meter.facts();
            // What was told before means nothing a second time.
            if facts.has_begun() {
                exchange.on_sending(now).ok();
            }
            if facts.is_sent {
                exchange.on_sent(now).ok();
            }
        }
        let Some(response) = &mut self.response else {
            return self.poll_body(exchange, clock, cx);
        };
        let response = ready!(response.as_mut().poll(cx));
        self.response = None;
        match response {
            // 101: nobody asked for another protocol.
            Ok(response) if response.status().is_informational() => {
                exchange.on_broken(BreakKind::Malformed, clock.now()).ok();
            }
            Ok(response) => {
                let (parts, body) = response.into_parts();
                self.reader = Some(Reader::begin(&parts, body, exchange, clock));
            }
            Err(error) => {
                let (kind, is_refused) = self.link.failure(error.as_ref());
                if !is_refused {
                    self.tell_sent(exchange);
                }
                exchange.on_broken(kind, clock.now()).ok();
            }
        }
        Poll::Ready(())
    }

    /// HTTP/2: whether hyper has taken the request. It does so in a task of its own, which wakes nobody, so this is asked
    /// for at the end, and told under the time at which the request was given to it. One that was not taken by then
    /// never will be.
    fn tell_sent(&self, exchange: &mut Exchange) {
        if matches!(self.link, Link::Http2(_)) && !self.progress.withdraw() {
            exchange.on_sent(self.begun_at).ok();
        }
    }

    fn poll_body(&mut self, exchange: &mut Exchange, clock: Clock, cx: &mut Context<'_>) -> Poll<()> {
        let Some(reader) = &mut self.reader else {
            return Poll::Pending;
        };
        if let Err(error) = ready!(reader.poll(exchange, clock, cx)) {
            self.link.tell_end(&error, exchange, clock.now()).ok();
        }
        Poll::Ready(())
    }
}
