//! The encoder beside the plainest one there is, and beside those of other crates.
//!
//! Rules of this file:
//! * All get the same events and give the stream's bytes. What they give is decoded first, and an encoder whose events are not
//!   those it was given is shown as wrong, not timed.
//! * Each gets its events as it likes them best. What owns its strings has to be given some, and pays for the copy.
//! * Into one buffer: as a server writes that has one for its connection. The others give a buffer of its own for each event.

use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use axum::response::IntoResponse as _;
use axum::response::sse;
use http_body_util::BodyExt as _;
use mcp_sse_benches::corpora::KINDS;
use mcp_sse_benches::sink::{Digest, Sink as _};
use mcp_sse_core::sse::{EventFields, SseDecoder, SseEncoder};

use super::rounds::{Amount, Entrant, measure};

/// No encoder that splits lines is faster.
const LEAST: f64 = 1.0;

const MIB: f64 = 1024.0 * 1024.0;

struct Event {
    kind: Option<String>,
    id: Option<String>,
    data: String,
}

/// Calls the function with pieces of the stream, in order.
type Encode = fn(&'static [Event], &mut dyn FnMut(&[u8]));

const ENCODERS: [(&str, Encode); 5] = [
    ("ours, into one buffer", into_one),
    ("ours", ours),
    ("`format!`", plain),
    ("sse-stream 0.3.0", sse_stream),
    ("axum 0.8", axum),
];

/// The first of other crates. `format!` is none: it does less than an encoder has to.
const PEERS: usize = 3;

pub(crate) fn print(amount: Amount) {
    let names: Vec<_> = ENCODERS.iter().skip(1).map(|(name, _)| format!("/ {name}")).collect();
    println!("| encoder | {}, MiB/s | {} | least of the crates | |", ENCODERS[0].0, names.join(" | "));
    println!("|---|---|{}---|---|", "---|".repeat(names.len()));
    for letter in "abgihd".chars() {
        row(letter, amount);
    }
    println!();
}

fn row(letter: char, amount: Amount) {
    let kind = KINDS.iter().find(|kind| kind.letter == letter).expect("there is such a stream");
    let corpus = kind.make(amount.bytes.min(kind.bytes));
    let events: &'static [Event] = events(corpus.stream).leak();
    let is_right = |encode: Encode| {
        let mut stream = Vec::new();
        encode(events, &mut |bytes| stream.extend_from_slice(bytes));
        digest(&stream) == corpus.events
    };
    let right = ENCODERS.map(|(_, encode)| is_right(encode));
    assert!(right[0] && right[1], "ours is wrong on {}", kind.name);
    let entrant = |&(_, encode): &(&str, Encode)| {
        let run = move || {
            let mut bytes = 0;
            encode(events, &mut |piece| bytes += piece.len() as u64);
            bytes
        };
        Entrant { run: Box::new(run) }
    };
    let entrants: Vec<_> = ENCODERS.iter().map(entrant).collect();
    let speeds = measure(&entrants, amount);
    let ratio = |index: usize| right[index].then(|| speeds[0].over(&speeds[index]));
    let cells: Vec<_> = (1..ENCODERS.len())
        .map(|index| ratio(index).map_or_else(|| "wrong".to_owned(), |ratio| format!("{ratio:.2}")))
        .collect();
    let least = (PEERS..ENCODERS.len()).filter_map(ratio).fold(f64::INFINITY, f64::min);
    println!(
        "| {letter}: {} | {:.0} | {} | {least:.2} | {} |",
        kind.name,
        speeds[0].median() * corpus.stream.len() as f64 / MIB,
        cells.join(" | "),
        if least >= LEAST { "pass" } else { "**short**" },
    );
}

fn events(stream: &[u8]) -> Vec<Event> {
    let mut decoder = SseDecoder::new();
    let mut events = Vec::new();
    let mut rest = stream;
    while let Some(event) = decoder.decode(&mut rest).expect("no limit is passed") {
        let event = event.to_owned();
        events.push(Event {
            kind: Some(event.kind).filter(|kind| kind != "message"),
            id: Some(event.last_event_id).filter(|id| !id.is_empty()),
            data: event.data,
        });
    }
    events
}

fn digest(stream: &[u8]) -> Digest {
    let mut decoder = SseDecoder::new();
    let mut digest = Digest::default();
    let mut rest = stream;
    while let Some(event) = decoder.decode(&mut rest).expect("no limit is passed") {
        digest.event(event.kind(), event.data(), event.last_event_id());
    }
    digest
}

fn fields(event: &Event) -> EventFields<'_> {
    let mut fields = EventFields::default();
    fields.kind = event.kind.as_deref();
    fields.id = event.id.as_deref();
    fields
}

fn into_one(events: &'static [Event], take: &mut dyn FnMut(&[u8])) {
    let mut out = Vec::new();
    for event in events {
        out.clear();
        SseEncoder::new(&mut out).event(fields(event), &event.data).expect("fields without line breaks");
        take(&out);
    }
}

fn ours(events: &'static [Event], take: &mut dyn FnMut(&[u8])) {
    for event in events {
        let mut out = Vec::new();
        SseEncoder::new(&mut out).event(fields(event), &event.data).expect("fields without line breaks");
        take(&out);
    }
}

/// What is written where no encoder is at hand. It checks nothing.
fn plain(events: &'static [Event], take: &mut dyn FnMut(&[u8])) {
    for event in events {
        let data = &event.data;
        let text = match (&event.kind, &event.id) {
            (Some(kind), Some(id)) => format!("event: {kind}\nid: {id}\ndata: {data}\n\n"),
            (Some(kind), None) => format!("event: {kind}\ndata: {data}\n\n"),
            (None, Some(id)) => format!("id: {id}\ndata: {data}\n\n"),
            (None, None) => format!("data: {data}\n\n"),
        };
        take(text.as_bytes());
    }
}

fn sse_stream(events: &'static [Event], take: &mut dyn FnMut(&[u8])) {
    for event in events {
        let mut out = ::sse_stream::Sse::default().data(event.data.as_str());
        out.event.clone_from(&event.kind);
        out.id.clone_from(&event.id);
        take(&out.encode().expect("fields without line breaks"));
    }
}

fn axum(events: &'static [Event], take: &mut dyn FnMut(&[u8])) {
    let encoded = events.iter().map(|event| {
        let mut out = sse::Event::default().data(&event.data);
        if let Some(kind) = &event.kind {
            out = out.event(kind);
        }
        if let Some(id) = &event.id {
            out = out.id(id);
        }
        Ok::<_, Infallible>(out)
    });
    let mut body = sse::Sse::new(futures_util::stream::iter(encoded)).into_response().into_body();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(frame)) = pin!(body.frame()).poll(&mut context) {
        if let Some(bytes) = frame.expect("it cannot fail").data_ref() {
            take(bytes);
        }
    }
}
