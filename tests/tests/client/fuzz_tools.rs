//! Replays the seeds of the `tools` fuzz target, whole, cut at every byte and with changed bytes.

use std::fs;
use std::path::Path;

use mcp_sse_tests::fuzz::tools::run;

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/tools");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.into_iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 8, "{} seeds", seeds.len());
    seeds
}

#[test]
fn tools_seeds_hold() {
    run(b"");
    for seed in seeds() {
        run(&seed);
    }
}

#[test]
fn tools_seeds_hold_at_every_cut() {
    for seed in seeds() {
        for cut in 0..seed.len().min(600) {
            run(&seed[..cut]);
        }
    }
}

#[test]
fn tools_seeds_hold_with_changed_bytes() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for seed in seeds() {
        for _ in 0..400 {
            let mut changed = seed.clone();
            for _ in 0..=state % 3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let position = (state >> 33) as usize % changed.len();
                changed[position] = b"{}[]\",:\\ \x00aN7"[(state >> 20) as usize % 13];
            }
            run(&changed);
        }
    }
}
