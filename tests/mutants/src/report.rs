//! What came of each mutant: kept in a file, summed up per folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::list::Mutant;
use crate::{FOLDERS, Result};

/// What came of a mutant.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// By which test.
    Caught(String),
    /// Every test that reaches it passes.
    Missed,
    /// No test reaches it.
    Unreached,
    /// It does not compile.
    NotBuilt,
    /// It is within a constant, and was not tried.
    Constant,
}

impl Verdict {
    pub fn survived(&self) -> bool {
        matches!(self, Self::Missed | Self::Unreached)
    }
}

/// All verdicts, by the mutants' names.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    verdicts: BTreeMap<String, (String, Verdict)>,
}

impl Results {
    pub fn read(path: &Path) -> Result<Self> {
        let mut verdicts = BTreeMap::new();
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let mut columns = line.split('\t');
            let (Some(folder), Some(word), Some(by), Some(name)) =
                (columns.next(), columns.next(), columns.next(), columns.next())
            else {
                return Err(format!("unread: {line}").into());
            };
            let verdict = match word {
                "caught" => Verdict::Caught(by.to_owned()),
                "missed" => Verdict::Missed,
                "unreached" => Verdict::Unreached,
                "constant" => Verdict::Constant,
                _ => Verdict::NotBuilt,
            };
            verdicts.insert(name.to_owned(), (folder.to_owned(), verdict));
        }
        Ok(Self { path: path.to_owned(), verdicts })
    }

    /// Forgets the verdicts on what is no longer there.
    pub fn keep(&mut self, mutants: &[Mutant]) {
        self.verdicts.retain(|name, _| mutants.iter().any(|mutant| mutant.name == *name));
    }

    pub fn verdict(&self, mutant: &Mutant) -> Option<&Verdict> {
        self.verdicts.get(&mutant.name).map(|(_, verdict)| verdict)
    }

    pub fn add(&mut self, mutant: &Mutant, verdict: Verdict) -> Result<()> {
        self.verdicts.insert(mutant.name.clone(), (mutant.folder.clone(), verdict));
        let lines = self.verdicts.iter().map(|(name, (folder, verdict))| {
            let (word, by) = match verdict {
                Verdict::Caught(by) => ("caught", by.as_str()),
                Verdict::Missed => ("missed", ""),
                Verdict::Unreached => ("unreached", ""),
                Verdict::NotBuilt => ("not built", ""),
                Verdict::Constant => ("constant", ""),
            };
            format!("{folder}\t{word}\t{by}\t{name}\n")
        });
        Ok(fs::write(&self.path, lines.collect::<String>())?)
    }

    pub fn print(&self) {
        println!("folder, judged, caught, missed, unreached, score; not built, constant");
        for folder in FOLDERS {
            let of_folder: Vec<_> =
                self.verdicts.values().filter(|(of, _)| of == folder).map(|(_, verdict)| verdict).collect();
            let count = |wanted: fn(&Verdict) -> bool| of_folder.iter().filter(|verdict| wanted(verdict)).count();
            let not_built = count(|verdict| *verdict == Verdict::NotBuilt);
            let caught = count(|verdict| matches!(verdict, Verdict::Caught(_)));
            let missed = count(|verdict| *verdict == Verdict::Missed);
            let unreached = count(|verdict| *verdict == Verdict::Unreached);
            let judged = caught + missed + unreached;
            let tenths = (1000 * caught).checked_div(judged).unwrap_or_default();
            let constant = count(|verdict| *verdict == Verdict::Constant);
            println!(
                "{folder:10}{judged:>6}{caught:>6}{missed:>6}{unreached:>6}{:>6}.{} %{not_built:>6}{constant:>6}",
                tenths / 10,
                tenths % 10
            );
        }
    }
}
