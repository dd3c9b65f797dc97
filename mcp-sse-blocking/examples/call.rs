//! The `call` program over the blocking client: one call, a batch of calls, or the demonstration.
//!
//! `cargo run --release -p mcp-sse-blocking --example call -- --help` tells the options. What the program
//! prints is the same for every adapter; here is only what this one does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use mcp_sse_blocking::{Bodies, CallEvent, Client, ConnectionConfig, Done, Recording, Reply};
use mcp_sse_tests::call_program::{self, Adapter, Job, Settings, Trouble};
use serde_json::value::RawValue;

fn main() -> ExitCode {
    let adapter = Blocking::default();
    let status = call_program::main(&adapter);
    // Under earlier revisions, what was cancelled is told to the server before the process ends, and a session is given
    // back; a server that takes neither is none of the caller's troubles.
    for client in adapter.clients.borrow().values() {
        client.close().ok();
        client.wait_for_background(Duration::from_secs(2));
    }
    status
}

/// A client for each URL, so that a batch uses its connections again.
#[derive(Default)]
struct Blocking {
    clients: RefCell<HashMap<String, Client>>,
}

impl Adapter for Blocking {
    fn call(
        &self,
        job: &Job,
        settings: &Settings,
        to_end: bool,
        on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<(Reply, Option<Done>), Trouble> {
        let client = self.client(&job.url, settings).map_err(Trouble::Usage)?;
        let options = settings.options(job);
        // The text was checked when the options were read; it is sent as it was written.
        let params = job.params.clone().map(RawValue::from_string).transpose();
        let params = params.map_err(|error| Trouble::Usage(error.to_string()))?;
        if to_end {
            let (reply, done) = client.call_to_end(&job.method, &params, &options, on_event)?;
            Ok((reply, Some(done)))
        } else {
            Ok((client.call_with(&job.method, &params, &options, on_event)?, None))
        }
    }

    fn recording(&self, url: &str, bodies: Bodies) -> Option<Recording> {
        self.clients.borrow().get(url)?.recording(bodies)
    }
}

impl Blocking {
    fn client(&self, url: &str, settings: &Settings) -> Result<Client, String> {
        if let Some(client) = self.clients.borrow().get(url) {
            return Ok(client.clone());
        }
        let mut builder = Client::builder(url).config(settings.config()?);
        if let Some(file) = &settings.cacert {
            let pem = fs::read(file).map_err(|error| format!("--cacert {}: {error}", file.display()))?;
            builder = builder.trust_pem(&pem);
        }
        if let Some(drain) = settings.drain {
            builder = builder.connections(ConnectionConfig::default().with_drain_timeout(drain));
        }
        let client = builder.build().map_err(|error| error.to_string())?;
        self.clients.borrow_mut().insert(url.to_owned(), client.clone());
        Ok(client)
    }
}
