//! What sessions, streams and slow readers cost in memory (S1, S5). A test binary of its own, since it counts every
//! allocation of the process; so it is one test.

use std::alloc::System;

use mcp_sse_core::Timestamp;
use mcp_sse_core::server::{Output, ServerLimits};
use mcp_sse_core::sse::{EventFields, SseEncoder};
use mcp_sse_tests::server_driver::{HttpMessage, ServerDriver, config};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn s5_memory() {
    the_encoder_allocates_nothing();
    ten_thousand_idle_channels_cost_little_and_give_it_back();
    a_reader_that_reads_nothing_costs_its_queue_and_no_more();
}

/// Bytes that are held now and were not when the region began.
fn held(change: &Stats) -> isize {
    let size = |bytes: usize| isize::try_from(bytes).unwrap();
    // What reallocations add and take is in both.
    size(change.bytes_allocated) - size(change.bytes_deallocated)
}

fn the_encoder_allocates_nothing() {
    let mut out = Vec::with_capacity(1 << 16);
    let region = Region::new(ALLOCATOR);
    for number in 0..1_000 {
        out.clear();
        let mut encoder = SseEncoder::new(&mut out);
        encoder.json(EventFields::default().with_id("1-1"), "{\"a\":\n1}").unwrap();
        encoder.event(EventFields::default().with_kind("endpoint"), "a\r\nb").unwrap();
        encoder.retry(std::time::Duration::from_millis(number));
        encoder.comment("");
    }
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0));
}

fn ten_thousand_idle_channels_cost_little_and_give_it_back() {
    const SESSIONS: usize = 10_000;
    let mut driver = ServerDriver::default();
    let get = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream");
    let region = Region::new(ALLOCATOR);
    let mut exchanges = Vec::with_capacity(SESSIONS);
    let mut out = Vec::new();
    for _ in 0..SESSIONS {
        driver.draw();
        let now = driver.time();
        let id = driver.server.on_request(get.head(), now);
        assert!(matches!(driver.server.poll_output(id, &mut out, now), Output::Head(_)));
        assert!(matches!(driver.server.poll_output(id, &mut out, now), Output::Bytes));
        while driver.server.poll_event().is_some() {}
        while driver.server.poll_wake().is_some() {}
        out.clear();
        exchanges.push(id);
    }
    let each = held(&region.change()) / isize::try_from(SESSIONS).unwrap();
    println!("an idle session of 2024-11-05 holds {each} bytes");
    assert!(each < 2_048, "an idle session holds {each} bytes");

    // None is lost.
    let told = driver.server.broadcast("notifications/custom", Some("{}"), driver.time());
    assert!(told.len() == SESSIONS && told.iter().all(|delivery| delivery.outcome.is_ok()));
    for id in &exchanges {
        assert!(matches!(driver.server.poll_output(*id, &mut out, Timestamp::ZERO), Output::Bytes));
    }
    let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/custom\",\"params\":{}}\n\n";
    assert_eq!(out.len(), SESSIONS * event.len());
    for id in exchanges {
        driver.server.on_gone(id, driver.time());
    }
    while driver.server.poll_event().is_some() {}
    drop((told, out));
    let left = held(&region.change());
    assert!(left < 100_000, "{left} bytes are left of ten thousand sessions");
}

fn a_reader_that_reads_nothing_costs_its_queue_and_no_more() {
    let limits = ServerLimits::default().with_max_queue_bytes(100_000);
    let mut driver = ServerDriver::new(config().with_limits(limits).with_keep_alive(None));
    driver.give(&HttpMessage::modern(1, "tools/call", json!({"name": "x"})));
    let call = driver.request().call;
    let params = json!({"data": "x".repeat(1_000)}).to_string();
    let region = Region::new(ALLOCATOR);
    let sent = (0..100_000)
        .filter(|_| driver.server.notify(call, "notifications/custom", Some(&params), driver.time()).is_ok())
        .count();
    let held = held(&region.change());
    assert!(sent > 80 && held < 130_000, "{sent} were taken, {held} bytes are held");
}
