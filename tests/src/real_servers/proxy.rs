//! A TCP proxy that cuts one stream of a server's at a chosen place.
//!
//! Rules: bytes pass as they come, until a cut is armed; then the first stream in which the pattern has come so often is
//! cut right after it, and both of its sockets are closed. A cut is made once.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Where to cut: after this many occurrences of the pattern in what the server sends.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// What is looked for.
    pub pattern: &'static str,
    /// Which one it is, counted from one.
    pub occurrence: usize,
}

/// The proxy, which lives as long as the process.
pub struct Proxy {
    address: SocketAddr,
    armed: Arc<Mutex<Option<Cut>>>,
}

impl Proxy {
    /// Listens on a loopback port, and connects to `target` for each connection.
    ///
    /// # Errors
    /// If there is no port.
    pub fn start(target: SocketAddr) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let armed = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&armed);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(target) {
                    pass(&client, &server, &shared);
                }
            }
        });
        Ok(Self { address, armed })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next stream with this place in it is cut.
    pub fn arm(&self, cut: Cut) {
        *lock(&self.armed) = Some(cut);
    }

    /// Takes the cut back; true if it was not made.
    pub fn disarm(&self) -> bool {
        lock(&self.armed).take().is_some()
    }
}

fn lock(armed: &Mutex<Option<Cut>>) -> std::sync::MutexGuard<'_, Option<Cut>> {
    armed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes bytes in both directions, each in a thread of its own.
fn pass(client: &TcpStream, server: &TcpStream, armed: &Arc<Mutex<Option<Cut>>>) {
    let sides = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
    let (Some((mut from, mut to)), Some((mut client, mut server))) = (sides(), sides()) else {
        return;
    };
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let armed = Arc::clone(armed);
    thread::spawn(move || {
        let mut chunk = [0; 16 * 1024];
        let mut seen = Vec::new();
        while let Ok(length @ 1..) = server.read(&mut chunk) {
            let chunk = &chunk[..length];
            match place(&mut seen, chunk, &mut lock(&armed)) {
                Some(end) => {
                    let _ = client.write_all(&chunk[..end]);
                    break;
                }
                None if client.write_all(chunk).is_err() => break,
                None => {}
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}

/// How much of the chunk still passes, if the cut is in it; the cut is disarmed then. `seen` is what came since it was armed.
fn place(seen: &mut Vec<u8>, chunk: &[u8], armed: &mut Option<Cut>) -> Option<usize> {
    let Some(cut) = *armed else {
        seen.clear();
        return None;
    };
    let before = seen.len();
    seen.extend_from_slice(chunk);
    let pattern = cut.pattern.as_bytes();
    let mut ends = seen.windows(pattern.len()).enumerate().filter(|(_, window)| *window == pattern);
    let (start, _) = ends.nth(cut.occurrence - 1)?;
    *armed = None;
    // An earlier chunk had no such place, so it ends in this one.
    Some(start + pattern.len() - before)
}
