//! Response heads, header values and coded bodies from any bytes.
//!
//! The input: a status and header lines, as HTTP writes them but ended by LF; an empty line; one byte that chooses coding
//! and limit; one that seeds the chunking; the coded body.

use std::time::UNIX_EPOCH;

use mcp_sse_core::http::{
    CodingError, ContentCoding, HttpDate, INFLATE_PIECE, InflateEnd, Inflater, MediaType, Progress, ProtocolVersion,
    ResponseHead, RetryAfter, decode_value, encode_value, is_field_value, is_reserved, is_token,
};

/// Longest media type text a head may keep.
const MAX_MEDIA_TYPE_TEXT: usize = 128;

/// Runs one input.
///
/// # Panics
///
/// If an invariant does not hold.
pub fn run(data: &[u8]) {
    let head_end = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let mut lines = data[..head_end].split(|&byte| byte == b'\n');
    let status = lines.next().and_then(|line| std::str::from_utf8(line).ok()?.trim().parse().ok()).unwrap_or(200);
    let headers: Vec<(String, &[u8])> = lines
        .map(|line| {
            let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            (String::from_utf8_lossy(&line[..colon]).into_owned(), value)
        })
        .collect();
    check_head(status, &headers);
    for (name, value) in &headers {
        check_value(name, value);
    }
    if let Some([choice, seed, body @ ..]) = data.get(head_end + 2..) {
        check_inflater(*choice, *seed, body);
    }
}

fn check_head(status: u16, headers: &[(String, &[u8])]) {
    let head = ResponseHead::from_headers(status, headers.iter().map(|(name, value)| (name, value)));
    assert_eq!(head.status(), status);

    let mut shouted = ResponseHead::new(status);
    for (name, value) in headers {
        shouted.header(&name.to_ascii_uppercase(), &[b" \t", *value, b"\t "].concat());
    }
    assert_eq!(shouted, head, "neither a name's case nor outer white space matters");

    let printable = |text: &str| !text.chars().any(char::is_control);
    assert_eq!(head.media_type_text().is_none(), head.media_type() == MediaType::Missing);
    if let Some(text) = head.media_type_text() {
        assert!((1..=MAX_MEDIA_TYPE_TEXT).contains(&text.len()) && text.is_ascii() && printable(text));
    }
    assert!(head.content_length().is_none() || !head.has_invalid_content_length());
    let challenges = head.www_authenticate();
    assert!(challenges.len() <= ResponseHead::MAX_CHALLENGES);
    assert!(challenges.iter().map(String::len).sum::<usize>() <= ResponseHead::MAX_CHALLENGE_BYTES);
    assert!(challenges.iter().all(|challenge| printable(challenge)));
    if let Some(session) = head.session_id() {
        assert!((1..=ResponseHead::MAX_SESSION_ID_BYTES).contains(&session.len()));
        assert!(session.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    if let Some(location) = head.location() {
        assert!(location.len() <= ResponseHead::MAX_LOCATION_BYTES && printable(location));
    }
    match head.retry_after() {
        Some(wait @ RetryAfter::Seconds(seconds)) => {
            assert_eq!(wait.delay().map(|delay| delay.as_secs()), Some(seconds));
        }
        Some(wait @ RetryAfter::At { date, server_time }) => {
            assert_eq!(server_time, head.date());
            let expected = server_time.map(|now| date.unix_seconds().saturating_sub(now.unix_seconds()));
            assert_eq!(wait.delay().map(|delay| delay.as_secs()), expected);
        }
        _ => assert!(head.retry_after().is_none()),
    }
    let shown = format!("{head:?}");
    assert!(shown.len() < 64 * 1024 && printable(&shown));
}

fn check_value(name: &str, value: &[u8]) {
    if is_reserved(name) {
        assert!(is_token(name) || name.len() > "mcp-param-".len());
    }
    let text = String::from_utf8_lossy(value);
    let encoded = encode_value(&text);
    assert!(is_field_value(&encoded));
    assert_eq!(decode_value(&encoded).as_deref(), Ok(&*text));
    if let Ok(decoded) = decode_value(&text) {
        assert_eq!(decode_value(&encode_value(&decoded)).as_deref(), Ok(&*decoded));
    }

    let text = text.trim();
    if let (Some(ours), Ok(theirs)) = (HttpDate::parse(text.as_bytes()), httpdate::parse_http_date(text)) {
        let theirs = theirs.duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        assert_eq!(Ok(ours.unix_seconds()), theirs.map_err(|_| ()));
    }
    if let Ok(version) = text.parse::<ProtocolVersion>() {
        assert_eq!(version.as_str(), text);
        assert!(version >= ProtocolVersion::V2024_11_05);
    }
}

/// All that came of a coded body.
#[derive(Debug, PartialEq, Eq)]
struct Story {
    output: Vec<u8>,
    error: Option<CodingError>,
    end: InflateEnd,
}

fn check_inflater(choice: u8, seed: u8, body: &[u8]) {
    let coding = if choice & 1 == 0 { ContentCoding::Gzip } else { ContentCoding::Deflate };
    // 0 to 127 KiB; the highest choice leaves room for more than one window.
    let limit = u64::from(choice >> 1) * 1024;
    let at_once = tell(coding, limit, [body]);
    assert!(at_once.output.len() as u64 <= limit);
    match at_once.error {
        Some(CodingError::TooLarge { limit: named }) => {
            assert_eq!((named, at_once.output.len() as u64), (limit, limit));
        }
        Some(CodingError::Corrupt { position }) => {
            assert_eq!(position, at_once.output.len() as u64)
        }
        _ => {}
    }
    assert_eq!(tell(coding, limit, Chunks { rest: body, state: u32::from(seed) }), at_once);
    if body.len() < 4096 {
        assert_eq!(tell(coding, limit, body.chunks(1)), at_once);
    }
    // A prefix gives a prefix, unless the rest was corrupt in the same place.
    let half = tell(coding, limit, [&body[..body.len() / 2]]);
    assert!(at_once.output.starts_with(&half.output));
}

/// Chunks of 0 to 63 bytes, as the seed has it.
struct Chunks<'a> {
    rest: &'a [u8],
    state: u32,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = (self.state >> 26) as usize;
        let (chunk, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        Some(chunk)
    }
}

/// Feeds the chunks and checks what every call promises.
fn tell<'a>(coding: ContentCoding, limit: u64, chunks: impl IntoIterator<Item = &'a [u8]>) -> Story {
    let mut inflater = Inflater::new(coding, limit).expect("this coding can be inflated");
    let (mut output, mut error) = (Vec::new(), None);
    'body: for mut input in chunks {
        loop {
            let before = output.len();
            let result = inflater.inflate(&mut input, &mut output);
            let appended = output.len() - before;
            assert!(appended <= INFLATE_PIECE);
            match result {
                Ok(Progress::More) => assert!(appended > 0),
                Ok(Progress::NeedInput) => {
                    assert!(appended == 0 && input.is_empty());
                    break;
                }
                Ok(other) => panic!("{other:?}"),
                Err(found) => {
                    assert_eq!(appended, 0);
                    assert_eq!(inflater.inflate(&mut &b"more"[..], &mut output), Err(found));
                    error = Some(found);
                    break 'body;
                }
            }
        }
    }
    assert_eq!(inflater.inflated_bytes(), output.len() as u64);
    Story { output, error, end: inflater.end() }
}
