//! Runs the tests against each mutant.
//!
//! First each group of tests runs on the core unchanged and tells which mutants it reaches: only those groups are run
//! against a mutant, at first the short tests of the likeliest ones, for what survives these all of them. A mutant is caught if a test fails, a program dies, or one uses many times its processor time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::build::{GROUPS, Programs};
use crate::list::Mutant;
use crate::report::{Results, Verdict};
use crate::{FOLDERS, Result};

/// No program of tests takes as long, on however busy a machine: it waits for what does not come.
const HUNG: Duration = Duration::from_secs(600);

/// Tests that run for seconds: they have their turn when the others have missed a mutant.
const LONG: [&str; 4] = ["exhaustive", "fuzz", "random", "walk"];

/// How much of the tests is run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Depth {
    /// The short tests of the groups that are named after the folder.
    Quick,
    /// All tests of all groups that reach the mutant.
    Whole,
}

/// A group of tests on the core unchanged.
struct Baseline {
    reached: BTreeSet<u32>,
    /// Seconds of processor time after which a run of it is given up.
    limit: u64,
}

pub fn run(
    mutants: &[&Mutant],
    depth: Depth,
    built: &BTreeSet<u32>,
    programs: &Programs,
    tree: &Path,
    results: &mut Results,
) -> Result<()> {
    let mut baselines = BTreeMap::new();
    for group in GROUPS {
        let program = programs.get(group).ok_or_else(|| format!("no program for {group}"))?;
        if depth == Depth::Whole || FOLDERS.iter().any(|folder| of_folder(folder).contains(&group)) {
            baselines.insert(group, baseline(group, program, depth, tree)?);
        }
    }
    for (index, mutant) in mutants.iter().enumerate() {
        let verdict = judge(mutant, depth, built, programs, &baselines, tree)?;
        if verdict.survived() {
            eprintln!("{}/{} {verdict:?}: {}", index + 1, mutants.len(), mutant.name);
        }
        results.add(mutant, verdict)?;
    }
    Ok(())
}

/// The groups that are likeliest to catch a folder's mutants.
fn of_folder(folder: &str) -> &'static [&'static str] {
    match folder {
        "client" => &["client"],
        "exchange" => &["exchange"],
        "jsonrpc" => &["jsonrpc"],
        _ => &["decoder", "encoder"],
    }
}

fn baseline(group: &str, program: &Path, depth: Depth, tree: &Path) -> Result<Baseline> {
    let run = |reached: Option<&Path>| -> Result<u64> {
        let before = children_seconds()?;
        if let Some(how) = caught(program, tree, 0, depth, reached, HUNG.as_secs())? {
            return Err(format!("{group} fails without any mutant: {how}").into());
        }
        Ok(children_seconds()? - before)
    };
    // A program keeps what it reaches.
    let file = tree.join(format!("reached-{group}-{depth:?}"));
    let fresh = fs::metadata(&file).and_then(|file| file.modified()).ok() > fs::metadata(program)?.modified().ok();
    if !fresh {
        run(Some(&file))?;
    }
    let seconds = run(None)?;
    // A group that reaches none writes no file.
    let reached: BTreeSet<u32> =
        fs::read_to_string(&file).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect();
    eprintln!("{group}: {seconds} s of processor time, {} mutants reached", reached.len());
    Ok(Baseline { reached, limit: 3 + 5 * seconds })
}

/// The processor time, rounded up, of all processes that were waited for.
fn children_seconds() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The fields behind the name, which may hold anything, begin with the third; the children's are the 16th and 17th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok()).ok_or("no such field");
    Ok((ticks(16)? + ticks(17)?).div_ceil(100))
}

fn judge(
    mutant: &Mutant,
    depth: Depth,
    built: &BTreeSet<u32>,
    programs: &Programs,
    baselines: &BTreeMap<&str, Baseline>,
    tree: &Path,
) -> Result<Verdict> {
    if mutant.is_constant {
        return Ok(Verdict::Constant);
    }
    if !built.contains(&mutant.number) {
        return Ok(Verdict::NotBuilt);
    }
    let likely = of_folder(&mutant.folder);
    let mut groups: Vec<&str> = GROUPS.to_vec();
    groups.sort_by_key(|group| !likely.contains(group));
    groups.retain(|group| depth == Depth::Whole || likely.contains(group));
    groups.retain(|group| baselines.get(group).is_some_and(|baseline| baseline.reached.contains(&mutant.number)));
    if groups.is_empty() {
        return Ok(Verdict::Unreached);
    }
    for group in groups {
        if let Some(how) = caught(&programs[group], tree, mutant.number, depth, None, baselines[group].limit)? {
            return Ok(Verdict::Caught(format!("{group}: {how}")));
        }
    }
    Ok(Verdict::Missed)
}

/// How a program of tests caught this mutant, if it did.
fn caught(
    program: &Path,
    tree: &Path,
    mutant: u32,
    depth: Depth,
    reached: Option<&Path>,
    limit: u64,
) -> Result<Option<String>> {
    let mut command = Command::new("sh");
    command
        .current_dir(tree.join("tests"))
        // Processor time in seconds, memory in KiB: a mutant may loop, and may collect while it does.
        .args(["-c", r#"ulimit -t "$1"; ulimit -v 4194304; shift; exec "$0" --test-threads 2 "$@""#])
        .arg(program)
        .arg(limit.to_string())
        .args(LONG.iter().filter(|_| depth == Depth::Quick).flat_map(|word| ["--skip", word]))
        .env("MUTANT", mutant.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(file) = reached {
        command.env("MUTANTS_REACHED", file);
    }
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("no output")?;
    let failed = Arc::new(AtomicBool::new(false));
    let found = Arc::clone(&failed);
    let reader = std::thread::spawn(move || {
        // The first failure is enough.
        let line =
            BufReader::new(output).lines().map_while(std::result::Result::ok).find(|line| line.ends_with("FAILED"));
        found.store(line.is_some(), Ordering::Relaxed);
        line
    });
    let (hung, success) = wait(&mut child, &failed)?;
    let line = reader.join().map_err(|_| "the reader of the output panicked")?;
    Ok(match (line, hung, success) {
        (Some(line), _, _) => Some(line.trim_start_matches("test ").trim_end_matches(" ... FAILED").to_owned()),
        (None, true, _) => Some("hung".to_owned()),
        (None, false, false) => Some("died".to_owned()),
        (None, false, true) => None,
    })
}

/// Whether it hung, and whether it ended well.
fn wait(child: &mut Child, failed: &AtomicBool) -> Result<(bool, bool)> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((false, status.success()));
        }
        let hung = begin.elapsed() > HUNG;
        if hung || failed.load(Ordering::Relaxed) {
            child.kill()?;
            child.wait()?;
            return Ok((hung, false));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
