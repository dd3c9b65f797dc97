//! The examples that serve until they are interrupted.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use mcp_sse_blocking::Client;
use serde_json::json;

/// A program that serves.
pub(crate) struct Serving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("NO_PROXY", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("the program can be run");
        let lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        Self { child, lines }
    }

    /// The word of its next line that is a URL.
    pub(crate) fn url(&mut self) -> String {
        let line = self.lines.next().expect("a line").expect("UTF-8");
        line.split(' ').find(|word| word.starts_with("http://")).expect("a URL").to_owned()
    }

    /// Interrupts it, as Ctrl-C does: it ends with 0.
    #[cfg(unix)]
    pub(crate) fn interrupt(mut self) {
        let told = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(told.expect("there is a kill").success());
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn axum_answers_calls_and_ends_when_it_is_interrupted() {
    let mut serving = Serving::start(env!("CARGO_BIN_EXE_example-axum"), &["127.0.0.1:0"]);
    let client = Client::new(&serving.url()).expect("a URL");
    let reply = client.call("tools/call", &json!({"name": "peer"})).expect("a reply");
    let result = reply.result().expect("a result");
    assert!(result.contains(r#""text":"127.0.0.1:"#), "{result}");
    #[cfg(unix)]
    serving.interrupt();
}
