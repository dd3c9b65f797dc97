//! Whole, cut or broken: exact at every byte (E9 and E10 rest on it).

use mcp_sse_core::jsonrpc::{Completeness, check, check_bytes};
use mcp_sse_tests::fuzz::envelope::{can_be_completed, is_json};

const TEXTS: &[&str] = &[
    "0",
    "-0",
    "123",
    "-12.50e+17",
    "0.5E-3",
    "1e5",
    "true",
    "false",
    "null",
    r#""""#,
    r#""plain""#,
    r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\uDE00\ud800""#,
    "\"é€😀\u{7f}\u{2028}\"",
    "[]",
    "{}",
    "[ ]",
    "{ }",
    "[1,2 , -3.0e1]",
    r#"[[],{},[[{}]],"]"]"#,
    r#"{"a":1,"b":[true,false,null],"":{"c":"}"}}"#,
    "\r\n\t {\"a\" : \"b\" ,\n\"c\":\t-1}\r\n",
    r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"h\u00e9 é 😀"}],"isError":false}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":[0.1,1e9]}}"#,
    r#"{"\u0069d":1,"é":{"k\"ey":[[[0]]]}}"#,
];

#[test]
fn a_value_with_white_space_around_it_is_whole() {
    for text in TEXTS {
        assert_eq!(check(text), Completeness::Whole, "{text}");
        assert_eq!(check(&format!(" \t\r\n{text} \t\r\n")), Completeness::Whole, "{text}");
        assert!(is_json(text), "{text}");
    }
}

#[test]
fn e9_every_cut_of_a_value_is_a_prefix_of_it() {
    for text in TEXTS {
        for cut in 0..text.len() {
            let begun = &text.as_bytes()[..cut];
            let is_value = core::str::from_utf8(begun).is_ok_and(is_json);
            let expected = if is_value { Completeness::Whole } else { Completeness::Prefix };
            assert_eq!(check_bytes(begun), expected, "{text} cut at {cut}");
            // Only a bare number, or the white space after a value, leaves something whole behind.
            assert!(!is_value || !text.trim().starts_with(['{', '[', '"']) || text[cut..].trim().is_empty());
        }
    }
}

#[test]
fn e10_a_bad_byte_is_told_at_its_place_or_before() {
    for text in TEXTS {
        for at in 0..text.len() {
            for bad in [0x00, 0x01, 0x1f, 0x80, 0xbf, 0xc0, 0xc1, 0xf5, 0xff] {
                let mut spoilt = text.as_bytes().to_vec();
                spoilt[at] = bad;
                match check_bytes(&spoilt) {
                    Completeness::Invalid { position } => {
                        assert!(position <= at, "{text} spoilt at {at}")
                    }
                    // In place of another continuation byte, these make another character.
                    verdict => assert!(
                        core::str::from_utf8(&spoilt).is_ok() && matches!(bad, 0x80 | 0xbf),
                        "{text} spoilt at {at} by {bad:#x}: {verdict:?}"
                    ),
                }
            }
        }
    }
}

#[test]
fn e10_the_position_is_the_first_byte_that_cannot_stand_there() {
    for text in TEXTS {
        for at in 0..=text.len() {
            for bad in ["x", "\"", "\\", "]", "}", ":", ",", "-", "0", ".", "e", "+", "{", "\n", "/", "'", "é"] {
                let Some((head, tail)) = text.split_at_checked(at) else {
                    continue;
                };
                let spoilt = format!("{head}{bad}{tail}");
                let Completeness::Invalid { position } = check(&spoilt) else {
                    continue;
                };
                let before = &spoilt[..position];
                assert!(is_json(before) || can_be_completed(before), "{spoilt} at {position}");
                let through: String = spoilt[position..].chars().take(1).collect();
                assert!(!can_be_completed(&format!("{before}{through}")), "{spoilt} at {position}");
            }
        }
    }
}

#[test]
fn numbers_literals_and_escapes_are_cut_exactly() {
    for text in [
        "",
        " \n",
        "-",
        "1.",
        "-0.",
        "1e",
        "1E",
        "1e+",
        "1e-",
        "t",
        "tru",
        "fals",
        "nul",
        "\"",
        "\"\\",
        "\"\\u",
        "\"\\u0",
        "\"\\u00",
        "\"\\u00a",
        "\"\\u00aF",
        "[",
        "[1",
        "[1,",
        "[-",
        "{",
        "{\"",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":-",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1.",
        "{\"a\":1e+",
        "{\"\\u",
        "[[[",
        "[{},",
    ] {
        assert_eq!(check(text), Completeness::Prefix, "{text}");
    }
}

#[test]
fn what_nothing_can_mend_is_invalid() {
    for (text, position) in [
        ("-x", 1),
        ("-]", 1),
        ("--", 1),
        ("+1", 0),
        (".5", 0),
        ("01", 1),
        ("-01", 2),
        ("00", 1),
        ("1.x", 2),
        ("1.e", 2),
        ("1..", 2),
        ("1e.", 2),
        ("1e+-", 3),
        ("1e5.", 3),
        ("1e5e", 3),
        ("0x", 1),
        ("1 2", 2),
        ("tx", 1),
        ("True", 0),
        ("truex", 4),
        ("nulll", 4),
        ("NaN", 0),
        ("\"\\x", 2),
        ("\"\\u00g", 5),
        ("\"\\u\"", 3),
        ("\"\\uD8\"", 5),
        ("\"\u{1f}\"", 1),
        ("\"a\nb\"", 2),
        ("[,", 1),
        ("[1,]", 3),
        ("[1 1", 3),
        ("[}", 1),
        ("{]", 1),
        ("{,", 1),
        ("{1", 1),
        ("{\"a\",", 4),
        ("{\"a\"}", 4),
        ("{\"a\":}", 5),
        ("{\"a\":1,}", 7),
        ("{\"a\":1]", 6),
        ("{\"a\" 1", 5),
        ("{}}", 2),
        ("[]]", 2),
        ("]", 0),
        ("\"a\"\"", 3),
        ("\u{feff}{}", 0),
        ("\u{a0}1", 0),
        ("1\u{b}", 1),
        ("[1]\u{0}", 3),
        ("// no", 0),
        ("é", 0),
    ] {
        assert_eq!(check(text), Completeness::Invalid { position }, "{text:?}");
        assert!(!can_be_completed(text), "{text:?}");
    }
}

#[test]
fn a_cut_character_is_a_cut_only_within_a_string() {
    for (bytes, expected) in [
        (&b"\"\xf0\x9f\x98"[..], Completeness::Prefix),
        (b"{\"\xc3", Completeness::Prefix),
        (b"\xc3", Completeness::Invalid { position: 0 }),
        (b"[1 \xe2\x82", Completeness::Invalid { position: 3 }),
        (b"{}\xe2", Completeness::Invalid { position: 2 }),
        (b"\"\\\xc3", Completeness::Invalid { position: 2 }),
        (b"\"\\u00\xc3", Completeness::Invalid { position: 5 }),
        (b"\"a\" x\xc3", Completeness::Invalid { position: 4 }),
        // Cut, then more: ill-formed.
        (b"\"\xe2\x82\"", Completeness::Invalid { position: 1 }),
        (b"\"\xed\xa0\x80\"", Completeness::Invalid { position: 1 }),
        (b"\"\xf5", Completeness::Invalid { position: 1 }),
        // A surrogate half written in UTF-8 is not taken for a cut.
        (b"\"\xed\xa0", Completeness::Invalid { position: 1 }),
    ] {
        assert_eq!(check_bytes(bytes), expected, "{bytes:x?}");
    }
}

/// Every string over a small alphabet, against serde_json and the search for a completion.
#[test]
fn e10_short_texts_are_judged_exactly() {
    const ALPHABET: &[char] = &['{', '}', '[', ']', '"', ':', ',', '0', '1', '-', '.', 'e', '\\', 'u', 't', ' '];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        let longer: Vec<String> =
            texts.iter().flat_map(|text| ALPHABET.iter().map(move |character| format!("{text}{character}"))).collect();
        for text in &longer {
            let expected = match (is_json(text), can_be_completed(text)) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            let told = match check(text) {
                Completeness::Whole => 0,
                Completeness::Prefix => 1,
                _ => 2,
            };
            assert_eq!(told, expected, "{text:?}");
        }
        // What nothing can mend needs no growing.
        texts = longer.into_iter().filter(|text| !matches!(check(text), Completeness::Invalid { .. })).collect();
    }
    assert!(texts.len() > 100);
}

/// E10: what cannot stand in a string is found at every place of one that is long, and what ends it ends it there.
#[test]
fn e10_a_long_string_is_looked_at_byte_by_byte() {
    let plain = format!("\"{}\"", "a~\u{7f} é".repeat(30));
    assert_eq!(check(&plain), Completeness::Whole);
    for (at, replaced) in plain.char_indices().filter(|(at, _)| (1..plain.len() - 1).contains(at)) {
        let with = |text: &str| format!("{}{text}{}", &plain[..at], &plain[at + replaced.len_utf8()..]);
        for control in '\0'..' ' {
            let text = with(&control.to_string());
            assert_eq!(check(&text), Completeness::Invalid { position: at }, "{control:?}");
        }
        for (text, is_whole) in
            [(" ", true), ("!", true), ("#", true), ("[", true), ("]", true), ("\\n", true), ("\"", false)]
        {
            assert_eq!(check(&with(text)) == Completeness::Whole, is_whole, "{text} at {at}");
        }
        assert_ne!(check(&with("\\")), Completeness::Whole, "a backslash at {at}");
    }
}
