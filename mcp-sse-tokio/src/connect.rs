//! From an endpoint to a connection that speaks HTTP: one that is kept, or a new one, by names, addresses, TLS and HTTP's
//! own handshake.
//!
//! Facts reported: which step failed. Steps carried out: the connecting in `Step::Send`, the keeping in `Step::Release`.
//!
//! Rules: several addresses are tried in the resolver's order, sharing the time that is left; the deadline of
//! a call is held by whoever polls. Whether to try again is not decided here, and how many connections are kept, and for
//! how long, is the core's rule. One of HTTP/2 is shared by all calls while it is usable, one of HTTP/1.1 has one call at a
//! time. A client that goes away closes them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper_util::client::proxy::matcher::Matcher;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ClientConfig, ConnectionConfig, Endpoint, IdleConnections};
use mcp_sse_core::exchange::BreakKind;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_util::either::Either;

use crate::clock::Clock;
use crate::io::{Io, Meter, Socket};
use crate::link::Link;
use crate::proxy::Proxy;

/// Makes connections, to one origin but for a channel of 2024-11-05 that may lead to another, and keeps them.
pub(crate) struct Connector {
    clock: Clock,
    connections: ConnectionConfig,
    max_head_bytes: usize,
    tls: Option<Tls>,
    proxies: Matcher,
    kept: Mutex<IdleConnections<Link>>,
    /// Whether the last connection spoke HTTP/2, or the next one will.
    speaks_http2: AtomicBool,
    /// Held while a connection is made that others are to share.
    sharing: tokio::sync::Mutex<()>,
}

/// The settings of TLS.
pub(crate) type Tls = Arc<rustls::ClientConfig>;

impl Connector {
    pub(crate) fn new(clock: Clock, config: &ClientConfig, tls: Option<Tls>, proxies: Matcher) -> Self {
        let (connections, max_head_bytes) = (config.connections.clone(), config.limits.max_head_bytes);
        let kept = Mutex::new(IdleConnections::new(&connections));
        let speaks_http2 = AtomicBool::new(tls.is_none() && connections.http2_prior_knowledge);
        let sharing = tokio::sync::Mutex::default();
        Self { clock, connections, max_head_bytes, tls, proxies, kept, speaks_http2, sharing }
    }

    /// The connection that was kept last, of those that were not closed meanwhile (E1). A call that wants a fresh one
    /// takes it all the same if calls share it.
    pub(crate) fn take(&self, endpoint: &Endpoint, wants_fresh: bool, now: Timestamp) -> Option<Link> {
        if wants_fresh && !self.speaks_http2.load(Ordering::Relaxed) {
            return None;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let link = kept.take_usable(endpoint, now, Link::is_usable)?;
        if let Some(shared) = link.share() {
            kept.keep(endpoint, shared, now);
        }
        Some(link).filter(|link| !wants_fresh || link.is_shared())
    }

    pub(crate) fn keep(&self, endpoint: &Endpoint, link: Link, now: Timestamp) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).keep(endpoint, link, now);
    }

    /// A new connection, or one that was there already, and which of the two. Over HTTP/2 it is shared: of calls that want
    /// one at once, one makes it. But it is not another's if it `must_be_new`, since that one has just failed. `deadline`
    /// is the caller's, and only decides how time is shared out.
    pub(crate) async fn connect(
        self: Arc<Self>,
        endpoint: Endpoint,
        must_be_new: bool,
        deadline: Option<Timestamp>,
    ) -> Result<(Link, bool), BreakKind> {
        let own = Instant::now() + self.connections.connect_timeout;
        let limit = deadline.and_then(|deadline| self.clock.instant(deadline)).map_or(own, |due| due.min(own));
        let making = async {
            let will_share = self.speaks_http2.load(Ordering::Relaxed);
            let _turn = if will_share { Some(self.sharing.lock().await) } else { None };
            if let Some(link) = self.take(&endpoint, true, self.clock.now()).filter(|_| !must_be_new) {
                return Ok((link, true));
            }
            let link = self.make(&endpoint, limit).await?;
            self.speaks_http2.store(link.is_shared(), Ordering::Relaxed);
            link.share().into_iter().for_each(|link| self.keep(&endpoint, link, self.clock.now()));
            Ok((link, false))
        };
        timeout_at(own, making).await.unwrap_or(Err(BreakKind::ConnectTimeout))
    }

    async fn make(&self, endpoint: &Endpoint, limit: Instant) -> Result<Link, BreakKind> {
        let knows_http2 = self.connections.http2_prior_knowledge;
        let proxy = Proxy::find(&self.proxies, endpoint, knows_http2).map_err(|_| BreakKind::Proxy)?;
        let own = (endpoint.host(), endpoint.port());
        let (host, port) = proxy.as_ref().map_or(own, |proxy| (&proxy.host, proxy.port));
        let socket = connect_any(host, port, limit).await?;
        // Requests are small and written at once; failing to say so costs speed only.
        socket.set_nodelay(true).ok();
        let meter = Meter::of(socket);
        let mut socket = Socket { meter: Arc::clone(&meter), early: Bytes::new() };
        if let Some(proxy) = proxy.as_ref().filter(|proxy| proxy.tunnels) {
            socket = proxy.tunnel(socket, endpoint).await?;
        }
        let (transport, is_http2) = if endpoint.is_tls() {
            let config = self.tls.as_ref().ok_or(BreakKind::Handshake)?;
            let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|_| BreakKind::Handshake)?;
            let made = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
            let tls = made.map_err(|_| BreakKind::Handshake)?;
            let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
            (Either::Right(Box::new(tls)), is_http2)
        } else {
            (Either::Left(socket), knows_http2)
        };
        let io = Io { transport, meter, failure: None, is_asked: false };
        let mut link = Link::handshake(io, is_http2, self.max_head_bytes).await?;
        link.forwarder = proxy.filter(|proxy| !proxy.tunnels);
        Ok(link)
    }
}

/// A socket to the first address of the host that answers.
async fn connect_any(host: &str, port: u16, limit: Instant) -> Result<TcpStream, BreakKind> {
    let addresses: Vec<_> = lookup_host((host, port)).await.map_err(|_| BreakKind::Resolve)?.collect();
    let mut last = BreakKind::Resolve;
    for (tried, address) in addresses.iter().enumerate() {
        let left = limit.saturating_duration_since(Instant::now());
        let share = ConnectionConfig::share(left, addresses.len() - tried);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(_)) => last = BreakKind::Connect,
            Err(_) => last = BreakKind::ConnectTimeout,
        }
    }
    Err(last)
}
