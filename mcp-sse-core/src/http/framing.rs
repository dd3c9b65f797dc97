//! What stands around deflate data: gzip's header and footer (RFC 1952), zlib's header and footer (RFC 1950), and their
//! checksums.
//!
//! Both headers and footers are taken byte by byte, so that a chunk may end anywhere. Deflate data itself does not belong
//! here.

use flate2::Crc;

/// What a byte was to the header or footer that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// One of its bytes, not the last.
    More,
    /// Its last byte.
    Done,
    /// One that cannot stand there.
    Bad,
    /// One that shows that no gzip member begins here.
    NotGzip,
}

const FLAG_HEADER_CRC: u8 = 0x02;
const FLAG_EXTRA: u8 = 0x04;
const FLAG_NAME: u8 = 0x08;
const FLAG_COMMENT: u8 = 0x10;
const FLAGS_RESERVED: u8 = 0xe0;

/// The header of one gzip member. Names, comments and extra fields are skipped, not kept.
#[derive(Default)]
pub(super) struct GzipHeader {
    part: Part,
    /// Parts announced by the flags and not yet reached.
    announced: u8,
    /// Kept only if the header carries a checksum of itself.
    crc: Option<Crc>,
}

/// Where in a gzip header the next byte stands.
#[derive(Clone, Copy)]
enum Part {
    /// The ten bytes every header has; how many were taken.
    Fixed(u8),
    ExtraLengthLow,
    ExtraLengthHigh(u8),
    /// Bytes of the extra field still to come, at least one.
    Extra(u16),
    Name,
    Comment,
    CrcLow,
    CrcHigh(u8),
}

impl Default for Part {
    fn default() -> Self {
        Self::Fixed(0)
    }
}

impl GzipHeader {
    pub(super) fn take(&mut self, byte: u8) -> Step {
        if let (Some(crc), false) = (&mut self.crc, matches!(self.part, Part::CrcLow | Part::CrcHigh(_))) {
            crc.update(&[byte]);
        }
        match self.part {
            Part::Fixed(0) if byte != 0x1f => return Step::NotGzip,
            Part::Fixed(1) if byte != 0x8b => return Step::NotGzip,
            // The only compression method there is.
            Part::Fixed(2) if byte != 8 => return Step::Bad,
            Part::Fixed(3) => {
                // RFC 1952 2.3.1.2: a reserved bit may announce a part we would take for data.
                if byte & FLAGS_RESERVED != 0 {
                    return Step::Bad;
                }
                if byte & FLAG_HEADER_CRC != 0 {
                    let mut crc = Crc::new();
                    crc.update(&[0x1f, 0x8b, 8, byte]);
                    self.crc = Some(crc);
                }
                self.announced = byte & (FLAG_EXTRA | FLAG_NAME | FLAG_COMMENT | FLAG_HEADER_CRC);
                self.part = Part::Fixed(4);
            }
            Part::Fixed(9) => return self.next_part(),
            Part::Fixed(taken) => self.part = Part::Fixed(taken.saturating_add(1)),
            Part::ExtraLengthLow => self.part = Part::ExtraLengthHigh(byte),
            Part::ExtraLengthHigh(low) => match u16::from_le_bytes([low, byte]) {
                0 => return self.next_part(),
                length => self.part = Part::Extra(length),
            },
            Part::Extra(left) if left > 1 => self.part = Part::Extra(left - 1),
            Part::Extra(_) => return self.next_part(),
            Part::Name | Part::Comment if byte != 0 => {}
            Part::Name | Part::Comment => return self.next_part(),
            Part::CrcLow => self.part = Part::CrcHigh(byte),
            Part::CrcHigh(low) => {
                let [expected_low, expected_high, ..] = self.crc.as_ref().map_or(0, Crc::sum).to_le_bytes();
                return if [expected_low, expected_high] == [low, byte] { Step::Done } else { Step::Bad };
            }
        }
        Step::More
    }

    fn next_part(&mut self) -> Step {
        // The order in which the parts stand, which is not the order of their bits.
        for (flag, part) in [
            (FLAG_EXTRA, Part::ExtraLengthLow),
            (FLAG_NAME, Part::Name),
            (FLAG_COMMENT, Part::Comment),
            (FLAG_HEADER_CRC, Part::CrcLow),
        ] {
            if self.announced & flag != 0 {
                self.announced &= !flag;
                self.part = part;
                return Step::More;
            }
        }
        Step::Done
    }
}

/// What the two bytes that can begin a zlib stream say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZlibHeader {
    /// Deflate data follows.
    Valid,
    /// It needs a dictionary, and HTTP has no way to agree on one.
    NeedsDictionary,
    /// No zlib header.
    Absent,
}

impl ZlibHeader {
    /// Whether the byte can be the first of a zlib stream. No encoder begins raw deflate data so: it would be a stored
    /// block whose padding is not zero.
    pub(super) const fn may_begin_with(first: u8) -> bool {
        first & 0x0f == 8 && first >> 4 <= 7
    }

    pub(super) fn read(first: u8, second: u8) -> Self {
        if !Self::may_begin_with(first) || u16::from_be_bytes([first, second]) % 31 != 0 {
            Self::Absent
        } else if second & 0x20 != 0 {
            Self::NeedsDictionary
        } else {
            Self::Valid
        }
    }
}

/// The running check over the inflated bytes of one member or stream.
pub(super) enum Check {
    /// Raw deflate data has none.
    Raw,
    /// gzip: CRC-32 and the length.
    Gzip(Crc),
    /// zlib: Adler-32.
    Zlib(Adler32),
}

impl Check {
    pub(super) fn update(&mut self, inflated: &[u8]) {
        match self {
            Self::Raw => {}
            Self::Gzip(crc) => crc.update(inflated),
            Self::Zlib(adler) => adler.update(inflated),
        }
    }

    /// The footer that has to follow, if any does.
    pub(super) fn footer(&self) -> Option<Footer> {
        let (bytes, length) = match self {
            Self::Raw => return None,
            Self::Gzip(crc) => (u64::from(crc.sum()) | u64::from(crc.amount()) << 32, 8),
            Self::Zlib(adler) => (u64::from(adler.sum().swap_bytes()), 4),
        };
        Some(Footer { expected: bytes, left: length })
    }
}

/// The footer, known before it comes: the bytes still expected, the next one lowest.
///
/// Comparing byte by byte finds a wrong footer also when its end is missing.
pub(super) struct Footer {
    expected: u64,
    left: u8,
}

impl Footer {
    pub(super) fn take(&mut self, byte: u8) -> Step {
        let [next, ..] = self.expected.to_le_bytes();
        if byte != next {
            return Step::Bad;
        }
        self.expected >>= 8;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { Step::Done } else { Step::More }
    }
}

/// Adler-32 (RFC 1950 8.2).
pub(super) struct Adler32 {
    low: u32,
    high: u32,
}

impl Default for Adler32 {
    fn default() -> Self {
        Self { low: 1, high: 0 }
    }
}

impl Adler32 {
    const MODULUS: u32 = 65_521;
    /// Most bytes whose sums fit in 32 bits before the modulus has to be taken.
    const RUN: usize = 5552;

    fn update(&mut self, data: &[u8]) {
        for run in data.chunks(Self::RUN) {
            for &byte in run {
                self.low += u32::from(byte);
                self.high += self.low;
            }
            self.low %= Self::MODULUS;
            self.high %= Self::MODULUS;
        }
    }

    const fn sum(&self) -> u32 {
        self.high << 16 | self.low
    }
}
