//! `subscriptions/listen`: who is told of which changes (S6).
//!
//! Rules: subscriptions and cancellation, 2026-07-28. The acknowledgment comes first and names what is honoured; only that is
//! told; every message bears the id of the request; a graceful end is `notifications/cancelled` that names it, then the
//! result, then the end of the stream. What changes is the embedder's to say.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use super::calling::Begun;
use super::output::{Delivery, Recipient, SendError, Sent};
use super::params::CallParams;
use super::queue::Weight;
use super::refusal::{INVALID_PARAMS, METHOD_NOT_FOUND, Refusal};
use super::stream::{Purpose, Stream};
use super::telling::Change;
use super::timers::Timer;
use super::{CallId, ExchangeId, Server, text};
use crate::http::ProtocolVersion;
use crate::jsonrpc::{Id, Message, Shape, object_member, read_array, shape, string};
use crate::time::Timestamp;

/// What one subscription is told of.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: BTreeSet<String>,
}

impl Subscription {
    fn wants(&self, change: &Change<'_>) -> bool {
        match change {
            Change::ToolsList => self.tools,
            Change::PromptsList => self.prompts,
            Change::ResourcesList => self.resources,
            Change::Resource { uri } => self.uris.contains(*uri),
        }
    }

    /// The filter as it is honoured: what is not is left out.
    fn to_json(&self) -> String {
        let mut json = String::from("{");
        let separate = |json: &mut String| {
            if json.len() > 1 {
                json.push(',');
            }
        };
        let lists = [
            (self.tools, r#""toolsListChanged":true"#),
            (self.prompts, r#""promptsListChanged":true"#),
            (self.resources, r#""resourcesListChanged":true"#),
        ];
        for (_, member) in lists.iter().filter(|(is_honoured, _)| *is_honoured) {
            separate(&mut json);
            json.push_str(member);
        }
        if !self.uris.is_empty() {
            separate(&mut json);
            json.push_str(r#""resourceSubscriptions":["#);
            for uri in &self.uris {
                if !json.ends_with('[') {
                    json.push(',');
                }
                json.push_str(&text::json_string(uri));
            }
            json.push(']');
        }
        json.push('}');
        json
    }
}

impl Server {
    pub(super) fn subscribe(
        &mut self,
        exchange: ExchangeId,
        version: ProtocolVersion,
        message: Message,
        params: CallParams,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let id = message.id().cloned().unwrap_or(Id::Null);
        let subscription = self.honoured(&message).map_err(|refusal| refusal.with_id(&id))?;
        let stream = self.add_stream(Stream::new(Purpose::Subscription, exchange, None), now);
        let call = self.begin_call(Begun { exchange, stream, session: None, version }, message, params, now).call;
        // It is over when one side says so.
        self.timers.clear(Timer::Call(call));
        let honoured = format!(r#"{{"notifications":{}}}"#, subscription.to_json());
        self.subscriptions.insert(call, subscription);
        let acknowledgment =
            text::notification("notifications/subscriptions/acknowledged", tagged(&honoured, &id).as_deref());
        // First on a fresh stream, and of no more than the request's size: it has room.
        self.enqueue(stream, &acknowledgment, Weight::Answer, now).ok();
        Ok(())
    }

    fn honoured(&self, message: &Message) -> Result<Subscription, Refusal> {
        let list = |part: &str| self.config.is_capable(part, "listChanged");
        let (tools, prompts, resources) = (list("tools"), list("prompts"), list("resources"));
        let uris = self.config.is_capable("resources", "subscribe");
        if !(tools || prompts || resources || uris) {
            return Err(Refusal::new(404, METHOD_NOT_FOUND, "Method not found"));
        }
        let filter = message.params().and_then(|params| object_member(params, "notifications"));
        let filter = filter.filter(|filter| shape(filter) == Shape::Object);
        let Some(filter) = filter else {
            return Err(Refusal::new(400, INVALID_PARAMS, "notifications is missing from the parameters"));
        };
        let asks = |name: &str| object_member(filter, name) == Some("true");
        let mut subscription = Subscription {
            tools: tools && asks("toolsListChanged"),
            prompts: prompts && asks("promptsListChanged"),
            resources: resources && asks("resourcesListChanged"),
            uris: BTreeSet::new(),
        };
        if uris {
            let named = object_member(filter, "resourceSubscriptions").map(read_array);
            for uri in named.into_iter().flatten().flatten().filter_map(string) {
                subscription.uris.insert(Cow::into_owned(uri));
                if subscription.uris.len() > self.config.limits.max_subscribed_resources {
                    return Err(Refusal::new(400, INVALID_PARAMS, "resourceSubscriptions names too many resources"));
                }
            }
        }
        Ok(subscription)
    }

    /// Tells the subscriptions that want to know.
    pub(super) fn tell_subscriptions(&mut self, change: &Change<'_>, now: Timestamp) -> alloc::vec::Vec<Delivery> {
        let wanting = self.subscriptions.iter().filter(|(_, subscription)| subscription.wants(change));
        let wanting: alloc::vec::Vec<CallId> = wanting.map(|(call, _)| *call).collect();
        let params = change.params();
        let told = wanting.into_iter().map(|call| {
            let to = Recipient::Subscription(call);
            Delivery { to, outcome: self.tell_subscription(call, change.method(), params.as_deref(), now) }
        });
        told.collect()
    }

    fn tell_subscription(
        &mut self,
        call: CallId,
        method: &str,
        params: Option<&str>,
        now: Timestamp,
    ) -> Result<Sent, SendError> {
        let known = self.calls.get(&call).ok_or(SendError::Ended)?;
        let params = tagged(params.unwrap_or("{}"), &known.id);
        let stream = known.stream;
        self.enqueue(stream, &text::notification(method, params.as_deref()), Weight::Message, now)
    }

    /// Ends a subscription gracefully. One that is not known has ended.
    pub fn end_subscription(&mut self, subscription: CallId, now: Timestamp) {
        if self.subscriptions.remove(&subscription).is_none() {
            return;
        }
        let Some(call) = self.calls.get(&subscription) else {
            return;
        };
        let (id, stream) = (call.id.clone(), call.stream);
        let cancelled = tagged(&format!(r#"{{"requestId":{id}}}"#), &id);
        let cancelled = text::notification("notifications/cancelled", cancelled.as_deref());
        self.enqueue(stream, &cancelled, Weight::Answer, now).ok();
        let result = tagged(r#"{"resultType":"complete"}"#, &id).unwrap_or_default();
        let result = text::modern_result(&result, &self.config.server_info).unwrap_or(result);
        self.answer(subscription, text::result(&id, &result), 200, now).ok();
    }
}

/// The parameters, or the result, with the mark of the subscription it belongs to.
fn tagged(object: &str, id: &Id) -> Option<String> {
    text::with_meta(object, text::META_SUBSCRIPTION, &id.to_json())
}
