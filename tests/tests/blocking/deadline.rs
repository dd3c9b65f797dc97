//! E11, E12: whatever the peer does or does not do, a call of the blocking adapter ends at its deadline, not before and not
//! much later, and is not sent again. The bounds are generous: what counts is that nothing hangs.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use mcp_sse_blocking::{CallError, CallOptions, Client};
use mcp_sse_core::client::ConnectionConfig;
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind, TimeLimit};
use mcp_sse_tests::blocking::{
    BOUND, METHOD, SHORT, assert_timed_out, builder, call, charge, client, deadlines, execution, failure, timed,
    unsent, within,
};
use mcp_sse_tests::peer::{At, Chunked, Ending, Framing, Mark, OnConnection, Peer, Response, Script, Sse};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

/// A call of a client of this URL, which must time out, with this exposure; false if the machine was too busy for the request to
/// get so far in this time.
fn times_out(url: &str, pem: Option<&str>, params: &Value, exposure: Exposure, deadline: Duration) -> bool {
    let mut builder = Client::builder(url).options(within(deadline));
    if let Some(pem) = pem {
        builder = builder.trust_pem(pem.as_bytes());
    }
    let client = builder.build().unwrap();
    let (result, elapsed) = timed(|| client.call(METHOD, params));
    let error = result.unwrap_err();
    assert_timed_out(&error, elapsed, deadline);
    assert_eq!(error.attempts(), 1);
    assert!(error.exposure() <= exposure, "{} instead of {exposure}", error.exposure());
    error.exposure() == exposure
}

/// The same against a script of a plain peer; it runs once.
fn script_times_out(script: Script, exposure: Exposure) {
    let peer = Peer::start();
    let is_so = deadlines().any(|deadline| {
        let scenario = peer.scenario([script.clone()]);
        let is_so = times_out(&scenario.url(), None, &charge(1), exposure, deadline);
        assert!(scenario.wait_for(|log| log.executions.len() == 1, BOUND));
        assert!(scenario.wait_for_client_close(BOUND), "T108: the stream is closed, which is the cancel");
        assert_eq!((scenario.executions(), scenario.requests().len()), (1, 1));
        is_so
    });
    assert!(is_so);
}

fn repeat(bytes: &[u8], every: Duration) -> Ending {
    Ending::Repeat { bytes: bytes.to_vec(), every }
}

const TICK: Duration = Duration::from_millis(5);

/// A listener whose queue is full, with the connections that fill it: a further one gets no answer. `None` where the system
/// answers all the same.
fn blackhole() -> Option<(Socket, Vec<TcpStream>, SocketAddr)> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    for _ in 0..8 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            Ok(connection) => queued.push(connection),
            Err(_) => return Some((socket, queued, address)),
        }
    }
    None
}

#[test]
fn e11_connecting_into_a_black_hole() {
    let Some((_socket, _queued, address)) = blackhole() else {
        return;
    };
    assert!(times_out(&format!("http://{address}/mcp"), None, &charge(1), Exposure::Unsent, SHORT));
}

#[test]
fn e1_the_limit_of_connecting_ends_it_before_the_deadline() {
    let Some((_socket, _queued, address)) = blackhole() else {
        return;
    };
    let client = Client::builder(&format!("http://{address}/mcp"))
        .connections(ConnectionConfig::default().with_connect_timeout(SHORT))
        .build()
        .unwrap();
    let (result, elapsed) = timed(|| call(&client));
    assert_eq!(unsent(&result.unwrap_err()), BreakKind::ConnectTimeout);
    assert!(elapsed >= SHORT && elapsed < SHORT + BOUND, "{elapsed:?}");
}

#[test]
fn e11_t114_a_stalled_handshake() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    peer.next_connections([OnConnection::End(Ending::Stall), OnConnection::CutHandshake(40, Ending::Stall)]);
    for connections in 1..=2 {
        assert!(times_out(&scenario.url(), Some(peer.certificate_pem()), &charge(1), Exposure::Unsent, SHORT));
        // The peer has it once it has accepted it.
        assert!(peer.wait_for(|log| log.connections.len() == connections, BOUND));
        assert_eq!(scenario.executions(), 0);
    }
}

#[test]
fn e1_t114_a_stalled_handshake_ends_by_the_limit_of_connecting() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    peer.next_connections([OnConnection::End(Ending::Stall)]);
    let client =
        builder(&peer, &scenario).connections(ConnectionConfig::default().with_connect_timeout(SHORT)).build().unwrap();
    let (result, elapsed) = timed(|| call(&client));
    assert_eq!(unsent(&result.unwrap_err()), BreakKind::ConnectTimeout);
    assert!(elapsed >= SHORT && elapsed < BOUND, "{elapsed:?}");
}

#[test]
fn e11_a_peer_that_reads_nothing_of_a_large_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let holder = thread::spawn(move || listener.accept().unwrap());
    let large = json!({"name": "charge", "arguments": {"text": "x".repeat(32 << 20)}});
    assert!(times_out(&format!("http://{address}/mcp"), None, &large, Exposure::PartlySent, 4 * SHORT));
    drop(holder.join().unwrap());
}

#[test]
fn e11_no_head() {
    script_times_out(Script::whole().cut(At::byte(0), Ending::Stall), Exposure::Sent);
}

#[test]
fn e12_a_head_that_drips_for_ever() {
    script_times_out(Script::whole().cut(At::mark(Mark::StatusLineEnd), repeat(b"a", TICK)), Exposure::Sent);
}

#[test]
fn e12_interim_heads_without_end() {
    let ending = repeat(b"HTTP/1.1 102 Processing\r\n\r\n", TICK);
    script_times_out(Script::whole().cut(At::byte(0), ending), Exposure::Sent);
}

#[test]
fn e12_t107_comments_without_end() {
    let ending = repeat(b"8\r\n: ping\n\n\r\n", TICK);
    script_times_out(Script::whole().cut(At::mark(Mark::HeadEnd), ending), Exposure::Streaming);
}

#[test]
fn e12_a_flood_of_comments() {
    let comments = b": keep-alive\n\n".repeat(500);
    let chunk = [format!("{:x}\r\n", comments.len()).into_bytes(), comments, b"\r\n".to_vec()].concat();
    script_times_out(Script::whole().cut(At::mark(Mark::HeadEnd), repeat(&chunk, Duration::ZERO)), Exposure::Streaming);
}

#[test]
fn e12_t109_notifications_without_end() {
    let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
    let chunk = [format!("{:x}\r\n", event.len()).into_bytes(), event.to_vec(), b"\r\n".to_vec()].concat();
    script_times_out(Script::whole().cut(At::mark(Mark::HeadEnd), repeat(&chunk, TICK)), Exposure::Streaming);
}

#[test]
fn e12_a_chunk_extension_that_drips_for_ever() {
    let framing = Framing::Chunked(Chunked::new().extension("name=value"));
    let script = Script::new(Response::sse([Sse::charged()]).framing(framing));
    let cut = At::mark(Mark::ChunkDataStart(0)).plus(-3);
    script_times_out(script.cut(cut, repeat(b"a", TICK)), Exposure::Headed);
}

#[test]
fn e12_t111_an_answer_after_the_deadline_settles_nothing() {
    script_times_out(Script::whole().pause(At::mark(Mark::AnswerStart), 50 * SHORT), Exposure::Streaming);
}

#[test]
fn e12_comments_do_not_move_the_idle_limit() {
    let peer = Peer::start();
    let script = Script::whole().cut(At::mark(Mark::HeadEnd), repeat(b"8\r\n: ping\n\n\r\n", TICK));
    let has_streamed = deadlines().any(|idle| {
        let scenario = peer.scenario([script.clone()]);
        let client = builder(&peer, &scenario).options(within(4 * BOUND).with_idle(idle)).build().unwrap();
        let (result, elapsed) = timed(|| call(&client));
        let error = result.unwrap_err();
        assert!(matches!(failure(&error).kind, FailureKind::Timeout { limit: TimeLimit::Idle }), "{error}");
        assert!(elapsed >= idle && elapsed < 4 * BOUND, "{elapsed:?}");
        error.exposure() == Exposure::Streaming && scenario.executions() == 1
    });
    assert!(has_streamed, "no comment came in time");
}

/// F1: the replacement has what is left of the time, and no more.
#[test]
fn t96_t113_attempts_share_one_deadline() {
    let peer = Peer::start();
    let is_shared = deadlines().any(|unit| {
        let slow = Script::whole().pause(At::byte(0), 3 * unit).cut(At::byte(0), Ending::Fin);
        let silent = Script::whole().cut(At::byte(0), Ending::Stall);
        let scenario = peer.scenario([slow, silent]);
        let deadline = 5 * unit;
        let client = builder(&peer, &scenario).options(within(deadline)).build().unwrap();
        let (result, elapsed) = timed(|| call(&client));
        let error = result.unwrap_err();
        assert_timed_out(&error, elapsed, deadline);
        if error.attempts() < 2 || scenario.executions() < 2 {
            return false;
        }
        assert!(matches!(error, CallError::Failed { attempts: 2, earlier_may_have_run: true, .. }), "{error:?}");
        assert_eq!(scenario.executions(), 2);
        // With a deadline of its own the replacement would have had until 8 units, always.
        elapsed < 8 * unit
    });
    assert!(is_shared);
}

/// F1: a replacement that waits does so within the deadline, and one that would be due after it is not made.
#[test]
fn f1_a_backoff_past_the_deadline_is_no_replacement() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole().cut(At::byte(0), Ending::Fin)]);
    let backoff = mcp_sse_blocking::Backoff::new(2 * BOUND, 2 * BOUND);
    let options = within(BOUND).with_backoff(backoff);
    let client = client(&peer, &scenario);
    let (result, elapsed) = timed(|| client.call_with(METHOD, &charge(1), &options, |_| ControlFlow::Continue(())));
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.attempts(), scenario.executions()), ("lost", 1, 1));
    assert!(elapsed < BOUND, "{elapsed:?}");
}

#[test]
fn f1_a_backoff_is_waited_out() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole().cut(At::byte(0), Ending::Fin), Script::whole()]);
    let options = CallOptions::default().with_backoff(mcp_sse_blocking::Backoff::new(SHORT, SHORT));
    let client = builder(&peer, &scenario).options(options).build().unwrap();
    let (result, elapsed) = timed(|| call(&client));
    assert_eq!(execution(&result.unwrap()), 2);
    assert!(elapsed >= SHORT, "{elapsed:?}");
}

#[test]
fn a_call_without_a_deadline_waits_for_its_answer() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole().pause(At::mark(Mark::AnswerStart), SHORT)]);
    let client = builder(&peer, &scenario).options(CallOptions::default().with_timeout(None)).build().unwrap();
    assert_eq!(execution(&call(&client).unwrap()), 1);
}
