//! `mcp-sse-core`'s `Exchange`: a body in, messages with their envelopes read out.
//!
//! It reads the stream as a channel of 2024-11-05, the one body that holds notifications and the answers to many requests.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{Carries, Exchange, ExchangeConfig, ExchangeEvent, Request};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};

use super::{Engine, Failure};
use crate::sink::Sink;

pub(super) struct Messages;

impl Engine for Messages {
    const NAME: &'static str = "mcp-sse-core, Exchange";

    fn decode<S: Sink>(stream: &'static [u8], chunk_bytes: usize, sink: &mut S) -> Result<(), Failure> {
        let now = Timestamp::ZERO;
        let request = Request::new("").with_carries(Carries::Channel).with_version(ProtocolVersion::V2024_11_05);
        let mut exchange = Exchange::new(&request, ExchangeConfig::default(), now);
        exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]), now)?;
        exchange.on_body(&mut &b"event: endpoint\ndata: /messages\n\n"[..], now)?;
        if !matches!(exchange.poll_event(), Some(ExchangeEvent::Endpoint(_))) {
            return Err("no endpoint".into());
        }
        for chunk in stream.chunks(chunk_bytes) {
            let mut rest = chunk;
            while !rest.is_empty() {
                exchange.on_body(&mut rest, now)?;
                while let Some(event) = exchange.poll_event() {
                    match event {
                        ExchangeEvent::Notification(message) | ExchangeEvent::Response(message) => {
                            sink.event("message", message.as_json(), "");
                        }
                        other => return Err(format!("another event: {other:?}").into()),
                    }
                }
            }
        }
        Ok(())
    }
}
