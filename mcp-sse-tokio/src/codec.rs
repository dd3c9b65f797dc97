//! The event-stream decoder as a codec of `tokio_util`.
//!
//! Facts reported: none. Steps carried out: none.

use std::io;

use bytes::{Buf, BytesMut};
use mcp_sse_core::sse::{DecodeError, Finish, OwnedEvent, SseDecoder};
use tokio_util::codec::Decoder;

/// Decodes an event stream in a `tokio_util::codec::FramedRead`.
///
/// An item is an event, or a fault in one block, after which the stream goes on: a codec's own error would end
/// it. An unfinished last event is dropped, as HTML says, unless [`with_finish`](Self::with_finish) asks for it.
///
/// ```
/// use bytes::BytesMut;
/// use mcp_sse_tokio::codec::SseCodec;
/// use tokio_util::codec::Decoder;
///
/// let mut codec = SseCodec::new();
/// let mut bytes = BytesMut::from(&b"data: 1\n\ndata: 2"[..]);
/// let event = codec.decode(&mut bytes)?.unwrap().unwrap();
/// assert_eq!(event.data, "1");
/// assert!(codec.decode(&mut bytes)?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct SseCodec {
    decoder: SseDecoder,
    finish: Finish,
    has_finished: bool,
}

impl Default for SseCodec {
    fn default() -> Self {
        Self::new()
    }
}

impl SseCodec {
    /// A codec with the decoder's default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_decoder(SseDecoder::new())
    }

    /// A codec around a decoder with limits of your own.
    #[must_use]
    pub const fn with_decoder(decoder: SseDecoder) -> Self {
        Self { decoder, finish: Finish::Strict, has_finished: false }
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

impl Decoder for SseCodec {
    type Item = Result<OwnedEvent, DecodeError>;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Self::Item>, io::Error> {
        self.has_finished = false;
        let mut rest = &bytes[..];
        let decoded = self.decoder.decode(&mut rest).map(|event| event.map(|event| event.to_owned()));
        let taken = bytes.len() - rest.len();
        bytes.advance(taken);
        Ok(decoded.transpose())
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> Result<Option<Self::Item>, io::Error> {
        if !self.has_finished {
            if let Some(item) = self.decode(bytes)? {
                return Ok(Some(item));
            }
            self.has_finished = true;
            let finished = self.decoder.finish(self.finish);
            if let Some(event) = finished.event {
                return Ok(Some(Ok(event.to_owned())));
            }
            return Ok(finished.error.map(Err));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d8_d9_every_cutting_gives_the_same_events_and_the_end_is_as_asked() -> Result<(), Box<dyn std::error::Error>> {
        let bytes = b"data: 1\n\ndata: 2\n\ndata: last";
        for (finish, expected) in [(Finish::Strict, &["1", "2"][..]), (Finish::Flush, &["1", "2", "last"])] {
            for size in 1..=bytes.len() {
                let mut codec = SseCodec::new().with_finish(finish);
                let (mut buffer, mut data) = (BytesMut::new(), Vec::new());
                for chunk in bytes.chunks(size) {
                    buffer.extend_from_slice(chunk);
                    while let Some(item) = codec.decode(&mut buffer)? {
                        data.push(item?.data);
                    }
                }
                while let Some(item) = codec.decode_eof(&mut buffer)? {
                    data.push(item?.data);
                }
                assert_eq!(data, expected, "pieces of {size}");
            }
        }
        Ok(())
    }
}
