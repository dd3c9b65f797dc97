//! Memory: what is asked of the allocator, exactly.
//!
//! Rules of this file:
//! * All that is asked for counts, and a buffer that grows counts by what it grows. What is asked for during one event is
//!   therefore no less than what is held at its peak.
//! * These are counts and not times: the program fails if one is missed.

use std::alloc::System;

use mcp_sse_benches::corpora::{Corpus, KINDS};
use mcp_sse_benches::shapes::{self, CHUNK, MIB, SHAPES, Stream};
use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Request};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_core::sse::SseDecoder;
use stats_alloc::{Region, Stats};

use super::ALLOCATOR;

/// What a growing buffer may ask for, as a multiple of the event. It doubles.
const ALLOWED: f64 = 2.2;

const CHUNKS: [usize; 6] = [1, 7, 64, CHUNK, 16 * 1024, usize::MAX];

/// Prints all, and says whether all is as it should be.
pub(crate) fn print(is_quick: bool) -> bool {
    println!("| memory | | at most | |");
    println!("|---|---|---|---|");
    let mut is_good = true;
    for letter in "abefgi".chars() {
        is_good &= print_steady(&corpus(letter, MIB));
    }
    for letter in "cd".chars() {
        is_good &= print_large(&corpus(letter, if is_quick { 4 * MIB } else { 64 * MIB - 8 }));
    }
    is_good &= print_doubled();
    is_good &= print_after_outsized();
    is_good &= print_answer();
    println!();
    is_good
}

fn corpus(letter: char, bytes: usize) -> Corpus {
    let kind = KINDS.iter().find(|kind| kind.letter == letter).expect("there is such a stream");
    kind.make(bytes.min(kind.bytes))
}

fn row(name: &str, found: &str, allowed: &str, is_good: bool) -> bool {
    println!("| {name} | {found} | {allowed} | {} |", if is_good { "pass" } else { "**short**" });
    is_good
}

fn counted(run: impl FnOnce()) -> Stats {
    let region: Region<'_, System> = Region::new(ALLOCATOR);
    run();
    region.change()
}

/// Once the buffers have grown, events allocate nothing.
fn print_steady(corpus: &Corpus) -> bool {
    let allocations = CHUNKS.map(|chunk_bytes| {
        let mut decoder = SseDecoder::new();
        decode(&mut decoder, corpus.stream, chunk_bytes);
        let asked =
            counted(|| assert_eq!(decode(&mut decoder, corpus.stream, chunk_bytes).events, corpus.events.events));
        asked.allocations + asked.reallocations
    });
    let name = format!(
        "{}: allocations of {} events in chunks of 1, 7, 64, 1460, 16384 bytes and whole",
        corpus.kind.letter, corpus.events.events
    );
    row(&name, &allocations.map(|count| count.to_string()).join(", "), "0", allocations == [0; CHUNKS.len()])
}

/// One large event asks for what a growing buffer needs, and for no second copy.
fn print_large(corpus: &Corpus) -> bool {
    let mut decoder = SseDecoder::new();
    let mut data = 0;
    let asked = counted(|| data = decode(&mut decoder, corpus.stream, CHUNK).data);
    let name = format!("{}: {} ({data} bytes of data here)", corpus.kind.letter, corpus.kind.name);
    print_ratio(&name, ratio(asked, data))
}

/// The same at the size where doubling costs most, wherever that is.
fn print_doubled() -> bool {
    let stream = Stream::new(&SHAPES[0], 4 * MIB);
    let sizes = (0..64).map(|step| 2 * MIB + step * MIB / 32);
    let ratios = sizes.map(|size| {
        let mut decoder = shapes::decoder();
        let mut data = 0;
        let asked = counted(|| data = stream.decode(&mut decoder, size).1);
        ratio(asked, data)
    });
    print_ratio("one event, the worst of sizes between 2 and 4 MiB", ratios.fold(0.0, f64::max))
}

/// What was asked for, beyond a chunk, as a multiple of the event.
fn ratio(asked: Stats, data: usize) -> f64 {
    asked.bytes_allocated.saturating_sub(CHUNK) as f64 / data as f64
}

fn print_ratio(name: &str, ratio: f64) -> bool {
    let name = format!("{name}: bytes asked for in chunks of {CHUNK}, of the event's");
    row(&name, &format!("{ratio:.2}"), &format!("{ALLOWED}"), ratio <= ALLOWED)
}

/// After an outsized event, the next small ones ask for no more than such events ask of a fresh decoder, whether they are lent
/// or kept.
fn print_after_outsized() -> bool {
    let small = corpus('b', MIB).stream;
    let large = Stream::new(&SHAPES[0], 16 * MIB);
    let mut decoder = SseDecoder::new();
    let asks = |decoder: &mut SseDecoder| {
        let lent = counted(|| {
            decode(decoder, small, CHUNK);
        })
        .bytes_allocated;
        let kept = counted(|| keep(decoder, small)).bytes_allocated;
        (lent, kept)
    };
    let before = asks(&mut decoder);
    large.decode(&mut decoder, 16 * MIB);
    let after = asks(&mut decoder);
    let name = "b: bytes asked for by 1 MiB of events after one of 16 MiB; and if each is kept";
    let (found, allowed) = (format!("{}, {}", after.0, after.1), format!("{}, {}", before.0, before.1));
    row(name, &found, &format!("{allowed} (before it)"), after.0 <= before.0 && after.1 <= before.1)
}

/// An answer that an `Exchange` hands out was collected once, and not copied again: not by the reading of its envelope, and not by
/// the message that keeps it.
fn print_answer() -> bool {
    let answer = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}\n\n", "x".repeat(4 * MIB));
    let now = Timestamp::ZERO;
    let mut exchange = Exchange::new(&Request::new("tools/call").with_id(1), ExchangeConfig::default(), now);
    let head = ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]);
    exchange.on_head(&head, now).expect("the first head");
    let mut kept = 0;
    let asked = counted(|| {
        for chunk in answer.as_bytes().chunks(CHUNK) {
            let mut rest = chunk;
            while !rest.is_empty() {
                exchange.on_body(&mut rest, now).expect("all events were polled");
                if let Some(ExchangeEvent::Answer(answer)) = exchange.poll_event() {
                    kept += answer.message.as_json().len();
                }
            }
        }
    });
    assert!(kept > 4 * MIB, "the answer came");
    print_ratio("Exchange: one answer of 4 MiB", ratio(asked, kept))
}

struct Tally {
    events: u64,
    data: usize,
}

fn decode(decoder: &mut SseDecoder, stream: &[u8], chunk_bytes: usize) -> Tally {
    let mut tally = Tally { events: 0, data: 0 };
    for chunk in stream.chunks(chunk_bytes) {
        let mut rest = chunk;
        while let Some(event) = decoder.decode(&mut rest).expect("no limit is passed") {
            tally.events += 1;
            tally.data += event.data().len();
        }
    }
    tally
}

/// Takes each event's data out, as who keeps it does.
fn keep(decoder: &mut SseDecoder, stream: &[u8]) {
    for chunk in stream.chunks(CHUNK) {
        let mut rest = chunk;
        while let Some(event) = decoder.decode(&mut rest).expect("no limit is passed") {
            drop(event.into_data());
        }
    }
}
