//! Connections that are kept for the next call, and the time that connecting may take.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{ConnectionConfig, Endpoint, IdleConnections};

fn endpoint(url: &str) -> Endpoint {
    Endpoint::parse(url).expect("a URL")
}

/// E1: a kept connection is likely to be closed by then, so it is not even tried.
#[test]
fn a_connection_is_kept_for_its_time_and_no_longer() {
    let mcp = endpoint("http://example.com/mcp");
    let config = ConnectionConfig::default().with_idle_timeout(Duration::from_secs(5));
    let mut idle = IdleConnections::new(&config);
    for (after, expected) in [(0, Some(0)), (4_999, Some(4_999)), (5_000, None), (60_000, None)] {
        idle.keep(&mcp, after, Timestamp::from_millis(1_000));
        assert_eq!(idle.take(&mcp, Timestamp::from_millis(1_000 + after)), expected);
        assert_eq!(idle.take(&mcp, Timestamp::from_millis(1_000)), None, "it was taken, or dropped");
    }
}

#[test]
fn the_newest_connection_to_this_origin_is_taken_first() {
    let (mcp, other_path) = (endpoint("http://example.com/mcp"), endpoint("http://example.com/messages"));
    let elsewhere = endpoint("http://example.com:8080/mcp");
    let mut idle = IdleConnections::new(&ConnectionConfig::default().with_max_idle(3));
    for (to, name) in [(&mcp, "lost"), (&mcp, "old"), (&other_path, "new"), (&elsewhere, "foreign")] {
        idle.keep(to, name, Timestamp::ZERO);
    }
    let mut take = |to| idle.take(to, Timestamp::ZERO);
    assert_eq!([take(&mcp), take(&mcp), take(&mcp)], [Some("new"), Some("old"), None]);
    assert_eq!([take(&elsewhere), take(&elsewhere)], [Some("foreign"), None]);
}

#[test]
fn what_is_no_longer_usable_is_passed_over_and_dropped() {
    let mcp = endpoint("http://example.com/mcp");
    let mut idle = IdleConnections::new(&ConnectionConfig::default());
    for number in 0..5 {
        idle.keep(&mcp, number, Timestamp::ZERO);
    }
    assert_eq!(idle.take_usable(&mcp, Timestamp::ZERO, |number| *number < 3), Some(2));
    assert_eq!(idle.take_usable(&mcp, Timestamp::ZERO, |_| false), None);
    assert_eq!(idle.take_usable(&mcp, Timestamp::ZERO, |_| true), None, "none is tried twice");
}

#[test]
fn a_client_that_keeps_none_has_none() {
    let mcp = endpoint("http://example.com/mcp");
    let mut idle = IdleConnections::new(&ConnectionConfig::default().with_max_idle(0));
    idle.keep(&mcp, (), Timestamp::ZERO);
    assert_eq!(idle.take(&mcp, Timestamp::ZERO), None);
}

#[test]
fn addresses_share_the_time_that_is_left() {
    let share = |millis, addresses| ConnectionConfig::share(Duration::from_millis(millis), addresses).as_millis();
    assert_eq!([share(9_000, 3), share(6_000, 2), share(3_000, 1), share(3_000, 0)], [3_000; 4]);
    assert_eq!([share(0, 1), share(10, 1_000)], [1; 2], "some platforms take no shorter wait");
}
