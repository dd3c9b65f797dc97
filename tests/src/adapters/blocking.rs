//! The blocking adapter.

use std::sync::{Arc, Weak};
use std::thread;

use mcp_sse_blocking::{CallError, CallOptions, Client, Done, ErrorReply, Reply};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::recording::{Bodies, Recording};
use serde_json::Value;

use super::{Adapter, BOUND, Handler, OnEvent, Settings, charge};

/// A client of the blocking adapter.
#[derive(Clone)]
pub struct Blocking(Arc<Client>);

impl Adapter for Blocking {
    const NAME: &'static str = "blocking";

    fn new(settings: Settings) -> Self {
        Self(Arc::new_cyclic(|client: &Weak<Client>| {
            let options = CallOptions::default().with_timeout(BOUND);
            let mut builder = Client::builder(&settings.url).config(settings.config).options(options);
            if let Some(pem) = &settings.certificate_pem {
                builder = builder.trust_pem(pem.as_bytes());
            }
            for (method, handler) in settings.handlers {
                let client = Weak::clone(client);
                builder = builder.handle(method, move |request| match &handler {
                    Handler::Answers(answer) => answer(request),
                    Handler::Calls(method) => {
                        let client = client.upgrade().ok_or_else(|| ErrorReply::new(1, "no client"))?;
                        let result = client.call_as(method, &charge(0));
                        result.map_err(|error| ErrorReply::new(2, error.to_string()))
                    }
                });
            }
            builder.build().expect("a client")
        }))
    }

    fn call_with(
        &self,
        method: &str,
        params: &Value,
        options: &CallOptions,
        on_event: OnEvent<'_>,
    ) -> Option<Result<Reply, CallError>> {
        Some(self.0.call_with(method, params, options, on_event))
    }

    fn call_together(&self, method: &'static str, count: u64) -> Vec<Result<Reply, CallError>> {
        let calls: Vec<_> = (1..=count)
            .map(|number| {
                let client = Arc::clone(&self.0);
                thread::spawn(move || client.call(method, &charge(number)))
            })
            .collect();
        calls.into_iter().map(|call| call.join().expect("a call")).collect()
    }

    fn notify(&self, method: &str, params: &Value) -> Result<(), CallError> {
        self.0.notify(method, params)
    }

    fn listen(&self, filter: &Value, on_event: OnEvent<'_>) -> Option<Result<Done, CallError>> {
        Some(self.0.listen(filter, on_event))
    }

    fn close(&self) -> Result<(), CallError> {
        self.0.close()
    }

    fn version(&self) -> Option<ProtocolVersion> {
        self.0.protocol_version()
    }

    fn recording(&self, bodies: Bodies) -> Option<Recording> {
        self.0.recording(bodies)
    }
}
