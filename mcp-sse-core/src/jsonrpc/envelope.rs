//! What one message is, told from the members it has.
//!
//! Rules: duplicates are judged first, then the types of `jsonrpc`, `id` and `method`, then which members stand together,
//! then the inside of `error`; the first problem found is the one told. Raw members go through as they came. Whether a
//! method is known, or an id is ours, is not asked here.

use alloc::borrow::Cow;

use super::error::{Member, Problem, ReadError};
use super::grammar::{Completeness, Shape, WHITE_SPACE, check, shape};
use super::id::{Id, Unreadable};
use super::members::{Level, Members};
use super::text::{decode, offset};
use super::walk::Walk;

/// One JSON-RPC message, borrowed from its text.
///
/// `params`, `result` and `error.data` are raw JSON text, checked for grammar and otherwise as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Envelope<'a> {
    /// `method` and an id. A null id makes a request too (JSON-RPC 2.0, 4), if one that MCP forbids.
    #[non_exhaustive]
    Request {
        /// The id its answer will bear.
        id: Id,
        /// What is asked for.
        method: Cow<'a, str>,
        /// Raw JSON of any type.
        params: Option<&'a str>,
    },
    /// `method` without an id.
    #[non_exhaustive]
    Notification {
        /// What is told of.
        method: Cow<'a, str>,
        /// Raw JSON of any type.
        params: Option<&'a str>,
    },
    /// `result`: an answer.
    #[non_exhaustive]
    Result {
        /// Nothing if absent, [`Id::Null`] if null.
        id: Option<Id>,
        /// Raw JSON of any type, null and false included.
        result: &'a str,
    },
    /// `error`: an answer that tells of a failure.
    #[non_exhaustive]
    Error {
        /// Nothing if absent, [`Id::Null`] if null.
        id: Option<Id>,
        /// What went wrong over there.
        error: ErrorObject<'a>,
    },
}

/// The `error` member of an answer (JSON-RPC 2.0, 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorObject<'a> {
    /// The kind of error. An integer written otherwise (`-32600.0`) is taken for what it is.
    pub code: i64,
    /// A sentence for people. Halves of surrogate pairs in it became U+FFFD.
    pub message: Cow<'a, str>,
    /// Raw JSON of any type.
    pub data: Option<&'a str>,
}

impl Envelope<'_> {
    /// The message's id. Nothing if it is absent, [`Id::Null`] if it is null.
    #[must_use]
    pub const fn id(&self) -> Option<&Id> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::Notification { .. } => None,
            Self::Result { id, .. } | Self::Error { id, .. } => id.as_ref(),
        }
    }
}

/// Reads one JSON-RPC message: a JSON object, with white space around it or without.
///
/// One pass over the text and no copy of it, but for a `method`, `error.message` or string id: ids are owned, the others
/// copied only if they hold escapes.
///
/// Tolerated, since the answer was delivered all the same: a missing `jsonrpc` or another string in it; unknown members,
/// duplicates of those included; `params` beside a result; an integer that is written with a point or exponent.
///
/// # Errors
/// - [`ReadError::Syntax`] if the text is no JSON, or was cut ([`check`] tells the same);
/// - [`ReadError::NotAnObject`] if it is JSON of another type (an array goes to [`read_array`](super::read_array));
/// - [`ReadError::Malformed`] if members of the envelope come twice, have the wrong type, or do not go together. The
///   message's id comes along if it was readable.
///
/// ```
/// use mcp_sse_core::jsonrpc::{Envelope, Id, Member, Problem, ReadError, read};
///
/// let envelope = read(r#"{"id":"a","method":"ping"}"#)?;
/// assert!(matches!(envelope, Envelope::Request { params: None, .. }));
///
/// let twice = read(r#"{"id":7,"result":1,"result":2}"#);
/// let problem = Problem::Duplicate { member: Member::Result, position: 28 };
/// assert_eq!(twice, Err(ReadError::Malformed { id: Some(Id::from(7)), problem }));
/// # Ok::<(), ReadError>(())
/// ```
#[inline]
pub fn read(text: &str) -> Result<Envelope<'_>, ReadError> {
    read_with(text, Walk::value)
}

/// As [`read`], with somebody else to step over the value of `params`, who may look at it on the way.
#[inline]
pub(super) fn read_with<'a>(
    text: &'a str,
    params: impl FnMut(&mut Walk<'a>) -> Option<()>,
) -> Result<Envelope<'a>, ReadError> {
    let mut members = Members::default();
    if members.collect(text, Level::Envelope, params).is_none() {
        return Err(no_object(text));
    }
    classify(text, &members).map_err(|problem| ReadError::Malformed { id: readable_id(&members), problem })
}

/// What is wrong with a text whose members could not be collected.
#[cold]
fn no_object(text: &str) -> ReadError {
    match check(text) {
        Completeness::Whole if shape(text) != Shape::Object => ReadError::NotAnObject { position: start(text) },
        _ => syntax(text),
    }
}

/// The id of a malformed message, for who asks whose it is.
fn readable_id(members: &Members<'_>) -> Option<Id> {
    if members.has_two_ids() {
        return None;
    }
    Id::from_checked(members.get(Member::Id)?).ok()
}

/// What is wrong with a text that is no JSON. The grammar is asked, not serde_json, whose positions are lines and columns
/// and which takes a number or an escape that was cut for a broken one.
pub(super) fn syntax(text: &str) -> ReadError {
    match check(text) {
        Completeness::Invalid { position } => ReadError::Syntax { position, incomplete: false },
        Completeness::Prefix => ReadError::Syntax { position: text.len(), incomplete: true },
        // The two would have to disagree about the grammar.
        Completeness::Whole => ReadError::Syntax { position: text.len(), incomplete: false },
    }
}

/// Where the value begins.
pub(super) fn start(text: &str) -> usize {
    offset(text.trim_start_matches(WHITE_SPACE), text)
}

#[inline]
fn classify<'a>(text: &'a str, members: &Members<'a>) -> Result<Envelope<'a>, Problem> {
    let at = |raw: &str| offset(raw, text);
    refuse_duplicate(text, members)?;
    if let Some(version) = members.get(Member::Jsonrpc).filter(|raw| !raw.starts_with('"')) {
        return Err(Problem::WrongType { member: Member::Jsonrpc, position: at(version) });
    }
    let id = members.get(Member::Id).map(|raw| id(text, raw)).transpose()?;
    let method = members.get(Member::Method).map(|raw| method(text, raw)).transpose()?;
    let (result, error) = (members.get(Member::Result), members.get(Member::Error));

    match (method, result, error) {
        (Some(_), Some(outcome), _) | (Some(_), None, Some(outcome)) => {
            Err(Problem::MethodAndOutcome { position: at(outcome) })
        }
        (Some(method), None, None) => {
            let params = members.get(Member::Params);
            Ok(match id {
                Some(id) => Envelope::Request { id, method, params },
                None => Envelope::Notification { method, params },
            })
        }
        (None, Some(_), Some(error)) => Err(Problem::ResultAndError { position: at(error) }),
        (None, Some(result), None) => Ok(Envelope::Result { id, result }),
        (None, None, Some(error)) => Ok(Envelope::Error { id, error: error_object(text, error)? }),
        (None, None, None) => Err(Problem::NeitherResultNorError { position: start(text) }),
    }
}

fn refuse_duplicate(text: &str, members: &Members<'_>) -> Result<(), Problem> {
    match members.duplicate() {
        Some((member, value)) => Err(Problem::Duplicate { member, position: offset(value, text) }),
        None => Ok(()),
    }
}

fn id(text: &str, raw: &str) -> Result<Id, Problem> {
    Id::from_checked(raw).map_err(|unreadable| unreadable.in_member(Member::Id, offset(raw, text)))
}

#[inline]
fn method<'a>(text: &str, raw: &'a str) -> Result<Cow<'a, str>, Problem> {
    match decode(raw) {
        Some(decoded) if !decoded.is_lossy => Ok(decoded.text),
        Some(_) => Err(Unreadable::LoneSurrogate.in_member(Member::Method, offset(raw, text))),
        None => Err(Unreadable::WrongType.in_member(Member::Method, offset(raw, text))),
    }
}

/// Reads the `error` member, a slice of `text` whose grammar was checked.
fn error_object<'a>(text: &str, raw: &'a str) -> Result<ErrorObject<'a>, Problem> {
    let position = offset(raw, text);
    let mut members = Members::default();
    if members.collect(raw, Level::Error, Walk::value).is_none() {
        return Err(Problem::WrongType { member: Member::Error, position });
    }
    refuse_duplicate(text, &members)?;
    let required = |member| members.get(member).ok_or(Problem::Missing { member, position });
    let wrong = |member, raw: &str| Problem::WrongType { member, position: offset(raw, text) };

    let raw_code = required(Member::ErrorCode)?;
    let Ok(Id::Integer(code)) = Id::from_checked(raw_code) else {
        return Err(wrong(Member::ErrorCode, raw_code));
    };
    let raw_message = required(Member::ErrorMessage)?;
    let message = decode(raw_message).ok_or_else(|| wrong(Member::ErrorMessage, raw_message))?.text;
    Ok(ErrorObject { code, message, data: members.get(Member::ErrorData) })
}

impl Unreadable {
    const fn in_member(self, member: Member, position: usize) -> Problem {
        match self {
            Self::WrongType => Problem::WrongType { member, position },
            Self::LoneSurrogate => Problem::LoneSurrogate { member, position },
        }
    }
}
