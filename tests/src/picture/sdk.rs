//! The SDKs' clients, as programs that are given URLs, one a line, and print what came of a call to each, one a line too.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::table::{self, Row};
use super::trial::{self, Told, Trial, Verdict};
use crate::peer::{Peer, Scenario};

/// The time-out that each call is given.
const TIMEOUT: Duration = Duration::from_secs(3);
/// A call that is not sound is made again, with so many times the time, since a busy machine is late, too.
const ROUNDS: [u32; 2] = [1, 3];

/// A client program.
pub(super) struct Client {
    /// What people call it.
    pub(super) name: &'static str,
    revision: &'static str,
    command: &'static [&'static str],
    /// The file that pins it, and what stands there before its version.
    pin: (&'static str, &'static str),
}

/// All of them.
pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "TypeScript SDK",
        revision: "2025-11-25",
        command: &["node", "target/peers/typescript-v1/breaks.mjs"],
        pin: ("tests/peers/typescript-v1/package.json", "@modelcontextprotocol/sdk\": \""),
    },
    Client {
        name: "TypeScript SDK",
        revision: "2026-07-28",
        command: &["node", "target/peers/typescript-v2/breaks.mjs"],
        pin: ("tests/peers/typescript-v2/package.json", "@modelcontextprotocol/client\": \""),
    },
    Client {
        name: "Python SDK",
        revision: "2026-07-28",
        command: &["target/peers/python/bin/python", "tests/peers/python/breaks.py"],
        pin: ("tests/peers/python/requirements.txt", "\nmcp=="),
    },
    Client {
        name: "Rust SDK (rmcp)",
        revision: "2026-07-28",
        command: &["target/peers/rmcp/debug/mcp-sse-peer-rmcp-breaks"],
        pin: ("tests/peers/rmcp/Cargo.toml", "rmcp = { version = \"="),
    },
];

impl Client {
    /// What comes of a call by this client for each break.
    pub(super) fn rows(&self) -> Result<Vec<Row>, String> {
        let trials = trial::all();
        let mut verdicts = vec![Verdict::Hung; trials.len()];
        let mut open: Vec<usize> = (0..trials.len()).collect();
        for factor in ROUNDS {
            let timeout = TIMEOUT * factor;
            self.run(&trials, &open, timeout, &mut verdicts)?;
            open.retain(|number| !verdicts[*number].is_sound());
        }
        // A client for which nothing works shows nothing.
        let mut whole = trials.iter().zip(&verdicts).filter(|(trial, _)| trial.is_whole());
        if whole.any(|(_, verdict)| *verdict != Verdict::Answer) {
            return Err("it has no answer from a response that is not broken".to_owned());
        }
        Ok(table::rows(&format!("{} {}", self.name, self.version()?), self.revision, &trials, &verdicts))
    }

    fn version(&self) -> Result<String, String> {
        let (file, before) = self.pin;
        let pins = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let (_, version) = pins.split_once(before).ok_or("its version is not pinned")?;
        Ok(version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect())
    }

    /// Makes these trials.
    fn run(&self, trials: &[Trial], open: &[usize], timeout: Duration, verdicts: &mut [Verdict]) -> Result<(), String> {
        if open.is_empty() {
            return Ok(());
        }
        let peer = Peer::start();
        let scenarios: Vec<(usize, Scenario)> = open.iter().map(|n| (*n, trials[*n].scenario(&peer))).collect();
        let told = self.call(scenarios.iter().map(|(_, scenario)| scenario.url()), timeout)?;
        if told.is_empty() {
            return Err("it says nothing".to_owned());
        }
        for (number, scenario) in &scenarios {
            verdicts[*number] = trials[*number].verdict(scenario, told.get(&scenario.url()), timeout);
        }
        Ok(())
    }

    /// Has the program call these URLs, and reads what it says of each until it ends, or is too late.
    fn call(&self, urls: impl Iterator<Item = String>, timeout: Duration) -> Result<HashMap<String, Told>, String> {
        let (program, arguments) = self.command.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(arguments).arg(timeout.as_millis().to_string()).env("NO_PROXY", "127.0.0.1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Running(command.spawn().map_err(|error| format!("{program}: {error}"))?);
        let mut input = child.0.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.0.stdout.take().ok_or("no output")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut count = 0;
        for url in urls {
            writeln!(input, "{url}").map_err(|error| error.to_string())?;
            count += 1;
        }
        drop(input);
        let mut told = HashMap::new();
        // So many at once at least; the start of the program takes its time, too.
        let due = Instant::now() + timeout * 3 * (count / 16 + 2) + Duration::from_secs(20);
        while let Ok(line) = lines.recv_timeout(due.saturating_duration_since(Instant::now())) {
            let line: Value = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
            let url = line["url"].as_str().ok_or("no URL")?;
            let after = Duration::from_secs_f64(line["ms"].as_f64().ok_or("no time")? / 1000.0);
            let is_answered = line["text"].as_str().is_some_and(|text| text.starts_with("charged"));
            told.insert(url.to_owned(), Told { is_answered, after });
        }
        Ok(told)
    }
}

/// A process, until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
