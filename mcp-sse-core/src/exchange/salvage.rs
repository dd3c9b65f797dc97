//! What bytes are worth as messages: an event's data, a whole JSON body, and the tail that a break left.
//!
//! Rule: a JSON object that closes is a prefix of nothing else, so a text that parses was delivered whole,
//! whatever its framing says. Nothing is decided here; `state` judges.

use alloc::string::String;
use alloc::vec::Vec;

use crate::jsonrpc::{self, ArrayCursor, Completeness, Message, ReadError, Shape};
use crate::sse::{Event, Finish, SseDecoder};

/// The type of the events that carry messages.
pub(super) const MESSAGE: &str = "message";

/// The type of the event that names the endpoint of a 2024-11-05 channel.
pub(super) const ENDPOINT: &str = "endpoint";

/// One thing found in a body.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A well-formed message.
    Message(Message),
    /// A JSON object whose envelope is malformed.
    Malformed(ReadError),
    /// An array, in a revision that has none.
    Array,
    /// JSON, but neither an object nor an array.
    Scalar,
    /// Not JSON: the byte of the text at which it is not, and whether more bytes could have made it JSON.
    NotJson { position: usize, prefix: bool },
    /// An event that passed its limit, which is told in bytes.
    Oversized(u64),
    /// The data of an `endpoint` event.
    Endpoint(String),
}

/// A text that can be read first and owned afterwards without a copy.
pub(super) trait Text {
    fn text(&self) -> &str;
    fn into_string(self) -> String;
}

impl Text for Event<'_> {
    fn text(&self) -> &str {
        self.data()
    }

    fn into_string(self) -> String {
        self.into_data()
    }
}

impl Text for String {
    fn text(&self) -> &str {
        self
    }

    fn into_string(self) -> String {
        self
    }
}

/// What one text holds, in order: one item, or the elements of an array, each read when it is its turn, so that
/// an array of millions of tiny ones costs no list of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    next: Option<Item>,
    array: Option<(String, ArrayCursor)>,
}

impl Items {
    const fn one(item: Item) -> Self {
        Self { next: Some(item), array: None }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    /// Whether this holds for any of the items, which stay where they are.
    pub(super) fn any(&self, mut holds: impl FnMut(&Item) -> bool) -> bool {
        let is_next = self.next.as_ref().is_some_and(&mut holds);
        is_next || (self.array.is_some() && Iterator::any(&mut self.clone(), |item| holds(&item)))
    }

    /// Reads the next element of the array, if there is one.
    fn read_element(&mut self) {
        if let Some((text, cursor)) = &mut self.array {
            self.next = cursor.next_element(text).map(|element| read_object(String::from(element)));
        }
        if self.next.is_none() {
            self.array = None;
        }
    }

    /// Bytes kept for the elements to come.
    pub(super) fn held_bytes(&self) -> usize {
        self.array.as_ref().map_or(0, |(text, _)| text.len())
    }
}

impl Iterator for Items {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let item = self.next.take()?;
        if self.array.is_some() {
            self.read_element();
        }
        Some(item)
    }
}

/// Reads one text as a message or, where the revision has them, as an array of messages.
pub(super) fn read_items(text: impl Text, arrays: bool) -> Items {
    Items::one(match jsonrpc::shape(text.text()) {
        Shape::Object => read_object(text),
        Shape::Array if arrays => match ArrayCursor::new(text.text()) {
            Ok(cursor) => {
                let mut items = Items { next: None, array: Some((text.into_string(), cursor)) };
                items.read_element();
                return items;
            }
            Err(_) => no_message(text.text(), Item::Array),
        },
        Shape::Array => no_message(text.text(), Item::Array),
        _ => no_message(text.text(), Item::Scalar),
    })
}

/// Reads one text that begins as an object.
#[inline]
pub(super) fn read_object(text: impl Text) -> Item {
    let layout = match jsonrpc::read(text.text()) {
        Ok(envelope) => envelope.into_layout(text.text()),
        Err(error @ ReadError::Malformed { .. }) => return Item::Malformed(error),
        Err(_) => return no_message(text.text(), Item::Scalar),
    };
    Item::Message(Message::of_same(text.into_string(), layout))
}

/// What a text is that is no message: `json` if it is JSON at all.
fn no_message(text: &str, json: Item) -> Item {
    match jsonrpc::check(text) {
        Completeness::Whole => json,
        Completeness::Prefix => Item::NotJson { position: text.len(), prefix: true },
        Completeness::Invalid { position } => Item::NotJson { position, prefix: false },
    }
}

/// Reads the bytes of a JSON body at its end, or at a break.
pub(super) fn read_json(mut bytes: Vec<u8>, arrays: bool) -> Items {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    bytes.drain(..start);
    let mut items = match String::from_utf8(bytes) {
        Ok(text) => read_items(text, arrays),
        Err(error) => Items::one(match jsonrpc::check_bytes(error.as_bytes()) {
            Completeness::Invalid { position } => Item::NotJson { position, prefix: false },
            _ => Item::NotJson { position: error.as_bytes().len(), prefix: true },
        }),
    };
    if let Some(Item::NotJson { position, .. }) = &mut items.next {
        // It is told as a place in the body.
        *position += start;
    }
    items
}

/// The items of an unfinished last event, as if its blank line had come (E9).
pub(super) fn read_tail(decoder: &mut SseDecoder, arrays: bool) -> Items {
    let finished = decoder.finish(Finish::Flush);
    let kind_is_cut = finished.kind_is_cut;
    match finished.event {
        Some(event) if event.kind() == MESSAGE || (kind_is_cut && MESSAGE.starts_with(event.kind())) => {
            read_items(event, arrays)
        }
        _ => Items::default(),
    }
}
