//! Listeners, the threads that serve what they accept, and the end of it all.
//!
//! Facts reported: that the server is to be shut down. Steps carried out: none of the core's.
//!
//! Rules: nothing more is accepted than there are threads for; what waits longer, the platform's queue holds. A listener that
//! waits cannot be interrupted, so that at the end it is sent a connection of our own.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sse_core::server as core_server;

use super::config::ServeConfig;
use super::connection::Connection;
use super::pool::{Places, Pool};
use super::{Errands, Inner, Server};

/// After an error of accepting (no descriptors are left, say), how long to wait before the next attempt: trying at once
/// would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connecting to a listener of our own may take so long.
const NUDGE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the last bytes of responses may take to be written once the server has ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Those that are listened on, and the threads of each. One that has no address any more may still have connections.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<(Option<SocketAddr>, Arc<Pool>)>>);

/// What the connections of one listener share.
pub(super) struct Serving {
    pub(super) inner: Arc<Inner>,
    pub(super) config: ServeConfig,
    /// How long a peer may take nothing of what is written to it.
    pub(super) stall_timeout: Duration,
    pub(super) threads: Arc<Pool>,
    /// For open streams and calls that wait.
    pub(super) waiting: Arc<Places>,
    handlers: Arc<Places>,
}

impl Serving {
    /// Does what follows from what the core was told.
    pub(super) fn run(&self, errands: Errands) {
        self.inner.run(errands, Some(&self.handlers));
    }

    pub(super) fn is_closing(&self) -> bool {
        self.inner.closing.get().is_some()
    }

    /// Whether shutting down has taken as long as it may, writing what was left included.
    pub(super) fn is_over(&self) -> bool {
        let until = self.inner.closing.get().map(|until| until.saturating_add(FLUSH_TIMEOUT));
        until.is_some_and(|until| self.inner.clock.now() >= until)
    }
}

impl Server {
    /// Serves who connects to this listener, until [`shut_down`](Self::shut_down). Requests must name a host and an origin
    /// that the configuration allows; by default, loopback names.
    ///
    /// # Errors
    /// Of the listener, if it cannot accept any more. One connection's failure concerns no other.
    pub fn serve(&self, listener: TcpListener) -> io::Result<()> {
        self.serve_with(listener, ServeConfig::default())
    }

    /// As [`serve`](Self::serve), over TLS.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn serve_tls(&self, listener: TcpListener, tls: Arc<rustls::ServerConfig>) -> io::Result<()> {
        self.serve_with(listener, ServeConfig::default().with_tls(tls))
    }

    /// As [`serve`](Self::serve), with settings.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub fn serve_with(&self, listener: TcpListener, mut config: ServeConfig) -> io::Result<()> {
        config.tls = config.tls.map(|tls| {
            let mut tls = (*tls).clone();
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(tls)
        });
        let serving = Arc::new(Serving {
            inner: Arc::clone(&self.inner),
            stall_timeout: self.inner.state().core.config().limits.stall_timeout,
            threads: Pool::new("mcp-sse-connection", config.max_connections()),
            waiting: Places::new(config.max_waiting(), config.max_streams()),
            handlers: Places::new(config.max_handlers.max(1), 0),
            config,
        });
        let address = listener.local_addr()?;
        // What was begun without a timer would wait for ever.
        self.inner.start()?;
        self.inner.listeners.add(address, &serving.threads);
        let accepted = accept_all(&listener, &serving);
        self.inner.listeners.close(&serving.threads);
        drop(listener);
        // If the listener failed, what is open goes on, until the server is shut down.
        if accepted.is_ok() {
            self.inner.wait_until_idle(&serving.threads);
            self.inner.listeners.remove(&serving.threads);
        }
        accepted
    }

    /// Takes no new requests, ends what is open, and waits until that is done, for
    /// [`shutdown_timeout`](mcp_sse_core::server::ServerLimits::shutdown_timeout) and 2 s at most (S10). Then
    /// [`serve`](Self::serve) ends too. Handlers that do not heed their cancel are left behind. A handler should have this
    /// done by a thread of its own, since its own call is waited for.
    pub fn shut_down(&self) {
        let inner = &self.inner;
        let timeout = inner.state().core.config().limits.shutdown_timeout;
        inner.closing.get_or_init(|| inner.clock.now().saturating_add(timeout));
        inner.with(core_server::Server::shut_down);
        let listeners = inner.listeners.all();
        listeners.iter().filter_map(|(address, _)| *address).for_each(nudge);
        listeners.iter().for_each(|(_, threads)| inner.wait_until_idle(threads));
    }
}

/// Serves who connects until the server is shut down.
fn accept_all(listener: &TcpListener, serving: &Arc<Serving>) -> io::Result<()> {
    while !serving.is_closing() {
        match listener.accept() {
            // This one may be our own, sent so that we look.
            Ok(_) if serving.is_closing() => {}
            Ok((socket, peer)) => {
                let connection = Connection::new(Arc::clone(serving), peer);
                let job = Box::new(move || connection.run(socket));
                serving.threads.run_when_free(job, || serving.is_closing());
            }
            Err(error) => match error.kind() {
                // Of one connection.
                ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted => {}
                // It listens no more.
                ErrorKind::InvalidInput => return Err(error),
                _ => thread::sleep(ACCEPT_PAUSE),
            },
        }
    }
    Ok(())
}

impl Inner {
    /// Waits until threads have nothing to do, or shutting down has taken as long as it may.
    fn wait_until_idle(&self, threads: &Pool) {
        if let Some(until) = self.closing.get() {
            threads.wait_until_idle(until.saturating_add(2 * FLUSH_TIMEOUT), self.clock);
        }
    }
}

impl Listeners {
    fn list(&self) -> MutexGuard<'_, Vec<(Option<SocketAddr>, Arc<Pool>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, address: SocketAddr, threads: &Arc<Pool>) {
        self.list().push((Some(address), Arc::clone(threads)));
    }

    fn close(&self, threads: &Arc<Pool>) {
        self.list()
            .iter_mut()
            .filter(|(_, known)| Arc::ptr_eq(known, threads))
            .for_each(|(address, _)| *address = None);
    }

    fn remove(&self, threads: &Arc<Pool>) {
        self.list().retain(|(_, known)| !Arc::ptr_eq(known, threads));
    }

    fn all(&self) -> Vec<(Option<SocketAddr>, Arc<Pool>)> {
        self.list().clone()
    }
}

/// Connects to a listener of our own, so that it looks around.
fn nudge(mut address: SocketAddr) {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    // If its queue is full, it looks around anyway.
    TcpStream::connect_timeout(&address, NUDGE_TIMEOUT).ok();
}
