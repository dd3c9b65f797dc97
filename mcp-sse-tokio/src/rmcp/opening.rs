//! How rmcp begins: `initialize` becomes our client's handshake, `server/discover` a call of a client of 2026-07-28.
//!
//! Rule: rmcp waits here without taking messages, so nothing is handed to it but the answer.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ::rmcp::model::{ErrorData, InitializeResult, JsonRpcMessage, ServerResult};
use futures_core::Stream;
use mcp_sse_core::client::{BuildError, CallError, ClientConfig, ConfigError, Protocol, READ_METHODS};
use mcp_sse_core::http::{Era, ProtocolVersion};
use serde_json::{Value, json};

use super::calls::{hand_on, listen};
use super::error::Error;
use super::link::Pending;
use crate::client::Client;
use crate::updates::{CallStream, Update};

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const DISCOVER: &str = "server/discover";

/// A client that begins with `initialize`.
pub(super) fn legacy(built: &Client, params: &Value) -> Result<Client, Error> {
    let own = match built.inner().core().config().protocol {
        Protocol::Fixed(version) if version.era() != Era::Modern => Some(version),
        _ => None,
    };
    // rmcp may offer a revision that has no such handshake; then the newest that has one is meant.
    let offered = params["protocolVersion"].as_str().and_then(|version| version.parse::<ProtocolVersion>().ok());
    let offered = offered.filter(|version| version.era() == Era::Legacy).unwrap_or(ProtocolVersion::V2025_11_25);
    client(built, own.unwrap_or(offered), &params["clientInfo"], &params["capabilities"])
}

/// A client of 2026-07-28, or of the later revision that the request is of.
pub(super) fn modern(built: &Client, params: &Value) -> Result<Client, Error> {
    let meta = |key: &str| &params["_meta"][format!("io.modelcontextprotocol/{key}")];
    let version = meta("protocolVersion").as_str().and_then(|version| version.parse::<ProtocolVersion>().ok());
    let version = version.filter(|version| version.era() == Era::Modern).ok_or(Error::Revision)?;
    client(built, version, meta("clientInfo"), meta("clientCapabilities"))
}

fn client(built: &Client, version: ProtocolVersion, info: &Value, capabilities: &Value) -> Result<Client, Error> {
    let config = built.inner().core().config().clone();
    // What only reads does no harm when it is repeated (F14).
    let reads = READ_METHODS.into_iter().chain([DISCOVER]);
    let config = reads.fold(config, |config, method| config.with_replay_safe_method(method));
    let mut config = config.with_version(version);
    if info.is_object() {
        config = set(config.with_client_info(&info.to_string()))?;
    }
    if capabilities.is_object() {
        config = set(config.with_capabilities(&capabilities.to_string()))?;
    }
    if !["elicitation", "roots", "sampling"].iter().any(|capability| capabilities.get(capability).is_some()) {
        // Nothing will be asked, so no call need wait until the stream is open on which it would be.
        config = config.with_listening_timeout(Duration::ZERO);
    }
    Ok(built.anew(config))
}

fn set(config: Result<ClientConfig, ConfigError>) -> Result<ClientConfig, Error> {
    config.map_err(|error| BuildError::from(error).into())
}

/// Makes the handshake, answers rmcp's `initialize` with what the server said, and listens to the session from then on.
pub(super) async fn initialize(pending: Pending, client: Client) -> Result<(), Error> {
    let mut listening = client.listen(&json!({}));
    let opening = first(&client, &mut listening);
    let Some(first) = pending.cancelled.run_until_cancelled(opening).await.transpose()? else {
        return Ok(());
    };
    let result = client.initialize_result().ok_or(CallError::Over)?;
    let result: InitializeResult = serde_json::from_str(&result)?;
    pending.link.set_client(client);
    pending.link.give(JsonRpcMessage::response(ServerResult::InitializeResult(result), pending.id.clone())).await;
    let link = Arc::clone(&pending.link);
    drop(tokio::spawn(async move {
        if let Some(first) = first {
            hand_on(&link, first).await;
        }
        listen(&link, listening).await;
    }));
    Ok(())
}

/// Listening needs the handshake, so it is what sets it going. Gives what came on the stream meanwhile.
async fn first(client: &Client, listening: &mut CallStream) -> Result<Option<Update>, CallError> {
    poll_fn(|cx| {
        let polled = Pin::new(&mut *listening).poll_next(cx);
        let is_open = client.initialize_result().is_some();
        match polled {
            Poll::Ready(Some(Err(error))) if !is_open => Poll::Ready(Err(error)),
            Poll::Ready(Some(Ok(update))) => Poll::Ready(Ok(Some(update))),
            Poll::Pending if !is_open => Poll::Pending,
            // Open; or there is nothing to listen to, which is no reason not to begin.
            _ => Poll::Ready(Ok(None)),
        }
    })
    .await
}

/// Answers rmcp's `server/discover` with what the server said; with an error, from which rmcp knows a server of an earlier
/// revision, if it said so by its status (F6).
pub(super) async fn discover(pending: Pending, client: Client, call: CallStream) -> Result<(), Error> {
    match pending.cancelled.run_until_cancelled(call.reply()).await {
        Some(Ok(reply)) => {
            pending.link.set_client(client);
            pending.answer(&reply).await
        }
        Some(Err(error)) => match error.status() {
            Some(status @ 400..=499) if !matches!(status, 401 | 403 | 429) => {
                let error = ErrorData::invalid_request(format!("the server answered with status {status}"), None);
                pending.link.give(JsonRpcMessage::error(error, Some(pending.id.clone()))).await;
                Ok(())
            }
            _ => Err(error.into()),
        },
        None => Ok(()),
    }
}
