//! A connection that speaks HTTP, as hyper drives it, and what hyper's errors say.
//!
//! Facts reported: how far a request was written; how a response failed. Steps carried out: HTTP's side of connecting,
//! and of `Step::Send`. An HTTP/1.1 connection is driven by the call that uses it and is closed by dropping it; an
//! HTTP/2 connection is shared, and driven by a task that ends when the last handle and the last stream are gone.

use std::error::Error as _;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use h2::Reason;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{BreakKind, Exchange, Framing, Misuse};
use tokio::sync::watch;

use crate::io::{Io, Meter, Transport};
use crate::request::{Progress, RequestBody};

/// hyper takes no smaller buffer.
const MIN_BUFFER_BYTES: usize = 8 << 10;
/// More header lines than any server sends; the bound on a head's bytes holds besides.
const MAX_HEADERS: usize = 256;
/// What a stream over HTTP/2 may send ahead of its reader. All that is unread is bounded by it for each call,
/// so the connection's own window is as large as it can be: a slow reader holds nobody else up.
const STREAM_WINDOW: u32 = 1 << 20;
/// The largest window there is (RFC 9113 section 6.9.1).
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// A response, or why there is none; no reason, if hyper lost the request before anything of it was taken.
pub(crate) type Sending = Boxed<Result<Response<Incoming>, Option<hyper::Error>>>;

/// A connection.
#[derive(Debug)]
pub(crate) enum Link {
    /// Boxed for its size.
    Http1(Box<Http1>),
    Http2(Http2),
}

/// A connection for one call at a time.
#[derive(Debug)]
pub(crate) struct Http1 {
    /// `None` once it has come to its end.
    connection: Option<http1::Connection<TokioIo<Io>, RequestBody>>,
    pub(crate) sender: http1::SendRequest<RequestBody>,
    pub(crate) meter: Arc<Meter>,
}

/// A handle to a connection that calls share.
#[derive(Clone, Debug)]
pub(crate) struct Http2 {
    pub(crate) sender: http2::SendRequest<RequestBody>,
    meter: Arc<Meter>,
    /// Fails once hyper takes no more requests. Those that it has taken may still be answered.
    taking: watch::Receiver<()>,
}

impl Http1 {
    /// Lets hyper read and write; false once the connection has come to its end.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        if self.connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(cx).is_ready()) {
            self.connection = None;
        }
        self.connection.is_some()
    }

    /// Whether a connection that nobody uses is still open, and silent; found without waiting.
    pub(crate) fn is_usable(&mut self) -> bool {
        let is_open = self.drive(&mut Context::from_waker(Waker::noop()));
        is_open && self.sender.is_ready() && !self.meter.has_news()
    }
}

impl Link {
    pub(crate) async fn handshake(
        transport: Transport,
        meter: Arc<Meter>,
        is_http2: bool,
        max_head_bytes: usize,
    ) -> Result<Self, BreakKind> {
        let io = TokioIo::new(Io::new(transport, Arc::clone(&meter)));
        if is_http2 {
            let made = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_header_list_size(u32::try_from(max_head_bytes).unwrap_or(u32::MAX))
                .handshake(io)
                .await;
            let (sender, connection) = made.map_err(|_| meter.end())?;
            let (takes, taking) = watch::channel(());
            // What it ends with is told to its streams.
            tokio::spawn(async move {
                drop(connection.await);
                drop(takes);
            });
            Ok(Self::Http2(Http2 { sender, meter, taking }))
        } else {
            let made = http1::Builder::new()
                .max_buf_size(max_head_bytes.saturating_add(1).max(MIN_BUFFER_BYTES))
                .max_header_size(max_head_bytes)
                .max_headers(MAX_HEADERS)
                .handshake(io)
                .await;
            let (sender, connection) = made.map_err(|_| meter.end())?;
            Ok(Self::Http1(Box::new(Http1 { connection: Some(connection), sender, meter })))
        }
    }

    /// Gives a request to hyper; nothing is written yet.
    pub(crate) fn send(&mut self, request: Request<RequestBody>, progress: Arc<Progress>, is_fresh: bool) -> Sending {
        match self {
            Self::Http1(link) => {
                link.meter.begin(progress, is_fresh);
                let response = link.sender.send_request(request);
                Box::pin(async move { response.await.map_err(Some) })
            }
            Self::Http2(link) => {
                let mut taking = link.taking.clone();
                // A request that is given to hyper in the very moment in which it ends can be lost within: no answer, no
                // error. Of one that was taken the answer may still come.
                let mut lost = Box::pin(async move {
                    while taking.changed().await.is_ok() {}
                    if !progress.withdraw() {
                        pending::<()>().await;
                    }
                });
                let mut response = Box::pin(link.sender.send_request(request));
                Box::pin(poll_fn(move |cx| match response.as_mut().poll(cx) {
                    Poll::Ready(response) => Poll::Ready(response.map_err(Some)),
                    Poll::Pending => lost.as_mut().poll(cx).map(|()| Err(None)),
                }))
            }
        }
    }

    /// Why there is no response; besides, whether the peer says that it did not process the request (RFC 9113 section
    /// 8.7): h2 gives a remote GOAWAY to a stream only if it is above the last one that the peer will process.
    pub(crate) fn failure(&self, error: Option<&hyper::Error>) -> (BreakKind, bool) {
        let Some(error) = error else {
            return (BreakKind::Closed, false);
        };
        let meter = match self {
            Self::Http1(link) => &link.meter,
            Self::Http2(link) => &link.meter,
        };
        let cause = h2_error(error);
        let is_refused = cause.is_some_and(|cause| {
            cause.is_remote() && (cause.is_go_away() || cause.reason() == Some(Reason::REFUSED_STREAM))
        });
        let kind = match cause {
            _ if error.is_parse_too_large() => BreakKind::HeadTooLarge,
            Some(cause) => kind_of(cause, meter.end()),
            None if error.is_parse() => BreakKind::Malformed,
            None => meter.end(),
        };
        (kind, is_refused)
    }

    /// Tells of a body that failed: short of its framing, or broken.
    pub(crate) fn tell_end(&self, error: &hyper::Error, exchange: &mut Exchange, now: Timestamp) -> Result<(), Misuse> {
        match (self, h2_error(error)) {
            (Self::Http1(link), _) => {
                let facts = link.meter.facts();
                // If the connection is fine, it is the framing that is not.
                let kind = facts.end.unwrap_or(BreakKind::Malformed);
                exchange.on_connection_end(kind, facts.response.is_complete(), now)
            }
            (Self::Http2(link), Some(cause)) => tell_stream_end(cause, link.meter.end(), exchange, now),
            (Self::Http2(link), None) => exchange.on_broken(link.meter.end(), now),
        }
    }
}

/// Tells of a body over HTTP/2 that failed; `connection` is how its connection ended, if that is why.
pub(crate) fn tell_stream_end(
    error: &h2::Error,
    connection: BreakKind,
    exchange: &mut Exchange,
    now: Timestamp,
) -> Result<(), Misuse> {
    let has_length = exchange.head().is_some_and(|head| head.content_length().is_some());
    let is_violation = error.is_library() && error.is_reset() && error.reason() == Some(Reason::PROTOCOL_ERROR);
    if has_length && is_violation {
        // h2 itself ends a stream whose data does not add up to its declared length. Of the frame by which it found that
        // out, which may hold the whole answer, it shows nothing.
        exchange.on_end(Framing::Discarded, now)
    } else {
        exchange.on_broken(kind_of(error, connection), now)
    }
}

fn kind_of(error: &h2::Error, connection: BreakKind) -> BreakKind {
    if error.is_io() {
        connection
    } else if error.is_library() {
        BreakKind::Malformed
    } else if error.is_go_away() {
        BreakKind::Closed
    } else {
        BreakKind::Reset
    }
}

/// The error of HTTP/2 in one of hyper's.
fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}
