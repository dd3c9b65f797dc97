//! What clients are told outside of their requests: one session, all of them, or all who asked to hear of a change (S8).
//!
//! Rules: one who is closed or full never stops the others; the sender learns of each what became of its message.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::calling::is_object;
use super::output::{Delivery, Recipient, SendError, Sent};
use super::queue::Weight;
use super::session::Carriage;
use super::{Server, SessionKey, StreamId, text};
use crate::jsonrpc::{Message, object_member};
use crate::time::Timestamp;

/// A change that clients may want to know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change<'a> {
    /// Of the list of tools.
    ToolsList,
    /// Of the list of prompts.
    PromptsList,
    /// Of the list of resources.
    ResourcesList,
    /// Of one resource.
    #[non_exhaustive]
    Resource {
        /// Which.
        uri: &'a str,
    },
}

impl<'a> Change<'a> {
    /// A change of one resource.
    #[must_use]
    pub const fn resource(uri: &'a str) -> Self {
        Self::Resource { uri }
    }

    pub(super) const fn method(&self) -> &'static str {
        match self {
            Self::ToolsList => "notifications/tools/list_changed",
            Self::PromptsList => "notifications/prompts/list_changed",
            Self::ResourcesList => "notifications/resources/list_changed",
            Self::Resource { .. } => "notifications/resources/updated",
        }
    }

    pub(super) fn params(&self) -> Option<String> {
        match self {
            Self::Resource { uri } => Some(format!(r#"{{"uri":{}}}"#, text::json_string(uri))),
            _ => None,
        }
    }
}

impl Server {
    /// Sends a notification to one session, on the stream for what belongs to no request.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn send(
        &mut self,
        session: SessionKey,
        method: &str,
        params: Option<&str>,
        now: Timestamp,
    ) -> Result<Sent, SendError> {
        params.map_or(Ok(()), is_object)?;
        let stream = self.stream_of_session(session)?;
        self.enqueue(stream, &text::notification(method, params), Weight::Message, now)
    }

    /// Sends a notification to all sessions of the earlier revisions, and tells of each what became of it.
    pub fn broadcast(&mut self, method: &str, params: Option<&str>, now: Timestamp) -> Vec<Delivery> {
        let sessions: Vec<SessionKey> = self.sessions.keys().copied().collect();
        self.tell_sessions(sessions, method, params, now)
    }

    /// Tells of a change everyone who wants to know: subscriptions that named it, and sessions of the earlier revisions,
    /// which hear of lists always and of resources that they subscribed to.
    pub fn publish(&mut self, change: Change<'_>, now: Timestamp) -> Vec<Delivery> {
        let mut told = self.tell_subscriptions(&change, now);
        let wants = |session: &super::Session| match change {
            Change::Resource { uri } => session.resources.contains(uri),
            _ => session.is_initialized,
        };
        let sessions = self.sessions.iter().filter(|(_, session)| wants(session)).map(|(key, _)| *key).collect();
        told.extend(self.tell_sessions(sessions, change.method(), change.params().as_deref(), now));
        told
    }

    fn tell_sessions(
        &mut self,
        sessions: Vec<SessionKey>,
        method: &str,
        params: Option<&str>,
        now: Timestamp,
    ) -> Vec<Delivery> {
        let checked = params.map_or(Ok(()), is_object);
        let message = text::notification(method, params);
        let told = sessions.into_iter().map(|session| {
            let stream = checked.and_then(|()| self.stream_of_session(session));
            let outcome = stream.and_then(|stream| self.enqueue(stream, &message, Weight::Message, now));
            Delivery { to: Recipient::Session(session), outcome }
        });
        told.collect()
    }

    pub(super) fn stream_of_session(&self, session: SessionKey) -> Result<StreamId, SendError> {
        let session = self.sessions.get(&session).ok_or(SendError::Ended)?;
        match session.carriage {
            Carriage::Channel(stream) => Ok(stream),
            Carriage::Header => session.listening.ok_or(SendError::NoReader),
        }
    }

    /// Whether a session may watch what this request asks it to be told of.
    pub(super) fn can_watch(&self, session: SessionKey, message: &Message) -> bool {
        let limits = &self.config.limits;
        let uri = message.params().and_then(|params| object_member(params, "uri"));
        let watched = self.sessions.get(&session).map_or(0, |session| session.resources.len());
        uri.is_none_or(|uri| uri.len() <= limits.max_uri_bytes) && watched < limits.max_subscribed_resources
    }

    pub(super) fn watch(&mut self, session: SessionKey, begins: bool, uri: String) {
        let most = self.config.limits.max_subscribed_resources;
        if let Some(session) = self.sessions.get_mut(&session) {
            if !begins {
                session.resources.remove(&uri);
            } else if session.resources.len() < most {
                session.resources.insert(uri);
            }
        }
    }
}
