//! The official SDK's client, speaking 2026-07-28. It is given an HTTP client that keeps connections: the one that it makes
//! by default opens one for each call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{CallToolRequestParams, ClientConfig, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;

use super::{Answer, AsyncCaller, Failure, Job};

/// No answer here is larger.
const MOST_BYTES: usize = 1 << 30;

pub(super) struct Rmcp {
    service: RunningService<RoleClient, Handler>,
}

pub(super) struct Line {
    peer: Peer<RoleClient>,
    handler: Handler,
    prepared: Option<(Job, CallToolRequestParams)>,
}

/// Counts what it is told of progress.
#[derive(Clone, Default)]
struct Handler(Arc<AtomicUsize>);

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Rmcp {
    pub(super) async fn new(url: &str, most: usize) -> Result<Self, Failure> {
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .max_concurrent_requests(most)
            .max_sse_event_size(MOST_BYTES)
            .max_json_response_size(MOST_BYTES);
        let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let transport = StreamableHttpClientTransport::with_client(reqwest::Client::new(), config);
        Ok(Self { service: Handler::default().serve_with_lifecycle(transport, lifecycle).await? })
    }
}

impl Line {
    fn params(&mut self, job: Job) -> CallToolRequestParams {
        let kept = self.prepared.take().filter(|(prepared, _)| *prepared == job);
        let params = || {
            let arguments = json!({"text": "hello"}).as_object().cloned().unwrap_or_default();
            (job, CallToolRequestParams::new(job.tool()).with_arguments(arguments))
        };
        self.prepared.insert(kept.unwrap_or_else(params)).1.clone()
    }
}

impl AsyncCaller for Rmcp {
    type Line = Line;
    /// The client keeps connections by itself.
    type Connection = ();

    fn connection(_: Line) {}

    async fn line(&self) -> Result<Line, Failure> {
        Ok(Line { peer: self.service.peer().clone(), handler: self.service.service().clone(), prepared: None })
    }

    /// Notifications are told to a handler that all calls share.
    async fn call(line: &mut Line, job: Job) -> Result<Option<usize>, Failure> {
        let params = line.params(job);
        std::hint::black_box(line.peer.call_tool(params).await?);
        Ok(None)
    }

    async fn answer(line: &mut Line, job: Job) -> Result<Answer, Failure> {
        let before = line.handler.0.load(Ordering::Relaxed);
        let params = line.params(job);
        let result = serde_json::to_value(line.peer.call_tool(params).await?)?;
        // They are told in tasks of their own.
        let notifications = loop {
            let notifications = line.handler.0.load(Ordering::Relaxed) - before;
            if notifications >= job.notifications() {
                break notifications;
            }
            tokio::task::yield_now().await;
        };
        Ok(Answer { notifications, result })
    }
}
