//! Threads, bounded in number: kept for a while when there is nothing to do, so that each job costs none; and places, which
//! bound something else.
//!
//! Rules: a job that panics ends alone. What jobs are is not known here.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use mcp_sse_core::Timestamp;

use crate::clock::Clock;

/// A thread without a job is kept for so long.
const KEEP_THREAD: Duration = Duration::from_secs(10);
/// Who waits for a thread looks around this often.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// What a thread is to do.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads.
pub(super) struct Pool {
    name: &'static str,
    max_threads: usize,
    state: Mutex<State>,
    /// There is a job for a thread that has none.
    has_job: Condvar,
    /// A thread has become free, or has ended.
    has_room: Condvar,
}

#[derive(Default)]
struct State {
    /// Each is promised to a thread that waits.
    jobs: VecDeque<Job>,
    threads: usize,
    /// Threads that wait and are promised nothing.
    idle: usize,
    /// Those who wait for room.
    waiting: usize,
}

impl Pool {
    pub(super) fn new(name: &'static str, max_threads: usize) -> Arc<Self> {
        Arc::new(Self { name, max_threads, state: Mutex::default(), has_job: Condvar::new(), has_room: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a job done, or gives it back if all threads have one.
    pub(super) fn run(self: &Arc<Self>, job: Job) -> Result<(), Job> {
        self.begin(&mut self.state(), job)
    }

    /// Has a job done as soon as a thread is free for it. It is dropped if `is_over` first.
    pub(super) fn run_when_free(self: &Arc<Self>, mut job: Job, is_over: impl Fn() -> bool) {
        let mut state = self.state();
        state.waiting += 1;
        while let Err(given_back) = self.begin(&mut state, job) {
            if is_over() {
                break;
            }
            job = given_back;
            state = self.has_room.wait_timeout(state, LOOK_AROUND).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.waiting -= 1;
    }

    /// Whether a job waits for a thread.
    pub(super) fn is_pressed(&self) -> bool {
        self.state().waiting > 0
    }

    /// Waits until no thread has a job, or until the moment.
    pub(super) fn wait_until_idle(&self, until: Timestamp, clock: Clock) {
        let mut state = self.state();
        while state.threads > state.idle && clock.now() < until {
            let left = clock.until(until).min(LOOK_AROUND);
            state = self.has_room.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn begin(self: &Arc<Self>, state: &mut State, job: Job) -> Result<(), Job> {
        if state.idle > 0 {
            state.idle -= 1;
            state.jobs.push_back(job);
            self.has_job.notify_one();
            return Ok(());
        }
        if state.threads >= self.max_threads {
            return Err(job);
        }
        // The job is handed over by the queue, so that it comes back if no thread is to be had.
        let pool = Arc::clone(self);
        state.jobs.push_back(job);
        state.threads += 1;
        match thread::Builder::new().name(self.name.to_owned()).spawn(move || pool.work()) {
            Ok(_) => Ok(()),
            Err(_) => {
                state.threads -= 1;
                state.jobs.pop_back().map_or(Ok(()), Err)
            }
        }
    }

    fn work(&self) {
        while let Some(job) = self.next_job() {
            // What it had to say, the panic hook has said.
            catch_unwind(AssertUnwindSafe(job)).ok();
            self.state().idle += 1;
            self.has_room.notify_all();
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            let waited = self.has_job.wait_timeout(state, KEEP_THREAD).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() && state.jobs.is_empty() && state.idle > 0 {
                state.idle -= 1;
                state.threads -= 1;
                return None;
            }
        }
    }
}

/// What a place is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something that ends by itself, before long.
    Brief,
    /// Something that may last.
    Lasting,
}

/// So many at once; of them, so many that last.
pub(super) struct Places {
    most: usize,
    most_lasting: usize,
    taken: Mutex<Taken>,
    freed: Condvar,
}

#[derive(Default)]
struct Taken {
    all: usize,
    lasting: usize,
    /// Those who wait for one.
    waiting: usize,
}

/// One of them, until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    kind: Kind,
}

impl Places {
    pub(super) fn new(most: usize, most_lasting: usize) -> Arc<Self> {
        Arc::new(Self { most, most_lasting, taken: Mutex::default(), freed: Condvar::new() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, waited for so long at most.
    pub(super) fn take(self: &Arc<Self>, kind: Kind, at_most: Duration) -> Option<Place> {
        let is_full =
            |taken: &Taken| taken.all >= self.most || kind == Kind::Lasting && taken.lasting >= self.most_lasting;
        let mut taken = self.taken();
        if at_most > Duration::ZERO {
            taken.waiting += 1;
            let waited = self.freed.wait_timeout_while(taken, at_most, |taken| is_full(taken));
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
            taken.waiting -= 1;
        }
        if is_full(&taken) {
            return None;
        }
        taken.all += 1;
        taken.lasting += usize::from(kind == Kind::Lasting);
        Some(Place { places: Arc::clone(self), kind })
    }

    /// Whether somebody waits who could use any place.
    pub(super) fn is_pressed(&self) -> bool {
        let taken = self.taken();
        taken.waiting > 0 && taken.all >= self.most
    }
}

impl Place {
    /// It lasts, against what was thought. Whether there is room for that.
    pub(super) fn lasts(&mut self) -> bool {
        let mut taken = self.places.taken();
        if self.kind == Kind::Brief && taken.lasting < self.places.most_lasting {
            taken.lasting += 1;
            self.kind = Kind::Lasting;
        }
        self.kind == Kind::Lasting
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        taken.lasting -= usize::from(self.kind == Kind::Lasting);
        drop(taken);
        // Not each can use it.
        self.places.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const BOUND: Duration = Duration::from_secs(10);

    fn run(pool: &Arc<Pool>, job: impl FnOnce() + Send + 'static) -> bool {
        pool.run(Box::new(job)).is_ok()
    }

    #[test]
    fn a_pool_has_no_more_threads_than_it_may_and_uses_them_again() {
        let pool = Pool::new("test", 2);
        for _ in 0..3 {
            let (release, held) = mpsc::channel::<()>();
            let held = Arc::new(Mutex::new(held));
            for _ in 0..2 {
                let held = Arc::clone(&held);
                assert!(run(&pool, move || _ = held.lock().expect("nobody panics").recv()));
            }
            assert!(!run(&pool, || ()), "both have a job");
            drop(release);
            let clock = Clock::new();
            pool.wait_until_idle(clock.now().saturating_add(BOUND), clock);
            let state = pool.state();
            assert_eq!((state.threads, state.idle), (2, 2));
        }
    }

    #[test]
    fn a_job_that_panics_ends_alone() {
        let pool = Pool::new("test", 1);
        assert!(run(&pool, || panic!("as it should")));
        let (done, is_done) = mpsc::channel();
        pool.run_when_free(Box::new(move || done.send(()).expect("it is waited for")), || false);
        assert_eq!(is_done.recv_timeout(BOUND), Ok(()));
    }

    #[test]
    fn a_job_that_finds_no_thread_is_dropped_at_the_end() {
        let pool = Pool::new("test", 1);
        let (release, held) = mpsc::channel::<()>();
        assert!(run(&pool, move || _ = held.recv()));
        pool.run_when_free(Box::new(|| ()), || true);
        assert!(!pool.is_pressed());
        drop(release);
    }

    #[test]
    fn s11_what_lasts_leaves_places_for_what_is_brief() {
        let places = Places::new(3, 1);
        let take = |kind| places.take(kind, Duration::ZERO);
        let lasting = take(Kind::Lasting);
        assert!(lasting.is_some() && take(Kind::Lasting).is_none());
        let mut brief = take(Kind::Brief).expect("room");
        assert!(!brief.lasts(), "one may last");
        drop(lasting);
        assert!(brief.lasts() && take(Kind::Lasting).is_none());
        let others = (take(Kind::Brief), take(Kind::Brief));
        assert!(others.0.is_some() && others.1.is_some() && take(Kind::Brief).is_none());
        drop((others, brief));
        assert!(take(Kind::Lasting).is_some());
        let taken = places.taken();
        assert_eq!((taken.all, taken.lasting, taken.waiting), (0, 0, 0));
    }
}
