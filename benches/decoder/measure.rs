//! The measuring: which bytes an engine gets, and the rounds.
//!
//! Rules of this file:
//! * All engines run in every round, in one process. What is told is the median over the rounds of the *ratio* to ours in
//!   the same round, in processor time of the one thread: a machine with other work to do slows both. (An engine that
//!   is several times slower runs in the first rounds only: its ratio needs no more digits.)
//! * An engine is not to pay for the one before it: after a slow one, caches are cold and the processor's wide units
//!   asleep, which has halved the speed of the next. So each runs untimed first, then for some milliseconds, and the
//!   order is another one in every round.
//! * An engine whose work grows faster than its input gets less of it, a stream of the same kind but smaller, and the
//!   table says so.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use mcp_sse_benches::corpora::{Corpus, Kind, Random};
use mcp_sse_benches::engines::{self, AnyEngine, Failure};
use mcp_sse_benches::figures::median;
use mcp_sse_benches::limits::LIMITS;

/// How much is measured.
pub(crate) struct Amount {
    rounds: usize,
    /// The most bytes of a stream.
    bytes: usize,
    /// How long an engine is timed per round, at least.
    turn: Duration,
}

impl Amount {
    pub(crate) const FULL: Self = Self { rounds: 11, bytes: usize::MAX, turn: Duration::from_millis(5) };
    pub(crate) const QUICK: Self = Self { rounds: 5, bytes: 512 * 1024, turn: Duration::from_millis(1) };
}

/// The rounds that a slow engine runs in.
const SLOW_ROUNDS: usize = 3;

/// How many times slower than ours a slow engine is.
const SLOW: f64 = 4.0;

/// The first bytes an engine gets, to see whether it can take more; and to warm up.
const FIRST_BYTES: usize = 128 * 1024;

/// No run is to take longer.
const LONGEST_RUN: Duration = Duration::from_millis(1200);

/// One line of the table: ratios are of speeds, ours (lending) to the other's.
pub(crate) struct Row {
    pub(crate) kind: &'static Kind,
    pub(crate) chunk_bytes: usize,
    /// Bytes per second.
    pub(crate) ours: f64,
    /// Against ours that copies each event.
    pub(crate) owned: f64,
    pub(crate) peers: Vec<(&'static str, Cell)>,
    pub(crate) limits: Vec<(&'static str, f64)>,
}

impl Row {
    /// The fastest peer of those that are right, and the ratio to it.
    pub(crate) fn best_peer(&self) -> Option<(&'static str, f64)> {
        let right = self.peers.iter().filter_map(|(name, cell)| match cell {
            Cell::Timed { ratio, .. } => Some((*name, *ratio)),
            Cell::Wrong => None,
        });
        right.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

pub(crate) enum Cell {
    Wrong,
    /// `cut`: how many bytes it was given, if not all.
    Timed {
        ratio: f64,
        cut: Option<usize>,
    },
}

/// The streams made so far.
#[derive(Default)]
pub(crate) struct Streams(HashMap<(char, usize), Corpus>);

impl Streams {
    fn get(&mut self, kind: &'static Kind, bytes: usize) -> Corpus {
        *self.0.entry((kind.letter, bytes)).or_insert_with(|| kind.make(bytes))
    }
}

/// One that runs in every round.
struct Entrant {
    name: &'static str,
    run: Run,
    stream: &'static [u8],
    warm_up: &'static [u8],
    /// Bytes per second, round by round.
    speeds: Vec<Option<f64>>,
}

#[derive(Clone, Copy)]
enum Run {
    Engine(fn(&'static [u8], usize) -> Result<u64, Failure>),
    Limit(fn(&[u8], usize) -> u64),
}

pub(crate) fn row(kind: &'static Kind, chunk_bytes: usize, amount: &Amount, streams: &mut Streams) -> Row {
    // Tiny chunks take long.
    let most = match chunk_bytes {
        1 => 1 << 20,
        7 => 4 << 20,
        64 => 8 << 20,
        _ => usize::MAX,
    };
    let bytes = kind.bytes.min(most).min(amount.bytes);
    let all = streams.get(kind, bytes).stream;
    let warm_up = streams.get(kind, FIRST_BYTES.min(bytes)).stream;
    let entrant = |name, run, stream| Entrant { name, run, stream, warm_up, speeds: Vec::new() };

    let mut entrants = Vec::new();
    let mut wrong = Vec::new();
    for engine in [engines::ours(), engines::ours_owned()] {
        let corpus = streams.get(kind, bytes);
        let digest = (engine.digest)(corpus.stream, chunk_bytes).ok();
        assert_eq!(digest, Some(corpus.events), "{} is wrong on {} in {chunk_bytes}", engine.name, kind.name);
        entrants.push(entrant(engine.name, Run::Engine(engine.touch), corpus.stream));
    }
    for engine in &engines::peers() {
        match fit(engine, kind, chunk_bytes, bytes, streams) {
            Some(corpus) => entrants.push(entrant(engine.name, Run::Engine(engine.touch), corpus.stream)),
            None => wrong.push(engine.name),
        }
    }
    entrants.extend(LIMITS.iter().map(|limit| entrant(limit.name, Run::Limit(limit.run), all)));

    run_rounds(&mut entrants, chunk_bytes, amount);
    let [ours, owned, others @ ..] = entrants.as_slice() else { unreachable!("ours always runs") };
    let (peers, limits) = others.split_at(others.len() - LIMITS.len());
    let cell = |peer: &Entrant| {
        let cut = (peer.stream.len() < all.len()).then_some(peer.stream.len());
        (peer.name, Cell::Timed { ratio: ratio(ours, peer), cut })
    };
    Row {
        kind,
        chunk_bytes,
        ours: median(ours.speeds.iter().flatten().copied().collect()),
        owned: ratio(ours, owned),
        peers: peers.iter().map(cell).chain(wrong.iter().map(|name| (*name, Cell::Wrong))).collect(),
        limits: limits.iter().map(|limit| (limit.name, ratio(ours, limit))).collect(),
    }
}

/// The largest stream of the kind, up to `bytes`, that the engine decodes in bearable time; or nothing if it decodes
/// one wrongly.
fn fit(
    engine: &AnyEngine,
    kind: &'static Kind,
    chunk_bytes: usize,
    bytes: usize,
    streams: &mut Streams,
) -> Option<Corpus> {
    let mut size = FIRST_BYTES.min(bytes);
    let mut before = None;
    loop {
        let corpus = streams.get(kind, size);
        let start = ThreadTime::now();
        let digest = (engine.digest)(corpus.stream, chunk_bytes).ok()?;
        let took = start.elapsed();
        if digest != corpus.events {
            return None;
        }
        // Per quadrupling; the first guess is the square.
        let growth = before.map_or(16.0, |before: Duration| (took.as_secs_f64() / before.as_secs_f64()).max(4.0));
        if size == bytes || took.mul_f64(growth) > LONGEST_RUN {
            return Some(corpus);
        }
        before = Some(took);
        size = if size * 4 > bytes { bytes } else { size * 4 };
    }
}

fn run_rounds(entrants: &mut [Entrant], chunk_bytes: usize, amount: &Amount) {
    let mut order: Vec<usize> = (0..entrants.len()).collect();
    let mut random = Random::new(amount.rounds as u64);
    for round in 0..amount.rounds {
        for last in (1..order.len()).rev() {
            order.swap(last, random.within(0, last));
        }
        for &index in &order {
            let is_slow = index > 0 && round >= SLOW_ROUNDS && ratio(&entrants[0], &entrants[index]) > SLOW;
            let speed = (!is_slow).then(|| speed(&entrants[index], chunk_bytes, amount.turn));
            entrants[index].speeds.push(speed);
        }
    }
}

/// Bytes per second of one turn.
fn speed(entrant: &Entrant, chunk_bytes: usize, turn: Duration) -> f64 {
    let run = |stream: &'static [u8]| match entrant.run {
        Run::Engine(touch) => {
            let tally = touch(black_box(stream), chunk_bytes);
            assert!(black_box(tally).is_ok(), "{} failed where it had succeeded", entrant.name);
        }
        Run::Limit(run) => {
            black_box(run(black_box(stream), chunk_bytes));
        }
    };
    run(entrant.warm_up);
    let start = ThreadTime::now();
    let mut runs = 0;
    loop {
        run(entrant.stream);
        runs += 1;
        let elapsed = start.elapsed();
        if elapsed >= turn {
            return (entrant.stream.len() * runs) as f64 / elapsed.as_secs_f64();
        }
    }
}

/// The median of the rounds' ratios.
fn ratio(ours: &Entrant, other: &Entrant) -> f64 {
    let rounds = ours.speeds.iter().zip(&other.speeds);
    median(rounds.filter_map(|(ours, other)| Some((*ours)? / (*other)?)).collect())
}
