//! A step over one JSON value at a time, its grammar (RFC 8259) checked on the way: what every reader of whole texts is
//! made of.
//!
//! Rules: a step ends behind a whole value or tells that there is none; why not, and whether the text was only cut, is told
//! by `grammar`, which is asked when a step fails. Where a value ends is found in `after`. Values are not decoded here.

use alloc::borrow::Cow;

use super::after::{self, Step};
use super::text::decode;

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawMember<'a> {
    pub(crate) key: RawKey<'a>,
    pub(crate) value: &'a str,
}

/// The key of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawKey<'a> {
    /// With its quotes.
    pub(crate) raw: &'a str,
    pub(super) has_escapes: bool,
}

impl<'a> RawKey<'a> {
    /// What it says. Half of a surrogate pair that stands alone becomes U+FFFD.
    #[inline]
    pub(crate) fn name(&self) -> Cow<'a, str> {
        if self.has_escapes {
            return decode(self.raw).map(|decoded| decoded.text).unwrap_or_default();
        }
        Cow::Borrowed(self.raw.get(1..self.raw.len() - 1).unwrap_or_default())
    }
}

/// A place in a text.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    text: &'a str,
    /// What is ahead.
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    /// At the start of this text.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, rest: text.as_bytes() }
    }

    /// Steps over white space.
    #[inline]
    pub(super) fn space(&mut self) {
        self.rest = after::after_space(self.rest);
    }

    /// The next byte.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// What is ahead, in bytes.
    #[inline]
    pub(super) const fn ahead(&self) -> &'a [u8] {
        self.rest
    }

    /// Steps over these bytes, if they are ahead.
    #[inline]
    pub(super) fn take<const N: usize>(&mut self, bytes: &[u8; N]) -> bool {
        let after = self.rest.strip_prefix(bytes);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// How much was stepped over, in bytes.
    #[inline]
    pub(crate) const fn position(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Opens the object that stands here, behind white space; tells whether it has members.
    #[inline]
    pub(crate) fn open_object(&mut self) -> Step<bool> {
        let (b'{', rest) = after::next(self.rest)? else {
            return None;
        };
        self.rest = after::after_space(rest);
        Some(!self.take(b"}"))
    }

    /// Steps over a member of an object and what follows it; tells whether another one comes.
    #[inline]
    pub(super) fn member(&mut self) -> Step<(RawMember<'a>, bool)> {
        let key = self.key()?;
        let start = self.position();
        self.value()?;
        let value = self.since(start)?;
        Some((RawMember { key, value }, self.end_member()?))
    }

    /// Steps over the key of a member, up to its value.
    #[inline]
    pub(crate) fn key(&mut self) -> Step<RawKey<'a>> {
        let start = self.position();
        let [b'"', rest @ ..] = self.rest else {
            return None;
        };
        let short = after::after_short_string(rest);
        self.rest = match short {
            Ok(after) => after,
            Err(within) => after::after_long_string(within)?,
        };
        let raw = self.since(start)?;
        self.colon()?;
        Some(RawKey { raw, has_escapes: short.is_err() && raw.contains('\\') })
    }

    /// Steps over the colon that follows a key, up to the value.
    #[inline(always)]
    pub(super) fn colon(&mut self) -> Step<()> {
        self.rest = after::after_space(after::after_colon(self.rest)?);
        Some(())
    }

    /// Steps over what follows the value of a member; tells whether another member comes.
    #[inline(always)]
    pub(crate) fn end_member(&mut self) -> Step<bool> {
        let (byte, after) = after::next(self.rest)?;
        self.rest = after;
        match byte {
            b',' => {
                self.space();
                Some(true)
            }
            b'}' => Some(false),
            _ => None,
        }
    }

    /// What was stepped over since this position.
    #[inline]
    pub(crate) fn since(&self, start: usize) -> Step<&'a str> {
        self.text.get(start..self.position())
    }

    /// Steps over one value; its first byte stands here.
    #[inline(always)]
    pub(crate) fn value(&mut self) -> Step<()> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = after::after_value(first, rest)?;
        Some(())
    }
}
