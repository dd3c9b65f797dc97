//! One connection's bytes, with TLS or without, and the facts about them.
//!
//! Facts reported: whether any byte of a request was given to the network, and whether all of it was; whether the last
//! chunk of its response came; how the other side ended; whether it has anything to say while nobody asks. Steps carried
//! out: none. What the facts mean is not known here.
//!
//! Rules: what the network took is counted below TLS, what hyper gave and got above it. Over HTTP/1.1, a failure to write
//! is not shown to hyper once a request has begun. The server may have answered before it closed, and hyper would stop
//! reading; the read side tells how the connection ended. And on a fresh connection nothing is read before something of
//! the request was taken: the server may speak early, and hyper would take it for noise on an idle connection. What was
//! deciphered before a damaged record is given out before it.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use mcp_sse_core::exchange::BreakKind;
use mcp_sse_core::http::ChunkedResponse;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use crate::request::Progress;

/// What is known of a connection, since its last request began.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Whether any bytes of the request were taken from hyper, and whether the network took any since it began.
    is_taken: bool,
    is_written: bool,
    /// The request that was begun last, over HTTP/1.1, and whether it is the connection's first.
    request: Option<Arc<Progress>>,
    is_fresh: bool,
    /// Whether all of it was given to the network.
    pub(crate) is_sent: bool,
    /// How the other side ended, once it has.
    pub(crate) end: Option<BreakKind>,
    /// How far the response is read.
    pub(crate) response: ChunkedResponse,
}

impl Facts {
    /// Whether the network took any byte of the request.
    pub(crate) const fn has_begun(&self) -> bool {
        self.request.is_some() && self.is_taken && self.is_written
    }
}

/// A socket, and the facts about it, shared by whoever uses the connection.
#[derive(Debug)]
pub(crate) struct Meter {
    socket: TcpStream,
    facts: Mutex<Facts>,
}

impl Meter {
    pub(crate) fn of(socket: TcpStream) -> Arc<Self> {
        Arc::new(Self { socket, facts: Mutex::default() })
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins, the only one for now.
    pub(crate) fn begin(&self, request: Arc<Progress>, is_fresh: bool) {
        *self.facts() = Facts { request: Some(request), is_fresh, ..Facts::default() };
    }

    /// Whether there is anything to read at this moment, an end included; the socket itself is asked, since the reactor
    /// may not have heard of it yet.
    pub(crate) fn has_news(&self) -> bool {
        let peeked = SockRef::from(&self.socket).peek(&mut [MaybeUninit::uninit()]);
        !peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// How the connection ended; that it is closed, if it did not tell.
    pub(crate) fn end(&self) -> BreakKind {
        self.facts().end.unwrap_or(BreakKind::Closed)
    }
}

/// The socket, which notes that it was written to.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) meter: Arc<Meter>,
    /// What was read from it too early, and comes first: a server of HTTP/2 may speak as soon as a tunnel is open.
    pub(crate) early: Bytes,
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let bytes = self.early.len().min(buffer.remaining());
            buffer.put_slice(&self.early.split_to(bytes));
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(self.meter.socket.poll_read_ready(cx))?;
            match self.meter.socket.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result.map(|bytes| buffer.advance(bytes))),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.meter.socket.poll_write_ready(cx))?;
            match self.meter.socket.try_write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => {
                    self.meter.facts().is_written |= matches!(result, Ok(1..));
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.meter.socket).shutdown(Shutdown::Write))
    }
}

/// What is spoken over: the socket, or TLS over it, whose handshake is done.
pub(crate) type Transport = Either<Socket, Box<TlsStream<Socket>>>;

/// A connection.
#[derive(Debug)]
pub(crate) struct Io {
    transport: Transport,
    meter: Arc<Meter>,
    /// Why nothing more can be deciphered, until it is told.
    failure: Option<io::Error>,
}

impl Io {
    pub(crate) const fn new(transport: Transport, meter: Arc<Meter>) -> Self {
        Self { transport, meter, failure: None }
    }

    /// Takes what there is; of a damaged record it is told once all before it was taken.
    fn poll_take(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(failure) = self.failure.take() {
            return Poll::Ready(Err(failure));
        }
        let transport = Pin::new(&mut self.transport);
        match ready!(transport.poll_read(cx, buffer)) {
            Err(failure) if failure.kind() == ErrorKind::InvalidData => {
                let before = buffer.filled().len();
                let rest = Pin::new(&mut self.transport).poll_read(cx, buffer);
                if rest.is_pending() || buffer.filled().len() == before {
                    return Poll::Ready(Err(failure));
                }
                self.failure = Some(failure);
                Poll::Ready(Ok(()))
            }
            result => Poll::Ready(result),
        }
    }

    /// What a write or a flush came to, as hyper is to see it.
    fn shown<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(Err(_)) if self.meter.facts().has_begun() => Poll::Pending,
            result => result,
        }
    }
}

impl Drop for Io {
    /// A farewell, if nothing else is still to be written: what is left of a request must not follow late.
    fn drop(&mut self) {
        if let Either::Right(tls) = &mut self.transport {
            if !tls.get_ref().1.wants_write() {
                // A peer that does not listen any more needs none.
                drop(Pin::new(tls).poll_shutdown(&mut Context::from_waker(Waker::noop())));
            }
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let is_withheld = {
            let facts = self.meter.facts();
            facts.is_fresh && !facts.is_taken
        };
        if is_withheld {
            return Poll::Pending;
        }
        let (before, has_room) = (buffer.filled().len(), buffer.remaining() > 0);
        let result = ready!(self.poll_take(cx, buffer));
        let taken = buffer.filled().get(before..).unwrap_or_default();
        let mut facts = self.meter.facts();
        match &result {
            Ok(()) if taken.is_empty() && has_room => facts.end = Some(BreakKind::Closed),
            Ok(()) => facts.response.follow(taken),
            Err(error) => facts.end = Some(BreakKind::from(error)),
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.transport).poll_write(cx, bytes);
        if let Poll::Ready(Ok(1..)) = result {
            let was_taken = std::mem::replace(&mut self.meter.facts().is_taken, true);
            if !was_taken {
                // What was withheld may be read now. Over HTTP/1.1 the one who writes is the one who reads.
                cx.waker().wake_by_ref();
            }
        }
        self.shown(result)
    }

    /// hyper flushes only when it has given all that it holds, so a flush that is done after the request's
    /// last bytes were taken from us means that all of it was given to the network.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.transport).poll_flush(cx);
        if let Poll::Ready(Ok(())) = result {
            let mut facts = self.meter.facts();
            let is_taken = facts.request.as_ref().is_some_and(|request| request.is_all_taken());
            facts.is_sent |= is_taken && facts.has_begun();
        }
        self.shown(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}
