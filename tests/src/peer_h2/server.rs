//! The listener, the runtime it lives in, scenarios and their URLs, and the end of it all.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::log::{Journal, Log, StreamRecord};
use super::pipe::{self, Wanted};
use super::script::{Hangup, Script};
use super::stream::{self, Place};
use crate::peer::{Execution, Identity, identity};

/// What h2 may hold before it has to wait for the socket.
const PIPE_BYTES: usize = 64 << 10;
/// How many streams a client may have open at once on one connection.
const STREAMS: u32 = 2000;

/// A scripted server on a loopback port. Dropping it ends its runtime.
pub struct Peer {
    journal: Arc<Journal>,
    address: SocketAddr,
    identity: Option<Identity>,
    runtime: Option<Runtime>,
}

impl Peer {
    /// A plain peer on 127.0.0.1: prior knowledge.
    pub fn start() -> Self {
        Self::start_as(None, STREAMS)
    }

    /// A plain peer that lets a client have so many streams open at once on one connection.
    pub fn start_with_streams(most: u32) -> Self {
        Self::start_as(None, most)
    }

    /// A TLS peer on 127.0.0.1, which agrees on HTTP/2 (ALPN) and on nothing else.
    pub fn start_tls() -> Self {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        Self::start_as(Some(identity(&names)), STREAMS)
    }

    fn start_as(identity: Option<Identity>, streams: u32) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("peer-h2").enable_all().build().expect("a runtime");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let address = listener.local_addr().expect("the port's number");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let journal = Arc::new(Journal::default());
        let tls = identity.as_ref().map(|identity| {
            let mut config = ServerConfig::clone(&identity.config);
            config.alpn_protocols = vec![b"h2".to_vec()];
            Arc::new(config)
        });
        runtime.spawn(accept(listener, tls, streams, Arc::clone(&journal)));
        Self { journal, address, identity, runtime: Some(runtime) }
    }

    /// The certificate to trust, in PEM: the authority made for this peer alone.
    ///
    /// # Panics
    /// If the peer speaks no TLS.
    pub fn certificate_pem(&self) -> &str {
        &self.identity.as_ref().expect("a peer with TLS").authority_pem
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Registers scripts under a path of their own. Each request takes the first unused script that is meant for it; when all
    /// are used, the last one meant for it repeats. Without one, the peer does what a sound server would.
    pub fn scenario(&self, scripts: impl IntoIterator<Item = Script>) -> Scenario {
        let number = self.journal.add_scenario(scripts.into_iter().collect());
        Scenario { journal: Arc::clone(&self.journal), number, address: self.address, is_tls: self.identity.is_some() }
    }

    /// For the next connections, one each: after how many frames of the peer's own the connection is closed, in place of the next
    /// frame, and how; `None` serves it. Those after them are served.
    pub fn cut_connections(&self, cuts: impl IntoIterator<Item = Option<(usize, Hangup)>>) {
        self.journal.add_cuts(cuts);
    }

    /// Everything seen so far.
    pub fn log(&self) -> Log {
        self.journal.read(Log::clone)
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.journal.read(|log| log.connections.len())
    }

    /// Waits until the condition holds; false if it does not within `bound`. The condition must not use the peer.
    pub fn wait_for(&self, condition: impl Fn(&Log) -> bool, bound: Duration) -> bool {
        self.journal.wait_for(condition, bound)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting is forbidden where a test drops it inside a runtime of its own.
            runtime.shutdown_background();
        }
    }
}

async fn accept(listener: TcpListener, tls: Option<Arc<ServerConfig>>, streams: u32, journal: Arc<Journal>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener within the runtime");
    loop {
        // Fails when a client is gone before it was accepted.
        if let Ok((tcp, _)) = listener.accept().await {
            let (number, cut) = journal.add_connection();
            let (journal, tls) = (Arc::clone(&journal), tls.clone());
            tokio::spawn(async move {
                serve(tcp, (tls, streams, cut), &journal, number).await;
                journal.on_connection(number, |record| record.ended = true);
            });
        }
    }
}

async fn serve(
    tcp: TcpStream,
    (tls, streams, cut): (Option<Arc<ServerConfig>>, u32, Option<(usize, Hangup)>),
    journal: &Arc<Journal>,
    number: usize,
) {
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let (order, orders) = mpsc::unbounded_channel();
    let speaking = tokio::spawn(speak(ours, streams, order, Arc::clone(journal), number));
    // Fails only if the connection is gone already.
    let _ = pipe::carry(tcp, theirs, Wanted { tls, cut, orders }, journal, number).await;
    // Its streams end with it.
    speaking.abort();
    let _ = speaking.await;
}

/// Speaks HTTP/2 through the pipe.
async fn speak(
    pipe: tokio::io::DuplexStream,
    streams: u32,
    orders: mpsc::UnboundedSender<pipe::Order>,
    journal: Arc<Journal>,
    number: usize,
) {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(streams).initial_window_size(1 << 20).initial_connection_window_size(4 << 20);
    let Ok(mut connection) = builder.handshake(pipe).await else {
        return;
    };
    let mut serving = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let place = Place { journal: Arc::clone(&journal), connection: number, orders: orders.clone() };
        serving.spawn(stream::serve(place, request, respond));
        while serving.try_join_next().is_some() {}
    }
}

/// A list of scripts under a URL path of its own, with counts of its own.
#[derive(Clone)]
pub struct Scenario {
    journal: Arc<Journal>,
    number: usize,
    address: SocketAddr,
    is_tls: bool,
}

impl Scenario {
    /// Its path.
    pub fn path(&self) -> String {
        format!("/s/{}", self.number)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.address, self.path())
    }

    /// Adds scripts behind those it has.
    pub fn push(&self, scripts: impl IntoIterator<Item = Script>) {
        self.journal.add_scripts(self.number, scripts.into_iter().collect());
    }

    /// How often a side effect ran, of whatever method.
    pub fn executions(&self) -> usize {
        self.journal.read(|log| log.executions[self.number].len())
    }

    /// The runs, in order.
    pub fn executed(&self) -> Vec<Execution> {
        self.journal.read(|log| log.executions[self.number].clone())
    }

    /// The streams of its requests, in order.
    pub fn streams(&self) -> Vec<StreamRecord> {
        self.journal.read(|log| log.streams_of(self.number).cloned().collect())
    }

    /// Everything that its peer has seen so far.
    pub fn log(&self) -> Log {
        self.journal.read(Log::clone)
    }

    /// JSON-RPC notifications received.
    pub fn notifications(&self) -> Vec<Value> {
        self.journal.read(|log| log.notifications[self.number].clone())
    }

    /// The connections its requests came on, in the order of first use.
    pub fn connections(&self) -> Vec<usize> {
        let mut numbers = Vec::new();
        for stream in self.streams() {
            if !numbers.contains(&stream.connection) {
                numbers.push(stream.connection);
            }
        }
        numbers
    }
}
