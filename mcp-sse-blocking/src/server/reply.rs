//! Response heads as bytes, and the chunks of a body (RFC 9112).
//!
//! Rule: what is not the core's to say is said here: length or framing, date, and whether the connection goes on.

use std::io::Write as _;

use http::StatusCode;
use mcp_sse_core::server::{ReplyBody, ReplyHead};

use crate::clock::http_date;

/// Tells a client that its body is wanted.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// Ends a chunked body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// How the body behind a head is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFraming {
    Length(usize),
    Chunked,
    /// HTTP/1.0 knows no other for a body of unknown length.
    UntilClose,
}

/// Writes a head.
pub(super) fn write_head(out: &mut Vec<u8>, head: &ReplyHead, framing: BodyFraming, keeps_alive: bool) {
    let length = match &head.body {
        ReplyBody::Stream => framing,
        ReplyBody::Whole(body) => BodyFraming::Length(body.len()),
        _ => BodyFraming::Length(0),
    };
    begin(out, head.status);
    for (name, value) in head.headers.iter() {
        line(out, name, value);
    }
    end(out, length, keeps_alive);
}

/// A whole response of the adapter's own: a status that says that HTTP itself went wrong, after which the connection closes.
pub(super) fn refusal(status: u16) -> Vec<u8> {
    let mut out = Vec::new();
    begin(&mut out, status);
    end(&mut out, BodyFraming::Length(0), false);
    out
}

/// A whole response that says that no thread is free for what was asked.
pub(super) fn busy(keeps_alive: bool) -> Vec<u8> {
    const BODY: &[u8] = br#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"The server is busy"}}"#;
    let mut out = Vec::new();
    begin(&mut out, 503);
    line(&mut out, "Content-Type", "application/json");
    line(&mut out, "Retry-After", "1");
    end(&mut out, BodyFraming::Length(BODY.len()), keeps_alive);
    out.extend_from_slice(BODY);
    out
}

/// Begins a chunk of so many bytes, which a line end is to follow.
pub(super) fn begin_chunk(out: &mut Vec<u8>, bytes: usize) {
    // A vector takes all.
    write!(out, "{bytes:x}\r\n").ok();
}

fn begin(out: &mut Vec<u8>, status: u16) {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default();
    write!(out, "HTTP/1.1 {status} {reason}\r\nDate: {}\r\n", http_date()).ok();
}

fn line(out: &mut Vec<u8>, name: &str, value: &str) {
    write!(out, "{name}: {value}\r\n").ok();
}

fn end(out: &mut Vec<u8>, framing: BodyFraming, keeps_alive: bool) {
    match framing {
        BodyFraming::Length(bytes) => line(out, "Content-Length", &bytes.to_string()),
        BodyFraming::Chunked => line(out, "Transfer-Encoding", "chunked"),
        BodyFraming::UntilClose => {}
    }
    if !keeps_alive {
        line(out, "Connection", "close");
    }
    out.extend_from_slice(b"\r\n");
}
