//! The rounds: what a call costs in time and in the processor's time.

use std::time::Duration;

use mcp_sse_benches::callers::orders::{Measured, Order, Turn};
use mcp_sse_benches::callers::{Caller, Failure, Job};
use mcp_sse_benches::corpora::Random;
use mcp_sse_benches::figures::median;

use crate::process::{Calling, Server};

/// How much is measured.
pub(crate) struct Rounds {
    rounds: usize,
    /// Of each caller, in each round, for each way of calling.
    turn: Duration,
}

pub(crate) const FULL: Rounds = Rounds { rounds: 15, turn: Duration::from_millis(400) };
pub(crate) const QUICK: Rounds = Rounds { rounds: 5, turn: Duration::from_millis(80) };

/// What is called, and on how many connections at once.
pub(crate) const WAYS: [(Job, usize); 4] = [(Job::Json, 1), (Job::Json, 32), (Job::Stream, 1), (Job::Stream, 32)];

/// What one way of calling costs one caller: medians over the rounds.
pub(crate) struct Cost {
    pub(crate) job: Job,
    pub(crate) connections: usize,
    pub(crate) caller: Caller,
    /// Calls a second.
    pub(crate) rate: f64,
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
    /// The processor's time for each call.
    pub(crate) cpu: Duration,
    /// The same as a multiple of hyper's alone.
    pub(crate) ratio: f64,
}

pub(crate) fn run(server: &Server, rounds: &Rounds) -> Result<Vec<Cost>, Failure> {
    let start = |caller| Calling::start(caller, server);
    let mut callers = Caller::ALL.into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
    for caller in &mut callers {
        for job in [Job::Json, Job::Stream, Job::LargeJson, Job::LargeStream] {
            caller.order(Order::Check(job))?;
        }
    }
    // For each way, for each round, a turn of each.
    let mut turns = vec![Vec::new(); WAYS.len()];
    let mut random = Random::new(rounds.rounds as u64);
    for _ in 0..rounds.rounds {
        for ((job, connections), turns) in WAYS.into_iter().zip(&mut turns) {
            let order = Order::Turn { job, connections, time: rounds.turn };
            let mut round: Vec<Option<Turn>> = vec![None; callers.len()];
            let mut left: Vec<usize> = (0..callers.len()).collect();
            while !left.is_empty() {
                let next = left.swap_remove(random.within(0, left.len() - 1));
                match callers[next].order(order)? {
                    Measured::Turn(turn) => round[next] = Some(turn),
                    other => return Err(format!("not a turn: {other:?}").into()),
                }
            }
            turns.push(round.into_iter().flatten().collect::<Vec<_>>());
        }
    }
    let ways = WAYS.into_iter().zip(&turns);
    let all = ways.flat_map(|(way, turns)| (0..callers.len()).map(move |at| (way, turns, at)));
    Ok(all.map(|((job, connections), turns, at)| cost(job, connections, turns, at)).collect())
}

fn cost(job: Job, connections: usize, turns: &[Vec<Turn>], at: usize) -> Cost {
    let of = |number: fn(&Turn) -> f64| median(turns.iter().map(|round| number(&round[at])).collect());
    let cpu = |turn: &Turn| turn.cpu.as_secs_f64() / turn.calls as f64;
    Cost {
        job,
        connections,
        caller: Caller::ALL[at],
        rate: of(|turn| turn.calls as f64 / turn.elapsed.as_secs_f64()),
        median: Duration::from_secs_f64(of(|turn| turn.median.as_secs_f64())),
        p99: Duration::from_secs_f64(of(|turn| turn.p99.as_secs_f64())),
        cpu: Duration::from_secs_f64(median(turns.iter().map(|round| cpu(&round[at])).collect())),
        ratio: median(turns.iter().map(|round| cpu(&round[at]) / cpu(&round[0])).collect()),
    }
}
