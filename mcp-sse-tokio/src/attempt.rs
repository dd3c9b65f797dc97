//! One attempt: a request carried over a connection, and everything that happens reported as facts.
//!
//! Facts reported: connected, reused, sending, sent, head, body, end, broken, and that time has passed. Steps
//! carried out: `Step::Send`; dropping an attempt is `Step::Close`, [`Attempt::release`] is `Step::Release`.
//!
//! Rules: what a fact means is the exchange's affair. Bytes are reported as written under the time at which
//! writing began, so that a deadline that passes meanwhile cannot hide how far the request got. Over HTTP/2
//! that a request was sent is told once nothing can take it back: the peer may still say that it refused it.

use std::error::Error as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ExchangeId, HttpRequest};
use mcp_sse_core::exchange::{BreakKind, Exchange, Framing, Misuse, Want};

use crate::client::Inner;
use crate::clock::Clock;
use crate::connect::Connected;
use crate::io::Meter;
use crate::link::{Http1, Link};
use crate::pool::Pool;
use crate::reader::{self, Piece, Reader};
use crate::request::{self, Progress, RequestBody};
use crate::trace::Trace;

/// When a connection is given back, so many frames that have come already are read to find the body's end.
const STEPS_TO_END: u32 = 16;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Sending = Boxed<Result<Response<Incoming>, TrySendError<Request<RequestBody>>>>;

/// One attempt.
pub(crate) struct Attempt {
    pub(crate) id: ExchangeId,
    pub(crate) trace: Trace,
    request: Box<HttpRequest>,
    body: Bytes,
    stage: Stage,
}

enum Stage {
    Unconnected,
    Connecting(Boxed<Result<Connected, BreakKind>>),
    Carrying(Box<Carrying>),
    /// Broken, or of no further use.
    Over,
}

struct Carrying {
    link: Link,
    progress: Arc<Progress>,
    has_begun: bool,
    is_sent: bool,
    /// When the request was given to hyper.
    begun_at: Timestamp,
    response: Option<Sending>,
    /// HTTP/2: that hyper takes no more requests.
    ended: Option<Boxed<()>>,
    reader: Option<Reader<Incoming>>,
}

impl Attempt {
    pub(crate) fn new(id: ExchangeId, mut request: Box<HttpRequest>, trace: Trace) -> Self {
        let body = Bytes::from(std::mem::take(&mut request.body));
        Self { id, trace, request, body, stage: Stage::Unconnected }
    }

    /// Does one thing that may wait, and reports what happened.
    pub(crate) fn poll_advance(
        &mut self,
        exchange: &mut Exchange,
        inner: &Arc<Inner>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let now = inner.clock.now();
        if exchange.poll_timeout().is_some_and(|due| now >= due) {
            self.tell_sent(exchange);
            // It is still under way, or it would have no time-out.
            exchange.on_timeout(now).ok();
            return Poll::Ready(());
        }
        let reported = match &mut self.stage {
            Stage::Unconnected => Poll::Ready(self.connect(exchange, inner)),
            Stage::Connecting(connecting) => {
                let connected = ready!(connecting.as_mut().poll(cx));
                Poll::Ready(self.on_connected(connected, exchange, inner.clock))
            }
            Stage::Carrying(carrying) => {
                let reported = ready!(carrying.poll(exchange, inner.clock, cx));
                if carrying.response.is_none() && carrying.reader.is_none() {
                    // It failed. If nothing was written to a kept connection, the exchange asks for a fresh one.
                    self.stage = Stage::Unconnected;
                }
                Poll::Ready(reported)
            }
            Stage::Over => Poll::Pending,
        };
        // Misuse here means that the exchange ended meanwhile; the steps that follow say so too.
        reported.map(|result| result.unwrap_or(()))
    }

    fn connect(&mut self, exchange: &mut Exchange, inner: &Arc<Inner>) -> Result<(), Misuse> {
        let is_fresh = matches!(exchange.want(), Want::Send { fresh: true });
        if let Some(mut kept) = if is_fresh { None } else { inner.pool.take() } {
            exchange.on_reused(inner.clock.now())?;
            if !is_usable(&mut kept) {
                // It was closed meanwhile (E1); the exchange asks for a fresh one.
                return exchange.on_broken(BreakKind::Closed, inner.clock.now());
            }
            return self.begin(kept, false, exchange, inner.clock);
        }
        let (inner, endpoint, deadline) = (Arc::clone(inner), self.request.endpoint.clone(), exchange.poll_timeout());
        self.stage = Stage::Connecting(Box::pin(async move {
            inner.connector.connect(&endpoint, &inner.pool, is_fresh, deadline).await
        }));
        Ok(())
    }

    fn on_connected(
        &mut self,
        connected: Result<Connected, BreakKind>,
        exchange: &mut Exchange,
        clock: Clock,
    ) -> Result<(), Misuse> {
        self.stage = Stage::Over;
        match connected {
            Ok((link, is_reused)) => {
                if is_reused { exchange.on_reused(clock.now()) } else { exchange.on_connected(clock.now()) }?;
                self.begin(link, !is_reused, exchange, clock)
            }
            Err(kind) => exchange.on_broken(kind, clock.now()),
        }
    }

    /// Gives the request to hyper; nothing is written yet.
    fn begin(&mut self, mut link: Link, is_fresh: bool, exchange: &mut Exchange, clock: Clock) -> Result<(), Misuse> {
        let progress = Arc::new(Progress::default());
        let is_http2 = matches!(link, Link::Http2(_));
        let Ok(request) = request::build(&self.request, self.body.clone(), is_http2, Arc::clone(&progress)) else {
            // The client checked its endpoint and headers; what HTTP still refuses was not sent.
            self.stage = Stage::Over;
            return exchange.on_broken(BreakKind::Io, clock.now());
        };
        let (response, ended): (Sending, Option<Boxed<()>>) = match &mut link {
            Link::Http1(link) => {
                link.meter.begin(Arc::clone(&progress), is_fresh);
                (Box::pin(link.sender.try_send_request(request)), None)
            }
            Link::Http2(link) => (Box::pin(link.sender.try_send_request(request)), Some(Box::pin(link.ended()))),
        };
        self.stage = Stage::Carrying(Box::new(Carrying {
            link,
            progress,
            has_begun: false,
            is_sent: false,
            begun_at: clock.now(),
            response: Some(response),
            ended,
            reader: None,
        }));
        Ok(())
    }

    /// Tells what is held back until nothing can change it any more. For when the exchange is about to end.
    pub(crate) fn tell_sent(&mut self, exchange: &mut Exchange) {
        if let Stage::Carrying(carrying) = &mut self.stage {
            carrying.tell_sent(exchange).ok();
        }
    }

    /// Bytes of the body that were received.
    pub(crate) fn received(&self) -> u64 {
        match &self.stage {
            Stage::Carrying(carrying) => carrying.reader.as_ref().map_or(0, |reader| reader.received),
            _ => 0,
        }
    }

    /// Gives the connection back, if its response was read to the end; what is left of a body and has come
    /// already is read. Else the connection (HTTP/2: the stream) is closed.
    pub(crate) fn release(self, pool: &Pool) {
        let Stage::Carrying(carrying) = self.stage else {
            return;
        };
        let Carrying { link: Link::Http1(mut link), reader: Some(mut reader), .. } = *carrying else {
            return;
        };
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..STEPS_TO_END {
            let has_ended = reader.poll_discard(&mut cx).is_ready();
            let Some(connection) = &mut link.connection else {
                return;
            };
            if Pin::new(connection).poll(&mut cx).is_ready() {
                return;
            }
            if has_ended {
                if link.meter.facts().is_sent && link.sender.is_ready() {
                    pool.keep(link);
                }
                return;
            }
        }
    }
}

/// Whether a kept connection is still open, and silent; found without waiting.
fn is_usable(link: &mut Link) -> bool {
    match link {
        Link::Http1(link) => {
            let mut cx = Context::from_waker(Waker::noop());
            let Http1 { connection: Some(connection), sender, meter } = &mut **link else {
                return false;
            };
            meter.at_once(|| Pin::new(connection).poll(&mut cx).is_pending()) && sender.is_ready()
        }
        Link::Http2(link) => !link.sender.is_closed(),
    }
}

impl Carrying {
    fn poll(&mut self, exchange: &mut Exchange, clock: Clock, cx: &mut Context<'_>) -> Poll<Result<(), Misuse>> {
        // Asking for a frame first lets the connection read one.
        if let Poll::Ready(result) = self.poll_reader(exchange, clock, cx) {
            return Poll::Ready(result);
        }
        let before = clock.now();
        if let Link::Http1(link) = &mut self.link {
            if link.connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(cx).is_ready()) {
                link.connection = None;
            }
        }
        self.tell_written(exchange, before)?;
        if let Some(response) = &mut self.response {
            let Poll::Ready(response) = response.as_mut().poll(cx) else {
                // A request that is given to hyper in the very moment in which it ends can be lost within: no answer, no
                // error.
                if self.ended.as_mut().is_some_and(|ended| ended.as_mut().poll(cx).is_ready()) {
                    self.ended = None;
                    if self.progress.withdraw() {
                        self.response = None;
                        return Poll::Ready(exchange.on_broken(BreakKind::Closed, clock.now()));
                    }
                }
                return Poll::Pending;
            };
            self.response = None;
            return Poll::Ready(match response {
                Ok(response) => self.on_response(response, exchange, clock),
                Err(error) => self.on_failure(error, exchange, clock),
            });
        }
        self.poll_reader(exchange, clock, cx)
    }

    fn tell_written(&mut self, exchange: &mut Exchange, before: Timestamp) -> Result<(), Misuse> {
        match &self.link {
            Link::Http1(link) => {
                let (has_begun, is_sent) = {
                    let facts = link.meter.facts();
                    (facts.has_begun(), facts.is_sent)
                };
                if has_begun && !self.has_begun {
                    self.has_begun = true;
                    exchange.on_sending(before)?;
                }
                if is_sent && !self.is_sent {
                    self.is_sent = true;
                    exchange.on_sent(before)?;
                }
            }
            Link::Http2(_) => {}
        }
        Ok(())
    }

    /// HTTP/2: whether hyper has taken the request. It does so in a task of its own, which wakes nobody, so this is asked
    /// for at the end, and told under the time at which the request was given to it. One that was not taken by then
    /// never will be.
    fn tell_sent(&mut self, exchange: &mut Exchange) -> Result<(), Misuse> {
        if matches!(self.link, Link::Http2(_)) && !self.is_sent && !self.progress.withdraw() {
            self.is_sent = true;
            return exchange.on_sent(self.begun_at);
        }
        Ok(())
    }

    fn on_response(
        &mut self,
        response: Response<Incoming>,
        exchange: &mut Exchange,
        clock: Clock,
    ) -> Result<(), Misuse> {
        // A response may come before the request was taken: its head says enough.
        if self.progress.is_any_taken() {
            self.tell_sent(exchange)?;
        }
        let (parts, body) = response.into_parts();
        if parts.status.is_informational() {
            // 101: nobody asked for another protocol.
            return exchange.on_broken(BreakKind::Malformed, clock.now());
        }
        let head = reader::head(&parts);
        exchange.on_head(&head, clock.now())?;
        let reader = self.reader.insert(Reader::new(&parts, &head, body));
        if reader.is_at_end() {
            reader.has_ended = true;
            exchange.on_end(Framing::Marked, clock.now())?;
        }
        Ok(())
    }

    /// There is no response.
    fn on_failure(
        &mut self,
        mut error: TrySendError<Request<RequestBody>>,
        exchange: &mut Exchange,
        clock: Clock,
    ) -> Result<(), Misuse> {
        let was_given_back = error.take_message().is_some();
        let error = error.into_error();
        let (is_http2, meter) = match &self.link {
            Link::Http1(link) => (false, link.meter.clone()),
            Link::Http2(link) => (true, link.meter.clone()),
        };
        let cause = h2_error(&error);
        if is_http2 && !was_given_back && !cause.is_some_and(is_refusal) {
            self.tell_sent(exchange)?;
        }
        let kind = match cause {
            _ if error.is_parse_too_large() => BreakKind::HeadTooLarge,
            Some(cause) => h2_break(cause, &meter),
            None if error.is_parse() => BreakKind::Malformed,
            None => meter.end(),
        };
        exchange.on_broken(kind, clock.now())
    }

    fn poll_reader(&mut self, exchange: &mut Exchange, clock: Clock, cx: &mut Context<'_>) -> Poll<Result<(), Misuse>> {
        let Some(reader) = &mut self.reader else {
            return Poll::Pending;
        };
        let error = match ready!(reader.poll(exchange, clock, cx))? {
            Piece::Reported => return Poll::Ready(Ok(())),
            Piece::Failed(error) => error,
        };
        reader.has_ended = true;
        Poll::Ready(match &self.link {
            Link::Http1(link) => {
                let facts = link.meter.facts();
                let is_complete = reader.is_chunked && facts.walk.is_complete();
                match facts.end {
                    Some(BreakKind::Closed | BreakKind::TlsTruncated) if is_complete => {
                        exchange.on_end(Framing::Marked, clock.now())
                    }
                    // Closed in an orderly way, but too early.
                    Some(BreakKind::Closed) => exchange.on_end(Framing::Short, clock.now()),
                    Some(kind) => exchange.on_broken(kind, clock.now()),
                    // The connection is fine, so it is the framing that is not.
                    None => exchange.on_broken(BreakKind::Malformed, clock.now()),
                }
            }
            Link::Http2(link) => match h2_error(&error) {
                // The stream ended below its declared length.
                Some(cause) if is_short(cause, exchange) => exchange.on_end(Framing::Short, clock.now()),
                Some(cause) => exchange.on_broken(h2_break(cause, &link.meter), clock.now()),
                None => exchange.on_broken(link.meter.end(), clock.now()),
            },
        })
    }
}

/// The error of HTTP/2 in one of hyper's.
fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}

/// Whether the peer says that it did not process the request (RFC 9113 section 8.7). h2 gives a remote GOAWAY
/// to a stream only if it is above the last one that the peer will process.
fn is_refusal(error: &h2::Error) -> bool {
    error.is_remote() && (error.is_go_away() || error.reason() == Some(h2::Reason::REFUSED_STREAM))
}

/// h2 itself ends a stream whose data does not add up to its declared length.
fn is_short(error: &h2::Error, exchange: &Exchange) -> bool {
    error.is_library()
        && error.is_reset()
        && error.reason() == Some(h2::Reason::PROTOCOL_ERROR)
        && exchange.head().and_then(|head| head.content_length()).is_some()
}

fn h2_break(error: &h2::Error, meter: &Meter) -> BreakKind {
    if error.is_io() {
        meter.end()
    } else if error.is_library() {
        BreakKind::Malformed
    } else if error.is_go_away() {
        BreakKind::Closed
    } else {
        BreakKind::Reset
    }
}
