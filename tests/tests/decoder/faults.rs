//! Faults met in the field (`corpus/decoder/public-faults.json`): as recorded, in the recorded chunks with the running
//! count of events, and in every other way of cutting, against the oracle.

use mcp_sse_core::sse::{Finish, SseDecoder, Tail};
use mcp_sse_tests::chunking::{assert_agrees, cut, every_way, owned, retry_of};
use mcp_sse_tests::oracle;
use serde_json::Value;

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("../../corpus/decoder/public-faults.json")).unwrap()
}

#[test]
fn every_fault_as_recorded() {
    let mut streams_seen = 0;
    for case in cases() {
        let Some(streams) = case["input"]["streams"].as_array() else {
            continue;
        };
        for (stream, expected) in streams.iter().zip(case["expected"]["streams"].as_array().unwrap()) {
            check(&chunks(&case["input"]["enc"], stream), expected, case["id"].as_str().unwrap());
            streams_seen += 1;
        }
    }
    assert_eq!(streams_seen, 11);
}

/// D9: the same outcome in every other way of cutting.
#[test]
fn d9_every_fault_in_every_way() {
    for case in cases() {
        for stream in case["input"]["streams"].as_array().into_iter().flatten() {
            let bytes = chunks(&case["input"]["enc"], stream).concat();
            let reading = oracle::read(&bytes);
            if bytes.len() <= 150 {
                every_way(&bytes, |chunks| assert_agrees(chunks, &reading));
            }
            for place in 0..=bytes.len() {
                assert_agrees(&cut(&bytes, &[place]), &reading);
            }
        }
    }
}

fn check(chunks: &[Vec<u8>], expected: &Value, id: &str) {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    let mut counts = Vec::new();
    for chunk in chunks {
        let mut input = &chunk[..];
        while let Some(event) = decoder.decode(&mut input).unwrap() {
            events.push(owned(&event));
        }
        counts.push(events.len());
    }
    let expected_events: Vec<_> = expected["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let text = |key: &str| event[key].as_str().unwrap().to_owned();
            oracle::Event { kind: text("event"), data: text("data"), last_event_id: text("id") }
        })
        .collect();
    assert_eq!(events, expected_events, "{id}");
    if let Some(expected) = expected["events_after_chunk"].as_array() {
        let expected: Vec<_> = expected.iter().map(|count| usize::try_from(count.as_u64().unwrap()).unwrap()).collect();
        assert_eq!(counts, expected, "{id}");
    }
    assert_eq!(decoder.last_event_id(), expected["last_event_id"], "{id}");
    if expected["retry_ms"].is_string() {
        // In words: clamped to the maximum, or unchanged.
        assert_eq!(retry_of(&decoder), Some(u64::MAX), "{id}");
    } else {
        assert_eq!(retry_of(&decoder), expected["retry_ms"].as_u64(), "{id}");
    }
    // The corpus calls a complete id line without its blank line discarded; D8 calls that no tail, and the decoder
    // tells it apart as `discarded_fields`.
    let finished = decoder.finish(Finish::Strict);
    let discarded = finished.tail != Tail::Nothing || finished.discarded_fields;
    assert_eq!(Some(discarded), expected["discarded_at_eof"].as_bool(), "{id}");
}

fn chunks(encoding: &Value, stream: &Value) -> Vec<Vec<u8>> {
    let chunks = stream.as_array().unwrap().iter().map(|chunk| chunk.as_str().unwrap());
    match encoding.as_str() {
        Some("utf8") => chunks.map(|chunk| chunk.as_bytes().to_vec()).collect(),
        Some("latin1") => chunks.map(|chunk| chunk.chars().map(|byte| u8::try_from(byte).unwrap()).collect()).collect(),
        other => panic!("{other:?}"),
    }
}

/// D10 and D11 on the generated streams: one large event in many chunks, within its limit. (That the work is linear
/// is proved in the decoder's own tests, by counting.)
#[test]
fn d10_large_events_in_small_chunks() {
    let mut streams_seen = 0;
    for case in cases() {
        let Some(streams) = case["input"]["generated"].as_array() else {
            continue;
        };
        for (stream, expected) in streams.iter().zip(case["expected"]["generated"].as_array().unwrap()) {
            let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
            let unit = stream["unit"].as_str().unwrap().repeat(number(&stream["count"]));
            let text = [stream["prefix"].as_str().unwrap(), &unit, stream["suffix"].as_str().unwrap()].concat();
            let mut config = mcp_sse_core::sse::DecoderConfig::default();
            if let Some(limit) = stream["limit_bytes"].as_u64() {
                config = config.with_max_event_bytes(usize::try_from(limit).unwrap());
            }
            let mut decoder = SseDecoder::with_config(config);
            let mut lengths = Vec::new();
            for chunk in text.as_bytes().chunks(number(&stream["chunk_bytes"])) {
                let mut input = chunk;
                while let Some(event) = decoder.decode(&mut input).unwrap() {
                    lengths.push(event.data().len());
                }
            }
            assert_eq!(lengths, vec![number(&expected["data_bytes"]); number(&expected["events"])]);
            streams_seen += 1;
        }
    }
    assert_eq!(streams_seen, 3);
}
