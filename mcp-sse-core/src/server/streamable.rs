//! The sessions of 2025-03-26 to 2025-11-25: `initialize`, the session's header, streams that can be resumed (S11).
//!
//! Rules: Streamable HTTP of these revisions. Every request but `initialize` names its session, by a header that is checked
//! first; an error of a request is an answer, and never a 404, which would say that the session is gone. A stream is replayed
//! to its own session, and only as far as nothing of it is missing.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::calling::Begun;
use super::output::{CancelReason, IncomingNotification, ReplyBody, ReplyHead, ServerEvent};
use super::params::{CallParams, Seen};
use super::refusal::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Refusal};
use super::session::Carriage;
use super::stream::{EventIds, Form, Purpose, Stream, parse_event_id};
use super::{CallId, ExchangeId, Server, SessionKey, StreamId, Then, admission, json_head, text};
use crate::http::{Era, HeaderValue, MCP_SESSION_ID, ProtocolVersion, RequestHead};
use crate::jsonrpc::{Id, Message, MessageKind, object_member, read_array, string};
use crate::time::Timestamp;

pub(super) const INITIALIZE: &str = "initialize";
const NO_SESSION: &str = "There is no such stream in this session";

impl Server {
    /// A message for the endpoint, of an earlier revision.
    pub(super) fn take_session_message(
        &mut self,
        id: ExchangeId,
        head: &RequestHead,
        message: Message,
        params: CallParams,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if !self.config.speaks(Era::Legacy) {
            return Err(Refusal::new(400, INVALID_REQUEST, "session_id is missing from the query"));
        }
        let is_request = message.kind() == MessageKind::Request;
        if is_request && message.method() == Some(INITIALIZE) && head.session_id().is_absent() {
            return self.initialize(id, head, &message, now);
        }
        let session = self.session_of_header(head)?;
        let version = self.check_version(head, session)?;
        self.touch_session(session, now);
        match message.kind() {
            MessageKind::Request => self.take_session_request(id, session, version, message, params, now),
            _ => {
                let then = self.take_one_way(id, session, version, message, now).map(Then::Tell);
                self.accept(id, then.into_iter().collect());
                Ok(())
            }
        }
    }

    fn initialize(
        &mut self,
        id: ExchangeId,
        head: &RequestHead,
        message: &Message,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let version = self.negotiate(message, |version| version.era() == Era::Legacy);
        let version = version.ok_or_else(|| Refusal::unsupported_version(&self.config.versions, ""))?;
        let id_of = message.id().unwrap_or(&Id::Null);
        self.check_capabilities(message).map_err(|refusal| refusal.with_id(id_of))?;
        let session = self.open_session(Carriage::Header, version, head.principal(), now)?;
        let result = self.initialized(session, version, message);
        let mut reply = json_head(200, result.into_bytes());
        if let Some(session) = self.sessions.get(&session) {
            reply.headers.to_mut().push((MCP_SESSION_ID, Cow::Owned(session.id.to_text())));
        }
        self.reply(id, reply);
        Ok(())
    }

    /// What is kept as long as a session must be small.
    pub(super) fn check_capabilities(&self, message: &Message) -> Result<(), Refusal> {
        let capabilities = message.params().and_then(|params| object_member(params, "capabilities"));
        if capabilities.is_some_and(|said| said.len() > self.config.limits.max_capabilities_bytes) {
            return Err(Refusal::new(400, INVALID_PARAMS, "The capabilities are too large"));
        }
        Ok(())
    }

    /// The revision that both sides have, or the newest of ours.
    pub(super) fn negotiate(
        &self,
        message: &Message,
        can: impl Fn(ProtocolVersion) -> bool,
    ) -> Option<ProtocolVersion> {
        let ours = || self.config.versions.iter().copied().filter(|version| can(*version));
        let asked = message.params().and_then(|params| object_member(params, "protocolVersion")).and_then(string);
        let asked = asked.and_then(|asked| asked.parse::<ProtocolVersion>().ok());
        ours().find(|version| Some(*version) == asked).or_else(|| ours().max())
    }

    /// A session has been initialized: the answer that says so.
    pub(super) fn initialized(&mut self, key: SessionKey, version: ProtocolVersion, message: &Message) -> String {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.version = version;
            session.is_initialized = true;
            let capabilities = message.params().and_then(|params| object_member(params, "capabilities"));
            session.capabilities = capabilities.unwrap_or_default().into();
        }
        let result = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{},"serverInfo":{}{}}}"#,
            self.config.capabilities,
            self.config.server_info,
            self.instructions()
        );
        text::result(message.id().unwrap_or(&Id::Null), &result)
    }

    fn check_version(&self, head: &RequestHead, session: SessionKey) -> Result<ProtocolVersion, Refusal> {
        let negotiated = self.sessions.get(&session).map_or(ProtocolVersion::V2025_03_26, |session| session.version);
        let is_known = match head.protocol_version() {
            HeaderValue::Absent => true,
            HeaderValue::One(stated) => stated.parse().is_ok_and(|version: ProtocolVersion| {
                version.era() == Era::Legacy && self.config.versions.contains(&version)
            }),
            HeaderValue::Unusable => false,
        };
        if is_known {
            Ok(negotiated)
        } else {
            Err(Refusal::new(400, INVALID_REQUEST, "The header MCP-Protocol-Version names no revision of this session"))
        }
    }

    fn take_session_request(
        &mut self,
        id: ExchangeId,
        session: SessionKey,
        version: ProtocolVersion,
        message: Message,
        params: CallParams,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if let Some(answer) = self.own_answer(session, &message) {
            self.reply(id, json_head(200, answer.into_bytes()));
            return Ok(());
        }
        let stream = self.add_session_stream(id, session, Purpose::Response, 1, now)?;
        let request =
            self.begin_call(Begun { exchange: id, stream, session: Some(session), version }, message, params, now);
        if self.config.always_streams {
            self.decide_events(stream, now);
        }
        self.tell(request);
        Ok(())
    }

    /// The answer to a request that the embedder has no part in.
    pub(super) fn own_answer(&self, session: SessionKey, message: &Message) -> Option<String> {
        let id = message.id().unwrap_or(&Id::Null);
        let refusal = |code, message| Some(Refusal::new(200, code, message).with_id(id).into_answer());
        match message.method().unwrap_or_default() {
            "ping" => Some(text::result(id, "{}")),
            INITIALIZE if self.sessions.get(&session).is_some_and(|session| session.is_initialized) => {
                refusal(INVALID_REQUEST, "The session is initialized already")
            }
            method if !admission::knows(method, &self.config) => refusal(METHOD_NOT_FOUND, "Method not found"),
            "resources/subscribe" if !self.can_watch(session, message) => {
                refusal(INVALID_PARAMS, "The session watches too many resources, or too long an address")
            }
            // Theirs are the revisions to come.
            "server/discover" | "subscriptions/listen" => refusal(METHOD_NOT_FOUND, "Method not found"),
            _ => None,
        }
    }

    /// A stream of a session, that can be resumed; room is made by forgetting one that is over.
    fn add_session_stream(
        &mut self,
        id: ExchangeId,
        key: SessionKey,
        purpose: Purpose,
        calls: usize,
        now: Timestamp,
    ) -> Result<StreamId, Refusal> {
        let limits = &self.config.limits;
        let (most_calls, most_streams) = (limits.max_calls_per_session, limits.max_streams_per_session);
        let session = self.sessions.get(&key).ok_or_else(super::session::unknown)?;
        if purpose == Purpose::Response && session.calls.len().saturating_add(calls) > most_calls {
            return Err(Refusal::unavailable("The session has too many requests under way"));
        }
        if session.streams.len() >= most_streams {
            let is_left =
                |id: &&StreamId| self.streams.get(id).is_none_or(|stream| stream.is_over && stream.exchange.is_none());
            let Some(left) = session.streams.values().find(is_left).copied() else {
                return Err(Refusal::unavailable("The session has too many streams"));
            };
            self.forget_stream(left);
        }
        let session = self.sessions.get_mut(&key).ok_or_else(super::session::unknown)?;
        session.last_stream += 1;
        let number = session.last_stream;
        let primes = session.version >= ProtocolVersion::V2025_11_25;
        let mut stream = Stream::new(purpose, id, Some(key));
        stream.ids = Some(EventIds { stream: number, last: 0, primes });
        if primes && purpose == Purpose::Listening {
            stream.prime(self.config.retry);
        }
        let name = self.add_stream(stream, now);
        if let Some(session) = self.sessions.get_mut(&key) {
            session.streams.insert(number, name);
        }
        Ok(name)
    }

    /// A notification, or an answer to a request of ours: what the embedder is told of it.
    pub(super) fn take_one_way(
        &mut self,
        exchange: ExchangeId,
        session: SessionKey,
        version: ProtocolVersion,
        message: Message,
        now: Timestamp,
    ) -> Option<ServerEvent> {
        if message.kind() != MessageKind::Notification {
            return self.take_reply(session, message);
        }
        if message.method() == Some("notifications/cancelled") {
            if let Some(call) = self.cancelled_call(session, &message) {
                self.cancel_call(call, CancelReason::Asked, now);
            }
            return None;
        }
        Some(ServerEvent::Notification(
            IncomingNotification { exchange, session: Some(session), version, message }.into(),
        ))
    }

    /// The call of this session that a cancellation names, by an id that is equal in type too.
    fn cancelled_call(&self, session: SessionKey, message: &Message) -> Option<CallId> {
        let id = Id::parse(object_member(message.params()?, "requestId")?)?;
        let calls = &self.sessions.get(&session)?.calls;
        calls.iter().find(|call| self.calls.get(call).is_some_and(|call| call.id == id)).copied()
    }

    /// An array of messages, which 2025-03-26 takes.
    pub(super) fn take_array(
        &mut self,
        id: ExchangeId,
        head: &RequestHead,
        array: &str,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        const NO_ARRAY: Refusal = Refusal::new(400, INVALID_REQUEST, "Arrays are not taken here");
        if !admission::is_earlier(head, &self.config) || head.session_id().is_absent() {
            // What is no JSON is told as such.
            return Err(read_array(array).map_or_else(|_| admission::parse_error(), |_| NO_ARRAY));
        }
        let session = self.session_of_header(head)?;
        let version = self.check_version(head, session)?;
        let elements = read_array(array).map_err(|_| admission::parse_error())?;
        if !version.allows_arrays() {
            return Err(NO_ARRAY);
        }
        let most = self.config.limits.max_array_messages;
        let mut messages = Vec::new();
        for element in elements {
            if messages.len() >= most {
                return Err(Refusal::new(400, INVALID_REQUEST, "The array has too many messages"));
            }
            match admission::of_message(element.as_bytes().to_vec())? {
                admission::Body::Message(message, seen) if message.method() != Some(INITIALIZE) => {
                    messages.push((message, seen));
                }
                _ => return Err(Refusal::new(400, INVALID_REQUEST, "The array holds what may not be in one")),
            }
        }
        if messages.is_empty() {
            return Err(Refusal::new(400, INVALID_REQUEST, "The array is empty"));
        }
        self.touch_session(session, now);
        self.take_messages(id, session, version, messages, now)
    }

    fn take_messages(
        &mut self,
        id: ExchangeId,
        session: SessionKey,
        version: ProtocolVersion,
        messages: Vec<(Message, Seen)>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let requests = messages.iter().filter(|(message, _)| message.kind() == MessageKind::Request).count();
        if requests == 0 {
            let mut then = Vec::new();
            for (message, _) in messages {
                then.extend(self.take_one_way(id, session, version, message, now).map(Then::Tell));
            }
            self.accept(id, then);
            return Ok(());
        }
        if self.is_closing {
            return Err(super::closing::refusal());
        }
        let stream = self.add_session_stream(id, session, Purpose::Response, requests, now)?;
        self.decide_events(stream, now);
        let mut own = Vec::new();
        for (message, seen) in messages {
            if message.kind() != MessageKind::Request {
                let event = self.take_one_way(id, session, version, message, now);
                self.events.extend(event);
                continue;
            }
            let answer = self.own_answer(session, &message);
            let params = seen.in_message(&message).kept;
            let begun = Begun { exchange: id, stream, session: Some(session), version };
            let request = self.begin_call(begun, message, params, now);
            match answer {
                Some(answer) => own.push((request.call, answer)),
                None => self.tell(request),
            }
        }
        // Only now: the stream is over with its last answer.
        for (call, answer) in own {
            self.answer(call, answer, 200, now).ok();
        }
        Ok(())
    }

    /// GET: the stream of a session, the rest of one of its streams, or the channel of 2024-11-05.
    pub(super) fn open_stream(&mut self, id: ExchangeId, head: &RequestHead, now: Timestamp) -> Result<(), Refusal> {
        if !self.config.speaks(Era::Legacy) || head.session_id().is_absent() && self.config.speaks(Era::HttpSse) {
            return self.open_channel(id, head, now);
        }
        let session = self.session_of_header(head)?;
        self.check_version(head, session)?;
        self.touch_session(session, now);
        match head.last_event_id() {
            HeaderValue::Absent => self.listen(id, session, now),
            last => {
                let resumed = last
                    .get()
                    .and_then(parse_event_id)
                    .is_some_and(|(stream, number)| self.resume(id, session, stream, number, now));
                if resumed { Ok(()) } else { Err(Refusal::new(400, INVALID_REQUEST, NO_SESSION)) }
            }
        }
    }

    fn listen(&mut self, id: ExchangeId, session: SessionKey, now: Timestamp) -> Result<(), Refusal> {
        let known = self.sessions.get(&session).and_then(|session| session.listening);
        if let Some(stream) = known {
            // One who comes again takes the place of whoever was there: it is the same client, whose connection may be lost
            // without our having heard of it.
            self.take_over(id, stream, now);
            self.prime_again(stream, now);
            return Ok(());
        }
        let stream = self.add_session_stream(id, session, Purpose::Listening, 0, now)?;
        if let Some(session) = self.sessions.get_mut(&session) {
            session.listening = Some(stream);
        }
        self.queued(stream, now);
        Ok(())
    }

    /// One who comes without an id gets one to come back with.
    fn prime_again(&mut self, name: StreamId, now: Timestamp) {
        let retry = self.config.retry;
        let primes = |stream: &&mut Stream| stream.ids.is_some_and(|ids| ids.primes) && !stream.queue.has_waiting();
        if let Some(stream) = self.streams.get_mut(&name).filter(primes) {
            stream.prime(retry);
            self.queued(name, now);
        }
    }

    /// Lets a stream of this session go on behind an event of its own. False if there is none, or something is missing.
    fn resume(&mut self, id: ExchangeId, session: SessionKey, number: u64, after: u64, now: Timestamp) -> bool {
        let Some(name) = self.sessions.get(&session).and_then(|session| session.streams.get(&number)).copied() else {
            return false;
        };
        let Some(stream) = self.streams.get_mut(&name).filter(|stream| stream.form == Form::Events) else {
            return false;
        };
        let last = stream.ids.map_or(0, |ids| ids.last);
        if !stream.queue.rewind(after, last) {
            return false;
        }
        self.take_over(id, name, now);
        true
    }

    fn take_over(&mut self, id: ExchangeId, name: StreamId, now: Timestamp) {
        let Some(stream) = self.streams.get_mut(&name) else {
            return;
        };
        let before = stream.exchange.replace(id);
        stream.closes = false;
        let has_waiting = stream.queue.has_waiting();
        if let Some(before) = before {
            self.abandon(before);
        }
        self.attached(name, Some(id), now);
        if has_waiting {
            self.queued(name, now);
        }
    }

    /// DELETE.
    pub(super) fn delete_session(&mut self, id: ExchangeId, head: &RequestHead, now: Timestamp) -> Result<(), Refusal> {
        let session = self.session_of_header(head)?;
        self.end_session(session, now);
        self.reply(id, ReplyHead { status: 204, headers: Cow::Borrowed(&[]), body: ReplyBody::Empty });
        Ok(())
    }
}
