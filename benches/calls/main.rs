//! Whole calls on loopback: `cargo bench --manifest-path benches/Cargo.toml --bench calls` prints what a call costs with
//! our clients, with hyper alone and with the official SDK's client, and which targets are met. `-- --quick` does all of it
//! in a few seconds.
//!
//! Rules of this bench:
//! * One server process answers all; each client is a process of its own, so that the processor's time is its own. They take
//!   short turns, in another order each round. What is told are medians over the rounds; ratios are to hyper alone in the
//!   same round.
//! * Every client's answers are compared with what the server gave before anything is timed.
//! * Memory is measured in processes whose allocator counts; those are never timed.

mod memory;
mod process;
mod rounds;
mod table;
mod targets;

use std::process::ExitCode;

use mcp_sse_benches::callers::{self, Failure};
use mcp_sse_benches::plan::{self, Plan};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ran = match arguments.first().map(String::as_str) {
        Some("serve" | "call") => callers::run(&arguments, None),
        _ => Plan::of(arguments).map_err(Failure::from).and_then(|plan| run(&plan)),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("calls: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(plan: &Plan) -> Result<(), Failure> {
    if plan.leaves_out("calls") {
        return Ok(());
    }
    println!("{}\n", plan::machine());
    let server = process::Server::start()?;
    let costs = rounds::run(&server, if plan.is_quick { &rounds::QUICK } else { &rounds::FULL })?;
    table::print_costs(&costs);
    let connections = if plan.is_quick { 500 } else { 2000 };
    let uses = memory::run(&server, connections)?;
    table::print_memory(&uses, connections);
    targets::print(&costs, &uses);
    Ok(())
}
