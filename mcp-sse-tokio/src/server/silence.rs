//! Connections that say nothing: which of them have shown no sign of life for too long, and are let go.
//!
//! Facts reported: none of the core's. Steps carried out: a silent connection's task is told that it is over.
//!
//! One timer looks after all connections, a few times in the span that one may be silent for. hyper's own way is a timer for
//! each head, which is made, set and taken back with every request.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How often a connection is looked at in the span that it may be silent for: it ends after that span, and a quarter of it at
/// most.
const LOOKS: u32 = 4;

/// What a connection shows of itself.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// Requests that are not answered to the end.
    underway: AtomicUsize,
    /// Nothing happened since it was last looked at.
    is_quiet: AtomicBool,
    /// It speaks HTTP/2, and asks for signs of life by itself.
    is_multiplexed: AtomicBool,
    is_over: AtomicBool,
    task: OnceLock<Waker>,
}

impl Signs {
    /// A request came, which takes until what is given back is dropped.
    pub(super) fn on_request(self: &Arc<Self>, is_multiplexed: bool) -> Underway {
        self.underway.fetch_add(1, Ordering::Relaxed);
        if is_multiplexed {
            self.is_multiplexed.store(true, Ordering::Relaxed);
        }
        Underway(Arc::clone(self))
    }

    /// Something happened.
    pub(super) fn show(&self) {
        self.is_quiet.store(false, Ordering::Relaxed);
    }

    /// Whether it was silent for too long. The task is woken when it is.
    pub(super) fn is_over(&self, cx: &Context<'_>) -> bool {
        // A task has one waker all its life.
        self.task.get_or_init(|| cx.waker().clone());
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether nothing happened since the last time.
    fn look(&self) -> bool {
        let is_idle = self.underway.load(Ordering::Relaxed) == 0 && !self.is_multiplexed.load(Ordering::Relaxed);
        self.is_quiet.swap(true, Ordering::Relaxed) && is_idle
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(task) = self.task.get() {
            task.wake_by_ref();
        }
    }
}

/// A request of a connection, until its response is at its end.
#[derive(Debug)]
pub(super) struct Underway(Arc<Signs>);

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.show();
        self.0.underway.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Looks after the connections of a listener.
pub(super) struct Watch {
    period: Duration,
    next: Pin<Box<Sleep>>,
    connections: Vec<Watched>,
}

struct Watched {
    signs: Weak<Signs>,
    /// How often it was found silent, one time after another.
    times: u32,
}

impl Watch {
    /// Lets a connection be silent for so long.
    pub(super) fn new(timeout: Duration) -> Self {
        let period = (timeout / LOOKS).max(Duration::from_millis(1));
        Self { period, next: Box::pin(sleep(period)), connections: Vec::new() }
    }

    /// A connection to look after.
    pub(super) fn add(&mut self) -> Arc<Signs> {
        let signs = Arc::default();
        self.connections.push(Watched { signs: Arc::downgrade(&signs), times: 0 });
        signs
    }

    /// Looks, whenever it is time to.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        while self.next.as_mut().poll(cx).is_ready() {
            self.next.set(sleep(self.period));
            self.connections.retain_mut(Watched::look);
        }
    }
}

impl Watched {
    /// Whether it is to be looked after any longer.
    fn look(&mut self) -> bool {
        let Some(signs) = self.signs.upgrade() else {
            return false;
        };
        self.times = if signs.look() { self.times + 1 } else { 0 };
        let is_over = self.times >= LOOKS;
        if is_over {
            signs.end();
        }
        !is_over
    }
}

/// A connection's bytes. Those that are written are a sign that somebody reads.
pub(super) struct Noting<S> {
    pub(super) stream: S,
    pub(super) signs: Arc<Signs>,
}

/// So many bytes are written as one piece: to give the system several costs it more than it costs to copy them.
const GATHERED_BYTES: usize = 1024;

/// Puts pieces behind one another, if there is room for them.
fn gather<'a>(pieces: &[io::IoSlice<'_>], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut end = 0;
    for piece in pieces {
        let start = end;
        end += piece.len();
        room.get_mut(start..end)?.copy_from_slice(piece);
    }
    room.get(..end)
}

impl<S> Noting<S> {
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.signs.show();
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noting<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noting<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut gathered = [0; GATHERED_BYTES];
        let written = match gather(bytes, &mut gathered) {
            Some(gathered) => Pin::new(&mut self.stream).poll_write(cx, gathered),
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bytes),
        };
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
