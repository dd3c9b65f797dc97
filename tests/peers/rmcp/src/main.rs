//! The Rust SDK's server: `mcp-sse-peer-rmcp MODE` prints its URL, then serves until it is killed.
//!
//! - `stateful`: 2026-07-28, and Streamable HTTP with sessions and an event store for 2025-11-25 and earlier; a resumed
//!   stream ends with what is stored, so that a client has to come again
//! - `forgetful`: the same without an event store: an answer that comes while its client is gone is lost
//! - `stateless`: 2026-07-28, and Streamable HTTP without sessions for 2025-11-25 and earlier

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    InputRequest, InputRequests, InputRequiredResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{EventStore, EventStoreError, EventStream, ServerSseMessage};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

static SLOW: AtomicUsize = AtomicUsize::new(0);
static HANG: AtomicUsize = AtomicUsize::new(0);
static CANCELLED: AtomicUsize = AtomicUsize::new(0);

type Failure = Box<dyn std::error::Error>;

#[derive(Clone)]
struct Server;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str, properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            Tool::new(name, name, Arc::new(schema.as_object().cloned().unwrap_or_default()))
        };
        let number = json!({"type": "number"});
        Ok(ListToolsResult::with_all_items(vec![
            tool("echo", json!({"text": {"type": "string"}})),
            tool("add", json!({"a": number, "b": number})),
            tool("slow", json!({})),
            tool("ask", json!({})),
            tool("hang", json!({})),
            tool("counters", json!({})),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let argument =
            |name: &str| request.arguments.as_ref().and_then(|all| all.get(name)).cloned().unwrap_or_default();
        match request.name.as_ref() {
            "echo" => Ok(text(argument("text").as_str().unwrap_or_default())),
            "add" => Ok(text(&(argument("a").as_i64().unwrap_or(0) + argument("b").as_i64().unwrap_or(0)).to_string())),
            "slow" => slow(&context).await,
            "ask" => ask(&request, &context).await,
            "hang" => {
                HANG.fetch_add(1, Ordering::SeqCst);
                report(&context, 0).await;
                context.ct.cancelled().await;
                CANCELLED.fetch_add(1, Ordering::SeqCst);
                Ok(text("cancelled"))
            }
            "counters" => {
                let [slow, hang, cancelled] = [&SLOW, &HANG, &CANCELLED].map(|counter| counter.load(Ordering::SeqCst));
                Ok(text(&json!({"slow": slow, "hang": hang, "cancelled": cancelled}).to_string()))
            }
            _ => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }
}

fn text(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// Reports progress three times, then answers.
async fn slow(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    SLOW.fetch_add(1, Ordering::SeqCst);
    for step in 1..=3_u32 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        report(context, step).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(text("slow done"))
}

async fn report(context: &RequestContext<RoleServer>, step: u32) {
    if let Some(token) = context.meta.get_progress_token() {
        let progress = ProgressNotificationParam::new(token, f64::from(step)).with_total(3.0);
        // Nobody may be listening any more.
        let _ = context.peer.notify_progress(progress).await;
    }
}

/// Asks the client: by a request during the call, or since 2026-07-28 by a result that wants input.
async fn ask(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let failed = |error: &dyn std::fmt::Display| ErrorData::internal_error(error.to_string(), None);
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string", "default": "yes"}}});
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Yes or no?".to_owned(),
        requested_schema: serde_json::from_value(schema).map_err(|error| failed(&error))?,
    };
    let is_modern = context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let response = if !is_modern {
        let result = context.peer.create_elicitation(question).await.map_err(|error| failed(&error))?;
        serde_json::to_value(result).map_err(|error| failed(&error))?
    } else if let Some(responses) = &request.input_responses {
        serde_json::to_value(responses.get("answer")).map_err(|error| failed(&error))?
    } else {
        let asked =
            InputRequests::from_iter([("answer".to_owned(), InputRequest::Elicitation(ElicitRequest::new(question)))]);
        return Ok(InputRequiredResult::new(Some(asked), Some("asked".to_owned())).into());
    };
    let part = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    Ok(text(&format!("asked: {} {}", part(&response["action"]), part(&response["content"]["answer"]))))
}

/// Every event there was, with its stream: the peers live for seconds.
#[derive(Default)]
struct Memory(Mutex<Vec<(String, ServerSseMessage)>>);

impl Memory {
    fn events(&self) -> MutexGuard<'_, Vec<(String, ServerSseMessage)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl EventStore for Memory {
    async fn store_event(&self, stream: &str, event: &ServerSseMessage) -> Result<String, EventStoreError> {
        let mut events = self.events();
        let id = events.len().to_string();
        let mut event = event.clone();
        event.event_id = Some(id.clone());
        events.push((stream.to_owned(), event));
        Ok(id)
    }

    async fn replay_events_after(&self, last: &str) -> Result<EventStream, EventStoreError> {
        let last: usize = last.parse()?;
        let events = self.events();
        let (stream, _) = events.get(last).ok_or("no such event")?;
        let later = events.iter().skip(last + 1).filter(|(of, event)| of == stream && event.message.is_some());
        let later: Vec<_> = later.map(|(_, event)| event.clone()).collect();
        Ok(Box::pin(futures::stream::iter(later)))
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let has_sessions = match mode.as_str() {
        "stateful" | "forgetful" => true,
        "stateless" => false,
        _ => return Err("stateful, forgetful or stateless".into()),
    };
    let retry = Some(Duration::from_millis(200));
    let mut sessions = LocalSessionManager::default();
    if mode == "stateful" {
        sessions = sessions.with_event_store(Arc::new(Memory::default()));
    }
    sessions.session_config.sse_retry = retry;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(has_sessions)
        .with_sse_retry(retry)
        // A client that has gone is noticed at the next write.
        .with_sse_keep_alive(Some(Duration::from_millis(100)));
    let service = StreamableHttpService::new(|| Ok(Server), Arc::new(sessions), config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(
        listener.tap_io(|socket| drop(socket.set_nodelay(true))),
        axum::Router::new().nest_service("/mcp", service),
    )
    .await?;
    Ok(())
}
