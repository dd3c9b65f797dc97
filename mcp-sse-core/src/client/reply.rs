//! What a caller gets from an adapter: a reply, or an error that says how to go on.
//!
//! Rules: the same types for every adapter, so that a program can change its adapter and nothing else. A
//! JSON-RPC error is a reply: the server answered.

use alloc::boxed::Box;
use alloc::string::String;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::asking::ErrorReply;
use super::http_request::RequestError;
use super::outcome::{CallEvent, Done, Outcome};
use crate::exchange::{Answer, Damage, Exposure, Failure, FailureKind};
use crate::http::RetryAfter;
use crate::jsonrpc::{ErrorObject, Message, ParseError};

/// The answer to a call, and what it took to get it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The answer.
    pub answer: Box<Answer>,
    /// The attempt it came on, counted from one.
    pub attempts: u32,
    /// What was damaged, if the answer was found in what a break, a cut or a stall left.
    pub damage: Option<Damage>,
    /// Whether an attempt before the answered one may have run: then the call may have run twice (F14).
    pub earlier_may_have_run: bool,
}

impl Reply {
    /// The reply in a call's event, if it is one; else the event.
    ///
    /// # Errors
    /// The event, if it is no answer.
    pub fn from_event(event: CallEvent) -> Result<Self, CallEvent> {
        match event {
            CallEvent::Answer { attempt, answer, damage, earlier_may_have_run } => {
                Ok(Self { answer, attempts: attempt, damage, earlier_may_have_run })
            }
            event => Err(event),
        }
    }

    /// The JSON-RPC response.
    #[must_use]
    pub const fn message(&self) -> &Message {
        &self.answer.message
    }

    /// The result as raw JSON text; the error if the server answered with one.
    ///
    /// # Errors
    /// The JSON-RPC error that the server answered with.
    pub fn result(&self) -> Result<&str, ErrorObject<'_>> {
        match self.answer.message.error() {
            Some(error) => Err(error),
            None => Ok(self.answer.message.result().unwrap_or("null")),
        }
    }

    /// The result, read as a type of the caller's.
    ///
    /// # Errors
    /// [`ParseError`] if it is not of that type, or if the server answered with an error.
    pub fn parse_result<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ParseError> {
        self.answer.message.parse_result()
    }

    /// The result as a type of the caller's, which borrows nothing.
    ///
    /// # Errors
    /// [`ResultError::Answered`] if the server answered with an error, [`ResultError::Parse`] if the result is not of
    /// that type. Both hold the reply.
    pub fn into_result<T: DeserializeOwned>(self) -> Result<T, ResultError> {
        if let Some(code) = self.answer.message.error().map(|error| error.code) {
            return Err(ResultError::Answered { code, reply: Box::new(self) });
        }
        match self.parse_result() {
            Ok(result) => Ok(result),
            Err(error) => Err(ResultError::Parse { error, reply: Box::new(self) }),
        }
    }

    /// The whole response as JSON text.
    #[must_use]
    pub fn into_json(self) -> String {
        self.answer.message.into_json()
    }
}

/// Why a call has no reply: was it sent, may it have run, what was the status, how to go on.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Caller: the message cannot be sent as given. Nothing was sent.
    #[error("the message cannot be sent: {0}")]
    Request(#[from] RequestError),
    /// Caller: the parameters could not be turned into JSON. Nothing was sent.
    #[error("the parameters cannot be turned into JSON")]
    Params,
    /// Caller: the reply was taken before, and there is no other.
    #[error("the call's reply was taken before")]
    Over,
    /// The call failed.
    #[error("{failure}")]
    Failed {
        /// How, and how far the attempt that got furthest had got.
        failure: Box<Failure>,
        /// How many requests were made.
        attempts: u32,
        /// Whether an attempt before the last may have run.
        earlier_may_have_run: bool,
    },
}

/// Why a call has no result of the type that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The call failed: there is no answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Peer: it answered with a JSON-RPC error; [`Reply::result`] has all of it.
    #[error("the server answered with the JSON-RPC error {code}")]
    Answered {
        /// The error's code.
        code: i64,
        /// The answer.
        reply: Box<Reply>,
    },
    /// Peer or caller: it answered with a result of another type.
    #[error("the result is not of the type that was asked for: {error}")]
    Parse {
        /// What does not fit, and where.
        error: ParseError,
        /// The answer.
        reply: Box<Reply>,
    },
}

/// Parameters as the JSON text that [`Client::call`](super::Client::call) takes; those that serialise to `null`, such
/// as `()`, are none.
///
/// # Errors
/// [`CallError::Params`] if they cannot be serialised.
pub fn params_to_json(params: &(impl Serialize + ?Sized)) -> Result<Option<String>, CallError> {
    let json = serde_json::to_string(params).map_err(|_| CallError::Params)?;
    Ok((json != "null").then_some(json))
}

/// The answer to a request of the server's as the JSON text that [`Client::respond`](super::Client::respond) takes.
///
/// # Errors
/// An internal error (-32603), if it cannot be serialised.
pub fn result_to_json(result: &(impl Serialize + ?Sized)) -> Result<String, ErrorReply> {
    serde_json::to_string(result).map_err(|_| ErrorReply::internal())
}

impl Done {
    /// The end itself, unless it is a failure: how a notification ended, or a request whose answer was given out.
    ///
    /// # Errors
    /// [`CallError`], if the call failed.
    pub fn into_result(self) -> Result<Self, CallError> {
        match self {
            Self { outcome: Outcome::Failed(failure), attempts, earlier_may_have_run, .. } => {
                Err(CallError::Failed { failure: Box::new(failure), attempts, earlier_may_have_run })
            }
            done => Ok(done),
        }
    }

    /// The end of a call together with the reply that came before it.
    ///
    /// # Errors
    /// [`CallError`], if the call failed.
    pub fn into_reply(self, reply: Option<Reply>) -> Result<(Reply, Self), CallError> {
        let done = self.into_result()?;
        reply.map(|reply| (reply, done)).ok_or(CallError::Over)
    }
}

impl CallError {
    /// The error in a call's end, if it is one.
    #[must_use]
    pub fn from_done(done: Done) -> Option<Self> {
        done.into_result().err()
    }

    /// How far the request got.
    #[must_use]
    pub const fn exposure(&self) -> Exposure {
        match self {
            Self::Failed { failure, .. } => failure.exposure,
            _ => Exposure::Unsent,
        }
    }

    /// Whether the request may have run on the server. If not, making the call again is safe.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        self.exposure().may_have_run()
    }

    /// How many requests were made.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        match self {
            Self::Failed { attempts, .. } => *attempts,
            _ => 0,
        }
    }

    /// The status, if the server answered with one of failure.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Failed { failure, .. } => match &failure.kind {
                FailureKind::Status(failure) => Some(failure.status()),
                FailureKind::NoAnswer { status } => Some(*status),
                _ => None,
            },
            _ => None,
        }
    }

    /// When the server wants to be asked again, if it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Failed { failure, .. } => match &failure.kind {
                FailureKind::Status(failure) => failure.retry_after(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The error's kind in lower case with underscores, as the `call` program prints it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Failed { failure, .. } => failure.kind.as_str(),
            _ => "misuse",
        }
    }
}
