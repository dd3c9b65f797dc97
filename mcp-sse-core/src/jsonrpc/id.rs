//! Ids, equal in type and value (E15).
//!
//! Rules: integers, strings and null are kept apart; 7, 7.0 and 7e0 are one value and become one id; no number passes
//! through floating point, so ids beyond 53 bits, and beyond 64, stay exact. Whose id it is, is judged elsewhere.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};

use super::grammar::{Completeness, WHITE_SPACE, check};
use super::text::decode;

/// The most zeros that writing a number out in full may add; a short text must not grow into a long one.
const MAX_ADDED_ZEROS: i64 = 400;

/// An exponent of more digits than this is not computed with.
const MAX_EXPONENT_DIGITS: usize = 18;

/// The id of a JSON-RPC message. An absent id is no `Id`, and is told from null by the `Option` around it.
///
/// Equality is that of type and value: `7`, `7.0` and `70e-1` are equal, `7` and `"7"` are not ([`spells`](Self::spells)).
/// `Display` writes JSON.
///
/// ```
/// use mcp_sse_core::jsonrpc::Id;
/// assert_eq!(Id::parse("7.0"), Some(Id::from(7)));
/// assert_ne!(Id::parse("\"7\""), Some(Id::from(7)));
/// assert_eq!(Id::from("a\n").to_json(), r#""a\n""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Id {
    /// `null`: what a server writes that could not read the request's id.
    Null,
    /// An integer of 64 bits, however it was written.
    Integer(i64),
    /// Any other number: larger integers, and numbers with a fraction.
    Number(Decimal),
    /// A string.
    String(Box<str>),
}

/// A number that is no 64-bit integer, exact, in one canonical text for each value.
///
/// Written out in full if that adds no more than 400 zeros (`1e30` is, `1e9999` is not), else as its significant digits and
/// an exponent. Only a number whose exponent has more than 18 digits keeps the text it came as, and equals no other
/// spelling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(Box<str>);

impl Decimal {
    /// The number as JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_written_as_integer(&self) -> bool {
        self.0.strip_prefix('-').unwrap_or(&self.0).bytes().all(|byte| byte.is_ascii_digit())
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Why a raw value is no id, or no text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    WrongType,
    LoneSurrogate,
}

impl Id {
    /// Reads the JSON text of an id: a number, a string or `null`, with white space around it or without.
    ///
    /// Gives nothing for other values, for text that is no JSON, and for a string holding half of a surrogate pair (it
    /// could not be told from another).
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let raw = raw.trim_matches(WHITE_SPACE);
        match check(raw) {
            Completeness::Whole => Self::from_checked(raw).ok(),
            _ => None,
        }
    }

    /// As [`parse`](Self::parse), for a value whose grammar was checked.
    pub(super) fn from_checked(raw: &str) -> Result<Self, Unreadable> {
        match raw.bytes().next() {
            Some(b'n') => Ok(Self::Null),
            Some(b'"') => {
                let decoded = decode(raw).ok_or(Unreadable::WrongType)?;
                if decoded.is_lossy {
                    return Err(Unreadable::LoneSurrogate);
                }
                Ok(Self::String(decoded.text.into()))
            }
            Some(b'-' | b'0'..=b'9') => Ok(number(raw)),
            _ => Err(Unreadable::WrongType),
        }
    }

    /// The id as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.to_string()
    }

    /// Whether the two are equal in value but not in type: an integer, and the string that spells it (E15), in either order.
    ///
    /// The string must be the integer's plain decimal digits: `"7"` spells 7; `"07"`, `"+7"`, `"7.0"` and `" 7"` do not.
    ///
    /// ```
    /// use mcp_sse_core::jsonrpc::Id;
    /// assert!(Id::from("7").spells(&Id::from(7)));
    /// assert!(!Id::from(7).spells(&Id::from(7)));
    /// ```
    #[must_use]
    pub fn spells(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::String(text), Self::Integer(value)) | (Self::Integer(value), Self::String(text)) => {
                is_canonical_integer(text) && text.parse() == Ok(*value)
            }
            (Self::String(text), Self::Number(value)) | (Self::Number(value), Self::String(text)) => {
                value.is_written_as_integer() && **text == *value.as_str()
            }
            _ => false,
        }
    }
}

/// Decimal digits as an integer is written by every encoder: no plus, no leading zero, no `-0`.
fn is_canonical_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match digits.as_bytes() {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Integer(value) => fmt::Display::fmt(value, formatter),
            Self::Number(value) => formatter.write_str(value.as_str()),
            Self::String(text) => write_string(formatter, text),
        }
    }
}

/// Writes a JSON string with the escapes RFC 8259 asks for and no others.
fn write_string(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    formatter.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => formatter.write_str("\\\"")?,
            '\\' => formatter.write_str("\\\\")?,
            '\n' => formatter.write_str("\\n")?,
            '\r' => formatter.write_str("\\r")?,
            '\t' => formatter.write_str("\\t")?,
            '\0'..='\u{1f}' => write!(formatter, "\\u{:04x}", u32::from(character))?,
            _ => formatter.write_char(character)?,
        }
    }
    formatter.write_char('"')
}

impl From<i64> for Id {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Id {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u32> for Id {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for Id {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Number(Decimal(value.to_string().into())), Self::Integer)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Id {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

/// Reads a JSON number as an exact decimal: its significant digits times a power of ten.
fn number(raw: &str) -> Id {
    // As nearly all are written.
    if let Ok(plain) = raw.parse() {
        return Id::Integer(plain);
    }
    let (sign, magnitude) = raw.strip_prefix('-').map_or(("", raw), |magnitude| ("-", magnitude));
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));

    let mut digits = String::with_capacity(integer.len() + fraction.len());
    digits.push_str(integer);
    digits.push_str(fraction);
    let without_trailing = digits.trim_end_matches('0');
    let trailing = length(&digits) - length(without_trailing);
    let significant = without_trailing.trim_start_matches('0');
    if significant.is_empty() {
        return Id::Integer(0);
    }
    let Some(exponent) = small_exponent(exponent) else {
        return Id::Number(Decimal(raw.into()));
    };
    // Lengths of texts in memory and 18 digits of exponent: far from the edges of 64 bits.
    let exponent = exponent.saturating_sub(length(fraction)).saturating_add(trailing);

    let before_point = length(significant).saturating_add(exponent);
    let text = if exponent > MAX_ADDED_ZEROS || before_point < -MAX_ADDED_ZEROS {
        format!("{sign}{significant}e{exponent}")
    } else if exponent >= 0 {
        format!("{sign}{significant}{}", zeros(exponent))
    } else if before_point <= 0 {
        format!("{sign}0.{}{significant}", zeros(-before_point))
    } else {
        let (integer, fraction) =
            usize::try_from(before_point).ok().and_then(|at| significant.split_at_checked(at)).unwrap_or_default();
        format!("{sign}{integer}.{fraction}")
    };
    text.parse().map_or_else(|_| Id::Number(Decimal(text.into())), Id::Integer)
}

fn small_exponent(exponent: &str) -> Option<i64> {
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent).trim_start_matches('0');
    match digits.len() {
        0 => Some(0),
        1..=MAX_EXPONENT_DIGITS => {
            let value: i64 = digits.parse().ok()?;
            Some(if exponent.starts_with('-') { -value } else { value })
        }
        _ => None,
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

fn zeros(count: i64) -> String {
    "0".repeat(usize::try_from(count).unwrap_or_default())
}
