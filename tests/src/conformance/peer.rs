//! A client as the programs that speak to real servers want it, implemented over each adapter.
//!
//! Rules: thin; what differs between the adapters is here, and nothing else is.

mod blocking;
mod tokio;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_core::client::{CallError, CallEvent, CallOptions, ClientConfig, ErrorReply, Reply};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Message;
use serde_json::Value;

pub use self::tokio::TokioPeer;
pub use blocking::BlockingPeer;
pub use mcp_sse_core::client::Protocol;

/// Answers a request of the server's: its parameters in, a result or the message of an error out.
pub type Handler = Arc<dyn Fn(&Value) -> Result<Value, String> + Send + Sync>;

/// What a client is made of.
#[derive(Clone)]
pub struct Settings {
    /// The server's URL.
    pub url: String,
    /// The revision.
    pub protocol: Protocol,
    /// The capabilities that the client declares, a JSON object.
    pub capabilities: Value,
    /// What answers the server's requests, by method.
    pub handlers: Vec<(&'static str, Handler)>,
}

/// A client of one server, over one of the adapters.
pub trait Peer: Sized {
    /// The adapter's name.
    const NAME: &'static str;

    /// A client with these settings. Nothing is sent yet.
    ///
    /// # Errors
    /// Why there is none.
    fn new(settings: &Settings) -> Result<Self, String>;

    /// Makes a request, shows its events as they come, and gives back its answer. `Break` cancels the call.
    ///
    /// # Errors
    /// What the library says of a call without an answer.
    fn call_with(
        &self,
        method: &str,
        params: &Value,
        options: &CallOptions,
        on_event: &mut dyn FnMut(CallEvent) -> ControlFlow<()>,
    ) -> Result<Reply, CallError>;

    /// Makes a request and gives back its answer.
    ///
    /// # Errors
    /// As [`call_with`](Self::call_with).
    fn call(&self, method: &str, params: &Value) -> Result<Reply, CallError> {
        let options = CallOptions::default().with_timeout(Duration::from_secs(20));
        self.call_with(method, params, &options, &mut |_| ControlFlow::Continue(()))
    }

    /// The revision that is spoken, if the library has found it out.
    fn version(&self) -> Option<ProtocolVersion>;

    /// Ends the session, if there is one.
    ///
    /// # Errors
    /// Why it could not be ended.
    fn close(self) -> Result<(), String>;
}

/// What both adapters take alike.
fn config(settings: &Settings) -> Result<ClientConfig, String> {
    ClientConfig::default()
        .with_protocol(settings.protocol)
        .with_capabilities(&settings.capabilities.to_string())
        .map_err(|error| error.to_string())
}

/// What a handler answers to a request of the server's, for either adapter.
fn answer(handler: &Handler, request: &Message) -> Result<Value, ErrorReply> {
    let params = request.params().map_or(Ok(Value::Null), serde_json::from_str);
    let params = params.map_err(|error| ErrorReply::new(-32602, error.to_string()))?;
    handler(&params).map_err(|message| ErrorReply::new(-32603, message))
}
