//! The proxy that connections go through, if there is one, and the tunnel through it.
//!
//! Facts reported: that the proxy opened no tunnel. Steps carried out: the part of connecting that is the proxy's.
//!
//! Rules: what the environment says is read by hyper-util's matcher, as curl reads it. Requests by `http` are given to the
//! proxy, which sends them on (RFC 9112 section 3.2.2); all else goes through a tunnel (RFC 9110 section 9.3.6). The
//! proxy's credentials are shown to the proxy alone.

use std::future::{Future, poll_fn};
use std::pin::pin;

use http::header::{HOST, HeaderValue, PROXY_AUTHORIZATION};
use http::{Request, StatusCode, uri};
use hyper::client::conn::http1;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use mcp_sse_core::client::{BuildError, Endpoint};
use mcp_sse_core::exchange::BreakKind;

use crate::io::Socket;

/// A proxy.
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) authorization: Option<HeaderValue>,
    /// Whether it only carries bytes; else it is given whole requests.
    pub(crate) tunnels: bool,
}

impl Proxy {
    /// The proxy for this endpoint, if there is to be one.
    pub(crate) fn find(matcher: &Matcher, endpoint: &Endpoint, knows_http2: bool) -> Result<Option<Self>, BuildError> {
        let url = endpoint.as_str().parse().map_err(|_| BuildError::Unsendable)?;
        let Some(found) = matcher.intercept(&url) else {
            return Ok(None);
        };
        if found.uri().scheme() != Some(&uri::Scheme::HTTP) {
            return Err(BuildError::Proxy);
        }
        let host = found.uri().host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let mut authorization = found.basic_auth().cloned();
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        // A proxy that is given requests speaks HTTP/1.1.
        let tunnels = endpoint.is_tls() || knows_http2;
        Ok(Some(Self { host, port: found.uri().port_u16().unwrap_or(80), authorization, tunnels }))
    }

    /// Has the proxy connect to the endpoint's host; what is written to the socket from then on goes there.
    pub(crate) async fn tunnel(&self, socket: Socket, endpoint: &Endpoint) -> Result<Socket, BreakKind> {
        let authority = endpoint.host_and_port();
        let mut request = Request::connect(&authority).header(HOST, &authority);
        if let Some(value) = &self.authorization {
            request = request.header(PROXY_AUTHORIZATION, value);
        }
        let request = request.body(String::new()).map_err(|_| BreakKind::Proxy)?;
        let made = http1::handshake(TokioIo::new(socket)).await;
        let (mut sender, mut connection) = made.map_err(|_| BreakKind::Proxy)?;
        let mut response = pin!(sender.send_request(request));
        let answered = poll_fn(|cx| {
            // What the connection ends with is told to the response.
            drop(connection.poll_without_shutdown(cx));
            response.as_mut().poll(cx)
        });
        match answered.await.map(|response| response.status()) {
            Ok(status) if status.is_success() => {}
            Ok(StatusCode::PROXY_AUTHENTICATION_REQUIRED) => return Err(BreakKind::ProxyAuthentication),
            _ => return Err(BreakKind::Proxy),
        }
        let parts = connection.into_parts();
        Ok(Socket { early: parts.read_buf, ..parts.io.into_inner() })
    }
}
