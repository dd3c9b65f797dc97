//! Inflates gzip and deflate bodies as they arrive, without I/O.
//!
//! Rules (E13, RFC 9110 8.4.1):
//! - Bytes come out as soon as the input allows: a broken body is worth what came out of it, so nothing is withheld, and
//!   no footer is waited for.
//! - What comes out, and the error, if any, are the same however the input is cut into chunks. For that an error never
//!   takes bytes with it: those before the damage come out first, the error on the next call.
//! - A bound on the inflated bytes stops a bomb within one piece.
//! - gzip: any number of members; after a whole one, bytes that begin no other (zero padding, garbage) are ignored, as
//!   gzip(1) does. deflate: zlib's format as the RFC says, or raw deflate data as some servers send, told by the first
//!   bytes; what follows its end is ignored. gzip's magic under the name of deflate is read as gzip: raw deflate data
//!   cannot begin so.
//!
//! Headers, footers and checksums live in `framing`. What an outcome means for a call does not belong here.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::coding::{ContentCoding, GZIP_MAGIC};
use super::framing::{Adler32, Check, Footer, GzipHeader, Step, ZlibHeader};

/// The most bytes one call of [`Inflater::inflate`] puts out: 32 KiB, the window of deflate (RFC 1951 2).
pub const INFLATE_PIECE: usize = 32 * 1024;

/// Inflates one body. It holds about 75 KiB, whatever the body.
///
/// ```
/// use mcp_sse_core::http::{ContentCoding, InflateEnd, Inflater, Progress};
///
/// // zlib's coding of "hi"
/// let body = [0x78, 0x9c, 0xcb, 0xc8, 0x04, 0x00, 0x01, 0x3b, 0x00, 0xd2];
/// let mut inflater = Inflater::new(ContentCoding::Deflate, 1024).unwrap();
/// let mut inflated = Vec::new();
/// for chunk in body.chunks(3) {
///     let mut input = chunk;
///     while inflater.inflate(&mut input, &mut inflated)? == Progress::More {
///         // here the bytes in `inflated` are handed on, and it is cleared
///     }
/// }
/// assert_eq!(inflated, b"hi");
/// assert_eq!(inflater.end(), InflateEnd::Whole);
/// # Ok::<(), mcp_sse_core::http::CodingError>(())
/// ```
pub struct Inflater {
    stage: Stage,
    check: Check,
    decompress: Decompress,
    /// Where a piece is inflated to: the caller's vector would have to be filled with zeros first, for every chunk.
    piece: Vec<u8>,
    /// Bytes that came out of `decompress` since it was last reset.
    stream_bytes: u64,
    inflated_bytes: u64,
    max_inflated_bytes: u64,
}

/// Where in the body the next byte stands.
enum Stage {
    /// Nothing was seen of a gzip body.
    GzipStart,
    /// Nothing was seen of a body that is zlib, raw deflate or gzip.
    DeflateStart,
    GzipHeader {
        header: GzipHeader,
        is_first_member: bool,
    },
    /// One byte was seen that can begin a zlib header.
    ZlibHeader {
        first: u8,
    },
    Data,
    Footer(Footer),
    /// After a whole gzip member.
    BetweenMembers,
    /// After the end of all data.
    Ignoring,
    Failed(CodingError),
}

/// What [`Inflater::inflate`] can do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A piece was put out and more may follow: call again, also if the input is empty now.
    More,
    /// All input was taken and all that it allows was put out: nothing more comes without more input.
    NeedInput,
}

/// What was left of the coding when the body was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InflateEnd {
    /// The data and its footer, if it has one, are complete. So is an empty body: whether that was cut is for its framing
    /// to say.
    Whole,
    /// The data is complete, its checksum or length is missing or cut short: as good as whole (E13).
    FooterMissing,
    /// The data, or a header before it, stops short: the body was cut. Also said after an error.
    Short,
}

/// A coded body that cannot be inflated further. Both kinds are final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodingError {
    /// The peer's body inflates to more than the caller allows.
    #[error("the body inflates to more than {limit} bytes")]
    TooLarge {
        /// The limit in inflated bytes. So many came out.
        limit: u64,
    },
    /// The peer's body is not what its coding says: a bad header, bad deflate data, a wrong checksum or length.
    #[error("the coded body is corrupt after {position} inflated bytes")]
    Corrupt {
        /// How many inflated bytes came out before the damage. After a wrong footer they may be wrong themselves.
        position: u64,
    },
}

impl Inflater {
    /// An inflater for a gzip or deflate body that may inflate to so many bytes; `None` for the other codings, which
    /// cannot be inflated ([`can_inflate`](super::can_inflate)).
    #[must_use]
    pub fn new(coding: ContentCoding, max_inflated_bytes: u64) -> Option<Self> {
        let stage = match coding {
            ContentCoding::Gzip => Stage::GzipStart,
            ContentCoding::Deflate => Stage::DeflateStart,
            ContentCoding::Identity | ContentCoding::Unsupported => return None,
        };
        Some(Self {
            stage,
            check: Check::Raw,
            decompress: Decompress::new(false),
            piece: vec![0; INFLATE_PIECE],
            stream_bytes: 0,
            inflated_bytes: 0,
            max_inflated_bytes,
        })
    }

    /// Takes bytes of the body from the front of `input` and appends at most [`INFLATE_PIECE`] inflated bytes to
    /// `output`. Call it until it says [`Progress::NeedInput`], which leaves `input` empty.
    ///
    /// # Errors
    ///
    /// [`CodingError`], once everything before the damage or within the limit was put out; every later call gives the
    /// same one. A call that fails appends nothing, and what it leaves in `input` has no meaning.
    pub fn inflate(&mut self, input: &mut &[u8], output: &mut Vec<u8>) -> Result<Progress, CodingError> {
        loop {
            if let Stage::Data = self.stage {
                let (taken, produced) = self.inflate_piece(input, output);
                if produced > 0 {
                    return Ok(Progress::More);
                }
                if taken == 0 && input.is_empty() && matches!(self.stage, Stage::Data) {
                    return Ok(Progress::NeedInput);
                }
                continue;
            }
            if let Stage::Failed(error) = self.stage {
                return Err(error);
            }
            let Some((&byte, rest)) = input.split_first() else {
                return Ok(Progress::NeedInput);
            };
            if self.take_framing(byte) {
                *input = rest;
            }
        }
    }

    /// What is left of the coding if the body is over now. It changes nothing: more input may follow.
    #[must_use]
    pub const fn end(&self) -> InflateEnd {
        match self.stage {
            Stage::GzipStart | Stage::DeflateStart | Stage::BetweenMembers | Stage::Ignoring => InflateEnd::Whole,
            Stage::Footer(_) => InflateEnd::FooterMissing,
            Stage::GzipHeader { .. } | Stage::ZlibHeader { .. } | Stage::Data | Stage::Failed(_) => InflateEnd::Short,
        }
    }

    /// How many bytes were put out so far.
    #[must_use]
    pub const fn inflated_bytes(&self) -> u64 {
        self.inflated_bytes
    }

    /// Moves on by one byte outside the deflate data. `false` leaves the byte to the stage that was entered.
    fn take_framing(&mut self, byte: u8) -> bool {
        match &mut self.stage {
            Stage::GzipStart => self.begin_member(true),
            Stage::BetweenMembers => self.begin_member(false),
            Stage::DeflateStart => {
                let [gzip, _] = GZIP_MAGIC;
                if byte == gzip {
                    self.begin_member(true);
                } else if ZlibHeader::may_begin_with(byte) {
                    self.stage = Stage::ZlibHeader { first: byte };
                    return true;
                } else {
                    self.begin_data(Check::Raw);
                }
            }
            Stage::GzipHeader { header, is_first_member } => {
                match (header.take(byte), *is_first_member) {
                    (Step::More, _) => {}
                    (Step::Done, _) => self.begin_data(Check::Gzip(Crc::new())),
                    (Step::NotGzip, false) => self.stage = Stage::Ignoring,
                    (Step::NotGzip, true) | (Step::Bad, _) => self.fail_corrupt(),
                }
                return true;
            }
            Stage::ZlibHeader { first } => {
                let first = *first;
                match ZlibHeader::read(first, byte) {
                    ZlibHeader::Valid => {
                        self.begin_data(Check::Zlib(Adler32::default()));
                        return true;
                    }
                    ZlibHeader::NeedsDictionary => self.fail_corrupt(),
                    ZlibHeader::Absent => {
                        // Raw after all. The first byte goes in alone: it opens a stored block, whose length is yet
                        // to come, so nothing can come out.
                        self.begin_data(Check::Raw);
                        self.inflate_piece(&mut [first].as_slice(), &mut Vec::new());
                    }
                }
            }
            Stage::Footer(footer) => {
                match (footer.take(byte), &self.check) {
                    (Step::More, _) => {}
                    (Step::Done, Check::Gzip(_)) => self.stage = Stage::BetweenMembers,
                    (Step::Done, _) => self.stage = Stage::Ignoring,
                    (Step::Bad | Step::NotGzip, _) => self.fail_corrupt(),
                }
                return true;
            }
            Stage::Ignoring => return true,
            Stage::Data | Stage::Failed(_) => {}
        }
        false
    }

    fn begin_member(&mut self, is_first_member: bool) {
        self.stage = Stage::GzipHeader { header: GzipHeader::default(), is_first_member };
    }

    fn begin_data(&mut self, check: Check) {
        if self.stream_bytes > 0 || self.decompress.total_in() > 0 {
            self.decompress.reset(false);
            self.stream_bytes = 0;
        }
        self.check = check;
        self.stage = Stage::Data;
    }

    fn fail_corrupt(&mut self) {
        self.stage = Stage::Failed(CodingError::Corrupt { position: self.inflated_bytes });
    }

    /// Inflates up to the end of the window. Says how many bytes it took and how many it appended.
    fn inflate_piece(&mut self, input: &mut &[u8], output: &mut Vec<u8>) -> (usize, usize) {
        let (taken_before, produced_before) = (self.decompress.total_in(), self.decompress.total_out());
        // flate2's default backend inflates into a ring of one window and copies out of it; damage takes with it what was
        // not yet copied. A piece that ends where the ring does leaves nothing there. Other backends have no ring.
        let in_window = usize::try_from(self.stream_bytes % INFLATE_PIECE as u64).unwrap_or(0);
        let room = INFLATE_PIECE.saturating_sub(in_window);
        let piece = self.piece.get_mut(..room).unwrap_or_default();
        let result = self.decompress.decompress(input, piece, FlushDecompress::None);
        let taken = bytes_since(taken_before, self.decompress.total_in());
        let produced = bytes_since(produced_before, self.decompress.total_out());
        self.stream_bytes = self.stream_bytes.saturating_add(produced as u64);
        let had_input = !input.is_empty();
        *input = input.get(taken..).unwrap_or_default();

        let allowed = self.max_inflated_bytes.saturating_sub(self.inflated_bytes);
        let kept = produced.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        let inflated = self.piece.get(..kept).unwrap_or_default();
        output.extend_from_slice(inflated);
        self.inflated_bytes = self.inflated_bytes.saturating_add(kept as u64);
        if kept < produced {
            self.stage = Stage::Failed(CodingError::TooLarge { limit: self.max_inflated_bytes });
            return (taken, kept);
        }
        self.check.update(inflated);
        match result {
            Ok(Status::StreamEnd) => {
                self.stage = self.check.footer().map_or(Stage::Ignoring, Stage::Footer);
            }
            Ok(Status::Ok | Status::BufError) if taken > 0 || produced > 0 || !had_input => {}
            // Damage; or input that moves nothing, which would go round for ever.
            Ok(_) | Err(_) => self.fail_corrupt(),
        }
        (taken, kept)
    }
}

/// The growth of a counter during one call, which is bounded by the slices the call was given.
fn bytes_since(before: u64, after: u64) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(0)
}

impl fmt::Debug for Inflater {
    /// Says where it is, and shows none of the body.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Inflater")
            .field("end", &self.end())
            .field("inflated_bytes", &self.inflated_bytes)
            .field("max_inflated_bytes", &self.max_inflated_bytes)
            .finish_non_exhaustive()
    }
}
