//! Replays the corpus of the fuzz target `decoder`, and runs its body on random inputs.

use std::fs;
use std::path::Path;

use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::fuzz::decoder;

#[test]
fn the_corpus_replays() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/decoder");
    let mut count = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        decoder::run(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 8);
}

/// D9 and D10 without a fuzzer: random inputs made of pieces that matter.
#[test]
fn d10_random_inputs_keep_the_rules() {
    let pieces: [&[u8]; 22] = [
        b"data:",
        b"data",
        b"event:",
        b"id:",
        b"retry:",
        b":",
        b" ",
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"message",
        b"messages",
        b"x",
        b"1234567",
        b"\0",
        b"\xEF\xBB\xBF",
        b"\xE4\xB8\x96",
        b"\xF0\x9F",
        b"\x98",
        b"\xFF",
    ];
    let mut random = Random::new(10);
    for _ in 0..20_000 {
        let count = random.below(5);
        let mut input = vec![u8::try_from(count).unwrap()];
        for _ in 0..count {
            input.push(u8::try_from(random.below(12)).unwrap());
        }
        for _ in 0..random.below(20) {
            input.extend_from_slice(random.pick(&pieces));
        }
        decoder::run(&input);
    }
}
