//! A proxy: what an MCP server sends goes through event by event.
//!
//! `cargo run -p mcp-sse-tokio --example proxy` starts a server that breaks its streams, and shows what a client makes of them
//! through the proxy. `… --example proxy -- http://HOST` forwards to that server what comes to port 8000 of the loopback address,
//! or to the address that follows.
//!
//! - A reader that is slow: the server is not read on before an event was written, so that it is held up in its turn. What is
//!   kept here is one chunk, and an event that is not whole.
//! - A stream that breaks: it breaks here, too, after all that came before; an end that nothing marked is none here either. What
//!   has come of an unfinished event is forwarded, unfinished: it may hold the whole answer.
//! - An answer goes through once. Nothing is asked for again: whoever lost an answer does that, and if a proxy did so as well,
//!   calls would run twice.
//! - A client that goes: its request is dropped, which in 2026-07-28 cancels it.
//!
//! The client's side is a bare socket. hyper's server, when a body fails, throws away what it has not written yet, and so events
//! from before the break.

use std::env;
use std::error::Error;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Sse};
use mcp_sse_tokio::core::http::{ContentCoding, MediaType, ResponseHead};
use mcp_sse_tokio::core::sse::{Event, EventFields, Finish, Part, SseDecoder, SseEncoder};
use mcp_sse_tokio::{CallOptions, Client};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_BODY_BYTES: usize = 4 << 20;
/// What belongs to one connection (RFC 9110 section 7.6.1), what is stated anew, and what would have events come coded.
const NOT_FORWARDED: [HeaderName; 8] = [
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::CONTENT_LENGTH,
    header::HOST,
    header::ACCEPT_ENCODING,
];

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let Some(server) = arguments.next() else {
        return demonstrate().await;
    };
    let listener = TcpListener::bind(arguments.next().unwrap_or_else(|| "127.0.0.1:8000".to_owned())).await?;
    println!("http://{}/ forwards to {server} until Ctrl-C", listener.local_addr()?);
    tokio::select! {
        () = serve(listener, server) => {}
        pressed = tokio::signal::ctrl_c() => pressed?,
    }
    Ok(())
}

async fn serve(listener: TcpListener, server: String) {
    let client = reqwest::Client::new();
    loop {
        // Fails for a moment: the client has gone, or no more files may be open.
        let Ok((socket, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let (client, server) = (client.clone(), server.clone());
        tokio::spawn(async move {
            if let Err(error) = forward(socket, &client, &server).await {
                eprintln!("{error}");
            }
        });
    }
}

/// One request of a client's, and all that comes back. Returning closes the client's connection, and the server's.
async fn forward(mut socket: TcpStream, client: &reqwest::Client, server: &str) -> Result<()> {
    socket.set_nodelay(true)?;
    let Request { method, target, headers, body } = read_request(&mut socket).await?;
    let (input, output) = socket.split();
    let request = client.request(method, format!("{server}{target}")).headers(headers).body(body);
    tokio::select! {
        forwarded = forward_response(request, output) => forwarded,
        () = gone(input) => Ok(()),
    }
}

async fn forward_response(request: reqwest::RequestBuilder, mut output: WriteHalf<'_>) -> Result<()> {
    let mut response = match request.send().await {
        Ok(response) => response,
        // The server has not seen it, and the client may know.
        Err(error) if error.is_connect() => {
            output.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await?;
            return Err(error.into());
        }
        // It may have run: that is a break, and no word of ours.
        Err(error) => return Err(error.into()),
    };
    let headers = response.headers();
    let head = ResponseHead::from_headers(response.status().as_u16(), headers);
    let has_no_body = matches!(head.status(), 204 | 304);
    let framing = if has_no_body { "" } else { "Transfer-Encoding: chunked\r\n" };
    let mut bytes = format!("HTTP/1.1 {}\r\nConnection: close\r\n{framing}", response.status()).into_bytes();
    for (name, value) in headers.iter().filter(|(name, _)| !NOT_FORWARDED.contains(name)) {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    output.write_all(&[&bytes, b"\r\n".as_slice()].concat()).await?;
    if has_no_body {
        return Ok(());
    }

    let is_text = head.content_coding() == ContentCoding::Identity;
    let mut events = (is_text && head.media_type() == MediaType::EventStream).then(Events::default);
    let end = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => match &mut events {
                Some(events) => events.forward(&chunk, &mut output).await?,
                None => write_chunk(&mut output, &chunk).await?,
            },
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    if let Some(rest) = events.and_then(|mut events| events.rest()) {
        write_chunk(&mut output, &rest).await?;
    }
    // Without its last chunk a response is cut.
    if end.is_ok() && head.marks_end() {
        output.write_all(b"0\r\n\r\n").await?;
    }
    Ok(end?)
}

/// Events on their way through.
#[derive(Default)]
struct Events {
    decoder: SseDecoder,
    /// As last written.
    id: String,
    retry: Option<Duration>,
}

impl Events {
    /// Writes what the chunk completes, one event after the other.
    async fn forward(&mut self, mut chunk: &[u8], output: &mut WriteHalf<'_>) -> Result<()> {
        // An event too large to be kept may be the answer: it ends the stream as a break does.
        while let Some(part) = self.decoder.decode_part(&mut chunk)? {
            let mut bytes = Vec::new();
            match part {
                Part::Event(event) => encode(&mut bytes, event.kind(), &event, &mut self.id)?,
                // Keep-alives, with `DecoderConfig::with_comments`; here they end at the proxy.
                _ => continue,
            }
            write_chunk(output, &bytes).await?;
        }
        if self.decoder.retry() != self.retry {
            self.retry = self.decoder.retry();
            let mut bytes = Vec::new();
            SseEncoder::new(&mut bytes).retry(self.retry.unwrap_or_default());
            write_chunk(output, &bytes).await?;
        }
        Ok(())
    }

    /// What the end has left unfinished, and as unfinished.
    fn rest(&mut self) -> Option<Vec<u8>> {
        let finished = self.decoder.finish(Finish::Flush);
        let event = finished.event?;
        // A name that is cut may have been to be that of all messages, which need none.
        let kind = if finished.kind_is_cut { "" } else { event.kind() };
        let mut bytes = Vec::new();
        encode(&mut bytes, kind, &event, &mut self.id).ok()?;
        // The blank line.
        bytes.pop();
        Some(bytes)
    }
}

/// The event as it came, with its id if that is new.
fn encode(bytes: &mut Vec<u8>, kind: &str, event: &Event<'_>, id: &mut String) -> Result<()> {
    let mut fields = EventFields::default().with_kind(kind);
    if event.last_event_id() != id {
        event.last_event_id().clone_into(id);
        fields = fields.with_id(id);
    }
    Ok(SseEncoder::new(bytes).event(fields, event.data())?)
}

async fn write_chunk(output: &mut WriteHalf<'_>, data: &[u8]) -> Result<()> {
    // An empty chunk would be the last.
    if !data.is_empty() {
        let size = format!("{:x}\r\n", data.len());
        // Returns when the socket has taken all of it, however long its reader lets that wait.
        output.write_all(&[size.as_bytes(), data, b"\r\n"].concat()).await?;
    }
    Ok(())
}

struct Request {
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

async fn read_request(socket: &mut TcpStream) -> Result<Request> {
    let mut bytes = Vec::new();
    let (mut request, length) = loop {
        if bytes.len() > MAX_HEAD_BYTES || socket.read_buf(&mut bytes).await? == 0 {
            return Err("no request came".into());
        }
        let mut lines = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Request::new(&mut lines);
        if let httparse::Status::Complete(length) = head.parse(&bytes)? {
            let method = Method::try_from(head.method.unwrap_or_default())?;
            let target = head.path.unwrap_or_default().to_owned();
            let mut headers = HeaderMap::new();
            for line in head.headers.iter() {
                headers.append(HeaderName::try_from(line.name)?, HeaderValue::from_bytes(line.value)?);
            }
            let body_length = headers.get(header::CONTENT_LENGTH).map_or(Ok("0"), HeaderValue::to_str)?.parse()?;
            let body = bytes.split_off(length);
            break (Request { method, target, headers, body }, body_length);
        }
    };
    while request.body.len() < length {
        if length > MAX_BODY_BYTES || socket.read_buf(&mut request.body).await? == 0 {
            return Err("the request's body is too large, or cut".into());
        }
    }
    for name in NOT_FORWARDED {
        request.headers.remove(name);
    }
    Ok(request)
}

/// Waits until the client has closed its side.
async fn gone(mut input: ReadHalf<'_>) {
    while matches!(input.read(&mut [0; 1024]).await, Ok(1..)) {}
}

/// Calls through the proxy, to a server that breaks.
async fn demonstrate() -> Result<()> {
    let peer = Peer::start();
    let stream = || Script::new(Response::sse([Sse::progress(1), Sse::charged()]));
    let mut is_right = true;
    for (name, first, verdict, runs) in [
        ("sound", stream(), "settled", 1),
        ("broken behind the answer", stream().cut(At::mark(Mark::AnswerTerminated), Ending::Reset), "salvaged", 1),
        ("broken before its blank line", stream().cut(At::mark(Mark::AnswerEnd), Ending::Reset), "salvaged", 1),
        ("broken within the answer", stream().cut(At::mark(Mark::AnswerEnd).plus(-5), Ending::Reset), "settled", 2),
    ] {
        let scenario = peer.scenario([first, stream()]);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}{}", listener.local_addr()?, scenario.path());
        let client = Client::builder(&url).proxy_from_env(false).build()?;
        let serving = tokio::spawn(serve(listener, format!("http://{}", peer.address())));
        let params = serde_json::json!({"name": "charge", "arguments": {}, "_meta": {"progressToken": "p"}});
        let (_, done) = client.call_to_end("tools/call", &params, &CallOptions::default()).await?;
        serving.abort();
        println!("{name}: {done}; run {} times", scenario.executions());
        is_right &= (done.outcome.as_str(), scenario.executions()) == (verdict, runs);
    }
    if is_right { Ok(()) } else { Err("not what it must be".into()) }
}
