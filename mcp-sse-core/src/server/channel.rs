//! The sessions of 2024-11-05: one stream for all that a client is told, and POSTs for what it says (S7).
//!
//! Rules: HTTP with SSE. The stream begins with where messages go, relative to where it was asked for, so that no mount and
//! no proxy is in the way. A POST is answered with 202 and an empty body before anybody hears of its message, so that no
//! answer comes before it; what answers a request comes on the stream and nowhere else. A POST whose answer would have no room
//! is refused instead. The end of the stream is the end of the session.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::calling::Begun;
use super::params::CallParams;
use super::queue::Weight;
use super::refusal::Refusal;
use super::session::{Carriage, unknown};
use super::stream::{Purpose, Stream};
use super::streamable::INITIALIZE;
use super::{ExchangeId, Server, StreamId, Then, admission};
use crate::http::{Era, ProtocolVersion, RequestHead};
use crate::jsonrpc::{Id, Message, MessageKind};
use crate::sse::{EventFields, SseEncoder};
use crate::time::Timestamp;

impl Server {
    pub(super) fn open_channel(
        &mut self,
        exchange: ExchangeId,
        head: &RequestHead,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let name = StreamId(self.last_stream + 1);
        let version = ProtocolVersion::V2024_11_05;
        let session = self.open_session(Carriage::Channel(name), version, head.principal(), now)?;
        let mut stream = Stream::new(Purpose::Channel, exchange, Some(session));
        let id = self.sessions.get(&session).map(|session| session.id.to_text()).unwrap_or_default();
        let path = self.config.message_path.as_deref().unwrap_or_default();
        let endpoint = format!("{path}?{}={id}", admission::SESSION_QUERY);
        let mut frame = Vec::new();
        // The event's name is a constant.
        SseEncoder::new(&mut frame).event(EventFields::default().with_kind("endpoint"), &endpoint).ok();
        stream.queue.push(frame, 0, Weight::Nothing);
        let stream = self.add_stream(stream, now);
        self.queued(stream, now);
        Ok(())
    }

    pub(super) fn take_channel_message(
        &mut self,
        id: ExchangeId,
        head: &RequestHead,
        message: Message,
        params: CallParams,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        // It may have ended while the body was read.
        let key = self.session_of_query(head.query(admission::SESSION_QUERY), head)?;
        let session = self.sessions.get(&key).ok_or_else(unknown)?;
        let Carriage::Channel(stream) = session.carriage else {
            return Err(unknown());
        };
        let version = session.version;
        if message.kind() != MessageKind::Request {
            let then = self.take_one_way(id, key, version, message, now).map(Then::Tell);
            self.accept(id, then.into_iter().collect());
            return Ok(());
        }
        let calls = session.calls.len();
        self.has_room(stream, calls)?;
        let own = match self.own_answer(key, &message) {
            None if message.method() == Some(INITIALIZE) => {
                let version = self.negotiate(&message, |version| version.era() != Era::Modern);
                Some(match self.check_capabilities(&message) {
                    Ok(()) => self.initialized(key, version.unwrap_or(ProtocolVersion::V2024_11_05), &message),
                    Err(refusal) => refusal.with_id(message.id().unwrap_or(&Id::Null)).into_answer(),
                })
            }
            own => own,
        };
        let begun = Begun { exchange: id, stream, session: Some(key), version };
        let request = self.begin_call(begun, message, params, now);
        let then = match own {
            Some(answer) => Then::Answer(request.call, answer),
            None => Then::Request(request.into()),
        };
        self.accept(id, vec![then]);
        Ok(())
    }

    /// Whether one more answer has a place on a channel.
    fn has_room(&self, stream: StreamId, calls: usize) -> Result<(), Refusal> {
        let limits = &self.config.limits;
        let waiting = self.streams.get(&stream).map_or(usize::MAX, |stream| stream.queue.waiting_messages());
        if calls >= limits.max_calls_per_session || waiting.saturating_add(calls) >= limits.max_queue_messages {
            return Err(Refusal::unavailable("The session has too many requests under way"));
        }
        Ok(())
    }
}
