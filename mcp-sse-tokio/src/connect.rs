//! From an endpoint to a connection that speaks HTTP: names, addresses, TLS, HTTP's own handshake.
//!
//! Facts reported: which step failed. Steps carried out: the connecting in `Step::Send`.
//!
//! Rules: several addresses are tried in the resolver's order, sharing the time that is left; the deadline of
//! a call is held by whoever polls. Whether to try again is not decided here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ClientConfig, ConnectionConfig, Endpoint};
use mcp_sse_core::exchange::BreakKind;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_util::either::Either;

use crate::clock::Clock;
use crate::io::{Meter, Socket};
use crate::link::Link;
use crate::pool::Pool;
use crate::proxy::{Proxies, Proxy};

/// Makes connections, to one origin but for a channel of 2024-11-05 that may lead to another, and keeps them.
#[derive(Debug)]
pub(crate) struct Connector {
    clock: Clock,
    connections: ConnectionConfig,
    max_head_bytes: usize,
    tls: Option<Arc<rustls::ClientConfig>>,
    proxies: Proxies,
    pub(crate) pool: Pool,
    /// Whether the last connection spoke HTTP/2, or the next one will.
    speaks_http2: AtomicBool,
    /// Held while a connection is made that others are to share.
    sharing: tokio::sync::Mutex<()>,
}

/// A connection, and whether it was there already.
pub(crate) type Connected = (Link, bool);

impl Connector {
    pub(crate) fn new(
        clock: Clock,
        config: &ClientConfig,
        tls: Option<Arc<rustls::ClientConfig>>,
        proxies: Proxies,
    ) -> Self {
        let connections = config.connections.clone();
        Self {
            clock,
            max_head_bytes: config.limits.max_head_bytes,
            pool: Pool::new(&connections),
            speaks_http2: AtomicBool::new(tls.is_none() && connections.http2_prior_knowledge),
            connections,
            tls,
            proxies,
            sharing: tokio::sync::Mutex::default(),
        }
    }

    /// A connection. Over HTTP/2 it is shared: of calls that want one at once, one makes it. A call that wants a fresh
    /// one shares it all the same, as long as it is open; but not if `must_be_new`, since it has just failed.
    /// `deadline` is the caller's, and only decides how time is shared out.
    pub(crate) async fn connect(
        self: Arc<Self>,
        endpoint: Endpoint,
        wants_fresh: bool,
        must_be_new: bool,
        deadline: Option<Timestamp>,
    ) -> Result<Connected, BreakKind> {
        let shared = || self.pool.shared(&endpoint, self.clock.now()).filter(|_| !must_be_new).map(Link::Http2);
        let idle = || if wants_fresh { None } else { self.pool.idle(&endpoint, self.clock.now()).map(Link::Http1) };
        if let Some(link) = shared().or_else(idle) {
            return Ok((link, true));
        }
        let own = Instant::now() + self.connections.connect_timeout;
        let limit = deadline.and_then(|deadline| self.clock.instant(deadline)).map_or(own, |due| due.min(own));
        let making = async {
            let is_shared = self.speaks_http2.load(Ordering::Relaxed);
            let _turn = if is_shared { Some(self.sharing.lock().await) } else { None };
            if let Some(link) = shared() {
                return Ok((link, true));
            }
            let link = self.make(&endpoint, limit).await?;
            self.speaks_http2.store(matches!(link, Link::Http2(_)), Ordering::Relaxed);
            if let Link::Http2(link) = &link {
                self.pool.share(&endpoint, link.clone(), self.clock.now());
            }
            Ok((link, false))
        };
        timeout_at(own, making).await.unwrap_or(Err(BreakKind::ConnectTimeout))
    }

    /// The proxy that is given whole requests to this endpoint, if there is one.
    pub(crate) fn forwarder(&self, endpoint: &Endpoint) -> Result<Option<Arc<Proxy>>, BreakKind> {
        Ok(self.proxies.of(endpoint)?.filter(|proxy| !proxy.tunnels))
    }

    async fn make(&self, endpoint: &Endpoint, limit: Instant) -> Result<Link, BreakKind> {
        let proxy = self.proxies.of(endpoint)?;
        let (host, port) = match &proxy {
            Some(proxy) => (&*proxy.host, proxy.port),
            None => (endpoint.host(), endpoint.port()),
        };
        let socket = connect_any(&resolve(host, port).await?, limit).await?;
        // Requests are small and written at once; failing to say so costs speed only.
        socket.set_nodelay(true).ok();
        let meter = Meter::of(socket);
        let mut socket = Socket { meter: Arc::clone(&meter), early: Bytes::new() };
        if let Some(proxy) = proxy.filter(|proxy| proxy.tunnels) {
            socket = proxy.tunnel(socket, endpoint).await?;
        }
        let transport = if endpoint.is_tls() {
            let config = self.tls.as_ref().ok_or(BreakKind::Handshake)?;
            let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|_| BreakKind::Handshake)?;
            let made = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
            Either::Right(Box::new(made.map_err(|_| BreakKind::Handshake)?))
        } else {
            Either::Left(socket)
        };
        let is_http2 = match &transport {
            Either::Right(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
            Either::Left(_) => self.connections.http2_prior_knowledge,
        };
        Link::handshake(transport, meter, is_http2, self.max_head_bytes).await
    }
}

/// The addresses of a host.
async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, BreakKind> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    match lookup_host((host, port)).await.map(Iterator::collect::<Vec<_>>) {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        _ => Err(BreakKind::Resolve),
    }
}

/// The first address that answers. Each gets an equal share of the time that is left, the last one all of it.
async fn connect_any(addresses: &[SocketAddr], limit: Instant) -> Result<TcpStream, BreakKind> {
    let mut last = BreakKind::Connect;
    for (tried, address) in addresses.iter().enumerate() {
        let shares = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = limit.saturating_duration_since(Instant::now()) / shares;
        match timeout(share.max(Duration::from_millis(1)), TcpStream::connect(address)).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(_)) => last = BreakKind::Connect,
            Err(_) => last = BreakKind::ConnectTimeout,
        }
    }
    Err(last)
}
