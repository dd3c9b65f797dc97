//! A coded body: inflated, redacted, and coded again without compressing it, each piece as far as it had come.
//!
//! Rule: what comes out of a piece of the new body is what came out of the same piece of the old one. gzip is written, which is
//! read whatever name the coding has.

use alloc::vec::Vec;

use crate::http::{ContentCoding, InflateEnd, Inflater, Progress};

/// What a block that is not compressed holds at most (RFC 1951 3.2.4).
const BLOCK: usize = 0xFFFF;
/// The header of a member with no name and no time (RFC 1952 2.3).
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// A body that inflates to more than this is not worth redacting.
const MOST: u64 = 256 << 20;

/// The pieces, redacted by `hide`; nothing if they cannot be inflated.
pub(super) fn redact(
    coding: ContentCoding,
    pieces: &[Vec<u8>],
    hide: impl FnOnce(Vec<u8>) -> Vec<u8>,
) -> Option<Vec<Vec<u8>>> {
    let coding = if coding == ContentCoding::Identity { ContentCoding::Gzip } else { coding };
    let mut inflater = Inflater::new(coding, MOST)?;
    let (mut inflated, mut reached) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut input = &**piece;
        while inflater.inflate(&mut input, &mut inflated).ok()? == Progress::More {}
        reached.push((inflated.len(), inflater.end()));
    }
    let hidden = hide(inflated);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&hidden);
    let mut footer = crc.finalize().to_le_bytes().to_vec();
    footer.extend_from_slice(&u32::try_from(hidden.len()).ok()?.to_le_bytes());

    let (mut from, mut has_data_end, mut has_footer) = (0, false, false);
    let mut coded = Vec::with_capacity(pieces.len());
    for (at, (until, end)) in reached.into_iter().enumerate() {
        let mut piece = if at == 0 { HEADER.to_vec() } else { Vec::new() };
        for data in hidden.get(from..until)?.chunks(BLOCK) {
            push_block(&mut piece, data, false);
        }
        from = until;
        if end != InflateEnd::Short && !core::mem::replace(&mut has_data_end, true) {
            push_block(&mut piece, &[], true);
        }
        if end == InflateEnd::Whole && !core::mem::replace(&mut has_footer, true) {
            piece.extend_from_slice(&footer);
        }
        coded.push(piece);
    }
    Some(coded)
}

fn push_block(piece: &mut Vec<u8>, data: &[u8], is_last: bool) {
    let length = u16::try_from(data.len()).unwrap_or_default();
    piece.push(u8::from(is_last));
    piece.extend_from_slice(&length.to_le_bytes());
    piece.extend_from_slice(&(!length).to_le_bytes());
    piece.extend_from_slice(data);
}
