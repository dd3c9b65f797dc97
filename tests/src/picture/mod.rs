//! The picture of the break matrix: one response, broken behind sampled bytes in three ways, and what each client makes of it, ours
//! and those of the SDKs side by side.
//!
//! Rules: a client is judged from outside alone, by how often the tool ran and by what its caller got, and when (`trial`). What was
//! seen is a table of letters (`table`), kept beside the picture (`svg`), which is drawn from nothing else; a test makes our part of
//! it anew. `sdk` drives the programs that `tests/peers/run picture` installs.

mod sdk;
mod svg;
mod table;
mod trial;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub use svg::draw;
pub use table::{Row, Table};
pub use trial::{Breaks, Told, Trial, Verdict};

use crate::matrix::{Caller, Target, params};
use crate::peer::Peer;

/// How many of our calls are under way at once.
const AT_ONCE: usize = 12;
/// Our client's name in the table.
const OURS: &str = "mcp-sse";
const OUR_VERSION: &str = "2026-07-28";
/// The deadline of our calls whose stream falls silent; it is tried with more if the machine was too busy.
const STALLED: Duration = Duration::from_secs(1);
/// The deadline of those whose stream ends.
const ENDED: Duration = Duration::from_secs(20);

/// Where the table and the picture are kept.
pub fn kept() -> (PathBuf, PathBuf) {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    (peers.join("matrix.tsv"), peers.join("matrix.svg"))
}

/// Our rows: what comes of a call by this caller for each break.
///
/// # Panics
/// If a call panics.
pub fn ours(caller: &Arc<Caller>) -> Vec<Row> {
    let trials = trial::all();
    let open: Mutex<VecDeque<usize>> = Mutex::new((0..trials.len()).collect());
    let verdicts = Mutex::new(vec![Verdict::Hung; trials.len()]);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let peer = Peer::start();
                loop {
                    let next = open.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(number) = next else { return };
                    let verdict = judge(&peer, &trials[number], caller);
                    verdicts.lock().unwrap_or_else(PoisonError::into_inner)[number] = verdict;
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().unwrap_or_else(PoisonError::into_inner);
    table::rows(OURS, OUR_VERSION, &trials, &verdicts)
}

fn judge(peer: &Peer, trial: &Trial, caller: &Arc<Caller>) -> Verdict {
    let mut timeout = if trial.breaks == Breaks::Stall { STALLED } else { ENDED };
    loop {
        let scenario = trial.scenario(peer);
        let target = Target { url: scenario.url(), certificate_pem: None, timeout };
        let begun = std::time::Instant::now();
        let told = caller(&target);
        let told = Told { is_answered: told.result.is_ok(), after: begun.elapsed() };
        let verdict = trial.verdict(&scenario, Some(&told), timeout);
        // A machine that is busy may be late with the bytes before the silence.
        if verdict.is_sound() || timeout >= ENDED {
            return verdict;
        }
        timeout *= 4;
    }
}

/// Calls by the blocking adapter.
pub fn blocking() -> Arc<Caller> {
    Arc::new(|target: &Target| {
        let client = mcp_sse_blocking::Client::new(&target.url).expect("a URL");
        let options = mcp_sse_blocking::CallOptions::default().with_timeout(target.timeout);
        let result =
            client.call_with(crate::matrix::METHOD, &params(), &options, |_| std::ops::ControlFlow::Continue(()));
        crate::matrix::Told { result, events: Vec::new(), done: None }
    })
}

/// Calls by the tokio adapter.
pub fn tokio() -> Arc<Caller> {
    let runtime = crate::tokio_client::runtime();
    Arc::new(move |target: &Target| {
        runtime.block_on(crate::tokio_client::call_target(target, &params(), false, Duration::from_millis(50)))
    })
}

/// Makes the table and the picture anew: our clients in this process, the SDKs' by their programs.
pub fn main() -> ExitCode {
    let mut rows = ours(&blocking());
    if rows != ours(&tokio()) {
        eprintln!("the two adapters differ");
        return ExitCode::FAILURE;
    }
    for client in sdk::CLIENTS {
        match client.rows() {
            Ok(of_client) => rows.extend(of_client),
            Err(error) => {
                eprintln!("{}: {error}", client.name);
                return ExitCode::FAILURE;
            }
        }
    }
    let table = Table::new(rows);
    let (text, picture) = kept();
    for (path, content) in [(text, table.to_tsv()), (picture, draw(&table))] {
        if let Err(error) = fs::write(&path, content) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    print!("{}", table.counts());
    ExitCode::SUCCESS
}
