//! The servers against real clients, built from the SDKs that the registries have.
//!
//! Rules: tests/peers/run installs the clients and runs the program, from the repository's root; the program starts the `serve`
//! example of each adapter, has each client call its tools at each revision that it speaks, and prints a row for each. What a
//! client says it got is compared with what the tools are known to say. A hole fails the program.

mod clients;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clients::{CLIENTS, Client, Trial};
use serde_json::{Value, json};

/// All of it takes less than a minute.
const DEADLINE: Duration = Duration::from_secs(600);

/// How long one client may take.
const CLIENT_BOUND: Duration = Duration::from_secs(40);

/// The adapters, each with its `serve`.
const ADAPTERS: [&str; 2] = ["blocking", "tokio"];

/// The columns.
const STEPS: [&str; 6] = ["version", "tools", "echo", "add", "slow", "region"];

/// Tries the clients whose names begin with one of the arguments; all, without arguments. The programs `serve-ADAPTER` are
/// beside this one.
pub fn main() -> ExitCode {
    thread::spawn(|| {
        thread::sleep(DEADLINE);
        eprintln!("not done within {} s", DEADLINE.as_secs());
        process::exit(1);
    });
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let programs = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    let programs = programs.unwrap_or_default();
    let mut holes = 0;
    println!("| client | mode | server speaks | adapter | {} |", STEPS.join(" | "));
    println!("|{}", "---|".repeat(4 + STEPS.len()));
    for client in CLIENTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| client.name.starts_with(wanted.as_str())) {
            for trial in client.trials {
                holes += ADAPTERS.iter().map(|adapter| row(client, trial, adapter, &programs)).sum::<usize>();
            }
        }
    }
    if holes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes one trial, prints its row, and tells how many holes there are.
fn row(client: &Client, trial: &Trial, adapter: &str, programs: &Path) -> usize {
    let spoken = if trial.spoken.is_empty() { "all".to_owned() } else { trial.spoken.join(", ") };
    let report = Serve::start(&programs.join(format!("serve-{adapter}")), trial)
        .and_then(|serve| run(client, trial, &serve.url));
    let steps: Vec<_> = match &report {
        Ok(report) => STEPS.iter().map(|step| judge(step, report, trial)).collect(),
        Err(error) => vec![Err(error.clone())],
    };
    let cell = |index: usize| match steps.get(index) {
        Some(Ok(word)) => word.as_str(),
        Some(Err(_)) => "**HOLE**",
        None => "",
    };
    let cells: Vec<_> = (0..STEPS.len()).map(cell).collect();
    println!("| {} | {} | {spoken} | {adapter} | {} |", client.name, trial.mode, cells.join(" | "));
    let holes = STEPS.iter().zip(&steps).filter_map(|(name, step)| Some((name, step.as_ref().err()?)));
    holes.map(|(name, hole)| println!("  {name}: {hole}")).count()
}

/// What the client got in a step, in a word, or what was wrong with it.
fn judge(step: &str, report: &Value, trial: &Trial) -> Result<String, String> {
    let got = &report[step];
    let (expected, word) = match step {
        "version" => (json!(trial.version), trial.version),
        "tools" => (json!(["echo", "add", "slow", "counter", "region"]), "5"),
        "echo" => (json!("grüß dich\n"), "ok"),
        "add" => (json!("42"), "ok"),
        "slow" => {
            equal(&report["progress"], &json!([[1.0, 3.0], [2.0, 3.0], [3.0, 3.0]]))?;
            (json!("slow done"), "3 progress")
        }
        _ if trial.mirrors => (json!("region eu-west, header eu-west"), "mirrored"),
        _ => (json!("region eu-west, header none"), "ok"),
    };
    equal(got, &expected).map(|()| word.to_owned())
}

/// Equal, whether a number is written as an integer or not.
fn equal(got: &Value, expected: &Value) -> Result<(), String> {
    let is_equal = match (got.as_array(), expected.as_array()) {
        (Some(got), Some(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(got, expected)| equal(got, expected).is_ok())
        }
        _ => got == expected || got.as_f64().is_some_and(|number| Some(number) == expected.as_f64()),
    };
    if is_equal { Ok(()) } else { Err(format!("{got} instead of {expected}")) }
}

/// Runs a client to its end, and reads what it prints: one line of JSON.
fn run(client: &Client, trial: &Trial, url: &str) -> Result<Value, String> {
    let (program, arguments) = client.command.split_first().ok_or("no command")?;
    let mut command = Command::new(program);
    command.args(arguments).args([url, trial.mode]).env("NO_PROXY", "127.0.0.1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running(command.spawn().map_err(|error| format!("{program}: {error}"))?);
    let out = child.0.stdout.take().ok_or("no output")?;
    let err = child.0.stderr.take().ok_or("no output")?;
    let (out, err) = (thread::spawn(|| text(out)), thread::spawn(|| text(err)));
    let start = Instant::now();
    let status = loop {
        match child.0.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > CLIENT_BOUND => return Err(format!("not done in {} s", CLIENT_BOUND.as_secs())),
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    if !status.success() {
        return Err(format!("{status}: {}", err.trim()));
    }
    serde_json::from_str(&out).map_err(|error| format!("{error}: {out}"))
}

fn text(mut from: impl Read) -> String {
    let mut text = Vec::new();
    // What came before it broke is shown.
    from.read_to_end(&mut text).ok();
    String::from_utf8_lossy(&text).into_owned()
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

/// The `serve` program, until it is dropped.
struct Serve {
    url: String,
    _process: Running,
}

impl Serve {
    fn start(program: &PathBuf, trial: &Trial) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0"]);
        for version in trial.spoken {
            command.args(["--protocol", version]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Running(command.spawn().map_err(|error| format!("{}: {error}", program.display()))?);
        let mut lines = BufReader::new(process.0.stdout.take().ok_or("no output")?).lines();
        let url = lines.next().ok_or("the server ended")?.map_err(|error| error.to_string())?;
        Ok(Self { url, _process: process })
    }
}
