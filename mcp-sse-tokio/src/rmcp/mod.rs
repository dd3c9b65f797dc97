//! A transport for the client of [rmcp], the Rust SDK: its handlers, types and calls, over this crate's connections and
//! decisions. Wants the feature `rmcp`, and with it Rust 1.88, as rmcp 3 does.
//!
//! # The one changed line
//!
//! ```no_run
//! use mcp_sse_tokio::rmcp::ClientTransport;
//! use rmcp::ServiceExt;
//! use rmcp::model::CallToolRequestParams;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // let transport = rmcp::transport::StreamableHttpClientTransport::from_uri("https://example.com/mcp");
//! let transport = ClientTransport::new("https://example.com/mcp");
//! let client = ().serve(transport).await?;
//! let result = client.call_tool(CallToolRequestParams::new("add")).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What is whose
//!
//! rmcp chooses how it begins, and the transport follows: `serve` means `initialize` and the revisions up to 2025-11-25,
//! `serve_with_lifecycle` with `Discover` means 2026-07-28, with `Auto` first the one and then the other. Each request of
//! rmcp's is a call of this crate's [`Client`], under ids of its own, and comes to what that comes to: an answer that was
//! delivered reaches rmcp whatever becomes of its stream afterwards, a stream that can be resumed is resumed, a session
//! that has expired is begun anew. The session, its listening stream and its end are the transport's affair. What the
//! server tells and asks goes to rmcp's handler; `ping` is answered here.
//!
//! # What a lost call comes to
//!
//! A request that got no answer fails as [`ServiceError::TransportSend`], and [`Error::in_call`] finds this crate's
//! [`CallError`] in it: was it sent, may it have run. rmcp has no place to say that an answer is that of a second attempt
//! and that the first may have run too. So the transport's own policy is [`ReissuePolicy::ReplaySafe`]: what only reads is
//! sent again if it is lost (2026-07-28), `tools/call` is not. For at-least-once, as that revision has it for every request,
//! there is [`ClientTransport::reissue`].
//!
//! Every call has a deadline, 60 s if the builder's options say nothing else ([`CallOptions::timeout`]); with rmcp's own
//! transport it has none. A request that rmcp cancels, by a time-out of its own or because its future is dropped, is
//! cancelled here, and nobody else's is.
//!
//! # Limits
//!
//! Of the server's requests rmcp gets those that the specification has (`sampling/createMessage`, `elicitation/create`,
//! `roots/list`); others are answered with -32601. The `data` of an error with which rmcp's handler answers is not sent. A
//! 401 is a [`CallError`] with that status, and not rmcp's `AuthRequiredError`, so its OAuth flow does not begin by itself.
//!
//! [rmcp]: ::rmcp
//! [`ServiceError::TransportSend`]: ::rmcp::ServiceError::TransportSend
//! [`CallError`]: crate::CallError
//! [`CallOptions::timeout`]: crate::CallOptions::timeout

mod calls;
mod error;
mod link;
mod opening;

use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use ::rmcp::RoleClient;
use ::rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use ::rmcp::transport::Transport;
use mcp_sse_core::client::{BuildError, CallOptions, ErrorReply, ReissuePolicy};
use mcp_sse_core::http::Era;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use crate::builder::ClientBuilder;
use crate::client::Client;
use crate::updates::CallFuture;

pub use error::Error;
use link::Link;

/// How many messages wait for rmcp at most; a stream whose messages find no room is not read on.
const MAX_WAITING: usize = 64;

/// The requests of the server's that rmcp's handlers have words for.
const ASKED: [&str; 3] = ["elicitation/create", "roots/list", "sampling/createMessage"];

/// A transport for rmcp's client: give it to `serve` ([`ServiceExt`]) or to `serve_with_lifecycle`.
///
/// It serves one client, as each transport of rmcp's does. Nothing is connected before rmcp begins. Dropping it, which rmcp
/// does when its service ends, cancels what is under way; its `close` also ends the session.
///
/// [`ServiceExt`]: ::rmcp::ServiceExt
pub struct ClientTransport {
    /// The client as it was built, from which each handshake makes its own.
    built: Result<Client, BuildError>,
    options: CallOptions,
    link: Arc<Link>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    _stop: DropGuard,
}

impl ClientTransport {
    /// A transport to this URL, with default settings. A URL that is no endpoint is reported when rmcp begins
    /// ([`Error::Build`]).
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self::from_builder(Client::builder(url))
    }

    /// A transport with the settings of a client: headers, certificates, proxies, limits, deadlines. Who the client is and
    /// what it can do is rmcp's to say, and so is the protocol, unless the builder has an earlier one than 2026-07-28:
    /// that is then what a handshake offers. Handlers for requests that rmcp answers are not used.
    #[must_use]
    pub fn from_builder(builder: ClientBuilder) -> Self {
        let (sender, incoming) = mpsc::channel(MAX_WAITING);
        let link = Arc::new(Link::new(sender));
        let built = ASKED.iter().fold(builder, |builder, method| {
            let link = Arc::downgrade(&link);
            builder.handle(method, move |message| {
                let link = link.upgrade();
                async move {
                    match link {
                        Some(link) => link.ask(&message).await,
                        None => Err(ErrorReply::internal()),
                    }
                }
            })
        });
        let built = built.build();
        let options = built.as_ref().map(|client| client.inner().options.clone()).unwrap_or_default();
        let options = options.with_reissue(ReissuePolicy::ReplaySafe);
        let stop = link.stop().drop_guard();
        Self { built, options, link, incoming, _stop: stop }
    }

    /// Sets whether a lost request is sent again. Default: [`ReissuePolicy::ReplaySafe`], whatever the builder's options
    /// say, with everything that only reads declared safe; the reason stands [above](self).
    #[must_use]
    pub fn reissue(mut self, policy: ReissuePolicy) -> Self {
        self.options = self.options.with_reissue(policy);
        self
    }

    fn begin(&self, item: &ClientJsonRpcMessage) -> Result<CallFuture<Result<(), Error>>, Error> {
        let done = || -> CallFuture<_> { Box::pin(ready(Ok(()))) };
        let mut message = serde_json::to_value(item)?;
        let mut params = take(&mut message, "params");
        let method = take(&mut message, "method");
        let method = method.as_str().unwrap_or_default();
        match item {
            JsonRpcMessage::Request(request) => self.request(&request.id, method, params),
            JsonRpcMessage::Notification(_) if method == "notifications/cancelled" => {
                if let Ok(id) = serde_json::from_value(take(&mut params, "requestId")) {
                    self.link.cancel(&id);
                }
                Ok(done())
            }
            // It was part of our handshake.
            JsonRpcMessage::Notification(_) if method == "notifications/initialized" => Ok(done()),
            JsonRpcMessage::Notification(_) => {
                let notified = self.link.client()?.notify_with(method, &params, &self.options);
                Ok(Box::pin(async move { Ok(notified.await?) }))
            }
            JsonRpcMessage::Response(response) => {
                self.link.answered(&response.id, Ok(take(&mut message, "result")));
                Ok(done())
            }
            JsonRpcMessage::Error(failed) => {
                if let Some(id) = &failed.id {
                    let error = ErrorReply::new(failed.error.code.0.into(), failed.error.message.clone());
                    self.link.answered(id, Err(error));
                }
                Ok(done())
            }
        }
    }

    fn request(&self, id: &RequestId, method: &str, mut params: Value) -> Result<CallFuture<Result<(), Error>>, Error> {
        let built = || self.built.as_ref().map_err(Clone::clone);
        // Registered before anything is awaited: rmcp may cancel it before it is polled.
        let pending = self.link.register(id);
        match method {
            opening::INITIALIZE => Ok(Box::pin(opening::initialize(pending, opening::legacy(built()?, &params)?))),
            opening::DISCOVER => {
                let client = opening::modern(built()?, &params)?;
                let call = client.call_with(method, &params, &self.options);
                Ok(Box::pin(opening::discover(pending, client, call)))
            }
            _ => {
                let client = self.link.client()?;
                let is_modern = client.protocol_version().is_some_and(|version| version.era() == Era::Modern);
                if is_modern && method == mcp_sse_core::client::subscription::LISTEN {
                    let subscription = client.listen(&take(&mut params, "notifications"));
                    return Ok(Box::pin(calls::subscribe(pending, subscription)));
                }
                Ok(Box::pin(calls::call(pending, client.call_with(method, &params, &self.options))))
            }
        }
    }
}

fn take(value: &mut Value, member: &str) -> Value {
    value.get_mut(member).map(Value::take).unwrap_or_default()
}

impl Transport<RoleClient> for ClientTransport {
    type Error = Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        self.begin(&item).unwrap_or_else(|error| Box::pin(ready(Err(error))))
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.incoming.recv()
    }

    async fn close(&mut self) -> Result<(), Error> {
        self.link.stop().cancel();
        match self.link.take_client() {
            Some(client) => Ok(client.close().await?),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for ClientTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTransport").field("client", &self.built).finish_non_exhaustive()
    }
}
