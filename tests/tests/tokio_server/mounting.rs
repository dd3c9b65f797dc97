//! The service under other drivers than our own: axum, tower, and one that lets go.

use std::net::SocketAddr;

use axum::body::{Body, HttpBody};
use mcp_sse_tests::served::{Socket, modern};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use mcp_sse_tests::tokio_client::{BOUND, builder, run};
use mcp_sse_tokio::{Call, ResponseBody, Server, ServerAnswer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tower_service::Service as _;

use crate::support::{every_revision, nothing_is_left, of_tools, wait_until};

/// The router of the example.
#[path = "../../../mcp-sse-tokio/examples/axum.rs"]
#[expect(dead_code, reason = "its main is not run")]
mod example;

fn request(message: HttpMessage) -> http::Request<Body> {
    let mut request = http::Request::builder().method(message.method).uri(message.target);
    for (name, value) in message.headers {
        request = request.header(name, value);
    }
    request.body(Body::from(message.body)).unwrap()
}

async fn respond(server: &Server, message: HttpMessage) -> http::Response<ResponseBody> {
    timeout(BOUND, server.service().call(request(message))).await.expect("a response").unwrap()
}

async fn json_of(response: http::Response<ResponseBody>) -> Value {
    serde_json::from_slice(&axum::body::to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap()).unwrap()
}

/// `every_revision` asks for the peer, too.
#[test]
fn s2_s7_s11_every_revision_is_served_under_axum_beside_another_route() {
    run(async {
        let (server, _) = of_tools(config());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = example::app(server.service()).into_make_service_with_connect_info::<SocketAddr>();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stopped = async move { drop(stopped.await) };
            axum::serve(listener, app).with_graceful_shutdown(stopped).await.unwrap();
        });
        every_revision(|| builder(&format!("http://{address}/mcp"))).await;
        let mut socket = Socket::connect(address);
        let health = socket.exchange(&HttpMessage::new("GET", "/health"));
        assert_eq!((health.status, health.text()), (200, "well"));
        assert_eq!(socket.exchange(&HttpMessage::new("GET", "/other")).status, 404);
        assert_eq!(socket.exchange(&HttpMessage::new("DELETE", "/mcp").with("Origin", "http://evil")).status, 403);
        drop(socket);
        server.shut_down().await;
        stop.send(()).unwrap();
        timeout(BOUND, serving).await.expect("it serves no more").unwrap();
        nothing_is_left(&server).await;
    });
}

#[test]
fn s4_a_response_that_is_dropped_before_its_head_or_its_end_cancels_the_call() {
    run(async {
        let (server, heard) = of_tools(config());
        // Before its head.
        let responding = tokio::spawn(server.service().call(request(modern("wait", &json!({})))));
        wait_until("it does not wait", || heard.count("waits") == 1).await;
        responding.abort();
        wait_until("it is not heard", || heard.count("Some(Gone)") == 1).await;
        nothing_is_left(&server).await;
        // Within its body.
        let response = respond(&server, modern("listen", &json!({}))).await;
        assert!(response.status() == 200 && !response.body().is_end_stream());
        assert!(format!("{server:?}").contains("calls: 1"));
        drop(response);
        nothing_is_left(&server).await;
        // Before it is polled at all.
        drop(server.service().call(request(modern("wait", &json!({})))));
        nothing_is_left(&server).await;
        assert_eq!(heard.count("waits"), 1);
    });
}

/// At once, and once it has waited, in a task of its own.
#[test]
fn a_handler_that_panics_is_answered_for_in_a_constant_text() {
    run(async {
        let server = Server::new(config(), |call: Call| {
            let waits = call.params().is_some_and(|params| params.contains("\"wait\""));
            assert!(waits, "a secret");
            async move {
                tokio::task::yield_now().await;
                assert_eq!(call.method(), "", "a secret");
                ServerAnswer::method_not_found()
            }
        });
        for name in ["add", "wait"] {
            let body = json_of(respond(&server, modern(name, &json!({}))).await).await;
            assert_eq!(body["error"], json!({"code": -32603, "message": "Internal error"}), "{name}");
        }
        nothing_is_left(&server).await;
    });
}

/// Who mounts the service may know no peer.
#[test]
fn the_peer_is_what_the_extension_tells() {
    run(async {
        let (server, _) = of_tools(config());
        let mut told = request(modern("peer", &json!({})));
        let unknown = json_of(respond(&server, modern("peer", &json!({}))).await).await;
        assert_eq!(unknown["result"]["content"][0]["text"], "");
        told.extensions_mut().insert(SocketAddr::from(([192, 0, 2, 7], 1)));
        let known = json_of(server.service().call(told).await.unwrap()).await;
        assert_eq!(known["result"]["content"][0]["text"], "192.0.2.7");
    });
}
