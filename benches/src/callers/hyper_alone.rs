//! The floor: what hyper's client connection costs with the same requests and answers.

use std::pin::pin;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{Answer, AsyncCaller, Failure, Job};

pub(super) struct HyperAlone {
    authority: String,
    path: String,
}

/// A connection, which a task of its own drives.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    path: String,
    /// What each request is made of, written beforehand.
    headers: HeaderMap,
    prepared: Option<(Job, Bytes, HeaderMap)>,
}

impl HyperAlone {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        let (authority, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).ok_or("no URL")?;
        Ok(Self { authority: authority.to_owned(), path: format!("/{path}") })
    }
}

impl Line {
    fn prepare(&mut self, job: Job) -> Result<(), Failure> {
        if self.prepared.as_ref().is_none_or(|(prepared, ..)| *prepared != job) {
            // The same bytes that ours sends, but for the id.
            let body = format!(
                concat!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","#,
                    r#""arguments":{{"text":"hello"}},"_meta":{{"progressToken":1,"#,
                    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                    r#""io.modelcontextprotocol/clientInfo":{{"name":"mcp-sse","version":"0.1.0"}},"#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
                ),
                job.tool()
            );
            let mut headers = self.headers.clone();
            headers.insert(HeaderName::from_static("mcp-name"), HeaderValue::from_str(&job.tool())?);
            self.prepared = Some((job, body.into(), headers));
        }
        Ok(())
    }

    async fn send(&mut self, job: Job) -> Result<Response<Incoming>, Failure> {
        self.prepare(job)?;
        let Some((_, body, headers)) = &self.prepared else { return Err("not prepared".into()) };
        let mut request = Request::post(&*self.path).body(Full::new(body.clone()))?;
        request.headers_mut().clone_from(headers);
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        if response.status() == StatusCode::OK { Ok(response) } else { Err("not answered".into()) }
    }
}

impl AsyncCaller for HyperAlone {
    type Line = Line;
    type Connection = SendRequest<Full<Bytes>>;

    fn connection(line: Line) -> Self::Connection {
        line.sender
    }

    async fn line(&self) -> Result<Line, Failure> {
        let socket = TcpStream::connect(&self.authority).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(socket)).await?;
        tokio::spawn(connection);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(&self.authority)?);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(HeaderName::from_static("accept-encoding"), HeaderValue::from_static("identity"));
        headers.insert(HeaderName::from_static("mcp-protocol-version"), HeaderValue::from_static("2026-07-28"));
        headers.insert(HeaderName::from_static("mcp-method"), HeaderValue::from_static("tools/call"));
        Ok(Line { sender, path: self.path.clone(), headers, prepared: None })
    }

    async fn call(line: &mut Line, job: Job) -> Result<Option<usize>, Failure> {
        let response = line.send(job).await?;
        if matches!(job, Job::LargeJson | Job::LargeStream) {
            // Kept, as a client keeps it that is to hand it over.
            std::hint::black_box(response.collect().await?.to_bytes());
            return Ok(None);
        }
        let mut body = pin!(response.into_body());
        while let Some(frame) = body.frame().await {
            std::hint::black_box(frame?);
        }
        Ok(None)
    }

    /// Reads events by their lines: what the server writes is known.
    async fn answer(line: &mut Line, job: Job) -> Result<Answer, Failure> {
        let response = line.send(job).await?;
        let body = response.collect().await?.to_bytes();
        let text = std::str::from_utf8(&body)?;
        let mut messages = Vec::new();
        match job {
            Job::Stream | Job::LargeStream => {
                for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
                    messages.push(serde_json::from_str::<Value>(data)?);
                }
            }
            _ => messages.push(serde_json::from_str(text)?),
        }
        let mut last = messages.pop().ok_or("no answer")?;
        let are_right = messages.iter().enumerate().all(|(at, message)| {
            message["params"]["progressToken"] == json!(1) && message["params"]["progress"] == json!(at + 1)
        });
        if !are_right || last["id"] != json!(1) {
            return Err("another answer".into());
        }
        Ok(Answer { notifications: messages.len(), result: last["result"].take() })
    }
}
