//! The conformance suite's client program over the tokio adapter.

use std::process::ExitCode;

use mcp_sse_tests::conformance::{self, peer::TokioPeer};

fn main() -> ExitCode {
    conformance::main::<TokioPeer>()
}
