//! The `serve` program under way, and the `call` programs that call it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// This project's clients as programs.
pub(crate) const CALLS: [&str; 2] = [env!("CARGO_BIN_EXE_call-blocking"), env!("CARGO_BIN_EXE_call-tokio")];

/// How long something may take that takes no time.
const BOUND: Duration = Duration::from_secs(30);

/// A server that runs, until it is dropped.
pub(crate) struct Serve {
    child: Child,
    /// What it printed first.
    pub(crate) url: String,
    remarks: Receiver<String>,
}

/// What a call came to: the lines that `call` printed, and its exit status.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) lines: Vec<Value>,
    pub(crate) status: Option<i32>,
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("the program can be run")
}

impl Serve {
    /// Starts it on any free port.
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be run");
        let mut out = BufReader::new(child.stdout.take().expect("it was piped")).lines();
        let err = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        let (remark, remarks) = channel();
        thread::spawn(move || err.map_while(Result::ok).try_for_each(|line| remark.send(line)));
        let url = out.next().expect("a line").expect("UTF-8");
        Self { child, url, remarks }
    }

    /// The next line for people.
    pub(crate) fn remark(&self) -> String {
        self.remarks.recv_timeout(BOUND).expect("a remark")
    }

    /// Makes a call with one of the programs.
    pub(crate) fn call(&self, call: &str, options: &[&str], method: &str, params: &Value) -> Called {
        let mut command = Command::new(call);
        command.env_remove("SSL_CERT_FILE").env("NO_PROXY", "127.0.0.1").stdin(Stdio::null());
        let output = command.args(options).args([&self.url, method, &params.to_string()]).output();
        Called::new(&output.expect("the program can be run"))
    }

    /// Calls a tool, and asks for progress.
    pub(crate) fn tool(&self, call: &str, options: &[&str], name: &str, arguments: &Value) -> Called {
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}});
        self.call(call, options, "tools/call", &params)
    }

    /// Makes calls with one client, one after the other.
    pub(crate) fn batch(&self, call: &str, options: &[&str], jobs: &[(&str, Value)]) -> Called {
        let mut command = Command::new(call);
        command.env("NO_PROXY", "127.0.0.1").arg("--batch").args(options);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program can be run");
        let mut input = child.stdin.take().expect("it was piped");
        for (method, params) in jobs {
            let job = json!({"url": self.url, "method": method, "params": params});
            writeln!(input, "{job}").expect("it reads");
        }
        drop(input);
        Called::new(&child.wait_with_output().expect("it ends"))
    }

    /// Posts a call of the tool `counter` under 2026-07-28, and gives the whole response.
    pub(crate) fn post(&self, body: &str) -> String {
        let authority = self.url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL").0;
        let mut socket = TcpStream::connect(authority).expect("it listens");
        socket.set_read_timeout(Some(BOUND)).expect("a bound");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
             Mcp-Name: counter\r\nConnection: close\r\n\r\n",
            body.len()
        );
        socket.write_all((head + body).as_bytes()).expect("it reads");
        let mut response = String::new();
        socket.read_to_string(&mut response).expect("it answers, and closes");
        response
    }

    /// Interrupts it, as Ctrl-C does, and gives its exit status.
    #[cfg(unix)]
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        let process = self.child.id().to_string();
        let told = Command::new("kill").args(["-INT", &process]).status().expect("there is a kill");
        assert!(told.success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Called {
    fn new(output: &Output) -> Self {
        let lines = std::str::from_utf8(&output.stdout).expect("UTF-8").lines();
        Self {
            lines: lines.map(|line| serde_json::from_str(line).expect("each line is JSON")).collect(),
            status: output.status.code(),
        }
    }

    /// The last line.
    pub(crate) fn last(&self) -> &Value {
        self.lines.last().expect("a line")
    }

    /// What the tool said.
    pub(crate) fn text(&self) -> &str {
        assert_eq!(self.status, Some(0), "{self:?}");
        self.last()["message"]["result"]["content"][0]["text"].as_str().expect("a text")
    }

    /// How far the calls said they had got.
    pub(crate) fn progress(&self) -> Vec<u64> {
        let notifications = self.lines.iter().filter(|line| line["message"]["method"] == "notifications/progress");
        let values = notifications.map(|line| line["message"]["params"]["progress"].as_f64().expect("a number"));
        values.map(|value| value as u64).collect()
    }
}
