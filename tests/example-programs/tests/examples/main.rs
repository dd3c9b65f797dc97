//! Each example is run as a program: what it says, and that it ends with 0.
//!
//! `call` and `serve` have a contract of their own, in the tests' crate.

mod proxy;
mod servers;

use std::process::{Command, Stdio};

/// What a program printed, having ended with 0.
fn said(program: &str) -> String {
    let mut command = Command::new(program);
    command.env("NO_PROXY", "127.0.0.1").stdin(Stdio::null());
    let output = command.output().expect("the program can be run");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    out.into_owned()
}

/// Whether the lines begin so, in this order, and are no more.
fn assert_lines(said: &str, lines: &[&str]) {
    let is_same = said.lines().count() == lines.len() && said.lines().zip(lines).all(|(a, b)| a.starts_with(b));
    assert!(is_same, "not the lines {lines:#?}, but\n{said}");
}

/// F1: a lost call runs again, under a new id.
#[test]
fn std_net_sends_a_lost_call_again() {
    assert_lines(
        &said(env!("CARGO_BIN_EXE_example-std-net")),
        &[
            "attempt 2 begins, since the last one was lost (streaming): the peer reset the connection",
            r#"answer: {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"charged 2"}]"#,
            "settled after 2 attempts (streaming); an earlier one may have run",
        ],
    );
}

/// E5, E9, E3.
#[test]
fn smol_makes_three_calls_at_once() {
    assert_lines(
        &said(env!("CARGO_BIN_EXE_example-smol")),
        &[
            "lost: settled after 2 attempts (streaming); an earlier one may have run; it ran 2 times: {",
            "delivered, then broken: salvaged after 1 attempts (streaming); it ran 1 times: {",
            "sound: settled after 1 attempts (streaming); it ran 1 times: {",
        ],
    );
}

/// A thousand exchanges in one thread, each with one answer and one outcome.
#[test]
fn poll_loop_has_one_outcome_for_each_of_a_thousand_calls() {
    assert_lines(
        &said(env!("CARGO_BIN_EXE_example-poll-loop")),
        &[r#"1000 calls, 1000 at once: {"salvaged": 200, "settled": 800}; run 1400 times"#],
    );
}

/// E3: the stream broke behind the answer's event.
#[test]
fn reqwest_shows_the_answer_and_the_verdict() {
    assert_lines(
        &said(env!("CARGO_BIN_EXE_example-reqwest")),
        &["Notification(", r#"answer: {"jsonrpc":"2.0","id":7,"result":"#, "verdict: Salvaged {"],
    );
}

/// What breaks on the server's side breaks on the client's, with all that came before.
#[test]
fn proxy_hands_on_what_came_before_a_break() {
    assert_lines(
        &said(env!("CARGO_BIN_EXE_example-proxy")),
        &[
            "sound: settled after 1 attempts (streaming); run 1 times",
            "broken behind the answer: salvaged after 1 attempts (streaming); run 1 times",
            "broken before its blank line: salvaged after 1 attempts (streaming); run 1 times",
            "broken within the answer: settled after 2 attempts (streaming); an earlier one may have run; run 2 times",
        ],
    );
}

/// E5.
#[test]
fn hyper_shows_that_the_answer_is_lost() {
    assert_lines(
        &said(env!("CARGO_BIN_EXE_example-hyper")),
        &["Notification(", "lost (the peer reset the connection), having got as far as streaming: send it again"],
    );
}
