//! Finding the end of a line. Every byte of a stream is looked at here once, and never again.

use memchr::memchr2;

pub(super) const LF: u8 = b'\n';
pub(super) const CR: u8 = b'\r';

/// Lines shorter than this are settled without calling memchr, whose call costs more than the search.
const HEAD: usize = 16;

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Where the first LF or CR stands in `bytes`. HTML 9.2.5: these two, and no other character, end a line.
#[inline]
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut skipped = 0;
    let mut rest = bytes;
    while skipped < HEAD {
        let Some((word, after)) = rest.split_first_chunk::<8>() else {
            return line_end_in_few(rest).map(|at| skipped + at);
        };
        if let Some(at) = line_end_in(*word) {
            return Some(skipped + at);
        }
        skipped += 8;
        rest = after;
    }
    memchr2(LF, CR, rest).map(|at| skipped + at)
}

/// The same in less than eight bytes.
#[inline]
fn line_end_in_few(bytes: &[u8]) -> Option<usize> {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let ([a, b, c, d], [e, f, g, h]) = (*first, *last);
        let at = line_end_in([a, b, c, d, e, f, g, h])?;
        return Some(if at < 4 { at } else { at + bytes.len() - 8 });
    }
    bytes.iter().position(|&byte| byte == LF || byte == CR)
}

/// What is after `same` at the front of `bytes`. A name or a line of a few bytes takes no call.
#[inline(always)]
pub(super) fn strip_same<'i>(bytes: &'i [u8], same: &[u8]) -> Option<&'i [u8]> {
    let (front, after) = bytes.split_at_checked(same.len())?;
    // Two comparisons that may overlap. The end goes first: a difference is likely there.
    let is_same = match (same.first_chunk::<8>(), same.last_chunk::<8>()) {
        (Some(first), Some(last)) => {
            front.last_chunk::<8>() == Some(last)
                && front.first_chunk::<8>() == Some(first)
                && (same.len() <= TINY || front == same)
        }
        _ => front == same,
    };
    is_same.then_some(after)
}

/// Whether one of `bytes` is NUL.
#[inline(always)]
pub(super) fn has_nul(bytes: &[u8]) -> bool {
    if bytes.len() > TINY {
        return bytes.contains(&0);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return zero_bytes(u64::from_le_bytes(*first)) | zero_bytes(u64::from_le_bytes(*last)) != 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let ([a, b, c, d], [e, f, g, h]) = (*first, *last);
        return zero_bytes(u64::from_le_bytes([a, b, c, d, e, f, g, h])) != 0;
    }
    bytes.iter().take(3).fold(false, |found, &byte| found | (byte == 0))
}

/// The most bytes that [`tiny_has_line_end`] looks at.
pub(super) const TINY: usize = 16;

/// Whether there is an LF or CR in at most [`TINY`] bytes.
#[inline(always)]
pub(super) fn tiny_has_line_end(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        return line_end_marks(*first) | line_end_marks(*last) != 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let ([a, b, c, d], [e, f, g, h]) = (*first, *last);
        return line_end_marks([a, b, c, d, e, f, g, h]) != 0;
    }
    bytes.iter().take(3).fold(false, |found, &byte| found | (byte == LF) | (byte == CR))
}

/// Lines that are longer are best left to memchr.
pub(super) const MEDIUM: usize = 128;

/// [`line_end`] for lines of up to [`MEDIUM`] bytes that are rarely very short. A search that stops where it finds
/// something stops at another place in each line, which the processor cannot foresee, and that costs more than to look
/// at all of a window.
#[inline]
pub(super) fn medium_line_end(bytes: &[u8]) -> Option<usize> {
    let Some((window, after)) = bytes.split_first_chunk::<MEDIUM>() else {
        return memchr2(LF, CR, bytes);
    };
    match first_line_end(window) {
        NOWHERE => memchr2(LF, CR, after).map(|at| MEDIUM + at),
        at => Some(usize::from(at)),
    }
}

const NOWHERE: u8 = u8::MAX;

/// The least index of an LF or CR, or [`NOWHERE`]: a minimum over all, which compilers make vector code of.
#[inline]
fn first_line_end(window: &[u8; MEDIUM]) -> u8 {
    let mut least = NOWHERE;
    let mut index = 0_u8;
    for &byte in window {
        let candidate = if (byte == LF) | (byte == CR) { index } else { NOWHERE };
        least = least.min(candidate);
        index = index.wrapping_add(1);
    }
    least
}

/// The same as [`line_end`] for eight bytes at once: a byte equal to the one sought becomes zero, and the lowest zero byte of a word
/// is found exactly by the borrow it causes.
#[inline]
fn line_end_in(word: [u8; 8]) -> Option<usize> {
    let marks = line_end_marks(word);
    (marks != 0).then(|| (marks.trailing_zeros() / 8) as usize)
}

/// The high bit of each LF and CR, as far as the lowest of them.
#[inline(always)]
fn line_end_marks(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    zero_bytes(word ^ (ONES * LF as u64)) | zero_bytes(word ^ (ONES * CR as u64))
}

/// The high bit of each zero byte; above the lowest of them, bits may be set in error.
#[inline]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

#[cfg(test)]
mod tests {
    use super::{CR, LF, TINY, has_nul, line_end, medium_line_end, strip_same, tiny_has_line_end};
    use alloc::vec;

    /// Whatever the length, a NUL and a difference are found at every place, and nothing where there is none.
    #[test]
    fn nul_and_difference_at_every_place() {
        for length in 0..40 {
            let mut bytes = vec![b'a'; length];
            assert!(!has_nul(&bytes));
            let same = bytes.clone();
            assert_eq!(strip_same(&[&bytes[..], b"x"].concat(), &same), Some(&b"x"[..]));
            assert_eq!(strip_same(&bytes, &[&same[..], b"x"].concat()), None);
            for at in 0..length {
                bytes[at] = 0;
                assert!(has_nul(&bytes));
                assert_eq!(strip_same(&bytes, &same), None);
                // Another one hides neither.
                for other in 0..length {
                    bytes[other] = 0;
                    assert!(has_nul(&bytes), "{at} and {other} of {length}");
                    bytes[other] = if other == at { 0 } else { b'a' };
                }
                bytes[at] = b'a';
            }
        }
    }

    /// All searches agree.
    fn assert_all(bytes: &[u8], expected: Option<usize>) {
        assert_eq!(line_end(bytes), expected);
        assert_eq!(medium_line_end(bytes), expected);
        if bytes.len() <= TINY {
            assert_eq!(tiny_has_line_end(bytes), expected.is_some());
        }
    }

    /// D1: the first CR or LF at every place in lines of every short length, also next to bytes that differ from
    /// them by one bit.
    #[test]
    fn d1_first_line_end_at_every_place() {
        for length in (0..80).chain(126..132).chain(250..264) {
            for filler in [b'a', 0x00, 0x8A, 0x8D, 0x0B, 0x0C, 0x09, 0x0E, 0xFF] {
                let mut bytes = vec![filler; length];
                assert_all(&bytes, None);
                for at in 0..length {
                    for end in [LF, CR] {
                        bytes[at] = end;
                        assert_all(&bytes, Some(at));
                        if let Some(last) = bytes.last_mut() {
                            *last = LF;
                        }
                        assert_all(&bytes, Some(at));
                        bytes.fill(filler);
                    }
                }
            }
        }
    }
}
