//! D10 and D11: what is lent, what is copied, what is allocated, by the decoder and by the exchange around it. A test
//! binary of its own, since it counts every allocation of the process; so it is one test.

use std::alloc::System;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Request};
use mcp_sse_core::http::ResponseHead;
use mcp_sse_core::sse::{DecoderConfig, SseDecoder};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn d11_memory() {
    steady_streams_allocate_nothing();
    one_line_inside_the_chunk_is_lent();
    a_large_event_costs_one_copy();
    a_large_event_asks_for_what_a_growing_buffer_needs();
    after_a_large_event_small_ones_ask_for_no_more_than_before();
    a_large_answer_is_collected_once_and_never_copied();
    capacity_is_bounded_at_every_step_and_given_back();
}

fn read(decoder: &mut SseDecoder, stream: &[u8], size: usize) -> usize {
    let mut events = 0;
    for chunk in stream.chunks(size) {
        let mut input = chunk;
        while decoder.decode(&mut input).unwrap().is_some() {
            events += 1;
        }
    }
    events
}

fn steady_streams_allocate_nothing() {
    let json = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}";
    let streams = [
        format!("event: message\ndata: {json}\n\n").repeat(500),
        format!("event: delta\nid: abcdef\ndata: {json}\r\n\r\n: ping\n\n").repeat(500),
        format!("event: a\ndata: {json}\ndata: {json}\n\nevent: b\nid\ndata: \u{4E16}\u{FF}\n\n").repeat(500),
        format!("id: 1\nretry: 5\ndata: {}\n\n", "x".repeat(40_000)).repeat(5),
        // What servers of models send, with CRLF; and in Chinese, with emoji.
        (0..500).map(|id| format!("event: text_delta\r\nid: {id}\r\ndata: {json}\r\n\r\n")).collect(),
        (0..500)
            .map(|id| format!("event: delta\nid: {id}\ndata: {{\"text\":\"\u{4E16}\u{754C}\u{1F30D}\"}}\n\n"))
            .collect(),
        // MCP: progress, then a result of some KiB.
        format!("{}data: {}\n\n", format!("data: {json}\n\n").repeat(20), "x".repeat(6000)).repeat(20),
        // Keep-alives, the same and not, and one event so that all was read.
        format!("{}data: {json}\n\n", ": keep-alive\n\n".repeat(500)),
        format!("{}data: {json}\n\n", (0..500).map(|time| format!(": ping {time}\n\n")).collect::<String>()),
    ];
    for stream in &streams {
        for size in [1, 7, 64, 1460, usize::MAX] {
            let mut decoder = SseDecoder::new();
            // The buffers grow once.
            let events = read(&mut decoder, stream.as_bytes(), size);
            assert!(events > 0);
            let region = Region::new(ALLOCATOR);
            assert_eq!(read(&mut decoder, stream.as_bytes(), size), events);
            let change = region.change();
            assert_eq!((change.allocations, change.reallocations), (0, 0), "chunks of {size}");
        }
    }
    // Whole events in the chunk, of one type and without ids: not even at first.
    let region = Region::new(ALLOCATOR);
    read(&mut SseDecoder::new(), streams[0].as_bytes(), usize::MAX);
    assert_eq!(region.change().allocations, 0);
}

fn one_line_inside_the_chunk_is_lent() {
    let mut decoder = SseDecoder::new();
    let chunk = b"event: x\n: hi\ndata: one\nid: 1\r\n\r\ndata: two\ndata: lines\n\ndata: cut";
    let mut input = &chunk[..];
    let event = decoder.decode(&mut input).unwrap().unwrap();
    assert!(event.data_is_lent());
    assert!(chunk.as_ptr_range().contains(&event.data().as_ptr()), "the data lies in the chunk");
    assert!(!decoder.decode(&mut input).unwrap().unwrap().data_is_lent());
    assert!(decoder.decode(&mut input).unwrap().is_none());
    input = b" here\n\nid: 2\n";
    let event = decoder.decode(&mut input).unwrap().unwrap();
    assert_eq!((event.data(), event.data_is_lent()), ("cut here", false));
    // Other fields may come in an earlier chunk.
    assert!(decoder.decode(&mut input).unwrap().is_none());
    input = b"data: lent\n\n";
    let event = decoder.decode(&mut input).unwrap().unwrap();
    assert_eq!((event.data(), event.last_event_id(), event.data_is_lent()), ("lent", "2", true));
    // What is not UTF-8 cannot be.
    input = b"data: \xFF\n\n";
    assert!(!decoder.decode(&mut input).unwrap().unwrap().data_is_lent());
}

fn a_large_event_costs_one_copy() {
    const LENGTH: usize = 256 * 1024 * 1024;
    let mut stream = b"data: ".to_vec();
    stream.resize(6 + LENGTH, b'x');
    stream.extend(b"\n\n");
    let config = DecoderConfig::default().with_max_event_bytes(LENGTH);

    // Whole: lent, and nothing is allocated.
    let region = Region::new(ALLOCATOR);
    let mut decoder = SseDecoder::with_config(config);
    let mut input = &stream[..];
    assert_eq!(decoder.decode(&mut input).unwrap().unwrap().data().len(), LENGTH);
    assert_eq!(region.change().bytes_allocated, 0);

    // In chunks: collected once, and the buffer itself is handed over.
    let mut data = None;
    for chunk in stream.chunks(1 << 16) {
        let mut input = chunk;
        while let Some(event) = decoder.decode(&mut input).unwrap() {
            let lies_at = event.data().as_ptr();
            let text = event.into_data();
            assert_eq!(text.as_ptr(), lies_at);
            data = Some(text);
        }
        assert!(decoder.capacity_bytes() <= 2 * decoder.held_bytes() + chunk.len());
    }
    assert_eq!(data.unwrap().len(), LENGTH);
    assert_eq!(decoder.capacity_bytes(), 0);
}

/// D10: while it grows, a buffer at most doubles. All that is asked for counts, so what is held at the peak is no more.
fn a_large_event_asks_for_what_a_growing_buffer_needs() {
    const CHUNK: usize = 1460;
    // Of one line and of many, whole chunks and not; a size just above what doubling reaches is among them.
    for lines in [1, 3000] {
        for length in (0..24).map(|step| 3_000_000 + step * 130_000) {
            let line = format!("data: {}\n", "x".repeat(length / lines));
            let stream = format!("{}\n", line.repeat(lines));
            let mut decoder = SseDecoder::new();
            let region = Region::new(ALLOCATOR);
            assert_eq!(read(&mut decoder, stream.as_bytes(), CHUNK), 1);
            let asked = region.change().bytes_allocated;
            assert!(10 * asked <= 22 * length + 10 * CHUNK, "{asked} for {length} in {lines} lines");
        }
    }
}

/// D10: an outsized event leaves nothing behind that the next ones would take along, whether they are lent or kept.
fn after_a_large_event_small_ones_ask_for_no_more_than_before() {
    const CHUNK: usize = 1460;
    let small = format!("id: 1\ndata: {}\n\ndata: two\ndata: lines\n\n", "x".repeat(100)).repeat(100);
    let asked = |decoder: &mut SseDecoder| {
        let region = Region::new(ALLOCATOR);
        let events = read(decoder, small.as_bytes(), CHUNK);
        let lent = region.change().bytes_allocated;
        let mut kept = Vec::with_capacity(events);
        let region = Region::new(ALLOCATOR);
        for chunk in small.as_bytes().chunks(CHUNK) {
            let mut input = chunk;
            while let Some(event) = decoder.decode(&mut input).unwrap() {
                kept.push(event.into_data());
            }
        }
        assert_eq!((events, kept.len()), (200, 200));
        (lent, region.change().bytes_allocated, kept.iter().map(String::capacity).sum::<usize>())
    };
    let mut decoder = SseDecoder::new();
    let before = asked(&mut decoder);
    let large = format!("data: {}\n\n", "x".repeat(16 << 20));
    assert_eq!(read(&mut decoder, large.as_bytes(), CHUNK), 1);
    let after = asked(&mut decoder);
    assert!(after.0 <= before.0 && after.1 <= before.1 && after.2 <= before.2, "{after:?} after, {before:?} before");
}

/// E2, D10: what an exchange hands out is the decoder's buffer itself, if the answer came in chunks; one that lies whole in
/// the chunk is copied once, since the chunk does not last.
fn a_large_answer_is_collected_once_and_never_copied() {
    let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{}\"}}", "x".repeat(4 << 20));
    let stream = format!("data: {text}\n\n");
    for (chunk, most) in [(1460, 22), (stream.len(), 10)] {
        let now = Timestamp::ZERO;
        let mut exchange = Exchange::new(&Request::new("tools/call").with_id(1), ExchangeConfig::default(), now);
        let head = ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]);
        exchange.on_head(&head, now).unwrap();
        let mut answers = 0;
        let region = Region::new(ALLOCATOR);
        for chunk in stream.as_bytes().chunks(chunk) {
            let mut input = chunk;
            while !input.is_empty() {
                exchange.on_body(&mut input, now).unwrap();
                if let Some(ExchangeEvent::Answer(answer)) = exchange.poll_event() {
                    assert!(answer.message.as_json() == text);
                    answers += 1;
                }
            }
        }
        let asked = region.change().bytes_allocated;
        assert_eq!(answers, 1);
        // Its event and its head take some bytes besides.
        assert!(10 * asked <= most * text.len() + 10 * 4096, "{asked} for {} in chunks of {chunk}", text.len());
    }
}

fn capacity_is_bounded_at_every_step_and_given_back() {
    // What is kept for reuse when nothing is held.
    const KEPT: usize = 128 * 1024;
    for size in [1, 1000, 100_000] {
        let mut decoder = SseDecoder::new();
        for length in [10, 300_000, 10, 3_000_000, 50_000, 10] {
            let stream = format!("event: x\nid: 1\ndata: {}\n\n", "x".repeat(length));
            for chunk in stream.as_bytes().chunks(size) {
                let mut input = chunk;
                while decoder.decode(&mut input).unwrap().is_some() {}
                assert!(decoder.held_bytes() <= length + 16);
                let bound = (2 * decoder.held_bytes()).max(KEPT) + 4 * 64 + chunk.len();
                assert!(decoder.capacity_bytes() <= bound, "{} reserved", decoder.capacity_bytes());
            }
            assert!(decoder.capacity_bytes() <= KEPT + 4 * 64, "given back");
            assert_eq!(decoder.held_bytes(), 1, "the last event id");
        }
    }

    // A small event never takes a large buffer along.
    let mut decoder = SseDecoder::new();
    read(&mut decoder, format!("data: {}\ndata\n\ndata: a\n", "x".repeat(50_000)).as_bytes(), 1000);
    let mut input = &b"data: b\n\n"[..];
    let text = decoder.decode(&mut input).unwrap().unwrap().into_data();
    assert_eq!((text.as_str(), text.capacity()), ("a\nb", 3));
}
