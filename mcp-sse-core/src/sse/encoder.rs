//! Events in, bytes out: the decoder's mirror (S1).
//!
//! Rules: whatever the data is, it decodes to the same text (CR and CRLF in it come back as LF, which is all the format can
//! carry), and nothing in it can be taken for a field, a comment or the end of the event. A name or an id that could is an
//! error, found before a byte is written. Nothing is kept between two events, and nothing is allocated but what the
//! caller's buffer grows by. When an event is sent does not belong here.

use alloc::vec::Vec;
use core::time::Duration;

use memchr::{memchr2, memchr2_iter};
use thiserror::Error;

/// The fields of an event beside its data. All are optional.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::sse::{EventFields, SseEncoder};
///
/// let mut out = Vec::new();
/// let fields = EventFields::default().with_id("7-1").with_retry(Duration::from_millis(500));
/// SseEncoder::new(&mut out).event(fields, "")?;
/// assert_eq!(out, b"id: 7-1\nretry: 500\ndata:\n\n");
/// # Ok::<(), mcp_sse_core::sse::EncodeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventFields<'a> {
    /// `event`: the name of the event. Without one, or with an empty one, it is a `message`.
    pub kind: Option<&'a str>,
    /// `id`: what a client sends back to have the stream resumed behind this event. An empty one clears the last id.
    pub id: Option<&'a str>,
    /// `retry`: how long a client waits before it connects again. Written in whole milliseconds, rounded up.
    pub retry: Option<Duration>,
}

impl<'a> EventFields<'a> {
    /// Sets [`kind`](Self::kind).
    #[must_use]
    pub const fn with_kind(mut self, kind: &'a str) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Sets [`id`](Self::id).
    #[must_use]
    pub const fn with_id(mut self, id: &'a str) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets [`retry`](Self::retry).
    #[must_use]
    pub const fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Whether the fields can be written.
    ///
    /// # Errors
    /// [`EncodeError`] if the name or the id holds a line break or NUL.
    pub fn check(&self) -> Result<(), EncodeError> {
        let breaks =
            |text: Option<&str>| text.and_then(|text| text.bytes().position(|byte| matches!(byte, b'\r' | b'\n' | 0)));
        if let Some(position) = breaks(self.kind) {
            return Err(EncodeError::Name { position });
        }
        match breaks(self.id) {
            Some(position) => Err(EncodeError::Id { position }),
            None => Ok(()),
        }
    }
}

/// The caller's mistake: a field that would not decode to itself. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The name of the event.
    #[error("the event's name holds a line break or NUL at byte {position}")]
    Name {
        /// Where, in bytes.
        position: usize,
    },
    /// The id of the event.
    #[error("the event's id holds a line break or NUL at byte {position}")]
    Id {
        /// Where, in bytes.
        position: usize,
    },
}

/// Writes events to the end of the caller's buffer. The buffer is a stream's, or a part of one that begins at a line's
/// start; the encoder keeps nothing, so that one can be made for each event.
///
/// Each event ends with its blank line; each `data` line with LF alone, since some readers take no other.
///
/// ```
/// use mcp_sse_core::sse::{EventFields, SseDecoder, SseEncoder};
///
/// let mut out = Vec::new();
/// let mut encoder = SseEncoder::new(&mut out);
/// encoder.event(EventFields::default().with_kind("endpoint"), "?session_id=1")?;
/// encoder.event(EventFields::default(), "two\rlines, and no field:\revent: forged")?;
///
/// let mut decoder = SseDecoder::new();
/// let mut bytes = &out[..];
/// let event = decoder.decode(&mut bytes)?.ok_or("an event")?;
/// assert_eq!((event.kind(), event.data()), ("endpoint", "?session_id=1"));
/// let event = decoder.decode(&mut bytes)?.ok_or("an event")?;
/// assert_eq!((event.kind(), event.data()), ("message", "two\nlines, and no field:\nevent: forged"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SseEncoder<'b> {
    out: &'b mut Vec<u8>,
}

impl<'b> SseEncoder<'b> {
    /// An encoder that appends to this buffer.
    #[must_use]
    pub const fn new(out: &'b mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Writes an event whose data is any text: one `data` line for each of its lines, and one for empty data.
    ///
    /// # Errors
    /// [`EncodeError`] if the name or the id holds a line break or NUL; nothing was written.
    pub fn event(&mut self, fields: EventFields<'_>, data: &str) -> Result<(), EncodeError> {
        self.fields(fields, data.len())?;
        self.lines("data:", data);
        self.out.push(b'\n');
        Ok(())
    }

    /// Writes an event whose data is one JSON text, in one `data` line. A JSON text has line breaks only between its tokens,
    /// where a space says the same: each CR and LF becomes one. A text that is no JSON stays none, and still forges nothing.
    ///
    /// # Errors
    /// As [`event`](Self::event).
    ///
    /// ```
    /// use mcp_sse_core::sse::{EventFields, SseEncoder};
    ///
    /// let mut out = Vec::new();
    /// SseEncoder::new(&mut out).json(EventFields::default(), "{\n  \"a\": 1\r\n}")?;
    /// assert_eq!(out, b"data: {   \"a\": 1  }\n\n");
    /// # Ok::<(), mcp_sse_core::sse::EncodeError>(())
    /// ```
    pub fn json(&mut self, fields: EventFields<'_>, json: &str) -> Result<(), EncodeError> {
        self.fields(fields, json.len())?;
        self.out.extend_from_slice(b"data: ");
        let start = self.out.len();
        self.out.extend_from_slice(json.as_bytes());
        for at in memchr2_iter(b'\r', b'\n', json.as_bytes()) {
            if let Some(byte) = self.out.get_mut(start + at) {
                *byte = b' ';
            }
        }
        self.out.extend_from_slice(b"\n\n");
        Ok(())
    }

    /// Writes a block without data that says how long a client waits before it connects again: for who is about to close the
    /// stream on purpose. No event comes of it.
    pub fn retry(&mut self, retry: Duration) {
        self.retry_line(retry);
        self.out.push(b'\n');
    }

    /// Writes a comment, one line for each line of the text, and a blank line, so that readers which look at whole blocks see
    /// it at once. Comments carry nothing; an empty one serves as a keep-alive.
    pub fn comment(&mut self, text: &str) {
        self.out.reserve(text.len() + 4);
        self.lines(":", text);
        self.out.push(b'\n');
    }

    /// The fields but the data, with room for so much of that.
    fn fields(&mut self, fields: EventFields<'_>, data_bytes: usize) -> Result<(), EncodeError> {
        fields.check()?;
        let bytes = |text: Option<&str>| text.map_or(0, |text| text.len() + 8);
        let retry_bytes = if fields.retry.is_some() { 32 } else { 0 };
        self.out.reserve(bytes(fields.kind) + bytes(fields.id) + retry_bytes + data_bytes + 8);
        if let Some(kind) = fields.kind.filter(|kind| !kind.is_empty()) {
            self.line("event:", kind);
        }
        if let Some(id) = fields.id {
            self.line("id:", id);
        }
        if let Some(retry) = fields.retry {
            self.retry_line(retry);
        }
        Ok(())
    }

    fn retry_line(&mut self, retry: Duration) {
        let millis = retry.as_millis() + u128::from(retry.subsec_nanos() % 1_000_000 > 0);
        let mut digits = [0; 20];
        self.line("retry:", decimal(u64::try_from(millis).unwrap_or(u64::MAX), &mut digits));
    }

    /// One line for each line of the text.
    fn lines(&mut self, field: &str, text: &str) {
        let mut rest = text;
        while let Some(at) = memchr2(b'\r', b'\n', rest.as_bytes()) {
            // A line break is one byte of ASCII, so both cuts are at characters' edges.
            let (line, ending) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.line(field, line);
            rest = ending.strip_prefix("\r\n").or_else(|| ending.get(1..)).unwrap_or_default();
        }
        self.line(field, rest);
    }

    /// A value gets the one space that decoding takes away; the field of an empty one ends at its colon.
    fn line(&mut self, field: &str, value: &str) {
        self.out.extend_from_slice(field.as_bytes());
        if !value.is_empty() {
            self.out.push(b' ');
            self.out.extend_from_slice(value.as_bytes());
        }
        self.out.push(b'\n');
    }
}

/// A number in decimal, without an allocation.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        // One digit.
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        count += 1;
        if number == 0 {
            break;
        }
    }
    digits.get(digits.len() - count..).and_then(|digits| core::str::from_utf8(digits).ok()).unwrap_or("0")
}
