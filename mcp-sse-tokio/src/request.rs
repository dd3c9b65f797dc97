//! A request as hyper takes it: its head, and a body that tells how much of it was taken.
//!
//! Facts reported: that hyper took any of the body, and that it took all of it. Steps carried out: the head of
//! `Step::Send`, for the version of HTTP that the connection speaks.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header, uri};
use http_body::{Body, Frame, SizeHint};
use mcp_sse_core::client::HttpRequest;

use crate::proxy::Proxy;

/// A body is given to hyper in pieces of this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// How much of a request's body hyper took.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Taken>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Taken {
    #[default]
    Nothing,
    Some,
    All,
    /// Nothing, and nothing will be.
    Withdrawn,
}

impl Progress {
    /// Of a body of this size; one that is empty is never asked for.
    pub(crate) fn of(body: &Bytes) -> Self {
        Self(Mutex::new(if body.is_empty() { Taken::All } else { Taken::Nothing }))
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_all_taken(&self) -> bool {
        *self.taken() == Taken::All
    }

    /// Makes sure that nothing more is taken, if nothing was; false if it was. A request may wait within hyper for a
    /// stream, and hyper sends it even when nobody waits for the response any more: without its body it is none.
    pub(crate) fn withdraw(&self) -> bool {
        let mut taken = self.taken();
        if *taken == Taken::Nothing {
            *taken = Taken::Withdrawn;
        }
        *taken == Taken::Withdrawn
    }
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct RequestBody {
    rest: Bytes,
    progress: Arc<Progress>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Self { rest, progress } = &mut *self;
        let mut taken = progress.taken();
        if *taken == Taken::Withdrawn {
            return Poll::Ready(Some(Err(ErrorKind::ConnectionAborted.into())));
        }
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        *taken = if rest.is_empty() { Taken::All } else { Taken::Some };
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// The request to give to hyper. HTTP/1.1 names the target and `Host`, or the whole URL to a proxy that sends it on;
/// HTTP/2 the whole URL.
pub(crate) fn build(
    request: &HttpRequest,
    body: Bytes,
    is_http2: bool,
    proxy: Option<&Proxy>,
    progress: Arc<Progress>,
) -> Result<Request<RequestBody>, http::Error> {
    let uri: Uri = request.endpoint.as_str().parse()?;
    let target = uri.path_and_query().filter(|_| !is_http2 && proxy.is_none()).cloned().map(Uri::from);
    let mut built = Request::builder().method(request.method).uri(target.unwrap_or_else(|| uri.clone()));
    if !is_http2 {
        built = built.header(header::HOST, uri.authority().map_or("", uri::Authority::as_str));
    }
    if let Some(value) = proxy.and_then(|proxy| proxy.authorization.as_ref()) {
        built = built.header(header::PROXY_AUTHORIZATION, value);
    }
    for (name, value) in &request.headers {
        built = built.header(HeaderName::try_from(&**name)?, HeaderValue::from_str(value)?);
    }
    built.body(RequestBody { rest: body, progress })
}
