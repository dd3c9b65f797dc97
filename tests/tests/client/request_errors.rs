//! Messages that cannot be sent: each is the caller's mistake, told with its position, and begins nothing.

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallError, CallOptions, Client, ClientConfig, Endpoint, RequestError};
use mcp_sse_core::exchange::Exposure;
use mcp_sse_tests::loop_driver::{ENDPOINT, LoopDriver};

fn client() -> Client {
    Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), ClientConfig::default())
}

fn refused(method: &str, params: Option<&str>) -> RequestError {
    let mut client = client();
    let now = Timestamp::ZERO;
    let error = client.call(method, params, CallOptions::default(), now).expect_err("a mistake");
    assert_eq!(client.notify(method, params, CallOptions::default(), now).err(), Some(error));
    assert!(client.poll_step(now).is_none() && client.poll_timeout().is_none(), "nothing was begun");
    error
}

#[test]
fn what_is_not_json_is_told_with_its_position() {
    for (params, position) in [
        ("", 0),
        ("  ", 2),
        ("{", 1),
        (r#"{"a":"#, 5),
        (r#"{"a":1"#, 6),
        (r#"{"a":1,}"#, 7),
        (r#"{"a":01}"#, 6),
        (r#"{"a":1}x"#, 7),
        (r#"{"a":1} {"#, 8),
        ("{'a':1}", 1),
        ("{a:1}", 1),
        ("{\"a\":\"\n\"}", 6),
        (r#"{"a":"\x"}"#, 7),
        ("{\"a\":\"é\",}", 10),
        ("\u{feff}{}", 0),
        ("nope", 1),
        ("undefined", 0),
        (r#"{"a":NaN}"#, 5),
        (r#"{"_meta":{"a":tru}}"#, 17),
        ("[1,", 3),
        ("\"a", 2),
    ] {
        assert_eq!(refused("tools/list", Some(params)), RequestError::InvalidJson { position }, "{params:?}");
    }
}

#[test]
fn what_is_json_but_no_object_is_told() {
    for params in ["[]", "[{\"a\":1}]", "null", "true", "7", "-1e9", "\"{}\"", " [ ] "] {
        assert_eq!(refused("tools/list", Some(params)), RequestError::NotAnObject, "{params:?}");
    }
}

#[test]
fn meta_must_be_an_object() {
    for meta in ["[]", "null", "7", "\"{}\"", "true"] {
        let params = format!(r#"{{"a":1,"_meta":{meta}}}"#);
        assert_eq!(refused("tools/list", Some(&params)), RequestError::MetaNotAnObject, "{meta}");
        let params = format!(r#"{{"\u005fmeta":{meta}}}"#);
        assert_eq!(refused("tools/list", Some(&params)), RequestError::MetaNotAnObject, "{meta}");
    }
}

#[test]
fn a_method_must_be_a_header_value() {
    for method in ["", " ", "a\nb", "a\r\nEvil: 1", " tools/list", "tools/list ", "\ttools/list", "é", "a\0", "\u{7f}"]
    {
        assert_eq!(refused(method, None), RequestError::Method, "{method:?}");
        assert_eq!(refused(method, Some("{}")), RequestError::Method);
    }
}

#[test]
fn mistakes_use_up_no_id_and_no_call() {
    let mut driver = LoopDriver::new(ClientConfig::default());
    let now = driver.time();
    for params in ["", "[]", r#"{"_meta":1}"#] {
        driver.client.call("tools/list", Some(params), CallOptions::default(), now).expect_err("a mistake");
    }
    driver.call("tools/list", None, CallOptions::default());
    driver.carry_out();
    assert_eq!(driver.ids(), [mcp_sse_core::jsonrpc::Id::from(1)]);
    assert!(driver.done.is_empty());
}

#[test]
fn messages_for_people_show_no_payload() {
    let secret = r#"{"password":"hush",}"#;
    let error = refused("tools/list", Some(secret));
    assert_eq!(error.to_string(), "the parameters are not JSON at byte 19");
    for error in [error, RequestError::NotAnObject, RequestError::MetaNotAnObject, RequestError::Method] {
        assert!(!format!("{error} {error:?}").contains("hush"));
        let error = CallError::from(error);
        assert!(!error.may_have_run() && error.attempts() == 0 && error.exposure() == Exposure::Unsent);
        assert_eq!((error.kind(), error.status(), error.retry_after()), ("misuse", None, None));
        assert!(error.to_string().starts_with("the message cannot be sent: "), "{error}");
    }
}
