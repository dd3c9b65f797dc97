//! Messages, events and coded bodies to feed.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

/// A result for the id.
pub fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}"#)
}

/// An error for the id.
pub fn error(id: &str, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#)
}

/// A notification.
pub fn note(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{}}}}"#)
}

/// A progress notification for the token, given as JSON.
pub fn progress(token: &str) -> String {
    let params = format!(r#"{{"progressToken":{token},"progress":1}}"#);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#)
}

/// The data as one event.
pub fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// gzip's form of the pieces, which can each be inflated as soon as they came.
pub fn gzip(pieces: &[&[u8]]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    for piece in pieces {
        encoder.write_all(piece).and_then(|()| encoder.flush()).expect("memory takes all");
    }
    encoder.finish().expect("memory takes all")
}

/// The zlib form.
pub fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// Deflate data without a header.
pub fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}
