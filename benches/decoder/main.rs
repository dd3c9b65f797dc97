//! The decoder beside its peers: `cargo bench --manifest-path benches/Cargo.toml --bench decoder` prints the whole
//! table and which targets are met. `-- --quick` does all of it on little input; `-- --only abg` some streams only;
//! `-- --picture FILE` draws the result.
//!
//! Rules of this bench:
//! * An engine is timed only after its events (count, bytes, hash of types, data and ids) were found equal to those
//!   written into the corpus. A peer that gives others is shown as `wrong`.
//! * What is told are ratios, each a median over rounds that all engines run in, in one process: see `measure.rs`.
//! * A ratio above 1 means that ours is faster. MiB/s are of this machine, this day, and tell less.

use std::env;
use std::fs;
use std::process::ExitCode;

use mcp_sse_benches::corpora::KINDS;
use mcp_sse_benches::plan::{self, Plan};

mod measure;
mod picture;
mod table;
mod targets;

use measure::{Amount, Streams};

/// Chunk sizes, in bytes: single bytes, a few, a short line, a TCP segment's payload on Ethernet, a TLS record, a pipe's
/// buffer, all at once.
const CHUNKS: [usize; 7] = [1, 7, 64, 1460, 16 * 1024, 64 * 1024, usize::MAX];

fn main() -> ExitCode {
    let Plan { is_quick, only, picture, .. } = match Plan::of(env::args().skip(1)) {
        Ok(plan) => plan,
        Err(usage) => {
            eprintln!("unknown argument; {usage}");
            return ExitCode::FAILURE;
        }
    };
    let amount = if is_quick { &Amount::QUICK } else { &Amount::FULL };
    println!("{}\n", plan::machine());
    table::print_head();
    let mut streams = Streams::default();
    let mut rows = Vec::new();
    for kind in &KINDS {
        if only.as_ref().is_some_and(|letters| !letters.contains(kind.letter)) {
            continue;
        }
        for chunk_bytes in CHUNKS {
            let row = measure::row(kind, chunk_bytes, amount, &mut streams);
            table::print_row(&row);
            rows.push(row);
        }
    }
    table::print_notes();
    targets::print(&rows);
    if let Some(path) = picture
        && let Err(error) = fs::write(&path, picture::draw(&rows))
    {
        eprintln!("{path}: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
