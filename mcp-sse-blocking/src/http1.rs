//! HTTP/1.1 heads: a request's bytes; a response's facts, read by httparse, and how its body is framed.
//!
//! Rule: bytes in, bytes and facts out; no socket here.

use httparse::Status;
use mcp_sse_core::client::HttpRequest;
use mcp_sse_core::http::ResponseHead;

/// More header lines than any server sends; the bound on a head's bytes holds besides.
const MAX_HEADERS: usize = 128;

/// The head of a request as bytes, with room for so many more; nothing if a name or a value cannot stand in one.
pub(crate) fn write_request(request: &HttpRequest, room: usize) -> Option<Vec<u8>> {
    let endpoint = &request.endpoint;
    let lines: usize = request.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
    let mut head = Vec::with_capacity(endpoint.as_str().len() + lines + 64 + room);
    for part in [request.method, " ", endpoint.target(), " HTTP/1.1\r\nHost: ", endpoint.authority(), "\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
    for (name, value) in &request.headers {
        let is_name = !name.is_empty() && all(name, |byte| byte.is_ascii_graphic() && byte != b':');
        let is_value = all(value, |byte| byte == b'\t' || !byte.is_ascii_control());
        if !is_name || !is_value {
            return None;
        }
        for part in [name, ": ", value, "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
    }
    if !request.body.is_empty() {
        head.extend_from_slice(b"Content-Length: ");
        head.extend_from_slice(request.body.len().to_string().as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    Some(head)
}

/// Whether this holds for each byte. Nearly always it does, so that none is worth a branch of its own.
fn all(text: &str, holds: impl Fn(u8) -> bool) -> bool {
    text.bytes().fold(true, |all, byte| all & holds(byte))
}

/// How the body of a response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    /// There is none.
    None,
    /// So many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
    /// Until the connection ends.
    UntilClose,
}

/// What the front of the input is.
pub(crate) enum Head {
    /// Not yet a head.
    More,
    /// An interim head (1xx) of so many bytes, of no interest.
    Interim(usize),
    /// The head, boxed for its size.
    Final(Box<FinalHead>),
}

/// The final head of a response.
pub(crate) struct FinalHead {
    /// Its bytes.
    pub(crate) bytes: usize,
    pub(crate) head: ResponseHead,
    pub(crate) framing: BodyFraming,
    /// Whether the connection may be used again once the body has been read.
    pub(crate) keeps_alive: bool,
}

/// Why a head cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadError {
    /// It is not HTTP/1.
    Malformed,
    /// It has more header lines than are taken.
    TooLarge,
}

/// Reads a head off the front of `input`.
pub(crate) fn read_head(input: &[u8]) -> Result<Head, HeadError> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let bytes = match response.parse(input) {
        Ok(Status::Complete(bytes)) => bytes,
        Ok(Status::Partial) => return Ok(Head::More),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLarge),
        Err(_) => return Err(HeadError::Malformed),
    };
    let is_http11 = response.version == Some(1);
    let status = match response.code {
        // 101: nobody asked for another protocol.
        None | Some(..100 | 101) => return Err(HeadError::Malformed),
        Some(102..200 | 100) => return Ok(Head::Interim(bytes)),
        Some(status) => status,
    };
    let head = ResponseHead::from_headers(status, response.headers.iter().map(|header| (header.name, header.value)));
    // RFC 9112 section 6.3: a length that is none leaves it in doubt where the body ends.
    let framing = match head.content_length() {
        _ if head.has_invalid_content_length() => return Err(HeadError::Malformed),
        _ if matches!(status, 204 | 304) => BodyFraming::None,
        _ if head.is_chunked() && is_http11 => BodyFraming::Chunked,
        Some(bytes) => BodyFraming::Length(bytes),
        None => BodyFraming::UntilClose,
    };
    let keeps_alive = framing != BodyFraming::UntilClose && keeps_alive(is_http11, response.headers);
    Ok(Head::Final(Box::new(FinalHead { bytes, head, framing, keeps_alive })))
}

/// RFC 9112 section 9.3.
fn keeps_alive(is_http11: bool, headers: &[httparse::Header<'_>]) -> bool {
    let says = |option: &str| {
        let mut values = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("connection"));
        values.any(|header| {
            let mut options = header.value.split(|byte| *byte == b',');
            options.any(|said| said.trim_ascii().eq_ignore_ascii_case(option.as_bytes()))
        })
    };
    !says("close") && (is_http11 || says("keep-alive"))
}
