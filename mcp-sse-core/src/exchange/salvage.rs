//! What bytes are worth as messages: an event's data, a whole JSON body, and the tail that a break left.
//!
//! Rule: a JSON object that closes is a prefix of nothing else, so a text that parses was delivered whole,
//! whatever its framing says. Nothing is decided here; `state` judges.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use crate::jsonrpc::{self, Completeness, Message, ReadError, Shape};
use crate::sse::{Event, Finish, SseDecoder};

/// The type of the events that carry messages.
pub(super) const MESSAGE: &str = "message";

/// One thing found in a body.
#[derive(Debug)]
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

/// Reads one text as a message or, where the revision has them, as an array of messages.
pub(super) fn read_items(text: impl Text, arrays: bool, items: &mut VecDeque<Item>) {
    match jsonrpc::shape(text.text()) {
        Shape::Object => items.push_back(read_object(text)),
        Shape::Array if arrays => match jsonrpc::read_array(text.text()) {
            Ok(elements) => items.extend(elements.map(|element| read_object(String::from(element)))),
            Err(_) => items.push_back(no_message(text.text(), Item::Array)),
        },
        Shape::Array => items.push_back(no_message(text.text(), Item::Array)),
        _ => items.push_back(no_message(text.text(), Item::Scalar)),
    }
}

fn read_object(text: impl Text) -> Item {
    let layout = match jsonrpc::read(text.text()) {
        Ok(envelope) => envelope.into_layout(text.text()),
        Err(error @ ReadError::Malformed { .. }) => return Item::Malformed(error),
        Err(_) => return no_message(text.text(), Item::Scalar),
    };
    match Message::with_layout(text.into_string(), layout) {
        Ok(message) => Item::Message(message),
        Err(rejected) => match rejected.into_parts() {
            (_, error @ ReadError::Malformed { .. }) => Item::Malformed(error),
            (text, _) => no_message(&text, Item::Scalar),
        },
    }
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
pub(super) fn read_json(mut bytes: Vec<u8>, arrays: bool) -> VecDeque<Item> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    if bytes.starts_with(BOM) {
        bytes.drain(..BOM.len());
    }
    let mut items = VecDeque::new();
    match String::from_utf8(bytes) {
        Ok(text) => read_items(text, arrays, &mut items),
        Err(error) => items.push_back(match jsonrpc::check_bytes(error.as_bytes()) {
            Completeness::Invalid { position } => Item::NotJson { position, prefix: false },
            _ => Item::NotJson { position: error.as_bytes().len(), prefix: true },
        }),
    }
    items
}

/// The items of an unfinished last event, as if its blank line had come (E9).
pub(super) fn read_tail(decoder: &mut SseDecoder, arrays: bool) -> VecDeque<Item> {
    let mut items = VecDeque::new();
    if let Some(event) = decoder.finish(Finish::Flush).event {
        if event.kind() == MESSAGE {
            read_items(event, arrays, &mut items);
        }
    }
    items
}
