//! The tokio adapter, on a runtime of its own.

use std::future::ready;
use std::ops::ControlFlow;

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tokio::{CallError, CallEvent, CallOptions, Client, Reply, Update};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::{Peer, Settings, answer, config};

/// A client of the tokio adapter.
pub struct TokioPeer {
    runtime: Runtime,
    client: Client,
}

impl Peer for TokioPeer {
    const NAME: &'static str = "tokio";

    fn new(settings: &Settings) -> Result<Self, String> {
        // A thread of its own does what the client does in the background.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let mut builder = Client::builder(&settings.url).proxy_from_env(false).config(config(settings)?);
        for (method, handler) in settings.handlers.clone() {
            builder = builder.handle(method, move |request| ready(answer(&handler, &request)));
        }
        Ok(Self { client: builder.build().map_err(|error| error.to_string())?, runtime })
    }

    fn call_with(
        &self,
        method: &str,
        params: &Value,
        options: &CallOptions,
        on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<Reply, CallError> {
        let mut updates = self.client.call_with(method, params, options);
        self.runtime.block_on(async {
            loop {
                match updates.next().await {
                    Some(Ok(Update::Reply(reply))) => return Ok(reply),
                    Some(Ok(Update::Event(event))) => {
                        if on_event(event).is_break() {
                            // What became of the call, as the blocking adapter tells it.
                            let done = updates.cancel();
                            return Err(done.and_then(CallError::from_done).unwrap_or(CallError::Params));
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error),
                    None => return Err(CallError::Params),
                }
            }
        })
    }

    fn version(&self) -> Option<ProtocolVersion> {
        self.client.protocol_version()
    }

    fn close(self) -> Result<(), String> {
        self.runtime.block_on(self.client.close()).map_err(|error| error.to_string())
    }
}
