//! The tables, as Markdown.

use std::time::Duration;

use mcp_sse_benches::callers::Job;

use crate::memory::{Bytes, Use};
use crate::rounds::Cost;

pub(crate) fn print_costs(costs: &[Cost]) {
    println!("| answer | at once | client | calls/s | median, µs | p99, µs | CPU a call, µs | / hyper alone |");
    println!("|---|---|---|---|---|---|---|---|");
    for cost in costs {
        println!(
            "| {} | {} | {} | {:.0} | {} | {} | {} | {:.2} |",
            answer(cost.job),
            cost.connections,
            cost.caller.name(),
            cost.rate,
            micros(cost.median),
            micros(cost.p99),
            micros(cost.cpu),
            cost.ratio
        );
    }
    println!();
    println!(
        "Medians of interleaved turns, of the ratios too. CPU: user and system time of the client's process. Connections \
         are kept and warm. hyper alone reads the frames of a body and looks at none."
    );
}

pub(crate) fn answer(job: Job) -> &'static str {
    match job {
        Job::Stream => "3 notifications, then the result",
        _ => "JSON",
    }
}

fn micros(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e6)
}

pub(crate) fn print_memory(uses: &[Use], connections: usize) {
    println!();
    println!("| client | an idle connection, KiB | 64 MiB as JSON, × its size | 64 MiB as an event, × its size |");
    println!("|---|---|---|---|");
    for Use { caller, idle, large: [json, event] } in uses {
        let kib = Bytes { heap: idle.heap / 1024.0, resident: idle.resident / 1024.0 };
        println!("| {} | {} | {} | {} |", caller.name(), both(kib, 1), both(*json, 2), both(*event, 2));
    }
    println!();
    println!(
        "Bytes on the heap, as a counting allocator has them, then resident memory of the process. Idle: what {connections} \
         kept connections add, after one call on each (the kernel's buffers not counted; blocking: what its threads left \
         is in the resident memory). A large answer: the most there was during the call; hyper alone collects it."
    );
}

fn both(bytes: Bytes, digits: usize) -> String {
    format!("{:.digits$} ({:.digits$})", bytes.heap, bytes.resident)
}
