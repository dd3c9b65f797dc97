//! Our blocking client.

use std::ops::ControlFlow;

use mcp_sse_blocking::core::client::ConnectionConfig;
use mcp_sse_blocking::core::jsonrpc::Message;
use mcp_sse_blocking::{CallEvent, CallOptions, Client, Reply};

use super::params::Prepared;
use super::tokio::is_progress;
use super::{Answer, Failure, Job};

pub(super) struct Blocking(Client);

/// What one thread has.
pub(super) struct Line {
    client: Client,
    options: CallOptions,
    prepared: Prepared,
}

impl Blocking {
    pub(super) fn new(url: &str, most: usize) -> Result<Self, Failure> {
        let connections = ConnectionConfig::default().with_max_idle(most);
        Ok(Self(Client::builder(url).connections(connections).build()?))
    }

    pub(super) fn line(&self) -> Line {
        Line { client: self.0.clone(), options: CallOptions::default(), prepared: Prepared::default() }
    }
}

impl Line {
    fn run(&mut self, job: Job, mut on_notification: impl FnMut(&Message)) -> Result<Reply, Failure> {
        let params = self.prepared.of(job);
        if job.notifications() == 0 {
            return Ok(self.client.call("tools/call", params)?);
        }
        let on_event = |event| {
            if let CallEvent::Notification { message, .. } = &event {
                on_notification(message);
            }
            ControlFlow::Continue(())
        };
        Ok(self.client.call_with("tools/call", params, &self.options, on_event)?)
    }

    pub(super) fn call(&mut self, job: Job) -> Result<Option<usize>, Failure> {
        let mut notifications = 0;
        let reply = self.run(job, |_| notifications += 1)?;
        std::hint::black_box(reply);
        Ok(Some(notifications))
    }

    pub(super) fn answer(&mut self, job: Job) -> Result<Answer, Failure> {
        let mut notifications = 0;
        let reply = self.run(job, |message| notifications += usize::from(is_progress(message)))?;
        Ok(Answer { notifications, result: reply.parse_result()? })
    }
}
