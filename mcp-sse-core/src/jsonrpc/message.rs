//! A message that is kept: its text as it came, and where in it everything lies.
//!
//! Rules: what was scanned is not scanned again and values are not copied. A layout that does not fit its text is no
//! error and no panic: the text is read anew. What is valid is decided in the envelope, not here.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use serde::Deserialize;

use super::envelope::{Envelope, ErrorObject, read_with};
use super::error::{Member, ParseError, RejectedText};
use super::id::Id;
use super::text::{Span, offset};
use super::walk::Walk;

/// Which of the four kinds of message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// `method` and an id.
    Request,
    /// `method` without an id.
    Notification,
    /// An answer with `result`.
    Result,
    /// An answer with `error`.
    Error,
}

/// What an [`Envelope`] found, without the borrow: ids, and places in the text.
///
/// It lets the borrow end, so that the text can be taken over; [`Message::with_layout`] joins the two again.
#[derive(Clone, PartialEq, Eq)]
pub struct Layout {
    length: usize,
    parts: Parts,
}

#[derive(Clone, PartialEq, Eq)]
enum Parts {
    Request { id: Id, method: Text, params: Option<Span> },
    Notification { method: Text, params: Option<Span> },
    Result { id: Option<Id>, result: Span },
    Error { id: Option<Id>, code: i64, message: Text, data: Option<Span> },
}

/// A string of the envelope: a place in the text, or what its escapes stood for.
#[derive(Clone, PartialEq, Eq)]
enum Text {
    Plain(Span),
    Decoded(Box<str>),
}

impl Text {
    #[inline]
    fn new(decoded: Cow<'_, str>, text: &str) -> Self {
        match decoded {
            Cow::Borrowed(part) => Self::Plain(place(part, text)),
            Cow::Owned(decoded) => Self::Decoded(decoded.into()),
        }
    }

    fn get<'a>(&'a self, text: &'a str) -> Option<&'a str> {
        match self {
            Self::Plain(span) => span.slice(text),
            Self::Decoded(decoded) => Some(decoded),
        }
    }
}

/// Where `part` lies in `text`. If it lies elsewhere, a place that fits no text, so that the text is read anew.
fn place(part: &str, text: &str) -> Span {
    Span::of(part, text).unwrap_or(Span { start: usize::MAX, end: usize::MAX })
}

impl Envelope<'_> {
    /// Turns what was read into places in `text`, the text it was read from. With another text the layout is of no use:
    /// [`Message::with_layout`] will read anew.
    #[must_use]
    #[inline]
    pub fn into_layout(self, text: &str) -> Layout {
        let place = |part| place(part, text);
        let parts = match self {
            Self::Request { id, method, params } => {
                Parts::Request { id, method: Text::new(method, text), params: params.map(place) }
            }
            Self::Notification { method, params } => {
                Parts::Notification { method: Text::new(method, text), params: params.map(place) }
            }
            Self::Result { id, result } => Parts::Result { id, result: place(result) },
            Self::Error { id, error } => Parts::Error {
                id,
                code: error.code,
                message: Text::new(error.message, text),
                data: error.data.map(place),
            },
        };
        Layout { length: text.len(), parts }
    }
}

impl Layout {
    /// Which kind of message it is.
    #[must_use]
    pub const fn kind(&self) -> MessageKind {
        match self.parts {
            Parts::Request { .. } => MessageKind::Request,
            Parts::Notification { .. } => MessageKind::Notification,
            Parts::Result { .. } => MessageKind::Result,
            Parts::Error { .. } => MessageKind::Error,
        }
    }

    /// The message's id. Nothing if it is absent, [`Id::Null`] if it is null.
    #[must_use]
    pub const fn id(&self) -> Option<&Id> {
        match &self.parts {
            Parts::Request { id, .. } => Some(id),
            Parts::Notification { .. } => None,
            Parts::Result { id, .. } | Parts::Error { id, .. } => id.as_ref(),
        }
    }

    fn string(&self) -> Option<&Text> {
        match &self.parts {
            Parts::Request { method, .. } | Parts::Notification { method, .. } => Some(method),
            Parts::Error { message, .. } => Some(message),
            Parts::Result { .. } => None,
        }
    }

    const fn raw(&self) -> Option<Span> {
        match self.parts {
            Parts::Request { params, .. } | Parts::Notification { params, .. } => params,
            Parts::Result { result, .. } => Some(result),
            Parts::Error { data, .. } => data,
        }
    }

    fn fits(&self, text: &str) -> bool {
        self.length == text.len()
            && self.string().is_none_or(|string| string.get(text).is_some())
            && self.raw().is_none_or(|raw| raw.slice(text).is_some())
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(formatter, "Layout", self)
    }
}

/// One JSON-RPC message that owns its text. `Debug` shows its kind, id and length, not the payload.
///
/// ```
/// use mcp_sse_core::jsonrpc::{Id, Message, MessageKind};
///
/// let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method","data":[7]}}"#;
/// let message = Message::from_text(String::from(text))?;
/// assert_eq!(message.kind(), MessageKind::Error);
/// assert_eq!(message.id(), Some(&Id::from(1)));
/// assert_eq!(message.error().map(|error| error.code), Some(-32601));
/// assert_eq!(message.parse_error_data::<Vec<u8>>()?, [7]);
/// assert_eq!(message.into_json(), text);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    text: String,
    layout: Layout,
}

impl Message {
    /// Reads a text and keeps it. The text is not copied.
    ///
    /// # Errors
    /// As [`read`](super::read); the text comes back with the reason.
    pub fn from_text(text: String) -> Result<Self, RejectedText> {
        Self::from_text_with(text, |walk| walk.value())
    }

    /// As [`from_text`](Self::from_text), with somebody else to step over the value of `params`: what is looked for in there
    /// costs no second pass.
    pub(crate) fn from_text_with(
        text: String,
        params: impl FnMut(&mut Walk<'_>) -> Option<()>,
    ) -> Result<Self, RejectedText> {
        match read_with(&text, params) {
            Ok(envelope) => {
                let layout = envelope.into_layout(&text);
                Ok(Self::of_same(text, layout))
            }
            Err(error) => Err(RejectedText::new(text, error)),
        }
    }

    /// Keeps a text and the layout that was read of that same text.
    pub(crate) const fn of_same(text: String, layout: Layout) -> Self {
        Self { text, layout }
    }

    /// Keeps a text that was read already, without a second scan.
    ///
    /// The text must be the one the layout was made from, in the same place in memory or another. That is not checked byte
    /// for byte: a text of another length, or one the places do not fit, is read anew, as by [`from_text`](Self::from_text).
    ///
    /// # Errors
    /// As [`read`](super::read), only if the text was read anew.
    pub fn with_layout(text: String, layout: Layout) -> Result<Self, RejectedText> {
        if layout.fits(&text) { Ok(Self { text, layout }) } else { Self::from_text(text) }
    }

    /// Which kind of message it is.
    #[must_use]
    pub const fn kind(&self) -> MessageKind {
        self.layout.kind()
    }

    /// The message's id. Nothing if it is absent, [`Id::Null`] if it is null.
    #[must_use]
    pub const fn id(&self) -> Option<&Id> {
        self.layout.id()
    }

    /// The method of a request or notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        match &self.layout.parts {
            Parts::Request { method, .. } | Parts::Notification { method, .. } => method.get(&self.text),
            Parts::Result { .. } | Parts::Error { .. } => None,
        }
    }

    /// The raw `params` of a request or notification.
    #[must_use]
    pub fn params(&self) -> Option<&str> {
        match self.kind() {
            MessageKind::Request | MessageKind::Notification => self.layout.raw()?.slice(&self.text),
            MessageKind::Result | MessageKind::Error => None,
        }
    }

    /// The raw `result` of an answer.
    #[must_use]
    pub fn result(&self) -> Option<&str> {
        match self.kind() {
            MessageKind::Result => self.layout.raw()?.slice(&self.text),
            _ => None,
        }
    }

    /// The `error` of an answer.
    #[must_use]
    pub fn error(&self) -> Option<ErrorObject<'_>> {
        match &self.layout.parts {
            Parts::Error { code, message, data, .. } => Some(ErrorObject {
                code: *code,
                message: Cow::Borrowed(message.get(&self.text)?),
                data: data.and_then(|data| data.slice(&self.text)),
            }),
            _ => None,
        }
    }

    /// The whole text, as it came.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.text
    }

    /// The whole text, as it came.
    #[must_use]
    pub fn into_json(self) -> String {
        self.text
    }

    /// Reads `params` into a type, which may borrow from the message.
    ///
    /// # Errors
    /// [`ParseError`] if there are none, or the type does not fit. serde_json refuses types that nest deeper than 128 levels.
    pub fn parse_params<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ParseError> {
        self.parse(Member::Params, self.params())
    }

    /// Reads `result` into a type, which may borrow from the message.
    ///
    /// # Errors
    /// [`ParseError`] if there is none, or the type does not fit. serde_json refuses types that nest deeper than 128 levels.
    pub fn parse_result<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ParseError> {
        self.parse(Member::Result, self.result())
    }

    /// Reads `error.data` into a type, which may borrow from the message.
    ///
    /// # Errors
    /// [`ParseError`] if there is none, or the type does not fit. serde_json refuses types that nest deeper than 128 levels.
    pub fn parse_error_data<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ParseError> {
        self.parse(Member::ErrorData, self.error().and_then(|error| error.data))
    }

    fn parse<'a, T: Deserialize<'a>>(&'a self, member: Member, raw: Option<&'a str>) -> Result<T, ParseError> {
        let raw = raw.ok_or_else(|| ParseError::absent(member))?;
        serde_json::from_str(raw).map_err(|cause| ParseError::new(member, raw, offset(raw, &self.text), cause))
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(formatter, "Message", &self.layout)
    }
}

fn describe(formatter: &mut fmt::Formatter<'_>, name: &str, layout: &Layout) -> fmt::Result {
    formatter
        .debug_struct(name)
        .field("kind", &layout.kind())
        .field("id", &layout.id())
        .field("length", &layout.length)
        .finish_non_exhaustive()
}
