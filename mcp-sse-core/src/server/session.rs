//! The sessions of the earlier revisions, and how they are found (S7, S9, S11).
//!
//! Rules: an id is 192 bits that the adapter drew from the system's random source. A third of it finds the session, the rest
//! is compared in constant time, so that no time tells how much of a guess was right. A session belongs to whoever opened it;
//! to others it does not exist. Sessions share nothing. What is said in one is decided next door.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use subtle::ConstantTimeEq;

use super::output::{CancelReason, ServerEvent};
use super::refusal::Refusal;
use super::timers::Timer;
use super::{AskId, CallId, Server, SessionKey, StreamId};
use crate::http::{HeaderValue, ProtocolVersion, RequestHead};
use crate::time::Timestamp;

/// The id of a session, as good as a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionId {
    finder: [u8; 8],
    proof: [u8; 16],
}

impl SessionId {
    pub(super) const BYTES: usize = 24;

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (finder, rest) = bytes.split_first_chunk()?;
        let (proof, _) = rest.split_first_chunk()?;
        Some(Self { finder: *finder, proof: *proof })
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() != 2 * Self::BYTES {
            return None;
        }
        let mut bytes = [0; Self::BYTES];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let pair = core::str::from_utf8(pair).ok().filter(|pair| !pair.contains(|c: char| !is_lower_hex(c)))?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Self::from_bytes(&bytes)
    }

    pub(super) fn to_text(self) -> String {
        let mut text = String::with_capacity(2 * Self::BYTES);
        for byte in self.finder.iter().chain(&self.proof) {
            // A string takes all.
            write!(text, "{byte:02x}").ok();
        }
        text
    }
}

const fn is_lower_hex(character: char) -> bool {
    matches!(character, '0'..='9' | 'a'..='f')
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

/// How a session is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carriage {
    /// 2024-11-05: everything to the client comes on this stream.
    Channel(StreamId),
    /// 2025-03-26 to 2025-11-25: a header names it.
    Header,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    principal: Option<String>,
    pub(super) carriage: Carriage,
    /// What was negotiated; the oldest of its carriage before that.
    pub(super) version: ProtocolVersion,
    pub(super) is_initialized: bool,
    pub(super) capabilities: String,
    /// Those that can be resumed, by their numbers.
    pub(super) streams: BTreeMap<u64, StreamId>,
    pub(super) last_stream: u64,
    pub(super) listening: Option<StreamId>,
    pub(super) calls: BTreeSet<CallId>,
    pub(super) asks: BTreeSet<AskId>,
    /// Resources whose changes it asked for (`resources/subscribe`).
    pub(super) resources: BTreeSet<String>,
}

/// The sessions' own table.
#[derive(Debug, Default)]
pub(super) struct Finder {
    by_finder: BTreeMap<[u8; 8], SessionKey>,
}

impl Server {
    /// Opens a session with a fresh id.
    pub(super) fn open_session(
        &mut self,
        carriage: Carriage,
        version: ProtocolVersion,
        principal: Option<&str>,
        now: Timestamp,
    ) -> Result<SessionKey, Refusal> {
        const LATER: &str = "No session can be opened now";
        if self.sessions.len() >= self.config.limits.max_sessions {
            return Err(Refusal::unavailable(LATER));
        }
        // Bytes are used once, or two sessions could share a part of their ids.
        let rest = self.entropy.len().checked_sub(SessionId::BYTES).ok_or_else(|| Refusal::unavailable(LATER))?;
        let bytes = self.entropy.split_off(rest);
        let id = SessionId::from_bytes(&bytes).ok_or_else(|| Refusal::unavailable(LATER))?;
        if self.finder.by_finder.contains_key(&id.finder) {
            return Err(Refusal::unavailable(LATER));
        }
        self.last_session += 1;
        let key = SessionKey(self.last_session);
        self.finder.by_finder.insert(id.finder, key);
        let session = Session {
            id,
            principal: principal.map(str::to_owned),
            carriage,
            version,
            is_initialized: false,
            capabilities: String::new(),
            streams: BTreeMap::new(),
            last_stream: 0,
            listening: None,
            calls: BTreeSet::new(),
            asks: BTreeSet::new(),
            resources: BTreeSet::new(),
        };
        self.sessions.insert(key, session);
        self.touch_session(key, now);
        self.events.push_back(ServerEvent::SessionOpened { session: key });
        Ok(key)
    }

    /// The session that a header names, if it is one of those and the sender's own.
    pub(super) fn session_of_header(&self, head: &RequestHead) -> Result<SessionKey, Refusal> {
        match head.session_id() {
            HeaderValue::Absent => Err(Refusal::new(400, INVALID, "The header Mcp-Session-Id is missing")),
            HeaderValue::Unusable => Err(unknown()),
            HeaderValue::One(id) => self.find_session(id, head, false).ok_or_else(unknown),
        }
    }

    /// The session that a query names, likewise.
    pub(super) fn session_of_query(&self, id: Option<&str>, head: &RequestHead) -> Result<SessionKey, Refusal> {
        match id {
            None => Err(Refusal::new(400, INVALID, "session_id is missing from the query")),
            Some(id) => self.find_session(id, head, true).ok_or_else(unknown),
        }
    }

    fn find_session(&self, id: &str, head: &RequestHead, is_channel: bool) -> Option<SessionKey> {
        let id = SessionId::parse(id)?;
        let key = *self.finder.by_finder.get(&id.finder)?;
        let session = self.sessions.get(&key)?;
        let is_same = bool::from(session.id.proof.ct_eq(&id.proof));
        let is_theirs = session.principal.as_deref() == head.principal();
        let is_kind = matches!(session.carriage, Carriage::Channel(_)) == is_channel;
        (is_same && is_theirs && is_kind).then_some(key)
    }

    /// A session is in use.
    pub(super) fn touch_session(&mut self, key: SessionKey, now: Timestamp) {
        self.timers.set(Timer::Session(key), now.saturating_add(self.config.limits.session_timeout));
    }

    /// A session has not been used for a while: if nothing of it is under way, it has been left.
    pub(super) fn session_timed_out(&mut self, key: SessionKey, now: Timestamp) {
        let Some(session) = self.sessions.get(&key) else {
            return;
        };
        let mut streams = session.streams.values().chain(&session.listening);
        let is_read = streams.any(|id| self.streams.get(id).is_some_and(|stream| stream.exchange.is_some()));
        if is_read || !session.calls.is_empty() || matches!(session.carriage, Carriage::Channel(_)) {
            self.touch_session(key, now);
        } else {
            self.end_session(key, now);
        }
    }

    /// Ends a session: its calls are cancelled, its streams end once what waits on them is written.
    pub fn end_session(&mut self, session: SessionKey, now: Timestamp) {
        let Some(ended) = self.sessions.remove(&session) else {
            return;
        };
        self.finder.by_finder.remove(&ended.id.finder);
        self.timers.clear(Timer::Session(session));
        for ask in ended.asks {
            self.fail_ask(ask);
        }
        for call in ended.calls {
            self.cancel_call(call, CancelReason::SessionEnded, now);
        }
        let mut streams: Vec<StreamId> = ended.streams.into_values().chain(ended.listening).collect();
        if let Carriage::Channel(stream) = ended.carriage {
            streams.push(stream);
        }
        for stream in streams {
            self.finish(stream, now);
        }
        self.events.push_back(ServerEvent::SessionEnded { session });
    }
}

const INVALID: i64 = super::refusal::INVALID_REQUEST;

/// No word on whether there ever was such a session, or whose it is.
pub(super) fn unknown() -> Refusal {
    Refusal::new(404, INVALID, "Session not found")
}
