//! `mcp-sse-rmcp-matrix [PART...]`: the break matrix under rmcp's client, with rmcp's own transport and with ours, in one run.
//! A part is a conversation whose name begins so (`2026`).
//!
//! The scripted peer counts how often the tool ran; the caller is one that only has rmcp's face. Of each trial the table says
//! what came of it, in five columns, of which the first two are as they should be:
//! - `answer`: the tool ran once, and the caller has its result;
//! - `error`: the tool ran at most once, the answer was never written whole, and the caller was told so by an error (with our
//!   transport the error must also say that the call may have run, if it has);
//! - `twice`: the tool ran more than once, whatever the caller got;
//! - `lost`: the last byte of the answer's JSON was written, by the response to the call or by that to a GET for the rest of
//!   its stream, and the caller got no result;
//! - `hung`: the caller had nothing when the bound was over.
//!
//! Times: our transport is given a deadline of 1 s (its default is 60 s), the bound is 2 s. rmcp's own transport has no
//! deadline, and its calls have none unless the caller sets one; none is set here. A trial that came to `lost` or `hung` is made
//! again up to twice, with twice and three times the time, since a busy machine is late too; `twice` is never excused.
//!
//! Places: each response is broken at every mark of it (parts of the head, chunks, lines, events, the answer's first and last
//! byte) and next to each; for silence, which costs time, at the marks alone. So a close truncates heads, chunks and lengths, and
//! comes behind the answer and before the end, too.
//!
//! Ends with 1 if anything with our transport is twice, lost or hung, or if an unbroken response is not answered.

mod client;
mod trial;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use mcp_sse_tests::peer::Peer;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use client::Who;
use trial::{Trial, Verdict};

/// How many trials run at once: most of them wait.
const AT_ONCE: usize = 48;
/// How often a trial is made at most.
const ROUNDS: u32 = 3;

#[tokio::main]
async fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.starts_with(part.as_str()));
    let mut trials: Vec<Trial> = trial::all();
    trials.retain(|trial| is_wanted(trial.conversation));
    let begun = Instant::now();
    let verdicts = judge(&trials).await;
    print_table(&trials, &verdicts);
    println!("{} trials in {} s", trials.len(), begun.elapsed().as_secs());

    let ours = || trials.iter().zip(&verdicts).filter(|(trial, _)| trial.who == Who::Ours);
    let bad: Vec<_> = ours().filter(|(trial, verdict)| !trial.may_come_to(**verdict)).collect();
    for (trial, verdict) in bad.iter().take(40) {
        eprintln!("{trial}: {}", verdict.name());
    }
    let is_sound = bad.is_empty() && ours().next().is_some();
    println!("rmcp on ours: {}", if is_sound { "no double run, no lost answer, no hang" } else { "NOT as it must be" });
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn judge(trials: &[Trial]) -> Vec<Verdict> {
    let peer = Arc::new(Peer::start());
    let mut verdicts = vec![Verdict::Hung; trials.len()];
    let mut open: Vec<usize> = (0..trials.len()).collect();
    for round in 1..=ROUNDS {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let mut running = JoinSet::new();
        for number in std::mem::take(&mut open) {
            let (trial, peer, room) = (trials[number].clone(), Arc::clone(&peer), Arc::clone(&room));
            running.spawn(async move {
                let _place = room.acquire_owned().await.expect("nobody closes it");
                (number, trial.make(&peer, round).await)
            });
        }
        let mut made = Vec::new();
        while let Some(ended) = running.join_next().await {
            made.push(ended.expect("a trial that panics says why"));
        }
        for (number, made) in made {
            // Only now: whatever would have run a second time has had its time.
            verdicts[number] = made.verdict();
            if matches!(verdicts[number], Verdict::Lost | Verdict::Hung) {
                open.push(number);
            }
        }
    }
    verdicts
}

fn print_table(trials: &[Trial], verdicts: &[Verdict]) {
    type Counts = [[usize; Verdict::ALL.len()]; 2];
    let mut rows: BTreeMap<(usize, usize, usize), (&Trial, Counts)> = BTreeMap::new();
    let mut sums: Counts = Default::default();
    for (trial, verdict) in trials.iter().zip(verdicts) {
        let (_, counts) = rows.entry(trial.row).or_insert((trial, Counts::default()));
        counts[trial.who as usize][*verdict as usize] += 1;
        sums[trial.who as usize][*verdict as usize] += 1;
    }
    let cells = |counts: &Counts| {
        let side = |side: &[usize; 5]| side.iter().map(|count| format!("{count:>7}")).collect::<String>();
        format!("{} |{}", side(&counts[0]), side(&counts[1]))
    };
    let names = Verdict::ALL.iter().map(|verdict| format!("{:>7}", verdict.name())).collect::<String>();
    let mut conversation = "";
    for (trial, counts) in rows.values() {
        if trial.conversation != conversation {
            conversation = trial.conversation;
            println!("\n{conversation}");
            println!("{:44}{:>35} |{:>35}", "", "rmcp with its own transport", "rmcp on ours");
            println!("{:30}{:14}{names} |{names}", "response", "broken by");
        }
        println!("{:30}{:14}{}", trial.form, trial.broken_by(), cells(counts));
    }
    println!("\n{:44}{}\n", "all", cells(&sums));
}
