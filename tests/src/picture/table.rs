//! What was seen, as text: a row for each client and way to break, a letter for each place.

use std::fmt::Write as _;

use super::trial::{self, Breaks, Trial, Verdict};

/// What a client made of one way to break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The client and its version.
    pub client: String,
    /// The revision it spoke.
    pub revision: String,
    /// The way.
    pub breaks: String,
    /// A letter of [`Verdict`] for each place.
    pub letters: String,
}

/// The places, and the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// How many bytes were written.
    pub offsets: Vec<usize>,
    /// Client after client.
    pub rows: Vec<Row>,
}

/// The rows of a client, whose verdicts are in the order of the trials.
pub(super) fn rows(client: &str, revision: &str, trials: &[Trial], verdicts: &[Verdict]) -> Vec<Row> {
    let row = |breaks: Breaks| {
        let of_row = trials.iter().zip(verdicts).filter(|(trial, _)| trial.breaks == breaks);
        Row {
            client: client.to_owned(),
            revision: revision.to_owned(),
            breaks: breaks.name().to_owned(),
            letters: of_row.map(|(_, verdict)| verdict.letter()).collect(),
        }
    };
    Breaks::ALL.map(row).to_vec()
}

impl Table {
    /// A table of these rows, at the places that are tried.
    pub fn new(rows: Vec<Row>) -> Self {
        Self { offsets: trial::offsets(), rows }
    }

    /// As text: fields with tabs between, a line for each row.
    pub fn to_tsv(&self) -> String {
        let offsets: Vec<String> = self.offsets.iter().map(usize::to_string).collect();
        let mut text = format!("client\trevision\tbroken by\t{}\n", offsets.join(" "));
        for Row { client, revision, breaks, letters } in &self.rows {
            writeln!(text, "{client}\t{revision}\t{breaks}\t{letters}").expect("a string takes all");
        }
        text
    }

    /// A table from its text.
    ///
    /// # Panics
    /// If the text is none.
    pub fn from_tsv(text: &str) -> Self {
        let mut lines = text.lines().map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            <[&str; 4]>::try_from(fields).expect("four fields")
        });
        let [_, _, _, offsets] = lines.next().expect("a first line");
        let offsets = offsets.split(' ').map(|offset| offset.parse().expect("a number")).collect();
        let rows = lines.map(|fields| {
            let [client, revision, breaks, letters] = fields.map(str::to_owned);
            Row { client, revision, breaks, letters }
        });
        Self { offsets, rows: rows.collect() }
    }

    /// How often each client came to what.
    pub fn counts(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            write!(text, "{:36} {:12} {:8}", row.client, row.revision, row.breaks).expect("a string takes all");
            for verdict in Verdict::ALL {
                let count = row.letters.chars().filter(|letter| *letter == verdict.letter()).count();
                if count > 0 {
                    write!(text, "  {count} {}", verdict.words()).expect("a string takes all");
                }
            }
            text.push('\n');
        }
        text
    }
}
