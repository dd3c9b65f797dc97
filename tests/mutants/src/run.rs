//! Runs the tests against each mutant.
//!
//! First each test runs alone on the core unchanged and tells which mutants it reaches and what it costs: only those are run
//! against a mutant. The order is what makes it quick: the tests that caught its neighbours, then cheap ones before dear ones,
//! and no more after the first that fails. A mutant is caught if a test fails, a program dies, or uses many times its processor time;
//! it has survived if all of its tests have passed.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::build::Programs;
use crate::list::Mutant;
use crate::process::{End, Run};
use crate::report::{Results, Verdict};
use crate::tests::{Catches, Test};

/// Tests that run as long have their turn when the others have missed a mutant (`--survivors`).
const LONG: Duration = Duration::from_millis(500);

/// How a test caught a mutant, if not by failing.
const HUNG: &str = " (hung)";
const DIED: &str = " (died)";

/// A program that was built once for all mutants, and its tests.
pub struct Bench<'a> {
    pub built: &'a BTreeSet<u32>,
    pub programs: &'a Programs,
    pub tests: &'a [Test],
    pub tree: &'a Path,
    /// Also the tests that run for long.
    pub is_thorough: bool,
}

pub fn run(mutants: &[&Mutant], all: &[Mutant], bench: &Bench<'_>, results: &mut Results) -> Result<()> {
    let mut catches = Catches::default();
    for mutant in all {
        if let Some(Verdict::Caught(by)) = results.verdict(mutant) {
            catches.add(mutant.neighbours(), title(by));
        }
    }
    for (index, mutant) in mutants.iter().enumerate() {
        let verdict = bench.judge(mutant, &catches)?;
        match &verdict {
            Verdict::Caught(by) => {
                catches.add(mutant.neighbours(), title(by));
            }
            verdict if verdict.survived() => {
                eprintln!("{}/{} {verdict:?}: {}", index + 1, mutants.len(), mutant.name);
            }
            _ => {}
        }
        results.add(mutant, verdict)?;
    }
    Ok(())
}

impl Bench<'_> {
    fn judge(&self, mutant: &Mutant, catches: &Catches) -> Result<Verdict> {
        if mutant.is_constant {
            return Ok(Verdict::Constant);
        }
        if !self.built.contains(&mutant.number) {
            return Ok(Verdict::NotBuilt);
        }
        let mut tests: Vec<&Test> = self.tests.iter().filter(|test| test.reached.contains(&mutant.number)).collect();
        if tests.is_empty() {
            return Ok(Verdict::Unreached);
        }
        tests.retain(|test| self.is_thorough || test.cost < LONG);
        let [function, file] = mutant.neighbours();
        // Dear ones come last, whatever they caught: a cheap one may do.
        tests.sort_by_cached_key(|test| {
            let title = test.title();
            let dear = if test.cost > Duration::from_millis(500) { test.cost } else { Duration::ZERO };
            let caught = catches.of(function, &title);
            (dear, u32::MAX - caught, u32::MAX - catches.of(file, &title), test.cost, test.reached.len())
        });
        let mut most = 8;
        while let Some(first) = tests.first() {
            let batch = batch(&tests, first.group.as_str(), most);
            let names: Vec<&str> = batch.iter().map(|test| test.name.as_str()).collect();
            let cost: Duration = batch.iter().map(|test| test.cost).sum();
            let run = Run {
                program: &self.programs[&first.group],
                tree: self.tree,
                tests: &names,
                seconds: 2 + (5 * cost).as_secs(),
                mutant: mutant.number,
                reached: None,
            };
            let caught = match run.end()? {
                End::Passed => None,
                End::Failed(test) => Some(test),
                End::Hung(test) => Some(test + HUNG),
                End::Died(test) => Some(test + DIED),
            };
            if let Some(caught) = caught {
                return Ok(Verdict::Caught(format!("{}: {caught}", first.group)));
            }
            let group = first.group.clone();
            tests.retain(|test| test.group != group || !names.contains(&test.name.as_str()));
            most *= 4;
        }
        Ok(Verdict::Missed)
    }
}

/// The title of the test, without how it ended.
fn title(caught: &str) -> &str {
    caught.trim_end_matches(HUNG).trim_end_matches(DIED)
}

/// The next tests of this group, so that one start of its program serves many; a dear one goes alone.
fn batch<'a>(tests: &[&'a Test], group: &str, most: usize) -> Vec<&'a Test> {
    let mut batch: Vec<&Test> = Vec::new();
    let mut cost = Duration::ZERO;
    for test in tests.iter().take(4 * most).filter(|test| test.group == group) {
        cost += test.cost;
        if batch.len() == most || !batch.is_empty() && cost > Duration::from_millis(500) {
            break;
        }
        batch.push(test);
    }
    batch
}
