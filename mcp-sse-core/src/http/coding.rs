//! Content codings: which one a body has, and which ones may be asked for.
//!
//! Inflating lives next door; this part is there without the `gzip` feature too, so that a coded body can be refused at
//! the head (E13) and nothing is offered that could not be read (F16).

use super::text::trim_white_space;

/// The two bytes that every gzip member begins with (RFC 1952 2.3.1): they tell a gzip body whose header is missing.
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// How a body is coded, as all `Content-Encoding` values together say (RFC 9110 8.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentCoding {
    /// Not at all: no header, `identity`, or empty list elements only.
    #[default]
    Identity,
    /// `gzip`, or its old name `x-gzip`.
    Gzip,
    /// `deflate`: RFC 9110 means the zlib format, some servers send raw deflate data; both are read.
    Deflate,
    /// Another coding, or more than one.
    Unsupported,
}

impl ContentCoding {
    /// The coding after one more `Content-Encoding` value; the values of several headers form one list.
    pub(super) fn add(self, value: &[u8]) -> Self {
        value.split(|&byte| byte == b',').map(trim_white_space).fold(self, |so_far, name| {
            let next = if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                return so_far;
            } else if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") {
                Self::Gzip
            } else if name.eq_ignore_ascii_case(b"deflate") {
                Self::Deflate
            } else {
                Self::Unsupported
            };
            // A body coded twice is legal and unknown in the field; undoing it would double the bound on memory.
            if so_far == Self::Identity { next } else { Self::Unsupported }
        })
    }
}

/// Whether this build can inflate a body of this coding: gzip and deflate with the `gzip` feature, nothing without it.
///
/// [`ContentCoding::Identity`] has nothing to inflate, so it is `false` too.
#[must_use]
pub const fn can_inflate(coding: ContentCoding) -> bool {
    cfg!(feature = "gzip") && matches!(coding, ContentCoding::Gzip | ContentCoding::Deflate)
}

/// The value of a request's `Accept-Encoding`: only what this build can inflate (F16).
///
/// Without the `gzip` feature that is `identity`: leaving the header out would mean that any coding is welcome
/// (RFC 9110 12.5.3).
#[must_use]
pub const fn accept_encoding() -> &'static str {
    if cfg!(feature = "gzip") { "gzip, deflate" } else { "identity" }
}
