//! The table, as Markdown.

use mcp_sse_benches::engines;
use mcp_sse_benches::limits::LIMITS;

use super::measure::{Cell, Row};

const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn print_head() {
    let peers: Vec<_> = engines::peers().iter().map(|peer| format!("/ {}", peer.name)).collect();
    let limits: Vec<_> = LIMITS.iter().map(|limit| format!("/ {}", limit.name)).collect();
    println!(
        "| stream | chunks | ours, MiB/s | ours / best peer | ours, owned / best peer | {} | {} |",
        peers.join(" | "),
        limits.join(" | ")
    );
    println!("|---|---|---|---|---|{}", "---|".repeat(peers.len() + limits.len()));
}

pub(crate) fn print_row(row: &Row) {
    let (best, owned) = match row.best_peer() {
        Some((name, ratio)) => (format!("**{ratio:.2}** ({name})"), format!("{:.2}", ratio / row.owned)),
        None => ("–".to_owned(), "–".to_owned()),
    };
    let cell =
        |name| row.peers.iter().find(|(peer, _)| *peer == name).map_or_else(|| "–".to_owned(), |(_, cell)| text(cell));
    let peers: Vec<_> = engines::peers().iter().map(|peer| cell(peer.name)).collect();
    let limits: Vec<_> = row.limits.iter().map(|(_, ratio)| number(*ratio)).collect();
    println!(
        "| {}: {} | {} | {:.0} | {best} | {owned} | {} | {} |",
        row.kind.letter,
        row.kind.name,
        chunks(row.chunk_bytes),
        row.ours / MIB,
        peers.join(" | "),
        limits.join(" | ")
    );
}

pub(crate) fn chunks(bytes: usize) -> String {
    if bytes == usize::MAX { "whole".to_owned() } else { bytes.to_string() }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Wrong => "wrong".to_owned(),
        Cell::Timed { ratio, cut } => {
            let cut = cut.map(|bytes| format!(" @{}K", bytes.div_ceil(1024))).unwrap_or_default();
            format!("{}{cut}", number(*ratio))
        }
    }
}

fn number(ratio: f64) -> String {
    let digits = if ratio < 10.0 { 2 } else { 0 };
    format!("{ratio:.digits$}")
}

pub(crate) fn print_notes() {
    println!();
    println!(
        "Ratios of speeds, medians of interleaved rounds; above 1, ours is faster. `@`: given only so much of it, since \
         its work grows faster than its input. `wrong`: gave other events, not timed. Owned: every event copied into \
         `String`s, as most peers give it. The last columns are limits: they decode nothing."
    );
}
