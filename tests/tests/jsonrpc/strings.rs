//! Strings of every length, with every kind of byte at every place: they are looked at several bytes at a time, and what
//! ends one may stand anywhere in those, or behind the text's own end.

use mcp_sse_core::jsonrpc::{Completeness, check, object_members, read};
use mcp_sse_tests::fuzz::envelope::{is_json, run};

/// Longer than all that is looked at together.
const LENGTH: usize = 83;

/// What stands for itself, what does not, and what is near to either.
const PIECES: &[&str] = &[
    "\"", "\\", "\\\"", "\\\\", "\\/", "\\n", "\\u", "\\u00e", "\\u00e9", "\\u00eg", "\\ud83d", "\\x", "\\\u{0}",
    "\u{0}", "\u{1}", "\n", "\u{1e}", "\u{1f}", " ", "!", "#", "[", "]", "\u{7f}", "é", "€", "😀", "\u{80}", "\u{a0}",
    "\u{2dc}",
];

/// Asserts that a text is judged as serde_json judges it.
fn agrees(text: &str) {
    assert_eq!(check(text) == Completeness::Whole, is_json(text), "{text:?}");
}

#[test]
fn a_piece_at_any_place_is_judged_alike() {
    for piece in PIECES {
        for before in 0..LENGTH {
            for after in [0, 1, 7, 8, 40] {
                let string = format!("\"{}{piece}{}\"", "a".repeat(before), "é".repeat(after));
                agrees(&string);
                agrees(&format!("[{string},1]"));
                agrees(&format!("{{{string}:{string}}}"));
                agrees(&string[..string.len() - 1]);
            }
        }
    }
}

#[test]
fn a_string_ends_at_its_quote_wherever_that_is() {
    for length in 0..LENGTH {
        let (key, value) = ("k".repeat(length), "v".repeat(LENGTH - length));
        let text = format!("{{\"{key}\":\"{value}\",\"{value}\":\"\\\"{key}\"}}");
        let members = object_members(&text).unwrap();
        assert_eq!(members[0], (&*format!("\"{key}\""), &*format!("\"{value}\"")));
        assert_eq!(members[1], (&*format!("\"{value}\""), &*format!("\"\\\"{key}\"")));
    }
}

#[test]
fn all_control_characters_are_refused_and_no_others() {
    for character in ('\0'..='\u{2ff}').filter(|character| !matches!(character, '"' | '\\')) {
        for before in [0, 3, 8, 13, 16, 31, 32, 47, 60] {
            let text = format!("{{\"id\":1,\"result\":\"{}{character}\"}}", "a".repeat(before));
            assert_eq!(read(&text).is_ok(), character >= ' ', "{text:?}");
            agrees(&text);
        }
    }
}

/// Keys of the envelope are known as they are mostly written, and in every other writing.
#[test]
fn keys_are_known_in_every_writing() {
    for name in ["jsonrpc", "id", "method", "params", "result", "error"] {
        let value = if name == "error" { r#"{"code":1,"message":"m"}"# } else { "\"1\"" };
        for at in 0..name.len() {
            let escaped = format!("{}\\u{:04x}{}", &name[..at], name.as_bytes()[at], &name[at + 1..]);
            let shorter = format!("{}{}", &name[..at], &name[at + 1..]);
            for key in [name, &escaped, &shorter, &format!("{name}{name}"), &format!("{name}\\u0020")] {
                for space in ["", " ", "\n\t"] {
                    let text = format!("{{{space}\"x\":1,{space}\"{key}\"{space}:{space}{value}{space},\"{key}\":0}}");
                    run(text.as_bytes());
                }
            }
        }
    }
}
