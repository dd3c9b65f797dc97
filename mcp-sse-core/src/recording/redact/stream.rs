//! An event stream of the same size and the same events that says nothing.
//!
//! Rules: line ends, the names of fields, known event types and `retry` stay; the data of an event is redacted as the one text
//! that it is, whatever lines it stands in. An unfinished event is redacted like a whole one.

use alloc::vec::Vec;
use core::ops::Range;

use super::filler::{self, Fillers};
use super::json::{self, Place};

/// The event type that the data of the block belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Endpoint,
    Other,
}

/// The stream, redacted; it has the same size.
pub(super) fn redact(text: &[u8], fillers: &mut Fillers) -> Vec<u8> {
    let mut redacted = text.to_vec();
    let (mut kind, mut data): (Kind, Vec<Range<usize>>) = (Kind::Message, Vec::new());
    for line in lines(text) {
        let bytes = text.get(line.clone()).unwrap_or_default();
        if bytes.is_empty() {
            redact_data(&mut redacted, text, kind, &data, fillers);
            (kind, data) = (Kind::Message, Vec::new());
            continue;
        }
        let colon = bytes.iter().position(|byte| *byte == b':').unwrap_or(bytes.len());
        let space = usize::from(bytes.get(colon + 1) == Some(&b' '));
        let value = line.end.min(line.start + colon + 1 + space)..line.end;
        let content = text.get(value.clone()).unwrap_or_default();
        let hidden = match bytes.get(..colon).unwrap_or_default() {
            b"data" => {
                data.push(value);
                continue;
            }
            b"event" => {
                kind = match content {
                    b"message" | b"" => Kind::Message,
                    b"endpoint" => Kind::Endpoint,
                    _ => Kind::Other,
                };
                if kind == Kind::Other { filler::text(content) } else { content.to_vec() }
            }
            b"id" => fillers.event_id(content),
            b"retry" if content.iter().all(u8::is_ascii_digit) => continue,
            // A comment, or a field that nobody knows.
            _ => {
                put(&mut redacted, line.clone(), &filler::text(bytes));
                continue;
            }
        };
        put(&mut redacted, value, &hidden);
    }
    redact_data(&mut redacted, text, kind, &data, fillers);
    redacted
}

/// The lines of a stream, without their ends, the last one also if nothing ends it.
fn lines(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    core::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
        let line = start..start + length;
        let is_pair = rest.get(length..).is_some_and(|end| end.starts_with(b"\r\n"));
        start += length + if is_pair { 2 } else { 1 };
        Some(line)
    })
}

fn redact_data(redacted: &mut [u8], text: &[u8], kind: Kind, data: &[Range<usize>], fillers: &mut Fillers) {
    let parts: Vec<&[u8]> = data.iter().filter_map(|range| text.get(range.clone())).collect();
    let joined = parts.join(&b'\n');
    let hidden = match kind {
        Kind::Message => json::redact(&joined, Place::Message, fillers),
        Kind::Endpoint => filler::url(&joined),
        Kind::Other => filler::text(&joined),
    };
    let mut rest = &*hidden;
    for range in data {
        let (part, after) = rest.split_at_checked(range.len()).unwrap_or((rest, &[]));
        put(redacted, range.clone(), part);
        // The line end between two parts.
        rest = after.get(1..).unwrap_or_default();
    }
}

fn put(redacted: &mut [u8], range: Range<usize>, hidden: &[u8]) {
    if let Some(place) = redacted.get_mut(range).filter(|place| place.len() == hidden.len()) {
        place.copy_from_slice(hidden);
    }
}
