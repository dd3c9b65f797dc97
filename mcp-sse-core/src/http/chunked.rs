//! Chunked framing undone (RFC 9112 section 7.1), without copying the chunks' data.
//!
//! Rules: byte by byte, so that a piece may end anywhere and nothing has to be held; what came before a malformed byte
//! is good; sizes of lines are bounded. Content coding and what the data means do not belong here.

use memchr::memchr;

/// A size line, its extensions included, may have this many bytes; no server in the field comes near.
const MAX_SIZE_LINE: usize = 4 << 10;
/// All trailer lines together.
const MAX_TRAILERS: usize = 16 << 10;

/// What stands at the front of a chunked body's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chunk {
    /// This many bytes of data, at least one; tell [`ChunkedReader::take`] how many of them were used.
    Data(usize),
    /// Nothing yet: more input is needed.
    More,
    /// Nothing more: the body has ended, its trailers included. What follows belongs to something else.
    End,
}

/// Peer: the framing is malformed. Everything before it was good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the chunked framing is malformed")]
#[non_exhaustive]
pub struct MalformedChunk;

/// Where in the framing the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a size line of so many bytes so far.
    Size { size: Option<u64>, part: SizePart, bytes: usize },
    /// In data, so many bytes of which are left, at least one.
    Data(u64),
    /// Behind data: the line end that belongs to it; whether its carriage return has come.
    DataEnd { has_return: bool },
    /// Behind the last chunk: bytes of trailers so far, and bytes of the line so far but its carriage return. A bare
    /// line feed ends a line there too (RFC 9112 section 2.2).
    Trailers { bytes: usize, line: usize },
    /// Behind it all.
    Ended,
    /// No chunked framing.
    Malformed,
}

/// The parts of a size line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SizePart {
    Digits,
    /// White space behind the digits.
    Space,
    Extension,
    /// The carriage return has come.
    Return,
}

const SIZE: State = State::Size { size: None, part: SizePart::Digits, bytes: 0 };

/// Reads the framing of one body.
///
/// ```
/// use mcp_sse_core::http::{Chunk, ChunkedReader};
///
/// let mut reader = ChunkedReader::new();
/// let mut input: &[u8] = b"5\r\nhello\r\n0\r\n\r\n";
/// assert_eq!(reader.read(&mut input)?, Chunk::Data(5));
/// input = &input[5..];
/// reader.take(5);
/// assert_eq!(reader.read(&mut input)?, Chunk::End);
/// # Ok::<(), mcp_sse_core::http::MalformedChunk>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChunkedReader {
    state: State,
}

impl Default for ChunkedReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ChunkedReader {
    /// A reader at the beginning of a body.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: SIZE }
    }

    /// Takes framing off the front of `input`, and says what stands there then.
    ///
    /// # Errors
    /// [`MalformedChunk`] if that is no chunked framing; the same again for each further call.
    pub fn read(&mut self, input: &mut &[u8]) -> Result<Chunk, MalformedChunk> {
        loop {
            match self.state {
                State::Ended => return Ok(Chunk::End),
                State::Malformed => return Err(MalformedChunk),
                State::Data(left) if !input.is_empty() => {
                    return Ok(Chunk::Data(usize::try_from(left).unwrap_or(usize::MAX).min(input.len())));
                }
                // Both as most write them, and whole.
                State::DataEnd { has_return: false } => {
                    if let Some(rest) = input.strip_prefix(b"\r\n") {
                        (*input, self.state) = (rest, SIZE);
                        continue;
                    }
                }
                State::Size { size: None, part: SizePart::Digits, bytes: 0 } => {
                    if let Some((size, rest)) = plain_size(input) {
                        (*input, self.state) = (rest, State::Data(size));
                        continue;
                    }
                }
                _ => {}
            }
            let Some((byte, rest)) = input.split_first() else {
                return Ok(Chunk::More);
            };
            *input = rest;
            self.state = self.state.after(*byte);
        }
    }

    /// Says that `bytes` of the data that [`read`](Self::read) showed were used.
    pub fn take(&mut self, bytes: usize) {
        if let State::Data(left) = self.state {
            self.state = match left.saturating_sub(bytes as u64) {
                0 => State::DataEnd { has_return: false },
                left => State::Data(left),
            };
        }
    }

    /// Whether the last chunk came: all data is here, whatever becomes of the trailers.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        matches!(self.state, State::Trailers { .. } | State::Ended)
    }
}

/// Follows an HTTP/1.1 response from its status line on, for adapters whose HTTP library undoes the framing and does not
/// tell how far it was read: a chunked body that lacks only the end of its trailers is whole.
///
/// ```
/// use mcp_sse_core::http::ChunkedResponse;
///
/// let mut response = ChunkedResponse::default();
/// response.follow(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n");
/// assert!(!response.is_complete());
/// response.follow(b"0\r\n");
/// assert!(response.is_complete());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChunkedResponse {
    head: HeadPart,
    body: ChunkedReader,
}

/// Where in the heads of a response the next byte stands.
#[derive(Clone, Debug, Default)]
struct HeadPart {
    /// Bytes of the head so far, and of the line so far, line ends not counted.
    bytes: usize,
    line: usize,
    is_interim: bool,
    has_ended: bool,
}

/// The place of the first digit of the status in a status line.
const STATUS: usize = "HTTP/1.1 ".len();

impl ChunkedResponse {
    /// Follows bytes as they were received. What is malformed is the library's to find.
    pub fn follow(&mut self, mut bytes: &[u8]) {
        while !self.head.has_ended && !bytes.is_empty() {
            let (mut text, rest) = bytes.split_at(memchr(b'\n', bytes).unwrap_or(bytes.len()));
            // Carriage returns are no text, be the line cut behind them or not.
            while let [before @ .., b'\r'] = text {
                text = before;
            }
            self.head.take_text(text);
            bytes = match rest.split_first() {
                Some((_, rest)) => {
                    self.head.take_line_end();
                    rest
                }
                None => rest,
            };
        }
        while let Ok(Chunk::Data(data)) = self.body.read(&mut bytes) {
            self.body.take(data);
            bytes = bytes.get(data..).unwrap_or_default();
        }
    }

    /// Whether the last chunk came. Means nothing if the response is not chunked.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.body.is_complete()
    }
}

impl HeadPart {
    /// Bytes of a line, none of which ends it.
    fn take_text(&mut self, text: &[u8]) {
        let status = STATUS.checked_sub(self.bytes).and_then(|at| text.get(at));
        self.is_interim |= status == Some(&b'1');
        self.bytes = self.bytes.saturating_add(text.len());
        self.line = self.line.saturating_add(text.len());
    }

    fn take_line_end(&mut self) {
        if self.line > 0 {
            self.line = 0;
        } else if self.bytes > 0 && self.is_interim {
            *self = Self::default();
        } else {
            // An empty line ends a head; before one it means nothing (RFC 9112 section 2.2).
            self.has_ended = self.bytes > 0;
        }
    }
}

impl State {
    /// The state behind a byte of framing.
    fn after(self, byte: u8) -> Self {
        match self {
            Self::Size { bytes: MAX_SIZE_LINE, .. } | Self::Trailers { bytes: MAX_TRAILERS, .. } => Self::Malformed,
            Self::Size { size, part, bytes } => size_after(size, part, byte, bytes + 1),
            Self::DataEnd { has_return: false } if byte == b'\r' => Self::DataEnd { has_return: true },
            Self::DataEnd { has_return: true } if byte == b'\n' => SIZE,
            Self::Trailers { line: 0, .. } if byte == b'\n' => Self::Ended,
            Self::Trailers { bytes, .. } if byte == b'\n' => Self::Trailers { bytes: bytes + 1, line: 0 },
            Self::Trailers { bytes, line: 0 } if byte == b'\r' => Self::Trailers { bytes: bytes + 1, line: 0 },
            Self::Trailers { bytes, line } => Self::Trailers { bytes: bytes + 1, line: line + 1 },
            _ => Self::Malformed,
        }
    }
}

/// The size in a whole line of it that has nothing else, and what follows; nothing if it is none, or that of the last chunk.
fn plain_size(input: &[u8]) -> Option<(u64, &[u8])> {
    let (mut size, mut rest) = (0, input);
    // A size of more digits is read with care.
    for _ in 0..=8 {
        let (byte, behind) = rest.split_first()?;
        match byte {
            b'0'..=b'9' => size = size << 4 | u64::from(byte - b'0'),
            b'a'..=b'f' => size = size << 4 | u64::from(byte - b'a' + 10),
            b'A'..=b'F' => size = size << 4 | u64::from(byte - b'A' + 10),
            b'\r' => return behind.strip_prefix(b"\n").filter(|_| size > 0).map(|rest| (size, rest)),
            _ => return None,
        }
        rest = behind;
    }
    None
}

/// The state behind a byte of a size line.
fn size_after(size: Option<u64>, part: SizePart, byte: u8, bytes: usize) -> State {
    let part = match (part, byte) {
        (SizePart::Return, b'\n') => {
            return match size {
                None => State::Malformed,
                Some(0) => State::Trailers { bytes: 0, line: 0 },
                Some(size) => State::Data(size),
            };
        }
        (SizePart::Return, _) | (_, b'\n') => return State::Malformed,
        (_, b'\r') => SizePart::Return,
        (SizePart::Extension, _) => SizePart::Extension,
        // A line without digits is none, or it would end the body.
        (_, b';' | b' ' | b'\t') if size.is_none() => return State::Malformed,
        (_, b';') => SizePart::Extension,
        (_, b' ' | b'\t') => SizePart::Space,
        (SizePart::Digits, _) => {
            let digit = char::from(byte).to_digit(16).map(u64::from);
            let grown = digit.and_then(|digit| size.unwrap_or(0).checked_mul(16)?.checked_add(digit));
            return match grown {
                Some(size) => State::Size { size: Some(size), part, bytes },
                None => State::Malformed,
            };
        }
        (SizePart::Space, _) => return State::Malformed,
    };
    State::Size { size, part, bytes }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// The data of a chunked body given in pieces of `size` bytes, and how the walk ended.
    fn walk(body: &[u8], size: usize) -> (Vec<u8>, Result<bool, MalformedChunk>) {
        let mut reader = ChunkedReader::new();
        let mut data = Vec::new();
        for mut piece in body.chunks(size) {
            loop {
                match reader.read(&mut piece) {
                    Ok(Chunk::Data(bytes)) => {
                        // Half of it first: what is not used is shown again.
                        let (used, rest) = piece.split_at(bytes.div_ceil(2));
                        data.extend_from_slice(used);
                        reader.take(used.len());
                        piece = rest;
                    }
                    Ok(Chunk::More) => break,
                    Ok(Chunk::End) => return (data, Ok(true)),
                    Err(malformed) => return (data, Err(malformed)),
                }
            }
        }
        (data, Ok(reader.is_complete()))
    }

    #[test]
    fn every_cut_gives_the_same_data() {
        let body = b"5\r\nhello\r\n6;name=\"a long extension of some length\"\r\n world\r\n0\r\nX: y\r\n\r\n";
        for size in 1..=body.len() {
            assert_eq!(walk(body, size), (b"hello world".to_vec(), Ok(true)), "pieces of {size}");
        }
    }

    #[test]
    fn e8_a_body_without_its_last_chunk_is_not_complete_and_one_with_it_is() {
        let body = b"5\r\nhello\r\n0\r\n\r\n";
        for cut in 0..body.len() {
            let (data, complete) = walk(body.get(..cut).unwrap_or_default(), 1);
            assert_eq!(Some(&*data), b"hello".get(..cut.saturating_sub(3).min(5)), "cut at {cut}");
            assert_eq!(complete, Ok(cut >= 13), "cut at {cut}");
        }
        for (body, end) in [(&b"0\r\n\r\n"[..], 3), (b"5;a=\"0\"\r\n\r\n0\r\n\r\n000;x=1\r\nX: y\r\n\r\n", 25)] {
            let complete = (0..=body.len()).find(|cut| walk(body.get(..*cut).unwrap_or_default(), 1).1 == Ok(true));
            assert_eq!(complete, Some(end));
        }
    }

    #[test]
    fn e8_a_response_is_followed_from_its_heads_to_its_last_chunk() {
        let head = "\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX: 1\r\n\r\n";
        let complete_at = |body: &str| {
            let whole = [head, body].concat();
            let complete = |pieces: &mut dyn Iterator<Item = &[u8]>| {
                let mut response = ChunkedResponse::default();
                pieces.for_each(|piece| response.follow(piece));
                response.is_complete()
            };
            let at = |size: usize| {
                (0..=whole.len())
                    .find(|end| complete(&mut whole.as_bytes()[..*end].chunks(size)))
                    .map(|at| at - head.len())
            };
            assert_eq!(at(1), at(whole.len()), "{body:?}");
            at(1)
        };
        assert_eq!(complete_at("0\r\n\r\n"), Some(3));
        assert_eq!(complete_at("5\r\nhello\r\n0\r\n\r\n"), Some(13));
        assert_eq!(complete_at("d\r\n\r\n0\r\n0\r\n0\r\n\r\n\r\n00\r\n"), Some(22));
        for body in ["data: 0\r\n0\r\n\r\n", "", "5\r\nhel", "ffffffffffffffff0\r\n", "\n0\r\n", "1\r\nab\r\n0\r\n\r\n"]
        {
            assert_eq!(complete_at(body), None, "{body:?}");
        }
    }

    #[test]
    fn data_before_malformed_framing_is_kept() {
        for bad in
            ["XX", "\r\nnonsense\r\n", "\r\n\r\n", "\r\n;x\r\n\r\n", "\r\n \r\n\r\n", "\n0\r\n\r\n", "\r\n5 5\r\n"]
        {
            let body = [b"5\r\nhello", bad.as_bytes()].concat();
            assert_eq!(walk(&body, 64), (b"hello".to_vec(), Err(MalformedChunk)), "{bad:?}");
        }
        assert_eq!(walk(&vec![b'0'; 2 * MAX_SIZE_LINE], 64).1, Err(MalformedChunk));
        assert_eq!(walk(b"10000000000000000\r\n", 64).1, Err(MalformedChunk));
        let endless = [b"0\r\n".to_vec(), vec![b'a'; 2 * MAX_TRAILERS]].concat();
        assert_eq!(walk(&endless, 64).1, Err(MalformedChunk));
    }
}
