//! The steps over the blocking adapter.

use std::io;
use std::net::TcpListener;

use mcp_sse_blocking::{Call, Server, ServerAnswer};
use mcp_sse_core::server::ServerConfig;

use super::tools::{self, Step};

/// Prints the URL and serves.
///
/// # Errors
/// If there is no port.
pub fn serve(config: ServerConfig) -> io::Result<()> {
    let server = Server::new(config, answer);
    server.set_tools(&tools::list().to_string());
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("http://{}/mcp", listener.local_addr()?);
    server.serve(listener)
}

fn answer(call: Call) -> ServerAnswer {
    let script = tools::script(call.request());
    for step in script.steps {
        // What cannot be sent in a revision is not sent; the suite sees what came.
        match step {
            Step::Progress(progress) => drop(call.progress(f64::from(progress), Some(100.0), None)),
            Step::Notify(method, params) => drop(call.notify(method, &params)),
            Step::Publish(change) => drop(call.server().publish(change)),
            Step::Stream => drop(call.stream()),
            Step::Pause => drop(call.pause()),
            // Whoever has gone is answered all the same.
            Step::Wait(time) => drop(call.wait_for_cancel(time)),
        }
    }
    script.answer
}
