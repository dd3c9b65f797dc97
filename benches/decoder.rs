//! The decoder beside its peers: `cargo bench --manifest-path benches/Cargo.toml` prints README's table, and
//! `-- --quick` runs all of it on little input.
//!
//! Rules of this bench:
//! * An engine is timed only after its events (count, bytes, hash of types, data and ids) were found equal to ours,
//!   and ours to those written into the corpus. A peer that gives others is shown as `wrong`.
//! * All engines run in every round, in one process. What is told is the median over the rounds of the *ratio* to
//!   ours in the same round, in processor time of the one thread: a machine with other work to do slows both.
//! * An engine is not to pay for the one before it: after a slow one, caches are cold and the processor's wide units
//!   asleep, which has halved the speed of the next. So each runs untimed first, then for some milliseconds, and the
//!   order is another one in every round.
//! * A ratio above 1 means that ours is faster. MiB/s are of this machine, this day, and tell less.

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use cpu_time::ThreadTime;
use mcp_sse_benches::corpora::{self, Corpus, Random};
use mcp_sse_benches::engines::{self, AnyEngine, Failure};

const MIB: f64 = 1024.0 * 1024.0;

/// How long an engine is timed per round, at least.
const TURN: Duration = Duration::from_millis(5);

/// Chunk sizes, in bytes: a TCP segment's payload on Ethernet, a TLS record, all at once.
const CHUNKS: [usize; 3] = [1460, 16 * 1024, usize::MAX];

fn main() -> ExitCode {
    let mut quick = false;
    for argument in env::args().skip(1) {
        match argument.as_str() {
            // Cargo passes it to every bench.
            "--bench" => {}
            "--quick" => quick = true,
            _ => {
                eprintln!("unknown argument; the only one is --quick");
                return ExitCode::FAILURE;
            }
        }
    }
    let (bytes, rounds) = if quick { (256 * 1024, 3) } else { (8 * 1024 * 1024, 21) };
    let peers = engines::peers();
    print_head(&peers);
    for corpus in corpora::all(bytes) {
        for chunk_bytes in CHUNKS {
            print_row(&corpus, chunk_bytes, &measure(&corpus, chunk_bytes, &peers, rounds));
        }
    }
    print_notes(bytes, rounds);
    ExitCode::SUCCESS
}

/// One line of the table: ratios are of speeds, ours (lending) to the other's.
struct Row {
    /// Bytes per second.
    ours: f64,
    /// Against ours that copies each event.
    owned: f64,
    /// Against `memchr2_iter`.
    floor: f64,
    peers: Vec<(&'static str, Cell)>,
}

enum Cell {
    Wrong,
    /// `cut`: how many bytes it was given, if not all.
    Timed {
        ratio: f64,
        cut: Option<usize>,
    },
}

/// One that runs in every round, unless it is wrong.
struct Entrant<'c> {
    name: &'static str,
    touch: fn(&[u8], usize) -> Result<u64, Failure>,
    stream: &'c [u8],
    is_correct: bool,
    /// Bytes per second, round by round.
    speeds: Vec<f64>,
}

fn measure(corpus: &Corpus, chunk_bytes: usize, peers: &[AnyEngine], rounds: usize) -> Row {
    let reference = engines::ours();
    let mut entrants = Vec::new();
    for engine in [reference, engines::ours_owned()].iter().chain(peers) {
        let stream = corpus.cut((engine.longest)(chunk_bytes));
        let expected = (reference.digest)(stream, chunk_bytes).ok();
        let is_correct = expected.is_some() && (engine.digest)(stream, chunk_bytes).ok() == expected;
        entrants.push(Entrant { name: engine.name, touch: engine.touch, stream, is_correct, speeds: Vec::new() });
    }
    let written = (reference.digest)(&corpus.stream, chunk_bytes).ok();
    assert_eq!(written, Some(corpus.events), "ours is wrong on {} in {chunk_bytes}", corpus.name);

    let line_ends = corpus.stream.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count() as u64;
    assert_eq!(engines::count_line_ends(&corpus.stream, chunk_bytes), line_ends);
    entrants.push(Entrant {
        name: "memchr2_iter",
        touch: |stream, chunk_bytes| Ok(engines::count_line_ends(stream, chunk_bytes)),
        stream: &corpus.stream,
        is_correct: true,
        speeds: Vec::new(),
    });

    let mut order: Vec<usize> = (0..entrants.len()).filter(|&index| entrants[index].is_correct).collect();
    let mut random = Random::new(rounds as u64);
    for _ in 0..rounds {
        for last in (1..order.len()).rev() {
            order.swap(last, random.within(0, last));
        }
        for &index in &order {
            let speed = speed(&entrants[index], chunk_bytes);
            entrants[index].speeds.push(speed);
        }
    }

    let [ours, owned, peers @ .., floor] = entrants.as_slice() else { unreachable!("ours and the floor always run") };
    assert!(owned.is_correct, "ours, owned, is wrong on {} in {chunk_bytes}", corpus.name);
    let cell = |peer: &Entrant<'_>| {
        let cut = (peer.stream.len() < corpus.stream.len()).then_some(peer.stream.len());
        let cell = if peer.is_correct { Cell::Timed { ratio: ratio(ours, peer), cut } } else { Cell::Wrong };
        (peer.name, cell)
    };
    Row {
        ours: median(ours.speeds.clone()),
        owned: ratio(ours, owned),
        floor: ratio(ours, floor),
        peers: peers.iter().map(cell).collect(),
    }
}

/// Bytes per second of one turn.
fn speed(entrant: &Entrant<'_>, chunk_bytes: usize) -> f64 {
    let run = || {
        let tally = (entrant.touch)(black_box(entrant.stream), chunk_bytes);
        assert!(black_box(tally).is_ok(), "{} failed where it had succeeded", entrant.name);
    };
    run();
    let start = ThreadTime::now();
    let mut runs = 0;
    loop {
        run();
        runs += 1;
        let elapsed = start.elapsed();
        if elapsed >= TURN {
            return (entrant.stream.len() * runs) as f64 / elapsed.as_secs_f64();
        }
    }
}

/// The median of the rounds' ratios.
fn ratio(ours: &Entrant<'_>, other: &Entrant<'_>) -> f64 {
    median(ours.speeds.iter().zip(&other.speeds).map(|(ours, other)| ours / other).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print_head(peers: &[AnyEngine]) {
    let names: Vec<_> = peers.iter().map(|peer| format!("/ {}", peer.name)).collect();
    println!(
        "| stream | chunks | ours, MiB/s | ours / best peer | ours, owned / best peer | {} | / memchr2_iter |",
        names.join(" | ")
    );
    println!("|---|---|---|---|---|{}---|", "---|".repeat(peers.len()));
}

fn print_row(corpus: &Corpus, chunk_bytes: usize, row: &Row) {
    let best = row.peers.iter().filter_map(|(name, cell)| match cell {
        Cell::Timed { ratio, .. } => Some((*name, *ratio)),
        Cell::Wrong => None,
    });
    let best = best.min_by(|(_, one), (_, other)| one.total_cmp(other));
    let (against_best, owned_against_best) = match best {
        Some((name, ratio)) => (format!("**{ratio:.2}** ({name})"), format!("{:.2}", ratio / row.owned)),
        None => ("–".to_owned(), "–".to_owned()),
    };
    let cells: Vec<_> = row.peers.iter().map(|(_, cell)| cell_text(cell)).collect();
    let chunks = if chunk_bytes == usize::MAX { "whole".to_owned() } else { chunk_bytes.to_string() };
    println!(
        "| {} | {chunks} | {:.0} | {against_best} | {owned_against_best} | {} | {:.2} |",
        corpus.name,
        row.ours / MIB,
        cells.join(" | "),
        row.floor
    );
}

fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Wrong => "wrong".to_owned(),
        Cell::Timed { ratio, cut } => {
            let digits = if *ratio < 10.0 { 2 } else { 0 };
            let cut = cut.map(|bytes| format!(" @{}K", bytes.div_ceil(1024))).unwrap_or_default();
            format!("{ratio:.digits$}{cut}")
        }
    }
}

fn print_notes(bytes: usize, rounds: usize) {
    println!();
    println!(
        "Ratios of speeds, medians of {rounds} interleaved rounds over {:.2} MiB; above 1, ours is faster. `@`: given only \
         so much of it, being quadratic there. `wrong`: gave other events, not timed. Owned: every event copied into \
         `String`s, as most peers give it. memchr2_iter only counts line ends.",
        bytes as f64 / MIB
    );
}
