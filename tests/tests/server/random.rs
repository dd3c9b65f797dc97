//! Replays the corpus of the fuzz target `server`, and runs its body on random inputs (S5, S9; no input panics).

use std::fs;
use std::path::Path;

use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::fuzz::server;

#[test]
fn the_corpus_replays() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/server");
    let mut count = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        server::run(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 8);
}

/// S9: any inputs in any order leave a server that holds its bounds, and nothing once everybody has gone.
#[test]
fn s9_random_inputs_in_random_order_keep_the_rules() {
    let mut random = Random::new(9);
    for _ in 0..3_000 {
        let length = 20 + random.below(400);
        let input: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        server::run(&input);
    }
}
