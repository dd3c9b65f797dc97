//! The measuring: speeds of several that do the same, in rounds.
//!
//! Rule: all take turns in every round, in one process and in processor time, and what is told is the median of the rounds'
//! ratios: what else the machine does slows all of them.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use mcp_sse_benches::figures::median;

/// One that takes turns.
pub(crate) struct Entrant<'a> {
    /// Does it once, and gives a number that depends on it.
    pub(crate) run: Box<dyn Fn() -> u64 + 'a>,
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) rounds: usize,
    pub(crate) turn: Duration,
    /// The most bytes of a stream.
    pub(crate) bytes: usize,
}

impl Amount {
    pub(crate) const FULL: Self = Self { rounds: 15, turn: Duration::from_millis(30), bytes: 8 << 20 };
    pub(crate) const QUICK: Self = Self { rounds: 9, turn: Duration::from_millis(5), bytes: 512 << 10 };
}

/// Runs a second, round by round.
pub(crate) struct Speeds(Vec<f64>);

impl Speeds {
    pub(crate) fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// How many times faster it is than the other.
    pub(crate) fn over(&self, other: &Self) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect())
    }
}

pub(crate) fn measure(entrants: &[Entrant<'_>], amount: Amount) -> Vec<Speeds> {
    let mut speeds: Vec<_> = entrants.iter().map(|_| Speeds(Vec::new())).collect();
    for round in 0..amount.rounds {
        for turn in 0..entrants.len() {
            // Each follows another in the next round.
            let index = if round % 2 == 0 { turn } else { entrants.len() - 1 - turn };
            let run = &entrants[index].run;
            black_box(run());
            let start = ThreadTime::now();
            let mut runs = 0;
            while start.elapsed() < amount.turn {
                black_box(run());
                runs += 1;
            }
            speeds[index].0.push(f64::from(runs) / start.elapsed().as_secs_f64());
        }
    }
    speeds
}
