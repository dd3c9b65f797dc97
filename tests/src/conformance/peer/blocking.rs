//! The blocking adapter.

use std::ops::ControlFlow;

use mcp_sse_blocking::{CallError, CallEvent, CallOptions, Client, Reply};
use mcp_sse_core::http::ProtocolVersion;
use serde_json::Value;

use super::{Peer, Settings, answer, config};

/// A client of the blocking adapter.
pub struct BlockingPeer {
    client: Client,
}

impl Peer for BlockingPeer {
    const NAME: &'static str = "blocking";

    fn new(settings: &Settings) -> Result<Self, String> {
        let mut builder = Client::builder(&settings.url).config(config(settings)?);
        for (method, handler) in settings.handlers.clone() {
            builder = builder.handle(method, move |request| answer(&handler, request));
        }
        Ok(Self { client: builder.build().map_err(|error| error.to_string())? })
    }

    fn call_with(
        &self,
        method: &str,
        params: &Value,
        options: &CallOptions,
        on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<Reply, CallError> {
        self.client.call_with(method, params, options, on_event)
    }

    fn version(&self) -> Option<ProtocolVersion> {
        self.client.protocol_version()
    }

    fn close(self) -> Result<(), String> {
        self.client.close().map_err(|error| error.to_string())
    }
}
