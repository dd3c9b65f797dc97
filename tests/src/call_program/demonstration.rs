//! The demonstration: a small server on loopback whose tool `charge` counts how often it ran, broken in ten
//! ways, and what becomes of a call each time.
//!
//! Rule: every row says beforehand what it must come to; one that does not fails the program.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcp_sse_core::client::{CallError, Done, Outcome};

use super::{Adapter, Job, Settings, Trouble};
use crate::peer::{At, Coding, Ending, Framing, Mark, Peer, RefusedPort, Response, Scenario, Script, Sse, Text};

/// One row of the table.
pub struct Row {
    /// How the exchange is broken.
    pub breaks: &'static str,
    /// What the server does with each request.
    pub scripts: Vec<Script>,
    /// What it must come to.
    pub verdict: &'static str,
    /// How many requests it must take.
    pub attempts: u32,
    /// How often the tool must run.
    pub runs: usize,
}

impl Row {
    /// Whether nobody listens.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.verdict == "unsent"
    }

    /// The call's own deadline, if it has one.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.breaks.contains("stalled").then_some(SHORT)
    }
}

/// What is asked for.
pub const PARAMS: &str = r#"{"name":"charge","arguments":{"amount":100},"_meta":{"progressToken":"p"}}"#;

/// The deadline of calls that are to stall.
const SHORT: Duration = Duration::from_millis(700);

/// The rows of the table.
#[must_use]
pub fn rows() -> Vec<Row> {
    let row = |breaks, script: Script, verdict, attempts, runs| Row {
        breaks,
        scripts: vec![script, Script::new(stream())],
        verdict,
        attempts,
        runs,
    };
    let broken = |at, ending| Script::new(stream()).cut(at, ending);
    let short = Script::new(Response::json(Text::charged()).framing(Framing::WrongLength(100))).then(Ending::Fin);
    let open = Script::new(Response::sse([Sse::charged().without_blank_line()])).then(Ending::Fin);
    let footless = Script::new(stream().coding(Coding::gzip().without_footer())).then(Ending::Fin);
    vec![
        row("none", Script::new(stream()), "settled", 1, 1),
        row("reset after the answer", broken(At::mark(Mark::AnswerTerminated), Ending::Reset), "salvaged", 1, 1),
        row("cut before the answer", broken(At::mark(Mark::AnswerStart), Ending::Fin), "settled", 2, 2),
        row("cut inside the answer's JSON", broken(At::mark(Mark::AnswerEnd).plus(-5), Ending::Fin), "settled", 2, 2),
        row("stalled after the answer", broken(At::mark(Mark::AnswerTerminated), Ending::Stall), "salvaged", 1, 1),
        row("stalled before the answer", broken(At::mark(Mark::AnswerStart), Ending::Stall), "timeout", 1, 1),
        row("refused port", Script::whole(), "unsent", 1, 0),
        row("body shorter than its Content-Length", short, "salvaged", 1, 1),
        row("answer without its blank line", open, "salvaged", 1, 1),
        row("gzip body without its footer", footless, "settled", 1, 1),
    ]
}

/// Progress, then the answer.
fn stream() -> Response {
    Response::sse([Sse::progress(1), Sse::charged()])
}

pub(super) fn run(adapter: &impl Adapter) -> ExitCode {
    let peer = Peer::start();
    let refused = RefusedPort::new();
    println!("A tool that counts how often it ran, on a loopback server that breaks:\n");
    println!("{:<38} {:<10} {:>8} {:>9} {:>6}", "break", "verdict", "attempts", "times run", "ms");
    let mut is_right = true;
    for row in rows() {
        let scenario = peer.scenario(row.scripts.clone());
        let url = if row.is_refused() { format!("http://{}/mcp", refused.address()) } else { scenario.url() };
        let start = Instant::now();
        let (verdict, attempts) = call(adapter, url, &row);
        let elapsed = start.elapsed().as_millis();
        let runs = runs(&scenario);
        let as_it_must = (verdict.as_str(), attempts, runs) == (row.verdict, row.attempts, row.runs);
        is_right &= as_it_must;
        let remark = if as_it_must {
            String::new()
        } else {
            format!("   must be: {}, {} attempts, run {} times", row.verdict, row.attempts, row.runs)
        };
        println!("{:<38} {verdict:<10} {attempts:>8} {runs:>9} {elapsed:>6}{remark}", row.breaks);
    }
    if is_right {
        println!("\nAnswered calls ran once; lost ones were sent again, under a new id.");
        ExitCode::SUCCESS
    } else {
        println!("\nNot as it must be.");
        ExitCode::FAILURE
    }
}

fn call(adapter: &impl Adapter, url: String, row: &Row) -> (String, u32) {
    let job = Job { url, method: "tools/call".to_owned(), params: Some(PARAMS.to_owned()), deadline: row.deadline() };
    // The end is waited for, so that the table shows what each exchange came to in the end.
    let settings = Settings::default().with_own_server(Duration::from_secs(10));
    match adapter.call(&job, &settings, true, &mut |_| ControlFlow::Continue(())) {
        Ok((_, Some(done))) => (verdict(&done).to_owned(), done.attempts),
        Ok((reply, None)) => ("no end".to_owned(), reply.attempts),
        Err(Trouble::Call(error @ CallError::Failed { .. })) => (error.kind().to_owned(), error.attempts()),
        Err(trouble) => (format!("{trouble:?}"), 0),
    }
}

fn verdict(done: &Done) -> &'static str {
    match &done.outcome {
        Outcome::Settled(_) => "settled",
        Outcome::Salvaged { .. } => "salvaged",
        Outcome::Failed(failure) => failure.kind.as_str(),
        _ => "accepted",
    }
}

fn runs(scenario: &Scenario) -> usize {
    scenario.executions()
}
