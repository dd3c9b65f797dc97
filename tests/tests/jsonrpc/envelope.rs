//! What a message is: the four kinds, what is tolerated in them, and raw members as they came.

use mcp_sse_core::jsonrpc::{Envelope, ErrorObject, Id, Shape, read, shape};

fn result(text: &str) -> (Option<Id>, &str) {
    match read(text) {
        Ok(Envelope::Result { id, result, .. }) => (id, result),
        other => panic!("{text}: {other:?}"),
    }
}

fn error(text: &str) -> (Option<Id>, ErrorObject<'_>) {
    match read(text) {
        Ok(Envelope::Error { id, error, .. }) => (id, error),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_request_has_a_method_and_an_id() {
    let text = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name" : "x"}}"#;
    let Ok(Envelope::Request { id, method, params, .. }) = read(text) else {
        panic!("a request");
    };
    assert_eq!((id, &*method, params), (Id::from("a"), "tools/call", Some(r#"{"name" : "x"}"#)));
}

#[test]
fn a_request_may_have_a_null_id_and_no_params() {
    let Ok(Envelope::Request { id, params, .. }) = read(r#"{"method":"ping","id":null}"#) else {
        panic!("a request");
    };
    assert_eq!((id, params), (Id::Null, None));
}

#[test]
fn a_notification_has_a_method_and_no_id() {
    let text = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[]}"#;
    let Ok(Envelope::Notification { method, params, .. }) = read(text) else {
        panic!("a notification");
    };
    assert_eq!((&*method, params), ("notifications/progress", Some("[]")));
}

#[test]
fn params_of_any_type_are_handed_over() {
    for raw in ["null", "0", "\"\"", "[1]", "{}", "true"] {
        let text = format!(r#"{{"method":"m","params":{raw}}}"#);
        let Ok(Envelope::Notification { params, .. }) = read(&text) else {
            panic!("{text}");
        };
        assert_eq!(params, Some(raw));
    }
}

#[test]
fn a_result_may_be_any_value() {
    for raw in ["null", "false", "0", "-0.0e-0", "\"\"", "[ ]", "{\"a\" :\t1}", r#""\ud800""#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{raw}}}"#);
        assert_eq!(result(&text), (Some(Id::from(1)), raw));
    }
}

#[test]
fn an_error_has_code_message_and_perhaps_data() {
    let (id, object) = error(r#"{"id":1,"error":{"code":-32601,"message":"no \u0022such\u0022","data": null }}"#);
    assert_eq!(id, Some(Id::from(1)));
    assert_eq!((object.code, &*object.message, object.data), (-32601, "no \"such\"", Some("null")));

    let (id, object) = error(r#"{"error":{"message":"","x":[],"code":0}}"#);
    assert_eq!((id, object.code, &*object.message, object.data), (None, 0, "", None));
}

#[test]
fn an_error_code_is_an_integer_however_it_is_written() {
    for (raw, code) in [("-32600.0", -32600), ("-326e2", -32600), ("9223372036854775807", i64::MAX), ("-0", 0)] {
        let text = format!(r#"{{"error":{{"code":{raw},"message":""}}}}"#);
        assert_eq!(error(&text).1.code, code);
    }
}

#[test]
fn an_error_message_that_is_no_text_is_still_told() {
    let (_, object) = error(r#"{"error":{"code":1,"message":"a\ud83dz\ud83d\ude00\ude00"}}"#);
    assert_eq!(object.message, "a\u{fffd}z😀\u{fffd}");
}

#[test]
fn the_version_is_not_insisted_on() {
    for text in
        [r#"{"id":1,"result":2}"#, r#"{"jsonrpc":"1.0","id":1,"result":2}"#, r#"{"jsonrpc":"","id":1,"result":2}"#]
    {
        assert_eq!(result(text), (Some(Id::from(1)), "2"));
    }
}

#[test]
fn unknown_members_are_passed_over_duplicates_included() {
    let text = r#"{"x":{"id":2,"result":3},"id":1,"x":null,"error ":1,"ID":5,"":0,"params":{},"result":2,"é":[[{}]]}"#;
    assert_eq!(result(text), (Some(Id::from(1)), "2"));
}

#[test]
fn an_unknown_key_may_be_no_text_or_long() {
    let long = "\\u0069".repeat(10_000);
    let text = format!(r#"{{"\ud800":1,"\u0069":0,"\u0069d\udc00":0,"{long}":1,"id":1,"result":2}}"#);
    assert!(matches!(
        read(&text),
        Ok(Envelope::Result { id: Some(id), result: "2", .. }) if id == Id::from(1)
    ));
}

#[test]
fn keys_may_be_written_with_escapes() {
    let text = r#"{"\u0069d":1,"\u0072\u0065\u0073\u0075\u006c\u0074":{"\u0061":2}}"#;
    assert_eq!(result(text), (Some(Id::from(1)), r#"{"\u0061":2}"#));

    let text = r#"{"\u006a\u0073\u006f\u006e\u0072\u0070\u0063":"2.0","\u006D\u0065\u0074\u0068\u006F\u0064":"a\/b"}"#;
    let Ok(Envelope::Notification { method, .. }) = read(text) else {
        panic!("a notification");
    };
    assert_eq!(method, "a/b");

    let text = r#"{"\u0065rror":{"\u0063ode":1,"\u006d\u0065\u0073\u0073\u0061\u0067\u0065":"m","\u0064\u0061\u0074\u0061":[]}}"#;
    let (_, object) = error(text);
    assert_eq!((object.code, &*object.message, object.data), (1, "m", Some("[]")));
}

#[test]
fn white_space_around_everything_is_passed_over() {
    let text = " \r\n\t{ \"id\"\t:\n1 ,\r\"result\" : [ 1 , 2 ]\n } \r\n";
    assert_eq!(result(text), (Some(Id::from(1)), "[ 1 , 2 ]"));
}

#[test]
fn raw_members_and_plain_strings_are_lent_from_the_text() {
    let text = r#"{"id":1,"method":"ping","params":{"a":1}}"#;
    let Ok(Envelope::Request { method: std::borrow::Cow::Borrowed(method), params: Some(params), .. }) = read(text)
    else {
        panic!("a request, borrowed");
    };
    let lies_within = |part: &str| text.as_bytes().as_ptr_range().contains(&part.as_ptr());
    assert!(lies_within(method) && lies_within(params));
}

#[test]
fn the_shape_is_told_by_the_first_byte_that_is_no_white_space() {
    for (text, expected) in [
        ("{", Shape::Object),
        (" \t\r\n{}", Shape::Object),
        ("\n[", Shape::Array),
        ("", Shape::Empty),
        (" \r\n", Shape::Empty),
        ("<html>", Shape::Other),
        ("7", Shape::Other),
        ("\u{feff}{}", Shape::Other),
        ("\u{a0}{}", Shape::Other),
        ("\u{b}{}", Shape::Other),
    ] {
        assert_eq!(shape(text), expected, "{text:?}");
    }
}
