//! A connection that speaks HTTP, as hyper drives it.
//!
//! Facts reported: none. Steps carried out: HTTP's side of connecting. An HTTP/1.1 connection is driven by the
//! call that uses it and is closed by dropping it; an HTTP/2 connection is shared, and driven by a task that
//! ends when the last handle and the last stream are gone.

use std::future::Future;

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_sse_core::exchange::BreakKind;
use tokio::sync::watch;

use crate::io::{Io, Meter};
use crate::request::RequestBody;

/// hyper takes no smaller buffer.
const MIN_BUFFER_BYTES: usize = 8 << 10;
/// More header lines than any server sends; the bound on a head's bytes holds besides.
const MAX_HEADERS: usize = 256;
/// What a stream over HTTP/2 may send ahead of its reader. All that is unread is bounded by it for each call,
/// so the connection's own window is as large as it can be: a slow reader holds nobody else up.
const STREAM_WINDOW: u32 = 1 << 20;
/// The largest window there is (RFC 9113 section 6.9.1).
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

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
    pub(crate) connection: Option<http1::Connection<TokioIo<Io>, RequestBody>>,
    pub(crate) sender: http1::SendRequest<RequestBody>,
    pub(crate) meter: Meter,
}

/// A handle to a connection that calls share.
#[derive(Clone, Debug)]
pub(crate) struct Http2 {
    pub(crate) sender: http2::SendRequest<RequestBody>,
    pub(crate) meter: Meter,
    /// Fails once hyper takes no more requests.
    taking: watch::Receiver<()>,
}

impl Http2 {
    /// Ready once hyper takes no more requests. Those that it has taken may still be answered.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut taking = self.taking.clone();
        async move { while taking.changed().await.is_ok() {} }
    }
}

impl Link {
    pub(crate) async fn handshake(io: Io, is_http2: bool, max_head_bytes: usize) -> Result<Self, BreakKind> {
        let meter = io.meter();
        let io = TokioIo::new(io);
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
}
