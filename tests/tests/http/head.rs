//! What a response head says: media type, coding, length, waiting time, challenges, session, location, version.

use std::time::Duration;

use mcp_sse_core::http::{
    ContentCoding, HttpDate, MediaType, ProtocolVersion, ResponseHead, RetryAfter, accept_encoding, can_inflate,
};

fn head(headers: &[(&str, &str)]) -> ResponseHead {
    ResponseHead::from_headers(200, headers.iter().copied())
}

/// Every order of up to four headers says the same.
fn in_every_order(headers: &[(&str, &str)], check: impl Fn(&ResponseHead)) {
    fn walk<'a>(rest: &[(&'a str, &'a str)], chosen: &mut Vec<(&'a str, &'a str)>, check: &impl Fn(&ResponseHead)) {
        if rest.is_empty() {
            check(&head(chosen));
        }
        for index in 0..rest.len() {
            let mut left = rest.to_vec();
            chosen.push(left.remove(index));
            walk(&left, chosen, check);
            chosen.pop();
        }
    }
    walk(headers, &mut Vec::new(), &check);
}

#[test]
fn status_classes_cover_every_number_once() {
    for status in 0..=u16::MAX {
        let head = ResponseHead::new(status);
        assert_eq!(head.status(), status);
        let classes = [
            head.is_informational(),
            head.is_success(),
            head.is_redirection(),
            head.is_client_error(),
            head.is_server_error(),
        ];
        let expected: Vec<bool> = (1..=5).map(|class| status / 100 == class).collect();
        assert_eq!(classes.as_slice(), expected, "{status}");
    }
}

#[test]
fn a_head_without_headers_says_nothing() {
    let head = ResponseHead::new(204);
    assert_eq!(head.media_type(), MediaType::Missing);
    assert_eq!(head.media_type_text(), None);
    assert_eq!(head.content_coding(), ContentCoding::Identity);
    assert_eq!(head.content_length(), None);
    assert!(!head.has_invalid_content_length());
    assert_eq!(head.retry_after(), None);
    assert_eq!(head.date(), None);
    assert!(head.www_authenticate().is_empty());
    assert_eq!(head.session_id(), None);
    assert_eq!(head.location(), None);
    assert_eq!(head.protocol_version(), None);
}

/// E24: by essence, case-insensitive, parameters and white space ignored.
#[test]
fn e24_media_type_is_told_by_its_essence() {
    for (value, expected) in [
        ("text/event-stream", MediaType::EventStream),
        ("TEXT/Event-Stream", MediaType::EventStream),
        ("text/event-stream;charset=utf-8", MediaType::EventStream),
        ("text/event-stream ; charset=\"utf-8\"", MediaType::EventStream),
        (" \ttext/event-stream\t ", MediaType::EventStream),
        ("text/event-stream;", MediaType::EventStream),
        ("text/event-stream; x=\"a, text/html\"", MediaType::EventStream),
        ("text/event-stream; x=\"a\\\", text/html\"", MediaType::EventStream),
        ("text/event-stream; x=\"never closed, text/html", MediaType::EventStream),
        ("application/json", MediaType::Json),
        ("Application/JSON; charset=utf-8", MediaType::Json),
        ("text/json", MediaType::Json),
        ("application/problem+json", MediaType::Json),
        ("application/vnd.example+JSON;v=1", MediaType::Json),
        ("application/+json", MediaType::Json),
        ("+json", MediaType::Other),
        ("a b/c+json", MediaType::Other),
        ("application/json2", MediaType::Other),
        ("application/jsonp", MediaType::Other),
        ("application/json-seq", MediaType::Other),
        ("text/event-streams", MediaType::Other),
        ("text/event-stream charset=utf-8", MediaType::Other),
        ("text / event-stream", MediaType::Other),
        ("text/html", MediaType::Other),
        ("json", MediaType::Other),
        ("*/*", MediaType::Other),
        ("/", MediaType::Other),
        ("", MediaType::Missing),
        ("   ", MediaType::Missing),
        (",,", MediaType::Missing),
        ("; charset=utf-8", MediaType::Missing),
    ] {
        assert_eq!(head(&[("CONTENT-type", value)]).media_type(), expected, "{value:?}");
    }
}

/// E24: the last valid value counts, in one header or in several.
#[test]
fn e24_of_several_media_types_the_last_valid_one_counts() {
    for (values, expected) in [
        (&["text/html", "application/json"][..], MediaType::Json),
        (&["application/json", "text/event-stream"], MediaType::EventStream),
        (&["text/event-stream, text/event-stream"], MediaType::EventStream),
        (&["text/html;x=\"a,b\", text/event-stream"], MediaType::EventStream),
        (&["text/event-stream", "*/*"], MediaType::EventStream),
        (&["text/event-stream", "nonsense"], MediaType::EventStream),
        (&["nonsense", "text/event-stream"], MediaType::EventStream),
        (&["text/event-stream", ""], MediaType::EventStream),
        (&["text/event-stream,"], MediaType::EventStream),
        (&["", "nonsense"], MediaType::Other),
    ] {
        let headers: Vec<_> = values.iter().map(|value| ("content-type", *value)).collect();
        assert_eq!(head(&headers).media_type(), expected, "{values:?}");
    }
}

#[test]
fn media_type_text_is_bounded_and_printable() {
    assert_eq!(head(&[("content-type", "Text/HTML; x=1")]).media_type_text(), Some("Text/HTML"));

    let mut hostile = ResponseHead::new(200);
    hostile.header("Content-Type", b"a\x1b[31m\r\n\0\xff\\b");
    assert_eq!(hostile.media_type(), MediaType::Other);
    assert_eq!(hostile.media_type_text(), Some("a\\x1b[31m\\r\\n\\x00\\xff\\\\b"));

    let long = "x".repeat(10_000);
    let head = head(&[("content-type", &long)]);
    let text = head.media_type_text().unwrap();
    assert_eq!(text.len(), 128);
    assert!(text.ends_with("x..."));
}

#[test]
fn essence_can_be_classified_alone() {
    assert_eq!(MediaType::from_essence(""), MediaType::Missing);
    assert_eq!(MediaType::from_essence("application/json"), MediaType::Json);
    assert_eq!(MediaType::from_essence("text/event-stream; charset=utf-8"), MediaType::Other);
}

#[test]
fn content_coding_is_one_list_over_all_headers() {
    for (values, expected) in [
        (&["gzip"][..], ContentCoding::Gzip),
        (&["GZip"], ContentCoding::Gzip),
        (&["x-gzip"], ContentCoding::Gzip),
        (&["X-GZIP"], ContentCoding::Gzip),
        (&["deflate"], ContentCoding::Deflate),
        (&["Deflate"], ContentCoding::Deflate),
        (&["identity"], ContentCoding::Identity),
        (&[""], ContentCoding::Identity),
        (&[", ,"], ContentCoding::Identity),
        (&["identity", "identity"], ContentCoding::Identity),
        (&["identity, gzip"], ContentCoding::Gzip),
        (&["gzip, identity"], ContentCoding::Gzip),
        (&["", "gzip", ","], ContentCoding::Gzip),
        (&[" , gzip\t,"], ContentCoding::Gzip),
        (&["br"], ContentCoding::Unsupported),
        (&["zstd"], ContentCoding::Unsupported),
        (&["gzip;q=1"], ContentCoding::Unsupported),
        (&["x-deflate"], ContentCoding::Unsupported),
        (&["gzip, gzip"], ContentCoding::Unsupported),
        (&["gzip", "gzip"], ContentCoding::Unsupported),
        (&["deflate", "gzip"], ContentCoding::Unsupported),
        (&["br, gzip"], ContentCoding::Unsupported),
        (&["gzip", "identity", "br"], ContentCoding::Unsupported),
    ] {
        let headers: Vec<_> = values.iter().map(|value| ("Content-Encoding", *value)).collect();
        assert_eq!(head(&headers).content_coding(), expected, "{values:?}");
    }
}

#[test]
fn f16_accept_encoding_offers_only_what_can_be_inflated() {
    let offered = accept_encoding();
    assert_eq!(offered, "gzip, deflate");
    for coding in offered.split(", ") {
        let offered = head(&[("content-encoding", coding)]).content_coding();
        assert!(can_inflate(offered), "{coding}");
    }
    assert!(!can_inflate(ContentCoding::Identity));
    assert!(!can_inflate(ContentCoding::Unsupported));
}

#[test]
fn content_length_is_digits_that_agree() {
    for (values, expected) in [
        (&["0"][..], Some(0)),
        (&["42"], Some(42)),
        (&["0042"], Some(42)),
        (&[" 42 "], Some(42)),
        (&["18446744073709551615"], Some(u64::MAX)),
        (&["42", "42"], Some(42)),
        (&["42, 42"], Some(42)),
        (&["42,042", "42"], Some(42)),
        (&["18446744073709551616"], None),
        (&["42", "43"], None),
        (&["42, 43"], None),
        (&["42", "x"], None),
        (&["x", "42"], None),
        (&["42", "43", "42"], None),
        (&["42,"], None),
        (&[""], None),
        (&["+42"], None),
        (&["-1"], None),
        (&["4 2"], None),
        (&["0x2a"], None),
        (&["42.0"], None),
        (&["४२"], None),
    ] {
        let headers: Vec<_> = values.iter().map(|value| ("content-length", *value)).collect();
        let head = head(&headers);
        assert_eq!(head.content_length(), expected, "{values:?}");
        assert_eq!(head.has_invalid_content_length(), expected.is_none(), "{values:?}");
    }
}

#[test]
fn f13_retry_after_in_seconds() {
    for (value, expected) in [
        ("0", Some(0)),
        ("120", Some(120)),
        (" 120\t", Some(120)),
        ("007", Some(7)),
        ("99999999999999999999999999", Some(u64::MAX)),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1 s", None),
        ("soon", None),
    ] {
        let head = head(&[("Retry-After", value)]);
        assert_eq!(head.retry_after(), expected.map(RetryAfter::Seconds), "{value:?}");
        let delay = head.retry_after().and_then(|retry_after| retry_after.delay());
        assert_eq!(delay, expected.map(Duration::from_secs), "{value:?}");
    }
}

#[test]
fn f13_retry_after_date_is_held_against_the_servers_own_clock() {
    for value in ["Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994"] {
        in_every_order(&[("retry-after", value), ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("x", "y")], |head| {
            let retry_after = head.retry_after().unwrap();
            assert_eq!(retry_after.delay(), Some(Duration::from_secs(60)), "{value}");
            let RetryAfter::At { date, server_time } = retry_after else {
                panic!("{retry_after:?}");
            };
            assert_eq!(date.unix_seconds(), 784_111_837);
            assert_eq!(server_time.map(HttpDate::unix_seconds), Some(784_111_777));
            assert_eq!(head.date(), server_time);
        });
    }
}

#[test]
fn f13_retry_after_date_in_the_past_is_no_wait() {
    let head = head(&[("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("retry-after", "Sun, 06 Nov 1994 08:49:36 GMT")]);
    assert_eq!(head.retry_after().unwrap().delay(), Some(Duration::ZERO));
}

#[test]
fn f13_retry_after_date_without_a_server_clock_gives_no_delay() {
    for date in [&[][..], &[("date", "yesterday")]] {
        let mut headers = date.to_vec();
        headers.push(("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"));
        let head = head(&headers);
        assert!(matches!(head.retry_after(), Some(RetryAfter::At { server_time: None, .. })));
        assert_eq!(head.retry_after().unwrap().delay(), None);
    }
}

#[test]
fn f13_the_first_valid_retry_after_counts() {
    let head = head(&[("retry-after", "soon"), ("retry-after", "5"), ("retry-after", "9")]);
    assert_eq!(head.retry_after(), Some(RetryAfter::Seconds(5)));
}

#[test]
fn challenges_are_kept_in_order_and_bounded() {
    let headers = [
        ("WWW-Authenticate", "Bearer resource_metadata=\"https://a.example/x\""),
        ("www-authenticate", "Basic realm=\"b\""),
    ];
    assert_eq!(
        head(&headers).www_authenticate(),
        ["Bearer resource_metadata=\"https://a.example/x\"", "Basic realm=\"b\""]
    );

    let many = vec![("www-authenticate", "Basic"); 1000];
    assert_eq!(head(&many).www_authenticate().len(), ResponseHead::MAX_CHALLENGES);

    // The one that does not fit is left out, a later one that does is kept.
    let (big, huge) = ("x".repeat(8000), "y".repeat(8193));
    let head_of_big = head(&[
        ("www-authenticate", &huge),
        ("www-authenticate", &big),
        ("www-authenticate", &big),
        ("www-authenticate", "Basic"),
        ("www-authenticate", ""),
    ]);
    assert_eq!(head_of_big.www_authenticate(), [big.as_str(), "Basic"]);

    let exact = "z".repeat(ResponseHead::MAX_CHALLENGE_BYTES);
    assert_eq!(head(&[("www-authenticate", &exact)]).www_authenticate(), [exact.as_str()]);
}

#[test]
fn challenges_hold_no_control_characters_and_stay_bounded_when_decoded() {
    let mut hostile = ResponseHead::new(401);
    hostile.header("www-authenticate", b"Bearer a\r\nX: y\0\x1b[0m\xffz\xc2\x85");
    assert_eq!(hostile.www_authenticate(), ["Bearer a  X: y  [0m\u{fffd}z "]);

    // Each byte would become three.
    let mut grown = ResponseHead::new(401);
    grown.header("www-authenticate", &[0xff; 4000]);
    assert!(grown.www_authenticate().is_empty());
}

#[test]
fn session_id_is_visible_ascii_of_bounded_length() {
    let long = "s".repeat(1024);
    let visible: String = ('\x21'..='\x7e').collect();
    for good in ["1", "7f3c-9a", visible.as_str(), long.as_str()] {
        assert_eq!(head(&[("mcp-session-ID", good)]).session_id(), Some(good));
    }
    assert_eq!(head(&[("mcp-session-id", " padded ")]).session_id(), Some("padded"));
    let too_long = "s".repeat(1025);
    for bad in ["", "a b", "a\tb", "ä", "a\u{7f}", "a\0b", "a\nb", too_long.as_str()] {
        assert_eq!(head(&[("mcp-session-id", bad)]).session_id(), None, "{bad:?}");
    }
    // The first valid one stands.
    let twice = head(&[("mcp-session-id", "a b"), ("mcp-session-id", "c"), ("mcp-session-id", "d")]);
    assert_eq!(twice.session_id(), Some("c"));
}

#[test]
fn location_is_printable_text_of_bounded_length() {
    let longest = "l".repeat(ResponseHead::MAX_LOCATION_BYTES);
    for good in ["/mcp", "https://a.example/mcp?x=1", "/ü", longest.as_str()] {
        assert_eq!(head(&[("Location", good)]).location(), Some(good));
    }
    let too_long = "l".repeat(ResponseHead::MAX_LOCATION_BYTES + 1);
    for bad in ["", "/a\r\nb", "/a\tb", "/a\0", too_long.as_str()] {
        assert_eq!(head(&[("location", bad)]).location(), None, "{bad:?}");
    }
    assert_eq!(ResponseHead::new(307).header("location", b"/\xff").location(), None);
    assert_eq!(head(&[("location", "/a"), ("location", "/b")]).location(), Some("/a"));
}

#[test]
fn protocol_version_is_read_if_it_can_be_one() {
    let version = head(&[("mcp-protocol-version", "2025-06-18")]).protocol_version();
    assert_eq!(version, Some(ProtocolVersion::V2025_06_18));
    for bad in ["", "2", "2025-06-19", "DRAFT-2026-v1"] {
        assert_eq!(head(&[("mcp-protocol-version", bad)]).protocol_version(), None, "{bad:?}");
    }
}

#[test]
fn unknown_headers_and_names_that_are_none_change_nothing() {
    let mut head = ResponseHead::new(200);
    for name in ["", "content-type ", " content-type", "content-type:", "x-content-type", "ſet", "\0"] {
        head.header(name, b"text/event-stream");
    }
    assert_eq!(head, ResponseHead::new(200));
}

#[test]
fn debug_shows_no_session_id() {
    let head = head(&[("mcp-session-id", "secret-7f3c"), ("content-type", "text/html")]);
    let text = format!("{head:?}");
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("session_id_bytes: Some(11)"), "{text}");
    assert!(text.contains("text/html"), "{text}");
}

#[test]
fn e8_a_length_beside_a_transfer_encoding_counts_for_nothing() {
    for headers in [
        [("Content-Length", "4096"), ("Transfer-Encoding", "chunked")],
        [("transfer-encoding", "gzip, chunked"), ("content-length", "1")],
    ] {
        assert_eq!(ResponseHead::from_headers(200, headers).content_length(), None, "{headers:?}");
    }
}

/// E8: only the last coding of the last line can be the one that frames the body.
#[test]
fn e8_chunks_and_a_length_mark_the_end_of_a_body() {
    for (headers, is_chunked, marks_end) in [
        (&[][..], false, false),
        (&[("Content-Length", "4")][..], false, true),
        (&[("Transfer-Encoding", "chunked")], true, true),
        (&[("Transfer-Encoding", "gzip"), ("transfer-encoding", " gzip, CHUNKED ")], true, true),
        (&[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "gzip")], false, false),
        (&[("Transfer-Encoding", "gzip"), ("Content-Length", "4")], false, false),
        (&[("Content-Length", "4, 5")], false, false),
    ] {
        let head = ResponseHead::from_headers(200, headers.iter().copied());
        assert_eq!((head.is_chunked(), head.marks_end()), (is_chunked, marks_end), "{headers:?}");
    }
}
