//! A small MCP server without an async runtime, for any client to use, in all five revisions.
//!
//! `cargo run --release -p mcp-sse-blocking --example serve -- --help` tells the options, among them such that break its
//! responses, for whoever wants to see what a client makes of that. Options and the list of tools are shared with the tokio
//! adapter's example; here is what a server is made of: its configuration, a handler, and somewhere to listen.

use std::error::Error;
use std::net::TcpListener;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_sse_blocking::{Call, Handler, Server, ServerAnswer};
use mcp_sse_tests::serve_program::{self, INFO, Settings, TOOLS};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

fn main() -> ExitCode {
    serve_program::main(serve)
}

fn serve(settings: &Settings) -> Result<(), Box<dyn Error>> {
    // `ServerConfig::new(INFO)?` with what the options say: the path, the revisions.
    let config = settings.config(INFO)?.with_capabilities(r#"{"tools":{}}"#)?;
    let server = Server::new(config, Tools::default());
    // So that calls of `region` are held to what its schema asks of their headers. A tool that asks for what cannot be is not
    // shown by clients; there is none here.
    server.set_tools(TOOLS);
    let listener = TcpListener::bind(settings.address())?;
    settings.announce(listener.local_addr()?)?;
    let stopped = server.clone();
    // Calls under way are given some seconds to end. `serve` returns then.
    serve_program::on_interrupt(move || stopped.shut_down())?;
    match settings.tls()? {
        None => server.serve(listener)?,
        Some(tls) => server.serve_tls(listener, tls)?,
    }
    Ok(())
}

/// The tools, and what they share.
#[derive(Default)]
struct Tools {
    counter: AtomicU64,
}

impl Handler for Tools {
    fn call(&self, call: Call) -> ServerAnswer {
        match call.method() {
            "tools/list" => ServerAnswer::result(TOOLS),
            "tools/call" => self.call_tool(&call).into(),
            // The handshakes, pings, subscriptions and cancels are the library's.
            _ => ServerAnswer::method_not_found(),
        }
    }
}

impl Tools {
    /// A refusal is an answer as well, so `?` will do for both.
    fn call_tool(&self, call: &Call) -> Result<ServerAnswer, ServerAnswer> {
        let ToolCall { name, arguments } = call.params_as()?;
        match name.as_str() {
            "echo" => {
                let Echo { text } = read(arguments)?;
                Ok(says(&text))
            }
            "add" => {
                let Add { a, b } = read(arguments)?;
                Ok(says(&(a + b).to_string()))
            }
            "slow" => Ok(slow(call, read(arguments)?)),
            "counter" => Ok(says(&(self.counter.fetch_add(1, Ordering::Relaxed) + 1).to_string())),
            "region" => {
                let Region { region } = read(arguments)?;
                // Since 2026-07-28 the library has compared the two; before, there is no header.
                let header = call.header("Mcp-Param-Region").unwrap_or("none");
                Ok(says(&format!("region {region}, header {header}")))
            }
            _ => Err(ServerAnswer::invalid_params("There is no such tool")),
        }
    }
}

/// Takes so many steps, and tells when each begins: some clients forget what comes together with the answer.
fn slow(call: &Call, Slow { steps, pause_ms }: Slow) -> ServerAnswer {
    for step in 1..=steps {
        // Whoever did not ask, or does not read, is not told; the answer comes all the same.
        call.progress(f64::from(step), Some(f64::from(steps)), None).ok();
        if call.wait_for_cancel(Duration::from_millis(pause_ms)) {
            eprintln!("slow: stopped in step {step}: {:?}", call.is_cancelled());
            // Nobody will see it.
            return says("slow stopped");
        }
    }
    says("slow done")
}

/// The parameters of `tools/call`.
#[derive(Deserialize)]
struct ToolCall {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Deserialize)]
#[serde(default)]
struct Slow {
    steps: u32,
    pause_ms: u64,
}

impl Default for Slow {
    fn default() -> Self {
        Self { steps: 3, pause_ms: 200 }
    }
}

#[derive(Deserialize)]
struct Region {
    region: String,
}

fn read<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, ServerAnswer> {
    let arguments = serde_json::from_value(Value::Object(arguments));
    arguments.map_err(|_| ServerAnswer::invalid_params("The arguments are not what the tool's schema says"))
}

/// The result of a tool that says this.
fn says(text: &str) -> ServerAnswer {
    ServerAnswer::of(&json!({"content": [{"type": "text", "text": text}]}))
}
