//! The `call` program over the tokio client: one call, a batch of calls, or the demonstration.
//!
//! `cargo run --release -p mcp-sse-tokio --example call -- --help` tells the options. What the program prints
//! is the same for every adapter; here is only what this one does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use mcp_sse_tests::call_program::{self, Adapter, Job, Settings, Trouble};
use mcp_sse_tokio::{Bodies, CallError, CallEvent, Client, ConnectionConfig, Done, Recording, Reply, Update};
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};

fn main() -> ExitCode {
    // A thread of its own drains answered streams while the program waits for its next line.
    match Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => {
            let adapter = Tokio { runtime, clients: RefCell::default() };
            let status = call_program::main(&adapter);
            adapter.close();
            adapter.wait_for_background(Duration::from_secs(2));
            status
        }
        Err(error) => {
            eprintln!("call: no runtime: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A client for each URL, so that a batch uses its connections again.
struct Tokio {
    runtime: Runtime,
    clients: RefCell<HashMap<String, Client>>,
}

impl Adapter for Tokio {
    fn call(
        &self,
        job: &Job,
        settings: &Settings,
        to_end: bool,
        on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<(Reply, Option<Done>), Trouble> {
        let client = self.client(&job.url, settings).map_err(Trouble::Usage)?;
        // The text was checked when the options were read; it is sent as it was written.
        let params = job.params.clone().map(RawValue::from_string).transpose();
        let params = params.map_err(|error| Trouble::Usage(error.to_string()))?;
        let mut updates = client.call_with(&job.method, &params, &settings.options(job));
        if to_end {
            updates = updates.until_end();
        }
        self.runtime.block_on(async {
            let mut answered = None;
            while let Some(update) = updates.next().await {
                let flow = match update? {
                    Update::Event(event) => on_event(event),
                    Update::Reply(reply) => {
                        answered = Some((reply, None));
                        ControlFlow::Continue(())
                    }
                    Update::Done(done) => {
                        answered = answered.map(|(reply, _)| (reply, Some(done)));
                        ControlFlow::Continue(())
                    }
                    _ => ControlFlow::Continue(()),
                };
                if flow.is_break() {
                    break;
                }
            }
            // Without an answer it was stopped, which nobody asks about.
            answered.ok_or(Trouble::Call(CallError::Params))
        })
    }

    fn recording(&self, url: &str, bodies: Bodies) -> Option<Recording> {
        self.clients.borrow().get(url)?.recording(bodies)
    }
}

impl Tokio {
    /// Sessions of earlier revisions are given back; a server that takes none is none of the caller's troubles.
    fn close(&self) {
        for client in self.clients.borrow().values() {
            self.runtime.block_on(client.close()).ok();
        }
    }

    /// What was cancelled under a legacy revision is told to the server before the process ends: waits until no task is left,
    /// for as long as this at most.
    fn wait_for_background(self, most: Duration) {
        // A kept connection of HTTP/2 has a task of its own.
        drop(self.clients);
        let metrics = self.runtime.metrics();
        let all_ended = async {
            while metrics.num_alive_tasks() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = self.runtime.block_on(async { tokio::time::timeout(most, all_ended).await });
    }

    fn client(&self, url: &str, settings: &Settings) -> Result<Client, String> {
        if let Some(client) = self.clients.borrow().get(url) {
            return Ok(client.clone());
        }
        let mut builder = Client::builder(url).config(settings.config()?);
        if settings.is_own_server {
            builder = builder.proxy_from_env(false);
        }
        if let Some(file) = &settings.cacert {
            let pem = fs::read(file).map_err(|error| format!("--cacert {}: {error}", file.display()))?;
            builder = builder.trust_pem(&pem);
        }
        if let Some(drain) = settings.drain {
            builder = builder.connections(ConnectionConfig::default().with_drain_timeout(drain));
        }
        let client = builder.build().map_err(|error| format!("URL: {error}"))?;
        self.clients.borrow_mut().insert(url.to_owned(), client.clone());
        Ok(client)
    }
}
