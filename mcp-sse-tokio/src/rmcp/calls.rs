//! rmcp's requests as calls of ours, from the first event to the answer.
//!
//! Rule: whatever ends the future ends the call; and a call comes to exactly one of an answer handed to rmcp, an error that
//! is returned, or rmcp's own cancel.

use std::future::Future;

use ::rmcp::model::RequestId;
use mcp_sse_core::client::{CallError, CallEvent, subscription};
use mcp_sse_core::jsonrpc::Message;
use serde_json::{Value, json};

use super::error::Error;
use super::link::{Link, Pending};
use crate::updates::{CallStream, Update};

/// Tells what comes on the way, then the answer.
pub(super) async fn call(pending: Pending, call: CallStream) -> Result<(), Error> {
    unless_cancelled(&pending, follow(&pending, call)).await
}

async fn follow(pending: &Pending, mut call: CallStream) -> Result<(), Error> {
    while let Some(update) = call.next().await {
        match update? {
            Update::Event(CallEvent::Notification { message, .. }) => pending.link.tell(value(&message)).await,
            Update::Reply(reply) => return pending.answer(&reply).await,
            _ => {}
        }
    }
    Err(CallError::Over.into())
}

/// A subscription of 2026-07-28. Our client opens it again when it is lost, each time under a new id; to rmcp it stays one
/// request, acknowledged once.
pub(super) async fn subscribe(pending: Pending, subscription: CallStream) -> Result<(), Error> {
    unless_cancelled(&pending, follow_subscription(&pending, subscription)).await
}

async fn follow_subscription(pending: &Pending, mut subscription: CallStream) -> Result<(), Error> {
    let mut is_acknowledged = false;
    while let Some(update) = subscription.next().await {
        match update? {
            Update::Event(CallEvent::Acknowledged { message, .. }) if !is_acknowledged => {
                is_acknowledged = true;
                pending.link.tell(tagged(&message, &pending.id)).await;
            }
            Update::Event(CallEvent::Notification { message, .. }) => {
                pending.link.tell(tagged(&message, &pending.id)).await;
            }
            Update::Reply(reply) => return pending.answer(&reply).await,
            Update::Done(_) => {
                let id = pending.id.clone().into_json_value();
                let result = json!({"resultType": "complete", "_meta": {subscription::SUBSCRIPTION_ID: id}});
                let id = pending.id.clone().into_json_value();
                pending.link.tell(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
                return Ok(());
            }
            Update::Event(_) => {}
        }
    }
    Err(CallError::Over.into())
}

/// What a session's server tells outside of calls, until the transport is closed.
pub(super) async fn listen(link: &Link, mut listening: CallStream) {
    let stop = link.stop();
    let told = async {
        while let Some(Ok(update)) = listening.next().await {
            hand_on(link, update).await;
        }
    };
    stop.run_until_cancelled(told).await;
}

/// Hands a notification on; the server's requests have handlers.
pub(super) async fn hand_on(link: &Link, update: Update) {
    if let Update::Event(CallEvent::Notification { message, .. }) = update {
        link.tell(value(&message)).await;
    }
}

async fn unless_cancelled(pending: &Pending, call: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    // Dropped, the call is cancelled over there too, as its revision has it.
    pending.cancelled.run_until_cancelled(call).await.unwrap_or(Ok(()))
}

fn value(message: &Message) -> Value {
    serde_json::from_str(message.as_json()).unwrap_or_default()
}

/// The message under the id by which rmcp knows the subscription.
fn tagged(message: &Message, id: &RequestId) -> Value {
    let mut message = value(message);
    if let Some(params) = message.get_mut("params").and_then(Value::as_object_mut) {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(subscription::SUBSCRIPTION_ID.to_owned(), id.clone().into_json_value());
        }
    }
    message
}
