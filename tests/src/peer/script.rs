//! What the peer does with one request, and with one connection before any request.
//!
//! Data and small waits only: `connection` carries a script out.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::feed::Feed;
use super::render::{Mark, Rendered, render};
use super::request::{Kind, Request};
use super::response::{Response, Sse};
use super::text::Text;

/// A place in a response, known only when the response is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    base: Base,
    plus: isize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Start,
    Mark(Mark),
    End,
}

impl At {
    /// Behind this many bytes (all of them, if the response is shorter).
    pub fn byte(offset: usize) -> Self {
        Self { base: Base::Start, plus: isize::try_from(offset).unwrap_or(isize::MAX) }
    }

    /// At a mark. A response without it is a mistake of the test: the peer panics and the connection ends.
    pub fn mark(mark: Mark) -> Self {
        Self { base: Base::Mark(mark), plus: 0 }
    }

    /// Behind the whole response.
    pub fn end() -> Self {
        Self { base: Base::End, plus: 0 }
    }

    /// The same place moved by this many bytes.
    pub fn plus(mut self, bytes: isize) -> Self {
        self.plus += bytes;
        self
    }

    /// The offset in this response, never beyond its end.
    ///
    /// # Panics
    /// If the response lacks the mark.
    pub fn resolve(self, rendered: &Rendered) -> usize {
        let base = match self.base {
            Base::Start => 0,
            Base::Mark(mark) => rendered.at(mark).unwrap_or_else(|| panic!("the response has no {mark:?}")),
            Base::End => rendered.bytes.len(),
        };
        base.saturating_add_signed(self.plus).min(rendered.bytes.len())
    }
}

/// What becomes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Stays open for the next request.
    KeepAlive,
    /// Orderly: close_notify under TLS, then FIN; what the client still sends is read and dropped until it closes (5 s at most).
    Fin,
    /// FIN without close_notify. The same as `Fin` without TLS.
    TlsTruncate,
    /// RST, after the client's side has taken all bytes written before.
    Reset,
    /// Silence, until the client closes, the peer is dropped, or a minute is over (then as `Fin`).
    Stall,
    /// These bytes again and again, this long apart, until the client closes, the peer is dropped, or a minute is over.
    Repeat {
        /// What is written each time.
        bytes: Vec<u8>,
        /// The time between two writes; zero writes as fast as the client reads.
        every: Duration,
    },
}

/// What the peer does with a connection before it serves requests on it. Endings other than `Fin`, `TlsTruncate`, `Reset` and
/// `Stall` count as `Fin` here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnConnection {
    /// Serves it (under TLS: after the handshake).
    #[default]
    Serve,
    /// Ends it at once, reading nothing and without a handshake. `Stall` accepts and stays silent: a stalled TLS handshake.
    End(Ending),
    /// Reads this many bytes (after the TLS handshake), then ends it. What the bytes say is ignored, nothing is counted.
    ReadThen(usize, Ending),
    /// Writes these bytes without TLS, then ends it: plain bytes on a TLS port.
    WriteThen(Vec<u8>, Ending),
    /// Begins the TLS handshake, sends this many bytes of its first flight, then ends the connection.
    CutHandshake(usize, Ending),
}

/// A door that a test opens: a script waits at it, for 10 seconds at most.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Waits until it is open, for those who are no script: a handler of the client's. 10 seconds at most.
    pub fn pass(&self) {
        self.wait(&AtomicBool::new(false));
    }

    fn wait(&self, stop: &AtomicBool) {
        let end = Instant::now() + Duration::from_secs(10);
        let mut open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open && !stop.load(Ordering::Acquire) && Instant::now() < end {
            // Short, because the flag that stops the peer wakes nobody.
            open = self.0.1.wait_timeout(open, Duration::from_millis(20)).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Pause {
    For(Duration),
    Gate(Gate),
}

impl Pause {
    /// Waits at a gate; a duration is waited out by the caller, who watches the connection meanwhile.
    pub(super) fn duration_or_wait(&self, stop: &AtomicBool) -> Option<Duration> {
        match self {
            Self::For(duration) => Some(*duration),
            Self::Gate(gate) => {
                gate.wait(stop);
                None
            }
        }
    }
}

type Matcher = Arc<dyn Fn(&Request) -> bool + Send + Sync>;
type Responder = Arc<dyn Fn(&Request) -> Response + Send + Sync>;
type Effect = Arc<dyn Fn(&Request) + Send + Sync>;

/// What the peer does with one request. A script is meant for JSON-RPC requests by POST unless [`when`](Self::when) or another
/// condition says otherwise.
#[derive(Clone)]
pub struct Script {
    matcher: Matcher,
    responder: Responder,
    pub(super) pauses: Vec<(At, Pause)>,
    pub(super) drip: Option<(usize, Duration)>,
    pub(super) ending: Option<(At, Ending)>,
    pub(super) executes: bool,
    pub(super) request_cut: Option<(usize, Ending)>,
    pub(super) feed: Option<Feed>,
    pub(super) before: Option<Effect>,
    pub(super) after: Option<Effect>,
}

impl Script {
    /// Answers with this response, whole.
    pub fn new(response: Response) -> Self {
        Self::with(move |_| response.clone())
    }

    /// Answers with a response made from the request; the closure must give the same response for the same request.
    pub fn with(responder: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self {
            matcher: Arc::new(|request| matches!(request.kind(), Kind::Call | Kind::Unreadable)),
            responder: Arc::new(responder),
            pauses: Vec::new(),
            drip: None,
            ending: None,
            executes: true,
            request_cut: None,
            feed: None,
            before: None,
            after: None,
        }
    }

    /// A sound SSE response of the counted tool: one event, the answer.
    pub fn whole() -> Self {
        Self::new(Response::sse([Sse::charged()]))
    }

    /// A sound JSON response of the counted tool.
    pub fn json() -> Self {
        Self::new(Response::json(Text::charged()))
    }

    /// Reads the head and this many bytes of a request's body, then ends the connection; the request does not run. It takes the
    /// first request that comes once it is the first unused script of its scenario, whatever the request is.
    pub fn cut_request(body_bytes: usize, ending: Ending) -> Self {
        Self { request_cut: Some((body_bytes, ending)), ..Self::new(Response::empty(500)) }
    }

    /// Takes only requests for which this holds, of any kind. The condition must not use the peer.
    pub fn when(mut self, matcher: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.matcher = Arc::new(matcher);
        self
    }

    /// Takes only messages of this JSON-RPC method, notifications included.
    pub fn for_method(self, method: &str) -> Self {
        let method = method.to_owned();
        self.when(move |request| !request.messages.is_empty() && request.method() == Some(&method))
    }

    /// Takes only requests of this HTTP method, such as GET.
    pub fn for_http(self, http_method: &str) -> Self {
        let http_method = http_method.to_owned();
        self.when(move |request| request.http_method == http_method)
    }

    /// Does not run the request: nothing is counted.
    pub fn without_executing(mut self) -> Self {
        self.executes = false;
        self
    }

    /// Writes only up to this place, then ends the connection so.
    pub fn cut(mut self, at: At, ending: Ending) -> Self {
        self.ending = Some((at, ending));
        self
    }

    /// Writes the whole response, then ends the connection so. Else a response that allows it keeps the connection alive.
    pub fn then(self, ending: Ending) -> Self {
        self.cut(At::end(), ending)
    }

    /// Waits this long when so much is written.
    pub fn pause(mut self, at: At, duration: Duration) -> Self {
        self.pauses.push((at, Pause::For(duration)));
        self
    }

    /// Waits at the gate when so much is written.
    pub fn wait_at(mut self, at: At, gate: &Gate) -> Self {
        self.pauses.push((at, Pause::Gate(gate.clone())));
        self
    }

    /// Writes at most this many bytes at a time, this long apart.
    pub fn drip(mut self, bytes: usize, every: Duration) -> Self {
        self.drip = Some((bytes.max(1), every));
        self
    }

    /// Goes on with the feed when the response is written, which is best chunked and without its last chunk.
    pub fn feed(mut self, feed: &Feed) -> Self {
        self.feed = Some(feed.clone());
        self
    }

    /// Does this before a byte of the response is written, such as opening a gate or writing to a feed. It must not use the
    /// peer.
    pub fn before(mut self, effect: impl Fn(&Request) + Send + Sync + 'static) -> Self {
        self.before = Some(Arc::new(effect));
        self
    }

    /// Does this when the response is written. It must not use the peer.
    pub fn after(mut self, effect: impl Fn(&Request) + Send + Sync + 'static) -> Self {
        self.after = Some(Arc::new(effect));
        self
    }

    /// The response to this request, as bytes: what is written if nothing cuts it.
    pub fn render(&self, request: &Request) -> Rendered {
        render(&self.response(request), request)
    }

    pub(super) fn response(&self, request: &Request) -> Response {
        (self.responder)(request)
    }

    pub(super) fn takes(&self, request: &Request) -> bool {
        self.request_cut.is_none() && (self.matcher)(request)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Script")
            .field("ending", &self.ending)
            .field("executes", &self.executes)
            .finish_non_exhaustive()
    }
}
