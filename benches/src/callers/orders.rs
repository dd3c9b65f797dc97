//! What a process is told to measure, a line each, and what it says of it, a line each.
//!
//! The lines are made and read here, so that both ends agree.

use std::str::{FromStr, SplitWhitespace};
use std::time::Duration;

use super::{Failure, Job};

/// Something to measure.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// One call, whose answer is compared with what it should be.
    Check(Job),
    /// Calls on so many connections, for so long, after some that are not counted.
    Turn {
        /// What is called.
        job: Job,
        /// Connections, with one call at a time each.
        connections: usize,
        /// How long.
        time: Duration,
    },
    /// So many connections, each used once, and kept.
    Idle(usize),
    /// One call, the first.
    Large(Job),
    /// So many calls, one after the other: for profilers.
    Calls(Job, usize),
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Measured {
    /// It was done, and all answers were right.
    Done,
    /// Of a turn.
    Turn(Turn),
    /// Bytes that are in use more than before: on the heap, if they are counted, and of the process.
    Memory {
        /// As the allocator counts them.
        heap: Option<u64>,
        /// As the system counts them.
        resident: u64,
    },
}

/// What came of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// How many calls.
    pub calls: u64,
    /// How long they took, together.
    pub elapsed: Duration,
    /// The processor's time that the process used, in user and system mode.
    pub cpu: Duration,
    /// Half of the calls took no longer.
    pub median: Duration,
    /// Of a hundred calls, one took longer.
    pub p99: Duration,
}

impl Order {
    /// As a line.
    #[must_use]
    pub fn to_line(self) -> String {
        match self {
            Self::Check(job) => format!("check {}", job.tool()),
            Self::Turn { job, connections, time } => {
                format!("turn {} {connections} {}", job.tool(), time.as_millis())
            }
            Self::Idle(count) => format!("idle {count}"),
            Self::Large(job) => format!("large {}", job.tool()),
            Self::Calls(job, count) => format!("calls {} {count}", job.tool()),
        }
    }

    /// From a line; if it is none, that is said.
    ///
    /// # Errors
    /// If it is none.
    pub fn of_line(line: &str) -> Result<Self, Failure> {
        let mut words = line.split_whitespace();
        let order = match words.next().unwrap_or_default() {
            "check" => Self::Check(job(&mut words)?),
            "turn" => Self::Turn {
                job: job(&mut words)?,
                connections: number(&mut words)?,
                time: Duration::from_millis(number(&mut words)?),
            },
            "idle" => Self::Idle(number(&mut words)?),
            "large" => Self::Large(job(&mut words)?),
            "calls" => Self::Calls(job(&mut words)?, number(&mut words)?),
            _ => return Err("no order".into()),
        };
        Ok(order)
    }
}

impl Measured {
    /// As a line.
    #[must_use]
    pub fn to_line(self) -> String {
        match self {
            Self::Done => "done".to_owned(),
            Self::Turn(turn) => {
                let times = [turn.elapsed, turn.cpu, turn.median, turn.p99].map(|time| time.as_nanos().to_string());
                format!("turn {} {}", turn.calls, times.join(" "))
            }
            Self::Memory { heap: Some(heap), resident } => format!("memory {resident} {heap}"),
            Self::Memory { heap: None, resident } => format!("memory {resident}"),
        }
    }

    /// From a line.
    ///
    /// # Errors
    /// If it is none; then it says what went wrong.
    pub fn of_line(line: &str) -> Result<Self, Failure> {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("done") => Ok(Self::Done),
            Some("turn") => {
                let calls = number(&mut words)?;
                let mut time = || Ok::<_, Failure>(Duration::from_nanos(number(&mut words)?));
                Ok(Self::Turn(Turn { calls, elapsed: time()?, cpu: time()?, median: time()?, p99: time()? }))
            }
            Some("memory") => Ok(Self::Memory { resident: number(&mut words)?, heap: number(&mut words).ok() }),
            _ => Err(line.into()),
        }
    }
}

fn job(words: &mut SplitWhitespace<'_>) -> Result<Job, Failure> {
    words.next().and_then(Job::of_tool).ok_or_else(|| "no job".into())
}

fn number<N: FromStr>(words: &mut SplitWhitespace<'_>) -> Result<N, Failure> {
    words.next().and_then(|word| word.parse().ok()).ok_or_else(|| "no number".into())
}
