//! What is to be reached, and whether it is.

use mcp_sse_benches::figures::verdict;
use mcp_sse_benches::limits::{COPY, LINE_ENDS};

use super::measure::Row;
use super::table;

/// What ours is measured against.
enum Against {
    /// The fastest peer that is right.
    Peer,
    /// The same, with each of our events copied into `String`s.
    PeerOwned,
    /// One of the limits.
    Limit(&'static str),
}

struct Target {
    letters: &'static str,
    chunks: &'static [usize],
    against: Against,
    /// The least ratio of ours to that.
    least: f64,
}

const ALL: usize = usize::MAX;
const LARGE: &[usize] = &[1460, 16_384, 65_536, ALL];

const TARGETS: [Target; 16] = [
    Target { letters: "afi", chunks: LARGE, against: Against::Peer, least: 2.5 },
    Target { letters: "afi", chunks: LARGE, against: Against::Limit(LINE_ENDS.name), least: 0.35 },
    Target { letters: "b", chunks: LARGE, against: Against::Peer, least: 2.5 },
    Target { letters: "b", chunks: LARGE, against: Against::Limit(LINE_ENDS.name), least: 0.35 },
    Target { letters: "g", chunks: LARGE, against: Against::Peer, least: 3.0 },
    Target { letters: "g", chunks: LARGE, against: Against::Limit(LINE_ENDS.name), least: 0.35 },
    Target { letters: "e", chunks: LARGE, against: Against::Peer, least: 1.3 },
    Target { letters: "e", chunks: LARGE, against: Against::Limit(LINE_ENDS.name), least: 1.2 },
    Target { letters: "h", chunks: &[1460], against: Against::Peer, least: 1.0 },
    Target { letters: "h", chunks: &[16_384, ALL], against: Against::Peer, least: 1.3 },
    Target { letters: "d", chunks: LARGE, against: Against::Peer, least: 1.2 },
    Target { letters: "c", chunks: LARGE, against: Against::Peer, least: 1.0 },
    Target { letters: "c", chunks: LARGE, against: Against::Limit(COPY.name), least: 0.8 },
    Target { letters: "abcdefghij", chunks: &[1], against: Against::Peer, least: 1.0 },
    Target { letters: "abcdefghij", chunks: &[7], against: Against::Peer, least: 1.0 },
    Target { letters: "abg", chunks: LARGE, against: Against::PeerOwned, least: 1.2 },
];

pub(crate) fn print(rows: &[Row]) {
    println!();
    println!("| target | chunks | ours / | at least | least of all | where | |");
    println!("|---|---|---|---|---|---|---|");
    for target in &TARGETS {
        print_target(target, rows);
    }
}

fn print_target(target: &Target, rows: &[Row]) {
    let concerned =
        rows.iter().filter(|row| target.letters.contains(row.kind.letter) && target.chunks.contains(&row.chunk_bytes));
    let worst = concerned
        .filter_map(|row| Some((reached(target, row)?, row)))
        .min_by(|(one, _), (other, _)| one.total_cmp(other));
    // Some streams may have been left out.
    let Some((ratio, row)) = worst else {
        return;
    };
    let letters: Vec<_> = target.letters.chars().map(String::from).collect();
    let chunks: Vec<_> = target.chunks.iter().map(|bytes| table::chunks(*bytes)).collect();
    let against = match target.against {
        Against::Peer => "best peer",
        Against::PeerOwned => "best peer, owned",
        Against::Limit(name) => name,
    };
    println!(
        "| {} | {} | {against} | {} | {ratio:.2} | {} in {} | {} |",
        letters.join(", "),
        chunks.join(", "),
        target.least,
        row.kind.letter,
        table::chunks(row.chunk_bytes),
        verdict(ratio >= target.least)
    );
}

fn reached(target: &Target, row: &Row) -> Option<f64> {
    match target.against {
        Against::Peer => Some(row.best_peer()?.1),
        Against::PeerOwned => Some(row.best_peer()?.1 / row.owned),
        Against::Limit(name) => row.limits.iter().find(|(limit, _)| *limit == name).map(|(_, ratio)| *ratio),
    }
}
