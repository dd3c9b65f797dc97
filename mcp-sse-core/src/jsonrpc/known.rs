//! Members of an object whose grammar was checked before: found by quotes and brackets alone, so that nothing is checked
//! twice.
//!
//! Rules: only for parts of a text that was read as JSON. On any other text the members are of no use, never a panic. Who
//! does not know where a text comes from uses `object`.

use alloc::borrow::Cow;

use memchr::{memchr2, memchr3};

use super::grammar::WHITE_SPACE;
use super::text::decode;

/// The members of an object, key and value as raw text; none if it is no object.
pub(crate) struct KnownMembers<'a> {
    /// What follows the last member's comma.
    rest: &'a str,
}

impl<'a> KnownMembers<'a> {
    /// The members of this text.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { rest: skip_space(text).strip_prefix('{').unwrap_or_default() }
    }
}

impl<'a> Iterator for KnownMembers<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = skip_space(core::mem::take(&mut self.rest));
        let (key, rest) = rest.split_at_checked(string_end(rest)?)?;
        let rest = skip_space(skip_space(rest).strip_prefix(':')?);
        let (value, rest) = rest.split_at_checked(value_end(rest)?)?;
        self.rest = skip_space(rest).strip_prefix(',').unwrap_or_default();
        Some((key, value))
    }
}

/// What a raw string says; nothing if it is none.
pub(crate) fn known_string(raw: &str) -> Option<Cow<'_, str>> {
    decode(raw).map(|decoded| decoded.text)
}

fn skip_space(text: &str) -> &str {
    // Most texts have none.
    match text.as_bytes().first() {
        Some(first) if *first <= b' ' => text.trim_start_matches(WHITE_SPACE),
        _ => text,
    }
}

/// Where the string ends that the text begins with, behind its quote.
fn string_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = bytes.starts_with(b"\"").then_some(1)?;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Where the value ends that the text begins with.
fn value_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.first()? {
        b'"' => string_end(text),
        b'{' => nest_end(text, b'{', b'}'),
        b'[' => nest_end(text, b'[', b']'),
        _ => bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']') || *byte <= b' ').or(Some(bytes.len())),
    }
}

/// Where the object or array ends. What nests in it is balanced, so brackets of one kind are enough.
fn nest_end(text: &str, open: u8, close: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (1, 1_usize);
    loop {
        at += memchr3(b'"', open, close, bytes.get(at..)?)?;
        match *bytes.get(at)? {
            b'"' => at += string_end(text.get(at..)?)?,
            bracket => {
                at += 1;
                depth = if bracket == open { depth + 1 } else { depth - 1 };
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::super::object_members;
    use super::*;

    fn members(text: &str) -> Vec<(&str, &str)> {
        KnownMembers::of(text).collect()
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
