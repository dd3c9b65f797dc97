//! The process of one caller: orders from its input, what came of them to its output.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use tokio::runtime::Runtime;

use super::blocking::{self, Blocking};
use super::hyper_alone::HyperAlone;
use super::orders::{Measured, Order, Turn};
use super::rmcp::Rmcp;
use super::tokio::Tokio;
use super::{Answer, AsyncCaller, Caller, Failure, Job, server};

/// Calls on each connection that are not counted.
const WARM_UP: usize = 5;
/// Calls on each connection that are, however long they take: a process that does not get the processor makes too few to
/// tell by.
const LEAST: usize = 64;
/// A thread that makes calls needs little.
const STACK_BYTES: usize = 256 << 10;
/// No more connections are kept, nor requests made at once.
const MOST: usize = 4096;

/// What counts the heap, if anything does.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    /// Bytes in use.
    pub used: fn() -> u64,
    /// Bytes in use, at most so far.
    pub peak: fn() -> u64,
}

/// Runs what a command line says: `serve`, or `call CALLER URL`.
///
/// # Errors
/// If it says neither, or what is said cannot be done.
pub fn run(arguments: &[String], heap: Option<Heap>) -> Result<(), Failure> {
    match arguments {
        [word] if word == "serve" => server::run(),
        [word, caller, url] if word == "call" => call(Caller::of_word(caller).ok_or("no caller")?, url, heap),
        _ => Err("expected: serve, or call CALLER URL".into()),
    }
}

fn call(caller: Caller, url: &str, heap: Option<Heap>) -> Result<(), Failure> {
    let memory = Memory { heap };
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    match caller {
        Caller::Blocking => {
            let caller = Blocking::new(url, MOST)?;
            obey(|order| by_threads(&caller, order, &memory))
        }
        Caller::HyperAlone => obey_async(&runtime()?, HyperAlone::new(url)?, &memory),
        Caller::Tokio => obey_async(&runtime()?, Tokio::new(url, MOST)?, &memory),
        Caller::Rmcp => {
            let runtime = runtime()?;
            let caller = runtime.block_on(Rmcp::new(url, MOST))?;
            obey_async(&runtime, caller, &memory)
        }
    }
}

fn obey(mut measure: impl FnMut(Order) -> Result<Measured, Failure>) -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let said = match Order::of_line(&line?).and_then(&mut measure) {
            Ok(measured) => measured.to_line(),
            Err(failure) => format!("failed: {failure}").replace('\n', " "),
        };
        println!("{said}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Is it the answer that the server gives to all?
fn check(job: Job, answer: &Answer) -> Result<Measured, Failure> {
    let expected: serde_json::Value = serde_json::from_str(&server::result(job))?;
    if answer.notifications != job.notifications() {
        return Err(format!("{} notifications", answer.notifications).into());
    }
    if answer.result != expected {
        return Err("another result".into());
    }
    Ok(Measured::Done)
}

/// As many notifications as there should be, if they are counted.
fn look(job: Job, notifications: Option<usize>) -> Result<(), Failure> {
    match notifications {
        Some(notifications) if notifications != job.notifications() => {
            Err(format!("{notifications} notifications").into())
        }
        _ => Ok(()),
    }
}

fn sum_up(calls: Vec<Vec<Duration>>, elapsed: Duration, cpu: Duration) -> Measured {
    let mut calls: Vec<_> = calls.into_iter().flatten().collect();
    calls.sort_unstable();
    let at = |share: f64| calls.get((calls.len() as f64 * share) as usize).copied().unwrap_or_default();
    Measured::Turn(Turn { calls: calls.len() as u64, elapsed, cpu, median: at(0.5), p99: at(0.99) })
}

struct Memory {
    heap: Option<Heap>,
}

impl Memory {
    fn heap(&self) -> Option<u64> {
        self.heap.map(|heap| (heap.used)())
    }

    /// What is used more afterwards.
    fn grown(&self, before: (Option<u64>, u64)) -> Result<Measured, Failure> {
        let heap = before.0.zip(self.heap()).map(|(before, after)| after.saturating_sub(before));
        Ok(Measured::Memory { heap, resident: status("VmRSS:")?.saturating_sub(before.1) })
    }

    fn now(&self) -> Result<(Option<u64>, u64), Failure> {
        // Peaks are counted anew.
        std::fs::write("/proc/self/clear_refs", "5")?;
        Ok((self.heap(), status("VmRSS:")?))
    }

    /// What was used more meanwhile, at most.
    fn peak(&self, before: (Option<u64>, u64)) -> Result<Measured, Failure> {
        let heap = before.0.zip(self.heap).map(|(before, heap)| (heap.peak)().saturating_sub(before));
        Ok(Measured::Memory { heap, resident: status("VmHWM:")?.saturating_sub(before.1) })
    }
}

/// Of what the system says of this process, in bytes.
fn status(name: &str) -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("the system does not say")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

fn obey_async<C: AsyncCaller>(runtime: &Runtime, caller: C, memory: &Memory) -> Result<(), Failure> {
    let mut lines = Vec::new();
    obey(|order| runtime.block_on(by_tasks(&caller, &mut lines, order, memory)))
}

async fn by_tasks<C: AsyncCaller>(
    caller: &C,
    lines: &mut Vec<C::Line>,
    order: Order,
    memory: &Memory,
) -> Result<Measured, Failure> {
    let wanted = match order {
        Order::Turn { connections, .. } => connections,
        _ => 1,
    };
    while lines.len() < wanted {
        lines.push(caller.line().await?);
    }
    let first = lines.first_mut().ok_or("no line")?;
    match order {
        Order::Check(job) => check(job, &C::answer(first, job).await?),
        Order::Calls(job, count) => {
            for _ in 0..count {
                look(job, C::call(first, job).await?)?;
            }
            Ok(Measured::Done)
        }
        Order::Large(job) => {
            let before = memory.now()?;
            C::call(first, job).await?;
            memory.peak(before)
        }
        Order::Idle(count) => {
            C::call(first, Job::Json).await?;
            let before = memory.now()?;
            let mut kept = Vec::with_capacity(count);
            let mut calls = Vec::with_capacity(count);
            for _ in 0..count {
                let mut line = caller.line().await?;
                calls.push(tokio::spawn(async move {
                    C::call(&mut line, Job::Together(count)).await?;
                    Ok::<_, Failure>(C::connection(line))
                }));
            }
            for call in calls {
                kept.push(call.await??);
            }
            let measured = memory.grown(before);
            drop(black_box(kept));
            measured
        }
        Order::Turn { job, connections, time } => {
            let barrier = Arc::new(tokio::sync::Barrier::new(connections + 1));
            let mut tasks = Vec::new();
            for mut line in lines.drain(..connections) {
                let barrier = Arc::clone(&barrier);
                tasks.push(tokio::spawn(async move {
                    let mut warmed = Ok(());
                    for _ in 0..WARM_UP {
                        warmed = warmed.and(C::call(&mut line, job).await.map(drop));
                    }
                    barrier.wait().await;
                    warmed?;
                    let (start, mut calls) = (Instant::now(), Vec::with_capacity(1024));
                    let mut before = start;
                    while before - start < time || calls.len() < LEAST {
                        look(job, C::call(&mut line, job).await?)?;
                        let now = Instant::now();
                        calls.push(now - before);
                        before = now;
                    }
                    Ok::<_, Failure>((line, calls))
                }));
            }
            barrier.wait().await;
            let (start, cpu) = (Instant::now(), ProcessTime::now());
            let mut calls = Vec::new();
            for task in tasks {
                let (line, done) = task.await??;
                lines.push(line);
                calls.push(done);
            }
            let (elapsed, cpu) = (start.elapsed(), cpu.elapsed());
            Ok(sum_up(calls, elapsed, cpu))
        }
    }
}

fn by_threads(caller: &Blocking, order: Order, memory: &Memory) -> Result<Measured, Failure> {
    match order {
        Order::Check(job) => check(job, &caller.line().answer(job)?),
        Order::Calls(job, count) => {
            let mut line = caller.line();
            for _ in 0..count {
                look(job, line.call(job)?)?;
            }
            Ok(Measured::Done)
        }
        Order::Large(job) => {
            let before = memory.now()?;
            caller.line().call(job)?;
            memory.peak(before)
        }
        Order::Idle(count) => {
            caller.line().call(Job::Json)?;
            let before = memory.now()?;
            in_threads(caller, count, |mut line| line.call(Job::Together(count)))?;
            memory.grown(before)
        }
        Order::Turn { job, connections, time } => {
            let barrier = Barrier::new(connections + 1);
            let work = |mut line: blocking::Line| {
                let mut warmed = Ok(());
                for _ in 0..WARM_UP {
                    warmed = warmed.and_then(|()| line.call(job).map(drop));
                }
                barrier.wait();
                warmed?;
                let (start, mut calls) = (Instant::now(), Vec::with_capacity(1024));
                let mut before = start;
                while before - start < time || calls.len() < LEAST {
                    look(job, line.call(job)?)?;
                    let now = Instant::now();
                    calls.push(now - before);
                    before = now;
                }
                Ok(calls)
            };
            let (calls, (start, cpu)) = in_threads_from(caller, connections, work, || {
                barrier.wait();
                (Instant::now(), ProcessTime::now())
            })?;
            Ok(sum_up(calls, start.elapsed(), cpu.elapsed()))
        }
    }
}

fn in_threads<T: Send>(
    caller: &Blocking,
    count: usize,
    work: impl Fn(blocking::Line) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    in_threads_from(caller, count, work, || ()).map(|(done, ())| done)
}

/// Starts so many threads, then does what is to be done at the start.
fn in_threads_from<T: Send, S>(
    caller: &Blocking,
    count: usize,
    work: impl Fn(blocking::Line) -> Result<T, Failure> + Sync,
    start: impl FnOnce() -> S,
) -> Result<(Vec<T>, S), Failure> {
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(count);
        for _ in 0..count {
            let (line, work) = (caller.line(), &work);
            threads.push(thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || work(line))?);
        }
        let started = start();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().map_err(|_| "a thread panicked")?;
        let done = threads.into_iter().map(join).collect::<Result<_, Failure>>()?;
        Ok((done, started))
    })
}
