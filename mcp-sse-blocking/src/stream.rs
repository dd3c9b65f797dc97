//! One connection's bytes: a socket, with TLS or without, every wait bounded.
//!
//! Rules: one system call of waiting per method call, so that whoever calls can look at the clock in
//! between; no buffering beyond what TLS needs. What bytes mean is not known here.

use std::io::{self, ErrorKind, Read, Write};
#[cfg(unix)]
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustls::Connection;
#[cfg(unix)]
use socket2::SockRef;

/// So many reads at most find out whether a kept TLS connection has news.
const MAX_IDLE_READS: usize = 8;

/// What a read came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// This many bytes.
    Bytes(usize),
    /// Nothing yet: the wait is over, or there was no need to wait and nothing to give.
    Nothing,
    /// The peer's orderly end.
    End,
    /// The end of the connection without TLS's closing alert.
    Cut,
}

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// Bytes taken from the caller.
    pub(crate) taken: usize,
    /// Bytes given to the network.
    pub(crate) written: usize,
    /// Whether all that was ever taken has been given to the network.
    pub(crate) is_flushed: bool,
}

/// How long to wait for the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// At most so long; `None` is for ever.
    AtMost(Option<Duration>),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Socket,
    tls: Option<Box<Tls>>,
}

/// A socket, and how it was set to wait: saying it again would be a system call for nothing.
#[derive(Debug)]
struct Socket {
    socket: TcpStream,
    is_nonblocking: bool,
    /// How long reads and writes wait; `None` is for ever.
    reads_wait: Option<Duration>,
    writes_wait: Option<Duration>,
}

#[derive(Debug)]
struct Tls {
    session: Connection,
    /// A record that could not be read. What came before it is handed out first.
    failure: Option<rustls::Error>,
}

impl Stream {
    pub(crate) const fn plain(socket: TcpStream) -> Self {
        Self { socket: Socket::new(socket), tls: None }
    }

    pub(crate) fn tls(socket: TcpStream, session: impl Into<Connection>) -> Self {
        Self { socket: Socket::new(socket), tls: Some(Box::new(Tls { session: session.into(), failure: None })) }
    }

    /// Whether the TLS handshake, if there is any, is done and all of it sent.
    pub(crate) fn is_ready(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.session.is_handshaking() && !tls.session.wants_write())
    }

    /// One step of the TLS handshake, waiting once at most.
    pub(crate) fn handshake(&mut self, wait: Wait) -> io::Result<()> {
        let Self { socket, tls: Some(tls) } = self else {
            return Ok(());
        };
        let session = &mut tls.session;
        if session.wants_write() {
            return or_nothing(session.write_tls(socket.for_write(wait)?)).map(drop);
        }
        if or_nothing(session.read_tls(socket.for_read(wait)?))? == Some(0) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        session.process_new_packets().map(drop).map_err(|error| {
            // The peer learns why, if it still listens.
            socket.for_write(wait).and_then(|socket| session.write_tls(socket)).ok();
            io::Error::new(ErrorKind::InvalidData, error)
        })
    }

    /// Reads into `buffer`, waiting once at most.
    pub(crate) fn read(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<Input> {
        let Self { socket, tls } = self;
        let Some(tls) = tls else {
            return Ok(match or_nothing(socket.for_read(wait)?.read(buffer))? {
                None => Input::Nothing,
                Some(0) => Input::End,
                Some(bytes) => Input::Bytes(bytes),
            });
        };
        if let Some(input) = tls.plaintext(buffer)? {
            return Ok(input);
        }
        if or_nothing(tls.session.read_tls(socket.for_read(wait)?))?.is_none() {
            return Ok(Input::Nothing);
        }
        tls.process();
        Ok(tls.plaintext(buffer)?.unwrap_or(Input::Nothing))
    }

    /// Writes from `bytes`, waiting once at most. With nothing left to take it flushes what TLS holds.
    pub(crate) fn write(&mut self, bytes: &[u8], wait: Wait) -> io::Result<Output> {
        let Self { socket, tls } = self;
        let socket = socket.for_write(wait)?;
        let Some(Tls { session, .. }) = tls.as_deref_mut() else {
            let written = or_nothing(socket.write(bytes))?.unwrap_or(0);
            return Ok(Output { taken: written, written, is_flushed: true });
        };
        let taken = session.writer().write(bytes)?;
        let written = or_nothing(session.write_tls(socket))?.unwrap_or(0);
        Ok(Output { taken, written, is_flushed: !session.wants_write() })
    }

    /// Says that nothing more will be written; what the peer sends can still be read.
    #[cfg(feature = "server")]
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if let Some(Tls { session, .. }) = self.tls.as_deref_mut() {
            session.send_close_notify();
            // A peer that does not take it sees the end of the connection.
            session.write_tls(self.socket.for_write(Wait::No)?).ok();
        }
        self.socket.socket.shutdown(Shutdown::Write)
    }

    /// Whether the peer has sent something or closed, found without waiting; nothing of it is lost. A kept
    /// connection on which this is so cannot be used again.
    pub(crate) fn has_news(&mut self) -> bool {
        let Self { socket, tls } = self;
        let Some(tls) = tls else {
            return !matches!(or_nothing(socket.peek()), Ok(None));
        };
        let Ok(socket) = socket.for_read(Wait::No) else {
            return true;
        };
        // Records that carry nothing for us, such as session tickets, are no news; a flood of them is.
        for _ in 0..MAX_IDLE_READS {
            if tls.is_readable() {
                break;
            }
            match or_nothing(tls.session.read_tls(socket)) {
                Ok(None) => return false,
                Ok(Some(0)) | Err(_) => return true,
                Ok(Some(_)) => {}
            }
        }
        true
    }
}

impl Tls {
    /// What is ready to be read, if anything.
    fn plaintext(&mut self, buffer: &mut [u8]) -> io::Result<Option<Input>> {
        match self.session.reader().read(buffer) {
            Ok(0) => Ok(Some(Input::End)),
            Ok(bytes) => Ok(Some(Input::Bytes(bytes))),
            Err(error) => match (error.kind(), &self.failure) {
                (_, Some(failure)) => Err(io::Error::new(ErrorKind::InvalidData, failure.clone())),
                (ErrorKind::WouldBlock, None) => Ok(None),
                (ErrorKind::UnexpectedEof, None) => Ok(Some(Input::Cut)),
                _ => Err(error),
            },
        }
    }

    /// Reads the records that have come.
    fn process(&mut self) -> Option<rustls::IoState> {
        match self.session.process_new_packets() {
            Ok(state) => Some(state),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    /// Whether data, the end or a failure is there to be read.
    fn is_readable(&mut self) -> bool {
        self.process().is_none_or(|state| state.plaintext_bytes_to_read() > 0 || state.peer_has_closed())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // What is still pending of a request that was given up must not go out, or it would be whole over there.
        if let Some(Tls { session, .. }) = self.tls.as_deref_mut().filter(|tls| !tls.session.wants_write()) {
            session.send_close_notify();
            // A peer that does not listen any more needs no farewell.
            self.socket.for_write(Wait::No).and_then(|socket| session.write_tls(socket)).ok();
        }
        self.socket.socket.shutdown(Shutdown::Both).ok();
    }
}

impl Socket {
    const fn new(socket: TcpStream) -> Self {
        Self { socket, is_nonblocking: false, reads_wait: None, writes_wait: None }
    }

    /// The socket, set for a read that waits so long at most.
    fn for_read(&mut self, wait: Wait) -> io::Result<&mut TcpStream> {
        if let Some(most) = self.block(wait)? {
            if let Some(most) = changed(self.reads_wait, most) {
                self.socket.set_read_timeout(most)?;
                self.reads_wait = most;
            }
        }
        Ok(&mut self.socket)
    }

    /// The socket, set for a write that waits so long at most.
    fn for_write(&mut self, wait: Wait) -> io::Result<&mut TcpStream> {
        if let Some(most) = self.block(wait)? {
            if let Some(most) = changed(self.writes_wait, most) {
                self.socket.set_write_timeout(most)?;
                self.writes_wait = most;
            }
        }
        Ok(&mut self.socket)
    }

    /// Sets whether it waits at all, and gives how long, if it does.
    fn block(&mut self, wait: Wait) -> io::Result<Option<Option<Duration>>> {
        let is_nonblocking = wait == Wait::No;
        if self.is_nonblocking != is_nonblocking {
            self.socket.set_nonblocking(is_nonblocking)?;
            self.is_nonblocking = is_nonblocking;
        }
        Ok(match wait {
            Wait::No => None,
            Wait::AtMost(most) => Some(most),
        })
    }

    /// Looks for bytes, without waiting and without taking any.
    #[cfg(unix)]
    fn peek(&self) -> io::Result<usize> {
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        SockRef::from(&self.socket).recv_with_flags(&mut [MaybeUninit::uninit()], flags)
    }

    /// Looks for bytes, without waiting and without taking any.
    #[cfg(not(unix))]
    fn peek(&mut self) -> io::Result<usize> {
        self.for_read(Wait::No)?.peek(&mut [0])
    }
}

/// The wait to be set instead of the one that is; nothing, if that will do. A wait of seconds may be over before its
/// time, down to half of it, since whoever waits looks at the clock: so one that is a little shorter from call to call is
/// set once.
fn changed(set: Option<Duration>, wanted: Option<Duration>) -> Option<Option<Duration>> {
    let Some(wanted) = wanted else {
        return set.map(|_| None);
    };
    if wanted >= Duration::from_secs(1) {
        if set.is_some_and(|set| set <= wanted && set >= wanted / 2) {
            return None;
        }
        return Some(Some(wanted / 4 * 3));
    }
    // A time-out of zero would mean none; one below a millisecond would be rounded to it.
    let wanted = Some(wanted.max(Duration::from_millis(1)));
    (set != wanted).then_some(wanted)
}

/// A wait that is over is no error, and an interrupted one is tried again by whoever looks at the clock.
fn or_nothing(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}
