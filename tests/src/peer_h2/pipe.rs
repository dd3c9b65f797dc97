//! Frames between h2 and the socket: carried one by one, logged, added to, and cut off.
//!
//! Rule: a frame is logged as sent when the socket has all of it, and a connection is cut only between frames.

use std::io;
use std::net::TcpStream as StdTcpStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use super::frame::Frames;
use super::log::Journal;
use super::script::Hangup;
use crate::peer::{ClientClose, await_delivery};

/// How long the peer waits, its own side being closed, for the client to close.
const DRAIN: Duration = Duration::from_secs(5);
const PIECE: usize = 64 << 10;

/// What the streams of a connection ask of its pipe.
pub(super) enum Order {
    /// Put this frame on the wire.
    Add(Vec<u8>),
    /// Close the connection.
    Close(Hangup),
}

/// The client's side, plain or TLS.
trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

type Boxed = Box<dyn Socket>;

/// What is wanted of a connection besides its frames.
pub(super) struct Wanted {
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) cut: Option<(usize, Hangup)>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
}

/// Carries frames until the connection ends, and closes it.
pub(super) async fn carry(
    tcp: TcpStream,
    pipe: DuplexStream,
    wanted: Wanted,
    journal: &Arc<Journal>,
    number: usize,
) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let std_tcp = tcp.into_std()?;
    // A handle of the socket for its end; a reset goes out when the last handle is gone.
    let handle = std_tcp.try_clone()?;
    let tcp = TcpStream::from_std(std_tcp)?;
    let socket: Boxed = match wanted.tls {
        Some(config) => Box::new(TlsAcceptor::from(config).accept(tcp).await?),
        None => Box::new(tcp),
    };
    let (socket_in, socket_out) = tokio::io::split(socket);
    let (pipe_out, pipe_in) = tokio::io::split(pipe);
    let reading = tokio::spawn(read(socket_in, pipe_in, Arc::clone(journal), number));
    let (hangup, mut socket_out) = write(socket_out, pipe_out, wanted.orders, wanted.cut, journal, number).await;
    match hangup {
        Hangup::Fin => {
            // Fails only if the connection is gone already.
            let _ = socket_out.shutdown().await;
            let _ = tokio::time::timeout(DRAIN, reading).await;
        }
        Hangup::Reset => {
            let handle = tokio::task::spawn_blocking(move || {
                await_delivery(&handle, &AtomicBool::new(false));
                handle
            })
            .await?;
            reading.abort();
            let _ = reading.await;
            drop(socket_out);
            // Fails only if the connection is gone already.
            let _ = socket2::SockRef::from(&handle).set_linger(Some(Duration::ZERO));
            drop::<StdTcpStream>(handle);
        }
    }
    Ok(())
}

/// From h2 to the socket. Says how the connection is to be closed.
async fn write(
    mut socket: WriteHalf<Boxed>,
    mut pipe: ReadHalf<DuplexStream>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    mut cut: Option<(usize, Hangup)>,
    journal: &Journal,
    number: usize,
) -> (Hangup, WriteHalf<Boxed>) {
    let mut frames = Frames::default();
    let mut piece = vec![0; PIECE];
    let hangup = 'carrying: loop {
        let added = tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(Order::Add(bytes)) => bytes,
                Some(Order::Close(hangup)) => break hangup,
                None => break Hangup::Fin,
            },
            count = pipe.read(&mut piece) => match count {
                Ok(count) if count > 0 => {
                    frames.push(&piece[..count]);
                    Vec::new()
                }
                _ => break Hangup::Fin,
            },
        };
        let mut whole = Frames::default();
        whole.push(&added);
        while let Some((frame, bytes)) = whole.next().or_else(|| frames.next()) {
            if let Some((left, hangup)) = &mut cut {
                if *left == 0 {
                    break 'carrying *hangup;
                }
                *left -= 1;
            }
            if socket.write_all(&bytes).await.is_err() || socket.flush().await.is_err() {
                break 'carrying Hangup::Fin;
            }
            journal.on_connection(number, |record| record.sent.push(frame));
        }
    };
    (hangup, socket)
}

/// From the socket to h2, until the client closes.
async fn read(mut socket: ReadHalf<Boxed>, mut pipe: WriteHalf<DuplexStream>, journal: Arc<Journal>, number: usize) {
    let mut frames = Frames::of_client();
    let mut piece = vec![0; PIECE];
    loop {
        let close = match socket.read(&mut piece).await {
            Ok(0) => ClientClose::Fin,
            Ok(count) => {
                frames.push(&piece[..count]);
                while let Some((frame, _)) = frames.next() {
                    journal.on_connection(number, |record| record.received.push(frame));
                }
                // Fails when h2 is done; then what comes is dropped.
                let _ = pipe.write_all(&piece[..count]).await;
                continue;
            }
            Err(_) => ClientClose::Reset,
        };
        journal.on_connection(number, |record| record.client_close = Some(close));
        // h2 sees the end.
        let _ = pipe.shutdown().await;
        return;
    }
}
