//! The tests: what each reaches of the mutants, and what it costs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::build::Programs;
use crate::process::{End, Run};

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    pub group: String,
    pub name: String,
    /// Processor time on the core unchanged, with what it takes to start the program.
    pub cost: Duration,
    pub reached: BTreeSet<u32>,
}

impl Test {
    /// As results name it.
    pub fn title(&self) -> String {
        format!("{}: {}", self.group, self.name)
    }
}

/// All tests of the programs. Each was run once, alone, unless the last run's notes of it are younger than its program.
pub fn tests(programs: &Programs, tree: &Path) -> Result<Vec<Test>> {
    let mut all = Vec::new();
    for (group, program) in programs {
        let notes = tree.with_file_name(format!("tests-{group}.tsv"));
        let fresh = fs::metadata(&notes).and_then(|file| file.modified()).ok() > fs::metadata(program)?.modified().ok();
        if !fresh {
            fs::write(&notes, note(group, program, tree)?)?;
        }
        let of_group: Vec<Test> = fs::read_to_string(&notes)?.lines().filter_map(|line| read(group, line)).collect();
        let cost: Duration = of_group.iter().map(|test| test.cost).sum();
        let reached: BTreeSet<u32> = of_group.iter().flat_map(|test| test.reached.iter().copied()).collect();
        eprintln!("{group}: {} tests, {cost:.1?} of processor time, {} mutants reached", of_group.len(), reached.len());
        all.extend(of_group);
    }
    Ok(all)
}

/// Seconds of processor time in which a test is watched.
const NOTED: u64 = 40;

/// A line for each test: its name, milliseconds, the mutants.
fn note(group: &str, program: &Path, tree: &Path) -> Result<String> {
    let output = Command::new(program).args(["--list", "--format", "terse"]).output()?;
    let list = String::from_utf8(output.stdout)?;
    let reached = tree.with_file_name("reached.txt");
    let mut notes = String::new();
    for name in list.lines().filter_map(|line| line.strip_suffix(": test")) {
        fs::write(&reached, "")?;
        let before = children_time()?;
        let run = Run { program, tree, tests: &[name], seconds: NOTED, mutant: 0, reached: Some(&reached) };
        match run.end()? {
            // What it does for so long, it goes on doing.
            End::Passed | End::Hung(_) => {}
            end => {
                eprintln!("left out, for it fails without any mutant: {group}: {name}: {end:?}");
                continue;
            }
        }
        let cost = children_time()?.saturating_sub(before);
        let numbers: Vec<String> = fs::read_to_string(&reached)?.lines().map(str::to_owned).collect();
        writeln!(notes, "{name}\t{}\t{}", cost.as_millis(), numbers.join(" "))?;
    }
    Ok(notes)
}

fn read(group: &str, line: &str) -> Option<Test> {
    let mut columns = line.split('\t');
    Some(Test {
        group: group.to_owned(),
        name: columns.next()?.to_owned(),
        cost: Duration::from_millis(columns.next()?.parse().ok()?),
        reached: columns.next()?.split(' ').filter_map(|number| number.parse().ok()).collect(),
    })
}

/// The processor time of all processes that were waited for.
fn children_time() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The fields behind the name, which may hold anything, begin with the third; the children's are the 16th and 17th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok()).ok_or("no such field");
    Ok(Duration::from_millis(10 * (ticks(16)? + ticks(17)?)))
}

/// Which tests caught what, by function and by file: what catches a mutant often catches its neighbours.
#[derive(Debug, Default)]
pub struct Catches(BTreeMap<String, BTreeMap<String, u32>>);

impl Catches {
    pub fn add(&mut self, places: [&str; 2], title: &str) {
        for place in places {
            *self.0.entry(place.to_owned()).or_default().entry(title.to_owned()).or_default() += 1;
        }
    }

    pub fn of(&self, place: &str, title: &str) -> u32 {
        self.0.get(place).and_then(|titles| titles.get(title)).copied().unwrap_or_default()
    }
}
