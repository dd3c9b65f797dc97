//! What the peer does with one request over HTTP/2, and with one connection. Data and small waits only: `stream` carries it out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use h2::Reason;
use tokio::sync::watch;

use crate::peer::{At, Framing, Kind, Rendered, Request, Response, Sse, Text};

/// How a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// FIN; what the client still sends is read and dropped until it closes (5 s at most).
    Fin,
    /// RST, after the client's side has taken all frames written before.
    Reset,
}

/// What becomes of a stream once so much of its response is on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// END_STREAM, as is right.
    EndStream,
    /// RST_STREAM with this reason.
    ResetStream(Reason),
    /// The connection is closed, and every stream on it with it.
    Close(Hangup),
    /// Silence, until the client resets the stream, the connection ends, or a minute is over.
    Stall,
    /// These bytes again and again in DATA frames, as fast as the client's window lets them go.
    Repeat(Vec<u8>),
}

/// The last stream that a GOAWAY names, as seen from the stream of its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastStream {
    /// The one before it: this request was not looked at.
    Below,
    /// This one.
    This,
    /// The highest there can be: nothing is said yet, as when a graceful shutdown begins.
    Above,
}

/// A door that a test opens: a script waits at it, for 10 seconds at most.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(super) async fn wait(&self) {
        let mut receiver = self.0.subscribe();
        // Past the bound the script goes on, and the test sees that its door was never opened.
        let _ = tokio::time::timeout(Duration::from_secs(10), receiver.wait_for(|open| *open)).await;
    }
}

/// What happens on the way, when so much of the response is on the wire.
#[derive(Clone, Debug)]
pub(super) enum Interlude {
    Wait(Gate),
    GoAway(LastStream, Reason),
}

type Matcher = Arc<dyn Fn(&Request) -> bool + Send + Sync>;
type Responder = Arc<dyn Fn(&Request) -> Response + Send + Sync>;

/// What the peer does with one request. A script is meant for JSON-RPC requests by POST unless [`when`](Self::when) says otherwise.
#[derive(Clone)]
pub struct Script {
    matcher: Matcher,
    responder: Responder,
    pub(super) interludes: Vec<(At, Interlude)>,
    pub(super) ending: (At, Ending),
    pub(super) executes: bool,
    /// By how much the declared length is wrong, if one is declared.
    pub(super) declares_length: Option<isize>,
    pub(super) frame_sizes: Vec<usize>,
    pub(super) ends_in_last_frame: bool,
}

impl Script {
    /// Answers with this response, whole. Its framing is of no account: the body comes in DATA frames, one for each SSE block or
    /// one for another body, and then END_STREAM in a frame of its own.
    pub fn new(response: Response) -> Self {
        Self::with(move |_| response.clone())
    }

    /// Answers with a response made from the request; the closure must give the same response for the same request.
    pub fn with(responder: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self {
            matcher: Arc::new(|request| matches!(request.kind(), Kind::Call | Kind::Unreadable)),
            responder: Arc::new(responder),
            interludes: Vec::new(),
            ending: (At::end(), Ending::EndStream),
            executes: true,
            declares_length: None,
            frame_sizes: Vec::new(),
            ends_in_last_frame: false,
        }
    }

    /// A sound SSE response of the counted tool: one event, the answer.
    pub fn whole() -> Self {
        Self::new(Response::sse([Sse::charged()]))
    }

    /// A sound JSON response of the counted tool, without a declared length.
    pub fn json() -> Self {
        Self::new(Response::json(Text::charged()))
    }

    /// Takes only requests for which this holds, of any kind. The condition must not use the peer.
    pub fn when(mut self, matcher: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.matcher = Arc::new(matcher);
        self
    }

    /// Does not run the request: nothing is counted.
    pub fn without_executing(mut self) -> Self {
        self.executes = false;
        self
    }

    /// Declares the body's length in the head.
    pub fn with_length(self) -> Self {
        self.with_wrong_length(0)
    }

    /// Declares a length in the head that is so many bytes more than the body's, or fewer.
    pub fn with_wrong_length(mut self, difference: isize) -> Self {
        self.declares_length = Some(difference);
        self
    }

    /// DATA frames of these sizes in bytes, whatever the blocks are; the last size repeats.
    pub fn frames(mut self, sizes: impl Into<Vec<usize>>) -> Self {
        self.frame_sizes = sizes.into();
        self.frame_sizes.retain(|size| *size > 0);
        self
    }

    /// Puts END_STREAM into the last DATA frame instead of one of its own.
    pub fn ending_in_last_frame(mut self) -> Self {
        self.ends_in_last_frame = true;
        self
    }

    /// Writes only up to this place, then ends the stream so. A place inside the head means that no head is sent.
    pub fn cut(mut self, at: At, ending: Ending) -> Self {
        self.ending = (at, ending);
        self
    }

    /// Writes the whole body, then ends the stream so.
    pub fn then(self, ending: Ending) -> Self {
        self.cut(At::end(), ending)
    }

    /// Waits at the gate when so much is on the wire.
    pub fn wait_at(mut self, at: At, gate: &Gate) -> Self {
        self.interludes.push((at, Interlude::Wait(gate.clone())));
        self
    }

    /// Sends a GOAWAY when so much is on the wire, and goes on.
    pub fn go_away_at(mut self, at: At, last: LastStream, reason: Reason) -> Self {
        self.interludes.push((at, Interlude::GoAway(last, reason)));
        self
    }

    /// The response to this request: its head as HTTP/1.1 has it, which tells offsets from each other, and its body.
    pub fn render(&self, request: &Request) -> Rendered {
        crate::peer::Script::new((self.responder)(request).framing(Framing::UntilClose)).render(request)
    }

    pub(super) fn takes(&self, request: &Request) -> bool {
        (self.matcher)(request)
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
