//! The bare loop: a call over `std::net`, and no adapter.
//!
//! `cargo run -p mcp-sse-core --example std_net` starts a server that loses the first answer, so that the call is sent twice.
//! `… --example std_net -- http://HOST/PATH` asks that server for its tools. One exchange at a time, so only 2026-07-28.
#![allow(clippy::disallowed_methods, reason = "an embedder has a clock; the core has none")]

mod http1;

use std::env;
use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use http1::{Response, request_bytes};
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    CallError, CallEvent, CallOptions, Client, ClientConfig, Endpoint, ExchangeId, HttpRequest, Step,
};
use mcp_sse_core::exchange::{BreakKind, Misuse};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Script};

/// An exchange on its way.
struct Connection {
    exchange: ExchangeId,
    stream: TcpStream,
    response: Response,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (peer, charge) = (Peer::start(), r#"{"name":"charge","arguments":{"amount":100}}"#);
    let lost = Script::whole().cut(At::mark(Mark::AnswerEnd).plus(-5), Ending::Reset);
    let scenario = peer.scenario([lost, Script::whole()]);
    let (url, method, params) = match env::args().nth(1) {
        None => (scenario.url(), "tools/call", Some(charge)),
        Some(url) => (url, "tools/list", None),
    };

    // The core has no clock: it is told the time since any moment that the embedder chooses.
    let start = Instant::now();
    let now = || Timestamp::new(start.elapsed());
    let mut client = Client::new(Endpoint::parse(&url)?, ClientConfig::default());
    let mut connection = None;

    // 1. A call.
    client.call(method, params, CallOptions::default().with_timeout(Duration::from_secs(10)), now())?;
    loop {
        // 2. The next step, until there is none.
        while let Some(step) = client.poll_step(now()) {
            // 3. It is carried out.
            match step {
                Step::Send(exchange, request) => connection = send(&mut client, exchange, &request, now)?,
                Step::Close(_) | Step::Release(_) => connection = None,
                Step::Event(_, CallEvent::Answer { answer, .. }) => println!("answer: {}", answer.message.as_json()),
                Step::Event(_, event) => println!("{event}"),
                Step::Done(_, done) => {
                    println!("{done}");
                    return CallError::from_done(done).map_or(Ok(()), |error| Err(error.into()));
                }
                _ => {}
            }
        }
        // 4 and 5. Facts and bytes, as they come.
        if let Some(connection) = &mut connection {
            read(&mut client, connection, now)?;
        }
        // 6. Time.
        client.on_timeout(now());
    }
}

/// Connects and writes the request, and tells how far that got.
fn send(
    client: &mut Client,
    id: ExchangeId,
    request: &HttpRequest,
    now: impl Fn() -> Timestamp,
) -> Result<Option<Connection>, Misuse> {
    let Some(exchange) = client.exchange(id) else {
        return Ok(None);
    };
    let Ok(mut stream) = TcpStream::connect((request.endpoint.host(), request.endpoint.port())) else {
        exchange.on_broken(BreakKind::Connect, now())?;
        return Ok(None);
    };
    exchange.on_connected(now())?;
    let written = stream.write_all(&request_bytes(request));
    exchange.on_sending(now())?;
    // If it fails, something has not been written. The server may have answered all the same, so that the response is read.
    if written.is_ok() {
        exchange.on_sent(now())?;
    }
    Ok(Some(Connection { exchange: id, stream, response: Response::default() }))
}

/// Tells what has been received, or receives more, for as long as the exchange allows.
fn read(client: &mut Client, connection: &mut Connection, now: impl Fn() -> Timestamp) -> Result<(), Misuse> {
    let Connection { exchange, stream, response } = connection;
    let Some(exchange) = client.exchange(*exchange) else {
        return Ok(());
    };
    if response.tell(exchange, now())? {
        return Ok(());
    }
    // A socket takes no time-out of zero.
    let left = exchange.poll_timeout().map(|due| due.saturating_duration_since(now()).max(Duration::from_millis(1)));
    let mut buffer = [0; 16 << 10];
    match stream.set_read_timeout(left).and_then(|()| stream.read(&mut buffer)) {
        Ok(0) => response.tell_end(BreakKind::Closed, exchange, now()),
        Ok(length) => {
            response.receive(&buffer[..length]);
            Ok(())
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(()),
        Err(error) => response.tell_end(BreakKind::from(&error), exchange, now()),
    }
}
