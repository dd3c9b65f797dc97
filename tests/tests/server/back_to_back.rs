//! Our client and our server agree on every call's outcome, over pipes that cut and delay at random (property 10).

use mcp_sse_core::client::{ClientConfig, Outcome, Protocol};
use mcp_sse_core::exchange::Exposure;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::back_to_back::{BackToBack, a_minute};
use mcp_sse_tests::server_driver::config;

const CALLS: u64 = 6;

fn protocols() -> Vec<(&'static str, Protocol)> {
    vec![
        ("auto", Protocol::Auto),
        ("2026-07-28", Protocol::Fixed(ProtocolVersion::V2026_07_28)),
        ("2025-11-25", Protocol::Fixed(ProtocolVersion::V2025_11_25)),
        ("2025-06-18", Protocol::Fixed(ProtocolVersion::V2025_06_18)),
        ("2025-03-26", Protocol::Fixed(ProtocolVersion::V2025_03_26)),
        ("2024-11-05", Protocol::Fixed(ProtocolVersion::V2024_11_05)),
    ]
}

fn world(protocol: Protocol, always_streams: bool, seed: u64, cut_in: usize) -> BackToBack {
    let client = ClientConfig::default().with_protocol(protocol);
    let mut world = BackToBack::new(client, config().with_always_streams(always_streams), seed, cut_in);
    for number in 1..=CALLS {
        world.call(number, a_minute());
    }
    world.run();
    world
}

/// Property 10: over whole pipes, however they cut what they carry into pieces, each call runs once and is answered.
#[test]
fn p10_over_whole_pipes_each_call_runs_once_and_is_answered() {
    for (name, protocol) in protocols() {
        for seed in 0..20 {
            let mut world = world(protocol, seed % 2 == 0, seed, 0);
            for (number, story) in &world.stories {
                let settled = matches!(story.done.as_ref().unwrap().outcome, Outcome::Settled(_));
                assert!(settled, "{name}, seed {seed}, call {number}: {:?}", story.done);
                assert_eq!((&*story.answers, world.runs[number]), (&[*number][..], 1), "{name}, seed {seed}");
            }
            world.close();
            assert_eq!(world.server.call_count(), 0, "{name}");
            assert_eq!((world.server.sessions().count(), world.server.exchange_count()), (0, 0), "{name}, seed {seed}");
        }
    }
}

/// Property 10: over pipes that break, what one side says of a call is true of the other.
#[test]
fn p10_over_broken_pipes_the_two_agree_on_every_outcome() {
    let (mut cuts, mut settled, mut failed) = (0, 0, 0);
    for (name, protocol) in protocols() {
        for seed in 0..120 {
            let world = world(protocol, seed % 2 == 0, 1_000 + seed, 30 + 20 * usize::try_from(seed % 7).unwrap());
            cuts += world.cuts;
            for (number, story) in &world.stories {
                let done = story.done.as_ref().unwrap();
                let runs = world.runs.get(number).copied().unwrap_or_default();
                let what = format!("{name}, seed {seed}, call {number}: {done}, {runs} runs, {:?}", story.answers);
                assert!(story.answers.len() <= 1 && story.answers.iter().all(|answer| answer == number), "{what}");
                assert!(runs <= done.attempts, "{what}");
                match &done.outcome {
                    Outcome::Settled(_) | Outcome::Salvaged { .. } => {
                        settled += 1;
                        assert_eq!(story.answers.len(), 1, "{what}");
                        assert!(runs == 1 || runs > 1 && done.earlier_may_have_run, "{what}");
                    }
                    Outcome::Failed(_) => {
                        failed += 1;
                        assert_eq!(story.answers.len(), 0, "{what}");
                        let cannot_have_run = matches!(done.exposure, Exposure::Unsent | Exposure::PartlySent);
                        assert!(!cannot_have_run || runs == 0, "{what}");
                    }
                    _ => panic!("{what}"),
                }
            }
        }
    }
    assert!(cuts > 500 && settled > 1_000 && failed > 20, "{cuts} cuts, {settled} settled, {failed} failed");
}
