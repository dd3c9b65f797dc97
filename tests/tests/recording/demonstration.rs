//! The ten rows of the demonstration, over real sockets and both adapters: recorded, and replayed equal.
//!
//! `UPDATE_RECORDINGS=1 cargo test -p mcp-sse-tests --test recording blocking::the_ten` writes them into the corpus.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use mcp_sse_core::client::{CallOptions, ConnectionConfig};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::recording::{Bodies, RecordingConfig};
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings};
use mcp_sse_tests::call_program::{PARAMS, rows};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{Peer, RefusedPort};
use mcp_sse_tests::recordings;
use serde_json::Value;

over_both_adapters![the_ten_rows_of_the_demonstration_replay_to_the_same_verdicts];

fn the_ten_rows_of_the_demonstration_replay_to_the_same_verdicts<A: Adapter>() {
    let peer = Peer::start();
    let refused = RefusedPort::new();
    let rows = rows();
    assert_eq!(rows.len(), 10);
    for row in rows {
        let scenario = peer.scenario(row.scripts.clone());
        let url = if row.is_refused() { format!("http://{}/mcp", refused.address()) } else { scenario.url() };
        let settings = Settings::fixed(url, ProtocolVersion::LATEST).config(|config| {
            let connections = ConnectionConfig::default().with_drain_timeout(BOUND);
            config.with_recording(RecordingConfig::default()).with_connections(connections)
        });
        let client = A::new(settings);
        let options = CallOptions::default().with_timeout(row.deadline().unwrap_or(BOUND));
        let params: Value = serde_json::from_str(PARAMS).expect("JSON");
        // What it comes to is read in the recording.
        drop(client.call_with("tools/call", &params, &options, &mut |_| ControlFlow::Continue(())));
        let until = Instant::now() + BOUND;
        let record = |bodies: Bodies| client.recording(bodies).expect("it was asked for");
        let is_done = || record(Bodies::Whole).to_string().contains("\nexpect done 1 ");
        // The rest of an answered stream is read in the background.
        while !is_done() {
            assert!(Instant::now() < until, "{}: no end in {}", row.breaks, record(Bodies::Whole));
            thread::sleep(Duration::from_millis(5));
        }
        let text = record(Bodies::Whole).to_string();
        let done = text.lines().find(|line| line.starts_with("expect done 1 ")).expect("an end");
        let verdict = format!(" {} ", row.verdict);
        assert!(done.contains(&verdict) && done.contains(&format!(" attempts={}", row.attempts)), "{done}");
        assert_eq!(scenario.executions(), row.runs);
        let is_redacted = recordings::check(record);
        assert!(is_redacted, "{} {}: {text}", A::NAME, row.breaks);
        if A::NAME == "blocking" && std::env::var_os("UPDATE_RECORDINGS").is_some() {
            let name = row.breaks.replace(|other: char| !other.is_ascii_alphanumeric(), "-").to_lowercase();
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/recordings");
            let file = folder.join(format!("demonstration-{name}.txt"));
            fs::write(file, record(Bodies::Redacted).to_string()).expect("it can be written");
        }
    }
}
