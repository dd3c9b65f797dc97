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

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::Endpoint;
use mcp_sse_core::exchange::BreakKind;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::clock::Clock;
use crate::io::{Io, Socket};
use crate::link::Link;
use crate::pool::Pool;

/// Makes connections to one origin.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) clock: Clock,
    /// How long connecting may take, all steps together.
    pub(crate) timeout: Duration,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// Whether HTTP/2 is spoken without TLS.
    pub(crate) prior_knowledge: bool,
    /// Whether the last connection spoke HTTP/2, or the next one will.
    pub(crate) speaks_http2: AtomicBool,
    pub(crate) max_head_bytes: usize,
    /// Held while a connection is made that others are to share.
    pub(crate) sharing: tokio::sync::Mutex<()>,
}

/// A connection, and whether other calls have used it.
pub(crate) type Connected = (Link, bool);

impl Connector {
    /// A connection. Over HTTP/2 it is shared: of calls that want one at once, one makes it. `is_fresh` says
    /// that the shared one will not do. `deadline` is the caller's, and only decides how time is shared out.
    pub(crate) async fn connect(
        &self,
        endpoint: &Endpoint,
        pool: &Pool,
        is_fresh: bool,
        deadline: Option<Timestamp>,
    ) -> Result<Connected, BreakKind> {
        let own = Instant::now() + self.timeout;
        let limit =
            deadline.and_then(|deadline| self.clock.instant(deadline)).map_or(own, |deadline| deadline.min(own));
        let making = async {
            let mut turn = None;
            if self.speaks_http2.load(Ordering::Relaxed) {
                turn = Some(self.sharing.lock().await);
                if let Some(shared) = pool.shared().filter(|_| !is_fresh) {
                    return Ok((Link::Http2(shared), true));
                }
            }
            let link = self.make(endpoint, limit).await?;
            self.speaks_http2.store(matches!(link, Link::Http2(_)), Ordering::Relaxed);
            if let Link::Http2(link) = &link {
                pool.share(link);
            }
            drop(turn);
            Ok((link, false))
        };
        timeout_at(own, making).await.unwrap_or(Err(BreakKind::ConnectTimeout))
    }

    async fn make(&self, endpoint: &Endpoint, limit: Instant) -> Result<Link, BreakKind> {
        let socket = connect_any(&resolve(endpoint).await?, limit).await?;
        // Requests are small and written at once; failing to say so costs speed only.
        socket.set_nodelay(true).ok();
        let socket = Socket::new(socket);
        let Some(config) = self.tls.as_ref().filter(|_| endpoint.is_tls()) else {
            return Link::handshake(Io::plain(socket), self.prior_knowledge, self.max_head_bytes).await;
        };
        let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|_| BreakKind::Handshake)?;
        let stream = TlsConnector::from(Arc::clone(config)).connect(name, socket).await;
        let io = Io::tls(stream.map_err(|_| BreakKind::Handshake)?);
        let is_http2 = io.has_agreed_on_http2();
        Link::handshake(io, is_http2, self.max_head_bytes).await
    }
}

/// The addresses of a host.
async fn resolve(endpoint: &Endpoint) -> Result<Vec<SocketAddr>, BreakKind> {
    let (host, port) = (endpoint.host(), endpoint.port());
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
