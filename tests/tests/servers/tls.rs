//! The same over TLS.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_blocking::{Client, Protocol};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::blocking::{BOUND, within};
use mcp_sse_tests::served::{Served, ServerAdapter, text_of, tool};
use mcp_sse_tests::{over_both_servers, tokio_client};
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::json;

fn served<A: ServerAdapter>() -> (Served<A>, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let mut tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .unwrap();
    // Of these, an adapter offers what it speaks.
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (Served::with_tls(Arc::new(tls), Duration::from_millis(500)), certificate.pem())
}

fn calls_streams_and_large_answers_over_tls<A: ServerAdapter>() {
    let (served, pem) = served::<A>();
    for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = Client::builder(&served.url())
            .trust_pem(pem.as_bytes())
            .protocol(Protocol::Fixed(version))
            .options(within(BOUND))
            .build()
            .unwrap();
        for (arguments, expected) in [(json!({"bytes": 3}), 3), (json!({"bytes": 3_000_000}), 3_000_000)] {
            let reply = client.call("tools/call", &tool("large", &arguments)).unwrap();
            assert_eq!(text_of(reply.result().unwrap()).len(), expected, "{version}");
        }
        let reply = client.call("tools/call", &tool("progress", &json!({}))).unwrap();
        assert_eq!(text_of(reply.result().unwrap()), "done");
        client.close().unwrap();
    }
    served.heard.wait_for("ended", 2);
}

/// The client offers HTTP/2 too.
fn clients_of_the_tokio_adapter_over_tls<A: ServerAdapter>() {
    let (served, pem) = served::<A>();
    let url = served.url();
    tokio_client::run(async move {
        for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
            let builder = tokio_client::builder(&url).trust_pem(pem.as_bytes());
            let client = builder.protocol(Protocol::Fixed(version)).build().unwrap();
            for (name, arguments) in [("progress", json!({})), ("large", json!({"bytes": 3_000_000}))] {
                let reply = client.call("tools/call", &tool(name, &arguments)).await.unwrap();
                let length = if name == "large" { 3_000_000 } else { "done".len() };
                assert_eq!(text_of(reply.result().unwrap()).len(), length, "{version}");
            }
            client.close().await.unwrap();
        }
    });
}

fn s4_a_client_that_goes_away_is_noticed_over_tls<A: ServerAdapter>() {
    let (served, pem) = served::<A>();
    let client = Client::builder(&served.url())
        .trust_pem(pem.as_bytes())
        .protocol(Protocol::Fixed(ProtocolVersion::V2026_07_28))
        .options(within(Duration::from_millis(500)))
        .build()
        .unwrap();
    assert_eq!(client.call("tools/call", &tool("wait", &json!({}))).unwrap_err().kind(), "timeout");
    served.heard.wait_for("Some(Gone)", 1);
}

/// A handshake that does not go on holds a thread no longer than a head may take.
fn what_is_no_handshake_is_dropped<A: ServerAdapter>() {
    let (served, _) = served::<A>();
    for bytes in [&b""[..], b"GET /mcp HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"] {
        let mut socket = served.socket();
        let mut said = Vec::new();
        socket.send(bytes).stream.read_to_end(&mut said).unwrap();
        assert!(!said.starts_with(b"HTTP"), "{bytes:?}: {said:?}");
    }
}

over_both_servers! {
    calls_streams_and_large_answers_over_tls,
    clients_of_the_tokio_adapter_over_tls,
    s4_a_client_that_goes_away_is_noticed_over_tls,
    what_is_no_handshake_is_dropped,
}
