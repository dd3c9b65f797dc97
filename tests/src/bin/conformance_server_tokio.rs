//! The conformance suite's server program over the tokio adapter.

use std::process::ExitCode;

use mcp_sse_tests::conformance::server;

fn main() -> ExitCode {
    server::main(server::serve_tokio)
}
