//! Tries the `serve` programs with the clients that tests/peers/run installs.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_sse_tests::real_clients::main()
}
