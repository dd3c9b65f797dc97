//! One connection's bytes, and the facts about them: how many the network took, whether all were flushed, how
//! the other side ended.
//!
//! Facts reported: bytes written, below TLS; bytes taken from hyper, above it; that hyper held nothing back
//! when it last flushed; the kind of the connection's end. Steps carried out: none. What the facts mean is not
//! known here.
//!
//! Rule: over HTTP/1.1, a failure to write is not shown to hyper once a request has begun. The server may have
//! answered before it closed, and hyper would stop reading; the read side tells how the connection ended. And
//! on a fresh connection nothing is read before something of the request was written: the server may speak
//! early, and hyper would take it for noise on an idle connection.

use std::io::{self, ErrorKind, Read};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_sse_core::exchange::BreakKind;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::chunks::Walk;
use crate::request::Progress;

/// What is known of a connection.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Bytes that the network took since the request began, those of TLS included.
    written: u64,
    /// Bytes that were taken from hyper since then.
    taken: u64,
    /// The request that was begun last, over HTTP/1.1.
    request: Option<Arc<Progress>>,
    /// Whether all of it was given to the network.
    pub(crate) is_sent: bool,
    /// How the other side ended, once it has.
    pub(crate) end: Option<BreakKind>,
    /// How far the response is read.
    pub(crate) walk: Walk,
    /// Whether reading waits for the first byte of the request to be taken.
    is_withheld: bool,
    /// Who waits for that.
    reader: Option<Waker>,
    /// Whether the socket is asked itself, and not only the reactor.
    looks_now: bool,
}

impl Facts {
    /// Whether the network took any byte of the request.
    pub(crate) const fn has_begun(&self) -> bool {
        self.request.is_some() && self.taken > 0 && self.written > 0
    }
}

/// The facts about one connection, shared by its layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<Facts>>);

impl Meter {
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins, the only one for now; on a fresh connection it is the first.
    pub(crate) fn begin(&self, request: Arc<Progress>, is_fresh: bool) {
        let mut facts = self.facts();
        facts.is_withheld = is_fresh;
        (facts.written, facts.taken, facts.is_sent) = (0, 0, false);
        facts.request = Some(request);
        facts.walk = Walk::default();
    }

    /// Lets `look` read what is there at this moment, whether the reactor has heard of it or not.
    pub(crate) fn at_once<T>(&self, look: impl FnOnce() -> T) -> T {
        self.facts().looks_now = true;
        let seen = look();
        self.facts().looks_now = false;
        seen
    }

    /// How the connection ended; that it is closed, if it did not tell.
    pub(crate) fn end(&self) -> BreakKind {
        self.facts().end.unwrap_or(BreakKind::Closed)
    }
}

/// A socket that counts what it takes.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: TcpStream,
    meter: Meter,
}

/// A connection: a socket, with TLS or without.
#[derive(Debug)]
pub(crate) struct Io {
    transport: Transport,
    meter: Meter,
}

#[derive(Debug)]
enum Transport {
    Plain(Socket),
    Tls(Box<Tls>),
}

#[derive(Debug)]
struct Tls {
    stream: TlsStream<Socket>,
    /// Why nothing more can be read.
    failure: Option<io::Error>,
}

impl Socket {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self { socket, meter: Meter::default() }
    }
}

impl Io {
    pub(crate) fn plain(socket: Socket) -> Self {
        Self { meter: socket.meter.clone(), transport: Transport::Plain(socket) }
    }

    pub(crate) fn tls(stream: TlsStream<Socket>) -> Self {
        let meter = stream.get_ref().0.meter.clone();
        Self { meter, transport: Transport::Tls(Box::new(Tls { stream, failure: None })) }
    }

    /// Whether the handshake agreed on HTTP/2.
    pub(crate) fn has_agreed_on_http2(&self) -> bool {
        match &self.transport {
            Transport::Plain(_) => false,
            Transport::Tls(tls) => tls.stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// What a write or a flush came to, as hyper is to see it.
    fn shown<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(Err(_)) if self.meter.facts().has_begun() => Poll::Pending,
            result => result,
        }
    }

    fn note_taken(&self, result: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = result {
            let mut facts = self.meter.facts();
            facts.taken += *bytes as u64;
            facts.is_withheld = false;
            if let Some(reader) = facts.reader.take() {
                reader.wake();
            }
        }
    }
}

impl Drop for Io {
    /// A farewell, if nothing else is still to be written: what is left of a request must not follow late.
    fn drop(&mut self) {
        if let Transport::Tls(tls) = &mut self.transport {
            let (socket, session) = tls.stream.get_mut();
            if !session.wants_write() {
                session.send_close_notify();
                // A peer that does not listen any more needs none.
                session.write_tls(&mut AtOnce(&socket.socket)).ok();
            }
        }
    }
}

/// Writes what can be written without waiting.
struct AtOnce<'a>(&'a TcpStream);

impl io::Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tls {
    /// What was deciphered before a failure is given out first.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.failure.is_none() {
            match Pin::new(&mut self.stream).poll_read(cx, buffer) {
                Poll::Ready(Err(error)) => self.failure = Some(error),
                result => return result,
            }
        }
        let read = self.stream.get_mut().1.reader().read(buffer.initialize_unfilled());
        match read {
            Ok(bytes @ 1..) => buffer.advance(bytes),
            _ => {
                if let Some(failure) = &self.failure {
                    return Poll::Ready(Err(io::Error::new(failure.kind(), failure.to_string())));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut facts = self.meter.facts();
        if facts.is_withheld {
            facts.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(facts);
        let (before, has_room) = (buffer.filled().len(), buffer.remaining() > 0);
        let result = match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Transport::Tls(tls) => tls.poll_read(cx, buffer),
        };
        let mut facts = self.meter.facts();
        match &result {
            Poll::Ready(Ok(())) => match buffer.filled().get(before..).unwrap_or_default() {
                [] if has_room => facts.end = Some(BreakKind::Closed),
                bytes => facts.walk.take(bytes),
            },
            Poll::Ready(Err(error)) => facts.end = Some(break_kind(error)),
            Poll::Pending => {}
        }
        drop(facts);
        result
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Transport::Tls(tls) => Pin::new(&mut tls.stream).poll_write(cx, bytes),
        };
        self.note_taken(&result);
        self.shown(result)
    }

    /// hyper flushes only when it has given all that it holds, so a flush that is done after the request's
    /// last bytes were taken from us means that all of it was given to the network.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Tls(tls) => Pin::new(&mut tls.stream).poll_flush(cx),
        };
        if let Poll::Ready(Ok(())) = result {
            let mut facts = self.meter.facts();
            facts.is_sent |= facts.request.as_ref().is_some_and(|request| request.is_all_taken());
        }
        self.shown(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Tls(tls) => Pin::new(&mut tls.stream).poll_shutdown(cx),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.socket).poll_read(cx, buffer);
        if result.is_ready() || !self.meter.facts().looks_now {
            return result;
        }
        match (&*SockRef::from(&self.socket)).read(buffer.initialize_unfilled()) {
            Ok(bytes) => buffer.advance(bytes),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.note_written(&result);
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

impl Socket {
    fn note_written(&self, result: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = result {
            self.meter.facts().written += *bytes as u64;
        }
    }
}

/// What kind of break an error of input or output is.
pub(crate) fn break_kind(error: &io::Error) -> BreakKind {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => BreakKind::Reset,
        ErrorKind::UnexpectedEof => BreakKind::TlsTruncated,
        _ => BreakKind::Io,
    }
}
