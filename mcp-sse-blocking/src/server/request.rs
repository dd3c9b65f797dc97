//! The head of a request, and how its body is framed (RFC 9112).
//!
//! Rules: what can be read in two ways is refused, since somebody in front of us may have read it in the other one: a body
//! with two lengths or two framings, a host that comes twice, a coding that nobody here knows. What a request means is not
//! known here.

use httparse::Status;
use mcp_sse_core::http::{Chunk, ChunkedReader, MalformedChunk, RequestHead};

/// More header lines than that no client sends; the client takes as many of a response.
const MAX_HEADERS: usize = 128;

/// A request, but for its body.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) head: RequestHead,
    pub(super) body: Framing,
    /// Whether the client lets the connection be used again.
    pub(super) keeps_alive: bool,
    /// Whether it is HTTP/1.1, and so knows chunked framing.
    pub(super) is_http11: bool,
    /// Whether the client waits to be told that its body is wanted.
    pub(super) expects_continue: bool,
    /// HEAD: the response has no body.
    pub(super) wants_head_only: bool,
}

/// How a body is framed, and what is left of it.
#[derive(Debug)]
pub(super) enum Framing {
    /// So many bytes.
    Length(u64),
    /// In chunks.
    Chunked(ChunkedReader),
}

/// Why a request is refused by its head alone: the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadHead(pub(super) u16);

const MALFORMED: BadHead = BadHead(400);
/// An expectation that is not met (RFC 9110 section 10.1.1).
const EXPECTATION: BadHead = BadHead(417);
/// Too many header lines.
const TOO_LARGE: BadHead = BadHead(431);
/// Not HTTP/1.
const VERSION: BadHead = BadHead(505);

impl Framing {
    /// What stands at the front of the input, framing taken off.
    pub(super) fn read(&mut self, input: &mut &[u8]) -> Result<Chunk, MalformedChunk> {
        match self {
            Self::Length(0) => Ok(Chunk::End),
            Self::Length(_) if input.is_empty() => Ok(Chunk::More),
            Self::Length(left) => Ok(Chunk::Data(usize::try_from(*left).unwrap_or(usize::MAX).min(input.len()))),
            Self::Chunked(reader) => reader.read(input),
        }
    }

    /// So many bytes of data were used.
    pub(super) fn take(&mut self, bytes: usize) {
        match self {
            Self::Length(left) => *left = left.saturating_sub(bytes as u64),
            Self::Chunked(reader) => reader.take(bytes),
        }
    }

    /// Whether there is no body at all.
    pub(super) const fn is_nothing(&self) -> bool {
        matches!(self, Self::Length(0))
    }
}

/// The length of the head at the front of `input`, its empty line included, once that has come. `seen` bytes were looked
/// at before.
pub(super) fn head_bytes(input: &[u8], seen: usize) -> Option<usize> {
    // The empty line may have begun before.
    let from = seen.saturating_sub(3);
    let new = input.get(from..)?;
    let ends = new.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| from + at + 1);
    ends.into_iter().find(|end| {
        let line = input.get(..end - 1).unwrap_or_default();
        line.ends_with(b"\n") || line.ends_with(b"\n\r")
    })
}

/// Reads a whole head.
pub(super) fn read(head: &[u8]) -> Result<Request, BadHead> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) => return Err(MALFORMED),
        Err(httparse::Error::TooManyHeaders) => return Err(TOO_LARGE),
        Err(httparse::Error::Version) => return Err(VERSION),
        Err(_) => return Err(MALFORMED),
    }
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(MALFORMED);
    };
    let is_http11 = minor == 1;
    let (authority, target) = split_target(target);
    let mut request = RequestHead::new(method, target);
    // A target in absolute form names the host as well; where the two differ, neither is believed.
    if let Some(authority) = authority {
        request.header("Host", authority.as_bytes());
    }
    let mut facts = Facts::default();
    for header in parsed.headers.iter() {
        request.header(header.name, header.value);
        facts.add(header.name, header.value)?;
    }
    let expects_continue = facts.expects_continue && is_http11;
    Ok(Request {
        head: request,
        keeps_alive: is_http11 && !facts.closes,
        is_http11,
        expects_continue,
        wants_head_only: method == "HEAD",
        body: facts.framing(is_http11)?,
    })
}

/// The first value of a header in a head that was read, if it is text.
pub(super) fn header_of<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    parsed.parse(head).ok()?;
    let header = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(header.value).ok()
}

/// What the headers say of the connection and the body.
#[derive(Default)]
struct Facts {
    length: Option<u64>,
    is_chunked: bool,
    has_host: bool,
    closes: bool,
    expects_continue: bool,
}

impl Facts {
    fn add(&mut self, name: &str, value: &[u8]) -> Result<(), BadHead> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("content-length") {
            if self.length.is_some() || !value.iter().all(u8::is_ascii_digit) {
                return Err(MALFORMED);
            }
            let digits = std::str::from_utf8(value).map_err(|_| MALFORMED)?;
            self.length = Some(digits.parse().map_err(|_| MALFORMED)?);
        } else if is("transfer-encoding") {
            if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(MALFORMED);
            }
            self.is_chunked = true;
        } else if is("host") {
            // RFC 9112 section 3.2.
            if self.has_host {
                return Err(MALFORMED);
            }
            self.has_host = true;
        } else if is("connection") {
            self.closes |=
                value.split(|byte| *byte == b',').any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"));
        } else if is("expect") {
            if !value.eq_ignore_ascii_case(b"100-continue") {
                return Err(EXPECTATION);
            }
            self.expects_continue = true;
        }
        Ok(())
    }

    /// RFC 9112 section 6.3, without what it leaves to the recipient's courage.
    fn framing(&self, is_http11: bool) -> Result<Framing, BadHead> {
        match (self.is_chunked, self.length) {
            (true, None) if is_http11 => Ok(Framing::Chunked(ChunkedReader::new())),
            (true, _) => Err(MALFORMED),
            (false, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }
}

/// The authority and the rest of a target in absolute form (RFC 9112 section 3.2.2); any other is all rest.
fn split_target(target: &str) -> (Option<&str>, &str) {
    let behind = |scheme: &str| {
        let start = target.get(..scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then(|| target.get(scheme.len()..)).flatten()
    };
    let Some(rest) = behind("http://").or_else(|| behind("https://")) else {
        return (None, target);
    };
    match rest.find(['/', '?']) {
        Some(end) => {
            let (authority, path) = rest.split_at(end);
            (Some(authority), path)
        }
        None => (Some(rest), "/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(head: &str) -> Result<(bool, u64), u16> {
        match read(head.as_bytes()) {
            Ok(Request { body: Framing::Length(length), .. }) => Ok((false, length)),
            Ok(Request { body: Framing::Chunked(_), .. }) => Ok((true, 0)),
            Err(BadHead(status)) => Err(status),
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let post = |headers: &str| status(&format!("POST /mcp HTTP/1.1\r\nHost: a\r\n{headers}\r\n"));
        assert_eq!(post(""), Ok((false, 0)));
        assert_eq!(post("Content-Length: 12\r\n"), Ok((false, 12)));
        assert_eq!(post("transfer-encoding: Chunked\r\n"), Ok((true, 0)));
        for bad in [
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length: 1 1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 18446744073709551616\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding : chunked\r\n",
            "Transfer-Encoding\r\n",
            "X: 1\r\n folded\r\n",
            "Host: b\r\n",
        ] {
            assert_eq!(post(bad), Err(400), "{bad:?}");
        }
        assert_eq!(post("Expect: 200-ok\r\n"), Err(417));
        assert_eq!(status("POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), Err(400));
        assert_eq!(status("POST /mcp HTTP/2.0\r\n\r\n"), Err(505));
        assert_eq!(status("POST /mcp\r\n\r\n"), Err(400));
        assert_eq!(post(&"X: 1\r\n".repeat(MAX_HEADERS)), Err(431));
    }

    #[test]
    fn a_target_in_absolute_form_names_the_host() {
        let head = |target: &str, host: &str| {
            let head = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let request = read(head.as_bytes()).expect("a head").head;
            (request.path().to_owned(), request.host().get().map(str::to_owned))
        };
        let of = |path: &str, host: Option<&str>| (path.to_owned(), host.map(str::to_owned));
        assert_eq!(head("/mcp?a=1", "a"), of("/mcp", Some("a")));
        assert_eq!(head("HTTP://a:80/mcp?b", "a:80"), of("/mcp", Some("a:80")));
        assert_eq!(head("http://a", "a"), of("/", Some("a")));
        assert_eq!(head("https://b/mcp", "a"), of("/mcp", None));
        assert_eq!(head("*", "a"), of("*", Some("a")));
    }

    #[test]
    fn a_head_is_found_whatever_its_pieces() {
        for (input, end) in [
            ("GET / HTTP/1.1\r\nA: b\r\n\r\nrest", Some(24)),
            ("GET / HTTP/1.1\nA: b\n\nrest\n\n", Some(21)),
            ("GET / HTTP/1.1\r\nA: b\r\n\r", None),
            ("", None),
        ] {
            let mut seen = 0;
            let mut found = None;
            for length in 0..=input.len() {
                found = found.or_else(|| head_bytes(&input.as_bytes()[..length], seen));
                seen = length;
            }
            assert_eq!(found, end, "{input:?}");
            assert_eq!(head_bytes(input.as_bytes(), 0), end, "{input:?}");
        }
    }
}
