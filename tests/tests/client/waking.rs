//! `Client::poll_wake`: whoever asks only the calls that were woken, had a fact or are due misses nothing, whatever the
//! server does.

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Endpoint, Protocol, Step};
use mcp_sse_core::exchange::BreakKind;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent};
use mcp_sse_tests::loop_driver::{ENDPOINT, Fact};
use mcp_sse_tests::session_server::{answer_to, log, within};

/// An xorshift generator: the same numbers for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn reply(sent: &Sent, chance: &mut Chance) -> Reply {
    let delay = chance.below(40);
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let roots = r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#;
    let is_good = chance.below(3) > 0;
    let reply = match sent.what().as_str() {
        "initialize" if is_good => {
            let version = ["2024-11-05", "2025-03-26", "2025-11-25"][usize::try_from(chance.below(3)).unwrap_or(0)];
            Reply::initialized(version, (chance.below(4) > 0).then_some("s"))
        }
        "GET" if is_good => match chance.below(4) {
            0 => Reply::channel("/post"),
            1 => Reply::stream().body(&answer_to("3")).end(),
            2 => Reply::stream().event(&log("x")).after(30).end(),
            _ => Reply::stream().event(ping).event(roots).after(500).broken(),
        },
        _ => match chance.below(12) {
            0 => Reply::silence(),
            1 => Reply::refused(),
            2 => Reply::read().then(Fact::Broken(BreakKind::Reset)),
            3 => Reply::status([400, 401, 404, 405, 500][usize::try_from(chance.below(5)).unwrap_or(0)]),
            4 => Reply::error(404, -32001, "null"),
            5 => Reply::stream().body("id: a\nretry: 20\ndata:\n\n").end(),
            6 => Reply::stream().event(ping).event(roots).body("id: b\ndata:\n\n").broken(),
            7 => Reply::accepted(),
            8 => Reply::accepted().answer_on_channel("{}"),
            9 => Reply::error(400, -32022, r#"{"supported":["2025-11-25"]}"#),
            _ => Reply::result("{}"),
        },
    };
    reply.delayed(delay)
}

fn story(seed: u64, manner: Manner) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let protocol = match chance.below(4) {
        0 => Protocol::Auto,
        1 => Protocol::Fixed(ProtocolVersion::V2024_11_05),
        _ => Protocol::Fixed(ProtocolVersion::V2025_11_25),
    };
    let config = ClientConfig::default().with_protocol(protocol).with_seed(seed).with_probe(chance.below(4) == 0);
    let config = if chance.below(2) == 0 { config.with_handled_request("roots/list") } else { config };
    let mut of_server = Chance(seed | 1 << 40);
    let mut driver = ChannelDriver::new(ENDPOINT, config, manner, move |sent, _| reply(sent, &mut of_server));
    let mut calls = Vec::new();
    for _ in 0..chance.below(12) + 2 {
        match chance.below(8) {
            0 => {
                let listening =
                    driver.client.listen("{}", within(chance.below(9_000) + 1), driver.time()).expect("a filter");
                calls.push(driver.began(listening));
            }
            1 => calls.push(driver.notify("notifications/roots/list_changed")),
            2 => driver.close(),
            3 if !calls.is_empty() => {
                let at = usize::try_from(chance.below(calls.len() as u64)).unwrap_or(0);
                driver.cancel(calls[at]);
            }
            kind => {
                let method = if kind % 2 == 0 { "tools/list" } else { "tools/call" };
                calls.push(driver.call(method, None, within(chance.below(9_000) + 1)));
            }
        }
        if chance.below(2) == 0 {
            let until = driver.now + chance.below(300);
            driver.run_until(until);
        }
    }
    driver.run_until(200_000);
    for call in calls {
        assert!(driver.end_of(call).is_some(), "{manner:?}, seed {seed}: {call} hangs; {:?}", driver.whats());
    }
    assert!(
        driver.client.poll_step(driver.time()).is_none(),
        "{manner:?}, seed {seed}: a step that nobody was told of"
    );
    let (close, now) = (driver.client.close(driver.time()), driver.now);
    if let Some(close) = close {
        driver.began(close);
    }
    driver.run_until(now + 20_000);
    assert!(driver.client.poll_timeout().is_none(), "{manner:?}, seed {seed}: something is left: {:?}", driver.whats());
}

/// Whoever sleeps under the lock under which others wake it asks this first.
#[test]
fn a_call_has_a_step_until_it_is_taken() {
    let mut client = Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), ClientConfig::default());
    let now = Timestamp::ZERO;
    let mut call = || client.call("tools/list", None, CallOptions::default(), now).expect("a call");
    let (first, second) = (call(), call());
    assert!(!client.has_step_of(first) && !client.has_step_of(second), "nobody has asked for any");
    let Some(Step::Send(exchange, _)) = client.poll_step_of(first, now) else { panic!("a request") };
    assert_eq!(exchange.to_string(), "exchange 1");
    assert!(!client.has_step_of(first), "it was taken");
    assert!(client.has_step_of(second), "its attempt was due, too");
    assert!(matches!(client.poll_step_of(second, now), Some(Step::Send(..))));
    assert!(!client.has_step_of(second));
}

#[test]
fn each_call_ends_whoever_asks_for_its_steps() {
    for seed in 1..=3_000 {
        for manner in MANNERS {
            story(seed, manner);
        }
    }
}
