//! Ids: what they are, and when two are equal (E15).

use std::collections::HashSet;

use mcp_sse_core::jsonrpc::{Envelope, Id, Member, Problem, ReadError, read};

fn id(raw: &str) -> Id {
    Id::parse(raw).unwrap_or_else(|| panic!("{raw} is an id"))
}

/// The id a message with this raw id is read to bear.
fn borne(raw: &str) -> Option<Id> {
    match read(&format!(r#"{{"id":{raw},"result":0}}"#)) {
        Ok(Envelope::Result { id, .. }) => id,
        other => panic!("{raw}: {other:?}"),
    }
}

#[test]
fn e15_one_integer_is_one_id_however_it_is_written() {
    let spellings = ["7", "7.0", "7e0", "70e-1", "0.7e1", "7.000", "7E+0", "0.07e2", "700E-2", "7e-0", "0.0000007e7"];
    for spelling in spellings {
        assert_eq!(id(spelling), Id::Integer(7), "{spelling}");
        assert_eq!(borne(spelling), Some(Id::Integer(7)), "{spelling}");
    }
    for zero in ["0", "-0", "0.0", "-0.0e5", "0e99999999999999999999", "0e-400"] {
        assert_eq!(id(zero), Id::Integer(0), "{zero}");
    }
    assert_eq!(id("-7.0"), Id::Integer(-7));
    assert_eq!(id("12e2"), Id::Integer(1200));
}

#[test]
fn e15_ids_beyond_53_bits_are_exact() {
    assert_eq!(id("9007199254740993"), Id::Integer(9_007_199_254_740_993));
    assert_ne!(id("9007199254740993"), id("9007199254740992"));
    assert_eq!(id("9007199254740993.0"), id("9007199254740993"));
    assert_eq!(id("9223372036854775807"), Id::Integer(i64::MAX));
    assert_eq!(id("-9223372036854775808"), Id::Integer(i64::MIN));
    assert_eq!(id("-922337203685477580.8e1"), Id::Integer(i64::MIN));
}

#[test]
fn e15_ids_beyond_64_bits_are_exact() {
    let (large, larger) = (id("18446744073709551616"), id("18446744073709551617"));
    assert_ne!(large, larger);
    assert_eq!(large.to_json(), "18446744073709551616");
    assert!(matches!(&large, Id::Number(number) if number.to_string() == "18446744073709551616"));
    assert_eq!(large, id("18446744073709551616.00"));
    assert_eq!(large, id("1.8446744073709551616e19"));
    assert_eq!(id("9223372036854775808"), Id::from(9_223_372_036_854_775_808_u64));
    assert_eq!(id("-9223372036854775809").to_json(), "-9223372036854775809");
    assert_eq!(id("1e30").to_json(), format!("1{}", "0".repeat(30)));
    assert_eq!(id("1e400").to_json(), format!("1{}", "0".repeat(400)));
}

#[test]
fn huge_exponents_cost_no_memory_and_stay_equal_by_value() {
    assert_eq!(id("1e401").to_json(), "1e401");
    assert_eq!(id("1e999999999999999999").to_json(), "1e999999999999999999");
    assert_eq!(id("10e5000"), id("1e5001"));
    assert_eq!(id("0.01e5003"), id("1E+5001"));
    assert_eq!(id("1e-5000"), id("0.1e-4999"));
    assert_eq!(id("1e-5000").to_json(), "1e-5000");
    assert_ne!(id("1e5001"), id("1e5002"));
    // Not computed with: equal to itself, and to no other spelling.
    let endless = "1e9999999999999999999999999999";
    assert_eq!(id(endless).to_json(), endless);
    assert_ne!(id(endless), id("10e9999999999999999999999999998"));
    // Leading zeros of an exponent are no digits to speak of.
    assert_eq!(id("1e00000000000000000000000000000001"), Id::Integer(10));
}

#[test]
fn fractions_have_one_canonical_text() {
    for spelling in ["1.5", "1.50", "15e-1", "0.15e1", "150E-2"] {
        assert_eq!(id(spelling).to_json(), "1.5", "{spelling}");
    }
    assert_eq!(id("-25e-4").to_json(), "-0.0025");
    assert_eq!(id("0.25").to_json(), "0.25");
    assert_ne!(id("1.5"), id("-1.5"));
    assert_eq!(id(&format!("0.{}1", "0".repeat(400))).to_json(), format!("0.{}1", "0".repeat(400)));
    assert_eq!(id(&format!("0.{}1", "0".repeat(401))).to_json(), "1e-402");
}

#[test]
fn e15_types_are_kept_apart() {
    let (integer, string, null) = (id("7"), id("\"7\""), id("null"));
    assert_ne!(integer, string);
    assert_ne!(null, id("\"null\""));
    assert_eq!(null, Id::Null);
    let all: HashSet<Id> = [integer, string, null, id("7.5"), id("\"\""), id("0")].into();
    assert_eq!(all.len(), 6);
}

#[test]
fn e15_a_null_id_is_not_an_absent_one() {
    let null = read(r#"{"id":null,"result":1}"#).unwrap();
    let absent = read(r#"{"result":1}"#).unwrap();
    assert_eq!((null.id(), absent.id()), (Some(&Id::Null), None));
}

#[test]
fn e15_a_string_spells_an_integer_only_in_plain_digits() {
    for (text, integer) in [
        ("7", "7"),
        ("-7", "-7.0"),
        ("0", "0"),
        ("9007199254740993", "9007199254740993"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("18446744073709551616", "18446744073709551616"),
        ("1000000000000000000000", "1e21"),
    ] {
        let (text, integer) = (Id::from(text), id(integer));
        assert!(text.spells(&integer) && integer.spells(&text), "{text} {integer}");
        assert_ne!(text, integer);
    }
    for text in ["07", "+7", "7.0", " 7", "7 ", "7e0", "0x7", "", "-", "8", "-7", "\u{0667}", "seven"] {
        assert!(!Id::from(text).spells(&Id::from(7)), "{text}");
        assert!(!Id::from(7).spells(&Id::from(text)), "{text}");
    }
    assert!(!Id::from("-0").spells(&Id::from(0)));
    assert!(!Id::from("00").spells(&Id::from(0)));
    assert!(!Id::from("1.5").spells(&id("1.5")), "a fraction is no integer");
    assert!(!Id::from("1e401").spells(&id("1e401")), "nor is this the plain digits of one");
    assert!(!Id::from(7).spells(&Id::from(7)), "equal ones need no spelling");
    assert!(!Id::from("7").spells(&Id::from("7")));
    assert!(!Id::from("null").spells(&Id::Null));
}

#[test]
fn strings_are_read_through_their_escapes_and_written_as_json() {
    assert_eq!(id(r#""\u0061\n\"\\\/\b\f\r\t\ud83d\ude00""#), Id::from("a\n\"\\/\u{8}\u{c}\r\t😀"));
    for text in ["", "a", "\"\\", "\0\u{1f}\u{7f}", "a\r\n\t", "\u{2028}é😀"] {
        let written = Id::from(text).to_json();
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        assert_eq!(id(&written), Id::from(text));
        assert_eq!(written, Id::from(text).to_string());
    }
    assert_eq!(Id::Null.to_json(), "null");
    assert_eq!(Id::from(i64::MIN).to_json(), "-9223372036854775808");
}

#[test]
fn what_is_no_id_is_refused() {
    for raw in ["true", "false", "[]", "{}", "", "7 7", "07", "+7", "nul", "NaN", "'7'", "\u{a0}7", "\"a", "-"] {
        assert_eq!(Id::parse(raw), None, "{raw}");
    }
    assert_eq!(Id::parse(" \t\r\n7 "), Some(Id::from(7)), "JSON white space is none of it");
}

#[test]
fn half_of_a_surrogate_pair_makes_no_id() {
    for raw in [r#""\ud800""#, r#""\udc00""#, r#""\ud800x""#, r#""\ud800\ud800\udc00""#, r#""\udc00\ud800""#] {
        assert_eq!(Id::parse(raw), None, "{raw}");
        let problem = Problem::LoneSurrogate { member: Member::Id, position: 6 };
        assert_eq!(read(&format!(r#"{{"id":{raw},"result":0}}"#)), Err(ReadError::Malformed { id: None, problem }));
    }
}

#[test]
fn conversions_keep_the_type() {
    assert_eq!(Id::from(7_i64), Id::from(7_u64));
    assert_eq!(Id::from(7_i32), Id::from(7_u32));
    assert_eq!(Id::from(u64::MAX).to_json(), u64::MAX.to_string());
    assert_eq!(Id::from(String::from("7")), Id::from("7"));
}

/// RFC 8259 names five short escapes that ids need; other control characters are written as `\u`, all else as it is.
#[test]
fn an_id_is_written_with_the_escapes_of_json_and_no_others() {
    let text = "\"\\\n\r\t\u{0}\u{8}\u{1f} /\u{7f}\u{2028}\u{e9}";
    let written = "\"\\\"\\\\\\n\\r\\t\\u0000\\u0008\\u001f /\u{7f}\u{2028}\u{e9}\"";
    assert_eq!(Id::from(text).to_json(), written);
    assert_eq!(id(written), Id::from(text));
}
