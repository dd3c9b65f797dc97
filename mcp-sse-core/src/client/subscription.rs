//! What comes on the stream of a `subscriptions/listen` request, and when to open it again (F10).
//!
//! Rules: subscriptions and cancellation, 2026-07-28. The acknowledgment comes first; every message bears the id of the
//! request; a result, or `notifications/cancelled` that names the request, ends it gracefully. Does not belong here:
//! whether a stream is open, sending, waiting.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::jsonrpc::{Id, Message, MessageKind, object_member, object_members, read_array, string};
use crate::legacy::Reconnect;

/// The request that opens a stream of notifications.
pub const LISTEN: &str = "subscriptions/listen";

/// The notification that opens the stream's part of the server.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The notification by which a server may end a stream.
pub const CANCELLED: &str = "notifications/cancelled";

/// The member of `_meta` that names the request whose stream a message belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// What a message on a stream is to the subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The acknowledgment: [`honoured`] tells of what.
    Acknowledgment,
    /// A notification.
    Notification,
    /// The graceful end, by a result or by a cancellation that names the request.
    End,
    /// An error in answer to the request: it was refused, or ended badly.
    Refusal,
    /// It belongs to another subscription, or to none: a request, an answer to another request, a cancellation of another.
    Foreign,
}

/// Tells what a message on the stream of the request `id` is.
///
/// A notification without the tag counts as the stream's own, for over HTTP each request has its stream; [`tag`] tells
/// whether it was there. An id that only [`spells`](Id::spells) ours counts as ours (E15): a client has no two ids that
/// differ in nothing else.
///
/// ```
/// use mcp_sse_core::client::subscription::{Part, part};
/// use mcp_sse_core::jsonrpc::{Id, Message};
///
/// let message = Message::from_text(String::from(
///     r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed",
///         "params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#,
/// ))?;
/// assert_eq!(part(&message, &Id::from(7)), Part::Notification);
/// assert_eq!(part(&message, &Id::from(8)), Part::Foreign);
/// # Ok::<(), mcp_sse_core::jsonrpc::RejectedText>(())
/// ```
#[must_use]
pub fn part(message: &Message, id: &Id) -> Part {
    match message.kind() {
        MessageKind::Result if message.id().is_some_and(|theirs| is_same(theirs, id)) => Part::End,
        MessageKind::Error if message.id().is_some_and(|theirs| is_same(theirs, id)) => Part::Refusal,
        MessageKind::Notification => {
            let params = message.params().unwrap_or_default();
            match message.method() {
                // The tag cannot make it ours: it is the named request that ends.
                Some(CANCELLED) if cancels(params, id) => Part::End,
                Some(CANCELLED) => Part::Foreign,
                _ if tag(params, id) == Tag::Other => Part::Foreign,
                Some(ACKNOWLEDGED) => Part::Acknowledgment,
                _ => Part::Notification,
            }
        }
        _ => Part::Foreign,
    }
}

/// Whose stream a message says it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Tag {
    /// Ours.
    Ours,
    /// That of another request, or what stands there is no id.
    Other,
    /// It says nothing, which it must ("all notifications delivered on the stream carry" it).
    Missing,
}

/// Reads the subscription's id in `_meta` of a notification's parameters, or of a result, and compares it with ours.
#[must_use]
pub fn tag(params: &str, id: &Id) -> Tag {
    match object_member(params, "_meta").and_then(|meta| object_member(meta, SUBSCRIPTION_ID)) {
        None => Tag::Missing,
        Some(raw) if Id::parse(raw).is_some_and(|theirs| is_same(&theirs, id)) => Tag::Ours,
        Some(_) => Tag::Other,
    }
}

fn cancels(params: &str, id: &Id) -> bool {
    object_member(params, "requestId").and_then(Id::parse).is_some_and(|theirs| is_same(&theirs, id))
}

fn is_same(theirs: &Id, ours: &Id) -> bool {
    theirs == ours || theirs.spells(ours)
}

/// How much of what was asked for the server agreed to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Honoured {
    /// All of it.
    All,
    /// Not all of it: this is missing, in the order it was asked for.
    Partly(Vec<Missing>),
}

/// A part of the filter that the server does not honour, in the words of who asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The filter's member, such as `toolsListChanged`.
    pub member: String,
    /// Of a list (`resourceSubscriptions`), the elements that are missing; empty for any other member.
    pub elements: Vec<String>,
}

/// Compares the filter in the acknowledgment's parameters with that in the request's ("The client SHOULD check the
/// acknowledged filter against what it requested").
///
/// A member asked with `true` must be `true`; of a list each string must be there; `false` and null ask for nothing; any
/// other value, of a member that an extension brings, must be answered by a member of that name. What the server adds is
/// not asked here. An acknowledgment without a filter honours nothing.
///
/// ```
/// use mcp_sse_core::client::subscription::{Honoured, honoured};
///
/// let asked = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a","file:///b"]}}"#;
/// let told = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}}"#;
/// let Honoured::Partly(missing) = honoured(asked, told) else { panic!("not all") };
/// assert_eq!((&*missing[0].member, &*missing[0].elements), ("resourceSubscriptions", &["file:///b".to_owned()][..]));
/// ```
#[must_use]
pub fn honoured(asked_params: &str, acknowledged_params: &str) -> Honoured {
    let filter = |params| object_member(params, "notifications").unwrap_or_default();
    let acknowledged = object_members(filter(acknowledged_params)).unwrap_or_default();
    let mut missing = Vec::new();
    for (raw_key, asked) in object_members(filter(asked_params)).unwrap_or_default() {
        let member = string(raw_key).unwrap_or_default();
        let told = acknowledged.iter().find(|(key, _)| string(key).is_some_and(|key| key == member));
        let told = told.map(|(_, value)| *value);
        let (is_honoured, elements) = match (read_array(asked), asked) {
            (Ok(asked), _) => {
                let told: BTreeSet<Cow<'_, str>> = strings(told.unwrap_or_default()).collect();
                let elements: Vec<String> =
                    asked.filter_map(string).filter(|uri| !told.contains(uri)).map(Cow::into_owned).collect();
                (elements.is_empty(), elements)
            }
            (_, "false" | "null") => (true, Vec::new()),
            (_, "true") => (told == Some("true"), Vec::new()),
            _ => (told.is_some_and(|told| !matches!(told, "false" | "null")), Vec::new()),
        };
        if !is_honoured {
            missing.push(Missing { member: member.into_owned(), elements });
        }
    }
    if missing.is_empty() { Honoured::All } else { Honoured::Partly(missing) }
}

fn strings(array: &str) -> impl Iterator<Item = Cow<'_, str>> {
    read_array(array).into_iter().flatten().filter_map(string)
}

/// The wait before the first re-opening, without jitter.
pub const FIRST_WAIT: Duration = Reconnect::SUBSCRIPTION.first;

/// The longest wait: a server that comes back is heard again within half a minute, and one that does not is asked twice a
/// minute.
pub const LONGEST_WAIT: Duration = Reconnect::SUBSCRIPTION.most;

/// How long to wait before a lost stream is opened again, after so many losses or failed openings in a row.
///
/// Nothing after none; then between half and all of 1 s, 2 s, 4 s, up to 30 s, so that clients which lost one server at
/// the same time do not come back at the same time. The place between half and all follows from the seed and the number
/// alone: the core has no source of chance, so the seed is the embedder's, and should differ from client to client.
///
/// ```
/// use core::time::Duration;
/// use mcp_sse_core::client::subscription::reopen_wait;
///
/// let wait = reopen_wait(3, 42);
/// assert!(wait >= Duration::from_secs(2) && wait <= Duration::from_secs(4));
/// assert_eq!(wait, reopen_wait(3, 42));
/// ```
#[must_use]
pub fn reopen_wait(failures: u32, seed: u64) -> Duration {
    match failures.checked_sub(1) {
        Some(earlier) => Reconnect::SUBSCRIPTION.wait(earlier, seed),
        None => Duration::ZERO,
    }
}
