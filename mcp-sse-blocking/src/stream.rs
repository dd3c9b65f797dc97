//! One connection's bytes: a socket, with TLS or without, every wait bounded.
//!
//! Rules: one system call of waiting per method call, so that whoever calls can look at the clock in
//! between; no buffering beyond what TLS needs. What bytes mean is not known here.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustls::ClientConnection;

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
    socket: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Stream {
    pub(crate) const fn plain(socket: TcpStream) -> Self {
        Self { socket, tls: None }
    }

    pub(crate) fn tls(socket: TcpStream, session: ClientConnection) -> Self {
        Self { socket, tls: Some(Box::new(session)) }
    }

    /// Whether the TLS handshake is still under way.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.is_handshaking())
    }

    /// One step of the TLS handshake; `false` if the wait was over first.
    pub(crate) fn handshake(&mut self, wait: Wait) -> io::Result<bool> {
        let Self { socket, tls: Some(session) } = self else {
            return Ok(true);
        };
        prepare(socket, wait)?;
        if session.wants_write() {
            return or_nothing(session.write_tls(socket)).map(|written| written.is_some());
        }
        match or_nothing(session.read_tls(socket))? {
            None => return Ok(false),
            Some(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Some(_) => {}
        }
        if let Err(error) = session.process_new_packets() {
            // The peer learns why, if it still listens.
            session.write_tls(socket).ok();
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        Ok(true)
    }

    /// Reads into `buffer`, waiting once at most.
    pub(crate) fn read(&mut self, buffer: &mut [u8], wait: Wait) -> io::Result<Input> {
        let Self { socket, tls } = self;
        let Some(session) = tls else {
            prepare(socket, wait)?;
            return Ok(match or_nothing(socket.read(buffer))? {
                None => Input::Nothing,
                Some(0) => Input::End,
                Some(bytes) => Input::Bytes(bytes),
            });
        };
        if let Some(input) = read_plaintext(session, buffer)? {
            return Ok(input);
        }
        prepare(socket, wait)?;
        match or_nothing(session.read_tls(socket))? {
            None => return Ok(Input::Nothing),
            Some(0) => {
                return Ok(read_plaintext(session, buffer)?.unwrap_or(Input::Cut));
            }
            Some(_) => {}
        }
        session.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(read_plaintext(session, buffer)?.unwrap_or(Input::Nothing))
    }

    /// Writes from `bytes`, waiting once at most. With nothing left to take it flushes what TLS holds.
    pub(crate) fn write(&mut self, bytes: &[u8], wait: Wait) -> io::Result<Output> {
        let Self { socket, tls } = self;
        prepare(socket, wait)?;
        let Some(session) = tls else {
            let written = or_nothing(socket.write(bytes))?.unwrap_or(0);
            return Ok(Output { taken: written, written, is_flushed: true });
        };
        let taken = session.writer().write(bytes)?;
        let written = or_nothing(session.write_tls(socket))?.unwrap_or(0);
        Ok(Output { taken, written, is_flushed: !session.wants_write() })
    }

    /// Whether the peer has sent something or closed, found without waiting. A kept connection on which this
    /// is so cannot be used again.
    pub(crate) fn has_news(&mut self) -> bool {
        !matches!(self.read(&mut [0], Wait::No), Ok(Input::Nothing))
    }

    /// Whether something can be read without waiting; nothing is taken.
    pub(crate) fn is_readable(&self) -> bool {
        prepare(&self.socket, Wait::No).is_ok() && self.socket.peek(&mut [0]).is_ok()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(session) = &mut self.tls {
            session.send_close_notify();
            if prepare(&self.socket, Wait::No).is_ok() {
                // A peer that does not listen any more needs no farewell.
                session.write_tls(&mut self.socket).ok();
            }
        }
        self.socket.shutdown(Shutdown::Both).ok();
    }
}

/// What TLS has ready, if anything.
fn read_plaintext(session: &mut ClientConnection, buffer: &mut [u8]) -> io::Result<Option<Input>> {
    match session.reader().read(buffer) {
        Ok(0) => Ok(Some(Input::End)),
        Ok(bytes) => Ok(Some(Input::Bytes(bytes))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Some(Input::Cut)),
        Err(error) => Err(error),
    }
}

/// Sets how long the socket may wait.
fn prepare(socket: &TcpStream, wait: Wait) -> io::Result<()> {
    match wait {
        Wait::No => socket.set_nonblocking(true),
        Wait::AtMost(most) => {
            // A time-out of zero would mean none; one below a millisecond would be rounded to it.
            let most = most.map(|most| most.max(Duration::from_millis(1)));
            socket.set_nonblocking(false)?;
            socket.set_read_timeout(most)?;
            socket.set_write_timeout(most)
        }
    }
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
