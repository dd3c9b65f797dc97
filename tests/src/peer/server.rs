//! The listener: accepting, the connections that live, scenarios and their URLs, and the end of it all.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::ServerConfig;
use serde_json::Value;
use socket2::SockRef;

use super::connection;
use super::log::{ConnectionRecord, Execution, Journal, Log, ScenarioLog};
use super::request::Request;
use super::script::{Ending, OnConnection, Script};
use super::tls::{self, Identity};

/// How long [`Peer::close_idle`] waits.
const IDLE_BOUND: Duration = Duration::from_secs(5);

/// What all threads of a peer share.
pub(super) struct Shared {
    pub(super) journal: Journal,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    faults: Mutex<VecDeque<OnConnection>>,
    live: Mutex<HashMap<usize, Live>>,
    address: SocketAddr,
}

/// A connection that is being served.
struct Live {
    // Weak, so that the thread that serves it holds the only handle, and a reset goes out when that thread wants it to.
    tcp: Weak<TcpStream>,
    idle: bool,
    end_idle: Option<Ending>,
}

impl Shared {
    fn live<T>(&self, access: impl FnOnce(&mut HashMap<usize, Live>) -> T) -> T {
        access(&mut self.live.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Marks a kept-alive connection as waiting for its next request, or not.
    pub(super) fn set_idle(&self, connection: usize, idle: bool) {
        self.live(|live| {
            if let Some(entry) = live.get_mut(&connection) {
                entry.idle = idle;
            }
        });
        // Wakes those who wait for idle connections.
        self.journal.on_connection(connection, |_| {});
    }

    /// How the test wants this idle connection ended, if it does.
    pub(super) fn end_idle(&self, connection: usize) -> Option<Ending> {
        self.live(|live| live.get(&connection)?.end_idle.clone())
    }

    /// Closes every live socket, so that all threads wake.
    fn shut_down(&self) {
        self.live(|live| {
            for tcp in live.values().filter_map(|entry| entry.tcp.upgrade()) {
                // Fails only if the connection is gone already.
                let _ = tcp.shutdown(Shutdown::Both);
            }
        });
    }
}

/// Removes a connection from the live ones when its thread ends, by a panic too.
struct LiveGuard<'a> {
    shared: &'a Shared,
    connection: usize,
}

impl Drop for LiveGuard<'_> {
    fn drop(&mut self) {
        self.shared.live(|live| live.remove(&self.connection));
        self.shared.journal.on_connection(self.connection, |record| record.ended = true);
    }
}

/// Settings of a [`Peer`].
#[derive(Clone, Debug)]
pub struct PeerBuilder {
    tls: bool,
    ipv6: bool,
    names: Vec<String>,
    receive_buffer: Option<usize>,
}

impl PeerBuilder {
    /// Speaks TLS.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Listens on `[::1]` instead of 127.0.0.1.
    pub fn ipv6(mut self) -> Self {
        self.ipv6 = true;
        self
    }

    /// Makes the certificate for these names and addresses instead of localhost, 127.0.0.1 and ::1.
    pub fn certificate_names(mut self, names: &[&str]) -> Self {
        self.names = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Makes the sockets' receive buffers about this small, in bytes, so that a client that sends more is held up early.
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.receive_buffer = Some(bytes);
        self
    }

    /// Starts the peer on a free port.
    ///
    /// # Panics
    /// If the system gives no port or no thread.
    pub fn start(self) -> Peer {
        let identity = self.tls.then(|| tls::identity(&self.names));
        let ip = if self.ipv6 { IpAddr::from(Ipv6Addr::LOCALHOST) } else { IpAddr::from(Ipv4Addr::LOCALHOST) };
        let listener = TcpListener::bind((ip, 0)).expect("a loopback port");
        if let Some(bytes) = self.receive_buffer {
            SockRef::from(&listener).set_recv_buffer_size(bytes).expect("a receive buffer of that size");
        }
        let shared = Arc::new(Shared {
            journal: Journal::default(),
            stop: Arc::default(),
            tls: identity.as_ref().map(|identity| Arc::clone(&identity.config)),
            faults: Mutex::default(),
            live: Mutex::default(),
            address: listener.local_addr().expect("the port's number"),
        });
        let acceptor = thread::Builder::new()
            .name("peer-accept".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept(&listener, &shared)
            })
            .expect("a thread");
        Peer { shared, identity, acceptor: Some(acceptor) }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    loop {
        let accepted = listener.accept();
        if shared.stop.load(Ordering::Acquire) {
            break;
        }
        // Fails when a client is gone before it was accepted, or when descriptors run out for a moment.
        let Ok((tcp, _)) = accepted else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let fault = shared.faults.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default();
        let connection = shared.journal.add_connection();
        let tcp = Arc::new(tcp);
        let entry = Live { tcp: Arc::downgrade(&tcp), idle: false, end_idle: None };
        shared.live(|live| live.insert(connection, entry));
        let worker = thread::Builder::new().name(format!("peer-{connection}")).stack_size(512 * 1024).spawn({
            let shared = Arc::clone(shared);
            move || {
                let _guard = LiveGuard { shared: &shared, connection };
                connection::serve(&shared, tcp, connection, fault);
            }
        });
        workers.retain(|worker| !worker.is_finished());
        workers.push(worker.expect("a thread"));
    }
    shared.shut_down();
    for worker in workers {
        // A panic there has been printed, and has shown in the test as a connection that ended.
        let _ = worker.join();
    }
}

/// A scripted server on a loopback port. Dropping it ends all its threads.
pub struct Peer {
    shared: Arc<Shared>,
    identity: Option<Identity>,
    acceptor: Option<JoinHandle<()>>,
}

impl Peer {
    /// Settings to choose from.
    pub fn builder() -> PeerBuilder {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        PeerBuilder { tls: false, ipv6: false, names, receive_buffer: None }
    }

    /// A plain peer on 127.0.0.1.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// A TLS peer on 127.0.0.1.
    pub fn start_tls() -> Self {
        Self::builder().tls().start()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The certificate to trust, in PEM: the authority made for this peer alone.
    ///
    /// # Panics
    /// If the peer speaks no TLS.
    pub fn certificate_pem(&self) -> &str {
        &self.identity.as_ref().expect("a peer with TLS").authority_pem
    }

    /// Registers scripts under a path of their own. Each request takes the first unused script that is meant for it; when all
    /// are used, the last one meant for it repeats. Without one, the peer does what a sound server would: the standard answers
    /// for JSON-RPC requests, 202 for notifications and replies, 405 for other HTTP methods.
    pub fn scenario(&self, scripts: impl IntoIterator<Item = Script>) -> Scenario {
        let number = self.shared.journal.add_scenario(scripts.into_iter().collect());
        Scenario { shared: Arc::clone(&self.shared), number }
    }

    /// As [`scenario`](Self::scenario), with every script meant for one JSON-RPC method alone, so that handshakes pass by.
    pub fn scenario_for(&self, method: &str, scripts: impl IntoIterator<Item = Script>) -> Scenario {
        self.scenario(scripts.into_iter().map(|script| script.for_method(method)))
    }

    /// Says what to do with the next connections, one each; those after them are served.
    pub fn next_connections(&self, faults: impl IntoIterator<Item = OnConnection>) {
        self.shared.faults.lock().unwrap_or_else(PoisonError::into_inner).extend(faults);
    }

    /// Waits until that many kept-alive connections are idle, ends all that are in this way (`Fin`, `TlsTruncate` or `Reset`),
    /// and waits until they are ended. Says how many; fewer than `count` if 5 seconds were not enough.
    pub fn close_idle(&self, count: usize, ending: Ending) -> usize {
        let idle_now = || self.shared.live(|live| live.values().filter(|entry| entry.idle).count());
        self.shared.journal.wait_for(|_| idle_now() >= count, IDLE_BOUND);
        let ended: Vec<usize> = self.shared.live(|live| {
            let idle = live.iter_mut().filter(|(_, entry)| entry.idle);
            idle.map(|(connection, entry)| {
                entry.end_idle = Some(ending.clone());
                if let Some(tcp) = entry.tcp.upgrade() {
                    // Wakes the thread that reads; the client sees nothing of it.
                    let _ = tcp.shutdown(Shutdown::Read);
                }
                *connection
            })
            .collect()
        });
        let all_ended = |log: &Log| ended.iter().all(|connection| log.connections[*connection].ended);
        self.shared.journal.wait_for(all_ended, IDLE_BOUND);
        ended.len()
    }

    /// Everything seen so far.
    pub fn log(&self) -> Log {
        self.shared.journal.read(Log::clone)
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.journal.read(|log| log.connections.len())
    }

    /// Waits until the condition holds; false if it does not within `bound`. The condition must not use the peer.
    pub fn wait_for(&self, condition: impl Fn(&Log) -> bool, bound: Duration) -> bool {
        self.shared.journal.wait_for(condition, bound)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // Wakes the accepting thread. If that fails, the thread is left alone rather than waited for.
        if TcpStream::connect_timeout(&self.shared.address, Duration::from_secs(1)).is_ok() {
            if let Some(acceptor) = self.acceptor.take() {
                let _ = acceptor.join();
            }
        }
    }
}

/// A list of scripts under a URL path of its own, with counts of its own.
#[derive(Clone)]
pub struct Scenario {
    shared: Arc<Shared>,
    number: usize,
}

impl Scenario {
    /// Its path; longer paths that begin so belong to it too, so `{path}/messages` can be told apart by its target.
    pub fn path(&self) -> String {
        format!("/s/{}", self.number)
    }

    /// Its URL, by address.
    pub fn url(&self) -> String {
        self.url_on(&self.shared.address.to_string())
    }

    /// Its URL by the name `localhost`.
    pub fn localhost_url(&self) -> String {
        self.url_on(&format!("localhost:{}", self.shared.address.port()))
    }

    fn url_on(&self, authority: &str) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{authority}{}", self.path())
    }

    /// Adds scripts behind those it has.
    pub fn push(&self, scripts: impl IntoIterator<Item = Script>) {
        self.shared.journal.add_scripts(self.number, scripts.into_iter().collect());
    }

    /// How often a side effect ran, of whatever method.
    pub fn executions(&self) -> usize {
        self.read(|log| log.executions.len())
    }

    /// How often a method ran.
    pub fn executions_of(&self, method: &str) -> usize {
        self.read(|log| log.executions_of(method))
    }

    /// How often a method ran with these params (`_meta` aside).
    pub fn executions_with(&self, method: &str, params: &Value) -> usize {
        self.read(|log| log.executions_with(method, params))
    }

    /// The runs, in order.
    pub fn executed(&self) -> Vec<Execution> {
        self.read(|log| log.executions.clone())
    }

    /// The requests, in order, of every kind.
    pub fn requests(&self) -> Vec<Request> {
        self.read(|log| log.requests.clone())
    }

    /// Everything that came to it.
    pub fn log(&self) -> ScenarioLog {
        self.read(ScenarioLog::clone)
    }

    /// The connections its requests came on, in the order of first use.
    pub fn connections(&self) -> Vec<ConnectionRecord> {
        self.shared.journal.read(|log| {
            let mut numbers: Vec<usize> = Vec::new();
            for request in &log.scenarios[self.number].requests {
                if !numbers.contains(&request.connection) {
                    numbers.push(request.connection);
                }
            }
            numbers.into_iter().map(|number| log.connections[number].clone()).collect()
        })
    }

    /// Waits until the condition holds; false if it does not within `bound`. The condition must not use the peer.
    pub fn wait_for(&self, condition: impl Fn(&ScenarioLog) -> bool, bound: Duration) -> bool {
        self.shared.journal.wait_for(|log| condition(&log.scenarios[self.number]), bound)
    }

    /// Waits until the client has closed the connection of the latest request (a cancel, where closing is one).
    pub fn wait_for_client_close(&self, bound: Duration) -> bool {
        let closed = |log: &Log| {
            let latest = log.scenarios[self.number].requests.last();
            latest.is_some_and(|request| log.connections[request.connection].client_close.is_some())
        };
        self.shared.journal.wait_for(closed, bound)
    }

    fn read<T>(&self, read: impl FnOnce(&ScenarioLog) -> T) -> T {
        self.shared.journal.read(|log| read(&log.scenarios[self.number]))
    }
}
