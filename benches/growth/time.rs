//! Time: whether it grows with the bytes, and no faster.
//!
//! Rules of this file:
//! * What is told is processor time per byte as a multiple of that at the smallest size, each the best of several rounds, and all
//!   sizes take turns: what else the machine does can only make a turn slower.
//! * A collected event pays for its memory, too: what is fresh is made page by page, which takes ten times as long as the decoding.
//!   So that sizes can be compared, all of them get fresh memory (see `main.rs`). The first row shows how memory alone grows: the
//!   same chunks are copied into a `Vec` that doubles.
//! * What the decoder does with a byte is told without a clock by the program `instructions`, which counts the same shapes.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;
use mcp_sse_benches::shapes::{CHUNK, MIB, SHAPES, Stream};

/// Time per byte may grow by so much.
const ALLOWED: f64 = 1.15;

/// A turn takes as long, at least.
const TURN: Duration = Duration::from_millis(4);

pub(crate) fn print(sizes: &[usize], rounds: usize) {
    let heads: Vec<_> = sizes.iter().map(|size| format!("{} MiB", size / MIB)).collect();
    println!(
        "| time per byte, of that at the first size | {} | ns a KiB at first | most allowed | |",
        heads.join(" | ")
    );
    println!("|---|{}---|---|---|", "---|".repeat(sizes.len()));
    let most = sizes.iter().copied().max().unwrap_or_default();
    let copy = per_byte(sizes, rounds, copy);
    row("a copy of chunks into a growing `Vec`", &copy, None);
    for shape in &SHAPES {
        let stream = Stream::new(shape, most);
        let times = per_byte(sizes, rounds, |bytes| stream.run(bytes));
        row(shape.name, &times, Some(ALLOWED));
    }
    println!();
}

fn row(name: &str, times: &[f64], allowed: Option<f64>) {
    let first = times[0];
    let ratios: Vec<_> = times.iter().map(|time| time / first).collect();
    let cells: Vec<_> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let worst = ratios.iter().copied().fold(0.0, f64::max);
    let is_good = allowed.is_none_or(|allowed| worst <= allowed);
    println!(
        "| {name} | {} | {:.1} | {} | {} |",
        cells.join(" | "),
        first * 1024.0 * 1e9,
        allowed.map_or_else(|| "–".to_owned(), |allowed| format!("{allowed:.2}")),
        if allowed.is_none() {
            ""
        } else if is_good {
            "pass"
        } else {
            "**short**"
        }
    );
}

/// Seconds per byte at each size.
fn per_byte(sizes: &[usize], rounds: usize, run: impl Fn(usize)) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; sizes.len()];
    for _ in 0..rounds {
        for (best, &size) in best.iter_mut().zip(sizes) {
            let start = ThreadTime::now();
            let mut runs = 0;
            while runs == 0 || start.elapsed() < TURN {
                run(size);
                runs += 1;
            }
            *best = best.min(start.elapsed().as_secs_f64() / f64::from(runs) / size as f64);
        }
    }
    best
}

fn copy(bytes: usize) {
    let chunk = [b'x'; CHUNK];
    let mut copy: Vec<u8> = Vec::new();
    for _ in 0..black_box(bytes) / CHUNK {
        copy.extend_from_slice(black_box(&chunk));
    }
    assert!(black_box(&copy).len() > bytes - CHUNK);
}
