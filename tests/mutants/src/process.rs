//! A program of tests, run once.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Result;

/// No run takes as long, on however busy a machine: it waits for what does not come.
const HUNG: Duration = Duration::from_secs(600);

/// Some tests of a program, one after another, and no more after the first that fails.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub program: &'a Path,
    pub tree: &'a Path,
    /// Their full names.
    pub tests: &'a [&'a str],
    /// Processor time after which it is given up. Not the clock's: another's work on the machine is no hang.
    pub seconds: u64,
    /// The mutant that is on; 0 is none.
    pub mutant: u32,
    /// Where the mutants are noted that are reached.
    pub reached: Option<&'a Path>,
}

/// How it went.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum End {
    Passed,
    /// The test that failed.
    Failed(String),
    /// The test in which it used up its time.
    Hung(String),
    /// The test in which the process died: no memory, no stack, a second panic.
    Died(String),
}

impl Run<'_> {
    pub fn end(&self) -> Result<End> {
        let mut command = Command::new("sh");
        command
            .current_dir(self.tree.join("tests"))
            // Processor time in seconds, memory in KiB: a mutant may loop, and may collect while it does.
            .args([
                "-c",
                r#"ulimit -t "$1"; ulimit -v 4194304; ulimit -c 0; shift; exec "$0" --exact --test-threads 1 "$@""#,
            ])
            .arg(self.program)
            .arg(self.seconds.to_string())
            .args(self.tests)
            .env("MUTANT", self.mutant.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(file) = self.reached {
            command.env("MUTANTS_REACHED", file);
        }
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let failed = Arc::new(AtomicBool::new(false));
        let found = Arc::clone(&failed);
        let reader = std::thread::spawn(move || {
            let mut last = String::new();
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                // The first failure is enough.
                if line.starts_with("test ") && line.ends_with("FAILED") {
                    found.store(true, Ordering::Relaxed);
                    return (Some(test_of(&line)), last);
                }
                if line.starts_with("test ") {
                    last = test_of(&line);
                }
            }
            (None, last)
        });
        let end = wait(&mut child, &failed)?;
        let (failed, last) = reader.join().map_err(|_| "the reader of the output panicked")?;
        Ok(match (failed, end) {
            (Some(test), _) => End::Failed(test),
            (None, Waited::Passed) => End::Passed,
            (None, Waited::Hung) => End::Hung(last),
            (None, Waited::Died) => End::Died(last),
        })
    }
}

/// `test NAME ... ok`, and `test NAME - should panic ... ok`.
fn test_of(line: &str) -> String {
    line.trim_start_matches("test ").split(' ').next().unwrap_or_default().to_owned()
}

enum Waited {
    Passed,
    Hung,
    Died,
}

fn wait(child: &mut Child, failed: &AtomicBool) -> Result<Waited> {
    use std::os::unix::process::ExitStatusExt;
    // What the kernel sends when the processor time is over; at the hard limit the other.
    const SIGXCPU: i32 = 24;
    const SIGKILL: i32 = 9;
    let begin = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match status.signal() {
                _ if status.success() => Waited::Passed,
                Some(SIGXCPU | SIGKILL) => Waited::Hung,
                _ => Waited::Died,
            });
        }
        let hung = begin.elapsed() > HUNG;
        if hung || failed.load(Ordering::Relaxed) {
            child.kill()?;
            child.wait()?;
            return Ok(if hung { Waited::Hung } else { Waited::Died });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
