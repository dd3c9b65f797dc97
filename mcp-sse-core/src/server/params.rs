//! What a server reads of a request's parameters: what the transport needs, in one pass.
//!
//! Rules: nothing is judged here; the message was read, so its grammar is known. Of members that come twice the first counts, as everywhere.

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;

use super::text::{META, META_CAPABILITIES, META_LOG_LEVEL, META_VERSION};
use crate::http::name_source;
use crate::jsonrpc::{Id, KnownMembers, Message, Shape, known_string, shape, string};

#[derive(Debug, Default)]
pub(super) struct Params {
    /// Whether there are parameters that are no object.
    pub(super) is_malformed: bool,
    /// The revision in `_meta`; some text if there is one, of whatever type.
    pub(super) version: Option<Stated>,
    /// A JSON object.
    pub(super) capabilities: Option<String>,
    pub(super) progress_token: Option<Id>,
    pub(super) log_level: Option<Level>,
    /// What `Mcp-Name` mirrors.
    pub(super) name: Option<String>,
}

/// A member that must be a string.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stated {
    Text(String),
    OtherType,
}

impl Params {
    pub(super) fn read(message: &Message) -> Self {
        let mut read = Self::default();
        let Some(params) = message.params() else {
            return read;
        };
        read.is_malformed = shape(params) != Shape::Object;
        let source = message.method().and_then(name_source);
        for (raw_key, value) in KnownMembers::of(params) {
            let key = known_string(raw_key).unwrap_or_default();
            match &*key {
                META => read.take_meta(value),
                key if source == Some(key) && read.name.is_none() => {
                    read.name = known_string(value).map(Cow::into_owned)
                }
                _ => {}
            }
        }
        read
    }

    fn take_meta(&mut self, meta: &str) {
        for (raw_key, value) in KnownMembers::of(meta) {
            match &*known_string(raw_key).unwrap_or_default() {
                META_VERSION if self.version.is_none() => {
                    self.version =
                        Some(known_string(value).map_or(Stated::OtherType, |text| Stated::Text(text.into_owned())));
                }
                META_CAPABILITIES if self.capabilities.is_none() && shape(value) == Shape::Object => {
                    self.capabilities = Some(value.to_owned());
                }
                META_LOG_LEVEL if self.log_level.is_none() => self.log_level = Level::read(value),
                "progressToken" if self.progress_token.is_none() => self.progress_token = Id::parse(value),
                _ => {}
            }
        }
    }
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
