//! The `call` program, as far as both adapters share it: its options, its lines, its demonstration.
//!
//! Rules: one contract, so that a person, a script or a bench can use either adapter without knowing which;
//! what makes the call is the [`Adapter`], which each example implements over its own client.

mod demonstration;
mod lines;
mod options;
mod replay;

use std::fs;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub use demonstration::{PARAMS, Row, rows};
use mcp_sse_core::client::{CallError, CallEvent, Done, Reply};
use mcp_sse_core::recording::{Bodies, Recording};
pub use options::{Invocation, Job, Settings, Usage};

/// Makes calls over a client of its own.
pub trait Adapter {
    /// Makes one call and shows its events as they come. With `to_end` it waits for the end of the exchange
    /// as well, however long the stream stays open.
    ///
    /// # Errors
    /// [`Trouble::Usage`] if no client can be made of the job and settings, [`Trouble::Call`] if the call fails.
    fn call(
        &self,
        job: &Job,
        settings: &Settings,
        to_end: bool,
        on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<(Reply, Option<Done>), Trouble>;

    /// What happened to the client of this URL, if it was written down.
    fn recording(&self, url: &str, bodies: Bodies) -> Option<Recording>;
}

/// Why there is no reply.
#[derive(Debug)]
pub enum Trouble {
    /// The job or the settings cannot be used.
    Usage(String),
    /// The call failed.
    Call(CallError),
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// What a call came to, as an exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Result = 0,
    JsonRpcError = 1,
    Usage = 2,
    Transport = 3,
}

/// Runs the program with the process's arguments.
pub fn main(adapter: &impl Adapter) -> ExitCode {
    match options::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Help) => {
            println!("{}", options::HELP);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Demonstration) => demonstration::run(adapter),
        Ok(Invocation::One(job, settings)) => code(one(adapter, &job, &settings)),
        Ok(Invocation::Replay(file)) => code(replay::run(&file)),
        Ok(Invocation::Batch(settings)) => code(batch(adapter, &settings)),
        Err(usage) => {
            eprintln!("call: {usage}\n\n{}", options::HELP);
            ExitCode::from(Status::Usage as u8)
        }
    }
}

/// A standard output that nobody reads any more, or a standard input that cannot be read, ends the program quietly.
fn code(status: io::Result<Status>) -> ExitCode {
    status.map_or(ExitCode::from(Status::Transport as u8), |status| ExitCode::from(status as u8))
}

/// One call: each event as it comes, then the last line.
fn one(adapter: &impl Adapter, job: &Job, settings: &Settings) -> io::Result<Status> {
    let mut broken = None;
    let ended = timed(adapter, job, settings, &mut |event| {
        let line = lines::event(&event);
        match line.map_or(Ok(()), |line| print(&line)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                broken = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = broken {
        return Err(error);
    }
    print(&ended.line)?;
    if let (Some(file), Some(recording)) = (&settings.record, adapter.recording(&job.url, settings.bodies)) {
        if let Err(error) = fs::write(file, recording.to_string()) {
            eprintln!("call: --record {}: {error}", file.display());
            return Ok(Status::Usage);
        }
        if recording.bodies() > settings.bodies {
            eprintln!(
                "call: --record: redacted, it would not replay to the same; sizes and checksums are written instead"
            );
        }
    }
    Ok(ended.status)
}

/// A call for each line of standard input, and a line for each call, in order.
fn batch(adapter: &impl Adapter, settings: &Settings) -> io::Result<Status> {
    let mut worst = Status::Result;
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let ended = match options::batch_job(&line) {
            Ok(job) => timed(adapter, &job, settings, &mut |_| ControlFlow::Continue(())),
            Err(usage) => {
                eprintln!("call: {usage}");
                Ended { line: lines::misuse(&usage.to_string()), status: Status::Usage }
            }
        };
        print(&ended.line)?;
        worst = worst.max(ended.status);
    }
    Ok(worst)
}

struct Ended {
    line: String,
    status: Status,
}

fn timed(
    adapter: &impl Adapter,
    job: &Job,
    settings: &Settings,
    on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
) -> Ended {
    let start = Instant::now();
    // A recording goes to the end of the exchange.
    let ended = adapter.call(job, settings, settings.record.is_some(), on_event);
    let elapsed: Duration = start.elapsed();
    match ended {
        Ok((reply, _)) => answered(&reply, elapsed),
        Err(Trouble::Usage(usage)) => {
            eprintln!("call: {usage}");
            Ended { line: lines::misuse(&usage), status: Status::Usage }
        }
        Err(Trouble::Call(error)) => failed(&error, elapsed),
    }
}

fn answered(reply: &Reply, elapsed: Duration) -> Ended {
    let status = if reply.answer.info.is_error { Status::JsonRpcError } else { Status::Result };
    Ended { line: lines::answer(reply, elapsed), status }
}

fn failed(error: &CallError, elapsed: Duration) -> Ended {
    eprintln!("call: {error}");
    let status = if error.kind() == "misuse" { Status::Usage } else { Status::Transport };
    Ended { line: lines::error(error, elapsed), status }
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
