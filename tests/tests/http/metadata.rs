//! Request metadata headers: the value encoding of the specification, names, what a caller may not set.

use std::borrow::Cow;

use mcp_sse_core::http::{
    LAST_EVENT_ID, MCP_METHOD, MCP_NAME, MCP_PARAM_PREFIX, MCP_PROTOCOL_VERSION, MCP_SESSION_ID, ValueError,
    decode_value, encode_value, is_field_value, is_reserved, is_token, name_source,
};

/// The tables "Encoding examples" of the 2026-07-28 transport page and "Value Encoding Edge Cases" of SEP-2243.
const ENCODED: [(&str, &str); 20] = [
    ("us-west1", "us-west1"),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    (" us-west1", "=?base64?IHVzLXdlc3Qx?="),
    ("us-west1 ", "=?base64?dXMtd2VzdDEg?="),
    (" us-west1 ", "=?base64?IHVzLXdlc3QxIA==?="),
    ("us west 1", "us west 1"),
    ("true", "true"),
    ("false", "false"),
    ("42", "42"),
    ("3.14159", "3.14159"),
    ("日本語", "=?base64?5pel5pys6Kqe?="),
    ("line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="),
    ("\tindented", "=?base64?CWluZGVudGVk?="),
    ("", ""),
    ("my-tool-name", "my-tool-name"),
    ("file:///path/to/file%20name.txt", "file:///path/to/file%20name.txt"),
    ("https://example.com/resource?id=123", "https://example.com/resource?id=123"),
];

#[test]
fn the_specifications_tables_hold_in_both_directions() {
    for (value, header) in ENCODED {
        assert_eq!(encode_value(value), header, "{value:?}");
        assert_eq!(decode_value(header).as_deref(), Ok(value), "{header:?}");
    }
}

#[test]
fn what_stays_plain_is_borrowed() {
    for plain in ["a", "a\tb", "=?base64?", "?=", "=?base64?x", "=?BASE64?x?=", "x=?base64?x?=", "~!\"\\"] {
        assert!(matches!(encode_value(plain), Cow::Borrowed(same) if same == plain), "{plain:?}");
        assert!(matches!(decode_value(plain), Ok(Cow::Borrowed(same)) if same == plain), "{plain:?}");
    }
    for coded in ["a\u{7f}", "a\0", "\u{80}", "a\t", " ", "\t", "=?base64??=", "=?base64?=", "\u{feff}"] {
        assert!(matches!(encode_value(coded), Cow::Owned(_)), "{coded:?}");
    }
}

/// SEP-2243, "Base64 Decoding".
#[test]
fn s2_the_sentinel_is_decoded_strictly() {
    assert_eq!(decode_value("=?base64?SGVsbG8=?=").as_deref(), Ok("Hello"));
    assert_eq!(decode_value(" =?base64?SGVsbG8=?=\t").as_deref(), Ok("Hello"));
    assert_eq!(decode_value("=?base64??=").as_deref(), Ok(""));
    for broken in [
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?SGVsbG8==?=",
        "=?base64?SGVsbG9=?=",
        "=?base64?SGVs bG8=?=",
        "=?base64?=?=",
        "=?base64?A?=",
    ] {
        assert_eq!(decode_value(broken), Err(ValueError::Base64), "{broken}");
    }
    assert_eq!(decode_value("=?base64?//79?="), Err(ValueError::Utf8));
    for literal in ["SGVsbG8=", "=?base64?SGVsbG8=", "=?BASE64?SGVsbG8=?=", "=?base64?="] {
        assert_eq!(decode_value(literal).as_deref(), Ok(literal));
    }
    assert_eq!(decode_value("  ab\u{1}"), Err(ValueError::Character { position: 2 }));
    assert_eq!(decode_value("ä"), Err(ValueError::Character { position: 0 }));
    assert_eq!(decode_value("a\r\nb"), Err(ValueError::Character { position: 1 }));
}

#[test]
fn value_errors_tell_nothing_of_the_value() {
    for value in ["=?base64?secret!?=", "=?base64?//79?=", "secret\0"] {
        let error = decode_value(value).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

#[test]
fn decoding_undoes_encoding_for_any_text() {
    const PIECES: [&str; 20] = [
        " ",
        "\t",
        "\n",
        "\r",
        "\0",
        "\u{7f}",
        "a",
        "Z",
        "=",
        "?",
        "=?base64?",
        "?=",
        "base64",
        "ä",
        "世",
        "\u{10ffff}",
        "\u{feff}",
        "\u{2028}",
        "\\",
        "~",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..50_000 {
        let length = random.below(8);
        let value: String = (0..length).map(|_| PIECES[random.below(PIECES.len())]).collect();
        let encoded = encode_value(&value);
        assert!(is_field_value(&encoded), "{value:?} -> {encoded:?}");
        assert_eq!(decode_value(&encoded).as_deref(), Ok(value.as_str()), "{encoded:?}");
    }
    for character in '\0'..='\u{fff}' {
        for value in [format!("{character}"), format!("a{character}b")] {
            let encoded = encode_value(&value).into_owned();
            assert!(is_field_value(&encoded));
            assert_eq!(decode_value(&encoded).as_deref(), Ok(value.as_str()));
        }
    }
}

#[test]
fn names_come_from_the_parameter_the_method_has() {
    assert_eq!(name_source("tools/call"), Some("name"));
    assert_eq!(name_source("prompts/get"), Some("name"));
    assert_eq!(name_source("resources/read"), Some("uri"));
    for method in ["", "tools/list", "TOOLS/CALL", "resources/subscribe", "initialize"] {
        assert_eq!(name_source(method), None, "{method}");
    }
}

#[test]
fn tokens_are_what_rfc_9110_says() {
    for byte in 0..=0x7fu8 {
        let text = char::from(byte).to_string();
        let expected = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        assert_eq!(is_token(&text), expected, "{text:?}");
        assert_eq!(is_token(&format!("a{text}")), expected, "{text:?}");
    }
    assert!(!is_token(""));
    assert!(!is_token("Région"));
}

#[test]
fn field_values_cannot_forge_a_line() {
    for good in ["", "a", "a b", "a\tb", "Bearer x.y-z", "\"quoted\\\"\""] {
        assert!(is_field_value(good), "{good:?}");
    }
    for bad in [" a", "a ", "\ta", "a\t", " ", "a\nb", "a\rb", "a\r\nX: y", "a\0", "a\u{7f}", "ä", "\u{85}"] {
        assert!(!is_field_value(bad), "{bad:?}");
    }
}

#[test]
fn headers_that_the_client_writes_are_reserved() {
    for name in [
        "host",
        "Content-Length",
        "transfer-encoding",
        "CONNECTION",
        "proxy-connection",
        "accept",
        "Accept-Encoding",
        "content-type",
        MCP_PROTOCOL_VERSION,
        MCP_METHOD,
        MCP_NAME,
        MCP_SESSION_ID,
        LAST_EVENT_ID,
        MCP_PARAM_PREFIX,
        "mcp-param-region",
        "MCP-PARAM-X",
        "mcp-protocol-version",
        "last-event-id",
        "te",
        "upgrade",
        "expect",
        "trailer",
    ] {
        assert!(is_reserved(name), "{name}");
        assert!(is_reserved(&name.to_uppercase()), "{name}");
    }
    for name in [
        "",
        "authorization",
        "cookie",
        "user-agent",
        "accept-language",
        "x-mcp-name",
        "mcp-params",
        "mcp-param",
        "mcp-other",
        "traceparent",
        "ünïcode-header",
    ] {
        assert!(!is_reserved(name), "{name}");
    }
}
