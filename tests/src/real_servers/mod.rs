//! The clients against real servers, built from the SDKs that the registries have.
//!
//! Rules: tests/peers/run installs the servers and runs the program, from the repository's root; the program starts them,
//! tries each at each revision over both adapters, and prints a row for each trial. A hole is what the library
//! should have done and has not; one fails the program.

mod proxy;
mod servers;
mod trial;

use std::io::{BufRead, BufReader};
use std::process::{self, Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use crate::conformance::peer::{BlockingPeer, Peer, Protocol, TokioPeer};
use proxy::Proxy;
use servers::{Expected, SERVERS, Server};
use trial::{STEPS, Step};

/// All of it takes a minute or two.
const DEADLINE: Duration = Duration::from_secs(600);

/// Tries the servers whose names begin with one of the arguments; all, without arguments.
pub fn main() -> ExitCode {
    thread::spawn(|| {
        thread::sleep(DEADLINE);
        eprintln!("not done within {} s", DEADLINE.as_secs());
        process::exit(1);
    });
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut holes = 0;
    println!("| server | mode | asked for | adapter | {} |", STEPS.join(" | "));
    println!("|{}", "---|".repeat(4 + STEPS.len()));
    for server in SERVERS {
        if wanted.is_empty() || wanted.iter().any(|wanted| server.name.starts_with(wanted.as_str())) {
            holes += try_server(server);
        }
    }
    if holes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many holes there are.
fn try_server(server: &Server) -> usize {
    let running = match Running::start(server) {
        Ok(running) => running,
        Err(error) => {
            println!("{} {} does not start: {error}", server.name, server.mode);
            return 1;
        }
    };
    let mut holes = 0;
    for expected in server.trials {
        let trials = [
            (BlockingPeer::NAME, trial::run::<BlockingPeer>(&running.url, &running.proxy, expected)),
            (TokioPeer::NAME, trial::run::<TokioPeer>(&running.url, &running.proxy, expected)),
        ];
        for (adapter, steps) in trials {
            holes += print(server, expected, adapter, &steps);
        }
    }
    holes
}

fn print(server: &Server, expected: &Expected, adapter: &str, steps: &[Step]) -> usize {
    let asked_for = match expected.protocol {
        Protocol::Fixed(version) => version.to_string(),
        _ => format!("auto: {}", expected.version),
    };
    let cell = |index: usize| match steps.get(index) {
        Some(Ok(word)) => word,
        Some(Err(_)) => "**HOLE**",
        None => "",
    };
    let cells: Vec<_> = (0..STEPS.len()).map(cell).collect();
    println!("| {} | {} | {asked_for} | {adapter} | {} |", server.name, server.mode, cells.join(" | "));
    let holes = steps.iter().enumerate().filter_map(|(index, step)| Some((index, step.as_ref().err()?)));
    holes.map(|(index, hole)| println!("  {}: {hole}", STEPS.get(index).unwrap_or(&"end"))).count()
}

/// A server that runs, behind a proxy, until it is dropped.
struct Running {
    child: Child,
    /// Its URL by way of the proxy.
    url: String,
    proxy: Proxy,
}

impl Running {
    fn start(server: &Server) -> Result<Self, String> {
        let (program, arguments) = server.command.split_first().ok_or("no command")?;
        let mut command = Command::new(program);
        command.args(arguments).arg(server.mode).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let started = Self::behind_proxy(&mut child);
        match started {
            Ok((url, proxy)) => Ok(Self { child, url, proxy }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The first line that a server prints is its URL.
    fn behind_proxy(child: &mut Child) -> Result<(String, Proxy), String> {
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let line = lines.next().ok_or("it ended")?.map_err(|error| error.to_string())?;
        // What it says later is of no interest, but must not block it.
        thread::spawn(move || lines.for_each(drop));
        let rest = line.strip_prefix("http://").ok_or_else(|| format!("no URL: {line}"))?;
        let (authority, path) = rest.split_once('/').ok_or_else(|| format!("no path: {line}"))?;
        let proxy = Proxy::start(authority.parse().map_err(|error| format!("{authority}: {error}"))?)?;
        Ok((format!("http://{}/{path}", proxy.address()), proxy))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
