//! The cases of the contract, each for the program that it is given.
//!
//! Rule: only what is to stall has a short deadline; where a call must have got far by then, a longer one is tried if the machine
//! was too busy.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use mcp_sse_tests::peer::{At, Coding, Ending, Gate, Mark, Peer, Request, Response, Script, Sse, Text, refused_url};
use serde_json::{Value, json};

use crate::program::{Program, Ran};

const BOUND: Duration = Duration::from_secs(15);
/// Deadlines of calls that stall, in milliseconds.
const STALLS: [&str; 3] = ["400", "1600", "6400"];
const CHARGE: &str = r#"{"name":"charge"}"#;

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().expect("a type")).collect()
}

pub(crate) fn an_answer_is_the_last_line_and_exit_status_0(program: &Program) {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::new(Response::sse([Sse::progress(1), Sse::charged()]))]);
    let params = r#"{"name":"charge","arguments":{"n":12345678901234567890},"_meta":{"progressToken":"p"}}"#;
    let ran = program.run(&[&scenario.url(), "tools/call", params]);
    assert_eq!(ran.status, Some(0));
    let [notification, answer] = ran.lines.as_slice() else { panic!("{:?}", ran.lines) };
    assert_eq!((&notification["type"], &notification["attempt"]), (&json!("notification"), &json!(1)));
    assert_eq!(notification["message"]["method"], "notifications/progress");
    assert_eq!(answer["type"], "answer");
    let told = (&answer["verdict"], &answer["attempts"], &answer["status"]);
    assert_eq!(told, (&json!("settled"), &json!(1), &json!(200)));
    assert!(answer["elapsed_ms"].is_u64());
    assert_eq!(answer["message"]["jsonrpc"], "2.0");
    assert!(answer["message"]["result"].is_object());
    // The parameters went out as they were written.
    let body = String::from_utf8(scenario.requests()[0].body.clone()).expect("UTF-8");
    assert!(body.contains(r#""arguments":{"n":12345678901234567890}"#), "{body}");
}

pub(crate) fn e21_events_are_printed_as_they_happen(program: &Program) {
    let peer = Peer::start();
    let gate = Gate::new();
    let progress = Script::new(Response::sse([Sse::progress(1), Sse::charged()]));
    let scenario = peer.scenario([progress.wait_at(At::mark(Mark::AnswerStart), &gate)]);
    let mut running = program.start(&[&scenario.url(), "tools/call", CHARGE]);
    // The answer is sent only once this line was read.
    assert_eq!(running.line().expect("a line")["type"], "notification");
    gate.open();
    assert_eq!(running.line().expect("a line")["type"], "answer");
    assert_eq!((running.line(), running.status()), (None, Some(0)));
}

pub(crate) fn a_lost_stream_is_told_and_sent_again(program: &Program) {
    let peer = Peer::start();
    let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Fin);
    let scenario = peer.scenario([broken, Script::whole()]);
    let ran = program.run(&[&scenario.url(), "tools/call", CHARGE]);
    assert_eq!((ran.status, scenario.executions()), (Some(0), 2));
    let [reissue, answer] = ran.lines.as_slice() else { panic!("{:?}", ran.lines) };
    assert_eq!((&reissue["type"], &reissue["attempt"]), (&json!("reissue"), &json!(2)));
    assert_eq!(reissue["exposure"], "streaming");
    assert!(reissue["cause"].is_string());
    assert_eq!((&answer["verdict"], &answer["attempts"]), (&json!("settled"), &json!(2)));
}

pub(crate) fn f1_as_many_replacements_as_asked_for(program: &Program) {
    let peer = Peer::start();
    let broken = || Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Fin);
    for (most, status, executions) in [("1", 3, 2), ("2", 0, 3)] {
        let scenario = peer.scenario([broken(), broken(), Script::whole()]);
        let ran = program.run(&["--max-reissues", most, &scenario.url(), "tools/call", CHARGE]);
        assert_eq!((ran.status, scenario.executions()), (Some(status), executions));
        let (last, before) = ran.last();
        assert_eq!((types(before), &last["attempts"]), (vec!["reissue"; executions - 1], &json!(executions)));
    }
}

pub(crate) fn f14_never_is_an_error_that_says_it_may_have_run(program: &Program) {
    let peer = Peer::start();
    for policy in ["--reissue=never", "--reissue=replay-safe", "--max-reissues=0"] {
        let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Reset);
        let scenario = peer.scenario([broken, Script::whole()]);
        let ran = program.run(&[policy, &scenario.url(), "tools/call", CHARGE]);
        assert_eq!((ran.status, scenario.executions()), (Some(3), 1), "{policy}");
        let [error] = ran.lines.as_slice() else { panic!("{:?}", ran.lines) };
        assert_eq!((&error["type"], &error["kind"]), (&json!("error"), &json!("lost")));
        assert_eq!((&error["attempts"], &error["may_have_run"]), (&json!(1), &json!(true)));
        assert!(ran.people.contains("it may have run"), "{}", ran.people);
    }
}

pub(crate) fn e9_an_unterminated_answer_is_salvaged_unless_the_tail_is_strict(program: &Program) {
    let peer = Peer::start();
    for (option, verdict, executions) in [(None, "salvaged", 1), (Some("--strict-tail"), "settled", 2)] {
        let open = Script::new(Response::sse([Sse::charged().without_blank_line()])).then(Ending::Fin);
        let scenario = peer.scenario([open, Script::whole()]);
        let url = scenario.url();
        let arguments: Vec<_> = option.into_iter().chain([url.as_str(), "tools/call", CHARGE]).collect();
        let ran = program.run(&arguments);
        assert_eq!((ran.status, scenario.executions()), (Some(0), executions));
        assert_eq!(ran.last().0["verdict"], verdict);
    }
}

pub(crate) fn a_json_rpc_error_is_an_answer_and_exit_status_1(program: &Program) {
    let peer = Peer::start();
    let refusal = Script::new(Response::json(Text::error(-32602, "no such\ntool")));
    let scenario = peer.scenario([refusal]);
    let ran = program.run(&[&scenario.url(), "tools/call", CHARGE]);
    assert_eq!(ran.status, Some(1));
    let [answer] = ran.lines.as_slice() else { panic!("{:?}", ran.lines) };
    assert_eq!((&answer["type"], &answer["message"]["error"]["code"]), (&json!("answer"), &json!(-32602)));
}

pub(crate) fn the_kinds_of_transport_errors_and_exit_status_3(program: &Program) {
    let peer = Peer::start();
    let responses = [
        (Response::empty(503), "status", &[][..]),
        (Response::raw("<html>").content_type("text/html"), "content_type", &[]),
        (Response::json("{\"jsonrpc\":"), "invalid_json", &[]),
        (Response::empty(202), "no_answer", &[]),
        (Response::json(r#"{"jsonrpc":"2.0","id":"other","result":{}}"#), "id_mismatch", &["stray"]),
        (Response::json(r#"{"jsonrpc":"2.0","method":"m"}"#), "invalid_message", &["notification"]),
        (Response::sse([Sse::charged()]).coding(Coding::gzip().corrupt_after_blocks(0)), "content_coding", &[]),
        // Above the limit of a JSON body; on the wire it is small.
        (Response::json(" ".repeat(65 << 20)).coding(Coding::gzip()), "too_large", &[]),
    ];
    for (response, kind, events) in responses {
        let scenario = peer.scenario([Script::new(response)]);
        let ran = program.run(&[&scenario.url(), "tools/list"]);
        check_error(&ran, kind, true, events);
        assert_eq!(scenario.executions(), 1, "{kind}");
    }
    check_error(&program.run(&[&refused_url(), "tools/list"]), "unsent", false, &[]);
    let is_in_time = STALLS.into_iter().any(|deadline| {
        let silent = peer.scenario([Script::whole().cut(At::byte(0), Ending::Stall)]);
        let ran = program.run(&["--deadline-ms", deadline, &silent.url(), "tools/list"]);
        let was_sent = ran.last().0["may_have_run"] == true;
        check_error(&ran, "timeout", was_sent, &[]);
        assert!(ran.last().0["elapsed_ms"].as_u64() >= deadline.parse().ok(), "{:?}", ran.lines);
        was_sent
    });
    assert!(is_in_time, "no call was sent in time");
}

fn check_error(ran: &Ran, kind: &str, may_have_run: bool, events: &[&str]) {
    let (error, before) = ran.last();
    assert_eq!((&error["type"], &error["kind"], ran.status), (&json!("error"), &json!(kind), Some(3)));
    assert_eq!((&error["may_have_run"], &error["attempts"]), (&json!(may_have_run), &json!(1)), "{kind}");
    assert_eq!(types(before), events, "{kind}");
    assert!(error["message"].is_string() && error["elapsed_ms"].is_u64());
    assert!(!ran.people.is_empty(), "{kind}: standard error says it for people");
}

pub(crate) fn a_batch_has_one_line_per_call_in_order(program: &Program) {
    let peer = Peer::start();
    let whole = peer.scenario([Script::new(Response::sse([Sse::progress(1), Sse::charged()]))]);
    let silent = peer.scenario([Script::whole().cut(At::byte(0), Ending::Stall)]);
    let call = |method: &str| json!({"url": whole.url(), "method": method, "params": {"name": "charge"}}).to_string();
    let calls = [
        call("tools/call").into_bytes(),
        json!({"url": silent.url(), "method": "tools/list", "deadline_ms": 200}).to_string().into_bytes(),
        Vec::new(),
        b"{\"url\":1}".to_vec(),
        // Not even UTF-8.
        b"\xff".to_vec(),
        call("tools/list").into_bytes(),
    ];
    let child =
        program.command().arg("--batch").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the program can be run");
    let mut input = child.stdin.take().expect("it was piped");
    input.write_all(&calls.join(&b"\n"[..])).expect("it reads");
    drop(input);
    let ran = Ran::new(&child.wait_with_output().expect("it ends"));
    // A line for each call, its last; what went before is not printed.
    let kinds: Vec<_> = ran.lines.iter().map(|line| line["kind"].as_str().or_else(|| line["type"].as_str())).collect();
    assert_eq!(kinds, [Some("answer"), Some("timeout"), Some("misuse"), Some("misuse"), Some("answer")]);
    assert_eq!(ran.status, Some(3), "the highest of all");
    assert_eq!(whole.connections().len(), 1, "a batch uses its connections again");
    let methods: Vec<_> = whole.executed().into_iter().map(|execution| execution.method).collect();
    assert_eq!(methods, ["tools/call", "tools/list"]);
}

pub(crate) fn e11_a_legacy_timeout_is_told_to_the_server_before_the_program_ends(program: &Program) {
    let peer = Peer::start();
    let told = |requests: &[Request]| {
        requests.iter().filter(|request| request.method() == Some("notifications/cancelled")).count()
    };
    for (version, notifications) in [("2025-06-18", 1), ("2026-07-28", 0)] {
        let is_in_time = STALLS.into_iter().any(|deadline| {
            let initialize = Script::new(Response::json(Text::with(|request| {
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}});
                json!({"jsonrpc": "2.0", "id": request.id(), "result": result}).to_string()
            })));
            let initialize = initialize.when(|request| request.method() == Some("initialize"));
            let call = Script::whole().cut(At::byte(0), Ending::Stall);
            let scenario = peer.scenario([initialize, call.when(|request| request.method() == Some("tools/call"))]);
            let arguments = ["--protocol", version, "--deadline-ms", deadline, &scenario.url(), "tools/call", "{}"];
            let ran = program.run(&arguments);
            let was_sent = ran.last().0["may_have_run"] == true;
            check_error(&ran, "timeout", was_sent, &[]);
            // What was sent before the program ended is read by the peer in its own time.
            let is_told = scenario.wait_for(|log| !was_sent || told(&log.requests) == notifications, BOUND);
            assert!(is_told, "{version}: {} notifications", told(&scenario.requests()));
            let calls = scenario.executed().into_iter().filter(|execution| execution.method == "tools/call").count();
            assert_eq!(calls, usize::from(was_sent));
            was_sent
        });
        assert!(is_in_time, "{version}: no call was sent in time");
    }
}

pub(crate) fn help_tells_the_options(program: &Program) {
    let output = program.command().arg("--help").output().expect("the program can be run");
    let help = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    let options = [
        "--batch",
        "--deadline-ms",
        "--max-reissues",
        "--reissue",
        "--protocol",
        "--header",
        "--cacert",
        "--strict-tail",
        "--record",
        "--bodies",
        "--replay",
    ];
    for option in options {
        assert!(help.contains(option), "{option}: {help}");
    }
}

pub(crate) fn usage_errors_say_what_was_expected_and_exit_with_2(program: &Program) {
    for (arguments, expected) in [
        (&["http://localhost/"][..], "expected URL METHOD"),
        (&["ftp://localhost/", "m"], "neither http nor https"),
        (&["http://user:secret@localhost/", "m"], "credentials"),
        (&["http://localhost/", "m", "[]"], "expected a JSON object"),
        (&["--cacert", "no-such-file.pem", "https://localhost/", "m"], "no-such-file.pem"),
        (&["--deadline-ms", "x", "http://localhost/", "m"], "expected a whole number"),
        (&["--protocol", "1999-01-01", "http://localhost/", "m"], "expected a revision"),
    ] {
        let Ran { status, people, .. } = program.run(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {people}");
        assert!(people.contains(expected), "{arguments:?}: {people}");
        assert!(!people.contains("secret"), "{people}");
    }
}

pub(crate) fn tls_with_a_certificate_file_and_an_extra_header(program: &Program) {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    // Its name is the port's, which no other peer has meanwhile.
    let file = std::env::temp_dir().join(format!("mcp-sse-call-{}.pem", peer.address().port()));
    std::fs::write(&file, peer.certificate_pem()).expect("a temporary file");
    let path = file.to_str().expect("UTF-8");
    let url = scenario.url();
    let trusted = program.run(&["--cacert", path, "--header", "Authorization: Bearer t", &url, "tools/list"]);
    let untrusted = program.run(&[&url, "tools/list"]);
    let environment = program.command().args([&url, "tools/list"]).env("SSL_CERT_FILE", path).output();
    std::fs::remove_file(&file).expect("it was written");
    assert_eq!(trusted.status, Some(0), "{}", trusted.people);
    assert_eq!(scenario.requests()[0].header("authorization"), Some("Bearer t"));
    check_error(&untrusted, "unsent", false, &[]);
    assert_eq!(environment.expect("it runs").status.code(), Some(0), "SSL_CERT_FILE is honoured");
}

pub(crate) fn what_is_recorded_is_replayed_with_the_same_lines_and_status(program: &Program) {
    let peer = Peer::start();
    let stream = || Response::sse([Sse::progress(1), Sse::charged()]);
    let lost = Script::new(stream()).cut(At::mark(Mark::AnswerStart), Ending::Fin);
    let refusal = Script::new(Response::json(Text::error(-32602, "no such tool")));
    let params = r#"{"name":"charge","arguments":{"card":"4111-1111"},"_meta":{"progressToken":"p"}}"#;
    let without_time = |lines: &[Value]| {
        let mut lines = lines.to_vec();
        lines.iter_mut().for_each(|line| line["elapsed_ms"] = Value::Null);
        lines
    };
    let cases =
        [(vec![lost, Script::new(stream())], 0), (vec![refusal], 1), (vec![Script::new(Response::empty(503))], 3)];
    for (case, (scripts, status)) in cases.into_iter().enumerate() {
        for bodies in ["whole", "redacted"] {
            let scenario = peer.scenario(scripts.clone());
            let name = format!("mcp-sse-call-{}-{case}-{bodies}.txt", peer.address().port());
            let file = std::env::temp_dir().join(name);
            let path = file.to_str().expect("UTF-8");
            let url = scenario.url();
            let header = "Authorization: Bearer secret-token";
            let arguments = ["--record", path, "--bodies", bodies, "--header", header, &url, "tools/call", params];
            let recorded = program.run(&arguments);
            let text = std::fs::read_to_string(&file).expect("it was written");
            let replayed = program.run(&["--replay", path]);
            std::fs::remove_file(&file).expect("it was written");
            assert_eq!((recorded.status, replayed.status), (Some(status), Some(status)), "{}{text}", replayed.people);
            assert!(!text.contains("secret-token"), "{text}");
            // The card's number whole: a part of it may be a part of the peer's port.
            assert_eq!(text.contains("4111-1111"), bodies == "whole", "{text}");
            if bodies == "whole" {
                assert_eq!(without_time(&replayed.lines), without_time(&recorded.lines));
            }
            assert_eq!(types(&replayed.lines), types(&recorded.lines));
            assert!(replayed.people.contains("all as recorded"), "{}", replayed.people);
        }
    }
}

pub(crate) fn a_recording_that_says_no_more_than_sizes_is_not_replayed(program: &Program) {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole()]);
    let file = std::env::temp_dir().join(format!("mcp-sse-call-{}-sized.txt", peer.address().port()));
    let path = file.to_str().expect("UTF-8");
    let recorded = program.run(&["--record", path, "--bodies", "sized", &scenario.url(), "tools/list", "{}"]);
    let replayed = program.run(&["--replay", path]);
    std::fs::write(&file, "mcp-sse recording 2\n").expect("it can be written");
    let unknown = program.run(&["--replay", path]);
    std::fs::remove_file(&file).expect("it was written");
    assert_eq!((recorded.status, replayed.status, unknown.status), (Some(0), Some(2), Some(2)));
    assert_eq!(replayed.last().0["kind"], "misuse");
    assert!(replayed.people.contains("size and checksum alone"), "{}", replayed.people);
    assert!(unknown.people.contains("line 1: `mcp-sse recording 1` was wanted"), "{}", unknown.people);
}

pub(crate) fn no_argument_is_the_demonstration_and_all_its_rows_are_as_they_must_be(program: &Program) {
    let output = program.command().output().expect("the program can be run");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{table}");
    let is_answered = |line: &&str| line.contains("settled") || line.contains("salvaged");
    assert_eq!(table.lines().filter(is_answered).count(), 8, "{table}");
    assert!(!table.contains("must be"), "{table}");
}
