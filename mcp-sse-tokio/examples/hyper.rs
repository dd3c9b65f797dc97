//! An exchange over a bare connection of hyper's: the verdict without this crate's client.
//!
//! `cargo run -p mcp-sse-tokio --example hyper` starts a server that breaks its stream in the middle of the
//! answer, and shows what is decided.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Sse};
use mcp_sse_tokio::Clock;
use mcp_sse_tokio::body::ExchangeStream;
use mcp_sse_tokio::core::exchange::{Exchange, ExchangeConfig, ExchangeEvent, Request, Verdict};
use tokio::net::TcpStream;

/// A body in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let peer = Peer::start();
    let stream = Script::new(Response::sse([Sse::progress(1), Sse::charged()]));
    let scenario = peer.scenario([stream.cut(At::mark(Mark::AnswerEnd).plus(-5), Ending::Reset)]);

    let (mut sender, connection) = http1::handshake(TokioIo::new(TcpStream::connect(peer.address()).await?)).await?;
    tokio::spawn(async move { drop(connection.await) });
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"charge","arguments":{}}}"#;
    let request = http::Request::post(scenario.path())
        .header("Host", peer.address().to_string())
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(Whole(Some(Bytes::from_static(body.as_bytes()))))?;

    let clock = Clock::new();
    let exchange = Exchange::new(&Request::new("tools/call").with_id(7), ExchangeConfig::default(), clock.now());
    let mut events = ExchangeStream::new(exchange, clock, sender.send_request(request).await?);
    while let Some(event) = events.next().await {
        match event {
            ExchangeEvent::Answer(answer) => println!("answer: {}", answer.message.as_json()),
            ExchangeEvent::Ended(Verdict::Reissue { cause, exposure }) => {
                println!("lost ({cause}), having got as far as {exposure}: send it again, under a new id");
            }
            ExchangeEvent::Ended(verdict) => println!("verdict: {verdict:?}"),
            event => println!("{event:?}"),
        }
    }
    Ok(())
}
