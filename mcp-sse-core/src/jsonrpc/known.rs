//! Members of an object whose grammar was checked before, one at a time.
//!
//! Rules: only for parts of a text that was read as JSON. On any other text they are those before the first mistake. Who
//! does not know where a text comes from uses `object`.

use alloc::borrow::Cow;

use super::id::Id;
use super::text::decode;
use super::walk::{RawMember, Walk};

/// The members of an object; none if it is no object.
pub(crate) struct KnownMembers<'a> {
    walk: Walk<'a>,
    goes_on: bool,
}

impl<'a> KnownMembers<'a> {
    /// The members of this text.
    pub(crate) fn of(text: &'a str) -> Self {
        let mut walk = Walk::new(text);
        let goes_on = walk.open_object().unwrap_or_default();
        Self { walk, goes_on }
    }
}

impl<'a> Iterator for KnownMembers<'a> {
    type Item = RawMember<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if !core::mem::take(&mut self.goes_on) {
            return None;
        }
        let (member, another) = self.walk.member()?;
        self.goes_on = another;
        Some(member)
    }
}

/// What a raw string says; nothing if it is none.
pub(crate) fn known_string(raw: &str) -> Option<Cow<'_, str>> {
    decode(raw).map(|decoded| decoded.text)
}

/// What a raw id is; nothing if it is none.
pub(crate) fn known_id(raw: &str) -> Option<Id> {
    Id::from_checked(raw).ok()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::super::object_members;
    use super::*;

    fn members(text: &str) -> Vec<(&str, &str)> {
        KnownMembers::of(text).map(|member| (member.key.raw, member.value)).collect()
    }

    #[test]
    fn they_are_those_that_a_whole_reading_finds() {
        let values = [
            "1",
            "-0.5e+3",
            "true",
            "null",
            r#""""#,
            r#""a\"b\\""#,
            r#""é\u00e9""#,
            "[]",
            "{}",
            r#"["]","[",[[]],{"a":"}"}]"#,
            r#"{"a":{"b":"{"},"c":["}",{}]}"#,
            "[ 1 , 2 ]",
            r#""{[,:]}""#,
            r#""\\""#,
        ];
        let spaces = ["", " ", "\n\t\r "];
        for value in values {
            for other in values {
                for space in spaces {
                    let s = space;
                    let text = format!(
                        r#"{s}{{{s}"a\"{{"{s}:{s}{value}{s},{s}""{s}:{s}{other}{s},{s}"a\"{{"{s}:{s}1{s}}}{s}"#
                    );
                    assert_eq!(Ok(members(&text)), object_members(&text).map_err(drop), "{text}");
                }
            }
        }
        for empty in ["{}", " { } ", "[]", "1", "\"{\"", ""] {
            assert_eq!(members(empty), [], "{empty}");
        }
    }

    #[test]
    fn any_other_text_ends() {
        let whole = r#"{"a":{"b":["c\\\"",{}]},"é":"\u00e9","d":[1,{"e":null}]}"#;
        for (start, _) in whole.char_indices() {
            for (end, _) in whole.char_indices().filter(|(end, _)| *end >= start) {
                members(&whole[start..end]);
            }
        }
        for odd in ["{\"", "{\"a\\", "{\"a\":", "{\"a\":[", "{\"a\":\"\\é", "{\"a\"}", "{\"a\":]]", "{,,,}"] {
            members(odd);
        }
        let deep: String = "{\"a\":".repeat(10_000);
        members(&deep);
    }
}
