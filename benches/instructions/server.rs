//! A server's requests: what a call costs in the core, and in the tokio adapter's service around it.
//!
//! What is counted is ours: the request is made before, and no connection is spoken over.

use std::error::Error;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use http_body_util::Full;
use hyper::Request;
use hyper::body::{Body as _, Bytes};
use hyper::service::Service as _;
use mcp_sse_benches::call::{ANSWER, CALL, HEADERS, RESULT, SERVER_INFO};
use mcp_sse_core::Timestamp;
use mcp_sse_core::http::RequestHead;
use mcp_sse_core::server::{Output, ReplyBody, Server, ServerAnswer, ServerConfig, ServerEvent};
use mcp_sse_tokio::{Call, Service};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What can be counted.
pub(crate) const PARTS: [&str; 2] = ["core", "service"];
/// Calls that are counted.
pub(crate) const CALLS: usize = 1000;
/// Those before, so that what is done at the first ones only is not counted.
const WARM: usize = 20;

/// The headers of a request.
fn headers() -> Vec<(&'static str, String)> {
    let mut headers = vec![("Host", "127.0.0.1:8000".to_owned()), ("Content-Length", CALL.len().to_string())];
    headers.extend(HEADERS.map(|(name, value)| (name, value.to_owned())));
    headers
}

/// What is run under callgrind.
pub(crate) fn run(part: &str) -> Outcome<()> {
    match part {
        "core" => core(),
        "service" => service(),
        other => Err(format!("no part {other}").into()),
    }
}

/// Calls of the core alone.
fn core() -> Outcome<()> {
    let mut server = Server::new(ServerConfig::new(SERVER_INFO)?.with_capabilities(r#"{"tools":{}}"#)?);
    let headers = headers();
    for number in 0..WARM + CALLS {
        let answer = if number < WARM { core_call(&mut server, &headers) } else { core_counted(&mut server, &headers) };
        if answer.as_deref() != Some(ANSWER.as_bytes()) {
            return Err("the core answers something else".into());
        }
    }
    Ok(())
}

/// Callgrind knows it by its name.
#[inline(never)]
fn core_counted(server: &mut Server, headers: &[(&str, String)]) -> Option<Vec<u8>> {
    black_box(core_call(server, headers))
}

fn core_call(server: &mut Server, headers: &[(&str, String)]) -> Option<Vec<u8>> {
    let now = Timestamp::ZERO;
    let mut head = RequestHead::new("POST", "/mcp");
    for (name, value) in headers {
        head.header(name, value.as_bytes());
    }
    let exchange = server.on_request(head, now);
    server.on_body(exchange, CALL.as_bytes(), now);
    server.on_body_end(exchange, now);
    if let Some(ServerEvent::Request(request)) = server.poll_event() {
        server.respond(request.call, ServerAnswer::result(RESULT), now).ok()?;
    }
    while server.poll_wake().is_some() {}
    black_box(server.poll_timeout());
    match server.poll_output(exchange, &mut Vec::new(), now) {
        Output::Head(head) => match head.body {
            ReplyBody::Whole(body) => Some(body),
            _ => None,
        },
        _ => None,
    }
}

/// Calls of the service.
fn service() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _guard = runtime.enter();
    let config = ServerConfig::new(SERVER_INFO)?.with_capabilities(r#"{"tools":{}}"#)?;
    let server = mcp_sse_tokio::Server::new(config, |call: Call| async move {
        match call.method() {
            "tools/call" => ServerAnswer::result(RESULT),
            _ => ServerAnswer::method_not_found(),
        }
    });
    let service = server.service();
    let headers = headers();
    for number in 0..WARM + CALLS {
        let mut request = Request::post("/mcp");
        for (name, value) in &headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(Bytes::from_static(CALL.as_bytes())))?;
        let answer = if number < WARM { service_call(&service, request) } else { service_counted(&service, request) };
        if answer.as_deref() != Some(ANSWER.as_bytes()) {
            return Err("the service answers something else".into());
        }
    }
    Ok(())
}

/// Callgrind knows it by its name.
#[inline(never)]
fn service_counted(service: &Service, request: Request<Full<Bytes>>) -> Option<Bytes> {
    black_box(service_call(service, request))
}

/// The body of the answer, which is there at once.
fn service_call(service: &Service, request: Request<Full<Bytes>>) -> Option<Bytes> {
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(response)) = pin!(service.call(request)).poll(&mut cx) else {
        return None;
    };
    match pin!(response.into_body()).poll_frame(&mut cx) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
        _ => None,
    }
}
