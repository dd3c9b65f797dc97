//! A request's body as hyper takes it.
//!
//! Facts reported: that hyper took any of it. Steps carried out: withdrawing a request of which nothing was taken.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A body is given to hyper in pieces of this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Whether hyper took any of a request's body; without a value until it did, or never will.
#[derive(Debug, Default)]
pub(crate) struct Progress(OnceLock<bool>);

impl Progress {
    /// Makes sure that nothing more is taken, if nothing was; false if it was. A request may wait within hyper for a
    /// stream, and hyper sends it even when nobody waits for the response any more: without its body it is none.
    pub(crate) fn withdraw(&self) -> bool {
        !self.0.get_or_init(|| false)
    }
}

/// The body of a request.
pub(crate) struct RequestBody {
    rest: Bytes,
    pub(crate) progress: Arc<Progress>,
}

impl RequestBody {
    /// These bytes. Nobody asks for a body that is empty: it counts as taken.
    pub(crate) fn new(rest: Bytes) -> Self {
        let taken = if rest.is_empty() { OnceLock::from(true) } else { OnceLock::new() };
        Self { rest, progress: Arc::new(Progress(taken)) }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if !self.progress.0.get_or_init(|| true) {
            return Poll::Ready(Some(Err(ErrorKind::ConnectionAborted.into())));
        }
        let piece_bytes = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(piece_bytes);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
