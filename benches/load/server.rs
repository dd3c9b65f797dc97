//! The servers that are put under load, each in a process of its own: ours, and a bare hyper service.

use std::convert::Infallible;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use mcp_sse_benches::call::{ANSWER, RESULT, SERVER_INFO};
use mcp_sse_tokio::{Call, Server, ServerAnswer, ServerConfig};
use serde_json::json;
use tokio::net::TcpListener;

use crate::Failure;

/// Serves until it is killed; prints where, first.
pub(crate) fn run(which: &str) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}/mcp", listener.local_addr()?);
        std::io::stdout().flush()?;
        match which {
            "ours" => Ok(ours()?.serve(listener).await?),
            "bare" => bare(listener, true).await,
            "trusting" => bare(listener, false).await,
            other => Err(format!("no server {other}").into()),
        }
    })
}

fn ours() -> Result<Server, Failure> {
    let config = ServerConfig::new(SERVER_INFO)?.with_capabilities(r#"{"tools":{}}"#)?;
    Ok(Server::new(config, |call: Call| async move {
        match call.method() {
            "tools/call" => ServerAnswer::result(RESULT),
            // Tells all sessions; says how many it reached, and how many it did not.
            "load/broadcast" => {
                let params = call.params().unwrap_or("{}").to_owned();
                let text = serde_json::value::RawValue::from_string(params).ok();
                let deliveries = call.server().broadcast("notifications/message", &text);
                let reached = deliveries.iter().filter(|delivery| delivery.outcome.is_ok()).count();
                ServerAnswer::of(&json!({"reached": reached, "refused": deliveries.len() - reached}))
            }
            _ => ServerAnswer::method_not_found(),
        }
    }))
}

/// hyper alone, with a bound on a head's time, as ours has one, or with none: reads the request to its end, answers the same bytes.
async fn bare(listener: TcpListener, is_bounded: bool) -> Result<(), Failure> {
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true).ok();
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| async move {
                drop(request.into_body().collect().await);
                let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok::<_, Infallible>(response)
            });
            let mut builder = auto::Builder::new(TokioExecutor::new());
            let timeout = is_bounded.then_some(Duration::from_secs(30));
            builder.http1().timer(TokioTimer::new()).header_read_timeout(timeout);
            builder.serve_connection(TokioIo::new(socket), service).await.ok();
        });
    }
}

/// A server that runs in a process of its own, until it is dropped.
pub(crate) struct Running {
    child: Child,
    /// Host and port.
    pub(crate) authority: String,
    /// Where its endpoint is.
    pub(crate) path: String,
}

impl Running {
    /// This program, as a server.
    pub(crate) fn this(which: &str) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", which]);
        Self::start(command)
    }

    /// Another program; the first line it prints is its URL.
    pub(crate) fn start(mut command: Command) -> Result<Self, Failure> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.as_mut() {
            std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line)?;
        }
        let url = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/'));
        let (authority, path) = url.ok_or_else(|| format!("no URL: {line:?}"))?;
        let (authority, path) = (authority.to_owned(), format!("/{path}"));
        Ok(Self { child, authority, path })
    }

    /// The processor time that it has used.
    pub(crate) fn processor_time(&self) -> Result<Duration, Failure> {
        // In hundredths of a second, behind the name in brackets.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
        let mut ticks = || fields.next().and_then(|field| field.parse::<u64>().ok()).ok_or("no processor time");
        Ok(Duration::from_millis(10 * (ticks()? + ticks()?)))
    }

    /// The memory that it has in use, in bytes.
    pub(crate) fn memory(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib * 1024)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
