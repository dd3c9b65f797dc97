//! Tries both adapters against the servers that tests/peers/run installs.

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_sse_tests::real_servers::main()
}
