//! Mutation testing of the core, all mutants in one build.
//!
//! cargo-mutants says what to change; it would build the core and its tests once per change, which takes days for all of
//! them on a small machine. Here each change is compiled in beside the original, behind a switch that an environment
//! variable sets when a test program starts: one build, and one run of the tests for each mutant.
//!
//! `cargo run --release -- [FOLDER...]` in this directory, with cargo-mutants installed. A folder is one of `sse`, `jsonrpc`, `exchange`,
//! `client`; none means all. Each run goes on where the last one stopped, in an order that makes what is done a sample of the
//! whole; `--again` begins anew. `--survivors` tries those again that were not caught, with the longest tests too. CONTRIBUTING says more.

#![forbid(unsafe_code)]

mod build;
mod list;
mod process;
mod report;
mod run;
mod switch;
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::list::Mutant;
use crate::report::Results;
use crate::run::Bench;

/// The folders of the core whose mutants are wanted.
pub const FOLDERS: [&str; 4] = ["client", "exchange", "sse", "jsonrpc"];

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let (flags, folders): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| !["--again", "--survivors", "--report"].contains(&flag.as_str())) {
        return Err(format!("no such option: {flag}").into());
    }
    if let Some(folder) = folders.iter().find(|folder| !FOLDERS.contains(&folder.as_str())) {
        return Err(format!("no such folder: {folder}").into());
    }
    let has = |flag: &str| flags.iter().any(|word| word == flag);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let place = root.join("target/mutants");
    std::fs::create_dir_all(&place)?;
    let mut results = Results::read(&place.join("results.tsv"))?;
    if has("--report") {
        results.print();
        return Ok(());
    }

    let mutants = list::mutants(&root)?;
    eprintln!("{} mutants", mutants.len());
    results.keep(&mutants);
    let tree: PathBuf = place.join("tree");
    let (built, programs) = build::build(&root, &tree, &mutants)?;
    let wanted = |mutant: &&Mutant| {
        let in_folder = folders.is_empty() || folders.contains(&mutant.folder);
        let in_turn = match results.verdict(mutant) {
            None => !has("--survivors"),
            Some(verdict) => has("--again") || has("--survivors") && verdict.survived(),
        };
        in_folder && in_turn
    };
    let mut wanted: Vec<&Mutant> = mutants.iter().filter(wanted).collect();
    // Every sixteenth first: what is done when a run is stopped is spread over every file.
    wanted.sort_by_key(|mutant| mutant.number % 16);
    let tests = tests::tests(&programs, &tree)?;
    let bench =
        Bench { built: &built, programs: &programs, tests: &tests, tree: &tree, is_thorough: has("--survivors") };
    run::run(&wanted, &mutants, &bench, &mut results)?;
    results.print();
    Ok(())
}
