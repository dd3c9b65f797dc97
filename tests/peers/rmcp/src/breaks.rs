//! The Rust SDK's client on responses that break: `mcp-sse-peer-rmcp-breaks TIMEOUT` reads URLs, one a line, calls the tool `charge`
//! at each with that time-out in milliseconds, and prints what its caller got, and when.

use std::io::Read;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let limit = Duration::from_millis(std::env::args().nth(1).ok_or("TIMEOUT")?.parse()?);
    let mut urls = String::new();
    std::io::stdin().read_to_string(&mut urls)?;
    let urls: Vec<_> = urls.split_whitespace().collect();
    for some in urls.chunks(16) {
        let mut calls = JoinSet::new();
        for url in some {
            let url = (*url).to_owned();
            calls.spawn(async move {
                let mut begun = Instant::now();
                let told = timeout(2 * limit, call(&url, limit, &mut begun)).await;
                let text = told.ok().and_then(Result::ok);
                println!("{}", json!({"url": url, "text": text, "ms": begun.elapsed().as_secs_f64() * 1000.0}));
            });
        }
        calls.join_all().await;
    }
    Ok(())
}

async fn call(url: &str, limit: Duration, begun: &mut Instant) -> Result<String, Failure> {
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await?;
    *begun = Instant::now();
    // A call has no time-out of its own.
    let result = timeout(limit, client.call_tool(CallToolRequestParams::new("charge"))).await??;
    let result = serde_json::to_value(&result)?;
    result["content"][0]["text"].as_str().map(str::to_owned).ok_or_else(|| "no text".into())
}
