//! The conformance suite's client program over the blocking adapter.

use std::process::ExitCode;

use mcp_sse_tests::conformance::{self, peer::BlockingPeer};

fn main() -> ExitCode {
    conformance::main::<BlockingPeer>()
}
