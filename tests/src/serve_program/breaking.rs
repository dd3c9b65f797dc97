//! What stands in front of a server and breaks its responses: connections are passed on byte by byte, until so many have come
//! since the client last said something.
//!
//! Rules: nothing is understood of what passes, so TLS and any HTTP will do; every response that is long enough is broken, for
//! ever. A reset goes out only once the bytes before it have arrived.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use socket2::SockRef;

use crate::peer::await_delivery;

/// How a response is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The connection is closed.
    Cut,
    /// The connection is reset.
    Reset,
    /// Nothing more comes, until the client closes.
    Stall,
}

/// What is done to each response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Break {
    pub(super) how: How,
    /// How many of its bytes arrive.
    pub(super) after: usize,
}

/// How soon each direction of a connection notices that the other has ended.
const GLANCE: Duration = Duration::from_millis(50);

/// Passes connections on for as long as the process lives.
pub(super) fn start(listener: TcpListener, server: SocketAddr, how: Break) {
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || TcpStream::connect(server).and_then(|server| pass(&client, &server, how)));
        }
    });
}

/// One connection, until both of its directions have ended. Its sockets are then closed by who holds them.
fn pass(client: &TcpStream, server: &TcpStream, how: Break) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    client.set_read_timeout(Some(GLANCE))?;
    let is_over = AtomicBool::new(false);
    // How much of the response may still pass.
    let left = Mutex::new(how.after);
    let is_broken = thread::scope(|scope| {
        scope.spawn(|| {
            // Either may have gone: both then end.
            pass_request(client, server, how.after, &left, &is_over).ok();
            server.shutdown(Shutdown::Both).ok();
        });
        let is_broken = pass_response(client, server, how.how, &left).unwrap_or(false);
        is_over.store(true, Ordering::Release);
        is_broken
    });
    if is_broken && how.how == How::Reset {
        await_delivery(client, &AtomicBool::new(false));
        SockRef::from(client).set_linger(Some(Duration::ZERO))?;
    }
    Ok(())
}

fn pass_request(
    mut client: &TcpStream,
    mut server: &TcpStream,
    after: usize,
    left: &Mutex<usize>,
    is_over: &AtomicBool,
) -> io::Result<()> {
    let mut chunk = [0; 16 * 1024];
    while !is_over.load(Ordering::Acquire) {
        match client.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                *left.lock().unwrap_or_else(PoisonError::into_inner) = after;
                server.write_all(&chunk[..length])?;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True once the response was broken, or the client has gone after it stalled.
fn pass_response(mut client: &TcpStream, mut server: &TcpStream, how: How, left: &Mutex<usize>) -> io::Result<bool> {
    let mut chunk = [0; 16 * 1024];
    loop {
        let length = server.read(&mut chunk)?;
        if length == 0 {
            client.shutdown(Shutdown::Write)?;
            return Ok(false);
        }
        let passed = {
            let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
            let passed = length.min(*left);
            *left -= passed;
            passed
        };
        client.write_all(&chunk[..passed])?;
        if passed < length {
            match how {
                How::Cut => client.shutdown(Shutdown::Write)?,
                How::Reset => {}
                How::Stall => drop(io::copy(&mut server, &mut io::sink())),
            }
            return Ok(true);
        }
    }
}
