//! JSON grammar (RFC 8259) told byte by byte: is a text whole, cut, or beyond repair?
//!
//! Rules: one state per place in the grammar and one stack for what is open, so that every state that is no error can
//! still be completed. That is what makes "cut" exact, also for numbers (`-`, `1.`, `1e+`), literals (`tru`) and escapes
//! (`"\u00`). Nothing recurses. Values are not decoded here, and members are not told apart.

use alloc::vec::Vec;

use super::after::is_plain;
use super::walk::Walk;

/// What a text is worth as JSON: one whole value, the beginning of one, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Completeness {
    /// One complete JSON value, with nothing but white space around it.
    ///
    /// A value that closes (an object, an array, a string, a literal) is a prefix of nothing else. A bare number is whole
    /// and may yet have been cut: `12` of `123`.
    Whole,
    /// Not a value, and something could be appended to make it one. An empty text is such a prefix.
    Prefix,
    /// Nothing that could be appended makes this a JSON value.
    Invalid {
        /// Offset in bytes of the first byte that no JSON text can hold there. What stands before it is a prefix of one.
        position: usize,
    },
}

/// What a text claims to be, by its first byte that is no white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// It opens with `{`.
    Object,
    /// It opens with `[`.
    Array,
    /// It opens with something else: another JSON value, or no JSON at all.
    Other,
    /// It is empty, or white space only.
    Empty,
}

/// Tells by the first byte that is no JSON white space (space, tab, CR, LF) what a text claims to be.
///
/// ```
/// use mcp_sse_core::jsonrpc::{Shape, shape};
/// assert_eq!(shape("\r\n {"), Shape::Object);
/// assert_eq!(shape("<html>"), Shape::Other);
/// ```
#[must_use]
pub fn shape(text: &str) -> Shape {
    match text.trim_start_matches(WHITE_SPACE).chars().next() {
        Some('{') => Shape::Object,
        Some('[') => Shape::Array,
        Some(_) => Shape::Other,
        None => Shape::Empty,
    }
}

/// Tells whether a text is one whole JSON value, the beginning of one, or neither.
///
/// White space around the value is allowed; a byte order mark is not (RFC 8259, 8.1), so remove it before. Halves of
/// surrogate pairs written as escapes are grammar (RFC 8259, 8.2) and are let through. Cost: one pass (two for a text that is
/// not whole), no recursion, at most one byte of memory for each level of nesting.
///
/// ```
/// use mcp_sse_core::jsonrpc::{Completeness, check};
/// assert_eq!(check(r#"{"a":-1}"#), Completeness::Whole);
/// assert_eq!(check(r#"{"a":-"#), Completeness::Prefix);
/// assert_eq!(check(r#"{"a":-}"#), Completeness::Invalid { position: 6 });
/// ```
#[must_use]
pub fn check(text: &str) -> Completeness {
    if is_whole(text) {
        return Completeness::Whole;
    }
    let mut scanner = Scanner::new();
    match scanner.scan(text.as_bytes()) {
        Ok(()) => Completeness::Prefix,
        Err(position) => Completeness::Invalid { position },
    }
}

/// Whether a text is one whole JSON value. What it is otherwise costs a slower pass.
fn is_whole(text: &str) -> bool {
    let mut walk = Walk::new(text);
    walk.space();
    let value = walk.value();
    walk.space();
    value.is_some() && walk.ahead().is_empty()
}

/// As [`check`], for bytes that may end anywhere, inside a character too.
///
/// A last character that was cut counts as cut if it stands within a string. Other ill-formed UTF-8 is invalid, at the
/// offset where the ill-formed sequence begins.
///
/// ```
/// use mcp_sse_core::jsonrpc::{Completeness, check_bytes};
/// assert_eq!(check_bytes(b"\"\xe2\x82"), Completeness::Prefix); // two bytes of the three of a euro sign
/// assert_eq!(check_bytes(b"\"\xff\""), Completeness::Invalid { position: 1 });
/// ```
#[must_use]
pub fn check_bytes(bytes: &[u8]) -> Completeness {
    let (valid, cut) = match core::str::from_utf8(bytes) {
        Ok(text) => return check(text),
        Err(error) => (error.valid_up_to(), error.error_len().is_none()),
    };
    let mut scanner = Scanner::new();
    match scanner.scan(bytes.get(..valid).unwrap_or_default()) {
        Ok(()) if cut && scanner.is_within_string() => Completeness::Prefix,
        Ok(()) => Completeness::Invalid { position: valid },
        Err(position) => Completeness::Invalid { position },
    }
}

/// What RFC 8259 calls white space, and nothing else that Unicode does.
pub(super) const WHITE_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

const fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// What is open around the place the scanner stands at.
#[derive(Clone, Copy)]
enum Container {
    Array,
    Object,
}

/// Where in the grammar the next byte falls.
#[derive(Clone, Copy)]
enum State {
    /// Before a value.
    Value,
    /// After `[`: a value or `]`.
    FirstElement,
    /// After `{`: a key or `}`.
    FirstKey,
    /// After a comma in an object.
    Key,
    /// After a key.
    Colon,
    /// After a value: `,`, what closes the container, or (outside all) only white space.
    AfterValue,
    /// Within a string, which is a key or a value.
    String { is_key: bool },
    /// After a backslash.
    Escape { is_key: bool },
    /// After `\u`, with so many digits to come.
    Hex { is_key: bool, left: u8 },
    /// Within `true`, `false` or `null`, with these bytes to come.
    Literal { rest: &'static [u8] },
    /// After the minus of a number.
    Minus,
    /// After a leading zero.
    Zero,
    /// Within the digits before the point.
    Integer,
    /// After the point.
    Point,
    /// Within the digits after the point.
    Fraction,
    /// After `e`.
    Exponent,
    /// After the sign of the exponent.
    ExponentSign,
    /// Within the digits of the exponent.
    ExponentDigits,
}

struct Scanner {
    state: State,
    open: Vec<Container>,
}

impl Scanner {
    const fn new() -> Self {
        Self { state: State::Value, open: Vec::new() }
    }

    /// Takes bytes; fails with the offset of the first that cannot stand where it stands.
    fn scan(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let mut position = 0;
        loop {
            // Most bytes of a large message are plain string text, and are passed over without a state change.
            if let State::String { .. } = self.state {
                let rest = bytes.get(position..).unwrap_or_default();
                position += rest.iter().position(|&byte| !is_plain(byte)).unwrap_or(rest.len());
            }
            let Some(&byte) = bytes.get(position) else {
                return Ok(());
            };
            self.state = self.after(byte).ok_or(position)?;
            position += 1;
        }
    }

    /// Whether the next character may be any but a control character.
    const fn is_within_string(&self) -> bool {
        matches!(self.state, State::String { .. })
    }

    /// The state after a byte, or nothing if the byte cannot stand here.
    fn after(&mut self, byte: u8) -> Option<State> {
        match (self.state, byte) {
            (
                State::Value | State::FirstElement | State::FirstKey | State::Key | State::Colon | State::AfterValue,
                byte,
            ) if is_white_space(byte) => Some(self.state),

            (State::FirstElement, b']') => self.close(Container::Array),
            (State::Value | State::FirstElement, byte) => self.begin_value(byte),
            (State::FirstKey, b'}') => self.close(Container::Object),
            (State::FirstKey | State::Key, b'"') => Some(State::String { is_key: true }),
            (State::Colon, b':') => Some(State::Value),
            (State::AfterValue, byte) => self.after_value(byte),

            (State::String { is_key: true }, b'"') => Some(State::Colon),
            (State::String { is_key: false }, b'"') => Some(State::AfterValue),
            (State::String { is_key }, b'\\') => Some(State::Escape { is_key }),
            (State::String { .. }, byte) if is_plain(byte) => Some(self.state),
            (State::Escape { is_key }, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                Some(State::String { is_key })
            }
            (State::Escape { is_key }, b'u') => Some(State::Hex { is_key, left: 4 }),
            (State::Hex { is_key, left }, byte) if byte.is_ascii_hexdigit() => Some(match left {
                2.. => State::Hex { is_key, left: left - 1 },
                _ => State::String { is_key },
            }),

            (State::Literal { rest }, byte) => match rest.split_first() {
                Some((&expected, [])) if byte == expected => Some(State::AfterValue),
                Some((&expected, rest)) if byte == expected => Some(State::Literal { rest }),
                _ => None,
            },

            (State::Minus, b'0') => Some(State::Zero),
            (State::Minus, b'1'..=b'9') | (State::Integer, b'0'..=b'9') => Some(State::Integer),
            (State::Zero | State::Integer, b'.') => Some(State::Point),
            (State::Point | State::Fraction, b'0'..=b'9') => Some(State::Fraction),
            (State::Zero | State::Integer | State::Fraction, b'e' | b'E') => Some(State::Exponent),
            (State::Exponent, b'+' | b'-') => Some(State::ExponentSign),
            (State::Exponent | State::ExponentSign | State::ExponentDigits, b'0'..=b'9') => Some(State::ExponentDigits),
            // A number has no end of its own: whatever may follow a value ends it.
            (State::Zero | State::Integer | State::Fraction | State::ExponentDigits, byte) => self.after_value(byte),

            (
                State::FirstKey
                | State::Key
                | State::Colon
                | State::String { .. }
                | State::Escape { .. }
                | State::Hex { .. }
                | State::Minus
                | State::Point
                | State::Exponent
                | State::ExponentSign,
                _,
            ) => None,
        }
    }

    fn begin_value(&mut self, byte: u8) -> Option<State> {
        match byte {
            b'{' => {
                self.open.push(Container::Object);
                Some(State::FirstKey)
            }
            b'[' => {
                self.open.push(Container::Array);
                Some(State::FirstElement)
            }
            b'"' => Some(State::String { is_key: false }),
            b't' => Some(State::Literal { rest: b"rue" }),
            b'f' => Some(State::Literal { rest: b"alse" }),
            b'n' => Some(State::Literal { rest: b"ull" }),
            b'-' => Some(State::Minus),
            b'0' => Some(State::Zero),
            b'1'..=b'9' => Some(State::Integer),
            _ => None,
        }
    }

    fn after_value(&mut self, byte: u8) -> Option<State> {
        match (self.open.last(), byte) {
            (_, byte) if is_white_space(byte) => Some(State::AfterValue),
            (Some(Container::Array), b',') => Some(State::Value),
            (Some(Container::Array), b']') => self.close(Container::Array),
            (Some(Container::Object), b',') => Some(State::Key),
            (Some(Container::Object), b'}') => self.close(Container::Object),
            _ => None,
        }
    }

    fn close(&mut self, container: Container) -> Option<State> {
        match (self.open.pop(), container) {
            (Some(Container::Array), Container::Array) | (Some(Container::Object), Container::Object) => {
                Some(State::AfterValue)
            }
            _ => None,
        }
    }
}
