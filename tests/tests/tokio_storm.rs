//! A thousand concurrent calls over one client of the tokio adapter, to a peer that breaks a random third of them: every call
//! has exactly one outcome, executions equal what the verdicts say, and no task and no socket is left afterwards.
//!
//! The random choices are drawn from a fixed seed, so that each run is the same but for the order of events.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_sse_core::client::{CallError, ConnectionConfig, Reply};
use mcp_sse_core::exchange::{Exposure, FailureKind};
use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{self, At, Mark, Response, Sse, Text};
use mcp_sse_tests::peer_h2;
use mcp_sse_tests::tokio_client::{BOUND, builder, charge, run, within};
use mcp_sse_tokio::{CallOptions, Client};
use serde_json::{Value, json};

const CALLS: u64 = 1000;
const SEED: u64 = 0x5eed_0003;
/// So many calls at once take a while on a small machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// What the peer does to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Whole,
    /// The first attempt is lost, the second is whole.
    LostOnce,
    LostTwice,
    /// Answered, and then broken.
    BrokenBehindTheAnswer,
    /// The peer says that it did not look at it (HTTP/2).
    Refused,
}

struct Plan {
    fate: Fate,
    place: u64,
    way: u64,
}

fn plans(refuses: bool) -> Vec<Plan> {
    let mut random = Random(SEED);
    let plan = |_| {
        let is_broken = random.below(3) == 0;
        let fate = match random.below(if refuses { 5 } else { 4 }) {
            _ if !is_broken => Fate::Whole,
            0 | 1 => Fate::LostOnce,
            2 => Fate::LostTwice,
            3 => Fate::BrokenBehindTheAnswer,
            _ => Fate::Refused,
        };
        Plan { fate, place: random.below(4), way: random.below(3) }
    };
    (0..CALLS).map(plan).collect()
}

/// Echoes the arguments, so that an answer that reached the wrong caller is seen.
fn response() -> Response {
    let echo = Text::with(|request| {
        json!({"jsonrpc": "2.0", "id": request.id(), "result": request.params()["arguments"]}).to_string()
    });
    Response::sse([Sse::comment("a"), Sse::progress(1), Sse::message(echo)])
}

fn of(number: u64) -> impl Fn(&peer::Request) -> bool + Send + Sync + 'static {
    move |request| request.params()["arguments"]["n"] == number
}

fn lost_at(place: u64) -> At {
    match place {
        0 => At::byte(0),
        1 => At::mark(Mark::HeadEnd),
        2 => At::mark(Mark::AnswerStart),
        _ => At::mark(Mark::AnswerEnd).plus(-1),
    }
}

/// Makes all calls at once and says what each came to.
async fn storm(client: &Client) -> Vec<Result<Reply, CallError>> {
    let calls: Vec<_> = (0..CALLS).map(|number| tokio::spawn(client.call(METHOD, &charge(number)))).collect();
    let mut results = Vec::new();
    for call in calls {
        results.push(call.await.expect("no call panics"));
    }
    results
}

fn options() -> CallOptions {
    within(PATIENCE)
}

/// How many sockets this process has open, where the system tells.
fn sockets() -> Option<usize> {
    let descriptors = std::fs::read_dir("/proc/self/fd").ok()?;
    let links = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    Some(links.filter(|link| link.to_string_lossy().starts_with("socket:")).count())
}

/// Waits until no more sockets are open than before.
async fn no_socket_is_left(before: Option<usize>) {
    let end = Instant::now() + BOUND;
    while sockets() > before {
        assert!(Instant::now() < end, "{:?} sockets are open, {before:?} were before", sockets());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The sockets of the process are counted, so one storm at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn run_alone(test: impl Future<Output = ()>) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    run(async {
        let before = sockets();
        test.await;
        no_socket_is_left(before).await;
    });
}

/// Checks one call: what its outcome says is what ran.
fn check(number: u64, plan: &Plan, result: &Result<Reply, CallError>, runs: usize) {
    let context = format!("call {number}, {:?} at {} by {}: {result:?}", plan.fate, plan.place, plan.way);
    match (plan.fate, result) {
        (Fate::Whole | Fate::BrokenBehindTheAnswer, Ok(reply)) => {
            assert_eq!((reply.attempts, runs), (1, 1), "{context}");
        }
        (Fate::LostOnce, Ok(reply)) => assert_eq!((reply.attempts, runs), (2, 2), "{context}"),
        // On a connection that others used before it is sent again within its attempt.
        (Fate::Refused, Ok(reply)) => assert_eq!((reply.attempts, runs), (1, 1), "{context}"),
        (Fate::Refused, Err(error)) => {
            assert_eq!((error.exposure(), error.attempts(), runs), (Exposure::Unsent, 1, 0), "{context}");
        }
        (Fate::LostTwice, Err(CallError::Failed { failure, attempts, earlier_may_have_run: true, .. })) => {
            assert!(matches!(failure.kind, FailureKind::Lost { .. }), "{context}");
            assert!(failure.may_have_run(), "{context}");
            assert_eq!((*attempts, runs), (2, 2), "{context}");
        }
        _ => panic!("{context}"),
    }
    if let Ok(reply) = result {
        assert_eq!(reply.parse_result::<Value>().unwrap(), charge(number)["arguments"], "{context}");
    }
}

fn check_all(plans: &[Plan], results: &[Result<Reply, CallError>], executed: &[peer::Execution]) {
    let mut runs: BTreeMap<u64, usize> = BTreeMap::new();
    let mut ids = std::collections::BTreeSet::new();
    for run in executed {
        *runs.entry(run.params["arguments"]["n"].as_u64().unwrap()).or_default() += 1;
        assert!(ids.insert(run.id.to_string()), "F8: {} was used twice", run.id);
    }
    assert_eq!(results.len() as u64, CALLS);
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    for ((number, plan), result) in (0..).zip(plans).zip(results) {
        check(number, plan, result, runs.get(&number).copied().unwrap_or(0));
        *fates.entry(plan.fate).or_default() += 1;
    }
    let broken = plans.len() - fates[&Fate::Whole];
    assert!((300..370).contains(&broken), "{fates:?}");
}

#[test]
fn a_thousand_calls_over_http1() {
    run_alone(async {
        let plans = plans(false);
        let mut scripts = Vec::new();
        for (number, plan) in (0..).zip(&plans) {
            let ending = if plan.way == 0 { peer::Ending::Fin } else { peer::Ending::Reset };
            let script = peer::Script::new(response()).when(of(number));
            let lost = script.clone().cut(lost_at(plan.place), ending.clone());
            match plan.fate {
                Fate::Whole | Fate::Refused => scripts.push(script),
                Fate::LostOnce => scripts.extend([lost, script]),
                Fate::LostTwice => scripts.extend([lost.clone(), lost]),
                Fate::BrokenBehindTheAnswer => {
                    let at = if plan.place < 2 { At::mark(Mark::AnswerEnd) } else { At::mark(Mark::AnswerTerminated) };
                    scripts.push(script.cut(at, ending));
                }
            }
        }
        let peer = peer::Peer::start();
        let scenario = peer.scenario(scripts);
        let client = builder(&scenario.url())
            .options(options())
            .connections(ConnectionConfig::default().with_connect_timeout(PATIENCE))
            .build()
            .unwrap();
        let results = storm(&client).await;
        check_all(&plans, &results, &scenario.executed());
        drop(client);
        let all_ended = |log: &peer::Log| log.connections.iter().all(|connection| connection.ended);
        assert!(peer.wait_for(all_ended, BOUND), "every connection is closed");
    });
}

#[test]
fn a_thousand_calls_over_http2() {
    run_alone(async {
        let plans = plans(true);
        let mut scripts = Vec::new();
        for (number, plan) in (0..).zip(&plans) {
            let reason = match plan.way {
                0 => peer_h2::Reason::NO_ERROR,
                1 => peer_h2::Reason::CANCEL,
                _ => peer_h2::Reason::INTERNAL_ERROR,
            };
            let ending = peer_h2::Ending::ResetStream(reason);
            let script = peer_h2::Script::new(response()).when(of(number));
            let lost = script.clone().cut(lost_at(plan.place), ending.clone());
            match plan.fate {
                Fate::Whole => scripts.push(script),
                Fate::LostOnce => scripts.extend([lost, script]),
                Fate::LostTwice => scripts.extend([lost.clone(), lost]),
                Fate::BrokenBehindTheAnswer => {
                    let at = if plan.place < 2 { At::mark(Mark::AnswerEnd) } else { At::end() };
                    scripts.push(script.cut(at, ending));
                }
                Fate::Refused => {
                    let refused = peer_h2::Ending::ResetStream(peer_h2::Reason::REFUSED_STREAM);
                    scripts.extend([script.clone().without_executing().cut(At::byte(0), refused), script]);
                }
            }
        }
        let peer = peer_h2::Peer::start();
        let scenario = peer.scenario(scripts);
        let client = builder(&scenario.url())
            .options(options())
            .connections(ConnectionConfig::default().with_http2_prior_knowledge(true))
            .build()
            .unwrap();
        let results = storm(&client).await;
        check_all(&plans, &results, &scenario.executed());
        drop(client);
        let all_ended = |log: &peer_h2::Log| log.connections.iter().all(|connection| connection.ended);
        assert!(peer.wait_for(all_ended, BOUND), "every connection is closed");
    });
}
