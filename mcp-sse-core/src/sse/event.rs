//! What a decoder gives out: [`Event`], lent, and [`OwnedEvent`]; [`Part`], when more than events is asked for.
//! How they come about is told in `decoder.rs`.

use alloc::string::String;
use core::fmt;
use core::mem;

/// The type of an event that names none (HTML 9.2.6, dispatch, step 5).
pub(super) const DEFAULT_KIND: &str = "message";

/// One dispatched event, lent until the decoder is used again. [`to_owned`](Self::to_owned) keeps all of it,
/// [`into_data`](Self::into_data) its data.
pub struct Event<'a> {
    pub(super) kind: &'a str,
    pub(super) kind_is_cut: bool,
    pub(super) data: Data<'a>,
    pub(super) last_event_id: &'a str,
}

/// Where the data lies.
pub(super) enum Data<'a> {
    /// In the chunk.
    Lent(&'a str),
    /// In the decoder's buffer, collected from several lines or chunks.
    Collected(&'a mut String),
}

impl Event<'_> {
    /// The event's type: its `event` field, or `"message"` if it has none or an empty one.
    #[must_use]
    pub const fn kind(&self) -> &str {
        self.kind
    }

    /// Whether the event's name passed [`max_kind_bytes`](super::DecoderConfig::max_kind_bytes), so that
    /// [`kind`](Self::kind) is only the start of it, cut at a character boundary. Such a name is of no known type, and
    /// is never given as `"message"`.
    #[must_use]
    pub const fn kind_is_cut(&self) -> bool {
        self.kind_is_cut
    }

    /// The values of the event's `data` fields, joined by LF.
    #[must_use]
    pub fn data(&self) -> &str {
        match &self.data {
            Data::Lent(text) => text,
            Data::Collected(text) => text,
        }
    }

    /// The stream's last event id, as of this event. It is this event's own only if it set one.
    #[must_use]
    pub const fn last_event_id(&self) -> &str {
        self.last_event_id
    }

    /// Whether the data is lent from the chunk, uncopied: it is when it came as one line inside the chunk that also
    /// held the event's end.
    #[must_use]
    pub const fn data_is_lent(&self) -> bool {
        matches!(self.data, Data::Lent(_))
    }

    /// A copy of the event that outlives the decoder's next step.
    #[must_use]
    pub fn to_owned(&self) -> OwnedEvent {
        OwnedEvent {
            kind: String::from(self.kind),
            data: String::from(self.data()),
            last_event_id: String::from(self.last_event_id),
        }
    }

    /// The data as a `String`. A buffer the decoder collected it in is handed over without a copy if the data fills
    /// at least half of it (so that a small event never drags a large buffer along); else the data is copied.
    #[must_use]
    pub fn into_data(self) -> String {
        match self.data {
            Data::Lent(text) => String::from(text),
            Data::Collected(text) if text.len() >= text.capacity() / 2 => mem::take(text),
            Data::Collected(text) => String::from(text.as_str()),
        }
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Event")
            .field("kind", &self.kind)
            .field("data", &self.data())
            .field("last_event_id", &self.last_event_id)
            .finish()
    }
}

/// An [`Event`] that owns its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnedEvent {
    /// See [`Event::kind`].
    pub kind: String,
    /// See [`Event::data`].
    pub data: String,
    /// See [`Event::last_event_id`].
    pub last_event_id: String,
}

/// What [`decode_part`](super::SseDecoder::decode_part) gives out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Part<'a> {
    /// An event.
    Event(Event<'a>),
    /// A complete comment line: what follows its colon, without one leading space. Shown if
    /// [`comments`](super::DecoderConfig::comments) is set.
    Comment(&'a str),
    /// A blank line ended a block of one or more lines, none of them `data`. Its id, if it set one, has taken effect.
    /// Shown if [`blocks`](super::DecoderConfig::blocks) is set.
    Block,
}
