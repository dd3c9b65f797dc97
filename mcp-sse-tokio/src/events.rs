//! Events from a stream of byte chunks, whoever reads it.
//!
//! Facts reported: none. Steps carried out: none: this is the decoder alone, for those who want events and no
//! verdicts.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mcp_sse_core::sse::{DecodeError, Finish, OwnedEvent, SseDecoder};

/// Why an item of an [`EventStream`] is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError<E> {
    /// The stream of chunks failed; it is not asked for more.
    #[error("the stream of chunks failed: {0}")]
    Source(E),
    /// The peer sent a block that gives no event. The stream goes on after it.
    #[error(transparent)]
    Decode(DecodeError),
}

/// The events in a stream of chunks, such as `reqwest::Response::bytes_stream` gives.
///
/// An unfinished last event is dropped, as HTML says, unless [`with_finish`](Self::with_finish) asks for it.
/// A chunk is asked for only when the last one holds no more events.
#[derive(Debug)]
pub struct EventStream<S, C> {
    chunks: Option<Pin<Box<S>>>,
    decoder: SseDecoder,
    chunk: Option<C>,
    taken: usize,
    finish: Finish,
}

impl<S, C> EventStream<S, C> {
    /// The events of these chunks.
    pub fn new(chunks: S) -> Self {
        Self::with_decoder(chunks, SseDecoder::new())
    }

    /// The events of these chunks, decoded with limits of your own.
    pub fn with_decoder(chunks: S, decoder: SseDecoder) -> Self {
        Self { chunks: Some(Box::pin(chunks)), decoder, chunk: None, taken: 0, finish: Finish::Strict }
    }

    /// Says what becomes of an unfinished last event. Default: [`Finish::Strict`].
    #[must_use]
    pub const fn with_finish(mut self, finish: Finish) -> Self {
        self.finish = finish;
        self
    }

    /// The decoder, for its last event id and `retry`.
    #[must_use]
    pub const fn decoder(&self) -> &SseDecoder {
        &self.decoder
    }
}

impl<S, C, E> Stream for EventStream<S, C>
where
    S: Stream<Item = Result<C, E>>,
    C: AsRef<[u8]> + Unpin,
{
    type Item = Result<OwnedEvent, EventError<E>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(chunk) = &this.chunk {
                let chunk = chunk.as_ref();
                let mut rest = chunk.get(this.taken..).unwrap_or_default();
                let decoded = this.decoder.decode(&mut rest).map(|event| event.map(|event| event.to_owned()));
                this.taken = chunk.len() - rest.len();
                match decoded {
                    Ok(Some(event)) => return Poll::Ready(Some(Ok(event))),
                    Ok(None) => this.chunk = None,
                    Err(error) => return Poll::Ready(Some(Err(EventError::Decode(error)))),
                }
                continue;
            }
            let Some(chunks) = &mut this.chunks else {
                return Poll::Ready(None);
            };
            match ready!(chunks.as_mut().poll_next(cx)) {
                Some(Ok(chunk)) => (this.chunk, this.taken) = (Some(chunk), 0),
                Some(Err(error)) => {
                    this.chunks = None;
                    return Poll::Ready(Some(Err(EventError::Source(error))));
                }
                None => {
                    this.chunks = None;
                    let finished = this.decoder.finish(this.finish);
                    let last = finished.event.map(|event| Ok(event.to_owned()));
                    return Poll::Ready(last.or_else(|| finished.error.map(|error| Err(EventError::Decode(error)))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    struct Chunks(VecDeque<Result<Vec<u8>, &'static str>>);

    impl Stream for Chunks {
        type Item = Result<Vec<u8>, &'static str>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Ready(self.0.pop_front())
        }
    }

    fn all(chunks: impl IntoIterator<Item = Result<Vec<u8>, &'static str>>, finish: Finish) -> Vec<String> {
        let mut events = EventStream::new(Chunks(chunks.into_iter().collect())).with_finish(finish);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut told = Vec::new();
        while let Poll::Ready(Some(item)) = Pin::new(&mut events).poll_next(&mut cx) {
            told.push(item.map_or_else(|error| error.to_string(), |event| format!("{}={}", event.kind, event.data)));
        }
        told
    }

    const BYTES: &[u8] = b"data: 1\r\n\r\nevent: x\ndata: 2\ndata: 3\n\ndata: last";

    #[test]
    fn d9_every_cutting_gives_the_same_events() {
        for size in 1..=BYTES.len() {
            let chunks = || BYTES.chunks(size).map(|chunk| Ok(chunk.to_vec()));
            assert_eq!(all(chunks(), Finish::Strict), ["message=1", "x=2\n3"], "{size}");
            assert_eq!(all(chunks(), Finish::Flush), ["message=1", "x=2\n3", "message=last"], "{size}");
        }
    }

    #[test]
    fn an_error_of_the_source_is_the_last_item() {
        let chunks = [Ok(BYTES.to_vec()), Err("cut"), Ok(BYTES.to_vec())];
        assert_eq!(all(chunks, Finish::Flush), ["message=1", "x=2\n3", "the stream of chunks failed: cut"]);
    }
}
