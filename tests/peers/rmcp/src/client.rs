//! The Rust SDK's client: `mcp-sse-peer-rmcp-client URL MODE` calls the tools of the `serve` example, and prints what came back.
//!
//! - `auto`: finds out which era the server is of
//! - `legacy`: begins with a handshake: 2025-11-25 and earlier
//! - `modern`: 2026-07-28, or nothing

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolRequestParams, ClientConfig, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

/// Keeps what it is told of progress.
#[derive(Clone, Default)]
struct Client(Arc<Mutex<Vec<Value>>>);

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(json!([told.progress, told.total]));
    }
}

async fn call(
    client: &RunningService<RoleClient, Client>,
    name: &'static str,
    arguments: Value,
) -> Result<String, Failure> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await?;
    let text = serde_json::to_value(&result)?["content"][0]["text"].as_str().map(str::to_owned);
    text.ok_or_else(|| format!("{name}: no text").into())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, mode] = arguments.as_slice() else { return Err("URL MODE".into()) };
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match mode.as_str() {
        "auto" => ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None },
        "legacy" => ClientLifecycleMode::Initialize,
        "modern" => ClientLifecycleMode::Discover { preferred_versions: modern },
        _ => return Err("auto, legacy or modern".into()),
    };
    let seen = Client::default();
    let client =
        seen.clone().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.as_str()), lifecycle).await?;
    let tools: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
    let mut report = json!({
        "version": client.peer_info().map(|info| info.protocol_version.to_string()),
        "tools": tools,
        "echo": call(&client, "echo", json!({"text": "grüß dich\n"})).await?,
        "add": call(&client, "add", json!({"a": 2, "b": 40})).await?,
        "slow": call(&client, "slow", json!({"pause_ms": 50})).await?,
        "region": call(&client, "region", json!({"region": "eu-west"})).await?,
    });
    client.cancel().await?;
    report["progress"] = Value::Array(seen.0.lock().unwrap_or_else(PoisonError::into_inner).clone());
    println!("{report}");
    Ok(())
}
