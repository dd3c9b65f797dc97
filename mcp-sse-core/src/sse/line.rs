//! The fields a line can hold, and how far an unfinished line has come. What a field does is told in `decoder.rs`.

/// What a line is about (HTML 9.2.6, "process the field").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Data,
    Kind,
    Id,
    Retry,
    Comment,
    /// A field of another name, or one whose rest no longer matters.
    Ignored,
}

/// The longest name that means something: `event`, `retry`.
const LONGEST_NAME: usize = 5;

impl Field {
    /// Splits a complete line, without its end, into field and value: a name, a colon, and a value that loses one
    /// leading space; or a name alone, with an empty value. Names are case-sensitive.
    #[inline]
    pub(super) fn split(line: &[u8]) -> (Self, &[u8]) {
        let (field, after) = match line {
            [b'd', b'a', b't', b'a', after @ ..] => (Self::Data, after),
            [b'i', b'd', after @ ..] => (Self::Id, after),
            [b'e', b'v', b'e', b'n', b't', after @ ..] => (Self::Kind, after),
            [b':', ..] => (Self::Comment, line),
            [b'r', b'e', b't', b'r', b'y', after @ ..] => (Self::Retry, after),
            _ => return (Self::Ignored, &[]),
        };
        match after {
            [b':', b' ', value @ ..] | [b':', value @ ..] => (field, value),
            [] => (field, &[]),
            _ => (Self::Ignored, &[]),
        }
    }
}

/// How far the unfinished line has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing of it is here.
    Start,
    /// Only (a part of) its name is here.
    Name(Name),
    /// Its value has begun. `fresh` while nothing of it is here, so that a leading space may still be dropped.
    Value { field: Field, fresh: bool },
}

impl Line {
    /// A data line, of whose value there is something already.
    pub(super) const DATA: Self = Self::Value { field: Field::Data, fresh: false };

    /// A line whose rest does not matter.
    pub(super) const IGNORED: Self = Self::Value { field: Field::Ignored, fresh: false };
}

/// An unfinished field name. A name longer than any known one is not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    bytes: [u8; LONGEST_NAME],
    len: usize,
}

impl Name {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The field of this name, as it stands.
    pub(super) fn field(&self) -> Field {
        Field::split(self.bytes.get(..self.len).unwrap_or_default()).0
    }

    /// Takes the front of `piece` up to the colon, and says where the line stands then.
    pub(super) fn take(mut self, piece: &mut &[u8]) -> Line {
        while let Some((&byte, after)) = piece.split_first() {
            *piece = after;
            if byte == b':' {
                let field = if self.len == 0 { Field::Comment } else { self.field() };
                return Line::Value { field, fresh: true };
            }
            let Some(slot) = self.bytes.get_mut(self.len) else {
                return Line::IGNORED;
            };
            *slot = byte;
            self.len += 1;
        }
        Line::Name(self)
    }
}

/// The value of a `retry` field, digit by digit, so that any number of digits costs no memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Digits {
    /// `None` before the first digit.
    milliseconds: Option<u64>,
    spoilt: bool,
}

impl Digits {
    pub(super) fn take(&mut self, piece: &[u8]) {
        for &byte in piece {
            if byte.is_ascii_digit() {
                let sum = self.milliseconds.unwrap_or(0).saturating_mul(10);
                self.milliseconds = Some(sum.saturating_add(u64::from(byte - b'0')));
            } else {
                self.spoilt = true;
            }
        }
    }

    /// The number in milliseconds, saturated; `None` unless the value was ASCII digits only, one at least.
    pub(super) fn milliseconds(self) -> Option<u64> {
        self.milliseconds.filter(|_| !self.spoilt)
    }
}
