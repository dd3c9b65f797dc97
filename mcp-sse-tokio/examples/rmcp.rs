//! rmcp's client on this crate's transport: one line differs from rmcp's own.
//!
//! `cargo run -p mcp-sse-tokio --features rmcp --example rmcp` starts a server whose streams break: that of the first call
//! behind the answer, that of the second before it. The tool counts how often it ran.

use std::error::Error as StdError;

use mcp_sse_tests::legacy_peer::opens_sessions_of;
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Script};
use mcp_sse_tokio::rmcp::{ClientTransport, Error};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn StdError>> {
    let peer = Peer::start();
    let cut = |at| Script::whole().for_method("tools/call").cut(At::mark(at), Ending::Reset);
    let session = opens_sessions_of("2025-11-25");
    let scenario = peer.scenario([session, cut(Mark::AnswerEnd), cut(Mark::AnswerStart)]);

    // Without this crate: StreamableHttpClientTransport::from_uri(scenario.url())
    let transport = ClientTransport::new(&scenario.url());
    let client = ().serve(transport).await?;

    let result = client.call_tool(CallToolRequestParams::new("charge")).await?;
    println!("answered: {}", serde_json::to_string(&result.content)?);
    match client.call_tool(CallToolRequestParams::new("charge")).await {
        Ok(result) => println!("answered: {}", serde_json::to_string(&result.content)?),
        Err(error) => match Error::in_call(&error) {
            Some(Error::Call(call)) => println!("lost: {call}; may have run: {}", call.may_have_run()),
            _ => println!("refused: {error}"),
        },
    }
    client.cancel().await?;
    println!("the tool ran {} times", scenario.executions_of("tools/call"));
    Ok(())
}
