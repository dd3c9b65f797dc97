//! Our client over tokio.

use mcp_sse_tokio::core::client::ConnectionConfig;
use mcp_sse_tokio::core::jsonrpc::Message;
use mcp_sse_tokio::{CallEvent, CallOptions, Client, Reply, Update};

use super::params::Prepared;
use super::{Answer, AsyncCaller, Failure, Job};

pub(super) struct Tokio(Client);

pub(super) struct Line {
    client: Client,
    options: CallOptions,
    prepared: Prepared,
}

impl Tokio {
    pub(super) fn new(url: &str, most: usize) -> Result<Self, Failure> {
        let connections = ConnectionConfig::default().with_max_idle(most);
        Ok(Self(Client::builder(url).connections(connections).proxy_from_env(false).build()?))
    }
}

impl Line {
    /// The reply, and the notifications before it.
    async fn run(&mut self, job: Job, mut on_notification: impl FnMut(&Message) + Send) -> Result<Reply, Failure> {
        let params = self.prepared.of(job);
        if job.notifications() == 0 {
            return Ok(self.client.call("tools/call", params).await?);
        }
        let mut updates = self.client.call_with("tools/call", params, &self.options);
        while let Some(update) = updates.next().await {
            match update? {
                Update::Reply(reply) => return Ok(reply),
                Update::Event(CallEvent::Notification { message, .. }) => on_notification(&message),
                other => return Err(format!("another event: {other:?}").into()),
            }
        }
        Err("no reply".into())
    }
}

impl AsyncCaller for Tokio {
    type Line = Line;
    /// The client keeps connections by itself.
    type Connection = ();

    fn connection(_: Line) {}

    async fn line(&self) -> Result<Line, Failure> {
        Ok(Line { client: self.0.clone(), options: CallOptions::default(), prepared: Prepared::default() })
    }

    async fn call(line: &mut Line, job: Job) -> Result<Option<usize>, Failure> {
        let mut notifications = 0;
        let reply = line.run(job, |_| notifications += 1).await?;
        std::hint::black_box(reply);
        Ok(Some(notifications))
    }

    async fn answer(line: &mut Line, job: Job) -> Result<Answer, Failure> {
        let mut notifications = 0;
        let reply = line.run(job, |message| notifications += usize::from(is_progress(message))).await?;
        Ok(Answer { notifications, result: reply.parse_result()? })
    }
}

pub(super) fn is_progress(message: &Message) -> bool {
    message.method() == Some("notifications/progress")
}
