//! The media type of a body, as far as an answer's reader cares.
//!
//! Rule E24: by essence, case-insensitive, parameters and white space ignored. Several values are read as the Fetch
//! standard does ("extract a MIME type"): the last valid one that is not `*/*` counts, so that a proxy which appends a
//! type, or doubles one, is understood. Looking at the body when the type is missing does not belong here.

use alloc::borrow::Cow;

use super::text::{escaped, is_token, trim_white_space};

/// What `Content-Type` says a body is.
///
/// ```
/// use mcp_sse_core::http::MediaType;
///
/// assert_eq!(MediaType::from_essence("Text/Event-Stream"), MediaType::EventStream);
/// assert_eq!(MediaType::from_essence("application/problem+json"), MediaType::Json);
/// assert_eq!(MediaType::from_essence("text/html"), MediaType::Other);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaType {
    /// `text/event-stream`.
    EventStream,
    /// A JSON type as the MIME Sniffing standard defines it: `application/json`, `text/json`, or a `+json` suffix.
    Json,
    /// A type of another kind, or a value that is no media type.
    Other,
    /// No `Content-Type` header, or only empty ones; the body's first byte has to tell.
    #[default]
    Missing,
}

impl MediaType {
    /// The kind of a media type written as `type/subtype`, without parameters; the empty string is [`Missing`].
    ///
    /// [`Missing`]: Self::Missing
    #[must_use]
    pub fn from_essence(essence: &str) -> Self {
        Self::classify(essence.as_bytes())
    }

    /// The kind's name in a recording.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::EventStream => "event-stream",
            Self::Json => "json",
            Self::Other => "other",
            Self::Missing => "missing",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::EventStream, Self::Json, Self::Other, Self::Missing].into_iter().find(|kind| kind.name() == name)
    }

    /// What this and one more `Content-Type` value say together. The essence that tells it is shown.
    pub(super) fn add(self, value: &[u8], mut show: impl FnMut(&[u8])) -> Self {
        // Most have one of two values, and nothing else.
        if let b"application/json" | b"text/event-stream" = value {
            show(value);
            return Self::classify(value);
        }
        let mut kind = self;
        for element in Elements(Some(value)) {
            let end = element.iter().position(|&byte| byte == b';');
            let essence = trim_white_space(end.and_then(|end| element.get(..end)).unwrap_or(element));
            if essence.is_empty() {
                continue;
            }
            let counts = is_media_type(essence) && essence != b"*/*";
            if counts || kind == Self::Missing {
                kind = if counts { Self::classify(essence) } else { Self::Other };
                show(essence);
            }
        }
        kind
    }

    fn classify(essence: &[u8]) -> Self {
        const SUFFIX: &[u8] = b"+json";
        let has_suffix = essence
            .len()
            .checked_sub(SUFFIX.len())
            .and_then(|start| essence.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(SUFFIX));
        if essence.is_empty() {
            Self::Missing
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::EventStream
        } else if essence.eq_ignore_ascii_case(b"application/json")
            || essence.eq_ignore_ascii_case(b"text/json")
            || has_suffix && is_media_type(essence)
        {
            Self::Json
        } else {
            Self::Other
        }
    }
}

/// What all `Content-Type` values seen so far say together.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ContentType {
    kind: MediaType,
    essence: Option<Cow<'static, str>>,
}

impl ContentType {
    /// Before any value was seen.
    pub(super) const NONE: Self = Self { kind: MediaType::Missing, essence: None };

    /// Longest essence kept for diagnostics, in bytes. The longest registered ones are under 90.
    pub(super) const MAX_ESSENCE_BYTES: usize = 128;

    /// Adds one header value.
    pub(super) fn add(&mut self, value: &[u8]) {
        let Self { kind, essence } = self;
        *kind = kind.add(value, |said| {
            *essence = Some(match said {
                b"application/json" => Cow::Borrowed("application/json"),
                b"text/event-stream" => Cow::Borrowed("text/event-stream"),
                said => Cow::Owned(escaped(said, Self::MAX_ESSENCE_BYTES)),
            });
        });
    }

    pub(super) const fn set_kind(&mut self, kind: MediaType) {
        self.kind = kind;
    }

    pub(super) const fn kind(&self) -> MediaType {
        self.kind
    }

    pub(super) fn essence(&self) -> Option<&str> {
        self.essence.as_deref()
    }
}

/// Whether the text has the form `type/subtype`.
fn is_media_type(essence: &[u8]) -> bool {
    let mut parts = essence.splitn(2, |&byte| byte == b'/');
    parts.next().is_some_and(is_token) && parts.next().is_some_and(is_token)
}

/// The elements of a value, split at commas that are not inside a quoted string.
struct Elements<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let value = self.0.take()?;
        let (mut quoted, mut escape) = (false, false);
        let comma = value.iter().position(|&byte| {
            let literal = core::mem::take(&mut escape);
            match byte {
                b'"' if !literal => quoted = !quoted,
                b'\\' if quoted && !literal => escape = true,
                _ => {}
            }
            byte == b',' && !quoted
        });
        match comma.and_then(|at| value.split_at_checked(at)) {
            Some((element, rest)) => {
                self.0 = rest.split_first().map(|(_, rest)| rest);
                Some(element)
            }
            None => Some(value),
        }
    }
}
