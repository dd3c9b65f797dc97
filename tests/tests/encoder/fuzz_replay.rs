//! Replays the corpus of the fuzz target `encoder`, and runs its body on random inputs.

use std::fs;
use std::path::Path;

use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::fuzz::encoder;

#[test]
fn the_corpus_replays() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/encoder");
    let mut count = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        encoder::run(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 8);
}

/// S1: encode then decode is the identity, over random texts made of what matters, in chunks of every small size.
#[test]
fn s1_random_events_decode_to_themselves_in_every_chunking() {
    let pieces: [&[u8]; 16] = [
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b" ",
        b":",
        b"data:",
        b"event: x",
        b"id: 1",
        b"retry: 5",
        b"{\"a\": 1}",
        b"x",
        b"\xEF\xBB\xBF",
        b"\xE4\xB8\x96",
        b"\xE2\x80\xA8",
        b"\xFF",
    ];
    let mut random = Random::new(1);
    for round in 0..20_000 {
        let mut input = vec![u8::try_from(round % 9).unwrap()];
        for _ in 0..=random.below(4) {
            let operation = u8::try_from(random.below(32)).unwrap();
            input.push(operation);
            for _ in 0..=(operation & 7).count_ones() {
                let mut text = Vec::new();
                for _ in 0..random.below(5) {
                    text.extend_from_slice(random.pick(&pieces));
                }
                input.push(u8::try_from(text.len()).unwrap());
                input.extend_from_slice(&text);
            }
        }
        encoder::run(&input);
    }
}
