//! One connection's bytes, with TLS or without, and the facts about them.
//!
//! Facts reported: whether any byte of a request was given to the network, and whether all of it was; whether the last
//! chunk of its response came; how the other side ended; whether it has anything to say while nobody asks. Steps carried
//! out: none. What the facts mean is not known here.
//!
//! Rules: what the network took is counted below TLS, what hyper gave and got above it. Over HTTP/1.1, a failure to write
//! is not shown to hyper once a request has begun. The server may have answered before it closed, and hyper would stop
//! reading; the read side tells how the connection ended. And nothing is read before something of the request was taken:
//! the server may speak early, and hyper would take it for noise on an idle connection. What was deciphered before a
//! damaged record is given out before it.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use mcp_sse_core::exchange::{BreakKind, Carriage};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

/// A socket, and the facts about it, shared by whoever uses the connection.
pub(crate) struct Meter {
    /// Behind a lock that nobody waits for: only to its owner does tokio lend a socket for reads without a system call
    /// that tells what is known.
    socket: Mutex<TcpStream>,
    /// Since the last request began, over HTTP/1.1.
    carriage: Mutex<Carriage>,
}

impl Meter {
    pub(crate) fn of(socket: TcpStream) -> Arc<Self> {
        Arc::new(Self { socket: Mutex::new(socket), carriage: Mutex::default() })
    }

    pub(crate) fn carriage(&self) -> MutexGuard<'_, Carriage> {
        self.carriage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn socket(&self) -> MutexGuard<'_, TcpStream> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins, the only one for now.
    pub(crate) fn begin(&self, body_bytes: usize) {
        *self.carriage() = Carriage::of_request(body_bytes);
    }

    /// Whether there is anything to read at this moment, an end included; the socket itself is asked, since the reactor
    /// may not have heard of it yet.
    pub(crate) fn has_news(&self) -> bool {
        let peeked = SockRef::from(&*self.socket()).peek(&mut [MaybeUninit::uninit()]);
        !peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// How the connection ended; that it is closed, if it did not tell.
    pub(crate) fn end(&self) -> BreakKind {
        self.carriage().end().unwrap_or(BreakKind::Closed)
    }
}

/// The socket, which notes that it was written to.
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
        Pin::new(&mut *self.meter.socket()).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut *self.meter.socket()).poll_write(cx, bytes));
        self.meter.carriage().on_written(*result.as_ref().unwrap_or(&0));
        Poll::Ready(result)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.meter.socket()).poll_shutdown(cx)
    }
}

/// What is spoken over: the socket, or TLS over it, whose handshake is done.
pub(crate) type Transport = Either<Socket, Box<TlsStream<Socket>>>;

/// A connection.
pub(crate) struct Io {
    pub(crate) transport: Transport,
    pub(crate) meter: Arc<Meter>,
    /// Why nothing more can be deciphered, until it is told.
    pub(crate) failure: Option<io::Error>,
    /// Whether the reader that was put off is woken by what comes, and not by the first byte of the request.
    pub(crate) is_asked: bool,
}

impl Io {
    /// Takes what there is; of a damaged record it is told once all before it was taken.
    fn poll_take(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(failure) = self.failure.take() {
            return Poll::Ready(Err(failure));
        }
        let mut result = ready!(Pin::new(&mut self.transport).poll_read(cx, buffer));
        if result.as_ref().is_err_and(|failure| failure.kind() == ErrorKind::InvalidData) {
            let before = buffer.filled().len();
            let rest = Pin::new(&mut self.transport).poll_read(cx, buffer);
            if rest.is_ready() && buffer.filled().len() > before {
                self.failure = std::mem::replace(&mut result, Ok(())).err();
            }
        }
        Poll::Ready(result)
    }

    /// What a write or a flush came to, as hyper is to see it.
    fn shown<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(Err(_)) if self.meter.carriage().has_begun() => Poll::Pending,
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
        if self.meter.carriage().is_waiting() {
            // Below TLS nothing may come any more, and above it there may be something all the same.
            let is_plain = matches!(self.transport, Either::Left(_));
            self.is_asked = is_plain && self.meter.socket().poll_read_ready(cx).is_pending();
            return Poll::Pending;
        }
        let (before, has_room) = (buffer.filled().len(), buffer.remaining() > 0);
        let result = ready!(self.poll_take(cx, buffer));
        let taken = buffer.filled().get(before..).unwrap_or_default();
        let mut carriage = self.meter.carriage();
        match &result {
            Ok(()) if taken.is_empty() && has_room => carriage.on_end(BreakKind::Closed),
            Ok(()) => carriage.on_read(taken),
            Err(error) => carriage.on_end(BreakKind::from(error)),
        }
        Poll::Ready(result)
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.transport).poll_write(cx, bytes);
        if let Poll::Ready(Ok(taken)) = result {
            let is_first = self.meter.carriage().on_taken(bytes.get(..taken).unwrap_or_default());
            if is_first && !std::mem::take(&mut self.is_asked) {
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
            self.meter.carriage().on_flushed();
        }
        self.shown(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}
