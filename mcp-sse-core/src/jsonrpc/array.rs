//! The elements of a top-level array (a batch, E25), one raw text at a time.
//!
//! Rules: the whole text is checked for grammar before the first element is given out; elements are found when they are
//! asked for, so that an array of millions of tiny ones costs no list of them. What an element is, is not asked here.

use core::iter::FusedIterator;

use super::envelope::{start, syntax};
use super::error::ReadError;
use super::grammar::{Completeness, WHITE_SPACE, check};
use super::walk::Walk;

/// Reads a top-level array as the raw texts of its elements, each of which then goes through [`read`](super::read).
///
/// An empty array has no elements, and is no error here. Positions in errors about an element count from its own start.
///
/// # Errors
/// [`ReadError::Syntax`] if the text is no JSON or was cut, anywhere in it; [`ReadError::NotAnArray`] if it is JSON of
/// another type.
///
/// ```
/// use mcp_sse_core::jsonrpc::read_array;
/// let elements: Vec<&str> = read_array(r#" [ {"a":[1]} , 2 ]"#)?.collect();
/// assert_eq!(elements, [r#"{"a":[1]}"#, "2"]);
/// # Ok::<(), mcp_sse_core::jsonrpc::ReadError>(())
/// ```
pub fn read_array(text: &str) -> Result<Elements<'_>, ReadError> {
    Ok(Elements { text, cursor: ArrayCursor::new(text)? })
}

/// The raw elements of an array, in order. See [`read_array`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    text: &'a str,
    cursor: ArrayCursor,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.cursor.next_element(self.text)
    }
}

impl FusedIterator for Elements<'_> {}

/// A place in an array whose text is kept elsewhere: for who owns the text and takes one element now and then.
///
/// ```
/// use mcp_sse_core::jsonrpc::ArrayCursor;
/// let text = String::from("[1,2]");
/// let mut cursor = ArrayCursor::new(&text)?;
/// assert_eq!(cursor.next_element(&text), Some("1"));
/// assert_eq!(cursor.next_element(&text), Some("2"));
/// assert_eq!(cursor.next_element(&text), None);
/// # Ok::<(), mcp_sse_core::jsonrpc::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayCursor {
    position: usize,
}

impl ArrayCursor {
    /// Checks that the text is one whole array, and stands before its first element.
    ///
    /// # Errors
    /// As [`read_array`].
    pub fn new(text: &str) -> Result<Self, ReadError> {
        let position = start(text);
        match (check(text), text.get(position..).and_then(|rest| rest.strip_prefix('['))) {
            (Completeness::Whole, Some(_)) => Ok(Self { position: position + 1 }),
            (Completeness::Whole, None) => Err(ReadError::NotAnArray { position }),
            _ => Err(syntax(text)),
        }
    }

    /// The next element of the array, of the text this was made for. With another text it may give any slices of that, or
    /// nothing.
    pub fn next_element<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let rest = text.get(self.position..)?.trim_start_matches(WHITE_SPACE);
        let rest = rest.strip_prefix(',').unwrap_or(rest).trim_start_matches(WHITE_SPACE);
        if rest.starts_with(']') {
            return None;
        }
        let mut walk = Walk::new(rest);
        walk.value()?;
        let (element, rest) = rest.split_at_checked(walk.position())?;
        self.position = text.len() - rest.len();
        Some(element)
    }
}
