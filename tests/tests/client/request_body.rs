//! What a request's body says: the caller's parameters as they are, and what the revision wants in `_meta`
//! (2026-07-28, basic, "Per-request protocol fields").

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Endpoint, Outcome};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::{Completeness, Id, Message, MessageKind, check};
use mcp_sse_tests::loop_driver::{ENDPOINT, LoopDriver, Script, first_body, within};

const LEGACY: [ProtocolVersion; 3] =
    [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25];

/// What the client below adds of its own.
const OWN: &str = concat!(
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"ExampleClient","version":"1.0.0"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}"#
);

fn config() -> ClientConfig {
    ClientConfig::default().with_client_info(r#"{"name":"ExampleClient","version":"1.0.0"}"#).expect("an object")
}

fn body(method: &str, params: &str) -> String {
    first_body(config(), method, Some(params))
}

/// The body with this in `params`, but for `_meta`, and this in `_meta` before what the client adds.
fn expected(method: &str, members: &str, meta: &str) -> String {
    let members = if members.is_empty() { String::new() } else { format!("{members},") };
    let meta = if meta.is_empty() { OWN.to_owned() } else { format!("{meta},{OWN}") };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}"_meta":{{{meta}}}}}}}"#)
}

#[test]
fn tools_call_as_the_specification_shows_it() {
    let members = r#""name":"get_weather","arguments":{"location":"Seattle, WA"}"#;
    assert_eq!(body("tools/call", &format!("{{{members}}}")), expected("tools/call", members, ""));
}

#[test]
fn resources_read_and_prompts_get() {
    let members = r#""uri":"file:///projects/myapp/config.json""#;
    assert_eq!(body("resources/read", &format!("{{{members}}}")), expected("resources/read", members, ""));
    let members = r#""name":"greeting","arguments":{}"#;
    assert_eq!(body("prompts/get", &format!("{{{members}}}")), expected("prompts/get", members, ""));
}

#[test]
fn with_no_parameters_and_with_empty_ones() {
    let modern = expected("tools/list", "", "");
    assert_eq!(first_body(config(), "tools/list", None), modern);
    assert_eq!(body("tools/list", "{}"), modern);
    assert_eq!(body("tools/list", " \r\n\t{ \n } "), modern);
    for version in LEGACY {
        let config = config().with_version(version).with_handshake(false);
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(first_body(config.clone(), "tools/list", None), bare);
        let empty = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        assert_eq!(first_body(config, "tools/list", Some("{}")), empty);
    }
}

#[test]
fn legacy_revisions_add_nothing() {
    for version in LEGACY {
        let config = config().with_version(version).with_handshake(false);
        let body = first_body(config.clone(), "tools/call", Some(r#"{"name":"a","arguments":{"b":1}}"#));
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":1}}}"#;
        assert_eq!(body, bare);
        // The caller's own is kept.
        let body = first_body(config, "tools/call", Some(r#"{"_meta":{"progressToken":5},"name":"a"}"#));
        let kept =
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":5}}}"#;
        assert_eq!(body, kept);
    }
}

#[test]
fn a_later_revision_says_its_own_date() {
    let version: ProtocolVersion = "2027-01-31".parse().expect("a later date");
    let body = first_body(config().with_version(version).with_handshake(false), "tools/list", None);
    assert!(body.contains(r#""io.modelcontextprotocol/protocolVersion":"2027-01-31""#), "{body}");
}

#[test]
fn a_callers_meta_is_kept_and_merged() {
    let trace = r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","com.example/a":[1, 2]"#;
    let params = format!(r#"{{"name":"a","_meta":{{{trace}}},"arguments":{{}}}}"#);
    assert_eq!(body("tools/call", &params), expected("tools/call", r#""name":"a","arguments":{}"#, trace));
    assert_eq!(body("tools/list", r#"{"_meta":{}}"#), expected("tools/list", "", ""));
}

#[test]
fn the_version_in_meta_is_the_clients_to_say() {
    for key in [
        "io.modelcontextprotocol/protocolVersion",
        r"io.modelcontextprotocol\/protocolVersion",
        r"\u0069o.modelcontextprotocol/protocolVersion",
    ] {
        let params = format!(r#"{{"_meta":{{"{key}":"2025-03-26","a":1,"{key}":null}}}}"#);
        assert_eq!(body("tools/list", &params), expected("tools/list", "", r#""a":1"#));
    }
}

#[test]
fn client_info_and_capabilities_can_be_said_by_the_caller() {
    let theirs = r#""io.modelcontextprotocol/clientInfo":{"name":"mine","version":"2"}"#;
    let text = body("tools/list", &format!(r#"{{"_meta":{{{theirs}}}}}"#));
    assert!(text.contains(theirs));
    assert_eq!(text.matches("/clientInfo").count(), 1);
    assert_eq!(text.matches(r#""io.modelcontextprotocol/clientCapabilities":{}"#).count(), 1);

    let theirs = r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;
    let text = body("tools/list", &format!(r#"{{"_meta":{{{theirs}}}}}"#));
    assert!(text.contains(theirs));
    assert_eq!(text.matches("/clientCapabilities").count(), 1);
    assert_eq!(text.matches("ExampleClient").count(), 1);
}

#[test]
fn the_default_client_says_who_it_is_and_what_is_configured() {
    let text = first_body(ClientConfig::default(), "tools/list", None);
    assert!(text.contains(r#""io.modelcontextprotocol/clientInfo":{"name":"mcp-sse","version":""#), "{text}");
    let config = ClientConfig::default().with_capabilities(r#"{"elicitation":{}}"#).expect("an object");
    let text = first_body(config, "tools/list", None);
    assert!(text.contains(r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#), "{text}");
}

#[test]
fn parameters_are_handed_on_as_they_are() {
    let values = [
        "12345678901234567890",
        "1e400",
        "-0.0",
        "1.000000000000000000000000000000000001",
        "0.1e-99999",
        r#""\u0041\/\"\\ \ud83d\ude00""#,
        r#""\ud800""#,
        "\"\u{1F600} \u{4e16}\u{754c} \u{2028}\"",
        "[ 1,\n\t2 , { \"b\" : [ ] } ]",
        r#"{"b":1,"b":2,"":3}"#,
        "null",
        "true",
    ];
    for value in values {
        let members = format!(r#""name":"a","arguments":{{"x":{value}}}"#);
        assert_eq!(body("tools/call", &format!("{{{members}}}")), expected("tools/call", &members, ""));
        let members = format!(r#""x":{value}"#);
        assert_eq!(body("vendor/any", &format!(" {{ {members} }} ")), expected("vendor/any", &members, ""));
    }
}

#[test]
fn duplicate_and_escaped_keys_stay_in_their_order() {
    let members = r#""a":1,"\u0061":2,"a":3,"":4,"b\n":5"#;
    assert_eq!(body("vendor/any", &format!("{{{members}}}")), expected("vendor/any", members, ""));
}

#[test]
fn white_space_between_members_is_dropped_and_within_values_is_kept() {
    let params = "\n{\n  \"a\" : { \"b\" : 1 } ,\r\n  \"c\" : [ ]\t}\n";
    assert_eq!(body("vendor/any", params), expected("vendor/any", r#""a":{ "b" : 1 },"c":[ ]"#, ""));
}

#[test]
fn meta_is_found_under_an_escaped_key_and_nowhere_deeper() {
    let text = body("vendor/any", r#"{"\u005fmeta":{"x":1},"arguments":{"_meta":{"y":2}},"_Meta":3}"#);
    assert_eq!(text, expected("vendor/any", r#""arguments":{"_meta":{"y":2}},"_Meta":3"#, r#""x":1"#));
}

#[test]
fn two_metas_become_one() {
    // RFC 8259 leaves duplicates to the reader; two of ours would let a reader choose.
    let text = body("vendor/any", r#"{"_meta":{"x":1},"a":2,"_meta":{"y":3}}"#);
    assert_eq!(text, expected("vendor/any", r#""a":2"#, r#""x":1,"y":3"#));
}

#[test]
fn a_notification_has_neither_id_nor_meta_of_ours() {
    let mut driver = LoopDriver::new(config());
    driver.notify("notifications/progress", Some(r#"{"progress":1,"_meta":{"a":1}}"#), CallOptions::default());
    driver.notify("notifications/initialized", None, CallOptions::default());
    driver.carry_out();
    let bodies: Vec<_> = driver.posts.iter().map(|post| post.body()).collect();
    assert_eq!(
        bodies,
        [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"_meta":{"a":1}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ]
    );
}

#[test]
fn deep_nesting_is_handed_on() {
    let deep = 200_000;
    let params = format!(r#"{{"a":{}{}}}"#, "[".repeat(deep), "]".repeat(deep));
    let text = body("vendor/any", &params);
    assert!(text.contains(&params[1..params.len() - 1]));
    assert_eq!(check(&text), Completeness::Whole);
}

#[test]
fn every_body_is_one_message_of_its_kind() {
    let methods = ["tools/call", "ping", "a b", "say\t\"hi\"\\", "x"];
    for method in methods {
        for version in LEGACY.into_iter().chain([ProtocolVersion::LATEST]) {
            let text = first_body(
                config().with_version(version).with_handshake(false),
                method,
                Some(r#"{"name":"a","_meta":{"b":1}}"#),
            );
            let message = Message::from_text(text).expect("a message");
            assert_eq!((message.kind(), message.method()), (MessageKind::Request, Some(method)));
            assert_eq!(message.id(), Some(&Id::from(1)));
        }
    }
}

/// E12: the progress token of the caller's `_meta` is the one whose progress moves the idle limit.
#[test]
fn e12_the_progress_token_is_read_from_the_callers_meta() {
    for (token, theirs, moves) in [
        ("\"t\"", "\"t\"", true),
        (r#""\u0074""#, "\"t\"", true),
        ("7", "7.0", true),
        ("7", "8", false),
        ("7", "\"7\"", false),
    ] {
        for key in ["progressToken", r"\u0070rogressToken"] {
            let progress = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{theirs}}}}}"#
            );
            let script = Script::stream().after(30).body(&format!("data: {progress}\n\n"));
            let mut driver = LoopDriver::with_scripts(config(), [script]);
            let options = within(1000).with_idle(std::time::Duration::from_millis(40));
            let params = format!(r#"{{"_meta":{{"{key}":{token}}}}}"#);
            let call = driver.call("tools/list", Some(&params), options);
            driver.run();
            assert!(driver.posts[0].body().contains(&format!(r#""{key}":{token}"#)));
            assert_eq!(driver.ended_at(call), if moves { 70 } else { 40 });
            assert!(matches!(driver.failure_of(call).kind, FailureKind::Timeout { .. }));
        }
    }
}

/// D11's sense for requests: a body of some MiB costs a few passes, whatever its shape.
#[test]
fn large_parameters_are_handed_on_whole() {
    const BYTES: usize = 4 << 20;
    let members = |member: &str| {
        let mut text = String::with_capacity(BYTES + 64);
        while text.len() < BYTES {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(member);
        }
        text
    };
    let shapes = [
        format!(r#""name":"a","arguments":{{"x":"{}"}}"#, "y".repeat(BYTES)),
        format!(r#""a":[{}1]"#, "1,".repeat(BYTES / 2)),
        format!(r#""a":"{}""#, r"\u00e9".repeat(BYTES / 6)),
        members(r#""a":1"#),
        members(r#""\u0061":[]"#),
        format!(r#""a":1{}"#, " ".repeat(BYTES)),
    ];
    for shape in shapes {
        let text = body("tools/call", &format!("{{{shape}}}"));
        let shape = shape.trim_end();
        assert!(text == expected("tools/call", shape, ""), "{} bytes", shape.len());
    }
    let meta = members(r#""m":0"#);
    assert!(body("tools/call", &format!(r#"{{"_meta":{{{meta}}}}}"#)) == expected("tools/call", "", &meta));
}

#[test]
fn large_parameters_are_sent_again_whole() {
    let params = format!(r#"{{"name":"a","arguments":{{"x":"{}"}}}}"#, "y".repeat(4 << 20));
    let mut driver = LoopDriver::with_scripts(config(), [Script::lost_sent(), Script::answered()]);
    let call = driver.call("tools/call", Some(&params), CallOptions::default());
    driver.run();
    assert!(matches!(driver.end_of(call).map(|done| &done.outcome), Some(Outcome::Settled(_))));
    assert!(driver.posts[0].body_but_id() == driver.posts[1].body_but_id());
}

#[test]
fn the_same_bytes_come_out_for_each_call_but_the_id() {
    let mut client = Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), config());
    let mut bodies = Vec::new();
    for _ in 0..3 {
        client.call("ping", None, CallOptions::default(), Timestamp::ZERO).expect("a call");
        let Some(mcp_sse_core::client::Step::Send(_, request)) = client.poll_step(Timestamp::ZERO) else { panic!() };
        bodies.push(String::from_utf8(request.body).expect("UTF-8"));
    }
    assert_eq!(bodies[1], bodies[0].replace(r#""id":1,"#, r#""id":2,"#));
    assert_eq!(bodies[2], bodies[0].replace(r#""id":1,"#, r#""id":3,"#));
}

/// E12: an idle limit can only be moved by progress, so progress is asked for, under the caller's token if there is one.
#[test]
fn e12_an_idle_limit_asks_for_progress() {
    use std::time::Duration;
    let idle = || CallOptions::default().with_idle(Duration::from_secs(1));
    for (params, token) in
        [(None, "\"mcp-sse-1\""), (Some("{}"), "\"mcp-sse-1\""), (Some(r#"{"_meta":{"progressToken":7}}"#), "7")]
    {
        let mut driver = LoopDriver::new(ClientConfig::default());
        driver.call("tools/list", params, idle());
        driver.carry_out();
        let body = String::from_utf8(driver.posts[0].request.body.clone()).expect("UTF-8");
        assert_eq!(body.matches(&format!(r#""progressToken":{token}"#)).count(), 1, "{body}");
    }
}
