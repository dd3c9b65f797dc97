//! One accepted connection as bytes, plain or TLS, and the ways to end it.
//!
//! Rule: every read and write is bounded in time, and wakes when the peer shuts the socket down.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection};
use socket2::SockRef;

use super::log::ClientClose;

/// How long a write may wait for a client that does not read.
const WRITE_BOUND: Duration = Duration::from_secs(20);
/// How long a reset waits until the client's side has taken what was written.
const DELIVERY_BOUND: Duration = Duration::from_secs(10);
/// Longer than a receiver delays its acknowledgement (40 ms on Linux).
const ACK_BOUND: Duration = Duration::from_millis(100);

/// How waiting for the client ended.
pub(super) enum Waited {
    /// The time is over, or the peer stops.
    Over,
    Closed(ClientClose),
}

pub(super) struct Wire {
    tcp: Arc<TcpStream>,
    tls: Option<Box<ServerConnection>>,
    stop: Arc<AtomicBool>,
    read_bound: Option<Duration>,
}

impl Wire {
    pub(super) fn new(tcp: Arc<TcpStream>, stop: Arc<AtomicBool>) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        tcp.set_write_timeout(Some(WRITE_BOUND))?;
        Ok(Self { tcp, tls: None, stop, read_bound: None })
    }

    pub(super) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Completes a TLS handshake as the server.
    pub(super) fn handshake(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        let mut session = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut socket: &TcpStream = &self.tcp;
        while session.is_handshaking() {
            session.complete_io(&mut socket)?;
        }
        // The session tickets, so that they never mix with what a script writes.
        while session.wants_write() {
            session.write_tls(&mut socket)?;
        }
        self.tls = Some(Box::new(session));
        Ok(())
    }

    /// Reads the client's first flight and sends only the first bytes of the answer to it.
    pub(super) fn cut_handshake(&mut self, config: Arc<ServerConfig>, bytes: usize) -> io::Result<()> {
        let mut session = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut socket: &TcpStream = &self.tcp;
        let mut flight = Vec::new();
        while !session.wants_write() {
            if session.read_tls(&mut socket)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            session.process_new_packets().map_err(io::Error::other)?;
        }
        while session.wants_write() {
            session.write_tls(&mut flight)?;
        }
        flight.truncate(bytes);
        socket.write_all(&flight)
    }

    /// The longest time that each following read may take.
    pub(super) fn set_read_bound(&mut self, bound: Duration) -> io::Result<()> {
        // A zero would mean no bound at all.
        let bound = bound.max(Duration::from_millis(1));
        if self.read_bound != Some(bound) {
            self.tcp.set_read_timeout(Some(bound))?;
            self.read_bound = Some(bound);
        }
        Ok(())
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut socket: &TcpStream = &self.tcp;
        match &mut self.tls {
            None => socket.read(buffer),
            Some(session) => rustls::Stream::new(session.as_mut(), &mut socket).read(buffer),
        }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut socket: &TcpStream = &self.tcp;
        match &mut self.tls {
            None => socket.write_all(bytes),
            Some(session) => {
                let mut stream = rustls::Stream::new(session.as_mut(), &mut socket);
                stream.write_all(bytes)?;
                stream.flush()
            }
        }
    }

    /// Reads and drops what the client sends, until it closes or the time is over.
    pub(super) fn watch(&mut self, bound: Duration) -> Waited {
        let end = Instant::now() + bound;
        let mut dropped = [0; 4096];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stopping() || self.set_read_bound(left).is_err() {
                return Waited::Over;
            }
            let read = self.read(&mut dropped);
            if let Some(close) = self.close_of(&read) {
                return Waited::Closed(close);
            }
        }
    }

    /// What the result of a read says about the client's side, if it says that it ended.
    pub(super) fn close_of(&self, read: &io::Result<usize>) -> Option<ClientClose> {
        if self.stopping() {
            return None;
        }
        match read {
            Ok(0) if self.tls.is_some() => Some(ClientClose::CloseNotify),
            Ok(0) => Some(ClientClose::Fin),
            Ok(_) => None,
            Err(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof => Some(ClientClose::Fin),
                io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                    Some(ClientClose::Reset)
                }
                _ => None,
            },
        }
    }

    /// Sends close_notify, under TLS.
    pub(super) fn close_notify(&mut self) {
        let mut socket: &TcpStream = &self.tcp;
        if let Some(session) = &mut self.tls {
            session.send_close_notify();
            while session.wants_write() && session.write_tls(&mut socket).is_ok() {}
        }
    }

    /// Sends FIN.
    pub(super) fn fin(&self) {
        // Fails only if the connection is gone already.
        let _ = self.tcp.shutdown(Shutdown::Write);
    }

    /// Sends RST when the last handle of the socket goes, with this value; all bytes written have been delivered by then.
    pub(super) fn reset(self) {
        await_delivery(&self.tcp, &self.stop);
        // Fails only if the connection is gone already.
        let _ = SockRef::from(&*self.tcp).set_linger(Some(Duration::ZERO));
    }
}

/// A reset throws away what the sender still holds, so it waits until the receiver has acknowledged all, or until all is sent
/// and an acknowledgement must be merely delayed. What the receiver's queue holds stays readable after the reset.
pub(crate) fn await_delivery(tcp: &TcpStream, stop: &AtomicBool) {
    let start = Instant::now();
    while start.elapsed() < DELIVERY_BOUND && !stop.load(Ordering::Acquire) {
        let Some(queue) = send_queue(tcp) else {
            // No way to ask on this system.
            return thread::sleep(ACK_BOUND);
        };
        if queue.unacknowledged == 0 || (queue.unsent == 0 && start.elapsed() > ACK_BOUND) {
            return;
        }
        thread::sleep(Duration::from_micros(100));
    }
}

struct SendQueue {
    unacknowledged: usize,
    unsent: usize,
}

#[cfg(target_os = "linux")]
fn send_queue(tcp: &TcpStream) -> Option<SendQueue> {
    use std::os::fd::AsRawFd;
    /// `SIOCOUTQNSD` of linux/sockios.h; libc names only its sibling, as `TIOCOUTQ`.
    const SIOCOUTQNSD: libc::Ioctl = 0x894B;
    let ask = |what: libc::Ioctl| {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the descriptor is open while `tcp` is borrowed, and both requests write one int through the pointer.
        let status = unsafe { libc::ioctl(tcp.as_raw_fd(), what, &raw mut bytes) };
        (status == 0).then(|| usize::try_from(bytes).unwrap_or(0))
    };
    Some(SendQueue { unacknowledged: ask(libc::TIOCOUTQ)?, unsent: ask(SIOCOUTQNSD)? })
}

#[cfg(not(target_os = "linux"))]
fn send_queue(_tcp: &TcpStream) -> Option<SendQueue> {
    None
}
