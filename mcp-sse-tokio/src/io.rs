//! One connection's bytes, with TLS or without, and the facts about them.
//!
//! Facts reported: whether any byte of a request was given to the network, and whether all of it was; whether the last
//! chunk of its response came; how the other side ended. Steps carried out: none. What the facts mean is not known here.
//!
//! Rules: over HTTP/1.1, a failure to write is not shown to hyper once a request has begun. The server may have
//! answered before it closed, and hyper would stop reading; the read side tells how the connection ended. And on a
//! fresh connection nothing is read before something of the request was taken: the server may speak early, and hyper
//! would take it for noise on an idle connection. What was deciphered before a damaged record is given out before it.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use mcp_sse_core::exchange::BreakKind;
use mcp_sse_core::http::ChunkedResponse;
use rustls::ClientConnection;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::request::Progress;

/// What is known of a connection, since its last request began.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Whether any bytes of the request were taken from hyper, and whether the network took any since it began.
    is_taken: bool,
    is_written: bool,
    /// The request that was begun last, over HTTP/1.1.
    request: Option<Arc<Progress>>,
    /// Whether all of it was given to the network.
    pub(crate) is_sent: bool,
    /// How the other side ended, once it has.
    pub(crate) end: Option<BreakKind>,
    /// How far the response is read.
    pub(crate) response: ChunkedResponse,
    /// Whether reading waits for the first byte of the request to be taken, and who waits for that.
    is_withheld: bool,
    reader: Option<Waker>,
    /// Whether the socket is asked itself, and not only the reactor.
    looks_now: bool,
}

impl Facts {
    /// Whether the network took any byte of the request.
    pub(crate) const fn has_begun(&self) -> bool {
        self.request.is_some() && self.is_taken && self.is_written
    }
}

/// The facts about one connection, shared with whoever uses it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<Facts>>);

impl Meter {
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins, the only one for now; on a fresh connection it is the first.
    pub(crate) fn begin(&self, request: Arc<Progress>, is_fresh: bool) {
        *self.facts() = Facts { request: Some(request), is_withheld: is_fresh, ..Facts::default() };
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

/// A connection.
#[derive(Debug)]
pub(crate) struct Io {
    socket: TcpStream,
    tls: Option<Box<Tls>>,
    meter: Meter,
}

#[derive(Debug)]
struct Tls {
    session: ClientConnection,
    /// Why nothing more can be deciphered.
    failure: Option<rustls::Error>,
}

/// The socket as it is at this moment.
struct Now<'a>(&'a TcpStream, &'a Meter);

impl Read for Now<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let looks_now = self.1.facts().looks_now;
        if looks_now { (&*SockRef::from(self.0)).read(buffer) } else { self.0.try_read(buffer) }
    }
}

impl Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.try_write(bytes)?;
        self.1.facts().is_written |= written > 0;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Io {
    /// A connection over this socket; with TLS, its handshake done and all of it sent.
    pub(crate) async fn open(socket: TcpStream, session: Option<ClientConnection>) -> io::Result<Self> {
        let tls = session.map(|session| Box::new(Tls { session, failure: None }));
        let mut io = Self { socket, tls, meter: Meter::default() };
        poll_fn(|cx| io.poll_handshake(cx)).await?;
        Ok(io)
    }

    /// Whether the handshake agreed on HTTP/2.
    pub(crate) fn has_agreed_on_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.session.alpn_protocol() == Some(b"h2"))
    }

    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.tls.as_ref().is_some_and(|tls| tls.session.is_handshaking()) {
            ready!(self.poll_send(cx))?;
            if ready!(self.poll_receive(cx))? == 0 {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
            if let Some(failure) = self.tls.as_ref().and_then(|tls| tls.failure.clone()) {
                return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, failure)));
            }
        }
        self.poll_send(cx)
    }

    /// Gives the network all that TLS holds.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { socket, tls: Some(tls), meter } = self else {
            return Poll::Ready(Ok(()));
        };
        while tls.session.wants_write() {
            ready!(poll_socket(socket, meter, cx, TcpStream::poll_write_ready, |now| tls.session.write_tls(now)))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes records from the network, and deciphers them.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Self { socket, tls: Some(tls), meter } = self else {
            return Poll::Ready(Ok(0));
        };
        let read = |now: &mut Now<'_>| tls.session.read_tls(now);
        let bytes = ready!(poll_socket(socket, meter, cx, TcpStream::poll_read_ready, read))?;
        tls.failure = tls.session.process_new_packets().err();
        if tls.session.wants_write() {
            // An alert, or the answer to a change of keys: the peer gets it if it listens, without being waited for.
            tls.session.write_tls(&mut Now(socket, meter)).ok();
        }
        Poll::Ready(Ok(bytes))
    }

    fn poll_plaintext(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            let Some(tls) = &mut self.tls else {
                let read = |now: &mut Now<'_>| now.read(buffer);
                return poll_socket(&self.socket, &self.meter, cx, TcpStream::poll_read_ready, read);
            };
            match (tls.session.reader().read(buffer), &tls.failure) {
                (Err(error), None) if error.kind() == ErrorKind::WouldBlock => {}
                (Err(_), Some(failure)) => {
                    return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, failure.clone())));
                }
                (result, _) => return Poll::Ready(result),
            }
            ready!(self.poll_receive(cx))?;
        }
    }

    /// How many of these bytes were taken. TLS takes some even if the network takes none yet.
    fn poll_take(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Some(tls) = &mut self.tls else {
            let write = |now: &mut Now<'_>| now.write(bytes);
            return poll_socket(&self.socket, &self.meter, cx, TcpStream::poll_write_ready, write);
        };
        let mut taken = tls.session.writer().write(bytes)?;
        let sent = self.poll_send(cx)?;
        if let (0, Poll::Ready(()), Some(tls)) = (taken, sent, &mut self.tls) {
            taken = tls.session.writer().write(bytes)?;
        }
        if taken > 0 || bytes.is_empty() { Poll::Ready(Ok(taken)) } else { Poll::Pending }
    }

    /// What a write or a flush came to, as hyper is to see it.
    fn shown<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match result {
            Poll::Ready(Err(_)) if self.meter.facts().has_begun() => Poll::Pending,
            result => result,
        }
    }
}

/// Does something with the socket once it is ready for it; at once, if that is asked for.
fn poll_socket<T>(
    socket: &TcpStream,
    meter: &Meter,
    cx: &mut Context<'_>,
    poll_ready: fn(&TcpStream, &mut Context<'_>) -> Poll<io::Result<()>>,
    mut work: impl FnMut(&mut Now<'_>) -> io::Result<T>,
) -> Poll<io::Result<T>> {
    let looks_now = meter.facts().looks_now;
    loop {
        if !looks_now {
            ready!(poll_ready(socket, cx))?;
        }
        match work(&mut Now(socket, meter)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if looks_now {
                    return Poll::Pending;
                }
            }
            result => return Poll::Ready(result),
        }
    }
}

impl Drop for Io {
    /// A farewell, if nothing else is still to be written: what is left of a request must not follow late.
    fn drop(&mut self) {
        if let Some(tls) = self.tls.as_mut().filter(|tls| !tls.session.wants_write()) {
            tls.session.send_close_notify();
            // A peer that does not listen any more needs none.
            tls.session.write_tls(&mut Now(&self.socket, &self.meter)).ok();
        }
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
        let room = buffer.initialize_unfilled();
        let has_room = !room.is_empty();
        let result = ready!(self.poll_plaintext(cx, room));
        let mut facts = self.meter.facts();
        match &result {
            Ok(0) if has_room => facts.end = Some(BreakKind::Closed),
            Ok(bytes) => {
                buffer.advance(*bytes);
                let filled = buffer.filled();
                facts.response.follow(filled.get(filled.len() - bytes..).unwrap_or_default());
            }
            Err(error) => facts.end = Some(break_kind(error)),
        }
        Poll::Ready(result.map(drop))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = self.poll_take(cx, bytes);
        if let Poll::Ready(Ok(1..)) = result {
            let mut facts = self.meter.facts();
            facts.is_taken = true;
            facts.is_withheld = false;
            if let Some(reader) = facts.reader.take() {
                reader.wake();
            }
        }
        self.shown(result)
    }

    /// hyper flushes only when it has given all that it holds, so a flush that is done after the request's
    /// last bytes were taken from us means that all of it was given to the network.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = self.poll_send(cx);
        if let Poll::Ready(Ok(())) = result {
            let mut facts = self.meter.facts();
            let is_taken = facts.request.as_ref().is_some_and(|request| request.is_all_taken());
            facts.is_sent |= is_taken && facts.has_begun();
        }
        self.shown(result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(tls) = &mut self.tls {
            tls.session.send_close_notify();
        }
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
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
