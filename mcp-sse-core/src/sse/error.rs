//! Why a block of the stream gave no event: [`DecodeError`]. Sizes and positions only, never a peer's bytes.

use thiserror::Error;

/// A block that gave no event. None of these ends the stream: the decoder skips to the next blank line (the id of the
/// skipped block is not committed, its `retry` is honoured) and goes on, so call it again with the rest of the input.
///
/// The peer erred, except for [`Unread`](Self::Unread).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The peer sent an event larger than [`max_event_bytes`](super::DecoderConfig::max_event_bytes). This is no
    /// disconnect, and asking the server for the same event again would fail in the same way.
    #[error("the peer's event that starts at byte {position} has more than {limit} bytes of data")]
    EventTooLarge {
        /// The limit, in bytes.
        limit: usize,
        /// Where the event starts, in bytes from the start of the stream.
        position: u64,
    },
    /// The peer sent bytes that are not UTF-8, and
    /// [`reject_invalid_utf8`](super::DecoderConfig::reject_invalid_utf8) is set.
    #[error("the peer's event stream is not UTF-8 at byte {position}")]
    InvalidUtf8 {
        /// Where the sequence that is not well-formed starts, in bytes from the start of the stream.
        position: u64,
    },
    /// The caller dropped [`Events`](super::Events) unread too often or ended the stream with bytes unread: see
    /// [`feed`](super::SseDecoder::feed) and [`finish`](super::SseDecoder::finish).
    #[error("the caller left {bytes} bytes of the event stream unread")]
    Unread {
        /// How many bytes.
        bytes: u64,
    },
}
