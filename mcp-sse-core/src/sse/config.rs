//! What a decoder allows and shows: [`DecoderConfig`]. The limits are enforced in `decoder.rs`, nowhere else.

/// Limits and switches of an [`SseDecoder`](super::SseDecoder).
///
/// Start from [`DecoderConfig::default`] and change what you need:
///
/// ```
/// use mcp_sse_core::sse::{DecoderConfig, SseDecoder};
///
/// let config = DecoderConfig::default().with_max_event_bytes(16 * 1024 * 1024).with_comments(true);
/// let decoder = SseDecoder::with_config(config);
/// # let _ = decoder;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecoderConfig {
    /// The largest event, in bytes of its decoded data (UTF-8, lines joined by LF, so that every further `data` line
    /// counts at least one byte). The unfinished line counts with it.
    ///
    /// Default: 64 MiB. Real servers send tool lists and results of several MiB, and defaults of 1 MiB have broken
    /// clients; 64 MiB is more than any of them and still a bound.
    pub max_event_bytes: usize,
    /// The longest event id kept, in bytes of its decoded text. A longer one is ignored like one holding NUL.
    ///
    /// Default: 8 KiB, the usual bound of one HTTP header line, which is where an id is sent back.
    pub max_id_bytes: usize,
    /// The longest event name (type) kept, in bytes of its decoded text. A longer one counts as an unknown type: the
    /// event bears the name cut here, see [`Event::kind_is_cut`](super::Event::kind_is_cut).
    ///
    /// Default: 1 KiB. Names in use have fewer than 100 bytes.
    pub max_kind_bytes: usize,
    /// The longest comment shown, in bytes of its decoded text; a longer one is cut here. Without
    /// [`comments`](Self::comments) nothing of a comment is kept.
    ///
    /// Default: 1 KiB. A comment is a sign of life, not a message.
    pub max_comment_bytes: usize,
    /// Whether [`decode_part`](super::SseDecoder::decode_part) shows comments. Default: no, HTML ignores them.
    pub comments: bool,
    /// Whether [`decode_part`](super::SseDecoder::decode_part) shows blocks that end without data. Default: no, HTML
    /// dispatches nothing for them.
    pub blocks: bool,
    /// Whether UTF-8 that is not well-formed in a shown value (data, event name, id, shown comment) is an error
    /// instead of U+FFFD. Default: no, as HTML decodes with replacement.
    pub reject_invalid_utf8: bool,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        Self {
            max_event_bytes: 64 * 1024 * 1024,
            max_id_bytes: 8 * 1024,
            max_kind_bytes: 1024,
            max_comment_bytes: 1024,
            comments: false,
            blocks: false,
            reject_invalid_utf8: false,
        }
    }
}

impl DecoderConfig {
    /// Sets [`max_event_bytes`](Self::max_event_bytes).
    #[must_use]
    pub const fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Sets [`max_id_bytes`](Self::max_id_bytes).
    #[must_use]
    pub const fn with_max_id_bytes(mut self, bytes: usize) -> Self {
        self.max_id_bytes = bytes;
        self
    }

    /// Sets [`max_kind_bytes`](Self::max_kind_bytes).
    #[must_use]
    pub const fn with_max_kind_bytes(mut self, bytes: usize) -> Self {
        self.max_kind_bytes = bytes;
        self
    }

    /// Sets [`max_comment_bytes`](Self::max_comment_bytes).
    #[must_use]
    pub const fn with_max_comment_bytes(mut self, bytes: usize) -> Self {
        self.max_comment_bytes = bytes;
        self
    }

    /// Sets [`comments`](Self::comments).
    #[must_use]
    pub const fn with_comments(mut self, show: bool) -> Self {
        self.comments = show;
        self
    }

    /// Sets [`blocks`](Self::blocks).
    #[must_use]
    pub const fn with_blocks(mut self, show: bool) -> Self {
        self.blocks = show;
        self
    }

    /// Sets [`reject_invalid_utf8`](Self::reject_invalid_utf8).
    #[must_use]
    pub const fn with_reject_invalid_utf8(mut self, reject: bool) -> Self {
        self.reject_invalid_utf8 = reject;
        self
    }
}
