//! Small tools for header text: white space, tokens, and copies that are safe to keep and to print.
//!
//! What a field means does not belong here.

use alloc::string::String;

/// Drops optional white space (space and tab, RFC 9110 5.6.3) from both ends; adapters differ in whether they did.
pub(super) fn trim_white_space(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// One character of a token (RFC 9110 5.6.2).
pub(super) const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

/// A non-empty run of token characters.
pub(super) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().copied().all(is_token_byte)
}

/// A copy for people: visible ASCII as it is, everything else (and the backslash) escaped, at most `max_bytes` long with
/// `...` at the end if something was left out.
pub(super) fn escaped(text: &[u8], max_bytes: usize) -> String {
    const CUT: &str = "...";
    let room = max_bytes.saturating_sub(CUT.len());
    let mut copy = String::new();
    for &byte in text {
        let before = copy.len();
        if byte.is_ascii_graphic() && byte != b'\\' || byte == b' ' {
            copy.push(char::from(byte));
        } else {
            copy.extend(byte.escape_ascii().map(char::from));
        }
        if copy.len() > room {
            copy.truncate(before);
            copy.push_str(CUT);
            break;
        }
    }
    copy
}

/// The value as text in which each control character became a space, as RFC 9110 5.5 has it for CR, LF and NUL, and
/// bytes that are no UTF-8 became U+FFFD.
pub(super) fn without_controls(value: &[u8]) -> String {
    String::from_utf8_lossy(value)
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}
