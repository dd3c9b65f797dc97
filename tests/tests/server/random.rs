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
    let mut all = server::Seen::default();
    for _ in 0..2_000 {
        let length = 20 + random.below(1_500);
        let input: Vec<u8> = (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        let seen = server::run(&input);
        all.calls += seen.calls;
        all.answered += seen.answered;
        all.cancelled += seen.cancelled;
        all.sessions += seen.sessions;
        all.streams += seen.streams;
        all.cuts += seen.cuts;
        all.full += seen.full;
    }
    let counts = [all.calls, all.answered, all.cancelled, all.sessions, all.streams, all.cuts, all.full];
    assert!(counts.iter().all(|count| *count > 150), "the runs come to something: {all:?}");
}

/// An adapter may move a server from thread to thread.
#[test]
fn a_server_is_send() {
    const fn is_send<T: Send>() {}
    is_send::<mcp_sse_core::server::Server>();
}
