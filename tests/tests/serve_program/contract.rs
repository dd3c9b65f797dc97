//! The cases of the contract, each for the program that it is given.
//!
//! Rule: both `call` programs call where it is about the server's revisions; one of them does where it is about the program.

use serde_json::{Value, json};

use crate::program::{CALLS, Called, Serve, run};

const REVISIONS: [&str; 6] = ["auto", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const SESSIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];
/// Steps that take no time a person would notice.
const QUICK: &str = r#"{"steps":3,"pause_ms":20}"#;

fn quick() -> Value {
    serde_json::from_str(QUICK).expect("JSON")
}

pub(crate) fn the_tools_in_every_revision(program: &str) {
    let server = Serve::start(program, &[]);
    let mut counted = 0;
    for call in CALLS {
        for revision in REVISIONS {
            let tool = |name, arguments| server.tool(call, &["--protocol", revision], name, &arguments);
            assert_eq!(tool("echo", json!({"text": "übung\n"})).text(), "übung\n", "{revision}");
            assert_eq!(tool("add", json!({"a": 2, "b": 0.5})).text(), "2.5", "{revision}");
            let slow = tool("slow", quick());
            assert_eq!((slow.text(), slow.progress()), ("slow done", vec![1, 2, 3]), "{revision}");
            counted += 1;
            assert_eq!(tool("counter", json!({})).text(), counted.to_string(), "{revision}");
            let listed = server.call(call, &["--protocol", revision], "tools/list", &json!({}));
            let tools = listed.last()["message"]["result"]["tools"].as_array().map(Vec::len);
            assert_eq!(tools, Some(5), "{revision}: {listed:?}");
            for (name, arguments) in [("echo", json!({})), ("nobody", json!({}))] {
                let refused = tool(name, arguments);
                let code = &refused.last()["message"]["error"]["code"];
                assert_eq!((refused.status, code), (Some(1), &json!(-32602)), "{revision}");
            }
            let unknown = server.call(call, &["--protocol", revision], "prompts/list", &json!({}));
            assert_eq!(unknown.last()["message"]["error"]["code"], -32601, "{revision}: {unknown:?}");
        }
    }
}

pub(crate) fn s9_a_header_that_mirrors_a_parameter(program: &str) {
    let server = Serve::start(program, &[]);
    let jobs =
        [("tools/list", json!({})), ("tools/call", json!({"name": "region", "arguments": {"region": "eu-west"}}))];
    for call in CALLS {
        assert_eq!(server.batch(call, &[], &jobs).text(), "region eu-west, header eu-west");
        let earlier = server.batch(call, &["--protocol", "2025-11-25"], &jobs);
        assert_eq!(earlier.text(), "region eu-west, header none");
    }
}

pub(crate) fn it_speaks_the_revisions_that_are_named(program: &str) {
    let server = Serve::start(program, &["--protocol", "2025-06-18", "--protocol", "2025-03-26", "--path", "/a/b"]);
    assert!(server.url.ends_with("/a/b"), "{}", server.url);
    let call = CALLS[0];
    for revision in ["auto", "2025-03-26", "2025-06-18"] {
        let echo = server.tool(call, &["--protocol", revision], "echo", &json!({"text": "here"}));
        assert_eq!(echo.text(), "here", "{revision}");
    }
    for revision in ["2026-07-28", "2024-11-05"] {
        let echo = server.tool(call, &["--protocol", revision], "echo", &json!({"text": "here"}));
        assert_ne!(echo.status, Some(0), "{revision}: {echo:?}");
    }
}

pub(crate) fn every_answer_on_a_stream(program: &str) {
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"counter","arguments":{},
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    for (options, media_type) in [(["--always-streams"].as_slice(), "text/event-stream"), (&[], "application/json")] {
        let server = Serve::start(program, options);
        let response = server.post(request);
        let [head, body] = [0, 1].map(|part| response.split("\r\n\r\n").nth(part).expect("a head and a body"));
        assert!(head.to_ascii_lowercase().contains(&format!("content-type: {media_type}")), "{head}");
        assert!(body.contains(r#""text":"1""#), "{body}");
    }
}

/// Responses shorter than the bound pass, the handshakes' among them; `slow` comes to more.
const LONG: &str = r#"{"steps":30,"pause_ms":1}"#;

fn long() -> Value {
    serde_json::from_str(LONG).expect("JSON")
}

pub(crate) fn a_response_that_is_cut_or_reset_is_lost_and_a_short_one_is_not(program: &str) {
    for how in ["cut:800", "reset:800"] {
        let server = Serve::start(program, &["--break", how]);
        for call in CALLS {
            assert_eq!(server.tool(call, &[], "echo", &json!({"text": "short"})).text(), "short", "{how}");
            let lost = server.tool(call, &["--max-reissues", "1"], "slow", &long());
            let [first, .., last] = lost.lines.as_slice() else { panic!("{how}: {lost:?}") };
            assert_eq!(first["type"], "notification", "{how}");
            assert_eq!((lost.status, &last["kind"]), (Some(3), &json!("lost")), "{how}: {last}");
            assert_eq!((&last["attempts"], &last["may_have_run"]), (&json!(2), &json!(true)), "{how}");
            let reissues = lost.lines.iter().filter(|line| line["type"] == "reissue").count();
            assert_eq!(reissues, 1, "{how}");
        }
    }
}

/// The same call is lost where they cannot.
pub(crate) fn where_streams_can_be_resumed_a_cut_loses_nothing(program: &str) {
    let arguments = json!({"steps": 8, "pause_ms": 1});
    for how in ["cut:800", "reset:800"] {
        let server = Serve::start(program, &["--break", how]);
        for revision in SESSIONS {
            let slow = server.tool(CALLS[1], &["--protocol", revision], "slow", &arguments);
            assert_eq!((slow.text(), slow.progress()), ("slow done", (1..=8).collect()), "{how} {revision}");
        }
        let lost = server.tool(CALLS[1], &["--max-reissues", "0"], "slow", &arguments);
        assert_eq!((lost.status, &lost.last()["kind"]), (Some(3), &json!("lost")), "{how}: {lost:?}");
    }
}

pub(crate) fn a_stalled_response_runs_into_the_deadline(program: &str) {
    let server = Serve::start(program, &["--break", "stall:800"]);
    for call in CALLS {
        let stalled = server.tool(call, &["--deadline-ms", "1500"], "slow", &long());
        assert_eq!((stalled.status, &stalled.last()["kind"]), (Some(3), &json!("timeout")), "{stalled:?}");
        assert_eq!(server.tool(call, &[], "echo", &json!({"text": "short"})).text(), "short");
    }
}

pub(crate) fn s4_a_call_that_nobody_waits_for_stops(program: &str) {
    let server = Serve::start(program, &[]);
    let endless = json!({"steps": 100_000, "pause_ms": 50});
    for call in CALLS {
        for revision in ["2025-11-25", "2026-07-28"] {
            let options = ["--protocol", revision, "--deadline-ms", "1000"];
            let given_up: Called = server.tool(call, &options, "slow", &endless);
            assert_eq!(given_up.last()["kind"], "timeout", "{revision}: {given_up:?}");
            let remark = server.remark();
            assert!(remark.starts_with("slow: stopped in step"), "{revision}: {remark}");
        }
    }
}

pub(crate) fn s10_an_interrupt_ends_it(program: &str) {
    let server = Serve::start(program, &[]);
    assert_eq!(server.tool(CALLS[0], &[], "echo", &json!({"text": "a"})).text(), "a");
    #[cfg(unix)]
    assert_eq!(server.interrupt(), Some(0));
}

pub(crate) fn tls_with_a_certificate_and_a_key(program: &str) {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let directory = std::env::temp_dir().join(format!("mcp-sse-serve-{}-{}", std::process::id(), program.len()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).expect("it can be written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let (certificate, key) = (file("cert.pem", key.cert.pem()), file("key.pem", key.signing_key.serialize_pem()));
    let mut server = Serve::start(program, &["--tls", &certificate, &key]);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    server.url = server.url.replace("127.0.0.1", "localhost");
    for call in CALLS {
        let echo = server.tool(call, &["--cacert", &certificate], "echo", &json!({"text": "sealed"}));
        assert_eq!(echo.text(), "sealed");
    }
    let mismatch = run(program, &["--tls", &key, &certificate]);
    assert_eq!(mismatch.status.code(), Some(1), "{mismatch:?}");
    std::fs::remove_dir_all(&directory).ok();
}

pub(crate) fn help_tells_the_options(program: &str) {
    let helped = run(program, &["--help"]);
    let text = String::from_utf8(helped.stdout).expect("UTF-8");
    assert_eq!(helped.status.code(), Some(0));
    for option in ["--listen", "--path", "--protocol", "--always-streams", "--tls", "--break"] {
        assert!(text.contains(option), "{option}");
    }
}

pub(crate) fn usage_errors_say_what_was_expected_and_exit_with_2(program: &str) {
    let refused = run(program, &["--break", "bend:1"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(refused.stderr).expect("UTF-8");
    assert!(said.contains("expected cut:N, reset:N or stall:N"), "{said}");
}
