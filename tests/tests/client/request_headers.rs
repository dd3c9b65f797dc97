//! What a request's headers say: the metadata of each revision (2026-07-28, Streamable HTTP, "Request
//! Metadata"), what is accepted (F16), and the caller's own.

use mcp_sse_core::client::{CallOptions, ClientConfig, ConfigError, Endpoint, HttpRequest};
use mcp_sse_core::http::{ProtocolVersion, decode_value, is_field_value, is_token};
use mcp_sse_tests::loop_driver::{LoopDriver, first_request, header};

fn request(version: ProtocolVersion, method: &str, params: Option<&str>) -> HttpRequest {
    let config = ClientConfig::default().with_version(version).with_handshake(false);
    first_request(config, method, params).expect("a message that can be sent")
}

fn modern(method: &str, params: &str) -> HttpRequest {
    request(ProtocolVersion::V2026_07_28, method, Some(params))
}

fn pairs(request: &HttpRequest) -> Vec<(&str, &str)> {
    request.headers.iter().map(|(name, value)| (&**name, &**value)).collect()
}

const ACCEPT: (&str, &str) = ("Accept", "application/json, text/event-stream");
const CONTENT_TYPE: (&str, &str) = ("Content-Type", "application/json");
const CODINGS: (&str, &str) = ("Accept-Encoding", "gzip, deflate");

/// Those that post to the URL itself.
const REVISIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

#[test]
fn tools_call_in_full() {
    let request = modern("tools/call", r#"{"name":"get_weather","arguments":{"location":"Seattle, WA"}}"#);
    assert_eq!(
        pairs(&request),
        [
            CONTENT_TYPE,
            ACCEPT,
            CODINGS,
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "get_weather"),
        ]
    );
    assert_eq!((request.method, request.endpoint.as_str()), ("POST", "http://mcp.test/mcp"));
}

#[test]
fn the_name_header_mirrors_name_or_uri_of_three_methods() {
    let params = r#"{"name":"n","uri":"u","other":"o"}"#;
    for (method, name) in [
        ("tools/call", Some("n")),
        ("prompts/get", Some("n")),
        ("resources/read", Some("u")),
        ("tools/list", None),
        ("resources/subscribe", None),
        ("tools/call/x", None),
        ("Tools/Call", None),
    ] {
        let request = modern(method, params);
        assert_eq!(header(&request, "Mcp-Method"), Some(method));
        assert_eq!(header(&request, "Mcp-Name"), name, "{method}");
    }
    assert_eq!(header(&request(ProtocolVersion::V2026_07_28, "tools/list", None), "Mcp-Name"), None);
}

#[test]
fn a_missing_name_and_one_that_is_no_text_have_no_header() {
    for params in ["{}", r#"{"name":7}"#, r#"{"name":null}"#, r#"{"name":["a"]}"#, r#"{"arguments":{"name":"a"}}"#] {
        assert_eq!(header(&modern("tools/call", params), "Mcp-Name"), None, "{params}");
    }
}

#[test]
fn names_that_are_no_header_values_are_coded() {
    // "Value Encoding", with the examples of the specification.
    for (name, value) in [
        (r#""us-west1""#, "us-west1"),
        (r#""us west 1""#, "us west 1"),
        ("\"Hello, 世界\"", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (r#""Hello, \u4e16\u754c""#, "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (r#"" padded ""#, "=?base64?IHBhZGRlZCA=?="),
        (r#""line1\nline2""#, "=?base64?bGluZTEKbGluZTI=?="),
        (r#""=?base64?literal?=""#, "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        (r#""=?base64?open""#, "=?base64?open"),
        (r#""=?BASE64?x?=""#, "=?BASE64?x?="),
        (r#""file:\/\/\/a b""#, "file:///a b"),
        (r#""a\tb""#, "a\tb"),
        (r#""\ta""#, "=?base64?CWE=?="),
        (r#""a\u0000b""#, "=?base64?YQBi?="),
        (r#""a\r\nEvil: 1""#, "=?base64?YQ0KRXZpbDogMQ==?="),
        (r#""\u007f""#, "=?base64?fw==?="),
        (r#""\ud83d\ude00""#, "=?base64?8J+YgA==?="),
        (r#""""#, ""),
    ] {
        for (method, key) in [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")] {
            let request = modern(method, &format!(r#"{{"{key}":{name}}}"#));
            assert_eq!(header(&request, "Mcp-Name"), Some(value), "{name}");
            let text: String = serde_json::from_str(name).expect("a string");
            assert_eq!(decode_value(value).as_deref(), Ok(text.as_str()), "a server reads the name back");
        }
    }
}

#[test]
fn the_name_is_found_under_an_escaped_key() {
    assert_eq!(header(&modern("tools/call", r#"{"\u006eame":"a"}"#), "Mcp-Name"), Some("a"));
    assert_eq!(header(&modern("resources/read", r#"{"\u0075\u0072\u0069":"b"}"#), "Mcp-Name"), Some("b"));
    assert_eq!(header(&modern("tools/call", r#"{"Name":"a","name ":"b"}"#), "Mcp-Name"), None);
}

#[test]
fn of_two_names_the_last_counts_as_it_does_for_readers_of_json() {
    let request = modern("tools/call", r#"{"name":"a","\u006eame":"b"}"#);
    assert_eq!(header(&request, "Mcp-Name"), Some("b"));
    let read: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(read["params"]["name"], "b");
    // A last one that is no text leaves none.
    assert_eq!(header(&modern("tools/call", r#"{"name":"a","name":1}"#), "Mcp-Name"), None);
}

#[test]
fn the_version_header_equals_the_body() {
    // T126.
    for version in ["2026-07-28", "2026-12-01", "2030-02-28"] {
        let request = request(version.parse().expect("a date"), "tools/list", None);
        assert_eq!(header(&request, "MCP-Protocol-Version"), Some(version));
        let read: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(read["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], version);
    }
}

#[test]
fn legacy_revisions_have_no_metadata_headers() {
    for version in REVISIONS.into_iter().filter(|version| *version < ProtocolVersion::V2026_07_28) {
        let request = request(version, "tools/call", Some(r#"{"name":"a"}"#));
        assert_eq!(header(&request, "Mcp-Method"), None);
        assert_eq!(header(&request, "Mcp-Name"), None);
        let expected = (version >= ProtocolVersion::V2025_06_18).then_some(version.as_str());
        assert_eq!(header(&request, "MCP-Protocol-Version"), expected, "the header came with 2025-06-18");
        assert_eq!(header(&request, "Accept"), Some(ACCEPT.1));
        assert_eq!(header(&request, "Content-Type"), Some(CONTENT_TYPE.1));
    }
}

#[test]
fn a_legacy_initialize_carries_no_version_header() {
    // T18: it negotiates what the header would say. Since 2026-07-28 every POST carries it.
    for version in REVISIONS {
        let request = request(version, "initialize", Some(r#"{"protocolVersion":"2025-11-25"}"#));
        let expected = (version >= ProtocolVersion::V2026_07_28).then_some(version.as_str());
        assert_eq!(header(&request, "MCP-Protocol-Version"), expected);
    }
}

#[test]
fn notifications_carry_the_same_headers() {
    for version in REVISIONS {
        let mut driver = LoopDriver::new(ClientConfig::default().with_version(version).with_handshake(false));
        driver.notify("notifications/initialized", None, CallOptions::default());
        driver.carry_out();
        let post = &driver.posts[0];
        let expected = (version >= ProtocolVersion::V2025_06_18).then_some(version.as_str());
        assert_eq!(post.header("MCP-Protocol-Version"), expected);
        let is_modern = version == ProtocolVersion::V2026_07_28;
        assert_eq!(post.header("Mcp-Method"), is_modern.then_some("notifications/initialized"));
        assert_eq!(post.header("Accept"), Some(ACCEPT.1));
    }
}

#[test]
fn f16_only_what_can_be_inflated_is_offered() {
    for version in REVISIONS {
        let request = request(version, "tools/list", None);
        let offered = header(&request, "Accept-Encoding").expect("a header");
        let codings: Vec<_> = offered.split(',').map(str::trim).collect();
        assert_eq!(codings, ["gzip", "deflate"]);
        for coding in codings {
            let head = mcp_sse_core::http::ResponseHead::from_headers(200, [("Content-Encoding", coding)]);
            assert!(mcp_sse_core::http::can_inflate(head.content_coding()), "{coding}");
        }
    }
}

#[test]
fn every_header_can_be_written_as_it_is() {
    let config = ClientConfig::default().with_header("X-A", "b c").expect("a header");
    for params in ["{\"name\":\"\\u0001\\r\\n\u{e9}\"}", r#"{"name":"ok"}"#] {
        let request = first_request(config.clone(), "tools/call", Some(params)).expect("a message");
        for (name, value) in &request.headers {
            assert!(is_token(name) && is_field_value(value), "{name}: {value}");
        }
        for adapters in ["Host", "Content-Length", "Connection", "Transfer-Encoding", "Last-Event-ID"] {
            assert_eq!(header(&request, adapters), None);
        }
    }
}

#[test]
fn extra_headers_come_last_in_order_and_may_repeat() {
    let config = ClientConfig::default()
        .with_header("Authorization", "Bearer x")
        .and_then(|config| config.with_header("X-Many", "1"))
        .and_then(|config| config.with_header("X-Many", "2"))
        .and_then(|config| config.with_header("X-Empty", ""))
        .expect("headers");
    let request = first_request(config, "tools/list", None).expect("a message");
    let own = pairs(&request);
    assert_eq!(own[5..], [("Authorization", "Bearer x"), ("X-Many", "1"), ("X-Many", "2"), ("X-Empty", "")]);
}

#[test]
fn changed_headers_are_those_of_a_head_that_is_the_same_but_for_them() {
    let (a, b) = (modern("tools/call", r#"{"name":"a"}"#), modern("tools/call", r#"{"name":"b"}"#));
    assert_eq!(b.changed_headers(&a), Some(vec![&("Mcp-Name".into(), "b".into())]));
    assert_eq!(a.changed_headers(&a), Some(Vec::new()));
    // Another name, or another number of them.
    assert_eq!(modern("tools/list", "{}").changed_headers(&a), None);
    assert_eq!(modern("prompts/get", r#"{"name":"a"}"#).changed_headers(&a).map(|changed| changed.len()), Some(1));
    let mut other = a.clone();
    other.headers[0].0 = "X-Other".into();
    assert_eq!(other.changed_headers(&a), None);
    let mut other = a.clone();
    other.method = "GET";
    assert_eq!(other.changed_headers(&a), None);
    let mut other = a.clone();
    other.endpoint = Endpoint::parse("https://example.com/elsewhere").expect("a URL");
    assert_eq!(other.changed_headers(&a), None);
    // One of a name that comes twice cannot be told from the other by it.
    let mut twice = a.clone();
    twice.headers.extend([("X-Many".into(), "1".into()), ("x-many".into(), "2".into())]);
    let mut changed = twice.clone();
    assert_eq!(changed.changed_headers(&twice), Some(Vec::new()));
    changed.headers.last_mut().expect("it has some").1 = "3".into();
    assert_eq!(changed.changed_headers(&twice), None);
}

#[test]
fn extra_headers_are_checked() {
    let add = |name: &str, value: &str| ClientConfig::default().with_header(name, value).map(|_| ());
    for name in ["", " ", "a b", "a:", "a\r\n", "é", "a\0", "(x)", "\""] {
        assert_eq!(add(name, "x"), Err(ConfigError::HeaderName), "{name:?}");
    }
    for value in ["a\r\nb: c", "a\nb", "a\0", "é", " a", "a ", "\ta", "\u{7f}", "\u{1b}[31m"] {
        assert_eq!(add("X-A", value), Err(ConfigError::HeaderValue), "{value:?}");
    }
    for (name, value) in [("X-A", "a\tb c"), ("x!#$%&'*+-.^_`|~9", "ok"), ("Cookie", "a=b; c=d"), ("Origin", "null")] {
        assert_eq!(add(name, value), Ok(()));
    }
}

#[test]
fn what_the_client_writes_itself_is_reserved() {
    for name in [
        "Accept",
        "accept-encoding",
        "CONNECTION",
        "Content-Length",
        "content-type",
        "Expect",
        "Host",
        "Last-Event-ID",
        "mcp-method",
        "Mcp-Name",
        "MCP-Protocol-Version",
        "mcp-session-id",
        "Mcp-Param-Region",
        "MCP-PARAM-",
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "Upgrade",
        "Proxy-Connection",
    ] {
        let added = ClientConfig::default().with_header(name, "x").map(|_| ());
        assert_eq!(added, Err(ConfigError::HeaderReserved), "{name}");
    }
}

#[test]
fn client_info_and_capabilities_must_be_objects() {
    for json in ["", "[]", "null", "\"x\"", "{", "{}}", "{\"a\":}", "\u{feff}{}"] {
        let refused = Some(ConfigError::NotAnObject);
        assert_eq!(ClientConfig::default().with_client_info(json).err(), refused, "{json:?}");
        assert_eq!(ClientConfig::default().with_capabilities(json).err(), refused, "{json:?}");
    }
    for json in ["{}", " { \"a\" : [ ] }\n"] {
        assert!(ClientConfig::default().with_client_info(json).is_ok());
        assert!(ClientConfig::default().with_capabilities(json).is_ok());
    }
}

#[test]
fn secrets_do_not_show_in_debug() {
    let config = ClientConfig::default().with_header("Authorization", "Bearer hush").expect("a header");
    let shown = format!("{config:?}");
    assert!(shown.contains("Authorization") && !shown.contains("hush"), "{shown}");
    let request = first_request(config, "tools/call", Some(r#"{"name":"hush"}"#)).expect("a message");
    let shown = format!("{request:?}");
    assert!(!shown.contains("hush") && shown.contains(&request.body.len().to_string()), "{shown}");
}
