//! The JSON-RPC 2.0 envelope, read by borrowing.
//!
//! What a message is (request, notification, result or error) and whose it is (its id). No tree of values is built:
//! `params`, `result` and `error.data` are checked for JSON grammar and handed over as the text they came as.
//! This room knows nothing of event streams, of HTTP or of what the methods mean, and imports nothing of ours.
//!
//! | to learn | ask |
//! |---|---|
//! | what one message is | [`read`] gives an [`Envelope`] that borrows the text |
//! | the same, kept | [`Envelope::into_layout`], then [`Message::with_layout`]; or [`Message::from_text`] |
//! | the elements of a batch | [`read_array`], or [`ArrayCursor`] where the text is owned |
//! | whether a text is whole, cut or broken | [`check`], [`check_bytes`] |
//! | what it is at a glance | [`shape`] |
//!
//! ```
//! use mcp_sse_core::jsonrpc::{Envelope, Id, Message, read};
//!
//! let text = String::from(r#"{"jsonrpc":"2.0","id":7.0,"result":{"tools":[]}}"#);
//! let envelope = read(&text)?;
//! assert!(matches!(&envelope, Envelope::Result { id: Some(id), .. } if *id == Id::from(7)));
//!
//! // Kept without a second scan and without copying a value.
//! let layout = envelope.into_layout(&text);
//! let message = Message::with_layout(text, layout)?;
//! assert_eq!(message.result(), Some(r#"{"tools":[]}"#));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Nothing here recurses: nesting costs at most one byte of memory a level while a text is read, and no stack.

mod after;
mod array;
mod envelope;
mod error;
mod grammar;
mod id;
mod known;
mod members;
mod message;
mod object;
mod text;
mod tokens;
mod walk;

pub use array::{ArrayCursor, Elements, read_array};
pub use envelope::{Envelope, ErrorObject, read};
pub use error::{Member, ParseError, Problem, ReadError, RejectedText};
pub use grammar::{Completeness, Shape, check, check_bytes, shape};
pub use id::{Decimal, Id};
pub(crate) use known::{KnownMembers, known_id, known_string};
pub use message::{Layout, Message, MessageKind};
pub(crate) use object::each_member;
pub use object::{object_member, object_members, string};
pub(crate) use text::place;
pub(crate) use tokens::{Token, tokens};
pub(crate) use walk::{RawMember, Walk};
