//! Redaction: nothing that was said is shown, and it comes to the same.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallEvent, CallOptions, Client, ClientConfig, Endpoint, Step};
use mcp_sse_core::exchange::{BreakKind, Exchange, ExchangeConfig, Framing, Request};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::recording::{Bodies, Recording, RecordingConfig};
use mcp_sse_tests::recordings;

/// Words that stand for what nobody but the two is to read.
const SECRETS: [&str; 13] = [
    "hunter2",
    "Zoe",
    "4111",
    "mellon",
    "swordfish",
    "xyzzy",
    "tenant",
    "s3ss10n",
    "cookie-value",
    "plugh",
    "987654",
    "Bearer",
    "internal",
];

fn shows_nothing(recording: &Recording) {
    let text = recording.to_string();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} in\n{text}");
    }
}

/// A whole call with all that can be a secret in it: headers, a query, parameters, what comes back.
#[test]
fn no_payload_and_no_credential_is_shown() {
    let config = ClientConfig::default()
        .with_version(ProtocolVersion::V2025_11_25)
        .with_recording(RecordingConfig::default())
        .with_handled_request("elicitation/create")
        .with_header("Authorization", "Bearer hunter2")
        .and_then(|config| config.with_header("Cookie", "cookie-value"))
        .and_then(|config| config.with_client_info(r#"{"name":"internal tool","version":"987654"}"#))
        .expect("headers");
    let endpoint = Endpoint::parse("http://mcp.test/tenant/mcp?key=hunter2").expect("a URL");
    let mut client = Client::new(endpoint, config);
    let at = Timestamp::from_millis;
    let params = r#"{"name":"charge","arguments":{"card":"4111","Zoe":{"pin":987654,"is":true}}}"#;
    client.call("tools/call", Some(params), CallOptions::default(), at(0)).expect("a call");
    let mut at_ms = 0;
    let mut asked = None;
    let (mut is_answered, mut is_done) = (false, false);
    while let Some(step) = client.poll_step(at(at_ms)) {
        at_ms += 1;
        let now = at(at_ms);
        match step {
            Step::Send(id, request) => {
                let body = String::from_utf8(request.body).expect("JSON");
                let exchange = client.exchange(id).expect("it is under way");
                exchange.on_connected(now).and_then(|()| exchange.on_sent(now)).expect("in order");
                let headers = [
                    ("Content-Type", "text/event-stream"),
                    ("Mcp-Session-Id", "s3ss10n"),
                    ("Set-Cookie", "cookie-value"),
                    ("WWW-Authenticate", "Bearer realm=\"mellon\""),
                    ("Server", "internal"),
                ];
                let head = ResponseHead::from_headers(if body.contains("\"id\"") { 200 } else { 202 }, headers);
                exchange.on_head(&head, now).expect("in order");
                if body.contains("initialize\"") {
                    let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"mellon"}}"#;
                    let event = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n\n");
                    exchange.on_body(&mut event.as_bytes(), now).expect("in order");
                } else if body.contains("tools/call") {
                    let mut request = &b": mellon\nid: xyzzy\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"ask\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"swordfish?\"}}\n\n"[..];
                    exchange.on_body(&mut request, now).expect("in order");
                    asked = Some(id);
                }
            }
            Step::Event(call, event) => {
                is_answered |= matches!(event, CallEvent::Answer { .. });
                if let Some((_, id, _)) = event.awaiting() {
                    let answer = r#"{"action":"accept","content":{"word":"swordfish"}}"#;
                    client.respond(call, id, Ok(answer), now).expect("it was asked");
                    let exchange = client.exchange(asked.expect("a stream")).expect("it is under way");
                    let mut answer = &b"data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"plugh \\u00e9\",\"Zoe\":[987654,-1.5e3,null]}}\n\n"[..];
                    exchange.on_body(&mut answer, now).expect("in order");
                }
            }
            Step::Done(..) => is_done = true,
            _ => {}
        }
        if let (Some(id), true) = (asked, is_answered) {
            // It breaks after the answer, and the call ends.
            is_answered = false;
            let exchange = client.exchange(id).expect("it is under way");
            exchange.on_broken(BreakKind::Reset, now).expect("in order");
        }
    }
    assert!(is_done, "{}", client.recording(Bodies::Whole).expect("it was asked for"));
    let is_redacted = recordings::check(|bodies| client.recording(bodies).expect("it was asked for"));
    assert!(is_redacted, "{}", client.recording(Bodies::Whole).expect("it was asked for"));
    let redacted = client.recording(Bodies::Redacted).expect("it was asked for");
    shows_nothing(&redacted);
    shows_nothing(&client.recording(Bodies::Sized).expect("it was asked for"));
    let text = redacted.to_string();
    // What decides is there.
    for kept in
        ["elicitation/create", "\"id\":\"ask\"", "\"protocolVersion\":\"2025-11-25\"", "authorization,cookie", "true"]
    {
        assert!(text.contains(kept), "{kept} in\n{text}");
    }
    let whole = client.recording(Bodies::Whole).expect("it was asked for").to_string();
    assert!(whole.contains("swordfish") && whole.contains("\"card\":\"4111\""), "{whole}");
    for never in ["hunter2", "cookie-value", "s3ss10n", "Bearer"] {
        assert!(!whole.contains(never), "{never}, whatever the bodies\n{whole}");
    }
}

fn exchange(media_type: &str, pieces: &[&[u8]], framing: Framing) -> Exchange {
    let request = Request::new("tools/call").with_id(7);
    let config = ExchangeConfig::default().with_recording(RecordingConfig::default());
    let now = Timestamp::from_millis(1);
    let mut exchange = Exchange::new(&request, config, now);
    exchange.on_connected(now).and_then(|()| exchange.on_sent(now)).expect("in order");
    exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", media_type)]), now).expect("in order");
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() && exchange.on_body(&mut rest, now).is_ok() {
            while exchange.poll_event().is_some() {}
        }
    }
    exchange.on_end(framing, now).ok();
    while exchange.poll_event().is_some() {}
    exchange
}

/// Pieces may be cut anywhere, and what is no JSON, or not all of it, is no payload either.
#[test]
fn bodies_are_redacted_however_they_are_cut_and_broken() {
    let bodies: [(&str, &[u8]); 12] = [
        ("application/json", b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"hunter2\":\"Zoe \\\"4111\\\" mellon\"}}"),
        ("application/json", b"\xEF\xBB\xBF {\"id\":7,\"result\":[\"swordfish\", 987654]}"),
        (
            "application/json",
            b"{\"id\":7,\"error\":{\"code\":-32000,\"message\":\"xyzzy\",\"data\":{\"a\":\"plugh\"}}}",
        ),
        ("application/json", b"{\"id\":7,\"result\":{\"hunter2\":\"swordf"),
        ("application/json", b"{\"id\":7,\"result\":hunter2 mellon}"),
        ("text/event-stream", b"data: {\"id\":7,\r\ndata: \"result\":{\"Zoe\":\"hunter2\"}}\r\n\r\n"),
        (
            "text/event-stream",
            b": mellon\rid: xyzzy\rswordfish: plugh\rretry: 12\rdata: {\"id\":7,\"result\":\"4111\"}\r\r",
        ),
        ("text/event-stream", b"event: hunter2\ndata: mellon\n\ndata: oops hunter2\n\n"),
        ("text/event-stream", b"data: {\"id\":7,\"result\":\"swordfish\"}"),
        (
            "text/event-stream",
            b"data: {\"method\":\"m\",\"params\":{\"hunter2\":987654}}\n\ndata: {\"id\":8,\"result\":\"xyzzy\"}\n\n",
        ),
        ("", b"{\"id\":7,\"result\":\"mellon\"}"),
        ("", b"\n: swordfish\ndata: {\"id\":7,\"result\":\"mellon\"}\n\n"),
    ];
    for (media_type, body) in bodies {
        for size in [1, 2, 3, 7, 1000] {
            for framing in [Framing::Marked, Framing::Unmarked, Framing::Short] {
                let pieces: Vec<_> = body.chunks(size).collect();
                let exchange = exchange(media_type, &pieces, framing);
                let record = |bodies| exchange.recording(bodies).expect("it was asked for");
                assert!(recordings::check(record), "{}", record(Bodies::Whole));
                shows_nothing(&record(Bodies::Redacted));
                shows_nothing(&record(Bodies::Sized));
            }
        }
    }
}

/// A coded body is inflated, redacted and coded again, whole, cut and without its footer.
#[test]
fn coded_bodies_are_redacted_too() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for event in
        ["data: {\"method\":\"n\",\"params\":{\"a\":\"hunter2\"}}\n\n", "data: {\"id\":7,\"result\":\"swordfish\"}\n\n"]
    {
        encoder.write_all(event.as_bytes()).and_then(|()| encoder.flush()).expect("memory takes all");
    }
    let coded = encoder.finish().expect("memory takes all");
    for length in [coded.len(), coded.len() - 3, coded.len() - 8, coded.len() - 12, 20] {
        for size in [5, 40, 1000] {
            let pieces: Vec<_> = coded[..length].chunks(size).collect();
            // gzip tells itself by its first bytes, whatever the head says.
            let exchange = exchange("text/event-stream", &pieces, Framing::Marked);
            let record = |bodies| exchange.recording(bodies).expect("it was asked for");
            assert!(recordings::check(record), "{length} {size}: {}", record(Bodies::Whole));
            shows_nothing(&record(Bodies::Redacted));
        }
    }
}

/// Where the very bytes decide, what cannot be redacted is withheld, and nothing is told that did not happen.
#[test]
fn what_would_tell_another_story_is_withheld() {
    // Ill-formed UTF-8 in the answer: what is shown of it is longer than what came.
    let exchange =
        exchange("text/event-stream", &[b"data: {\"id\":7,\"result\":\"hunter2 \xff\xff\"}\n\n"], Framing::Marked);
    let record = |bodies| exchange.recording(bodies).expect("it was asked for");
    assert!(!recordings::check(record));
    let sized = record(Bodies::Redacted);
    assert_eq!(sized.bodies(), Bodies::Sized);
    shows_nothing(&sized);
}
