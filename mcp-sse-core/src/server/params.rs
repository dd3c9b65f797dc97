//! What a server reads of a request's parameters: what the transport needs, on the way through the message.
//!
//! Rules: nothing is judged here. Of members that come twice the first counts, as everywhere.

use alloc::borrow::Cow;
use core::ops::Range;

use super::text::{META, META_CAPABILITIES, META_LOG_LEVEL, META_VERSION};
use crate::http::name_source;
use crate::jsonrpc::{Id, Message, Walk, known_string, string};

/// What was seen of the parameters while their message was read, by places in its text.
#[derive(Debug, Default)]
pub(super) struct Seen {
    is_object: bool,
    /// Strings.
    name: Option<Range<usize>>,
    uri: Option<Range<usize>>,
    version: Option<Range<usize>>,
    /// An object.
    capabilities: Option<Range<usize>>,
    progress_token: Option<Id>,
    log_level: Option<Level>,
}

impl Seen {
    /// Steps over the parameters.
    pub(super) fn step(&mut self, walk: &mut Walk<'_>) -> Option<()> {
        self.is_object = walk.peek() == Some(b'{');
        if !self.is_object {
            return walk.value();
        }
        let mut goes_on = walk.open_object()?;
        while goes_on {
            let key = walk.key()?;
            let (start, is_string) = (walk.position(), walk.peek() == Some(b'"'));
            match &*key.name() {
                META => self.step_meta(walk)?,
                key => {
                    walk.value()?;
                    let place = start..walk.position();
                    match key {
                        "name" if is_string && self.name.is_none() => self.name = Some(place),
                        "uri" if is_string && self.uri.is_none() => self.uri = Some(place),
                        _ => {}
                    }
                }
            }
            goes_on = walk.end_member()?;
        }
        Some(())
    }

    fn step_meta(&mut self, walk: &mut Walk<'_>) -> Option<()> {
        if walk.peek() != Some(b'{') {
            return walk.value();
        }
        let mut goes_on = walk.open_object()?;
        while goes_on {
            let key = walk.key()?;
            let (start, is_object) = (walk.position(), walk.peek() == Some(b'{'));
            walk.value()?;
            let place = start..walk.position();
            match &*key.name() {
                META_VERSION if self.version.is_none() => self.version = Some(place),
                META_CAPABILITIES if is_object && self.capabilities.is_none() => self.capabilities = Some(place),
                META_LOG_LEVEL if self.log_level.is_none() => self.log_level = walk.since(start).and_then(Level::read),
                "progressToken" if self.progress_token.is_none() => {
                    self.progress_token = walk.since(start).and_then(Id::parse);
                }
                _ => {}
            }
            goes_on = walk.end_member()?;
        }
        Some(())
    }

    /// What it says, of the message that it was seen in.
    pub(super) fn in_message(self, message: &Message) -> Params<'_> {
        let raw = |place: Option<Range<usize>>| place.and_then(|place| message.as_json().get(place));
        let name = match message.method().and_then(name_source) {
            Some("name") => self.name,
            Some("uri") => self.uri,
            _ => None,
        };
        Params {
            is_malformed: message.params().is_some() && !self.is_object,
            version: raw(self.version).map(|raw| known_string(raw).map_or(Stated::OtherType, Stated::Text)),
            name: raw(name).and_then(known_string),
            kept: CallParams {
                capabilities: self.capabilities,
                progress_token: self.progress_token,
                log_level: self.log_level,
            },
        }
    }
}

/// What the parameters say, as long as the message is at hand.
#[derive(Debug, Default)]
pub(super) struct Params<'m> {
    /// Whether there are parameters that are no object.
    pub(super) is_malformed: bool,
    /// The revision in `_meta`; some text if there is one, of whatever type.
    pub(super) version: Option<Stated<'m>>,
    /// What `Mcp-Name` mirrors.
    pub(super) name: Option<Cow<'m, str>>,
    pub(super) kept: CallParams,
}

/// What is kept of it as long as the call is under way.
#[derive(Debug, Default)]
pub(super) struct CallParams {
    /// A JSON object, by its place in the message's text.
    pub(super) capabilities: Option<Range<usize>>,
    pub(super) progress_token: Option<Id>,
    pub(super) log_level: Option<Level>,
}

/// A member that must be a string.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stated<'m> {
    Text(Cow<'m, str>),
    OtherType,
}

/// The levels of `notifications/message`, the least first (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level(usize);

impl Level {
    const NAMES: [&'static str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

    pub(super) fn read(raw: &str) -> Option<Self> {
        let name = string(raw)?;
        Self::NAMES.iter().position(|known| *known == name).map(Self)
    }
}
