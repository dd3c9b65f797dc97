//! What is written to each exchange, and what it means that its reader is gone.
//!
//! Rules: what is given out is given out once, in order; an exchange whose end was given out is forgotten. A slow reader
//! pulls, so that what waits for it stays here, within its bounds.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use super::output::{CancelReason, Output, ServerEvent};
use super::stream::{Form, Purpose, stream_head};
use super::timers::Timer;
use super::{Exchange, ExchangeId, Server, State, StreamId, json_head};
use crate::time::Timestamp;

/// Places for events that are kept when there are none.
const KEPT_EVENTS: usize = 256;

impl Server {
    // Outputs.

    /// What is to be written to an exchange next; bytes are put at the end of `out`. Ask when the last has been written,
    /// never to store: what waits here is bounded, and its reader's slowness is told to who writes to it.
    #[must_use = "what is given out is given out once"]
    pub fn poll_output(&mut self, id: ExchangeId, out: &mut Vec<u8>, now: Timestamp) -> Output {
        self.wakes.remove(&id);
        let Some(exchange) = self.exchanges.get_mut(&id) else {
            return Output::Cut;
        };
        match &mut exchange.state {
            State::Reading(_) => Output::Wait,
            State::Cut => {
                self.exchanges.remove(&id);
                Output::Cut
            }
            State::Reply(_) => match self.exchanges.remove(&id) {
                Some(Exchange { state: State::Reply(head), then }) => {
                    self.follow(then, now);
                    Output::Head(head)
                }
                _ => Output::Cut,
            },
            State::Attached { stream, is_head_taken } => {
                let (name, was_taken) = (*stream, *is_head_taken);
                let Some(stream) = self.streams.get_mut(&name) else {
                    self.exchanges.remove(&id);
                    return Output::Cut;
                };
                match &mut stream.form {
                    Form::Undecided => Output::Wait,
                    Form::Json(status, body) => {
                        let head = json_head(*status, mem::take(body));
                        self.exchanges.remove(&id);
                        self.forget_stream(name);
                        Output::Head(head)
                    }
                    Form::Events if !was_taken => {
                        *is_head_taken = true;
                        if !stream.queue.has_waiting() {
                            self.timers.clear(Timer::Stall(name));
                        }
                        Output::Head(stream_head())
                    }
                    Form::Events => self.poll_stream(id, name, out, now),
                }
            }
        }
    }

    fn poll_stream(&mut self, id: ExchangeId, name: StreamId, out: &mut Vec<u8>, now: Timestamp) -> Output {
        let Some(stream) = self.streams.get_mut(&name) else {
            return Output::Cut;
        };
        if stream.queue.has_waiting() {
            stream.queue.take(out, stream.ids.is_some(), &self.config.limits);
            self.timers.clear(Timer::Stall(name));
            self.restart_keep_alive(name, now);
            return Output::Bytes;
        }
        if !(stream.is_over || stream.closes) {
            return Output::Wait;
        }
        stream.exchange = None;
        stream.closes = false;
        self.exchanges.remove(&id);
        self.timers.clear(Timer::KeepAlive(name));
        let is_kept = self.is_kept(name);
        self.keep_or_forget(name, is_kept, now);
        Output::End
    }

    /// An exchange that has something to be written since it was last asked, other than by facts about itself. Ask after
    /// each input and command, until there is none, and have each asked by [`poll_output`](Self::poll_output).
    #[must_use = "an exchange that is not woken waits for ever"]
    pub fn poll_wake(&mut self) -> Option<ExchangeId> {
        self.wakes.pop_first()
    }

    /// What the embedder is to be told next. Ask after each input and each output, until there is none.
    #[must_use = "an event that is dropped is never told"]
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        let event = self.events.pop_front();
        if self.events.is_empty() && self.events.capacity() > KEPT_EVENTS {
            // A crowd that left at once leaves no room behind.
            self.events = VecDeque::new();
        }
        event
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    // Inside.

    /// The reader of a stream is gone: what that means is the revision's to say (S4).
    pub(super) fn lost_reader(&mut self, id: StreamId, now: Timestamp) {
        self.timers.clear(Timer::KeepAlive(id));
        self.timers.clear(Timer::Stall(id));
        let is_kept = self.is_kept(id);
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        stream.exchange = None;
        stream.closes = false;
        match (stream.purpose, stream.session) {
            (Purpose::Channel, Some(session)) => {
                self.end_session(session, now);
                self.forget_stream(id);
            }
            (Purpose::Response, Some(_)) => {
                // No disconnect cancels here. Without an id the client cannot come back, so the answer will go nowhere.
                if stream.open_calls.is_empty() {
                    self.keep_or_forget(id, is_kept, now);
                }
            }
            (Purpose::Listening, Some(_)) if is_kept => {}
            _ => {
                for call in stream.open_calls.take() {
                    if self.subscriptions.remove(&call).is_some() {
                        self.forget_call(call);
                    } else {
                        self.cancel_call(call, CancelReason::Gone, now);
                    }
                }
                self.forget_stream(id);
            }
        }
    }
}
