//! What a response says: status, header lines, body, coding, framing. Data only: `render` turns it into bytes.
//!
//! Rule: everything a sound or an unsound server could write can be said here, and the defaults are those of a sound one.

use super::coding::Coding;
use super::text::Text;

/// How the lines of an SSE body end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// LF.
    #[default]
    Lf,
    /// CR LF.
    CrLf,
    /// CR alone.
    Cr,
}

impl LineEnd {
    pub(super) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }
}

/// One block of an SSE body.
#[derive(Clone, Debug)]
pub struct Sse {
    pub(super) comment: Option<String>,
    pub(super) event: Option<String>,
    pub(super) id: Option<String>,
    pub(super) retry: Option<String>,
    pub(super) data: Option<Text>,
    pub(super) raw: Option<Vec<u8>>,
    pub(super) space: bool,
    pub(super) blank_line: bool,
}

impl Sse {
    /// A block with nothing but its blank line; the setters fill it.
    pub fn block() -> Self {
        Self { comment: None, event: None, id: None, retry: None, data: None, raw: None, space: true, blank_line: true }
    }

    /// An event of type `message`, named as such, with one `data` line for each line of the text.
    pub fn message(data: impl Into<Text>) -> Self {
        Self::data(data).event("message")
    }

    /// An event without an `event` line.
    pub fn data(data: impl Into<Text>) -> Self {
        Self { data: Some(data.into()), ..Self::block() }
    }

    /// The answer of the counted tool ([`Text::charged`]).
    pub fn charged() -> Self {
        Self::message(Text::charged())
    }

    /// A progress notification ([`Text::progress`]).
    pub fn progress(progress: u64) -> Self {
        Self::message(Text::progress(progress))
    }

    /// A comment block, as servers send to keep a connection alive.
    pub fn comment(text: &str) -> Self {
        Self { comment: Some(text.to_owned()), ..Self::block() }
    }

    /// Bytes as they are, with no line end added. An answer in them is not recognised as one.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { raw: Some(bytes.into()), ..Self::block() }
    }

    /// Sets the `event` line.
    pub fn event(mut self, name: &str) -> Self {
        self.event = Some(name.to_owned());
        self
    }

    /// Sets the `id` line.
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// Sets the `retry` line: milliseconds.
    pub fn retry(mut self, milliseconds: u64) -> Self {
        self.retry = Some(milliseconds.to_string());
        self
    }

    /// Leaves out the space after each colon.
    pub fn without_space(mut self) -> Self {
        self.space = false;
        self
    }

    /// Leaves out the blank line, so that the event never ends (or runs into the next).
    pub fn without_blank_line(mut self) -> Self {
        self.blank_line = false;
        self
    }
}

/// Chunked framing in its details.
#[derive(Clone, Debug, Default)]
pub struct Chunked {
    pub(super) sizes: Vec<usize>,
    pub(super) extension: String,
    pub(super) trailers: Vec<String>,
    pub(super) without_last: bool,
}

impl Chunked {
    /// A chunk for each SSE block, or one for the whole body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Chunks of these sizes in bytes (of the coded body), whatever the blocks are; the last size repeats. Zeros are skipped.
    pub fn sizes(mut self, sizes: impl Into<Vec<usize>>) -> Self {
        self.sizes = sizes.into();
        self.sizes.retain(|size| *size > 0);
        self
    }

    /// A chunk extension for every chunk, such as `a=b`.
    pub fn extension(mut self, extension: &str) -> Self {
        self.extension = format!(";{extension}");
        self
    }

    /// A trailer line after the last chunk, without its line end.
    pub fn trailer(mut self, line: &str) -> Self {
        self.trailers.push(line.to_owned());
        self
    }

    /// Leaves out the last chunk, so that nothing marks the body's end.
    pub fn without_last_chunk(mut self) -> Self {
        self.without_last = true;
        self
    }
}

/// How the body's end is told.
#[derive(Clone, Debug)]
pub enum Framing {
    /// `Transfer-Encoding: chunked`.
    Chunked(Chunked),
    /// A true `Content-Length`.
    ContentLength,
    /// A `Content-Length` that is off by this many bytes: positive declares more than is sent, negative less
    /// (no less than 0).
    WrongLength(isize),
    /// By the end of the connection. No framing header is written, so the body's bytes and headers can also be scripted by hand.
    UntilClose,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Sse(Vec<Sse>),
    Json(Text),
    Raw(Vec<u8>),
    Verbatim(Vec<u8>),
}

/// A response to be rendered for one request.
#[derive(Clone, Debug)]
pub struct Response {
    pub(super) version: &'static str,
    pub(super) status: u16,
    pub(super) reason: Option<String>,
    pub(super) interim: Vec<Vec<u8>>,
    pub(super) content_type: Option<String>,
    pub(super) header_lines: Vec<Vec<u8>>,
    pub(super) body: Body,
    pub(super) line_end: LineEnd,
    pub(super) coding: Coding,
    pub(super) framing: Framing,
    pub(super) close: bool,
}

impl Response {
    fn new(status: u16, content_type: Option<&str>, body: Body, framing: Framing) -> Self {
        Self {
            version: "HTTP/1.1",
            status,
            reason: None,
            interim: Vec::new(),
            content_type: content_type.map(str::to_owned),
            header_lines: Vec::new(),
            body,
            line_end: LineEnd::default(),
            coding: Coding::identity(),
            framing,
            close: false,
        }
    }

    /// 200 with an SSE body, chunked, a chunk for each block.
    pub fn sse(blocks: impl IntoIterator<Item = Sse>) -> Self {
        let body = Body::Sse(blocks.into_iter().collect());
        Self::new(200, Some("text/event-stream"), body, Framing::Chunked(Chunked::new()))
    }

    /// 200 with a JSON body under its Content-Length. The text need not be JSON.
    pub fn json(text: impl Into<Text>) -> Self {
        Self::new(200, Some("application/json"), Body::Json(text.into()), Framing::ContentLength)
    }

    /// 200 with these bytes as body under their Content-Length, and no content type.
    pub fn raw(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, None, Body::Raw(body.into()), Framing::ContentLength)
    }

    /// An empty body of length 0 under this status.
    pub fn empty(status: u16) -> Self {
        Self::raw(Vec::new()).status(status)
    }

    /// These bytes instead of a response, head included: garbage, or a head written by hand.
    pub fn verbatim(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(200, None, Body::Verbatim(bytes.into()), Framing::UntilClose)
    }

    /// Sets the status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Sets the reason phrase (else the usual one).
    pub fn reason(mut self, reason: &str) -> Self {
        self.reason = Some(reason.to_owned());
        self
    }

    /// Says HTTP/1.0 in the status line.
    pub fn http10(mut self) -> Self {
        self.version = "HTTP/1.0";
        self
    }

    /// Writes an interim response (1xx) with these header lines before the final head.
    pub fn interim(mut self, status: u16, header_lines: &[&str]) -> Self {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason_phrase(status));
        for line in header_lines {
            head.push_str(line);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        self.interim.push(head.into_bytes());
        self
    }

    /// Sets the content type.
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_type = Some(content_type.to_owned());
        self
    }

    /// Leaves out the content type.
    pub fn without_content_type(mut self) -> Self {
        self.content_type = None;
        self
    }

    /// Adds a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        self.header_line(format!("{name}: {value}"))
    }

    /// Adds a header line as it is, malformed or not; its CR LF is added.
    pub fn header_line(mut self, line: impl Into<Vec<u8>>) -> Self {
        self.header_lines.push(line.into());
        self
    }

    /// Sets the line end of an SSE body.
    pub fn line_end(mut self, line_end: LineEnd) -> Self {
        self.line_end = line_end;
        self
    }

    /// Sets the content coding.
    pub fn coding(mut self, coding: Coding) -> Self {
        self.coding = coding;
        self
    }

    /// Sets the framing.
    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Says `Connection: close`, and closes after the response.
    pub fn close(mut self) -> Self {
        self.close = true;
        self
    }

    /// Whether the connection can carry another request after this response.
    pub(super) fn keeps_alive(&self) -> bool {
        !self.close
            && self.version == "HTTP/1.1"
            && matches!(self.framing, Framing::Chunked(_) | Framing::ContentLength)
    }
}

pub(super) fn reason_phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}
