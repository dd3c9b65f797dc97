//! An `Exchange` beside the decoder alone, on the stream of an MCP server: what the reading of envelopes and the keeping of
//! messages cost.
//!
//! The steps between are told too: the envelope read and nothing kept, and the text copied and nothing read.

use std::hint::black_box;

use mcp_sse_benches::corpora::{Corpus, KINDS};
use mcp_sse_benches::engines::{self, AnyEngine};
use mcp_sse_core::jsonrpc;
use mcp_sse_core::sse::SseDecoder;

use super::rounds::{Amount, Entrant, measure};

/// An exchange keeps so much of the decoder's rate.
const LEAST: f64 = 0.60;

const MIB: f64 = 1024.0 * 1024.0;

const CHUNKS: [usize; 4] = [1460, 16 * 1024, 64 * 1024, usize::MAX];

pub(crate) fn print(amount: Amount) {
    println!(
        "| b: MCP progress, chunks | decoder, MiB/s | Exchange, MiB/s | Exchange / decoder | decoder and `jsonrpc::read` \
         / decoder | decoder and a copy / decoder | at least | |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let kind = KINDS.iter().find(|kind| kind.letter == 'b').expect("there is a stream b");
    let corpus = kind.make(amount.bytes.min(kind.bytes));
    for chunk_bytes in CHUNKS {
        row(corpus, chunk_bytes, amount);
    }
    println!();
}

fn row(corpus: Corpus, chunk_bytes: usize, amount: Amount) {
    let engine = |engine: AnyEngine| {
        let digest = (engine.digest)(corpus.stream, chunk_bytes).ok();
        assert_eq!(digest, Some(corpus.events), "{} is wrong", engine.name);
        let run = move || (engine.touch)(corpus.stream, chunk_bytes).expect("it succeeded before");
        Entrant { run: Box::new(run) }
    };
    let own = |name: &str, run: fn(&[u8], usize) -> u64| {
        assert_eq!(run(corpus.stream, chunk_bytes), corpus.events.events, "{name} is wrong");
        Entrant { run: Box::new(move || run(corpus.stream, chunk_bytes)) }
    };
    let entrants = [
        engine(engines::ours()),
        engine(engines::ours_exchange()),
        own("read", |stream, chunk_bytes| decode(stream, chunk_bytes, |data| black_box(&jsonrpc::read(data)).is_ok())),
        own("copy", |stream, chunk_bytes| {
            decode(stream, chunk_bytes, |data| !black_box(&String::from(data)).is_empty())
        }),
    ];
    let speeds = measure(&entrants, amount);
    let [decoder, exchange, read, copy] = speeds.as_slice() else { unreachable!("each has its speeds") };
    let ratio = exchange.over(decoder);
    let rate = |runs: f64| runs * corpus.stream.len() as f64 / MIB;
    println!(
        "| {} | {:.0} | {:.0} | **{ratio:.2}** | {:.2} | {:.2} | {LEAST:.2} | {} |",
        if chunk_bytes == usize::MAX { "whole".to_owned() } else { chunk_bytes.to_string() },
        rate(decoder.median()),
        rate(exchange.median()),
        read.over(decoder),
        copy.over(decoder),
        if ratio >= LEAST { "pass" } else { "**short**" },
    );
}

/// How many events there were for which it held.
fn decode(stream: &[u8], chunk_bytes: usize, holds: impl Fn(&str) -> bool) -> u64 {
    let mut decoder = SseDecoder::new();
    let mut count = 0;
    for chunk in stream.chunks(chunk_bytes) {
        let mut rest = chunk;
        while let Some(event) = decoder.decode(&mut rest).expect("no limit is passed") {
            count += u64::from(holds(event.data()));
        }
    }
    count
}
