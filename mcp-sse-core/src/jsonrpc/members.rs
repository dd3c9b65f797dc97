//! One object's known members, collected in one pass as raw text.
//!
//! Rules: the first value of each is kept, the first duplicate is noted, members we do not know are skipped. Values are
//! not looked into, and what the members mean together is judged elsewhere.

use super::error::Member;
use super::walk::{RawKey, Walk};

/// The longest known name, `jsonrpc` or `message`, with each letter written as an escape of six bytes, and the quotes.
const MAX_KNOWN_KEY: usize = 7 * 6 + 2;

const COUNT: usize = 9;

/// Which names are known: those of the envelope, or those of its error object.
#[derive(Clone, Copy)]
pub(super) enum Level {
    Envelope,
    Error,
}

impl Level {
    /// Steps over a known key, up to its value, if one stands here as it is mostly written: told by two bytes.
    #[inline(always)]
    fn plain_key(self, walk: &mut Walk<'_>) -> Option<Member> {
        let [b'"', letter, ..] = walk.ahead() else {
            return None;
        };
        Some(match (self, letter) {
            (Self::Envelope, b'j') if walk.take(b"\"jsonrpc\"") => Member::Jsonrpc,
            (Self::Envelope, b'i') if walk.take(b"\"id\"") => Member::Id,
            (Self::Envelope, b'm') if walk.take(b"\"method\"") => Member::Method,
            (Self::Envelope, b'p') if walk.take(b"\"params\"") => Member::Params,
            (Self::Envelope, b'r') if walk.take(b"\"result\"") => Member::Result,
            (Self::Envelope, b'e') if walk.take(b"\"error\"") => Member::Error,
            (Self::Error, b'c') if walk.take(b"\"code\"") => Member::ErrorCode,
            (Self::Error, b'm') if walk.take(b"\"message\"") => Member::ErrorMessage,
            (Self::Error, b'd') if walk.take(b"\"data\"") => Member::ErrorData,
            _ => return None,
        })
    }

    /// The member that any other key names: escapes in it are read, so `"\u0069d"` is `id`.
    fn escaped_key(self, key: RawKey<'_>) -> Option<Member> {
        if !key.has_escapes || key.raw.len() > MAX_KNOWN_KEY {
            return None;
        }
        match (self, &*key.name()) {
            (Self::Envelope, "jsonrpc") => Some(Member::Jsonrpc),
            (Self::Envelope, "id") => Some(Member::Id),
            (Self::Envelope, "method") => Some(Member::Method),
            (Self::Envelope, "params") => Some(Member::Params),
            (Self::Envelope, "result") => Some(Member::Result),
            (Self::Envelope, "error") => Some(Member::Error),
            (Self::Error, "code") => Some(Member::ErrorCode),
            (Self::Error, "message") => Some(Member::ErrorMessage),
            (Self::Error, "data") => Some(Member::ErrorData),
            _ => None,
        }
    }
}

/// What was collected. Every slice lies in the text that was read.
#[derive(Default)]
pub(super) struct Members<'a> {
    first: [Option<&'a str>; COUNT],
    duplicate: Option<(Member, &'a str)>,
    has_two_ids: bool,
}

impl<'a> Members<'a> {
    /// Reads one whole object; nothing if the text is none. Why and where is told by the grammar.
    ///
    /// `params` steps over the value of that member.
    pub(super) fn collect(
        &mut self,
        text: &'a str,
        level: Level,
        mut params: impl FnMut(&mut Walk<'a>) -> Option<()>,
    ) -> Option<()> {
        let mut walk = Walk::new(text);
        let mut goes_on = walk.open_object()?;
        while goes_on {
            let known = match level.plain_key(&mut walk) {
                Some(known) => {
                    walk.colon()?;
                    Some(known)
                }
                None => level.escaped_key(walk.key()?),
            };
            let start = walk.position();
            match known {
                Some(Member::Params) => params(&mut walk)?,
                _ => walk.value()?,
            }
            if let Some(known) = known {
                self.keep(known, walk.since(start)?);
            }
            goes_on = walk.end_member()?;
        }
        walk.space();
        walk.ahead().is_empty().then_some(())
    }

    /// The first value of a member.
    pub(super) fn get(&self, member: Member) -> Option<&'a str> {
        self.first.get(member as usize).copied().flatten()
    }

    /// The first member that came a second time, and that second value.
    pub(super) const fn duplicate(&self) -> Option<(Member, &'a str)> {
        self.duplicate
    }

    /// Whether `id` came more than once, so that the message has no id to speak of.
    pub(super) const fn has_two_ids(&self) -> bool {
        self.has_two_ids
    }

    fn keep(&mut self, member: Member, value: &'a str) {
        match self.first.get_mut(member as usize) {
            Some(first @ None) => *first = Some(value),
            _ => {
                self.has_two_ids |= member == Member::Id;
                self.duplicate.get_or_insert((member, value));
            }
        }
    }
}
