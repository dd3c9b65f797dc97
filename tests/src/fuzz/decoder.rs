//! The decoder against its oracle, with the chunking chosen by the fuzzer; and the decoder under small limits.
//!
//! Input: a byte `n`, then `n % 16` chunk lengths, one byte each and taken in turn (none: one chunk), then the stream.

use mcp_sse_core::sse::{DecodeError, DecoderConfig, Finish, Part, SseDecoder};

use crate::chunking::assert_agrees;
use crate::oracle;

/// The target's body.
///
/// # Panics
/// When the decoder breaks a rule.
pub fn run(data: &[u8]) {
    let Some((&count, rest)) = data.split_first() else {
        return;
    };
    let (lengths, stream) = rest.split_at(usize::from(count % 16).min(rest.len()));
    let chunks = chunks(lengths, stream);
    assert_agrees(&chunks, &oracle::read(stream));
    for limit in [0, 1, 7, 40] {
        for reject in [false, true] {
            limited(&chunks, limit, reject);
        }
    }
}

fn chunks<'s>(lengths: &[u8], stream: &'s [u8]) -> Vec<&'s [u8]> {
    let mut rest = stream;
    let mut chunks = Vec::new();
    // A round of empty chunks only would never end.
    if lengths.iter().any(|&length| length > 0) {
        for &length in lengths.iter().cycle() {
            let (chunk, after) = rest.split_at(usize::from(length).min(rest.len()));
            chunks.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    chunks.push(rest);
    chunks
}

/// What came out, as text: enough to compare two runs.
type Trace = Vec<String>;

/// Bounds hold at every step, and the outcome is that of the whole stream in one chunk.
fn limited(chunks: &[&[u8]], limit: usize, reject: bool) {
    let config = DecoderConfig::default()
        .with_max_event_bytes(limit)
        .with_max_id_bytes(limit)
        .with_max_kind_bytes(limit)
        .with_max_comment_bytes(limit)
        .with_comments(true)
        .with_blocks(true)
        .with_reject_invalid_utf8(reject);
    let whole = chunks.concat();
    assert_eq!(trace(config, chunks), trace(config, &[&whole]), "limit {limit}, reject {reject}");
}

fn trace(config: DecoderConfig, chunks: &[&[u8]]) -> Trace {
    let limit = config.max_event_bytes;
    let mut decoder = SseDecoder::with_config(config);
    let mut trace = Trace::new();
    let mut length = 0;
    for &chunk in chunks {
        let mut input = chunk;
        length += chunk.len() as u64;
        loop {
            match decoder.decode_part(&mut input) {
                Ok(None) => break,
                Ok(Some(Part::Event(event))) => {
                    assert!(event.data().len() <= limit && event.kind().len() <= limit.max("message".len()));
                    assert!(event.last_event_id().len() <= limit);
                    trace.push(format!("{event:?} {}", event.kind_is_cut()));
                }
                Ok(Some(Part::Comment(comment))) => {
                    assert!(comment.len() <= limit);
                    trace.push(format!("comment {comment}"));
                }
                Ok(Some(part)) => trace.push(format!("{part:?}")),
                Err(error) => {
                    let (DecodeError::EventTooLarge { position, .. } | DecodeError::InvalidUtf8 { position }) = error
                    else {
                        panic!("{error}");
                    };
                    assert!(position < length);
                    trace.push(error.to_string());
                }
            }
            // Data, the value of the line, name, id and last id; and the five bytes of an unfinished field name.
            assert!(decoder.held_bytes() <= 5 * limit + 5, "holds {}", decoder.held_bytes());
            assert!(decoder.capacity_bytes() <= 5 * limit, "reserves {}", decoder.capacity_bytes());
        }
        assert!(input.is_empty());
    }
    assert_eq!(decoder.position(), length);
    trace.push(format!("{:?}", decoder.clone().finish(Finish::Strict)));
    trace.push(format!("{:?}", decoder.finish(Finish::Flush)));
    trace.push(format!("{} {:?}", decoder.last_event_id(), decoder.retry()));
    assert_eq!(decoder.position(), 0);
    trace
}
