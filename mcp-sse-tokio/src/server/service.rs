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
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use mcp_sse_core::http::RequestHead;
use mcp_sse_core::server::{self as core_server, ExchangeId, Output, ReplyBody, ReplyHead};

use super::Inner;
use super::call::Sender;

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
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { Ok(respond(&inner, request).await) })
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

async fn respond<B: Body>(inner: &Arc<Inner>, request: Request<B>) -> Response<ResponseBody> {
    inner.start();
    let (parts, body) = request.into_parts();
    let (mut exchange, mut wants_body) = Exchange::begin(inner, parts);
    let mut body = pin!(body);
    while wants_body {
        let came = poll_fn(|cx| match body.as_mut().poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Came::Frame(frame)),
            // While it does not come, its time may run out.
            Poll::Pending => exchange.poll_head(cx).map(Came::Head),
        });
        wants_body = match came.await {
            Came::Frame(Some(Ok(frame))) => match frame.into_data() {
                Ok(mut data) => exchange.take_body(&mut data, body.is_end_stream()),
                // Trailers say nothing here.
                Err(_) => true,
            },
            Came::Frame(None) => exchange.take_body(&mut Bytes::new(), true),
            // It broke: nobody will read what is written.
            Came::Frame(Some(Err(_))) => return ResponseBody::broken(),
            Came::Head(Some(head)) => return response(head, exchange),
            Came::Head(None) => return ResponseBody::broken(),
        }
    }
    match poll_fn(|cx| exchange.poll_head(cx)).await {
        Some(head) => response(head, exchange),
        None => ResponseBody::broken(),
    }
}

/// What comes while a request's body is wanted: more of it, or a response to what there is.
enum Came<F> {
    Frame(F),
    Head(Option<ReplyHead>),
}

fn response(head: ReplyHead, mut exchange: Exchange) -> Response<ResponseBody> {
    let body = match head.body {
        ReplyBody::Stream => ResponseBody(Rest::Stream(exchange)),
        whole => {
            exchange.is_over = true;
            ResponseBody(match whole {
                ReplyBody::Whole(bytes) => Rest::Whole(Some(Bytes::from(bytes))),
                _ => Rest::Whole(None),
            })
        }
    };
    let mut response = Response::new(body);
    // The core writes statuses and headers that are some.
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in head.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// An exchange of the core's, which is told when nobody drives it any more.
struct Exchange {
    inner: Arc<Inner>,
    id: ExchangeId,
    is_over: bool,
}

impl Exchange {
    /// Begins an exchange; tells whether the request's body is wanted.
    fn begin(inner: &Arc<Inner>, parts: Parts) -> (Self, bool) {
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut head = RequestHead::new(parts.method.as_str(), target);
        // A target in absolute form, and HTTP/2, name the host as well; where the two differ, neither is believed.
        if let Some(authority) = parts.uri.authority() {
            head.header("Host", authority.as_str().as_bytes());
        }
        for (name, value) in &parts.headers {
            head.header(name.as_str(), value.as_bytes());
        }
        let peer = parts.extensions.get::<SocketAddr>().copied();
        let sender = Arc::new(Sender { peer, headers: parts.headers });
        let (id, wants_body) = inner.with_state(|state, now| {
            add_entropy(&mut state.core);
            let id = state.core.on_request(head, now);
            state.senders.insert(id, sender);
            (id, state.core.wants_body(id))
        });
        (Self { inner: Arc::clone(inner), id, is_over: false }, wants_body)
    }

    /// Gives in a piece of the body, and whether it is the last; tells whether more is wanted.
    fn take_body(&self, data: &mut impl Buf, is_last: bool) -> bool {
        self.inner.with(|core, now| {
            while data.has_remaining() {
                let chunk = data.chunk();
                let taken = chunk.len();
                core.on_body(self.id, chunk, now);
                data.advance(taken);
            }
            if is_last {
                add_entropy(core);
                core.on_body_end(self.id, now);
            }
            core.wants_body(self.id)
        })
    }

    fn poll(&mut self, out: &mut Vec<u8>, cx: &Context<'_>) -> Output {
        let id = self.id;
        let output = self.inner.with_state(|state, now| {
            let output = state.core.poll_output(id, out, now);
            match output {
                Output::Wait => drop(state.wakers.insert(id, cx.waker().clone())),
                // Its handlers are told now who it was, or have been.
                Output::Head(_) => state.headed = Some(id),
                _ => {}
            }
            output
        });
        self.is_over |= matches!(output, Output::End | Output::Cut);
        output
    }

    /// The head, or nothing if the exchange is to be cut.
    fn poll_head(&mut self, cx: &Context<'_>) -> Poll<Option<ReplyHead>> {
        match self.poll(&mut Vec::new(), cx) {
            Output::Wait => Poll::Pending,
            Output::Head(head) => Poll::Ready(Some(head)),
            _ => Poll::Ready(None),
        }
    }
}

/// Random bytes for some sessions.
const ENTROPY_BYTES: usize = 256;

/// Without randomness no session is opened; the core says so to who asks for one.
fn add_entropy(core: &mut core_server::Server) {
    let mut bytes = [0; ENTROPY_BYTES];
    if core.wants_entropy() && getrandom::fill(&mut bytes).is_ok() {
        core.add_entropy(&bytes);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let id = self.id;
        if !self.is_over {
            self.inner.with_state(|state, now| {
                state.core.on_gone(id, now);
                state.wakers.remove(&id);
                state.headed = Some(id);
            });
        }
    }
}

/// The body of a response: all of it, or a stream that goes on. Dropped before its end, it tells the server that its reader
/// is gone.
pub struct ResponseBody(Rest);

enum Rest {
    Whole(Option<Bytes>),
    Stream(Exchange),
    Broken,
    Over,
}

impl ResponseBody {
    /// A response that cannot be: whoever writes it closes the connection.
    fn broken() -> Response<Self> {
        let mut response = Response::new(Self(Rest::Broken));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut bytes = Vec::new();
        let output = match &mut self.0 {
            Rest::Whole(whole) => return Poll::Ready(whole.take().map(|bytes| Ok(Frame::data(bytes)))),
            Rest::Stream(exchange) => exchange.poll(&mut bytes, cx),
            Rest::Broken => Output::Cut,
            Rest::Over => Output::End,
        };
        match output {
            Output::Wait => Poll::Pending,
            Output::Bytes => Poll::Ready(Some(Ok(Frame::data(Bytes::from(bytes))))),
            Output::End => {
                self.0 = Rest::Over;
                Poll::Ready(None)
            }
            // HTTP/1.1 then closes without the last chunk, HTTP/2 resets the stream: the reader sees that it is not whole.
            _ => {
                self.0 = Rest::Over;
                Poll::Ready(Some(Err(ErrorKind::ConnectionAborted.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Rest::Whole(None) | Rest::Over)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
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
