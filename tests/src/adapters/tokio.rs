//! The tokio adapter, on one runtime for all tests of a program.

use std::sync::{Arc, OnceLock, Weak};

use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::recording::{Bodies, Recording};
use mcp_sse_tokio::{CallError, CallOptions, CallStream, Client, Done, ErrorReply, Reply, Update};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{Adapter, BOUND, Handler, OnEvent, Settings, charge};
use crate::tokio_client;

/// A client of the tokio adapter.
#[derive(Clone)]
pub struct Tokio(Arc<Client>);

/// The runtime of both clients and servers.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(tokio_client::runtime)
}

/// The last update of a stream; `None` if it was dropped.
fn follow(mut stream: CallStream, on_event: OnEvent<'_>) -> Option<Result<Update, CallError>> {
    runtime().block_on(async {
        loop {
            match stream.next().await.expect("an end") {
                Ok(Update::Event(event)) => {
                    if on_event(event).is_break() {
                        return None;
                    }
                }
                last => return Some(last),
            }
        }
    })
}

impl Adapter for Tokio {
    const NAME: &'static str = "tokio";

    fn new(settings: Settings) -> Self {
        Self(Arc::new_cyclic(|client: &Weak<Client>| {
            let options = CallOptions::default().with_timeout(BOUND);
            let mut builder = Client::builder(&settings.url).config(settings.config).options(options);
            if let Some(pem) = &settings.certificate_pem {
                builder = builder.trust_pem(pem.as_bytes());
            }
            for (method, handler) in settings.handlers {
                let client = Weak::clone(client);
                builder = builder.handle(method, move |request| {
                    let (client, handler) = (Weak::clone(&client), handler.clone());
                    async move {
                        match handler {
                            Handler::Answers(answer) => answer(&request),
                            Handler::Calls(method) => {
                                let client = client.upgrade().ok_or_else(|| ErrorReply::new(1, "no client"))?;
                                let result = client.call_as(method, &charge(0)).await;
                                result.map_err(|error| ErrorReply::new(2, error.to_string()))
                            }
                        }
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
        let last = follow(self.0.call_with(method, params, options), on_event)?;
        Some(last.map(|last| match last {
            Update::Reply(reply) => reply,
            other => panic!("no reply: {other:?}"),
        }))
    }

    fn call_together(&self, method: &'static str, count: u64) -> Vec<Result<Reply, CallError>> {
        let calls: Vec<_> = (1..=count).map(|number| runtime().spawn(self.0.call(method, &charge(number)))).collect();
        runtime().block_on(async {
            let mut results = Vec::new();
            for call in calls {
                results.push(call.await.expect("a call"));
            }
            results
        })
    }

    fn notify(&self, method: &str, params: &Value) -> Result<(), CallError> {
        runtime().block_on(self.0.notify(method, params))
    }

    fn listen(&self, filter: &Value, on_event: OnEvent<'_>) -> Option<Result<Done, CallError>> {
        let mut answered = false;
        let mut stream = self.0.listen(filter).until_end();
        runtime().block_on(async {
            loop {
                match stream.next().await.expect("an end") {
                    Ok(Update::Event(event)) => {
                        if on_event(event).is_break() {
                            return None;
                        }
                    }
                    Ok(Update::Done(done)) => return Some(Ok(done)),
                    Ok(_) => assert!(!std::mem::replace(&mut answered, true), "two replies"),
                    Err(error) => return Some(Err(error)),
                }
            }
        })
    }

    fn close(&self) -> Result<(), CallError> {
        runtime().block_on(self.0.close())
    }

    fn version(&self) -> Option<ProtocolVersion> {
        self.0.protocol_version()
    }

    fn recording(&self, bodies: Bodies) -> Option<Recording> {
        self.0.recording(bodies)
    }
}
