//! A runtime of your own: the loop over smol, a task for each call.
//!
//! `cargo run -p mcp-sse-core --example smol` starts a server that breaks two of three streams, and makes a call on each at
//! once, in one thread.
#![allow(clippy::disallowed_methods, reason = "an embedder has a clock; the core has none")]

mod http1;

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use http1::{Response, request_bytes};
use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Done, Endpoint, ExchangeId, HttpRequest, Reply, Step};
use mcp_sse_core::exchange::{BreakKind, Misuse};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Script};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::TcpStream;
use smol::{LocalExecutor, Timer, future};

/// An exchange on its way.
struct Connection {
    exchange: ExchangeId,
    stream: TcpStream,
    response: Response,
}

fn main() -> Result<(), Box<dyn Error>> {
    let peer = Peer::start();
    let cases = [
        ("lost", Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Reset)),
        ("delivered, then broken", Script::whole().cut(At::mark(Mark::AnswerEnd), Ending::Reset)),
        ("sound", Script::whole()),
    ];
    let executor = LocalExecutor::new();
    let calls = cases.map(|(name, first)| {
        let scenario = peer.scenario([first, Script::whole()]);
        let params = r#"{"name":"charge","arguments":{"amount":100}}"#;
        let url = scenario.url();
        (name, scenario, executor.spawn(async move { call(&url, "tools/call", params).await }))
    });
    smol::block_on(executor.run(async {
        for (name, scenario, call) in calls {
            let (reply, done) = call.await?;
            println!("{name}: {done}; it ran {} times: {}", scenario.executions(), reply.message().as_json());
        }
        Ok(())
    }))
}

/// One call, from its first step to its last.
async fn call(url: &str, method: &str, params: &str) -> Result<(Reply, Done), Box<dyn Error>> {
    let start = Instant::now();
    let now = || Timestamp::new(start.elapsed());
    let mut client = Client::new(Endpoint::parse(url)?, ClientConfig::default());
    let (mut connection, mut reply) = (None, None);
    client.call(method, Some(params), CallOptions::default().with_timeout(Duration::from_secs(10)), now())?;
    loop {
        while let Some(step) = client.poll_step(now()) {
            match step {
                Step::Send(exchange, request) => connection = send(&mut client, exchange, &request, now).await?,
                Step::Close(_) | Step::Release(_) => connection = None,
                // Here the answer waits for the end of its stream; a program would hand it on at once.
                Step::Event(_, event) => reply = Reply::from_event(event).ok().or(reply),
                Step::Done(_, done) => return Ok(done.into_reply(reply)?),
                _ => {}
            }
        }
        if let Some(connection) = &mut connection {
            read(&mut client, connection, now).await?;
        }
        client.on_timeout(now());
    }
}

/// Connects and writes the request, for as long as the exchange allows, and tells how far that got.
async fn send(
    client: &mut Client,
    id: ExchangeId,
    request: &HttpRequest,
    now: impl Fn() -> Timestamp,
) -> Result<Option<Connection>, Misuse> {
    let Some(exchange) = client.exchange(id) else {
        return Ok(None);
    };
    let due = exchange.poll_timeout();
    let connecting = TcpStream::connect((request.endpoint.host(), request.endpoint.port()));
    let mut stream = match before(due, &now, connecting).await {
        Some(Ok(stream)) => stream,
        Some(Err(_)) => return exchange.on_broken(BreakKind::Connect, now()).map(|()| None),
        None => return exchange.on_timeout(now()).map(|()| None),
    };
    exchange.on_connected(now())?;
    let bytes = request_bytes(request);
    let written = before(due, &now, stream.write_all(&bytes)).await;
    exchange.on_sending(now())?;
    // If it fails, something has not been written. The server may have answered all the same, so that the response is read.
    if matches!(written, Some(Ok(()))) {
        exchange.on_sent(now())?;
    }
    Ok(Some(Connection { exchange: id, stream, response: Response::default() }))
}

/// Tells what has been received, or receives more, for as long as the exchange allows.
async fn read(client: &mut Client, connection: &mut Connection, now: impl Fn() -> Timestamp) -> Result<(), Misuse> {
    let Connection { exchange, stream, response } = connection;
    let Some(exchange) = client.exchange(*exchange) else {
        return Ok(());
    };
    if response.tell(exchange, now())? {
        return Ok(());
    }
    let mut buffer = [0; 16 << 10];
    match before(exchange.poll_timeout(), &now, stream.read(&mut buffer)).await {
        Some(Ok(0)) => response.tell_end(BreakKind::Closed, exchange, now()),
        Some(Ok(length)) => {
            response.receive(&buffer[..length]);
            Ok(())
        }
        Some(Err(error)) => response.tell_end(BreakKind::from(&error), exchange, now()),
        None => Ok(()),
    }
}

/// What comes of the I/O, unless it is due before.
async fn before<T>(
    due: Option<Timestamp>,
    now: impl Fn() -> Timestamp,
    io: impl Future<Output = io::Result<T>>,
) -> Option<io::Result<T>> {
    let timer = due.map_or_else(Timer::never, |due| Timer::after(due.saturating_duration_since(now())));
    let late = async {
        timer.await;
        None
    };
    future::or(async { Some(io.await) }, late).await
}
