//! E11, E12: whatever the peer does or does not do, a call of the tokio adapter ends at its deadline, not before and not much
//! later, and is not sent again; its stream is closed, which is the cancel. On real sockets, so the bounds are generous: what
//! counts is that nothing hangs and that the exposure is right.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use mcp_sse_core::client::ConnectionConfig;
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind, TimeLimit};
use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{At, Ending, Mark, OnConnection, Peer, Response, Script, Sse};
use mcp_sse_tests::peer_h2::{self, Reason};
use mcp_sse_tests::tokio_client::{BOUND, SHORT, builder, call, charge, execution, run, unsent, within};
use mcp_sse_tokio::{CallError, Client};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

const TICK: Duration = Duration::from_millis(5);

/// Deadlines, the next of them tried if the machine was too busy for the last: if the call got less far than it should.
fn deadlines() -> impl Iterator<Item = Duration> {
    [1, 4, 16].into_iter().map(|factor| factor * SHORT)
}

/// Makes a call that must time out at its deadline, and says whether it got so far, or less far.
async fn times_out(client: &Client, params: &Value, deadline: Duration, exposure: Exposure) -> bool {
    let begun = Instant::now();
    let error = client.call_with(METHOD, params, &within(deadline)).reply().await.unwrap_err();
    let elapsed = begun.elapsed();
    assert_eq!(error.kind(), "timeout", "{error}");
    assert!(elapsed >= deadline && elapsed < deadline + BOUND, "{elapsed:?}");
    assert!(error.exposure() <= exposure && error.attempts() <= 1, "{}, {exposure}", error.exposure());
    error.exposure() == exposure && error.attempts() == 1
}

/// The same against a script of a plain peer; it runs once.
fn script_times_out(script: Script, exposure: Exposure) {
    run(async {
        for deadline in deadlines() {
            let peer = Peer::start();
            let scenario = peer.scenario([script.clone()]);
            let client = builder(&scenario.url()).build().unwrap();
            if times_out(&client, &charge(1), deadline, exposure).await {
                assert_eq!((scenario.executions(), scenario.requests().len()), (1, 1));
                assert!(scenario.wait_for_client_close(BOUND), "T108: the stream is closed, which is the cancel");
                return;
            }
        }
        panic!("no call got so far: {exposure}");
    });
}

/// The same over HTTP/2.
fn script_times_out_h2(script: peer_h2::Script, exposure: Exposure) {
    run(async {
        let is_first = |request: &mcp_sse_tests::peer::Request| request.params()["arguments"]["n"] == 1;
        for deadline in deadlines() {
            let peer = peer_h2::Peer::start();
            let scenario = peer.scenario([script.clone().when(is_first)]);
            let client = builder(&scenario.url())
                .connections(ConnectionConfig::default().with_http2_prior_knowledge(true))
                .build()
                .unwrap();
            if !times_out(&client, &charge(1), deadline, exposure).await {
                continue;
            }
            assert_eq!((scenario.executions(), scenario.streams().len()), (1, 1));
            let is_reset = |log: &peer_h2::Log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL);
            assert!(peer.wait_for(is_reset, BOUND), "T108: the stream is reset, which is the cancel");
            // And the connection goes on.
            assert_eq!(execution(&client.call(METHOD, &charge(2)).await.unwrap()), 2);
            assert_eq!(peer.connections(), 1);
            return;
        }
        panic!("no call got so far: {exposure}");
    });
}

/// The same where nothing answers.
async fn address_times_out(address: SocketAddr, prior_knowledge: bool, params: &Value, exposure: Exposure) {
    let url = format!("http://{address}/mcp");
    for deadline in deadlines() {
        let client = builder(&url)
            .connections(ConnectionConfig::default().with_http2_prior_knowledge(prior_knowledge))
            .build()
            .unwrap();
        if times_out(&client, params, deadline, exposure).await {
            return;
        }
    }
    panic!("no call got so far: {exposure}");
}

fn repeat(bytes: &[u8], every: Duration) -> Ending {
    Ending::Repeat { bytes: bytes.to_vec(), every }
}

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
fn e11_e1_connecting_into_a_black_hole() {
    run(async {
        let Some((_socket, _queued, address)) = blackhole() else {
            return;
        };
        let url = format!("http://{address}/mcp");
        for prior_knowledge in [false, true] {
            address_times_out(address, prior_knowledge, &charge(1), Exposure::Unsent).await;
            let client = builder(&url)
                .connections(
                    ConnectionConfig::default().with_http2_prior_knowledge(prior_knowledge).with_connect_timeout(SHORT),
                )
                .build()
                .unwrap();
            assert_eq!(unsent(&call(&client).await.unwrap_err()), BreakKind::ConnectTimeout);
        }
    });
}

#[test]
fn e11_t114_a_stalled_handshake() {
    run(async {
        let peer = Peer::start_tls();
        let scenario = peer.scenario([Script::whole()]);
        let stall = || OnConnection::End(Ending::Stall);
        peer.next_connections([stall(), OnConnection::CutHandshake(40, Ending::Stall), stall()]);
        let builder = || builder(&scenario.url()).trust_pem(peer.certificate_pem().as_bytes());
        for connections in 1..=2 {
            // Each takes the next fault, whenever it comes to it.
            assert!(times_out(&builder().build().unwrap(), &charge(1), 4 * SHORT, Exposure::Unsent).await);
            // The peer has it once it has accepted it.
            assert!(peer.wait_for(|log| log.connections.len() == connections, BOUND));
            assert_eq!(scenario.executions(), 0);
        }
        let client = builder().connections(ConnectionConfig::default().with_connect_timeout(SHORT)).build().unwrap();
        assert_eq!(unsent(&call(&client).await.unwrap_err()), BreakKind::ConnectTimeout);
    });
}

#[test]
fn e11_a_peer_that_reads_nothing_of_a_large_request() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let large = json!({"name": "charge", "arguments": {"text": "x".repeat(32 << 20)}});
        address_times_out(listener.local_addr().unwrap(), false, &large, Exposure::PartlySent).await;
    });
}

/// A listener that takes the connection and says nothing: over HTTP/2 nobody can tell how much of the request it has.
#[test]
fn e11_a_silent_listener_over_http2() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        address_times_out(listener.local_addr().unwrap(), true, &charge(1), Exposure::Sent).await;
    });
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
fn e11_silence_behind_the_head() {
    script_times_out(Script::whole().cut(At::mark(Mark::HeadEnd), Ending::Stall), Exposure::Headed);
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
fn e12_t109_a_flood_of_notifications() {
    let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
    let chunk = [format!("{:x}\r\n", event.len()).into_bytes(), event.to_vec(), b"\r\n".to_vec()].concat();
    script_times_out(Script::whole().cut(At::mark(Mark::HeadEnd), repeat(&chunk, Duration::ZERO)), Exposure::Streaming);
}

#[test]
fn e11_http2_without_a_head() {
    script_times_out_h2(peer_h2::Script::whole().cut(At::byte(0), peer_h2::Ending::Stall), Exposure::Sent);
}

#[test]
fn e11_http2_silence_behind_the_head() {
    let script = peer_h2::Script::whole().cut(At::mark(Mark::HeadEnd), peer_h2::Ending::Stall);
    script_times_out_h2(script, Exposure::Headed);
}

#[test]
fn e11_http2_silence_inside_the_answer() {
    let script = peer_h2::Script::whole().cut(At::mark(Mark::AnswerStart), peer_h2::Ending::Stall);
    script_times_out_h2(script, Exposure::Streaming);
}

#[test]
fn e12_http2_a_flood_of_comments() {
    let comments = b": keep-alive\n\n".repeat(500);
    let script = peer_h2::Script::whole().cut(At::mark(Mark::HeadEnd), peer_h2::Ending::Repeat(comments));
    script_times_out_h2(script, Exposure::Streaming);
}

/// E4: the answer came, its blank line did not; what is there is judged at the deadline.
#[test]
fn e4_e9_an_unfinished_answer_at_the_deadline() {
    run(async {
        for deadline in deadlines() {
            let peer = peer_h2::Peer::start();
            let script = peer_h2::Script::whole().cut(At::mark(Mark::AnswerEnd), peer_h2::Ending::Stall);
            let scenario = peer.scenario([script]);
            let client = builder(&scenario.url())
                .connections(ConnectionConfig::default().with_http2_prior_knowledge(true))
                .options(within(deadline))
                .build()
                .unwrap();
            match call(&client).await {
                Ok(reply) => {
                    assert_eq!((execution(&reply), reply.attempts, reply.damage.is_some()), (1, 1, true));
                    return;
                }
                Err(error) => assert_eq!(error.kind(), "timeout"),
            }
        }
        panic!("what came was not found");
    });
}

#[test]
fn e12_comments_do_not_move_the_idle_limit() {
    run(async {
        let peer = Peer::start();
        let script = Script::whole().cut(At::mark(Mark::HeadEnd), repeat(b"8\r\n: ping\n\n\r\n", TICK));
        for idle in deadlines() {
            let scenario = peer.scenario([script.clone()]);
            let client = builder(&scenario.url()).options(within(BOUND).with_idle(idle)).build().unwrap();
            let error = call(&client).await.unwrap_err();
            let CallError::Failed { failure, .. } = &error else { panic!("{error}") };
            assert!(matches!(failure.kind, FailureKind::Timeout { limit: TimeLimit::Idle }), "{error}");
            if failure.exposure == Exposure::Streaming && scenario.executions() == 1 {
                return;
            }
        }
        panic!("no comment came in time");
    });
}

/// F1: the replacement has what is left of the time, and no more.
#[test]
fn t96_t113_attempts_share_one_deadline() {
    run(async {
        for unit in deadlines() {
            let peer = Peer::start();
            let slow = Script::whole().pause(At::byte(0), 2 * unit).cut(At::byte(0), Ending::Fin);
            let scenario = peer.scenario([slow, Script::whole().cut(At::byte(0), Ending::Stall)]);
            let client = builder(&scenario.url()).options(within(3 * unit)).build().unwrap();
            let begun = Instant::now();
            let error = call(&client).await.unwrap_err();
            assert_eq!(error.kind(), "timeout");
            assert!(begun.elapsed() >= 3 * unit);
            if error.attempts() == 2 && scenario.executions() == 2 {
                assert!(matches!(error, CallError::Failed { earlier_may_have_run: true, .. }), "{error:?}");
                return;
            }
        }
        panic!("no call got to its second attempt");
    });
}

#[test]
fn a_call_without_a_deadline_waits_for_its_answer() {
    run(async {
        let peer = Peer::start();
        let response = Response::sse([Sse::comment("a"), Sse::charged()]);
        let scenario = peer.scenario([Script::new(response).pause(At::mark(Mark::AnswerStart), SHORT)]);
        let options = mcp_sse_tokio::CallOptions::default().with_timeout(None);
        let client = builder(&scenario.url()).options(options).build().unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
    });
}
