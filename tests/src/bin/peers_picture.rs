//! Draws the break matrix, with the clients that tests/peers/run installs beside ours.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_sse_tests::picture::main()
}
