//! One object's known members, collected in one pass as raw text.
//!
//! Rules: the first value of each is kept, the first duplicate is noted, members we do not know are skipped. Values are
//! not looked into, and what the members mean together is judged elsewhere.

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::Member;
use super::text::decode;

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
    /// The member a raw key names; escapes in it are read, so `"\u0069d"` is `id`.
    fn member(self, raw_key: &str) -> Option<Member> {
        if raw_key.len() > MAX_KNOWN_KEY {
            return None;
        }
        let key = decode(raw_key)?;
        match (self, &*key.text) {
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
pub(super) struct Members<'a> {
    first: [Option<&'a str>; COUNT],
    duplicate: Option<(Member, &'a str)>,
    has_two_ids: bool,
}

impl<'a> Members<'a> {
    /// Reads one whole object. serde_json says only that the text is none; why and where is told by the grammar.
    pub(super) fn collect(text: &'a str, level: Level) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let members = deserializer.deserialize_map(Collector { level, borrowed: PhantomData })?;
        deserializer.end()?;
        Ok(members)
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

struct Collector<'a> {
    level: Level,
    borrowed: PhantomData<&'a str>,
}

impl<'a> Visitor<'a> for Collector<'a> {
    type Value = Members<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Members { first: [None; COUNT], duplicate: None, has_two_ids: false };
        // Keys are taken raw: an unknown one may hold half of a surrogate pair, which no `str` can.
        while let Some(key) = map.next_key::<&RawValue>()? {
            match self.level.member(key.get()) {
                Some(member) => members.keep(member, map.next_value::<&RawValue>()?.get()),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(members)
    }
}
