//! A caller that has rmcp's face alone, over one transport or the other.

use std::time::Duration;

use mcp_sse_tokio::rmcp::{ClientTransport, Error};
use mcp_sse_tokio::{CallOptions, Client};
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{RoleClient, ServiceError};
use serde_json::json;

/// Whose transport it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Alone,
    Ours,
}

/// How rmcp begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// By `initialize`: what `serve` does.
    Initialize,
    /// By `server/discover`.
    Discover,
}

/// What the caller got.
pub(crate) enum Got {
    Result,
    Error {
        /// Whether the error says that the call cannot have run.
        denies: bool,
    },
    Nothing,
}

pub(crate) type Service = RunningService<RoleClient, ()>;

pub(crate) async fn begin(
    who: Who,
    begins: Begins,
    url: &str,
    deadline: Duration,
) -> Result<Service, ClientInitializeError> {
    let lifecycle = match begins {
        Begins::Initialize => ClientLifecycleMode::Initialize,
        Begins::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    };
    match who {
        Who::Alone => ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await,
        Who::Ours => {
            let options = CallOptions::default().with_timeout(deadline);
            let builder = Client::builder(url).proxy_from_env(false).options(options);
            ().serve_with_lifecycle(ClientTransport::from_builder(builder), lifecycle).await
        }
    }
}

pub(crate) async fn call(service: &Service, bound: Duration) -> Got {
    let arguments = json!({"amount": 7}).as_object().cloned().unwrap_or_default();
    let call = service.call_tool(CallToolRequestParams::new("charge").with_arguments(arguments));
    match tokio::time::timeout(bound, call).await {
        Ok(Ok(result)) => {
            let result = serde_json::to_value(&result).unwrap_or_default();
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            if text.starts_with("charged") { Got::Result } else { Got::Error { denies: true } }
        }
        Ok(Err(error)) => Got::Error { denies: denies(&error) },
        Err(_) => Got::Nothing,
    }
}

fn denies(error: &ServiceError) -> bool {
    matches!(Error::in_call(error), Some(Error::Call(error)) if !error.may_have_run())
}
