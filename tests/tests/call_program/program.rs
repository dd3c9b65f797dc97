//! Running a program and reading what it says.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

/// One adapter's `call`.
pub(crate) struct Program {
    path: &'static str,
}

/// What a run came to.
pub(crate) struct Ran {
    /// Standard output: a value for each line.
    pub(crate) lines: Vec<Value>,
    pub(crate) status: Option<i32>,
    /// Standard error.
    pub(crate) people: String,
}

/// A program under way, which is read line by line.
pub(crate) struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    pub(crate) fn new(path: &'static str) -> Self {
        Self { path }
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.path);
        // Set by whoever runs the tests, it would be trusted by each program.
        command.env_remove("SSL_CERT_FILE").stdin(Stdio::null());
        // No proxy leads to the peers.
        command.env("NO_PROXY", "localhost, 127.0.0.1, ::1");
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(&self.command().args(arguments).output().expect("the program can be run"))
    }

    /// Starts it.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let child = self.command().args(arguments).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the program can be run");
        let lines = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        Running { child, lines }
    }
}

impl Ran {
    pub(crate) fn new(output: &Output) -> Self {
        let out = std::str::from_utf8(&output.stdout).expect("UTF-8");
        Self {
            lines: out.lines().map(value).collect(),
            status: output.status.code(),
            people: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The last line and those before it.
    pub(crate) fn last(&self) -> (&Value, &[Value]) {
        self.lines.split_last().unwrap_or_else(|| panic!("no line; {}", self.people))
    }
}

impl Running {
    /// The next line; `None` at the end of the output.
    pub(crate) fn line(&mut self) -> Option<Value> {
        self.lines.next().map(|line| value(&line.expect("UTF-8")))
    }

    /// Its exit status.
    pub(crate) fn status(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("each line is JSON: {error}: {line}"))
}
