//! A request as hyper takes it: its head, and a body that tells how much of it was taken.
//!
//! Facts reported: that hyper took any of the body, and that it took all of it. Steps carried out: the head of
//! `Step::Send`, for the version of HTTP that the connection speaks.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header, uri};
use http_body::{Body, Frame, SizeHint};
use mcp_sse_core::client::HttpRequest;

/// A body is given to hyper in pieces of this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// How much of a request's body hyper took.
#[derive(Debug, Default)]
pub(crate) struct Progress(AtomicU8);

/// Nothing was taken.
const NONE: u8 = 0;
/// Some was taken.
const ANY: u8 = 1;
/// All was taken.
const ALL: u8 = 2;
/// Nothing was taken, and nothing will be.
const WITHDRAWN: u8 = 3;

impl Progress {
    pub(crate) fn is_any_taken(&self) -> bool {
        matches!(self.0.load(Ordering::Acquire), ANY | ALL)
    }

    pub(crate) fn is_all_taken(&self) -> bool {
        self.0.load(Ordering::Acquire) == ALL
    }

    /// Makes sure that nothing more is taken, if nothing was; false if it was. A request may wait within hyper for a
    /// stream, and hyper sends it even when nobody waits for the response any more: without its body it is none.
    pub(crate) fn withdraw(&self) -> bool {
        let taken = self.0.compare_exchange(NONE, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(WITHDRAWN)
    }

    /// Notes that some is taken; false if it was withdrawn.
    fn take(&self) -> bool {
        self.0.compare_exchange(NONE, ANY, Ordering::AcqRel, Ordering::Acquire) != Err(WITHDRAWN)
    }
}

/// The caller has withdrawn the request before any of its body was taken.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the request was withdrawn")]
pub(crate) struct Withdrawn;

/// The body of a request.
#[derive(Debug)]
pub(crate) struct RequestBody {
    rest: Bytes,
    progress: Arc<Progress>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Withdrawn;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Withdrawn>>> {
        if !self.progress.take() {
            return Poll::Ready(Some(Err(Withdrawn)));
        }
        let bytes = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(bytes);
        if self.rest.is_empty() {
            self.progress.0.store(ALL, Ordering::Release);
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
