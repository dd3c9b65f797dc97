//! The server of all callers: hyper, and what it takes to answer under the id that was asked with.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::Barrier;

use super::{Failure, Job};

/// How many notifications a stream has before its result.
pub const NOTIFICATIONS: usize = 3;
/// A large result's text. With what is around it, it stays within 64 MiB, our limit for one event.
pub const LARGE_BYTES: usize = (64 << 20) - (64 << 10);

const DISCOVERY: &str = concat!(
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":3600000,"#,
    r#""cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"calls","version":"1.0.0"}}}"#
);
const RESULT: &str = r#"{"resultType":"complete","content":[{"type":"text","text":"hello"}]}"#;
const LARGE_BEFORE: &str = r#"{"resultType":"complete","content":[{"type":"text","text":""#;
const LARGE_AFTER: &str = r#""}]}"#;

/// The result of a job.
#[must_use]
pub fn result(job: Job) -> String {
    match job {
        Job::Json | Job::Stream | Job::Together(_) => RESULT.to_owned(),
        Job::LargeJson | Job::LargeStream => {
            format!("{LARGE_BEFORE}{}{LARGE_AFTER}", "x".repeat(LARGE_BYTES))
        }
    }
}

/// Serves until it is killed; prints where, first.
///
/// # Errors
/// If there is no port to be had.
pub fn run() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}/mcp", listener.local_addr()?);
        std::io::stdout().flush()?;
        let shared = Arc::new(Shared { large: "x".repeat(LARGE_BYTES).into(), together: Mutex::default() });
        loop {
            let (socket, _) = listener.accept().await?;
            socket.set_nodelay(true)?;
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                let service = service_fn(|request| respond(request, Arc::clone(&shared)));
                // A client may go away.
                http1::Builder::new().serve_connection(TokioIo::new(socket), service).await.ok();
            });
        }
    })
}

struct Shared {
    large: Bytes,
    together: Mutex<HashMap<usize, Arc<Barrier>>>,
}

/// What is read of a request.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Cow<'a, str>,
    params: Option<Params<'a>>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    name: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "progressToken")]
    token: Option<&'a RawValue>,
}

async fn respond(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Pieces>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Ok(match serde_json::from_slice(&body) {
        Ok(asked) => answer(&asked, &shared).await,
        Err(_) => empty(StatusCode::BAD_REQUEST),
    })
}

async fn answer(asked: &Asked<'_>, shared: &Shared) -> Response<Pieces> {
    let Some(id) = asked.id else {
        return empty(StatusCode::ACCEPTED);
    };
    let before = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
    if asked.method == "server/discover" {
        return json([format!("{before}{DISCOVERY}}}").into()]);
    }
    let tool = asked.params.as_ref().and_then(|params| params.name.as_deref());
    match tool.and_then(Job::of_tool) {
        Some(Job::Json) => json([format!("{before}{RESULT}}}").into()]),
        Some(Job::Stream) => {
            let token = asked.params.as_ref().and_then(|params| params.meta.as_ref()?.token);
            let token = token.map_or("0", RawValue::get);
            let progress = (1..=NOTIFICATIONS).map(|done| {
                Bytes::from(format!(
                    concat!(
                        "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":",
                        "{{\"progressToken\":{},\"progress\":{},\"total\":{},\"message\":\"reading\"}}}}\n\n"
                    ),
                    token, done, NOTIFICATIONS
                ))
            });
            let result = Bytes::from(format!("event: message\ndata: {before}{RESULT}}}\n\n"));
            stream(progress.chain([result]))
        }
        Some(Job::LargeJson) => json([
            format!("{before}{LARGE_BEFORE}").into(),
            shared.large.clone(),
            Bytes::from(format!("{LARGE_AFTER}}}")),
        ]),
        Some(Job::LargeStream) => stream([
            format!("event: message\ndata: {before}{LARGE_BEFORE}").into(),
            shared.large.clone(),
            Bytes::from(format!("{LARGE_AFTER}}}\n\n")),
        ]),
        Some(Job::Together(count)) => {
            let barrier = {
                let mut together = shared.together.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(together.entry(count).or_insert_with(|| Arc::new(Barrier::new(count))))
            };
            barrier.wait().await;
            json([format!("{before}{RESULT}}}").into()])
        }
        None => empty(StatusCode::NOT_FOUND),
    }
}

fn empty(status: StatusCode) -> Response<Pieces> {
    let mut response = Response::new(Pieces::default());
    *response.status_mut() = status;
    response
}

fn json(pieces: impl IntoIterator<Item = Bytes>) -> Response<Pieces> {
    let pieces: VecDeque<_> = pieces.into_iter().collect();
    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    let mut response = Response::new(Pieces { pieces, bytes: Some(bytes) });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn stream(pieces: impl IntoIterator<Item = Bytes>) -> Response<Pieces> {
    let mut response = Response::new(Pieces { pieces: pieces.into_iter().collect(), bytes: None });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// A body of pieces; of a stated length, or in chunks.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    bytes: Option<u64>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.map(SizeHint::with_exact).unwrap_or_default()
    }
}
