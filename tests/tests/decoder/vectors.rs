//! The recorded vectors (`corpus/decoder/vectors.json`): every cut into two and three chunks, byte by byte, with
//! empty chunks between, against what is recorded and against the oracle.

use mcp_sse_tests::chunking::{assert_agrees, every_way};
use mcp_sse_tests::oracle::{self, Tail};
use serde_json::Value;

#[test]
fn d9_every_vector_in_every_way() {
    let corpus: Value = serde_json::from_str(include_str!("../../corpus/decoder/vectors.json")).unwrap();
    let vectors = corpus["vectors"].as_array().unwrap();
    assert!(vectors.len() > 50);
    for vector in vectors {
        let name = vector["name"].as_str().unwrap();
        let bytes = from_hex(vector["input_hex"].as_str().unwrap());
        let reading = oracle::read(&bytes);

        let events: Vec<_> = vector["events"].as_array().unwrap().iter().map(event).collect();
        assert_eq!(reading.events, events, "{name}");
        assert_eq!(reading.retry, vector["retry"].as_u64(), "{name}");
        assert_eq!(reading.last_event_id, vector["last_event_id"].as_str().unwrap(), "{name}");
        assert_eq!(reading.tail != Tail::Nothing, vector["pending"].as_bool().unwrap(), "{name}");

        every_way(&bytes, |chunks| assert_agrees(chunks, &reading));
    }
}

fn event(value: &Value) -> oracle::Event {
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    oracle::Event { kind: text("type"), data: text("data"), last_event_id: text("id") }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().map(|digit| digit.to_digit(16).unwrap().try_into().unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
