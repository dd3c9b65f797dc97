//! The steps over the tokio adapter.

use std::io;

use mcp_sse_core::server::ServerConfig;
use mcp_sse_tokio::{Call, Server, ServerAnswer};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use super::tools::{self, Step};

/// Prints the URL and serves.
///
/// # Errors
/// If there is no port.
pub fn serve(config: ServerConfig) -> io::Result<()> {
    Runtime::new()?.block_on(async {
        let server = Server::new(config, answer);
        server.set_tools(&tools::list().to_string());
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}/mcp", listener.local_addr()?);
        server.serve(listener).await
    })
}

async fn answer(call: Call) -> ServerAnswer {
    let script = tools::script(call.request());
    for step in script.steps {
        // What cannot be sent in a revision is not sent; the suite sees what came.
        match step {
            Step::Progress(progress) => drop(call.progress(f64::from(progress), Some(100.0), None)),
            Step::Notify(method, params) => drop(call.notify(method, &params)),
            Step::Publish(change) => drop(call.server().publish(change)),
            Step::Stream => drop(call.stream()),
            Step::Pause => drop(call.pause()),
            Step::Wait(time) => sleep(time).await,
        }
    }
    script.answer
}
