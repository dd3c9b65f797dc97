//! The scripted peer's faults below HTTP: refusal, broken accepts, broken handshakes, and its own end.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use mcp_sse_tests::peer::raw_client::{End, RawClient};
use mcp_sse_tests::peer::{At, ClientClose, Ending, Log, Mark, OnConnection, Peer, RefusedPort, Script, refused_url};
use serde_json::{Value, json};

/// Long enough for a busy machine; nothing here takes so long unless it fails.
const BOUND: Duration = Duration::from_secs(10);

fn call() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
}

fn connect_tls(peer: &Peer) -> io::Result<RawClient> {
    RawClient::connect_tls(peer.address(), peer.certificate_pem(), "localhost")
}

/// E1
#[test]
fn a_refused_port_refuses_every_time() {
    let port = RefusedPort::new();
    for _ in 0..3 {
        let error = RawClient::connect(port.address()).err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::ConnectionRefused));
    }
    assert_eq!(refused_url(), refused_url());
}

#[test]
fn connections_can_end_before_anything_is_read() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json().then(Ending::Fin)]);
    peer.next_connections([
        OnConnection::End(Ending::Fin),
        OnConnection::End(Ending::Reset),
        OnConnection::WriteThen(b"hello".to_vec(), Ending::Fin),
        OnConnection::ReadThen(10, Ending::Fin),
        OnConnection::ReadThen(10, Ending::Reset),
    ]);
    let ends = [("", End::Eof), ("", End::Reset), ("hello", End::Eof), ("", End::Eof), ("", End::Reset)];
    for (bytes, end) in ends {
        let mut client = RawClient::connect(peer.address()).unwrap();
        let sent = client.post(&scenario.path(), &call());
        let (received, ended) = client.read_all();
        // A reset is told once: if the request was being sent when it came, to the sender.
        let is_told = ended == end || (end == End::Reset && sent.is_err() && ended == End::Eof);
        assert!(is_told && received == bytes.as_bytes(), "{sent:?} {ended:?} where {end:?} was scripted");
    }
    assert_eq!((scenario.executions(), scenario.requests().len(), peer.connections()), (0, 0, 5));
    let mut client = RawClient::connect(peer.address()).unwrap();
    client.post(&scenario.path(), &call()).unwrap();
    assert!(client.read_all().0.starts_with(b"HTTP/1.1 200 OK"));
    assert_eq!(scenario.executions(), 1);
}

#[test]
fn tls_is_served_to_those_who_trust_it() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::json()]);
    assert!(scenario.url().starts_with("https://127.0.0.1:"));
    assert!(scenario.localhost_url().starts_with("https://localhost:"));
    for name in ["localhost", "127.0.0.1", "::1"] {
        let mut client = RawClient::connect_tls(peer.address(), peer.certificate_pem(), name).unwrap();
        client.post(&scenario.path(), &call()).unwrap();
        assert!(client.read_exactly(15).unwrap().starts_with(b"HTTP/1.1 200 OK"));
    }
    assert_eq!(scenario.executions(), 3);
    assert!(peer.log().connections.iter().all(|connection| connection.handshake));
}

/// E1: certificates of another authority, or for another name.
#[test]
fn an_untrusted_certificate_ends_the_handshake() {
    let (peer, other) = (Peer::start_tls(), Peer::start_tls());
    assert!(RawClient::connect_tls(peer.address(), other.certificate_pem(), "localhost").is_err());
    let misnamed = Peer::builder().tls().certificate_names(&["example.test"]).start();
    assert!(connect_tls(&misnamed).is_err());
    for peer in [peer, misnamed] {
        assert!(peer.wait_for(|log| log.connections[0].ended, BOUND));
        assert!(!peer.log().connections[0].handshake);
    }
}

/// E1: handshakes that are cut, reset, answered in plain text, or never answered.
#[test]
fn handshakes_can_break() {
    let peer = Peer::start_tls();
    peer.next_connections([
        OnConnection::CutHandshake(0, Ending::TlsTruncate),
        OnConnection::CutHandshake(50, Ending::TlsTruncate),
        OnConnection::CutHandshake(50, Ending::Reset),
        OnConnection::WriteThen(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Ending::Fin),
        OnConnection::End(Ending::Reset),
    ]);
    for _ in 0..5 {
        assert!(connect_tls(&peer).is_err());
    }
    peer.next_connections([OnConnection::End(Ending::Stall)]);
    let mut silent = RawClient::connect(peer.address()).unwrap();
    silent.send(b"\x16\x03\x01").unwrap();
    silent.tcp().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(silent.read_all(), (Vec::new(), End::Silence));
    drop(silent);
    // It may not even have been accepted yet.
    let is_closed = |log: &Log| log.connections.get(5).is_some_and(|it| it.client_close == Some(ClientClose::Fin));
    assert!(peer.wait_for(is_closed, BOUND));
    assert!(peer.log().connections.iter().all(|connection| !connection.handshake));
    assert!(connect_tls(&peer).is_ok());
}

#[test]
fn a_tls_client_that_says_goodbye_is_told_from_one_that_goes() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole().cut(At::mark(Mark::HeadEnd), Ending::Stall)]);
    let mut client = connect_tls(&peer).unwrap();
    client.post(&scenario.path(), &call()).unwrap();
    client.read_exactly(15).unwrap();
    client.finish_sending().unwrap();
    assert!(scenario.wait_for_client_close(BOUND));
    assert_eq!(scenario.connections()[0].client_close, Some(ClientClose::Fin));
}

#[test]
fn dropping_a_peer_ends_everything_at_once() {
    let (done, ended) = mpsc::channel();
    let peer = Peer::start();
    let stalled = peer.scenario([Script::whole().cut(At::mark(Mark::HeadEnd), Ending::Stall)]);
    let gate = mcp_sse_tests::peer::Gate::new();
    let waiting = peer.scenario([Script::whole().wait_at(At::byte(0), &gate)]);
    let unread = peer.scenario([Script::new(mcp_sse_tests::peer::Response::raw(vec![0; 64 << 20]))]);
    let mut clients: Vec<RawClient> = [&stalled, &waiting, &unread]
        .map(|scenario| {
            let mut client = RawClient::connect(peer.address()).unwrap();
            client.post(&scenario.path(), &call()).unwrap();
            assert!(scenario.wait_for(|log| !log.requests.is_empty(), BOUND));
            client
        })
        .into();
    clients.push(RawClient::connect(peer.address()).unwrap());
    std::thread::spawn(move || {
        drop(peer);
        done.send(()).unwrap();
    });
    // Each of the waits that the drop cuts short lasts longer than this.
    assert_eq!(ended.recv_timeout(Duration::from_secs(8)), Ok(()));
    for mut client in clients {
        assert_ne!(client.read_all().1, End::Silence);
    }
}
