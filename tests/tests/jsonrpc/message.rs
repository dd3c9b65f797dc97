//! Messages that are kept: the same parts as were lent, no second scan, typed reading.

use std::error::Error;

use mcp_sse_core::jsonrpc::{Id, Layout, Member, Message, MessageKind, ReadError, read};
use mcp_sse_tests::fuzz::envelope::same_parts;

const TEXTS: &[&str] = &[
    r#"{"id":1,"method":"ping"}"#,
    r#"{"id":"a","method":"a\/b","params":{"x":[1,2]}}"#,
    r#"{"method":"notifications/cancelled","params":null}"#,
    r#" {"id":18446744073709551616,"result" : { "é": "€" } } "#,
    r#"{"id":null,"error":{"code":-32601,"message":"n\u00f4","data":{"a":1}}}"#,
    r#"{"error":{"code":1,"message":""}}"#,
];

fn layout(text: &str) -> Layout {
    read(text).unwrap().into_layout(text)
}

fn message(text: &str) -> Message {
    Message::from_text(text.to_owned()).unwrap()
}

#[test]
fn a_kept_message_tells_what_was_lent() {
    for text in TEXTS {
        let envelope = read(text).unwrap();
        let joined = Message::with_layout((*text).to_owned(), layout(text)).unwrap();
        same_parts(&envelope, &joined);
        assert_eq!(joined, message(text));
        assert_eq!(joined.as_json(), *text);
        assert_eq!(joined.into_json(), *text);
    }
}

#[test]
fn kinds_and_ids_are_told_by_layout_and_message() {
    use MessageKind::{Error, Notification, Request, Result};
    let kinds = [Request, Request, Notification, Result, Error, Error];
    for (text, kind) in TEXTS.iter().zip(kinds) {
        assert_eq!((layout(text).kind(), message(text).kind()), (kind, kind));
        assert_eq!(layout(text).id(), message(text).id());
    }
    assert_eq!(message(TEXTS[4]).id(), Some(&Id::Null));
    assert_eq!(message(TEXTS[5]).id(), None);
}

#[test]
fn the_text_is_taken_over_and_not_copied() {
    let text = String::from(TEXTS[0]);
    let address = text.as_ptr();
    let layout = layout(&text);
    let message = Message::with_layout(text, layout).unwrap();
    assert_eq!(message.as_json().as_ptr(), address);
    let back = message.into_json();
    assert_eq!(back.as_ptr(), address);
}

#[test]
fn a_layout_of_another_text_makes_the_text_read_anew() {
    for text in TEXTS {
        for other in TEXTS.iter().filter(|other| other.len() != text.len()) {
            assert_eq!(Message::with_layout((*other).to_owned(), layout(text)), Ok(message(other)));
        }
        let rejected = Message::with_layout(format!("{text}x"), layout(text)).unwrap_err();
        assert_eq!(rejected.as_str(), format!("{text}x"));
    }
    // Of the same length, but the places fall within characters.
    let text = r#"{"id":1,"result":7}"#;
    let other = format!("{}é{}", "x".repeat(16), "x");
    assert_eq!(other.len(), text.len());
    assert!(Message::with_layout(other, layout(text)).is_err());
}

#[test]
fn a_layout_made_with_the_wrong_text_is_of_no_use_and_no_harm() {
    let text = String::from(r#"{"id":1,"result":"sesame"}"#);
    let elsewhere = text.clone();
    let astray = read(&text).unwrap().into_layout(&elsewhere);
    assert_eq!(Message::with_layout(text.clone(), astray), Message::from_text(text));
}

#[test]
fn a_rejected_text_comes_back_with_the_reason() {
    let text = String::from(r#"{"id":7,"sesame":1}"#);
    let rejected = Message::from_text(text.clone()).unwrap_err();
    assert_eq!(rejected.error().id(), Some(&Id::from(7)));
    assert!(!format!("{rejected} {rejected:?}").contains("sesame"));
    assert_eq!(rejected.to_string(), rejected.error().to_string());
    let (back, error) = rejected.into_parts();
    assert_eq!(back, text);
    assert!(matches!(error, ReadError::Malformed { .. }));
}

#[test]
fn members_are_read_into_types_that_may_borrow() -> Result<(), Box<dyn Error>> {
    let request = message(r#"{"id":1,"method":"m","params":["a",2]}"#);
    assert_eq!(request.parse_params::<(&str, u8)>()?, ("a", 2));
    let result = message(r#"{"id":1,"result":null}"#);
    assert_eq!(result.parse_result::<Option<u8>>()?, None);
    let error = message(r#"{"error":{"code":1,"message":"","data":{"a":true}}}"#);
    assert_eq!(error.parse_error_data::<serde_json::Value>()?, serde_json::json!({"a": true}));
    Ok(())
}

#[test]
fn an_absent_member_is_told_from_one_that_does_not_fit() {
    let absent = message(r#"{"id":1,"method":"m"}"#).parse_params::<()>().unwrap_err();
    assert!(absent.is_absent());
    assert_eq!((absent.member(), absent.position()), (Member::Params, None));
    assert_eq!(absent.to_string(), "the message has no params");
    assert!(absent.into_cause().is_none());

    let other_kind = message(r#"{"id":1,"method":"m","params":1}"#).parse_result::<u8>().unwrap_err();
    assert!(other_kind.is_absent());
    let no_data = message(r#"{"error":{"code":1,"message":""}}"#).parse_error_data::<u8>().unwrap_err();
    assert_eq!((no_data.is_absent(), no_data.member()), (true, Member::ErrorData));
}

#[test]
fn what_does_not_fit_is_told_with_its_place_in_the_message_and_no_payload() {
    let text = "{\"id\":1,\n\"result\":[1,\n2,\n \"sesame\"]}";
    let error = message(text).parse_result::<Vec<u8>>().unwrap_err();
    let value = text.find("\"sesame\"").unwrap();
    let position = error.position().unwrap();
    assert!((value..value + "\"sesame\"".len()).contains(&position), "{position}");
    assert!(!format!("{error} {error:?}").contains("sesame"));
    assert!(format!("{error:?}").contains(&position.to_string()));
    assert!(error.source().is_none());
    assert_eq!(error.to_string(), format!("result does not fit the type at byte {position}"));
    assert!(error.into_cause().is_some_and(|cause| cause.is_data()));
}

#[test]
fn debug_shows_no_payload() {
    let text = r#"{"id":1,"result":"sesame"}"#;
    for shown in [format!("{:?}", message(text)), format!("{:?}", layout(text))] {
        assert!(!shown.contains("sesame"));
        assert!(shown.contains("Result") && shown.contains("26"), "{shown}");
    }
    let rejected = Message::from_text(r#"{"id":1,"result":"sesame""#.to_owned()).unwrap_err();
    let shown = format!("{rejected:?} {rejected}");
    assert!(!shown.contains("sesame"));
    assert!(shown.contains("RejectedText") && shown.contains("25") && shown.contains("cut"), "{shown}");
}
