//! The client program of the official MCP conformance suite, over either adapter; `server` has the server program.
//!
//! Rules: the suite says by the environment and the last argument what to do, and looks only at what its mock server saw;
//! that the answers arrived, and are right, is asserted here, and vouched for on standard output. The program ends by
//! itself: a hung client would hang the suite.

pub mod elicitation;
pub mod peer;
pub mod rounds;
mod scenarios;
pub mod server;

use std::env;
use std::process::{self, ExitCode};
use std::thread;
use std::time::Duration;

use mcp_sse_core::http::ProtocolVersion;
use serde_json::Value;

use peer::{Peer, Protocol};

/// Every scenario takes a second or two; the suite kills nothing that hangs.
const DEADLINE: Duration = Duration::from_secs(25);

/// What the suite asks for.
struct Task {
    scenario: String,
    url: String,
    protocol: Protocol,
    /// Data of the scenario, if it has any.
    context: Value,
}

impl Task {
    fn from_environment() -> Result<Self, String> {
        let variable = |name: &str| env::var(name).map_err(|error| format!("{name}: {error}"));
        let version = variable("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
        let version: ProtocolVersion = version.parse().map_err(|error| format!("{version}: {error}"))?;
        let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "null".to_owned());
        Ok(Self {
            scenario: variable("MCP_CONFORMANCE_SCENARIO")?,
            url: env::args().next_back().ok_or("no URL")?,
            protocol: Protocol::Fixed(version),
            context: serde_json::from_str(&context).map_err(|error| format!("the context: {error}"))?,
        })
    }
}

/// Does what the suite asks for, and says whether every answer was as it must be.
pub fn main<P: Peer>() -> ExitCode {
    thread::spawn(|| {
        thread::sleep(DEADLINE);
        eprintln!("conformance client: not done within {} s", DEADLINE.as_secs());
        process::exit(1);
    });
    let done = Task::from_environment().and_then(|task| scenarios::run::<P>(&task).map(|()| task));
    match done {
        Ok(task) => {
            println!("{}: every answer was as it must be", task.scenario);
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            eprintln!("conformance client: {trouble}");
            ExitCode::FAILURE
        }
    }
}
