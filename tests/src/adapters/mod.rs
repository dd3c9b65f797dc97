//! Both adapters behind one face, so that one test is run over each: synchronous, as tests are.
//!
//! Rules: thin; what differs between the adapters is here, and nothing else is. Expectations do not belong here.

mod blocking;
mod tokio;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_core::client::{
    CallError, CallEvent, CallOptions, ClientConfig, ConnectionConfig, Done, ErrorReply, Protocol, Reply,
};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Message;
use mcp_sse_core::recording::{Bodies, Recording};
use serde_json::{Value, json};

pub use self::tokio::Tokio;
pub(crate) use self::tokio::runtime;
pub use blocking::Blocking;

/// Long enough for a busy machine; nothing takes so long unless it fails.
pub const BOUND: Duration = Duration::from_secs(20);

type Answer = dyn Fn(&Message) -> Result<Value, ErrorReply> + Send + Sync;

/// What a handler does with a request of the server's.
#[derive(Clone)]
pub enum Handler {
    /// Gives back what this makes of the request.
    Answers(Arc<Answer>),
    /// Makes a call of this method by the client that it belongs to, and gives back its result.
    Calls(&'static str),
}

impl Handler {
    /// A handler that answers with what this makes of the request.
    pub fn answers(answer: impl Fn(&Message) -> Result<Value, ErrorReply> + Send + Sync + 'static) -> Self {
        Self::Answers(Arc::new(answer))
    }
}

/// What a client is made of.
#[derive(Clone)]
pub struct Settings {
    url: String,
    config: ClientConfig,
    certificate_pem: Option<String>,
    handlers: Vec<(&'static str, Handler)>,
}

impl Settings {
    /// A client of this URL that speaks this revision.
    pub fn fixed(url: String, version: ProtocolVersion) -> Self {
        Self::new(url, Protocol::Fixed(version))
    }

    /// A client of this URL that finds out what to speak.
    pub fn auto(url: String) -> Self {
        Self::new(url, Protocol::Auto)
    }

    fn new(url: String, protocol: Protocol) -> Self {
        let connections = ConnectionConfig::default().with_drain_timeout(Duration::from_secs(2));
        let config = ClientConfig::default().with_protocol(protocol).with_connections(connections);
        Self { url, config, certificate_pem: None, handlers: Vec::new() }
    }

    /// Changes what the core decides by.
    pub fn config(mut self, change: impl FnOnce(ClientConfig) -> ClientConfig) -> Self {
        self.config = change(self.config);
        self
    }

    /// Trusts this certificate.
    pub fn trusts(mut self, certificate_pem: &str) -> Self {
        self.certificate_pem = Some(certificate_pem.to_owned());
        self
    }

    /// Has requests of this method handled.
    pub fn handles(mut self, method: &'static str, handler: Handler) -> Self {
        self.handlers.push((method, handler));
        self
    }
}

/// What is done with the events of a call.
pub type OnEvent<'a> = &'a mut dyn FnMut(CallEvent) -> ControlFlow<()>;

/// A client over one of the adapters. Clones are the same client.
pub trait Adapter: Clone + Send + Sync + 'static {
    /// The adapter's name.
    const NAME: &'static str;

    /// A client with these settings. Nothing is sent yet.
    ///
    /// # Panics
    /// If it cannot be built.
    fn new(settings: Settings) -> Self;

    /// Makes a request, shows its events as they come, and gives back its answer. `Break` cancels the call, in tokio by
    /// dropping it: then there is no error to tell.
    fn call_with(
        &self,
        method: &str,
        params: &Value,
        options: &CallOptions,
        on_event: OnEvent<'_>,
    ) -> Option<Result<Reply, CallError>>;

    /// Makes so many calls of this method at once, each in a thread or task of its own; the n-th bears the number n.
    fn call_together(&self, method: &'static str, count: u64) -> Vec<Result<Reply, CallError>>;

    /// Sends a notification.
    ///
    /// # Errors
    /// As the adapter's.
    fn notify(&self, method: &str, params: &Value) -> Result<(), CallError>;

    /// Listens until `Break` or the end; in tokio `Break` drops the stream, and there is no end to tell.
    fn listen(&self, filter: &Value, on_event: OnEvent<'_>) -> Option<Result<Done, CallError>>;

    /// Ends the session or the channel.
    ///
    /// # Errors
    /// As the adapter's.
    fn close(&self) -> Result<(), CallError>;

    /// The revision that is spoken, if it is known.
    fn version(&self) -> Option<ProtocolVersion>;

    /// What happened, if the configuration asked for it to be written down.
    fn recording(&self, bodies: Bodies) -> Option<Recording>;

    /// Makes a request and gives back its answer.
    ///
    /// # Errors
    /// As the adapter's.
    fn call(&self, method: &str) -> Result<Reply, CallError> {
        self.call_within(method, BOUND)
    }

    /// As [`call`](Self::call), with this time-out.
    ///
    /// # Errors
    /// As the adapter's.
    fn call_within(&self, method: &str, timeout: Duration) -> Result<Reply, CallError> {
        let options = CallOptions::default().with_timeout(timeout);
        let result = self.call_with(method, &charge(1), &options, &mut |_| ControlFlow::Continue(()));
        result.expect("nobody cancelled it")
    }

    /// Makes a call and cancels it at its first event.
    fn cancel_at_first_event(&self, method: &str) {
        let options = CallOptions::default().with_timeout(BOUND);
        let result = self.call_with(method, &charge(1), &options, &mut |_| ControlFlow::Break(()));
        assert!(!matches!(result, Some(Ok(_))), "cancelled, and yet answered");
    }
}

/// Parameters that tell this call from others.
pub fn charge(number: u64) -> Value {
    json!({"name": "charge", "arguments": {"n": number}})
}

/// The number of the execution that a reply of the counted tool tells of.
///
/// # Panics
/// If it is no such reply.
pub fn execution(reply: &Reply) -> u64 {
    let result: Value = reply.parse_result().expect("a result");
    result["executions"].as_u64().expect("the number of executions")
}

/// Makes each test a test of each adapter, in a thread of its own, so that one that hangs fails and holds up no other.
#[macro_export]
macro_rules! over_both_adapters {
    ($($test:ident),+ $(,)?) => {
        mod blocking {
            $(#[test]
            fn $test() {
                $crate::blocking::watched(super::$test::<$crate::adapters::Blocking>);
            })+
        }

        mod tokio {
            $(#[test]
            fn $test() {
                $crate::blocking::watched(super::$test::<$crate::adapters::Tokio>);
            })+
        }
    };
}
