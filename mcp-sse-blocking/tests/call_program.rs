//! The contract of the `call` program, run as a program: options in, JSON Lines and an exit status out.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Request, Response, Script, Sse, Text, refused_url};
use serde_json::{Value, json};

/// The example, which `cargo test` builds beside this test.
fn program() -> Command {
    let test = std::env::current_exe().expect("a test knows where it is");
    let mut folder: PathBuf = test;
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(format!("call{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "cargo test builds the examples of the package; without it: cargo build --examples");
    Command::new(program)
}

fn run(arguments: &[&str]) -> (Vec<Value>, Option<i32>, String) {
    read(&program().args(arguments).stdin(Stdio::null()).output().expect("the program can be run"))
}

fn read(output: &Output) -> (Vec<Value>, Option<i32>, String) {
    let out = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let lines = out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    (lines, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn an_answer_is_the_last_line_and_exit_status_0() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::new(Response::sse([Sse::progress(1), Sse::charged()]))]);
    let params = r#"{"name":"charge","arguments":{"n":12345678901234567890},"_meta":{"progressToken":"p"}}"#;
    let (lines, status, _) = run(&[&scenario.url(), "tools/call", params]);
    assert_eq!(status, Some(0));
    let [notification, answer] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&notification["type"], &notification["attempt"]), (&json!("notification"), &json!(1)));
    assert_eq!(notification["message"]["method"], "notifications/progress");
    assert_eq!(answer["type"], "answer");
    assert_eq!(
        (&answer["verdict"], &answer["attempts"], &answer["status"]),
        (&json!("settled"), &json!(1), &json!(200))
    );
    assert!(answer["elapsed_ms"].is_u64());
    assert_eq!(answer["message"]["jsonrpc"], "2.0");
    assert!(answer["message"]["result"].is_object());
    // The parameters went out as they were written.
    let body = String::from_utf8(scenario.requests()[0].body.clone()).expect("UTF-8");
    assert!(body.contains(r#""arguments":{"n":12345678901234567890}"#), "{body}");
}

#[test]
fn a_lost_stream_is_told_and_sent_again() {
    let peer = Peer::start();
    let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Fin);
    let scenario = peer.scenario([broken, Script::whole()]);
    let (lines, status, _) = run(&[&scenario.url(), "tools/call", r#"{"name":"charge"}"#]);
    assert_eq!((status, scenario.executions()), (Some(0), 2));
    let [reissue, answer] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&reissue["type"], &reissue["attempt"]), (&json!("reissue"), &json!(2)));
    assert_eq!(reissue["exposure"], "streaming");
    assert!(reissue["cause"].is_string());
    assert_eq!((&answer["verdict"], &answer["attempts"]), (&json!("settled"), &json!(2)));
}

#[test]
fn f14_never_is_an_error_that_says_it_may_have_run() {
    let peer = Peer::start();
    for policy in ["--reissue=never", "--reissue=replay-safe", "--max-reissues=0"] {
        let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Reset);
        let scenario = peer.scenario([broken, Script::whole()]);
        let (lines, status, people) = run(&[policy, &scenario.url(), "tools/call", r#"{"name":"charge"}"#]);
        assert_eq!((status, scenario.executions()), (Some(3), 1), "{policy}");
        let [error] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((&error["type"], &error["kind"]), (&json!("error"), &json!("lost")));
        assert_eq!((&error["attempts"], &error["may_have_run"]), (&json!(1), &json!(true)));
        assert!(people.contains("it may have run"), "{people}");
    }
}

#[test]
fn e9_an_unterminated_answer_is_salvaged_unless_the_tail_is_strict() {
    let peer = Peer::start();
    let open = || Script::new(Response::sse([Sse::charged().without_blank_line()])).then(Ending::Fin);
    let scenario = peer.scenario([open(), Script::whole()]);
    let (lines, status, _) = run(&[&scenario.url(), "tools/call", r#"{"name":"charge"}"#]);
    assert_eq!((status, scenario.executions()), (Some(0), 1));
    assert_eq!(lines.last().expect("a line")["verdict"], "salvaged");

    let scenario = peer.scenario([open(), Script::whole()]);
    let (lines, status, _) = run(&["--strict-tail", &scenario.url(), "tools/call", r#"{"name":"charge"}"#]);
    assert_eq!((status, scenario.executions()), (Some(0), 2));
    assert_eq!(lines.last().expect("a line")["verdict"], "settled");
}

#[test]
fn a_json_rpc_error_is_an_answer_and_exit_status_1() {
    let peer = Peer::start();
    let refusal = Script::new(Response::json(Text::error(-32602, "no such\ntool")));
    let scenario = peer.scenario([refusal]);
    let (lines, status, _) = run(&[&scenario.url(), "tools/call", r#"{"name":"charge"}"#]);
    assert_eq!(status, Some(1));
    let [answer] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(answer["message"]["error"]["code"], -32602);
}

#[test]
fn the_kinds_of_transport_errors_and_exit_status_3() {
    let peer = Peer::start();
    let silent = peer.scenario([Script::whole().cut(At::byte(0), Ending::Stall)]);
    let down = peer.scenario([Script::new(Response::empty(503))]);
    let page = peer.scenario([Script::new(Response::raw("<html>").content_type("text/html"))]);
    let broken = peer.scenario([Script::new(Response::json("{\"jsonrpc\":"))]);
    let nothing = peer.scenario([Script::new(Response::empty(202))]);
    let stranger = peer.scenario([Script::new(Response::json(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#))]);
    let notice = peer.scenario([Script::new(Response::json(r#"{"jsonrpc":"2.0","method":"m"}"#))]);
    for (url, kind, may_have_run) in [
        (refused_url(), "unsent", false),
        (silent.url(), "timeout", true),
        (down.url(), "status", true),
        (page.url(), "content_type", true),
        (broken.url(), "invalid_json", true),
        (nothing.url(), "no_answer", true),
        (stranger.url(), "id_mismatch", true),
        (notice.url(), "invalid_message", true),
    ] {
        let (lines, status, people) = run(&["--deadline-ms", "400", &url, "tools/list"]);
        assert_eq!(status, Some(3), "{kind}");
        let (error, before) = lines.split_last().expect("a line");
        let events: Vec<_> = before.iter().map(|line| &line["type"]).collect();
        let expected = match kind {
            "id_mismatch" => vec!["stray"],
            "invalid_message" => vec!["notification"],
            _ => vec![],
        };
        assert_eq!(events, expected, "{kind}");
        assert_eq!((&error["kind"], &error["may_have_run"]), (&json!(kind), &json!(may_have_run)));
        assert!(error["message"].is_string() && error["elapsed_ms"].is_u64());
        assert!(!people.is_empty(), "{kind}: standard error says it for people");
    }
}

#[test]
fn a_batch_has_one_line_per_call_in_order() {
    let peer = Peer::start();
    let whole = peer.scenario([Script::new(Response::sse([Sse::progress(1), Sse::charged()]))]);
    let silent = peer.scenario([Script::whole().cut(At::byte(0), Ending::Stall)]);
    let calls = [
        json!({"url": whole.url(), "method": "tools/call", "params": {"name": "charge"}}).to_string(),
        json!({"url": silent.url(), "method": "tools/list", "deadline_ms": 200}).to_string(),
        String::new(),
        "{\"url\":1}".to_owned(),
        "\u{fffd}".to_owned(),
        json!({"url": whole.url(), "method": "tools/list"}).to_string(),
    ];
    let mut child = program()
        .arg("--batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut input = child.stdin.take().expect("it was piped");
    // One of the lines is not even UTF-8.
    let calls: Vec<_> = calls.join("\n").into_bytes();
    let calls =
        calls.split(|byte| *byte == b'\n').map(|line| if line == "\u{fffd}".as_bytes() { b"\xff" } else { line });
    for line in calls {
        input.write_all(&[line, b"\n"].concat()).expect("it reads");
    }
    drop(input);
    let (lines, status, _) = read(&child.wait_with_output().expect("it ends"));
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().or_else(|| line["type"].as_str())).collect();
    assert_eq!(kinds, [Some("answer"), Some("timeout"), Some("misuse"), Some("misuse"), Some("answer")]);
    assert_eq!(status, Some(3));
    assert_eq!(whole.connections().len(), 1, "a batch uses its connections again");
}

#[test]
fn e11_a_legacy_timeout_is_told_to_the_server_before_the_program_ends() {
    let peer = Peer::start();
    for (version, notifications) in [("2025-06-18", 1), ("2026-07-28", 0)] {
        let scenario = peer.scenario([Script::whole().cut(At::byte(0), Ending::Stall)]);
        let arguments = ["--protocol", version, "--deadline-ms", "200", &scenario.url(), "tools/call", "{}"];
        let (lines, status, _) = run(&arguments);
        assert_eq!((status, &lines[0]["kind"]), (Some(3), &json!("timeout")));
        let told = |requests: &[Request]| {
            requests.iter().filter(|request| request.method() == Some("notifications/cancelled")).count()
        };
        let is_told = scenario.wait_for(|log| told(&log.requests) == notifications, Duration::from_secs(5));
        assert!(is_told, "{version}: {} notifications", told(&scenario.requests()));
        assert_eq!(scenario.executions(), 1);
    }
}

#[test]
fn usage_errors_say_what_was_expected_and_exit_with_2() {
    for (arguments, expected) in [
        (&["http://localhost/"][..], "expected URL METHOD"),
        (&["ftp://localhost/", "m"], "neither http nor https"),
        (&["http://user:secret@localhost/", "m"], "credentials"),
        (&["http://localhost/", "m", "[]"], "expected a JSON object"),
        (&["--cacert", "no-such-file.pem", "https://localhost/", "m"], "no-such-file.pem"),
        (&["--deadline-ms", "x", "http://localhost/", "m"], "expected a whole number"),
        (&["--protocol", "1999-01-01", "http://localhost/", "m"], "expected a revision"),
    ] {
        let (_, status, people) = run(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {people}");
        assert!(people.contains(expected), "{arguments:?}: {people}");
        assert!(!people.contains("secret"), "{people}");
    }
}

#[test]
fn tls_with_a_certificate_file_and_an_extra_header() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    let file = std::env::temp_dir().join(format!("mcp-sse-call-{}.pem", std::process::id()));
    std::fs::write(&file, peer.certificate_pem()).expect("a temporary file");
    let path = file.to_str().expect("UTF-8");
    let (_, trusted, _) =
        run(&["--cacert", path, "--header", "Authorization: Bearer t", &scenario.url(), "tools/list"]);
    let (lines, untrusted, _) = run(&[&scenario.url(), "tools/list"]);
    let environment = program().args([&scenario.url(), "tools/list"]).env("SSL_CERT_FILE", path).output();
    std::fs::remove_file(&file).expect("it was written");
    assert_eq!(trusted, Some(0));
    assert_eq!(scenario.requests()[0].header("authorization"), Some("Bearer t"));
    assert_eq!((untrusted, &lines[0]["kind"]), (Some(3), &json!("unsent")));
    assert_eq!(environment.expect("it runs").status.code(), Some(0), "SSL_CERT_FILE is honoured");
}

#[test]
fn no_argument_is_the_demonstration_and_all_its_rows_are_as_they_must_be() {
    let output = program().stdin(Stdio::null()).output().expect("the program can be run");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{table}");
    assert_eq!(
        table.lines().filter(|line| line.contains("settled") || line.contains("salvaged")).count(),
        8,
        "{table}"
    );
    assert!(!table.contains("must be"), "{table}");
}
