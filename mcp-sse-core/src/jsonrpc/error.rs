//! What can be wrong with a message, and where. The peer erred in all of these but [`ParseError`], where the reader's type
//! may be the one that does not fit.
//!
//! Rules: positions and names of the envelope's own members, never what the peer wrote. `Display` and `Debug` of an error
//! show no payload but the id.

use alloc::string::String;
use core::fmt;

use super::id::Id;

/// A member of the envelope, or of its error object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Member {
    /// `jsonrpc`
    Jsonrpc,
    /// `id`
    Id,
    /// `method`
    Method,
    /// `params`
    Params,
    /// `result`
    Result,
    /// `error`
    Error,
    /// `code` of `error`
    ErrorCode,
    /// `message` of `error`
    ErrorMessage,
    /// `data` of `error`
    ErrorData,
}

impl Member {
    /// The member's name, with a dot where it lies within `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
            Self::ErrorCode => "error.code",
            Self::ErrorMessage => "error.message",
            Self::ErrorData => "error.data",
        }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why a text is no JSON-RPC message. Positions are offsets in bytes from the start of the text that was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is no JSON value.
    #[error("{} at byte {position}", if *.incomplete { "the JSON text was cut" } else { "not JSON" })]
    Syntax {
        /// The first byte that cannot stand where it stands; the length of the text if `incomplete`.
        position: usize,
        /// Whether the text is a proper prefix of some JSON value (an empty text is).
        incomplete: bool,
    },
    /// The text is one whole JSON value, and no object.
    #[error("JSON, but no object, at byte {position}")]
    NotAnObject {
        /// Where the value begins.
        position: usize,
    },
    /// The text is one whole JSON value, and no array. Only for readers of arrays.
    #[error("JSON, but no array, at byte {position}")]
    NotAnArray {
        /// Where the value begins.
        position: usize,
    },
    /// A JSON object that is no JSON-RPC message.
    #[error("a malformed message: {problem}")]
    Malformed {
        /// The message's id, if it has one id and that could be read: tells whose malformed answer this is.
        id: Option<Id>,
        /// What is wrong.
        problem: Problem,
    },
}

impl ReadError {
    /// Where in the text the error lies, in bytes.
    #[must_use]
    pub const fn position(&self) -> usize {
        match self {
            Self::Syntax { position, .. } | Self::NotAnObject { position } | Self::NotAnArray { position } => *position,
            Self::Malformed { problem, .. } => problem.position(),
        }
    }

    /// Whether the text is a proper prefix of a JSON value: more bytes could have mended it.
    #[must_use]
    pub const fn is_incomplete(&self) -> bool {
        matches!(self, Self::Syntax { incomplete: true, .. })
    }

    /// The id of a malformed message, if it could be read.
    #[must_use]
    pub const fn id(&self) -> Option<&Id> {
        match self {
            Self::Malformed { id, .. } => id.as_ref(),
            _ => None,
        }
    }
}

/// What makes a JSON object no JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A member of the envelope comes twice. Readers differ in which they take, so neither is taken.
    #[error("{member} comes twice, again at byte {position}")]
    Duplicate {
        /// Which member.
        member: Member,
        /// Where its second value begins.
        position: usize,
    },
    /// A member holds a value of a type it may not have, or a code that is no 64-bit integer.
    #[error("{member} has the wrong type at byte {position}")]
    WrongType {
        /// Which member.
        member: Member,
        /// Where its value begins.
        position: usize,
    },
    /// An id or method holds half of a surrogate pair, so it is no text and could not be told from another.
    #[error("{member} holds half of a surrogate pair, at byte {position}")]
    LoneSurrogate {
        /// Which member.
        member: Member,
        /// Where its value begins.
        position: usize,
    },
    /// The error object lacks a member it must have.
    #[error("{member} is missing from the object at byte {position}")]
    Missing {
        /// Which member.
        member: Member,
        /// Where the object begins that should hold it.
        position: usize,
    },
    /// Both `method` and one of `result` and `error`.
    #[error("both a method and an outcome, the outcome at byte {position}")]
    MethodAndOutcome {
        /// Where the value of `result` begins, or of `error` if there is no `result`.
        position: usize,
    },
    /// Both `result` and `error`.
    #[error("both result and error, the error at byte {position}")]
    ResultAndError {
        /// Where the value of `error` begins.
        position: usize,
    },
    /// None of `method`, `result` and `error`.
    #[error("neither method nor result nor error in the object at byte {position}")]
    NeitherResultNorError {
        /// Where the object begins.
        position: usize,
    },
}

impl Problem {
    /// Where in the text the problem lies, in bytes.
    #[must_use]
    pub const fn position(&self) -> usize {
        match self {
            Self::Duplicate { position, .. }
            | Self::WrongType { position, .. }
            | Self::LoneSurrogate { position, .. }
            | Self::Missing { position, .. }
            | Self::MethodAndOutcome { position }
            | Self::ResultAndError { position }
            | Self::NeitherResultNorError { position } => *position,
        }
    }
}

/// A text that is no message, given back with the reason. `Debug` shows its length only.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct RejectedText {
    text: String,
    error: ReadError,
}

impl RejectedText {
    pub(super) const fn new(text: String, error: ReadError) -> Self {
        Self { text, error }
    }

    /// Why it was rejected.
    #[must_use]
    pub const fn error(&self) -> &ReadError {
        &self.error
    }

    /// The text as it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text as it came, and why it was rejected.
    #[must_use]
    pub fn into_parts(self) -> (String, ReadError) {
        (self.text, self.error)
    }
}

impl fmt::Debug for RejectedText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RejectedText")
            .field("length", &self.text.len())
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// Why a raw member could not be read into a type: it is absent, or the type does not fit it.
///
/// serde_json's own error can quote the value, so it is shown neither by `Display` nor by `Debug`, nor as a source; who may
/// see payloads takes it with [`into_cause`](Self::into_cause).
pub struct ParseError {
    member: Member,
    cause: Option<(usize, serde_json::Error)>,
}

impl ParseError {
    pub(super) const fn absent(member: Member) -> Self {
        Self { member, cause: None }
    }

    /// `start` is where `raw`, which could not be read, begins in the message.
    pub(super) fn new(member: Member, raw: &str, start: usize, cause: serde_json::Error) -> Self {
        let position = start.saturating_add(offset_of(raw, cause.line(), cause.column()));
        Self { member, cause: Some((position, cause)) }
    }

    /// The member that was asked for.
    #[must_use]
    pub const fn member(&self) -> Member {
        self.member
    }

    /// Whether the message has no such member.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        self.cause.is_none()
    }

    /// Where in the message's text reading stopped, in bytes: at the value that does not fit, or just after it. Nothing if
    /// the member is absent.
    #[must_use]
    pub fn position(&self) -> Option<usize> {
        self.cause.as_ref().map(|(position, _)| *position)
    }

    /// serde_json's error, which may quote the payload; its lines and columns count from the member's own start.
    #[must_use]
    pub fn into_cause(self) -> Option<serde_json::Error> {
        self.cause.map(|(_, cause)| cause)
    }
}

/// Turns a line (from 1) and a column (bytes taken in that line) into the offset of the last byte taken.
fn offset_of(raw: &str, line: usize, column: usize) -> usize {
    let lines_before = raw.split_inclusive('\n').take(line.saturating_sub(1));
    let start_of_line: usize = lines_before.map(str::len).sum();
    start_of_line.saturating_add(column.saturating_sub(1)).min(raw.len())
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position() {
            None => write!(formatter, "the message has no {}", self.member),
            Some(position) => write!(formatter, "{} does not fit the type at byte {position}", self.member),
        }
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ParseError")
            .field("member", &self.member)
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}

impl core::error::Error for ParseError {}
