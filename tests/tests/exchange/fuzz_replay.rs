//! Replays the seeds of the `exchange` fuzz target, whole, cut at every byte and with changed bytes; and lists of facts
//! drawn at random.

use std::fs;
use std::path::Path;

use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::fuzz::exchange::run;

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/fuzz/exchange");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.into_iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 20, "{} seeds", seeds.len());
    seeds
}

/// E27: the seeds, and every beginning of them.
#[test]
fn e27_exchange_seeds_hold_at_every_cut() {
    for seed in seeds() {
        for cut in 0..=seed.len() {
            run(&seed[..cut]);
        }
    }
}

/// E27: the seeds with changed bytes.
#[test]
fn e27_exchange_seeds_hold_with_changed_bytes() {
    let mut random = Random::new(27);
    for seed in seeds() {
        for _ in 0..300 {
            let mut changed = seed.clone();
            for _ in 0..=random.below(4) {
                let Some(last) = changed.len().checked_sub(1) else { continue };
                let place = random.below(last + 1);
                changed[place] = random.below(256) as u8;
            }
            run(&changed);
        }
    }
}

/// E27: facts drawn at random, those that lead somewhere more often.
#[test]
fn e27_random_facts_hold() {
    let mut random = Random::new(2027);
    for _ in 0..30_000 {
        let mut data: Vec<u8> = (0..4).map(|_| random.below(256) as u8).collect();
        // Roomy limits half of the time, and mostly a head of success.
        if random.below(2) == 0 {
            data[2] = 255;
        }
        if random.below(3) > 0 {
            data[3] &= 0x3F;
        }
        data.extend([3, 4]);
        for _ in 0..random.below(12) {
            data.push((random.below(2) * random.below(8) * 32 + 11 + random.below(20)) as u8);
            if data.last().is_some_and(|byte| byte & 0x1F == 31) {
                let length = random.below(30);
                data.push(length as u8);
                let alphabet = b"data: {}[]\"7id:\n\r,\x1f\x8b\xEF\xBB\xBF<";
                data.extend((0..length).map(|_| alphabet[random.below(alphabet.len())]));
            }
        }
        data.push(6 + random.below(4) as u8);
        run(&data);
    }
}
