//! A server in the runtime of its test, so that what it leaves behind is seen.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_core::client::Protocol;
use mcp_sse_core::http::{Era, ProtocolVersion};
use mcp_sse_tests::served::{ERAS, Heard, ServerAdapter, Socket, text_of, tool};
use mcp_sse_tests::server_driver::config;
use mcp_sse_tests::tokio_client::BOUND;
use mcp_sse_tokio::{ClientBuilder, ServeConfig, Server, ServerConfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A server that serves in this runtime.
pub(crate) struct Local {
    pub(crate) server: Server,
    pub(crate) address: SocketAddr,
    pub(crate) heard: Arc<Heard>,
    serving: JoinHandle<()>,
}

impl Local {
    pub(crate) async fn new(serve: ServeConfig) -> Self {
        let (server, heard) = of_tools(config().with_path("/mcp"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn({
            let server = server.clone();
            async move { server.serve_with(listener, serve).await.unwrap() }
        });
        Self { server, address, heard, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn socket(&self) -> Socket {
        Socket::connect(self.address)
    }

    /// Ends it; nothing is left.
    pub(crate) async fn end(self) {
        self.server.shut_down().await;
        timeout(BOUND, self.serving).await.expect("it serves no more").unwrap();
        nothing_is_left(&self.server).await;
    }
}

/// A server with the tools, and what it hears.
pub(crate) fn of_tools(config: ServerConfig) -> (Server, Arc<Heard>) {
    let heard = Arc::<Heard>::default();
    (<Server as ServerAdapter>::of_tools(config, Arc::clone(&heard)), heard)
}

/// Waits until the server has no session, exchange or call.
pub(crate) async fn nothing_is_left(server: &Server) {
    wait_until("something is left", || {
        let state = format!("{server:?}");
        server.sessions().is_empty() && state.contains("exchanges: 0") && state.contains("calls: 0")
    })
    .await;
}

/// Waits until it is so.
pub(crate) async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(BOUND, waiting).await.expect(what);
}

/// Lists, calls and listens to progress in every revision, by clients that are built so.
pub(crate) async fn every_revision(builder: impl Fn() -> ClientBuilder) {
    for version in ERAS {
        let client = builder().protocol(Protocol::Fixed(version)).build().unwrap();
        for (name, arguments, expected) in
            [("add", json!({"a": 2, "b": 3}), "5"), ("progress", json!({}), "done"), ("peer", json!({}), "127.0.0.1")]
        {
            let reply = client.call("tools/call", &tool(name, &arguments)).await.unwrap();
            assert_eq!(text_of(reply.result().unwrap()), expected, "{version}");
        }
        if version.era() != Era::Modern {
            client.notify("notifications/roots/list_changed", &()).await.unwrap();
        }
        client.close().await.unwrap();
    }
    let client = builder().build().unwrap();
    client.call("tools/list", &()).await.unwrap();
    assert_eq!(client.protocol_version(), Some(ProtocolVersion::V2026_07_28));
    client.close().await.unwrap();
}
