//! One HTTP exchange of a server, under whatever drives it: hyper's connections, tower, axum.
//!
//! Facts reported: a request's head, its body's bytes and end; that its sender is gone. Steps carried out: the response's
//! head, and its body as far as it is asked for.
//!
//! Rule: bytes are taken from the core only when the connection has room for them, so that a slow reader holds up its own
//! stream and nothing else.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::mem;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, EXPECT};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use mcp_sse_core::Timestamp;
use mcp_sse_core::http::RequestHead;
use mcp_sse_core::server::{self as core_server, ExchangeId, Output, ReplyBody, ReplyHead};

use super::call::Sender;
use super::silence::Underway;
use super::{Errands, Inner};

/// A server as a service: of hyper (`hyper::service::Service`), and of tower (`tower_service::Service`), as axum mounts it.
/// It takes any body, and never fails. The example `axum` mounts one beside other routes.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

impl Service {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    fn respond<B>(&self, request: Request<B>) -> Responding
    where
        B: Body<Data: Send> + Send + 'static,
    {
        let (parts, body) = request.into_parts();
        let peer = parts.extensions.get::<SocketAddr>().copied();
        let mut driven = Driven::new(&self.inner, parts, peer);
        Box::pin(async move {
            let mut body = pin!(body);
            Ok(poll_fn(|cx| driven.poll(body.as_mut(), cx)).await)
        })
    }

    /// As the service does it, for a body that can be moved, and from a peer that is known.
    pub(super) fn serve<B: Body + Unpin>(
        &self,
        request: Request<B>,
        peer: SocketAddr,
        underway: Underway,
    ) -> Driving<B> {
        let (parts, body) = request.into_parts();
        Driving { driven: Driven::new(&self.inner, parts, Some(peer)), body, underway: Some(underway) }
    }
}

/// A response on its way.
type Responding = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

impl<B> hyper::service::Service<Request<B>> for Service
where
    B: Body<Data: Send> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Responding;

    fn call(&self, request: Request<B>) -> Self::Future {
        self.respond(request)
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: Body<Data: Send> + Send + 'static,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Responding;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.respond(request)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

/// A response on its way, in no box.
pub(super) struct Driving<B> {
    driven: Driven,
    body: B,
    underway: Option<Underway>,
}

impl<B: Body + Unpin> Future for Driving<B> {
    type Output = Result<Response<ResponseBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { driven, body, underway } = &mut *self;
        driven.poll(Pin::new(body), cx).map(|mut response| {
            response.body_mut().underway = underway.take();
            Ok(response)
        })
    }
}

/// A request until the head of its response is there.
enum Driven {
    /// Nobody has heard of it yet. In a box: hyper keeps room for this as long as the connection lasts.
    New(Arc<Inner>, Box<Parts>, Option<SocketAddr>),
    Begun(Exchange),
    Over,
}

impl Driven {
    fn new(inner: &Arc<Inner>, parts: Parts, peer: Option<SocketAddr>) -> Self {
        Self::New(Arc::clone(inner), Box::new(parts), peer)
    }

    fn poll<B: Body>(&mut self, mut body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<Response<ResponseBody>> {
        let mut next = match mem::replace(self, Self::Over) {
            Self::New(inner, parts, peer) => {
                inner.start();
                let (exchange, next) = Exchange::begin(inner, *parts, peer, body.as_mut(), cx);
                *self = Self::Begun(exchange);
                next
            }
            begun => {
                *self = begun;
                None
            }
        };
        while let Self::Begun(exchange) = self {
            let found = match next.take() {
                Some(found) => Some(found),
                None if !exchange.wants_body => Some(ready!(exchange.poll_head(cx))),
                None => match Piece::poll(body.as_mut(), cx) {
                    Poll::Ready(piece) => exchange.take_body(piece),
                    // While it does not come, its time may run out.
                    Poll::Pending => Some(ready!(exchange.poll_head(cx))),
                },
            };
            match (found, mem::replace(self, Self::Over)) {
                (None, begun) => *self = begun,
                (Some(Next::Head(head)), Self::Begun(exchange)) => return Poll::Ready(response(head, exchange)),
                _ => {}
            }
        }
        Poll::Ready(ResponseBody::broken())
    }
}

/// What comes of a request's body.
enum Piece<D> {
    Data(D),
    /// The last of it.
    Last(D),
    End,
    /// Trailers, which say nothing here.
    Nothing,
    /// It broke: nobody will read what is written.
    Broken,
}

impl<D> Piece<D> {
    fn poll<B: Body<Data = D>>(mut body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<Self> {
        body.as_mut().poll_frame(cx).map(|frame| match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) if body.is_end_stream() => Self::Last(data),
            Some(Ok(Ok(data))) => Self::Data(data),
            Some(Ok(Err(_))) => Self::Nothing,
            Some(Err(_)) => Self::Broken,
            None => Self::End,
        })
    }
}

/// How it goes on with an exchange whose head was waited for.
enum Next {
    Head(ReplyHead),
    /// It is to be cut.
    Cut,
    /// It is given up.
    Broken,
}

fn response(head: ReplyHead, mut exchange: Exchange) -> Response<ResponseBody> {
    let body = match head.body {
        ReplyBody::Stream => ResponseBody::of(Rest::Stream(exchange)),
        whole => {
            exchange.is_over = true;
            ResponseBody::of(match whole {
                ReplyBody::Whole(bytes) => Rest::Whole(Some(Bytes::from(bytes))),
                _ => Rest::Whole(None),
            })
        }
    };
    let mut response = Response::new(body);
    // The core writes statuses and headers that are some.
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.headers.iter() {
        let value = match &**value {
            // What most have is not copied.
            "application/json" => Ok(HeaderValue::from_static("application/json")),
            value => HeaderValue::from_str(value),
        };
        if let (Some(name), Ok(value)) = (header_name(name), value) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// A header's name; those that most responses have are not read again each time.
fn header_name(name: &str) -> Option<HeaderName> {
    match name {
        "Content-Type" => Some(CONTENT_TYPE),
        "Cache-Control" => Some(CACHE_CONTROL),
        name => HeaderName::from_bytes(name.as_bytes()).ok(),
    }
}

/// An exchange of the core's, which is told when nobody drives it any more.
struct Exchange {
    inner: Arc<Inner>,
    id: ExchangeId,
    /// Until the head is there: no requests are told of after that.
    sender: Option<Arc<Sender>>,
    wants_body: bool,
    is_over: bool,
}

impl Exchange {
    /// Begins an exchange. What has come of the body goes along, so that the core is asked once: it gets it if it wants it.
    /// A body that its sender holds back until it is asked for (`Expect`) is not asked for before the head was judged.
    fn begin<B: Body>(
        inner: Arc<Inner>,
        parts: Parts,
        peer: Option<SocketAddr>,
        body: Pin<&mut B>,
        cx: &mut Context<'_>,
    ) -> (Self, Option<Next>) {
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut head = RequestHead::new(parts.method.as_str(), target);
        // A target in absolute form, and HTTP/2, name the host as well; where the two differ, neither is believed.
        if let Some(authority) = parts.uri.authority() {
            head.header("host", authority.as_str().as_bytes());
        }
        let mut is_held_back = false;
        for (name, value) in &parts.headers {
            head.header(name.as_str(), value.as_bytes());
            is_held_back |= *name == EXPECT;
        }
        let piece = match is_held_back {
            true => Poll::Pending,
            false => Piece::poll(body, cx),
        };
        let sender = Arc::new(Sender::new(peer, parts.headers));
        let ((id, wants_body, is_broken), errands) = inner.take_errands(Some(&sender), |state, now| {
            let core = &mut state.core;
            add_entropy(core);
            let id = core.on_request(head, now);
            match piece {
                Poll::Ready(piece) if core.wants_body(id) => {
                    let is_broken = matches!(piece, Piece::Broken);
                    give(core, id, piece, now);
                    (id, core.wants_body(id), is_broken)
                }
                _ => (id, core.wants_body(id), false),
            }
        });
        let mut exchange = Self { inner, id, sender: Some(sender), wants_body, is_over: false };
        let next = exchange.follow(errands);
        if is_broken {
            // As one that is given up.
            return (exchange, Some(Next::Broken));
        }
        (exchange, next)
    }

    /// Gives in a piece of the body. If a handler answers what it asks at once, the head is there.
    fn take_body(&mut self, piece: Piece<impl Buf>) -> Option<Next> {
        if matches!(piece, Piece::Broken) {
            return Some(Next::Broken);
        }
        let id = self.id;
        let (wants_body, errands) = self.inner.take_errands(self.sender.as_ref(), |state, now| {
            give(&mut state.core, id, piece, now);
            state.core.wants_body(id)
        });
        self.wants_body = wants_body;
        self.follow(errands)
    }

    /// Does what follows from the request.
    fn follow(&mut self, mut errands: Errands) -> Option<Next> {
        let called = if errands.more_calls.is_empty() { errands.call.take() } else { None };
        self.inner.run(errands);
        let called = called?;
        let call = called.request.call;
        let answer = self.inner.answer(called)?;
        // The answer is nearly always what the head waits for.
        let id = self.id;
        let output = self.inner.with_state(self.sender.as_ref(), |state, now| {
            state.conclude(call, answer, now);
            state.core.poll_output(id, &mut Vec::new(), now)
        });
        self.next(output)
    }

    fn poll(&mut self, out: &mut Vec<u8>, cx: &Context<'_>) -> Output {
        let id = self.id;
        let output = self.inner.with_state(self.sender.as_ref(), |state, now| {
            let output = state.core.poll_output(id, out, now);
            if matches!(output, Output::Wait) {
                state.wakers.insert(id, cx.waker().clone());
            }
            output
        });
        self.is_over |= matches!(output, Output::End | Output::Cut);
        output
    }

    fn poll_head(&mut self, cx: &Context<'_>) -> Poll<Next> {
        let output = self.poll(&mut Vec::new(), cx);
        self.next(output).map_or(Poll::Pending, Poll::Ready)
    }

    /// What an output means to who waits for a head; nothing if it is to be waited for.
    fn next(&mut self, output: Output) -> Option<Next> {
        match output {
            Output::Wait => None,
            Output::Head(head) => {
                self.sender = None;
                Some(Next::Head(head))
            }
            _ => {
                self.is_over = true;
                Some(Next::Cut)
            }
        }
    }
}

/// Gives a piece of a request's body to the core.
fn give(core: &mut core_server::Server, id: ExchangeId, piece: Piece<impl Buf>, now: Timestamp) {
    let (data, is_last) = match piece {
        Piece::Data(data) => (Some(data), false),
        Piece::Last(data) => (Some(data), true),
        Piece::End => (None, true),
        Piece::Nothing | Piece::Broken => (None, false),
    };
    if let Some(mut data) = data {
        while data.has_remaining() {
            let chunk = data.chunk();
            let taken = chunk.len();
            core.on_body(id, chunk, now);
            data.advance(taken);
        }
    }
    if is_last {
        add_entropy(core);
        core.on_body_end(id, now);
    }
}

/// Random bytes for some sessions.
const ENTROPY_BYTES: usize = 256;

/// Without randomness no session is opened; the core says so to who asks for one.
fn add_entropy(core: &mut core_server::Server) {
    if core.wants_entropy() {
        let mut bytes = [0; ENTROPY_BYTES];
        if getrandom::fill(&mut bytes).is_ok() {
            core.add_entropy(&bytes);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let id = self.id;
        if !self.is_over {
            self.inner.with_state(self.sender.as_ref(), |state, now| {
                state.core.on_gone(id, now);
                state.wakers.remove(&id);
            });
        }
    }
}

/// The body of a response: all of it, or a stream that goes on. Dropped before its end, it tells the server that its reader
/// is gone.
pub struct ResponseBody {
    rest: Rest,
    /// As long as it is not at its end, its connection is not silent.
    underway: Option<Underway>,
}

enum Rest {
    Whole(Option<Bytes>),
    Stream(Exchange),
    Broken,
    Over,
}

impl ResponseBody {
    const fn of(rest: Rest) -> Self {
        Self { rest, underway: None }
    }

    /// A response that cannot be: whoever writes it closes the connection.
    fn broken() -> Response<Self> {
        let mut response = Response::new(Self::of(Rest::Broken));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut bytes = Vec::new();
        let output = match &mut self.rest {
            Rest::Whole(whole) => return Poll::Ready(whole.take().map(|bytes| Ok(Frame::data(bytes)))),
            Rest::Stream(exchange) => exchange.poll(&mut bytes, cx),
            Rest::Broken => Output::Cut,
            Rest::Over => Output::End,
        };
        match output {
            Output::Wait => Poll::Pending,
            Output::Bytes => Poll::Ready(Some(Ok(Frame::data(Bytes::from(bytes))))),
            Output::End => {
                self.rest = Rest::Over;
                Poll::Ready(None)
            }
            // HTTP/1.1 then closes without the last chunk, HTTP/2 resets the stream: the reader sees that it is not whole.
            _ => {
                self.rest = Rest::Over;
                Poll::Ready(Some(Err(ErrorKind::ConnectionAborted.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.rest, Rest::Whole(None) | Rest::Over)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Rest::Whole(whole) => SizeHint::with_exact(whole.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Rest::Over => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("is_end_stream", &self.is_end_stream()).finish_non_exhaustive()
    }
}
