//! The processes: the server, and the callers that obey orders.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mcp_sse_benches::callers::orders::{Measured, Order};
use mcp_sse_benches::callers::{Caller, Failure};

/// A process that ends with its owner.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(program: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or("no pipes")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err("it ended".into());
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The server.
pub(crate) struct Server {
    _process: Process,
    url: String,
}

impl Server {
    pub(crate) fn start() -> Result<Self, Failure> {
        let mut process = Process::start(&std::env::current_exe()?, &["serve"])?;
        let url = process.line()?;
        Ok(Self { _process: process, url })
    }
}

/// A caller.
pub(crate) struct Calling {
    process: Process,
    pub(crate) caller: Caller,
}

impl Calling {
    /// One that can be timed.
    pub(crate) fn start(caller: Caller, server: &Server) -> Result<Self, Failure> {
        let process = Process::start(&std::env::current_exe()?, &["call", caller.word(), &server.url])?;
        Ok(Self { process, caller })
    }

    /// One whose heap is counted.
    pub(crate) fn counted(caller: Caller, server: &Server) -> Result<Self, Failure> {
        let program = Path::new(env!("CARGO_BIN_EXE_calls-counted"));
        Ok(Self { process: Process::start(program, &["call", caller.word(), &server.url])?, caller })
    }

    pub(crate) fn order(&mut self, order: Order) -> Result<Measured, Failure> {
        let name = self.caller.name();
        let mut obey = || {
            writeln!(self.process.input, "{}", order.to_line())?;
            Measured::of_line(&self.process.line()?)
        };
        obey().map_err(|failure| format!("{name}: {}: {failure}", order.to_line()).into())
    }
}
