//! A reader that does not read (S5).

use std::net::TcpStream;
use std::time::Duration;

use mcp_sse_core::server::ServerLimits;
use mcp_sse_tests::over_both_servers;
use mcp_sse_tests::served::{Served, ServerAdapter, bytes, modern, tool, wait_until};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::json;

fn s5_a_reader_that_never_reads_costs_its_own_stream_alone<A: ServerAdapter>() {
    let limits = ServerLimits::default().with_stall_timeout(Duration::from_secs(5));
    let served = Served::<A>::with(config().with_limits(limits), A::of_few());
    // The answer is larger than what sockets hold; it is asked for, and not read.
    let large = modern("large", &json!({"bytes": 20_000_000}));
    let _sockets: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut socket = served.socket();
            socket.send(&bytes(&large));
            socket.stream
        })
        .collect();
    // Others are served meanwhile, once these have nothing to wait for but their readers.
    served.heard.wait_for("large", 4);
    wait_until("the calls are not answered", || served.says("calls: 0"));
    for _ in 0..5 {
        assert_eq!(served.socket().exchange(&modern("add", &json!({}))).status, 200);
    }
    // A stream that nobody reads is told of to who writes to it.
    let logs = tool("flood", &json!({}));
    let mut params = logs;
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    let mut socket = served.socket();
    socket.send(&bytes(&HttpMessage::modern(1, "tools/call", params)));
    served.heard.wait_for("full", 1);
    assert_eq!(served.socket().exchange(&modern("add", &json!({}))).status, 200);
}

over_both_servers! {
    s5_a_reader_that_never_reads_costs_its_own_stream_alone,
}
