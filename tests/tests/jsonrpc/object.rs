//! The raw members of any object, and raw strings: what parameters are looked through with.

use mcp_sse_core::jsonrpc::{ReadError, object_members, string};

#[test]
fn members_come_raw_in_order_duplicates_too() {
    let text = " {\"b\" : [1, 2] ,\"\\u0061\":{\"c\":null}\n,\"b\":\"\\ud800\",\"\\ud800\":-0} ";
    let expected =
        [("\"b\"", "[1, 2]"), ("\"\\u0061\"", "{\"c\":null}"), ("\"b\"", "\"\\ud800\""), ("\"\\ud800\"", "-0")];
    assert_eq!(object_members(text).unwrap(), expected);
    assert_eq!(object_members("{ }").unwrap(), []);
}

#[test]
fn what_is_no_object_is_told_with_its_place() {
    for (text, position) in [(" [1]", 1), ("null", 0), ("\"{}\"", 0)] {
        assert_eq!(object_members(text), Err(ReadError::NotAnObject { position }));
    }
    for (text, position, incomplete) in
        [("", 0, true), ("{\"a\":-", 6, true), ("{\"a\":-}", 6, false), ("{} x", 3, false)]
    {
        assert_eq!(object_members(text), Err(ReadError::Syntax { position, incomplete }));
    }
}

#[test]
fn a_million_levels_are_handed_over() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let text = format!("{{\"a\":{deep}}}");
    assert!(object_members(&text).unwrap() == [("\"a\"", &*deep)]);
}

#[test]
fn strings_lose_quotes_and_escapes_and_others_are_none() {
    assert_eq!(string(" \"a\\u00e9\\n\\\"\" ").as_deref(), Some("a\u{e9}\n\""));
    assert_eq!(string("\"\\ud800x\"").as_deref(), Some("\u{fffd}x"));
    for raw in ["7", "null", "[\"a\"]", "\"a", "\"a\" \"b\"", "\"\\x\"", "", "\u{a0}\"a\""] {
        assert_eq!(string(raw), None, "{raw}");
    }
}
