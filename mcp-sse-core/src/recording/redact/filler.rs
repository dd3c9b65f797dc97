//! What stands for a string: as long as it was, equal for equal ones, and no word of any protocol.
//!
//! Rule: digits after as many `x` as it takes, so that a filler is a name, a token, an event id and a JSON string alike.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// The strings that have come, each with its number.
#[derive(Default)]
pub(super) struct Fillers(BTreeMap<Vec<u8>, usize>);

impl Fillers {
    /// The filler for a string; its bytes as they stand in the text, without quotes.
    pub(super) fn string(&mut self, content: &[u8]) -> Vec<u8> {
        let next = self.0.len();
        let number = *self.0.entry(content.to_vec()).or_insert(next);
        let digits = format!("{number}").into_bytes();
        // A short string has room for the last digits alone.
        let shown = digits.get(digits.len().saturating_sub(content.len())..).unwrap_or_default();
        let mut filler = vec![b'x'; content.len() - shown.len()];
        filler.extend_from_slice(shown);
        filler
    }

    /// An event id: one that can be sent back stays one (E26).
    pub(super) fn event_id(&mut self, id: &[u8]) -> Vec<u8> {
        if id.iter().all(u8::is_ascii_graphic) { self.string(id) } else { text(id) }
    }
}

/// Any text: letters and digits go, what structures it stays.
pub(super) fn text(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if byte.is_ascii_alphanumeric() || *byte >= 0x80 { b'x' } else { *byte }).collect()
}

/// A URL or a reference: what follows the authority goes, and who is named in it.
pub(super) fn url(url: &[u8]) -> Vec<u8> {
    let authority = match url.windows(3).position(|three| three == b"://") {
        Some(at) => at + 3,
        None if url.starts_with(b"//") => 2,
        None => return text(url),
    };
    let (scheme, rest) = url.split_at_checked(authority).unwrap_or((url, &[]));
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#' | b'\\')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, &[]));
    let user = authority.iter().rposition(|byte| *byte == b'@').unwrap_or(0);
    let (user, host) = authority.split_at_checked(user).unwrap_or((authority, &[]));
    [scheme, &text(user), host, &text(path)].concat()
}
