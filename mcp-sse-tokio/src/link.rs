//! A connection that speaks HTTP, as hyper drives it, and what hyper's errors say.
//!
//! Facts reported: how a response failed. Steps carried out: HTTP's side of connecting and of `Step::Send`. An HTTP/1.1
//! connection is driven by the call that uses it and is closed by dropping it; an HTTP/2 connection is shared, and driven
//! by a task that ends when the last handle and the last stream are gone.

use std::borrow::Cow;
use std::error::Error as _;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Waker};

use bytes::Bytes;
use h2::Reason;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::HttpRequest;
use mcp_sse_core::exchange::{BreakKind, Exchange, Framing};
use tokio_util::sync::CancellationToken;

use crate::io::{Io, Meter};
use crate::proxy::Proxy;
use crate::request::{Progress, RequestBody};

/// hyper takes no smaller buffer.
const MIN_BUFFER_BYTES: usize = 8 << 10;
/// What a stream over HTTP/2 may send ahead of its reader. All that is unread is bounded by it for each call,
/// so the connection's own window is as large as it can be: a slow reader holds nobody else up.
const STREAM_WINDOW: u32 = 1 << 20;
/// The largest window there is (RFC 9113 section 6.9.1).
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// A response, or why there is none; no reason, if hyper lost the request before anything of it was taken.
pub(crate) type Sending = Boxed<Result<Response<Incoming>, Option<hyper::Error>>>;

/// A connection.
pub(crate) struct Link {
    http: Http,
    pub(crate) meter: Arc<Meter>,
    /// The proxy that is given whole requests, if there is one.
    pub(crate) forwarder: Option<Proxy>,
    /// A request that went over it, and its head as hyper takes it.
    made: Option<Box<(HttpRequest, Parts)>>,
}

enum Http {
    /// For one call at a time. The connection is gone once it has come to its end.
    Alone(Option<Box<http1::Connection<TokioIo<Io>, RequestBody>>>, http1::SendRequest<RequestBody>),
    /// A handle to one that calls share. Once it has ended, hyper takes no more requests; those that it has taken may
    /// still be answered.
    Shared(http2::SendRequest<RequestBody>, CancellationToken),
}

impl Link {
    pub(crate) async fn handshake(io: Io, is_http2: bool, max_head_bytes: usize) -> Result<Self, BreakKind> {
        let (meter, io) = (Arc::clone(&io.meter), TokioIo::new(io));
        let http = if is_http2 {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_header_list_size(u32::try_from(max_head_bytes).unwrap_or(u32::MAX))
                .handshake(io)
                .await
                .map_err(|_| meter.end())?;
            let ended = CancellationToken::new();
            let end = ended.clone().drop_guard();
            // What it ends with is told to its streams.
            tokio::spawn(async move {
                drop(connection.await);
                drop(end);
            });
            Http::Shared(sender, ended)
        } else {
            // hyper's own bound on header lines (100) holds: for any other it takes and clears memory for each response.
            let (sender, connection) = http1::Builder::new()
                .max_buf_size(max_head_bytes.saturating_add(1).max(MIN_BUFFER_BYTES))
                .max_header_size(max_head_bytes)
                .handshake(io)
                .await
                .map_err(|_| meter.end())?;
            Http::Alone(Some(Box::new(connection)), sender)
        };
        Ok(Self { http, meter, forwarder: None, made: None })
    }

    /// Whether calls share it: it speaks HTTP/2.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.http, Http::Shared(..))
    }

    /// Another handle, if calls share it.
    pub(crate) fn share(&self) -> Option<Self> {
        let Http::Shared(sender, ended) = &self.http else {
            return None;
        };
        let (http, meter) = (Http::Shared(sender.clone(), ended.clone()), Arc::clone(&self.meter));
        Some(Self { http, meter, forwarder: None, made: None })
    }

    /// Lets hyper read and write, if nobody else does; whether another request can be sent.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.http {
            Http::Alone(connection, sender) => {
                if connection.as_mut().is_some_and(|connection| Pin::new(connection).poll(cx).is_ready()) {
                    *connection = None;
                }
                connection.is_some() && sender.is_ready()
            }
            Http::Shared(sender, _) => !sender.is_closed(),
        }
    }

    /// Whether one that was kept is still open, and silent; found without waiting.
    pub(crate) fn is_usable(&mut self) -> bool {
        // When it was kept, hyper had taken all that had come: without news it need not look.
        let is_silent = !self.is_shared() && !self.meter.has_news();
        is_silent
            || (self.drive(&mut Context::from_waker(Waker::noop())) && (self.is_shared() || !self.meter.has_news()))
    }

    /// Gives a request to hyper; nothing is written yet.
    pub(crate) fn send(&mut self, request: &HttpRequest, body: Bytes) -> http::Result<(Sending, Arc<Progress>)> {
        let (body_bytes, body) = (body.len(), RequestBody::new(body));
        let (progress, given) = (Arc::clone(&body.progress), Arc::clone(&body.progress));
        let request = Request::from_parts(self.head(request)?, body);
        let sending: Sending = match &mut self.http {
            Http::Alone(_, sender) => {
                self.meter.begin(body_bytes);
                let response = sender.send_request(request);
                Box::pin(async move { response.await.map_err(Some) })
            }
            Http::Shared(sender, ended) => {
                let (response, ended) = (sender.send_request(request), ended.clone());
                // A request that is given to hyper in the very moment in which it ends can be lost within: no answer, no
                // error. Of one that was taken the answer may still come.
                Box::pin(async move {
                    let mut response = pin!(response);
                    match ended.run_until_cancelled(response.as_mut()).await {
                        Some(response) => response.map_err(Some),
                        None if given.withdraw() => Err(None),
                        None => response.await.map_err(Some),
                    }
                })
            }
        };
        Ok((sending, progress))
    }

    /// The head of a request: one that was made before, with the values that are others, or a new one.
    fn head(&mut self, request: &HttpRequest) -> http::Result<Parts> {
        let known = self.made.take().and_then(|made| Some((request.changed_headers(&made.0)?, made)));
        let (changed, made) = known.map_or_else(|| Ok::<_, http::Error>((Vec::new(), self.make(request)?)), Ok)?;
        let mut head = made.1.clone();
        for (name, value) in changed {
            head.headers.insert(HeaderName::try_from(&**name)?, value.parse()?);
        }
        self.made = Some(made);
        Ok(head)
    }

    /// HTTP/1.1 names the target and `Host`, or the whole URL to a proxy that sends it on; HTTP/2 the whole URL.
    fn make(&self, request: &HttpRequest) -> http::Result<Box<(HttpRequest, Parts)>> {
        let (endpoint, names_all) = (&request.endpoint, self.is_shared() || self.forwarder.is_some());
        let uri = if names_all { endpoint.as_str() } else { endpoint.target() };
        let mut head = Request::new(()).into_parts().0;
        (head.method, head.uri) = (request.method.parse()?, uri.parse()?);
        let headers = &mut head.headers;
        headers.reserve(request.headers.len() + 2);
        if !self.is_shared() {
            headers.insert(HOST, endpoint.authority().parse()?);
        }
        if let Some(value) = self.forwarder.as_ref().and_then(|proxy| proxy.authorization.as_ref()) {
            headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
        for (name, value) in &request.headers {
            let value = match value {
                Cow::Borrowed(value) => HeaderValue::from_maybe_shared(Bytes::from_static(value.as_bytes())),
                Cow::Owned(value) => HeaderValue::from_str(value),
            };
            headers.append(HeaderName::try_from(&**name)?, value?);
        }
        Ok(Box::new((request.clone(), head)))
    }

    /// Tells how a response failed: broken, or short of its framing.
    pub(crate) fn tell_failure(&self, error: Option<&hyper::Error>, exchange: &mut Exchange, now: Timestamp) {
        let (end, carriage) = (self.meter.end(), self.meter.carriage());
        let told = match (error, error.and_then(h2_error)) {
            (Some(error), _) if error.is_parse_too_large() => exchange.on_broken(BreakKind::HeadTooLarge, now),
            (Some(error), None) if error.is_parse() => exchange.on_broken(BreakKind::Malformed, now),
            (_, Some(cause)) => return tell_stream_end(cause, end, exchange, now),
            (Some(_), None) if exchange.head().is_some() && !self.is_shared() => carriage.tell_end(exchange, now),
            _ => exchange.on_broken(end, now),
        };
        // Misuse means that the exchange has ended; what follows from that says so too.
        told.ok();
    }
}

/// Whether the peer says that it did not process the request (RFC 9113 section 8.7): h2 gives a remote GOAWAY to a stream
/// only if it is above the last one that the peer will process.
pub(crate) fn is_refusal(error: &hyper::Error) -> bool {
    h2_error(error).is_some_and(|cause| {
        cause.is_remote() && (cause.is_go_away() || cause.reason() == Some(Reason::REFUSED_STREAM))
    })
}

/// Tells of a response over HTTP/2 that failed; `connection` is how its connection ended, if that is why.
pub(crate) fn tell_stream_end(error: &h2::Error, connection: BreakKind, exchange: &mut Exchange, now: Timestamp) {
    let kind = match (error.is_io(), error.is_library(), error.is_go_away()) {
        (true, ..) => connection,
        (_, true, _) => BreakKind::Malformed,
        (.., true) => BreakKind::Closed,
        _ => BreakKind::Reset,
    };
    let has_length = exchange.head().is_some_and(|head| head.content_length().is_some());
    let is_violation = error.is_library() && error.is_reset() && error.reason() == Some(Reason::PROTOCOL_ERROR);
    // h2 itself ends a stream whose data does not add up to its declared length. Of the frame by which it found that
    // out, which may hold the whole answer, it shows nothing.
    let is_cut = has_length && is_violation;
    let told = if is_cut { exchange.on_end(Framing::Discarded, now) } else { exchange.on_broken(kind, now) };
    told.ok();
}

/// The error of HTTP/2 in one of hyper's.
fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}
