//! What the encoder writes, read back by the decoder: the same events, whatever the texts and however the bytes are cut.
//!
//! Input: a byte with the size of the chunks (0: one chunk), then operations: a byte that says which fields there are and
//! what is written, then a byte with the length of each text, and the text.

use std::time::Duration;

use mcp_sse_core::sse::{DecoderConfig, Finish, Tail};
use mcp_sse_core::sse::{EncodeError, EventFields, OwnedEvent, Part, SseDecoder, SseEncoder};

/// The target's body.
///
/// # Panics
/// When the encoder breaks a rule.
pub fn run(data: &[u8]) {
    let Some((&size, mut rest)) = data.split_first() else {
        return;
    };
    let mut out = Vec::new();
    let mut expected = Vec::new();
    let mut state = State::default();
    while let Some(operation) = take(&mut rest, 1) {
        let operation = operation[0];
        let kind = (operation & 1 != 0).then(|| text(&mut rest));
        let id = (operation & 2 != 0).then(|| text(&mut rest));
        let retry = (operation & 4 != 0).then(|| Duration::from_micros(u64::from(text(&mut rest).len() as u32) * 700));
        let content = text(&mut rest);
        let mut fields = EventFields::default();
        (fields.kind, fields.id, fields.retry) = (kind.as_deref(), id.as_deref(), retry);
        let before = out.len();
        let mut encoder = SseEncoder::new(&mut out);
        let data = match operation >> 3 & 3 {
            0 | 1 => encoder.event(fields, &content).map(|()| Some(normal(&content))),
            2 => encoder.json(fields, &content).map(|()| Some(content.replace(['\r', '\n'], " "))),
            _ => {
                encoder.comment(&content);
                Ok(None)
            }
        };
        match data {
            Ok(Some(data)) => expected.push(state.event(kind.as_deref(), id.as_deref(), retry, data)),
            Ok(None) => expected.push(Read::Comment(normal(&content))),
            Err(error) => {
                assert_eq!(out.len(), before, "nothing is written beside an error");
                let (blamed, position) = match error {
                    EncodeError::Name { position } => (kind, position),
                    EncodeError::Id { position } => (id, position),
                    other => panic!("no word for {other}"),
                };
                let byte = blamed.expect("a field that is there").as_bytes()[position];
                assert!(matches!(byte, b'\r' | b'\n' | 0));
            }
        }
    }
    let size = if size == 0 { out.len().max(1) } else { usize::from(size) };
    assert_eq!(read(&out, size), (expected, state.retry));
}

/// What a reader keeps between events.
#[derive(Default)]
struct State {
    last_event_id: String,
    retry: Option<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum Read {
    Event {
        kind: String,
        data: String,
        last_event_id: String,
    },
    /// The lines of comments that stand together.
    Comment(String),
}

impl State {
    fn event(&mut self, kind: Option<&str>, id: Option<&str>, retry: Option<Duration>, data: String) -> Read {
        if let Some(id) = id {
            self.last_event_id = id.to_owned();
        }
        if let Some(retry) = retry {
            self.retry = Some(u64::try_from(retry.as_nanos().div_ceil(1_000_000)).unwrap());
        }
        let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or("message").to_owned();
        Read::Event { kind, data, last_event_id: self.last_event_id.clone() }
    }
}

fn read(bytes: &[u8], size: usize) -> (Vec<Read>, Option<u64>) {
    let config = DecoderConfig::default().with_comments(true).with_blocks(true);
    let mut decoder = SseDecoder::with_config(config);
    let mut all = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    for mut chunk in bytes.chunks(size) {
        while let Some(part) = decoder.decode_part(&mut chunk).expect("no limit is passed") {
            match part {
                Part::Event(event) => {
                    let OwnedEvent { kind, data, last_event_id, .. } = event.to_owned();
                    all.push(Read::Event { kind, data, last_event_id });
                }
                Part::Comment(line) => comments.push(line.to_owned()),
                Part::Block => all.push(Read::Comment(std::mem::take(&mut comments).join("\n"))),
                other => panic!("no word for {other:?}"),
            }
        }
    }
    let retry = decoder.retry().map(|retry| u64::try_from(retry.as_millis()).unwrap());
    let finished = decoder.finish(Finish::Strict);
    assert_eq!((finished.tail, comments.len()), (Tail::Nothing, 0), "nothing is left unfinished");
    (all, retry)
}

/// CR and CRLF are read as LF.
fn normal(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

fn take<'d>(rest: &mut &'d [u8], length: usize) -> Option<&'d [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn text(rest: &mut &[u8]) -> String {
    let length = take(rest, 1).map_or(0, |length| usize::from(length[0]));
    let bytes = take(rest, length.min(rest.len())).unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}
