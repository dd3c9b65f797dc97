//! From an endpoint to a connection: names, addresses, TLS; each step bounded by the clock.
//!
//! Rules: several addresses are tried in the resolver's order, sharing the time that is left; a failure says
//! which step failed and nothing more. Whether to try again is not decided here.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ConnectionConfig, Endpoint};
use mcp_sse_core::exchange::BreakKind;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::clock::Clock;
use crate::stream::{Stream, Wait};

/// Makes connections to one origin.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) clock: Clock,
    /// How long connecting may take, all steps together.
    pub(crate) timeout: Duration,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A step failed.
    Broken(BreakKind),
    /// The caller's time is over.
    Deadline,
}

impl Connector {
    /// A connection, its TLS handshake done. `deadline` is the caller's; the connector's own limit comes on top.
    pub(crate) fn connect(&self, endpoint: &Endpoint, deadline: Option<Timestamp>) -> Result<Stream, Stop> {
        let own = self.clock.now().saturating_add(self.timeout);
        let limit = Limit { clock: self.clock, own, deadline };
        let addresses = resolve(endpoint, limit)?;
        let socket = connect_any(&addresses, limit)?;
        // Requests are small and written at once; failing to say so costs speed only.
        socket.set_nodelay(true).ok();
        if !endpoint.is_tls() {
            return Ok(Stream::plain(socket));
        }
        let config = self.tls.as_ref().ok_or(Stop::Broken(BreakKind::Handshake))?;
        let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|_| Stop::Broken(BreakKind::Handshake))?;
        let session =
            ClientConnection::new(Arc::clone(config), name).map_err(|_| Stop::Broken(BreakKind::Handshake))?;
        let mut stream = Stream::tls(socket, session);
        // Until the last flight of the handshake is out too: what is written after it is the request.
        while !stream.is_ready() {
            let left = limit.left()?;
            stream.handshake(Wait::AtMost(Some(left))).map_err(|_| Stop::Broken(BreakKind::Handshake))?;
        }
        Ok(stream)
    }
}

/// The time that is left, by the connector's limit and by the caller's.
#[derive(Clone, Copy)]
struct Limit {
    clock: Clock,
    own: Timestamp,
    deadline: Option<Timestamp>,
}

impl Limit {
    fn left(&self) -> Result<Duration, Stop> {
        let now = self.clock.now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(Stop::Deadline);
        }
        if now >= self.own {
            return Err(Stop::Broken(BreakKind::ConnectTimeout));
        }
        let limit = self.deadline.map_or(self.own, |deadline| deadline.min(self.own));
        Ok(limit.saturating_duration_since(now))
    }

    /// What a wait that was over means.
    fn over(&self) -> Stop {
        self.left().err().unwrap_or(Stop::Broken(BreakKind::ConnectTimeout))
    }
}

/// The addresses of a host. The platform's resolver cannot be interrupted, so it works in a thread that is
/// left behind when the time is over.
fn resolve(endpoint: &Endpoint, limit: Limit) -> Result<Vec<SocketAddr>, Stop> {
    let (host, port) = (endpoint.host().to_owned(), endpoint.port());
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, receiver) = mpsc::channel();
    let resolver = thread::Builder::new().name("mcp-sse-resolve".to_owned());
    resolver
        .spawn(move || {
            let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
            // Nobody waits any more if the time is over.
            sender.send(addresses).ok();
        })
        .map_err(|_| Stop::Broken(BreakKind::Resolve))?;
    match receiver.recv_timeout(limit.left()?) {
        Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
        Ok(_) | Err(mpsc::RecvTimeoutError::Disconnected) => Err(Stop::Broken(BreakKind::Resolve)),
        Err(mpsc::RecvTimeoutError::Timeout) => Err(limit.over()),
    }
}

/// The first address that answers. Each gets an equal share of the time that is left, the last one all of it.
fn connect_any(addresses: &[SocketAddr], limit: Limit) -> Result<TcpStream, Stop> {
    let mut last = Stop::Broken(BreakKind::Connect);
    for (tried, address) in addresses.iter().enumerate() {
        let share = ConnectionConfig::share(limit.left()?, addresses.len() - tried);
        match TcpStream::connect_timeout(address, share) {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == ErrorKind::TimedOut => last = limit.over(),
            Err(_) => last = Stop::Broken(BreakKind::Connect),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, TcpListener};

    use super::*;

    fn limit(timeout: Duration, deadline: Option<Timestamp>) -> Limit {
        let clock = Clock::new();
        Limit { clock, own: clock.now().saturating_add(timeout), deadline }
    }

    /// Of a name's addresses, those at which nobody listens are passed over.
    #[test]
    fn e1_the_first_address_that_answers_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let listening = listener.local_addr().expect("its address");
        let silent = SocketAddr::from((Ipv6Addr::LOCALHOST, listening.port()));
        let limit = limit(Duration::from_secs(10), None);
        for addresses in [vec![listening], vec![silent, listening], vec![silent, silent, listening, silent]] {
            let socket = connect_any(&addresses, limit).expect("a connection");
            assert_eq!(socket.peer_addr().ok(), Some(listening));
        }
        assert_eq!(connect_any(&[silent], limit).err(), Some(Stop::Broken(BreakKind::Connect)));
        assert_eq!(connect_any(&[], limit).err(), Some(Stop::Broken(BreakKind::Connect)));
    }

    #[test]
    fn e11_the_callers_deadline_is_told_apart_from_the_connectors_own_limit() {
        let over = Some(Timestamp::ZERO);
        assert_eq!(limit(Duration::from_secs(10), over).left(), Err(Stop::Deadline));
        assert_eq!(limit(Duration::ZERO, over).left(), Err(Stop::Deadline));
        assert_eq!(limit(Duration::ZERO, None).left(), Err(Stop::Broken(BreakKind::ConnectTimeout)));
        let left = limit(Duration::from_secs(10), Some(Timestamp::new(Duration::from_secs(3600)))).left();
        assert!(left.is_ok_and(|left| left <= Duration::from_secs(10)));
    }
}
