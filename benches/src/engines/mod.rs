//! The decoders, one file each, all behind [`Engine`].
//!
//! Rules:
//! * Each engine gets a fresh decoder per run, and its input as it likes it best: every one here takes slices of the
//!   stream as they are, so that none pays for copying its input.
//! * Limits on sizes are lifted in peers that have them. Ours stay at their defaults.
//! * An event is handed to the sink as the engine gives it, and dropped at once. What an engine does not know (a
//!   default type, an absent id) is filled in with a constant, which costs it nothing.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::slice;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::sink::{Digest, Sink, Touch};

mod allama_http;
mod async_sse;
mod eventsource_stream;
mod eventsrc;
mod exchange;
mod ours;
mod sse_core;
mod sse_parse;
mod sse_stream;
mod sse_stream_02;
mod sseer;

/// Why an engine did not decode a stream.
pub type Failure = Box<dyn Error>;

/// A decoder as the benches see it.
pub trait Engine {
    /// Its crate's name and version.
    const NAME: &'static str;

    /// Decodes `stream` in chunks of `chunk_bytes` bytes.
    ///
    /// # Errors
    /// The engine's own.
    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure>;
}

/// An engine chosen at run time.
#[derive(Clone, Copy, Debug)]
pub struct AnyEngine {
    /// [`Engine::NAME`].
    pub name: &'static str,
    /// Decodes, and tells what came out.
    pub digest: fn(&'static [u8], usize) -> Result<Digest, Failure>,
    /// Decodes, and looks at what came out no more than is needed. This one is timed.
    pub touch: fn(&'static [u8], usize) -> Result<u64, Failure>,
}

impl AnyEngine {
    fn of<E: Engine>() -> Self {
        Self {
            name: E::NAME,
            digest: |stream, chunk_bytes| {
                let mut digest = Digest::default();
                E::decode(stream, chunk_bytes, &mut digest).map(|()| digest)
            },
            touch: |stream, chunk_bytes| {
                let mut touch = Touch::default();
                E::decode(stream, chunk_bytes, &mut touch).map(|()| touch.tally())
            },
        }
    }
}

/// Our decoder, lending its events.
pub fn ours() -> AnyEngine {
    AnyEngine::of::<ours::Lent>()
}

/// Our decoder, each event copied into `String`s, as most peers give them.
pub fn ours_owned() -> AnyEngine {
    AnyEngine::of::<ours::Owned>()
}

/// Our `Exchange`, which also reads each message's envelope, and keeps its text. Only for streams of MCP.
pub fn ours_exchange() -> AnyEngine {
    AnyEngine::of::<exchange::Messages>()
}

/// The others.
pub fn peers() -> Vec<AnyEngine> {
    vec![
        AnyEngine::of::<sse_core::SseCore>(),
        AnyEngine::of::<sse_stream::SseStream>(),
        AnyEngine::of::<sse_stream_02::SseStream02>(),
        AnyEngine::of::<sseer::Sseer>(),
        AnyEngine::of::<sse_parse::SseParse>(),
        AnyEngine::of::<eventsrc::Eventsrc>(),
        AnyEngine::of::<allama_http::AllamaHttp>(),
        AnyEngine::of::<async_sse::AsyncSse>(),
        AnyEngine::of::<eventsource_stream::EventsourceStream>(),
    ]
}

/// A stream's chunks as the asynchronous peers want them. It is always ready, so no executor is needed.
struct Chunks<'s>(slice::Chunks<'s, u8>);

impl<'s> Stream for Chunks<'s> {
    type Item = Result<&'s [u8], Infallible>;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::{ours, ours_owned, peers};
    use crate::corpora::KINDS;

    /// Ours gives what was written into each corpus, in chunks of every size.
    #[test]
    fn ours_gives_the_events_written() {
        for kind in &KINDS {
            let corpus = kind.make(100_000);
            for chunk_bytes in [1, 7, 64, 1460, usize::MAX] {
                for engine in [ours(), ours_owned()] {
                    let digest = (engine.digest)(corpus.stream, chunk_bytes).unwrap();
                    assert_eq!(digest, corpus.events, "{} in {chunk_bytes}", kind.name);
                }
            }
        }
    }

    /// The peers' adapters lose nothing: where no chunk's edge is in the way, all agree.
    #[test]
    fn peers_give_the_events_written() {
        for kind in &KINDS {
            let corpus = kind.make(20_000);
            for engine in peers() {
                let digest = (engine.digest)(corpus.stream, usize::MAX).unwrap();
                assert_eq!(digest, corpus.events, "{}: {}", engine.name, kind.name);
            }
        }
    }

    /// Engines are told apart by name.
    #[test]
    fn names_differ() {
        let mut names: Vec<_> = peers().iter().map(|engine| engine.name).collect();
        names.extend([ours().name, ours_owned().name]);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
