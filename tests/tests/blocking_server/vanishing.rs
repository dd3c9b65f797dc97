//! Clients that go away while more of them has come.

use std::net::Shutdown;

use mcp_sse_tests::served::{bytes, modern};
use serde_json::json;

use crate::Served;

/// Requests that have come meanwhile do not hide it.
#[test]
fn s4_it_is_seen_behind_requests_that_wait() {
    let served = Served::new();
    let mut socket = served.socket();
    socket.send(&bytes(&modern("wait", &json!({}))));
    served.heard.wait_for("waits", 1);
    socket.send(&bytes(&modern("add", &json!({}))));
    socket.stream.shutdown(Shutdown::Both).unwrap();
    served.heard.wait_for("Some(Gone)", 1);
}
