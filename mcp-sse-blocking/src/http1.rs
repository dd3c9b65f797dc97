//! HTTP/1.1 heads, by ureq-proto: a request's bytes, a response's facts, and how its body is framed.
//!
//! Rule: bytes in, bytes and facts out; no socket here.

use http::{HeaderMap, HeaderName, HeaderValue, Request, Version, header};
use mcp_sse_core::client::HttpRequest;
use mcp_sse_core::http::ResponseHead;
use ureq_proto::client::state::RecvResponse;
use ureq_proto::client::{Call, RecvResponseResult, SendRequestResult};
use ureq_proto::{BodyMode, Error};

/// A head of status 100 may have this many header lines; in the field it has none.
const MAX_INTERIM_HEADERS: usize = 32;

/// A request as bytes, and the state that reads its response.
pub(crate) fn write_request(request: &HttpRequest) -> Result<(Vec<u8>, Call<RecvResponse>), Error> {
    let refused = |error: http::Error| Error::BadHeader(error.to_string());
    let builder = Request::builder().method(request.method).uri(request.endpoint.as_str());
    let mut built = builder.body(()).map_err(refused)?;
    let headers = built.headers_mut();
    headers.reserve(request.headers.len() + 4);
    // The longest line must fit into the buffer at once, and all lines do.
    let mut room = request.endpoint.as_str().len() + 256;
    for (name, value) in &request.headers {
        room += name.len() + value.len() + 4;
        let name = HeaderName::try_from(&**name).map_err(|error| refused(error.into()))?;
        let value = HeaderValue::try_from(&**value).map_err(|error| refused(error.into()))?;
        headers.append(name, value);
    }
    let body_bytes = request.body.len();
    if body_bytes > 0 {
        headers.insert(header::CONTENT_LENGTH, body_bytes.into());
    }

    let mut call = Call::new(built)?.proceed();
    let mut head = vec![0; room];
    let mut written = 0;
    while !call.can_proceed() {
        written += call.write(head.get_mut(written..).unwrap_or_default())?;
    }
    head.truncate(written);
    let call = match call.proceed()? {
        Some(SendRequestResult::SendBody(mut call)) => {
            call.consume_direct_write(body_bytes)?;
            call.proceed().ok_or(Error::BodyNotAllowed)?
        }
        // GET and DELETE have none.
        Some(SendRequestResult::RecvResponse(call)) if body_bytes == 0 => call,
        _ => return Err(Error::BodyNotAllowed),
    };
    Ok((head, call))
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
    /// It has more header lines than ureq-proto takes (128).
    TooLarge,
}

impl From<Error> for HeadError {
    fn from(error: Error) -> Self {
        match error {
            Error::HttpParseTooManyHeaders => Self::TooLarge,
            _ => Self::Malformed,
        }
    }
}

/// Reads a head off the front of `input`. `call` is used up by a final head.
pub(crate) fn read_head(call: &mut Option<Call<RecvResponse>>, input: &[u8]) -> Result<Head, HeadError> {
    if let Some(bytes) = continue_bytes(input) {
        return Ok(Head::Interim(bytes));
    }
    let mut reading = call.take().ok_or(HeadError::Malformed)?;
    let (bytes, response) = reading.try_response(input, false)?;
    let Some(response) = response else {
        *call = Some(reading);
        return Ok(if bytes == 0 { Head::More } else { Head::Interim(bytes) });
    };
    if response.status().is_informational() {
        // 101: nobody asked for another protocol.
        return Err(HeadError::Malformed);
    }
    let framing = match reading.proceed() {
        Some(RecvResponseResult::RecvBody(body)) => match body.body_mode() {
            BodyMode::NoBody => BodyFraming::None,
            BodyMode::LengthDelimited(bytes) => BodyFraming::Length(bytes),
            BodyMode::Chunked => BodyFraming::Chunked,
            BodyMode::CloseDelimited => BodyFraming::UntilClose,
        },
        _ => BodyFraming::None,
    };
    let headers = response.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let head = ResponseHead::from_headers(response.status().as_u16(), headers);
    let keeps_alive = framing != BodyFraming::UntilClose && keeps_alive(response.version(), response.headers());
    Ok(Head::Final(Box::new(FinalHead { bytes, head, framing, keeps_alive })))
}

/// The bytes of a whole head of status 100 at the front of `input`. ureq-proto takes header lines in one for
/// an error, but they are as good there as in any other interim head (RFC 9110 section 15.2).
fn continue_bytes(input: &[u8]) -> Option<usize> {
    if !matches!(input.get(8..12), Some(b" 100")) {
        return None;
    }
    let mut headers = [httparse::EMPTY_HEADER; MAX_INTERIM_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(input) {
        Ok(httparse::Status::Complete(bytes)) if response.code == Some(100) => Some(bytes),
        _ => None,
    }
}

/// RFC 9112 section 9.3.
fn keeps_alive(version: Version, headers: &HeaderMap) -> bool {
    let says = |option: &str| {
        let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(option))
    };
    !says("close") && (version != Version::HTTP_10 || says("keep-alive"))
}
