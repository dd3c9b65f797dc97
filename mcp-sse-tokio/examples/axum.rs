//! An MCP endpoint beside other routes, under axum.
//!
//! `cargo run -p mcp-sse-tokio --example axum` serves `/mcp` and `/health` on port 8000 of the loopback address, or at the
//! address that is given.

use std::env;
use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use mcp_sse_tokio::{Call, Server, ServerAnswer, ServerConfig, Service};

/// The service under its path. It is given the rest of the path, so that the server's configuration names none.
pub(crate) fn app(service: Service) -> Router {
    Router::new()
        .nest_service("/mcp", service)
        .layer(middleware::from_fn(tell_peer))
        .route("/health", get(|| async { "well" }))
}

/// Tells the server who asks, so that handlers can.
async fn tell_peer(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(peer);
    next.run(request).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let config = ServerConfig::new(r#"{"name":"axum","version":"1.0.0"}"#)?.with_capabilities(r#"{"tools":{}}"#)?;
    let server = Server::new(config, |call: Call| async move {
        match call.method() {
            "tools/list" => ServerAnswer::result(r#"{"tools":[{"name":"peer","inputSchema":{"type":"object"}}]}"#),
            "tools/call" => {
                let text = call.peer().map_or_else(|| "nobody".to_owned(), |peer| peer.to_string());
                ServerAnswer::of(&serde_json::json!({"content": [{"type": "text", "text": text}]}))
            }
            _ => ServerAnswer::method_not_found(),
        }
    });
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8000".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}/mcp until Ctrl-C", listener.local_addr()?);
    let app = app(server.service()).into_make_service_with_connect_info::<SocketAddr>();
    // At the end the server ends its open streams; axum would wait for them.
    let stopped = async move {
        tokio::signal::ctrl_c().await.ok();
        server.shut_down().await;
    };
    axum::serve(listener, app).with_graceful_shutdown(stopped).await?;
    Ok(())
}
