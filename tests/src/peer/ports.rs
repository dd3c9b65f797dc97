//! Ports at which nobody listens.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::OnceLock;

use socket2::{Domain, Socket, Type};

/// A loopback port that is taken but not listening: every connection to it is refused, and no other test can get it meanwhile.
#[derive(Debug)]
pub struct RefusedPort {
    _socket: Socket,
    address: SocketAddr,
}

impl RefusedPort {
    /// Takes a port until the value is dropped.
    ///
    /// # Panics
    /// If the system gives no port.
    pub fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).expect("a port");
        let address = socket.local_addr().ok().and_then(|address| address.as_socket()).expect("the port's number");
        Self { _socket: socket, address }
    }

    /// The address that refuses.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Default for RefusedPort {
    fn default() -> Self {
        Self::new()
    }
}

/// A URL at which every connection is refused, as long as the process lives.
pub fn refused_url() -> String {
    static PORT: OnceLock<RefusedPort> = OnceLock::new();
    format!("http://{}/mcp", PORT.get_or_init(RefusedPort::new).address())
}
