//! D9 on long random streams: any cutting gives what the oracle says.

use mcp_sse_tests::chunking::{Random, agrees, assert_agrees};
use mcp_sse_tests::oracle;

/// Pieces that fields, line ends, text and faults are made of; the long ones reach the vector code of the searches, and
/// whole blocks the way that usual blocks take.
const PIECES: [&[u8]; 35] = [
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"data:",
    b"data",
    b"event: ",
    b"id: ",
    b"retry: ",
    b":",
    b" ",
    b"message",
    b"endpoint",
    b"12",
    b"0",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xE4\xB8\x96\xE7\x95\x8C",
    b"\xF0\x9F\x98\x80",
    b"\xE4\xB8",
    b"\xF0\x9F",
    b"\x80",
    b"\xFF",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"the quick brown fox\"}]}}",
    b"0123456789abcdef0123456789abcdef",
    "\u{4E16}\u{754C}\u{4F60}\u{597D}\u{8FD9}\u{662F}\u{4E00}\u{4E2A}\u{6D4B}\u{8BD5}\u{6D41}\u{5F0F}\u{4F20}\u{8F93}\u{7684}\u{4EE4}\u{724C}\u{589E}\u{91CF}\u{3002}\u{4E16}\u{754C}".as_bytes(),
    b"foo: ",
    b"\x0B\x0C",
    // Blocks as servers send them.
    b"event: endpoint\nid: 100001\ndata: {\"a\":1}\n\n",
    b"event: message\r\ndata: {}\r\n\r\n",
    b": keep-alive\n\n",
    b"data: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0\n\n",
    b"\n\ndata: ",
];

fn stream(random: &mut Random) -> Vec<u8> {
    (0..random.below(200)).flat_map(|_| random.pick(&PIECES).iter().copied()).collect()
}

#[test]
fn d9_random_streams_in_random_chunks() {
    let mut random = Random::new(1);
    for _ in 0..3000 {
        let bytes = stream(&mut random);
        let reading = oracle::read(&bytes);
        for largest in [3, 30, 300] {
            let mut rest = &bytes[..];
            let mut chunks = Vec::new();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(random.below(largest).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            assert_agrees(&chunks, &reading);
        }
        assert_agrees(&[&bytes], &reading);
    }
}

/// The check itself can fail: one byte changed is noticed.
#[test]
fn the_comparison_notices_a_difference() {
    let reading = oracle::read(b"id: 1\ndata: a\n\n");
    assert!(agrees(&[b"id: 1\ndata: a\n\n"], &reading));
    let others: [&[u8]; 5] =
        [b"id: 1\ndata: b\n\n", b"id: 2\ndata: a\n\n", b"id: 1\ndata: a\n", b"id: 1\ndata: a\n\nx", b""];
    for other in others {
        assert!(!agrees(&[other], &reading));
    }
}
