//! Content codings, whole and damaged, and how much of a body each prefix of its coded bytes gives back.
//!
//! Rule: after each piece (an SSE block) the encoder is flushed, as servers that stream do, so that the piece can be read at once.

use std::io::Write;

use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};

/// The length of the gzip header that the encoder writes: no name, no comment, no extra field.
const GZIP_HEADER: usize = 10;
const GZIP_FOOTER: usize = 8;
const ZLIB_HEADER: usize = 2;
const ZLIB_FOOTER: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Identity,
    Gzip,
    GzipMembers,
    Zlib,
    RawDeflate,
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    DropTail(usize),
    WrongCheck,
    CorruptAfterBlocks(usize),
    CorruptAfterBytes(usize),
}

/// A content coding, what the head says of it, and how it is damaged.
#[derive(Clone, Debug)]
pub struct Coding {
    kind: Kind,
    announced: Option<String>,
    damage: Damage,
}

impl Coding {
    fn new(kind: Kind, announced: Option<&str>) -> Self {
        Self { kind, announced: announced.map(str::to_owned), damage: Damage::None }
    }

    /// The body as it is.
    pub fn identity() -> Self {
        Self::new(Kind::Identity, None)
    }

    /// gzip, one member.
    pub fn gzip() -> Self {
        Self::new(Kind::Gzip, Some("gzip"))
    }

    /// gzip, a member of its own for each SSE block.
    pub fn gzip_members() -> Self {
        Self::new(Kind::GzipMembers, Some("gzip"))
    }

    /// deflate as RFC 9110 8.4.1.2 has it: in the zlib format.
    pub fn deflate() -> Self {
        Self::new(Kind::Zlib, Some("deflate"))
    }

    /// deflate as some servers have it: without the zlib format.
    pub fn raw_deflate() -> Self {
        Self::new(Kind::RawDeflate, Some("deflate"))
    }

    /// Announces another coding than the one used.
    pub fn announced_as(mut self, content_encoding: &str) -> Self {
        self.announced = Some(content_encoding.to_owned());
        self
    }

    /// Leaves out `Content-Encoding`.
    pub fn unannounced(mut self) -> Self {
        self.announced = None;
        self
    }

    /// Leaves out the footer (gzip's CRC and length, zlib's checksum); the data is complete.
    pub fn without_footer(self) -> Self {
        let footer = self.footer_length();
        self.drop_tail(footer)
    }

    /// Leaves out the last coded bytes; the framing fits what is left.
    pub fn drop_tail(mut self, bytes: usize) -> Self {
        self.damage = Damage::DropTail(bytes);
        self
    }

    /// Makes the checksum wrong; the data is complete and right.
    pub fn wrong_check(mut self) -> Self {
        self.damage = Damage::WrongCheck;
        self
    }

    /// Writes bytes that no inflater takes in place of all that follows this many SSE blocks.
    pub fn corrupt_after_blocks(mut self, blocks: usize) -> Self {
        self.damage = Damage::CorruptAfterBlocks(blocks);
        self
    }

    /// The same, after this many bytes of the uncoded body.
    pub fn corrupt_after_bytes(mut self, bytes: usize) -> Self {
        self.damage = Damage::CorruptAfterBytes(bytes);
        self
    }

    /// The value of `Content-Encoding`, if there is one.
    pub(super) fn announced(&self) -> Option<&str> {
        self.announced.as_deref()
    }

    fn header_length(&self) -> usize {
        match self.kind {
            Kind::Identity | Kind::RawDeflate => 0,
            Kind::Gzip | Kind::GzipMembers => GZIP_HEADER,
            Kind::Zlib => ZLIB_HEADER,
        }
    }

    fn footer_length(&self) -> usize {
        match self.kind {
            Kind::Identity | Kind::RawDeflate => 0,
            Kind::Gzip | Kind::GzipMembers => GZIP_FOOTER,
            Kind::Zlib => ZLIB_FOOTER,
        }
    }

    /// Codes the pieces of a body.
    pub(super) fn encode(&self, pieces: &[&[u8]]) -> Coded {
        // Where the damage begins, in bytes of the uncoded body; the encoder is flushed there, so that all before it can be read.
        let corrupt_at = match self.damage {
            Damage::CorruptAfterBlocks(blocks) => Some(pieces.iter().take(blocks).map(|piece| piece.len()).sum()),
            Damage::CorruptAfterBytes(bytes) => Some(bytes),
            _ => None,
        };
        let (mut bytes, mut cuts, corrupt_from) = self.encode_whole(pieces, corrupt_at);
        match self.damage {
            Damage::None => {}
            Damage::DropTail(count) => bytes.truncate(bytes.len().saturating_sub(count)),
            Damage::WrongCheck => {
                // gzip: the CRC comes before the length; zlib: the checksum is all there is.
                let position = bytes.len().saturating_sub(self.footer_length());
                if let Some(byte) = bytes.get_mut(position) {
                    *byte ^= 0x55;
                }
            }
            Damage::CorruptAfterBlocks(_) | Damage::CorruptAfterBytes(_) => {
                // 0xFF opens a deflate block of the reserved type 3.
                let from = corrupt_from.unwrap_or(bytes.len()).max(self.header_length());
                bytes.iter_mut().skip(from).for_each(|byte| *byte = 0xFF);
            }
        }
        cuts.iter_mut().for_each(|cut| *cut = (*cut).min(bytes.len()));
        let reach = (self.kind != Kind::Identity).then(|| self.inflated_lengths(&bytes));
        Coded { bytes, cuts, reach }
    }

    /// The coded bytes, the coded length after each piece, and the coded length at `corrupt_at`.
    fn encode_whole(&self, pieces: &[&[u8]], corrupt_at: Option<usize>) -> (Vec<u8>, Vec<usize>, Option<usize>) {
        let mut encoder = Encoder::new(self.kind);
        let (mut cuts, mut corrupt_from, mut plain) = (Vec::new(), None, 0);
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 && self.kind == Kind::GzipMembers {
                encoder.next_member();
            }
            let split = corrupt_at.filter(|at| (plain..plain + piece.len()).contains(at)).map(|at| at - plain);
            if let Some(split) = split {
                encoder.write(&piece[..split]);
                corrupt_from = Some(encoder.length());
            }
            encoder.write(&piece[split.unwrap_or(0)..]);
            plain += piece.len();
            cuts.push(encoder.length());
        }
        (encoder.finish(), cuts, corrupt_from)
    }

    /// For each prefix of the coded bytes, how many bytes of the body it gives back.
    fn inflated_lengths(&self, bytes: &[u8]) -> Vec<usize> {
        enum Stage {
            Header(usize),
            Data(Box<Decompress>),
            Footer(usize),
            Over,
        }
        let start = |header| match header {
            0 => Stage::Data(Box::new(Decompress::new(false))),
            length => Stage::Header(length),
        };
        let mut stage = start(self.header_length());
        let mut reached = 0;
        let mut lengths = vec![0];
        let mut output = vec![0; 4096];
        for byte in bytes {
            stage = match stage {
                Stage::Header(1) => Stage::Data(Box::new(Decompress::new(false))),
                Stage::Header(left) => Stage::Header(left - 1),
                Stage::Footer(1) if self.kind == Kind::GzipMembers => start(self.header_length()),
                Stage::Footer(0 | 1) | Stage::Over => Stage::Over,
                Stage::Footer(left) => Stage::Footer(left - 1),
                Stage::Data(mut inflater) => match inflate_byte(&mut inflater, *byte, &mut output, &mut reached) {
                    Ok(true) => Stage::Footer(self.footer_length()),
                    Ok(false) => Stage::Data(inflater),
                    Err(()) => Stage::Over,
                },
            };
            lengths.push(reached);
        }
        lengths
    }
}

/// Feeds one byte; adds what comes out to `reached`; true at the end of the deflate data.
fn inflate_byte(inflater: &mut Decompress, byte: u8, output: &mut [u8], reached: &mut usize) -> Result<bool, ()> {
    let input = [byte];
    let mut taken = 0;
    loop {
        let (in_before, out_before) = (inflater.total_in(), inflater.total_out());
        let status = inflater.decompress(&input[taken..], output, FlushDecompress::None).map_err(|_| ())?;
        let used = (inflater.total_in() - in_before) as usize;
        let made = (inflater.total_out() - out_before) as usize;
        taken += used;
        *reached += made;
        match status {
            Status::StreamEnd => return Ok(true),
            _ if taken == 1 && made < output.len() => return Ok(false),
            _ if used == 0 && made == 0 => return Err(()),
            _ => {}
        }
    }
}

/// The body as it goes into the framing.
pub(super) struct Coded {
    pub(super) bytes: Vec<u8>,
    /// The coded length after each piece.
    pub(super) cuts: Vec<usize>,
    /// Body bytes that each prefix gives back; `None`: as many as it is long.
    reach: Option<Vec<usize>>,
}

impl Coded {
    /// The shortest prefix that gives back `plain` bytes of the body, if any does.
    pub(super) fn offset_of(&self, plain: usize) -> Option<usize> {
        match &self.reach {
            None => (plain <= self.bytes.len()).then_some(plain),
            Some(reach) => {
                let offset = reach.partition_point(|reached| *reached < plain);
                (offset < reach.len()).then_some(offset)
            }
        }
    }
}

enum Encoder {
    Identity(Vec<u8>),
    Gzip(GzEncoder<Vec<u8>>),
    Zlib(ZlibEncoder<Vec<u8>>),
    RawDeflate(DeflateEncoder<Vec<u8>>),
}

/// Writing to memory cannot fail.
const IN_MEMORY: &str = "a write to memory failed";

impl Encoder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Identity => Self::Identity(Vec::new()),
            Kind::Gzip | Kind::GzipMembers => Self::Gzip(GzEncoder::new(Vec::new(), Compression::default())),
            Kind::Zlib => Self::Zlib(ZlibEncoder::new(Vec::new(), Compression::default())),
            Kind::RawDeflate => Self::RawDeflate(DeflateEncoder::new(Vec::new(), Compression::default())),
        }
    }

    fn write(&mut self, piece: &[u8]) {
        let writer: &mut dyn Write = match self {
            Self::Identity(bytes) => bytes,
            Self::Gzip(encoder) => encoder,
            Self::Zlib(encoder) => encoder,
            Self::RawDeflate(encoder) => encoder,
        };
        writer.write_all(piece).and_then(|()| writer.flush()).expect(IN_MEMORY);
    }

    fn length(&self) -> usize {
        match self {
            Self::Identity(bytes) => bytes.len(),
            Self::Gzip(encoder) => encoder.get_ref().len(),
            Self::Zlib(encoder) => encoder.get_ref().len(),
            Self::RawDeflate(encoder) => encoder.get_ref().len(),
        }
    }

    fn next_member(&mut self) {
        if let Self::Gzip(encoder) = self {
            let finished = std::mem::replace(encoder, GzEncoder::new(Vec::new(), Compression::default()));
            let bytes = finished.finish().expect(IN_MEMORY);
            *encoder = GzEncoder::new(bytes, Compression::default());
        }
    }

    fn finish(self) -> Vec<u8> {
        match self {
            Self::Identity(bytes) => Ok(bytes),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zlib(encoder) => encoder.finish(),
            Self::RawDeflate(encoder) => encoder.finish(),
        }
        .expect(IN_MEMORY)
    }
}
