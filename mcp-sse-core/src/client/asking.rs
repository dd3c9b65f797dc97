//! The server's requests, and the answers to them (F15, E22).
//!
//! Rules: only the eras before 2026-07-28 have them; `ping` is answered here, and so is a method that nobody handles; of
//! the others, the embedder is told. No more are under way than the client's bound, and what is refused is counted.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::Client;
use super::call::Kind;
use super::http_request::{Outgoing, json_string};
use super::outcome::{CallEvent, CallId, Step};
use super::policy::CallOptions;
use crate::http::Era;
use crate::jsonrpc::{self, Completeness, Id, Message};
use crate::time::Timestamp;

/// JSON-RPC: no such method.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the request was right, and there is no answer all the same.
const INTERNAL_ERROR: i64 = -32603;

/// A JSON-RPC error as the answer to a request of the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorReply {
    /// The code.
    pub code: i64,
    /// The message, for people.
    pub message: String,
}

impl ErrorReply {
    /// An error of this code.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The error of an answer that could not be made, such as by a handler that panicked: -32603.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(INTERNAL_ERROR, "Internal error")
    }
}

/// A request of the server's, held by whoever works on its answer. Dropped without one, as when a handler panics, it is
/// answered with an internal error (F15).
///
/// ```
/// use mcp_sse_core::client::{Asked, ErrorReply};
/// use mcp_sse_core::jsonrpc::Id;
///
/// let mut told = Vec::new();
/// let mut respond = |id: &Id, answer: Result<&str, ErrorReply>| {
///     told.push((id.to_json(), answer.is_ok()));
///     Ok(())
/// };
/// Asked::new(Id::from(7), &mut respond).answer(Ok("{}".to_owned()));
/// drop(Asked::new(Id::from(8), &mut respond));
/// assert_eq!(told, [("7".to_owned(), true), ("8".to_owned(), false)]);
/// ```
#[must_use = "dropping it answers with an error"]
pub struct Asked<F: FnMut(&Id, Result<&str, ErrorReply>) -> Result<(), RespondError>> {
    id: Id,
    answer: Option<Result<String, ErrorReply>>,
    respond: F,
}

impl<F: FnMut(&Id, Result<&str, ErrorReply>) -> Result<(), RespondError>> Asked<F> {
    /// A request of this id. `respond` is given the answer, and calls [`Client::respond`].
    pub const fn new(id: Id, respond: F) -> Self {
        Self { id, answer: None, respond }
    }

    /// Answers it: the result as JSON text, or an error.
    pub fn answer(mut self, answer: Result<String, ErrorReply>) {
        self.answer = Some(answer);
    }
}

impl<F: FnMut(&Id, Result<&str, ErrorReply>) -> Result<(), RespondError>> Drop for Asked<F> {
    fn drop(&mut self) {
        let answer = self.answer.take().unwrap_or_else(|| Err(ErrorReply::internal()));
        // The call may be over; then nobody waits for an answer any more.
        (self.respond)(&self.id, answer.as_deref().map_err(Clone::clone)).ok();
    }
}

impl<F: FnMut(&Id, Result<&str, ErrorReply>) -> Result<(), RespondError>> fmt::Debug for Asked<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").finish_non_exhaustive()
    }
}

/// Why a request of the server's cannot be answered. Nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RespondError {
    /// Caller: no such request waits for an answer on this call; it may have been answered before, or the call is over.
    #[error("no such request waits for an answer")]
    NotAsked,
    /// Caller: the result is no JSON text.
    #[error("the result is not JSON")]
    InvalidJson,
}

impl Client {
    /// Answers a request of the server's that came on `call` and awaits a reply ([`CallEvent::Request`]). The answer is
    /// a POST of its own, in the background of that call.
    ///
    /// # Errors
    /// [`RespondError`]; nothing was sent.
    pub fn respond(
        &mut self,
        call: CallId,
        request: &Id,
        answer: Result<&str, ErrorReply>,
        now: Timestamp,
    ) -> Result<(), RespondError> {
        if answer.as_ref().is_ok_and(|result| jsonrpc::check(result) != Completeness::Whole) {
            return Err(RespondError::InvalidJson);
        }
        let asked = self.calls.get_mut(&call).map(|call| &mut call.asked).ok_or(RespondError::NotAsked)?;
        let at = asked.iter().position(|id| id == request).ok_or(RespondError::NotAsked)?;
        asked.remove(at);
        self.note_respond(call, request, answer.as_ref(), now);
        self.send_response(call, request, answer, now);
        Ok(())
    }

    /// A request of the server's, on the stream of `id`.
    pub(super) fn on_request(
        &mut self,
        id: CallId,
        attempt: u32,
        message: Message,
        is_violation: bool,
        now: Timestamp,
    ) {
        let (Some(request), false) = (message.id().cloned(), is_violation) else {
            return self.tell(id, CallEvent::Request { attempt, message, is_violation, awaits_reply: false });
        };
        let is_handled = message.method().is_some_and(|method| self.config.handled_requests.contains(method));
        let has_room = self.answers_in_flight() < self.config.max_answers_in_flight;
        if !has_room {
            self.refused_requests += 1;
        } else if is_handled {
            if let Some(call) = self.calls.get_mut(&id) {
                call.asked.push(request);
            }
        } else if message.method() == Some("ping") {
            self.send_response(id, &request, Ok("{}"), now);
        } else {
            self.send_response(id, &request, Err(ErrorReply::new(METHOD_NOT_FOUND, "Method not found")), now);
        }
        let awaits_reply = is_handled && has_room;
        let event = CallEvent::Request { attempt, message, is_violation, awaits_reply };
        // Also on a stream that is the client's own: whoever drives it has the handlers.
        if awaits_reply {
            self.push(id, Step::Event(id, event));
        } else {
            self.tell(id, event);
        }
    }

    /// Requests that wait for the embedder, and answers that are being sent.
    fn answers_in_flight(&self) -> usize {
        let asked: usize = self.calls.values().map(|call| call.asked.len()).sum();
        asked + self.calls.values().filter(|call| call.kind == Kind::Response).count()
    }

    fn send_response(&mut self, owner: CallId, request: &Id, answer: Result<&str, ErrorReply>, now: Timestamp) {
        let member = match answer {
            Ok(result) => format!(r#""result":{result}"#),
            Err(error) => {
                let message = json_string(&error.message);
                format!(r#""error":{{"code":{},"message":{message}}}"#, error.code)
            }
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},{member}}}"#, request.to_json());
        let options = CallOptions::default().with_timeout(self.config.handshake_timeout);
        let response = self.enqueue(Kind::Response, Outgoing::response(body), options, now);
        // It belongs to the session that it was asked in; on a channel, to the place where messages are posted.
        let route = self.calls.get(&owner).and_then(|call| call.route.clone()).filter(|route| route.era == Era::Legacy);
        if let Some(response) = self.calls.get_mut(&response) {
            response.route = route;
        }
        self.push(owner, Step::Background(owner, response));
    }
}
