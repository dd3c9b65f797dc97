//! Replays the seeds of the fuzz targets `recording` and `recording_text`, and inputs drawn at random.

use std::fs;
use std::path::Path;

use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::fuzz::recording::{read, run};

fn seeds(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 3, "{} seeds", paths.len());
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

fn changed(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut changed = seed.to_vec();
    for _ in 0..=random.below(4) {
        let Some(last) = changed.len().checked_sub(1) else { continue };
        let place = random.below(last + 1);
        changed[place] = random.below(256) as u8;
    }
    changed
}

#[test]
fn recording_seeds_hold_also_with_changed_bytes() {
    let mut random = Random::new(7);
    for folder in ["fuzz/recording", "fuzz/exchange"] {
        for seed in seeds(folder) {
            run(&seed);
            for _ in 0..60 {
                run(&changed(&mut random, &seed));
            }
        }
    }
}

#[test]
fn random_facts_are_recorded_and_replayed() {
    let mut random = Random::new(26);
    for _ in 0..4_000 {
        let mut data = vec![random.below(7) as u8, random.below(256) as u8, 0, 129, 13];
        for _ in 0..random.below(40) {
            // What leads somewhere comes more often.
            let what = [0, 13, 14, 14, 14, 7, 8, random.below(32)][random.below(8)];
            data.push((random.below(3) * random.below(4) * 32 % 256) as u8 | what as u8);
            data.push([random.below(256), 0, 3, 32, 33, 35, 160, 163, 195][random.below(9)] as u8);
            data.push(random.below(3) as u8);
        }
        run(&data);
    }
}

#[test]
fn texts_that_are_changed_anywhere_break_no_reader() {
    let mut random = Random::new(99);
    for seed in seeds("recordings") {
        read(&seed);
        for cut in 0..seed.len().min(1_500) {
            read(&seed[..cut]);
        }
        for _ in 0..200 {
            read(&changed(&mut random, &seed));
        }
    }
}
