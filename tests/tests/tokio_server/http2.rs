//! HTTP/2: streams of one connection, each for itself.

use std::sync::Arc;

use mcp_sse_core::client::{ConnectionConfig, Protocol};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::served::{text_of, tool};
use mcp_sse_tests::tokio_client::{builder, client_h2, run};
use mcp_sse_tokio::ServeConfig;
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::json;

use crate::support::{Local, every_revision, wait_until};

fn prior_knowledge() -> ConnectionConfig {
    ConnectionConfig::default().with_http2_prior_knowledge(true)
}

#[test]
fn s2_s7_s11_every_revision_with_prior_knowledge() {
    run(async {
        let local = Local::new(ServeConfig::default()).await;
        every_revision(|| builder(&local.url()).connections(prior_knowledge())).await;
        local.end().await;
    });
}

/// Nothing else is offered, so that no other is spoken.
#[test]
fn s2_s7_s11_every_revision_over_tls_by_alpn() {
    run(async {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let local = Local::new(ServeConfig::default().with_tls(Arc::new(tls))).await;
        let url = local.url().replace("http:", "https:");
        every_revision(|| builder(&url).trust_pem(certificate.pem().as_bytes())).await;
        local.end().await;
    });
}

/// There is one connection: what is reset is a stream of it.
#[test]
fn s4_a_call_that_is_dropped_resets_its_stream_and_its_handler_hears_it() {
    run(async {
        let local = Local::new(ServeConfig::default().with_max_connections(1)).await;
        let client = client_h2(&local.url());
        client.call("tools/call", &tool("add", &json!({}))).await.unwrap();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.call("tools/call", &tool("wait", &json!({}))).await })
            })
            .collect();
        wait_until("they do not wait", || local.heard.count("waits") == 2).await;
        let [dropped, kept] = waiting.try_into().unwrap();
        dropped.abort();
        wait_until("it is not heard", || local.heard.count("Some(Gone)") == 1).await;
        client.call("tools/call", &tool("add", &json!({}))).await.unwrap();
        assert_eq!(local.heard.count("Some(Gone)"), 1, "the other goes on");
        kept.abort();
        wait_until("it is not heard", || local.heard.count("Some(Gone)") == 2).await;
        drop(client);
        local.end().await;
    });
}

#[test]
fn s11_hundreds_of_calls_at_once_over_few_connections() {
    run(async {
        let local = Local::new(ServeConfig::default().with_max_connections(4)).await;
        for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
            let client = builder(&local.url())
                .connections(prior_knowledge())
                .protocol(Protocol::Fixed(version))
                .build()
                .unwrap();
            let calls: Vec<_> = (0..500)
                .map(|number| {
                    let (name, client) = (if number % 2 == 0 { "add" } else { "progress" }, client.clone());
                    let params = tool(name, &json!({"a": number, "b": 1}));
                    let expected = if number % 2 == 0 { (number + 1).to_string() } else { "done".to_owned() };
                    tokio::spawn(async move {
                        let reply = client.call("tools/call", &params).await.unwrap();
                        assert_eq!(text_of(reply.result().unwrap()), expected);
                    })
                })
                .collect();
            for call in calls {
                call.await.unwrap();
            }
            client.close().await.unwrap();
        }
        local.end().await;
    });
}
