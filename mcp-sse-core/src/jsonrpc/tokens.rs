//! A checked JSON text as tokens, in one pass: for readers that must see into nested values without recursion.
//!
//! Rules: the whole text is checked for grammar first; a token is a slice of it, nothing is decoded, nothing is kept of
//! what is open. Who reads keeps what it needs of the way down, so that a deep text costs it no more than that.

use super::grammar::{Completeness, WHITE_SPACE, check};

/// A piece of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A member's name, raw; its value comes next.
    Key(&'a str),
    /// A string, number or literal, raw.
    Scalar(&'a str),
    /// `{`
    OpenObject,
    /// `[`
    OpenArray,
    /// `}` or `]`
    Close,
}

/// The tokens of a text, in order; none if it is not one whole JSON value.
pub(crate) fn tokens(text: &str) -> Tokens<'_> {
    Tokens { rest: if check(text) == Completeness::Whole { text } else { "" } }
}

/// See [`tokens`].
pub(crate) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start_matches(WHITE_SPACE);
        taken
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        Some(match self.rest.bytes().next()? {
            b'{' => {
                self.take(1);
                Token::OpenObject
            }
            b'[' => {
                self.take(1);
                Token::OpenArray
            }
            b'}' | b']' => {
                self.take(1);
                Token::Close
            }
            b'"' => {
                let string = self.take(string_length(self.rest));
                // In a whole text a colon follows a name, and nothing else.
                if self.rest.starts_with(':') { Token::Key(string) } else { Token::Scalar(string) }
            }
            _ => {
                let end = self.rest.find([',', '}', ']', ' ', '\t', '\n', '\r']).unwrap_or(self.rest.len());
                Token::Scalar(self.take(end))
            }
        })
    }
}

/// The length of the string that a text begins with, quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let closing = text.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    closing.map_or(text.len(), |inner| inner + 2)
}
