//! Connections of a server: taken from a listener, spoken over by hyper, let go at the end.
//!
//! Facts reported: the address of a peer. Steps carried out: none of the core's; of shutting down, what concerns sockets.

use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Version};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::service::Driving;
use super::silence::{Noting, Signs, Watch};
use super::{Server, Service};

/// How connections are served.
///
/// ```
/// use std::time::Duration;
/// use mcp_sse_tokio::ServeConfig;
///
/// let config = ServeConfig::default().with_max_connections(1000).with_head_timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeConfig {
    /// Connections at once; more wait to be accepted. Default 20,000, as many exchanges as the core takes by default.
    pub max_connections: usize,
    /// How long a connection may go without a request, its head included, once nothing is to be written any more; over HTTP/2
    /// the first one. It is ended after that span, and a quarter of it at most. Default 30 s: a drip of bytes must not hold a
    /// connection for ever.
    pub head_timeout: Duration,
    /// How long TLS's handshake may take. Default 10 s, as for a client.
    pub handshake_timeout: Duration,
    /// A request's head, in bytes. Default 64 KiB, of which headers that mirror arguments may need some.
    pub max_head_bytes: usize,
    /// Speak TLS, with these settings. To offer HTTP/2, its ALPN protocols must name `h2`.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            head_timeout: Duration::from_secs(30),
            handshake_timeout: Duration::from_secs(10),
            max_head_bytes: 64 << 10,
            tls: None,
        }
    }
}

impl ServeConfig {
    /// Sets [`max_connections`](Self::max_connections).
    #[must_use]
    pub const fn with_max_connections(mut self, most: usize) -> Self {
        self.max_connections = most;
        self
    }

    /// Sets [`head_timeout`](Self::head_timeout).
    #[must_use]
    pub const fn with_head_timeout(mut self, timeout: Duration) -> Self {
        self.head_timeout = timeout;
        self
    }

    /// Sets [`handshake_timeout`](Self::handshake_timeout).
    #[must_use]
    pub const fn with_handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Sets [`max_head_bytes`](Self::max_head_bytes).
    #[must_use]
    pub const fn with_max_head_bytes(mut self, most: usize) -> Self {
        self.max_head_bytes = most;
        self
    }

    /// Sets [`tls`](Self::tls).
    #[must_use]
    pub fn with_tls(mut self, tls: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(tls);
        self
    }
}

/// After an error of accepting (no descriptors are left, say), how long to wait before the next attempt: trying at once
/// would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long the last bytes of responses may take to be written once the server has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a peer over HTTP/2 is asked whether it is still there: it may say nothing for hours, and one that is gone holds
/// its place. hyper gives it 20 s to answer.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// hyper's smallest read buffer.
const MIN_BUFFER_BYTES: usize = 8 << 10;

impl Server {
    /// Serves who connects to this listener, until [`shut_down`](Self::shut_down): HTTP/1.1, or HTTP/2 with prior
    /// knowledge. Requests must name a host and an origin that the configuration allows; by default, loopback names.
    ///
    /// # Errors
    /// Of the listener, if it cannot accept any more. One connection's failure concerns no other.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        self.serve_with(listener, ServeConfig::default()).await
    }

    /// As [`serve`](Self::serve), over TLS. To offer HTTP/2, the settings' ALPN protocols must name `h2`.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn serve_tls(&self, listener: TcpListener, tls: Arc<rustls::ServerConfig>) -> io::Result<()> {
        self.serve_with(listener, ServeConfig::default().with_tls(tls)).await
    }

    /// As [`serve`](Self::serve), with settings.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn serve_with(&self, listener: TcpListener, config: ServeConfig) -> io::Result<()> {
        self.inner.start();
        let most = config.max_connections.clamp(1, Semaphore::MAX_PERMITS);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let (places, config) = (Arc::new(Semaphore::new(most as usize)), Arc::new(config));
        let mut watch = Watch::new(config.head_timeout);
        let mut closing = self.inner.is_closing.subscribe();
        {
            let mut is_closing = pin!(closing.wait_for(|is_closing| *is_closing));
            loop {
                let mut next = pin!(async {
                    // It is never closed.
                    let place = Arc::clone(&places).acquire_owned().await.ok();
                    (place, listener.accept().await)
                });
                let accepted = poll_fn(|cx| {
                    if is_closing.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(None);
                    }
                    watch.poll(cx);
                    next.as_mut().poll(cx).map(Some)
                });
                match accepted.await {
                    None => break,
                    Some((place, Ok((socket, peer)))) => {
                        let (server, config, signs) = (self.clone(), Arc::clone(&config), watch.add());
                        tokio::spawn(async move {
                            server.serve_socket(socket, peer, signs, &config).await;
                            drop(place);
                        });
                    }
                    Some((_, Err(error))) if is_of_one_connection(&error) => {}
                    Some((_, Err(_))) => tokio::time::sleep(ACCEPT_PAUSE).await,
                }
            }
        }
        drop(listener);
        // Each connection holds a place until it has ended.
        drop(places.acquire_many(most).await);
        Ok(())
    }

    async fn serve_socket(&self, socket: TcpStream, peer: SocketAddr, signs: Arc<Signs>, config: &ServeConfig) {
        // Events are small and written at once; failing to say so costs speed only.
        socket.set_nodelay(true).ok();
        match &config.tls {
            None => self.serve_connection(socket, peer, signs, config).await,
            Some(tls) => {
                let handshake = TlsAcceptor::from(Arc::clone(tls)).accept(socket);
                if let Ok(Ok(stream)) = timeout(config.handshake_timeout, handshake).await {
                    self.serve_connection(stream, peer, signs, config).await;
                }
            }
        }
    }

    async fn serve_connection<S>(&self, stream: S, peer: SocketAddr, signs: Arc<Signs>, config: &ServeConfig)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            // Which connections are silent is found out otherwise.
            .header_read_timeout(None)
            .max_buf_size(config.max_head_bytes.max(MIN_BUFFER_BYTES));
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .max_header_list_size(u32::try_from(config.max_head_bytes).unwrap_or(u32::MAX));
        // What TLS's handshake took is none of a head's time.
        signs.show();
        let service = FromPeer { service: self.service(), peer, signs: Arc::clone(&signs) };
        let stream = Noting { stream, signs: Arc::clone(&signs) };
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        let (mut closing, mut ended) = (self.inner.is_closing.subscribe(), self.inner.has_ended.subscribe());
        let mut closing = pin!(closing.wait_for(|is_closing| *is_closing));
        let mut cut = pin!(async {
            ended.wait_for(|has_ended| *has_ended).await.ok();
            tokio::time::sleep(FLUSH_TIMEOUT).await;
        });
        let (mut is_told, mut listens) = (false, false);
        poll_fn(|cx| {
            // Who listens is woken; to ask again each time would cost more than a look.
            let asks = !mem::replace(&mut listens, true) || self.inner.closes.load(Ordering::Acquire);
            if !is_told && asks && closing.as_mut().poll(cx).is_ready() {
                is_told = true;
                connection.as_mut().graceful_shutdown();
            }
            if connection.as_mut().poll(cx).is_ready() || signs.is_over(cx) {
                return Poll::Ready(());
            }
            if is_told { cut.as_mut().poll(cx) } else { Poll::Pending }
        })
        .await;
    }
}

/// Whether accepting failed for one connection, and may go on at once with the next.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
}

/// The service, for requests of one peer.
struct FromPeer {
    service: Service,
    peer: SocketAddr,
    signs: Arc<Signs>,
}

impl hyper::service::Service<Request<Incoming>> for FromPeer {
    type Response = <Service as hyper::service::Service<Request<Incoming>>>::Response;
    type Error = <Service as hyper::service::Service<Request<Incoming>>>::Error;
    type Future = Driving<Incoming>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let underway = self.signs.on_request(request.version() == Version::HTTP_2);
        self.service.serve(request, self.peer, underway)
    }
}
