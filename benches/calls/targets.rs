//! What is to be reached, and whether it is.

use mcp_sse_benches::callers::Caller;
use mcp_sse_benches::figures::verdict;

use crate::memory::Use;
use crate::rounds::Cost;
use crate::table;

/// A call's processor time, as a multiple of hyper's alone.
const MOST_CPU: f64 = 1.15;
/// The heap of a large answer, as a multiple of its size: a buffer that grows doubles.
const MOST_LARGE: f64 = 2.2;

pub(crate) fn print(costs: &[Cost], uses: &[Use]) {
    println!();
    println!("| target | at most | most of all | where | |");
    println!("|---|---|---|---|---|");
    for caller in [Caller::Tokio, Caller::Blocking] {
        let worst =
            costs.iter().filter(|cost| cost.caller == caller).max_by(|one, other| one.ratio.total_cmp(&other.ratio));
        if let Some(cost) = worst {
            let place = format!("{}, {} at once", table::answer(cost.job), cost.connections);
            print_target(&format!("CPU a call, {} / hyper alone", caller.name()), MOST_CPU, cost.ratio, &place);
        }
    }
    for used in uses.iter().filter(|used| matches!(used.caller, Caller::Tokio | Caller::Blocking)) {
        let [json, event] = used.large.map(|bytes| bytes.heap);
        let place = if json > event { "JSON" } else { "an event" };
        print_target(&format!("heap of a 64 MiB answer, {}", used.caller.name()), MOST_LARGE, json.max(event), place);
    }
}

fn print_target(name: &str, most: f64, reached: f64, place: &str) {
    println!("| {name} | {most} | {reached:.2} | {place} | {} |", verdict(reached <= most));
}
