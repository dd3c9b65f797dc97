//! Whom the blocking adapter trusts: certificates given to it, the platform's, and nobody else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, fs, process};

use mcp_sse_blocking::{BuildError, Client, ReissuePolicy};
use mcp_sse_core::exchange::{BreakKind, Exposure};
use mcp_sse_tests::blocking::{BOUND, METHOD, call, execution, unsent, within};
use mcp_sse_tests::peer::{Peer, Script};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, Stream};
use serde_json::json;

fn trusting(url: &str, pem: &str) -> Client {
    Client::builder(url).options(within(BOUND)).trust_pem(pem.as_bytes()).build().unwrap()
}

#[test]
fn a_trusted_certificate_serves_by_name_and_by_address() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    for (number, url) in [(1, scenario.url()), (2, scenario.localhost_url())] {
        assert_eq!(execution(&call(&trusting(&url, peer.certificate_pem())).unwrap()), number);
    }
}

#[test]
fn e1_t104_a_certificate_for_another_name_is_refused() {
    for names in [&["other.example"][..], &["127.0.0.2"], &["*.localhost"]] {
        let peer = Peer::builder().tls().certificate_names(names).start();
        let scenario = peer.scenario([Script::whole()]);
        for url in [scenario.url(), scenario.localhost_url()] {
            let error = call(&trusting(&url, peer.certificate_pem())).unwrap_err();
            assert_eq!(unsent(&error), BreakKind::Handshake, "{names:?}: {url}");
        }
        assert_eq!((scenario.requests().len(), peer.connections()), (0, 2));
    }
}

#[test]
fn e1_the_certificate_of_another_authority_is_refused() {
    let (peer, other) = (Peer::start_tls(), Peer::start_tls());
    let scenario = peer.scenario([Script::whole()]);
    let error = call(&trusting(&scenario.url(), other.certificate_pem())).unwrap_err();
    assert_eq!(unsent(&error), BreakKind::Handshake);
    // With both it is taken.
    let both = Client::builder(&scenario.url()).trust_pem(other.certificate_pem().as_bytes());
    let client = both.trust_pem(peer.certificate_pem().as_bytes()).build().unwrap();
    assert_eq!(execution(&call(&client).unwrap()), 1);
}

#[test]
fn text_without_a_certificate_is_refused_at_once() {
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    for pem in ["", "no certificate", broken] {
        let error = Client::builder("https://127.0.0.1/").trust_pem(pem.as_bytes()).build().unwrap_err();
        assert!(matches!(error, BuildError::Certificates), "{error}");
    }
}

/// A server for one TLS connection, made by hand: its URL, the certificate to trust, and its thread.
fn server(serve: impl FnOnce(ServerConnection, TcpStream) + Send + 'static) -> (String, String, JoinHandle<()>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let socket = listener.accept().unwrap().0;
        serve(ServerConnection::new(Arc::new(config)).unwrap(), socket);
    });
    (url, certificate.pem(), serving)
}

/// A server that reads a request, sends `data` as TLS and `raw` as it is in one write, and waits for the client to close.
fn damaging(data: &'static [u8], raw: &'static [u8]) -> (String, String, JoinHandle<()>) {
    server(move |mut session, mut socket| {
        let mut request = [0; 16 << 10];
        assert!(Stream::new(&mut session, &mut socket).read(&mut request).unwrap() > 0);
        session.writer().write_all(data).unwrap();
        let mut bytes = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut bytes).unwrap();
        }
        bytes.extend_from_slice(raw);
        socket.write_all(&bytes).unwrap();
        // Until the client closes; how it does so is its affair.
        while matches!(socket.read(&mut request), Ok(1..)) {}
    })
}

/// The tickets that a server sends after the handshake are no response: a client that is held up in its writing goes on.
#[test]
fn session_tickets_do_not_stop_a_large_request() {
    const LARGE: usize = 32 << 20;
    let (url, pem, serving) = server(|mut session, mut socket| {
        while session.is_handshaking() || session.wants_write() {
            session.complete_io(&mut socket).unwrap();
        }
        thread::sleep(Duration::from_millis(300));
        let mut stream = Stream::new(&mut session, &mut socket);
        let mut bytes = vec![0; 1 << 20];
        let mut taken = 0;
        while taken < LARGE {
            taken += stream.read(&mut bytes).unwrap();
        }
        let body = r#"{"jsonrpc":"2.0","id":1,"result":{"executions":1}}"#;
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        stream.flush().unwrap();
        while matches!(socket.read(&mut bytes), Ok(1..)) {}
    });
    let large = json!({"name": "charge", "arguments": {"text": "x".repeat(LARGE)}});
    let reply = trusting(&url, &pem).call(METHOD, &large).unwrap();
    assert_eq!((reply.attempts, execution(&reply)), (1, 1));
    serving.join().unwrap();
}

/// An answer and a record that cannot be read, in one read: the answer was delivered, and asking again would run it twice.
#[test]
fn e4_an_answer_before_a_damaged_tls_record_is_an_answer() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
        data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"executions\":1}}\n\n";
    // An application record that does not decrypt, and something that is no record.
    for raw in [&b"\x17\x03\x03\x00\x20XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX"[..], b"HTTP/1.1 500 no\r\n\r\n"] {
        for length in [answer.len(), answer.len() - 2] {
            let (url, pem, serving) = damaging(&answer[..length], raw);
            let reply = call(&trusting(&url, &pem)).unwrap();
            assert_eq!((reply.attempts, execution(&reply)), (1, 1));
            serving.join().unwrap();
        }
    }
}

#[test]
fn e5_a_damaged_tls_record_instead_of_the_answer_is_a_loss() {
    let (url, pem, serving) = damaging(b"HTTP/1.1 200 OK\r\n", b"nonsense that is no record");
    let options = within(BOUND).with_reissue(ReissuePolicy::Never);
    let client = Client::builder(&url).options(options).trust_pem(pem.as_bytes()).build().unwrap();
    let error = call(&client).unwrap_err();
    assert_eq!((error.kind(), error.exposure()), ("lost", Exposure::Sent));
    serving.join().unwrap();
}

/// In a child process [`ssl_cert_file_is_honoured`] calls this URL and nothing else.
const CHILD_URL: &str = "MCP_SSE_TEST_URL";

/// The environment belongs to the whole process, so the call is made in a child that has its own.
#[cfg(target_os = "linux")]
#[test]
fn ssl_cert_file_is_honoured() {
    if let Ok(url) = env::var(CHILD_URL) {
        let client = Client::builder(&url).options(within(BOUND)).build().unwrap();
        assert_eq!(execution(&call(&client).unwrap()), 1);
        return;
    }
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    let file = env::temp_dir().join(format!("mcp-sse-{}.pem", process::id()));
    fs::write(&file, peer.certificate_pem()).unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tls::ssl_cert_file_is_honoured"])
        .env(CHILD_URL, scenario.url())
        .env("SSL_CERT_FILE", &file)
        .output()
        .unwrap();
    fs::remove_file(&file).unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(scenario.executions(), 1);
}
