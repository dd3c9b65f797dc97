//! Chunked framing undone (RFC 9112 section 7.1), without copying the chunks' data.
//!
//! ureq-proto reads chunks too, but when a chunk's end is malformed it forgets the data before it, and it
//! refuses extensions that are longer than a few bytes. What arrived must not be lost, so the walk over the
//! chunks is here; the grammar of a size line is httparse's.

use httparse::Status;

/// A size line, its extensions included, may have this many bytes; no server in the field comes near.
const MAX_SIZE_LINE: usize = 4 << 10;
/// All trailer lines together.
const MAX_TRAILERS: usize = 16 << 10;

/// Where the walk over the chunks stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Data(u64),
    DataEnd,
    /// After the last chunk: the data is complete. The bytes of trailers read so far.
    Trailers(usize),
    Done,
}

/// What the next bytes of input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// This many bytes of data; tell [`Chunked::take`] how many were used.
    Data(usize),
    /// This many bytes of framing, already taken account of.
    Framing(usize),
    /// More input is needed.
    More,
    /// Nothing: the body has ended.
    End,
}

/// The framing is malformed; everything before it was good.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The walk over the chunks of one body.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
}

impl Chunked {
    pub(crate) const fn new() -> Self {
        Self { state: State::Size }
    }

    /// Looks at the front of `input`.
    pub(crate) fn next(&mut self, input: &[u8]) -> Result<Piece, Malformed> {
        match self.state {
            // httparse takes a line without digits for a size of zero, which would end the body.
            State::Size if input.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => Err(Malformed),
            State::Size => match httparse::parse_chunk_size(input) {
                Ok(Status::Complete((used, size))) => {
                    self.state = if size == 0 { State::Trailers(0) } else { State::Data(size) };
                    Ok(Piece::Framing(used))
                }
                Ok(Status::Partial) if input.len() < MAX_SIZE_LINE => Ok(Piece::More),
                _ => Err(Malformed),
            },
            State::Data(_) if input.is_empty() => Ok(Piece::More),
            State::Data(left) => Ok(Piece::Data(usize::try_from(left).unwrap_or(usize::MAX).min(input.len()))),
            State::DataEnd => match input {
                [] | [b'\r'] => Ok(Piece::More),
                [b'\r', b'\n', ..] => {
                    self.state = State::Size;
                    Ok(Piece::Framing(2))
                }
                _ => Err(Malformed),
            },
            State::Trailers(before) => match input.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    let is_last = matches!(input.get(..end), Some([] | [b'\r']));
                    let used = end + 1;
                    self.state = if is_last { State::Done } else { State::Trailers(before + used) };
                    if before + used > MAX_TRAILERS { Err(Malformed) } else { Ok(Piece::Framing(used)) }
                }
                None if before + input.len() > MAX_TRAILERS => Err(Malformed),
                None => Ok(Piece::More),
            },
            State::Done => Ok(Piece::End),
        }
    }

    /// Says that `bytes` of the data that [`next`](Self::next) showed were used.
    pub(crate) fn take(&mut self, bytes: usize) {
        if let State::Data(left) = self.state {
            self.state = match left.saturating_sub(bytes as u64) {
                0 => State::DataEnd,
                left => State::Data(left),
            };
        }
    }

    /// Whether the last chunk came: all data is here, whatever becomes of the trailers.
    pub(crate) const fn is_complete(&self) -> bool {
        matches!(self.state, State::Trailers(_) | State::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of a chunked body given in pieces of `size` bytes, and how the walk ended.
    fn walk(body: &[u8], size: usize) -> (Vec<u8>, Result<bool, Malformed>) {
        let mut chunked = Chunked::new();
        let (mut data, mut held) = (Vec::new(), Vec::new());
        for piece in body.chunks(size) {
            held.extend_from_slice(piece);
            loop {
                match chunked.next(&held) {
                    Ok(Piece::Data(bytes)) => {
                        data.extend(held.drain(..bytes));
                        chunked.take(bytes);
                    }
                    Ok(Piece::Framing(bytes)) => drop(held.drain(..bytes)),
                    Ok(Piece::More) => break,
                    Ok(Piece::End) => return (data, Ok(true)),
                    Err(malformed) => return (data, Err(malformed)),
                }
            }
        }
        (data, Ok(chunked.is_complete()))
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
            let (data, complete) = walk(&body[..cut], 1);
            assert_eq!(data, b"hello"[..cut.saturating_sub(3).min(5)].to_vec(), "cut at {cut}");
            assert_eq!(complete, Ok(cut >= 13), "cut at {cut}");
        }
    }

    #[test]
    fn data_before_malformed_framing_is_kept() {
        assert_eq!(walk(b"5\r\nhelloXX", 64), (b"hello".to_vec(), Err(Malformed)));
        assert_eq!(walk(b"5\r\nhello\r\nnonsense\r\n", 64), (b"hello".to_vec(), Err(Malformed)));
        assert_eq!(walk(&[b'1'; 2 * MAX_SIZE_LINE], 64).1, Err(Malformed));
        for no_size in [&b"5\r\nhello\r\n\r\n"[..], b"5\r\nhello\r\n;x\r\n\r\n", b"5\r\nhello\r\n \r\n\r\n"] {
            assert_eq!(walk(no_size, 64), (b"hello".to_vec(), Err(Malformed)));
        }
        let endless = [b"0\r\n".to_vec(), vec![b'a'; 2 * MAX_TRAILERS]].concat();
        assert_eq!(walk(&endless, 64).1, Err(Malformed));
    }
}
