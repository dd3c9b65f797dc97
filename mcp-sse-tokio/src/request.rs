//! A request as hyper takes it: its head, and a body that tells how much of it was taken.
//!
//! Facts reported: that hyper took any of the body, and that it took all of it. Steps carried out: the head of
//! `Step::Send`, for the version of HTTP that the connection speaks.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header, uri};
use http_body::{Body, Frame, SizeHint};
use mcp_sse_core::client::HttpRequest;

/// A body is given to hyper in pieces of this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// How much of a request's body hyper took.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    any: AtomicBool,
    all: AtomicBool,
}

impl Progress {
    pub(crate) fn is_any_taken(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn is_all_taken(&self) -> bool {
        self.all.load(Ordering::Acquire)
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
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(bytes);
        self.progress.any.store(true, Ordering::Release);
        if self.rest.is_empty() {
            self.progress.all.store(true, Ordering::Release);
        }
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

/// The request to give to hyper. HTTP/1.1 names the target and `Host`, HTTP/2 the whole URL.
pub(crate) fn build(
    request: &HttpRequest,
    body: Bytes,
    is_http2: bool,
    progress: Arc<Progress>,
) -> Result<Request<RequestBody>, http::Error> {
    let uri: Uri = request.endpoint.as_str().parse()?;
    let mut parts = uri.into_parts();
    let authority = parts.authority.as_ref().map_or("", uri::Authority::as_str);
    let mut host = None;
    if !is_http2 {
        host = Some(HeaderValue::from_str(authority)?);
        (parts.scheme, parts.authority) = (None, None);
    }
    let mut built = Request::builder().method(request.method).uri(Uri::from_parts(parts)?);
    if let Some(host) = host {
        built = built.header(header::HOST, host);
    }
    for (name, value) in &request.headers {
        built = built.header(HeaderName::try_from(&**name)?, HeaderValue::from_str(value)?);
    }
    built.body(RequestBody { rest: body, progress })
}
