//! The envelope under arbitrary bytes: no panic, and agreement with serde_json's own trees of values.
//!
//! Also the oracles that the tests of the envelope share. They are slow, and share no code with what they judge.

use mcp_sse_core::jsonrpc::{
    Completeness, Envelope, Id, Message, Problem, ReadError, check, check_bytes, read, read_array,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest text the completion oracle is asked about; it tries some dozens of endings, each parsed anew.
const COMPLETION_LIMIT: usize = 1024;

/// Plays one input. Panics if a property does not hold.
pub fn run(data: &[u8]) {
    bytes_agree(data);
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    completeness_agrees(text);
    reading_agrees(text);
    array_agrees(text);
    kept_equals_lent(text);
    if let Some(id) = Id::parse(text) {
        assert_eq!(Id::parse(&id.to_json()), Some(id), "an id survives being written");
    }
}

fn bytes_agree(data: &[u8]) {
    let verdict = check_bytes(data);
    match core::str::from_utf8(data) {
        Ok(text) => assert_eq!(verdict, check(text)),
        Err(error) => match verdict {
            Completeness::Whole => panic!("ill-formed UTF-8 is no whole value"),
            Completeness::Prefix => {
                assert!(error.error_len().is_none(), "only a cut at the end can be mended");
            }
            Completeness::Invalid { position } => assert!(position <= error.valid_up_to()),
            _ => panic!("a verdict the test does not know"),
        },
    }
}

fn completeness_agrees(text: &str) {
    let verdict = check(text);
    assert_eq!(verdict == Completeness::Whole, is_json(text), "whole is what serde_json takes");
    if text.len() <= COMPLETION_LIMIT && verdict != Completeness::Whole {
        assert_eq!(verdict == Completeness::Prefix, can_be_completed(text));
    }
    if let Completeness::Invalid { position } = verdict {
        let before = check_bytes(&text.as_bytes()[..position]);
        assert!(!matches!(before, Completeness::Invalid { .. }), "what stands before is a prefix");
    }
}

fn reading_agrees(text: &str) {
    let read = read(text);
    match (&read, check(text)) {
        (Err(ReadError::Syntax { position, incomplete: true }), Completeness::Prefix) => {
            assert_eq!(*position, text.len())
        }
        (Err(ReadError::Syntax { position, incomplete: false }), Completeness::Invalid { position: same }) => {
            assert_eq!(*position, same)
        }
        (Err(ReadError::Syntax { .. }), verdict) => panic!("told {verdict:?} as a syntax error"),
        (_, verdict) => assert_eq!(verdict, Completeness::Whole),
    }
    if let Err(error) = &read {
        assert!(error.position() <= text.len());
    }
    // Trees know neither of deep nesting nor of halves of surrogate pairs; where there is a tree, the two must agree.
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        agrees_with_value(&read, &value);
    }
}

/// Asserts that a reading and a tree of the same text tell the same. A tree has forgotten duplicates, so about those it
/// says nothing.
pub fn agrees_with_value(read: &Result<Envelope<'_>, ReadError>, value: &Value) {
    let Value::Object(members) = value else {
        assert!(matches!(read, Err(ReadError::NotAnObject { .. })));
        return;
    };
    let (method, result, error) = (members.get("method"), members.get("result"), members.get("error"));
    match read {
        Ok(Envelope::Request { id, method, params, .. }) => {
            assert!(result.is_none() && error.is_none());
            same_id(Some(id), members.get("id"));
            assert_eq!(members["method"], **method);
            same_raw(*params, members.get("params"));
        }
        Ok(Envelope::Notification { method, params, .. }) => {
            assert!(result.is_none() && error.is_none());
            same_id(None, members.get("id"));
            assert_eq!(members["method"], **method);
            same_raw(*params, members.get("params"));
        }
        Ok(Envelope::Result { id, result: raw, .. }) => {
            assert!(method.is_none() && error.is_none());
            same_id(id.as_ref(), members.get("id"));
            same_raw(Some(raw), result);
        }
        Ok(Envelope::Error { id, error: object, .. }) => {
            assert!(method.is_none() && result.is_none());
            same_id(id.as_ref(), members.get("id"));
            let error = error.expect("it was read as an error");
            same_number(object.code, &error["code"]);
            assert_eq!(error["message"], *object.message);
            same_raw(object.data, error.get("data"));
        }
        Err(ReadError::Malformed { problem: Problem::Duplicate { .. }, .. }) => {}
        Err(ReadError::Malformed { problem, .. }) => {
            assert!(is_malformed(value), "told {problem:?} of a well-formed message")
        }
        other => panic!("told {other:?} of an object"),
    }
}

/// What makes an object no message, asked of the tree.
fn is_malformed(value: &Value) -> bool {
    let is_wrong = |name: &str, fits: fn(&Value) -> bool| value.get(name).is_some_and(|member| !fits(member));
    let outcomes = [value.get("result"), value.get("error")].into_iter().flatten().count();
    is_wrong("jsonrpc", Value::is_string)
        || is_wrong("id", |id| id.is_null() || id.is_number() || id.is_string())
        || is_wrong("method", Value::is_string)
        || outcomes + usize::from(value.get("method").is_some()) != 1
        || value.get("error").is_some_and(|error| {
            // Whether a number in floating point is an integer of 64 bits is for the tests of ids.
            error["code"].as_i64().is_none() || !error["message"].is_string()
        })
}

fn same_id(id: Option<&Id>, value: Option<&Value>) {
    match (id, value) {
        (None, None) | (Some(Id::Null), Some(Value::Null)) => {}
        (Some(Id::Integer(id)), Some(value)) => same_number(*id, value),
        (Some(Id::Number(_)), Some(Value::Number(_))) => {}
        (Some(Id::String(id)), Some(Value::String(value))) => assert_eq!(**id, *value),
        (id, value) => panic!("{id:?} is not the id {value:?}"),
    }
}

/// A tree keeps a number with a point or exponent as floating point, which is read to within a unit in the last place.
fn same_number(exact: i64, value: &Value) {
    match value.as_i64() {
        Some(value) => assert_eq!(exact, value),
        None => {
            let (exact, value) = (exact as f64, value.as_f64().expect("a number"));
            assert!((exact - value).abs() <= exact.abs() * 1e-15);
        }
    }
}

fn same_raw(raw: Option<&str>, value: Option<&Value>) {
    match (raw, value) {
        (None, None) => {}
        (Some(raw), Some(value)) => assert_eq!(serde_json::from_str::<Value>(raw).as_ref().ok(), Some(value)),
        (raw, value) => panic!("{raw:?} is not the member {value:?}"),
    }
}

fn array_agrees(text: &str) {
    match (read_array(text), serde_json::from_str::<Vec<Box<RawValue>>>(text)) {
        (Ok(elements), Ok(expected)) => {
            assert!(elements.eq(expected.iter().map(|element| element.get())));
        }
        (Err(error), Err(_)) => assert!(error.position() <= text.len()),
        (ours, theirs) => panic!("{:?} against {:?}", ours.is_ok(), theirs.is_ok()),
    }
}

fn kept_equals_lent(text: &str) {
    let kept = Message::from_text(text.to_owned());
    let envelope = match read(text) {
        Ok(envelope) => envelope,
        Err(error) => {
            let (back, same) = kept.expect_err("read refused it").into_parts();
            assert_eq!((&*back, same), (text, error));
            return;
        }
    };
    let layout = envelope.clone().into_layout(text);
    let joined = Message::with_layout(text.to_owned(), layout.clone()).expect("read took it");
    assert_eq!(Ok(&joined), kept.as_ref());
    same_parts(&envelope, &joined);

    // A layout of another text: whatever comes of it, no panic.
    for other in [format!(" {text}"), "é".repeat(text.len() / 2), "x".repeat(text.len())] {
        if let Ok(message) = Message::with_layout(other, layout.clone()) {
            let _ = (message.method(), message.params(), message.result(), message.error());
        }
    }
}

/// Asserts that a kept message tells what the envelope told.
pub fn same_parts(envelope: &Envelope<'_>, message: &Message) {
    assert_eq!(message.id(), envelope.id());
    let (method, params, result, error) = match envelope {
        Envelope::Request { method, params, .. } | Envelope::Notification { method, params, .. } => {
            (Some(&**method), *params, None, None)
        }
        Envelope::Result { result, .. } => (None, None, Some(*result), None),
        Envelope::Error { error, .. } => (None, None, None, Some(error.clone())),
        _ => panic!("a kind the test does not know"),
    };
    assert_eq!(message.method(), method);
    assert_eq!(message.params(), params);
    assert_eq!(message.result(), result);
    assert_eq!(message.error(), error);
}

/// Whether serde_json takes the text as one value.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether something can be appended that makes the text a JSON value, found by trying.
pub fn can_be_completed(text: &str) -> bool {
    let closing = closing_brackets(text);
    ENDINGS.iter().any(|ending| is_json(&format!("{text}{ending}{closing}")))
}

/// One way out of every place in the grammar, up to where only closing brackets are missing.
#[rustfmt::skip]
const ENDINGS: &[&str] = &[
    // After a value, or in an empty array or object; where a value is due, or within a number.
    "", "0",
    // Where a key or a colon is due.
    "\"\":0", ":0",
    // Within a string: plain, after a backslash, within four digits of an escape.
    "\"", "n\"", "0\"", "00\"", "000\"", "0000\"",
    // The same within a key.
    "\":0", "n\":0", "0\":0", "00\":0", "000\":0", "0000\":0",
    // Within a literal.
    "rue", "ue", "e", "alse", "lse", "se", "ull", "ll", "l",
];

/// What closes the brackets that stand open outside strings.
fn closing_brackets(text: &str) -> String {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' => {
                open.pop();
            }
            _ => {}
        }
    }
    open.iter().rev().collect()
}
