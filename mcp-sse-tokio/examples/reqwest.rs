//! An exchange over reqwest: a response of its, turned into one of `http`'s, and the verdict.
//!
//! `cargo run -p mcp-sse-tokio --example reqwest` starts a server whose stream breaks after the answer.

use std::error::Error;
use std::time::Duration;

use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Sse};
use mcp_sse_tokio::Clock;
use mcp_sse_tokio::body::ExchangeStream;
use mcp_sse_tokio::core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Request};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let peer = Peer::start();
    let stream = Script::new(Response::sse([Sse::progress(1), Sse::charged()]));
    let scenario = peer.scenario([stream.cut(At::mark(Mark::AnswerTerminated), Ending::Reset)]);

    let clock = Clock::new();
    let config = ExchangeConfig::default().with_deadline(clock.now().saturating_add(Duration::from_secs(10)));
    let exchange = Exchange::new(&Request::new("tools/call").with_id(7), config, clock.now());
    let response = reqwest::Client::new()
        .post(scenario.url())
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"charge","arguments":{}}}"#)
        .send()
        .await?;
    let mut events = ExchangeStream::new(exchange, clock, http::Response::from(response));
    while let Some(event) = events.next().await {
        match event {
            ExchangeEvent::Answer(answer) => println!("answer: {}", answer.message.as_json()),
            ExchangeEvent::Ended(verdict) => println!("verdict: {verdict:?}"),
            event => println!("{event:?}"),
        }
    }
    Ok(())
}
