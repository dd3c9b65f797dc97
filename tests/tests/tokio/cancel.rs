//! F9: dropping a call of the tokio adapter closes its stream and no other, and the peer sees it; E2: what is left of an answered
//! stream is read in the background, within a bound, so that its connection can be used again.

use std::time::Duration;

use mcp_sse_core::client::{ClientConfig, ConnectionConfig};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{self, At, Chunked, Framing, Mark, Response, Sse};
use mcp_sse_tests::peer_h2::{self, FrameKind, Reason};
use mcp_sse_tests::tokio_client::{BOUND, SHORT, builder, call, charge, client, client_h2, execution, run, within};
use mcp_sse_tokio::Update;

fn of(number: u64) -> impl Fn(&peer::Request) -> bool + Send + Sync + 'static {
    move |request| request.params()["arguments"]["n"] == number
}

/// Two events and an answer.
fn events() -> Response {
    Response::sse([Sse::progress(1), Sse::progress(2), Sse::charged()])
}

/// How far a call is let get before it is dropped.
fn places() -> [At; 3] {
    [At::byte(0), At::mark(Mark::HeadEnd), At::mark(Mark::AnswerStart)]
}

#[test]
fn f9_a_dropped_future_closes_its_connection_and_no_other() {
    run(async {
        for at in places() {
            let peer = peer::Peer::start();
            let gate = peer::Gate::new();
            let scenario = peer.scenario([
                peer::Script::new(events()).when(of(1)).cut(at, peer::Ending::Stall),
                peer::Script::new(events()).when(of(2)).wait_at(At::mark(Mark::AnswerStart), &gate),
            ]);
            let client = client(&scenario.url());
            let dropped = tokio::spawn(client.call(METHOD, &charge(1)));
            assert!(scenario.wait_for(|log| log.responses.first().is_some_and(|response| response.done), BOUND));
            let other = tokio::spawn(client.call(METHOD, &charge(2)));
            assert!(scenario.wait_for(|log| log.requests.len() == 2, BOUND));
            dropped.abort();
            assert!(dropped.await.unwrap_err().is_cancelled());
            let closed = |log: &peer::Log| log.connections[0].client_close.is_some();
            assert!(peer.wait_for(closed, BOUND), "the peer sees it");
            assert_eq!(peer.log().connections[1].client_close, None);
            gate.open();
            let reply = other.await.unwrap().unwrap();
            assert_eq!((reply.attempts, execution(&reply)), (1, 2));
            assert_eq!((scenario.executions(), scenario.requests().len()), (2, 2), "nothing else is sent");
        }
    });
}

#[test]
fn f9_a_dropped_stream_is_reset_over_http2_and_no_other() {
    run(async {
        for at in places() {
            let peer = peer_h2::Peer::start();
            let gate = peer_h2::Gate::new();
            let scenario = peer.scenario([
                peer_h2::Script::new(events()).when(of(1)).cut(at, peer_h2::Ending::Stall),
                peer_h2::Script::new(events()).when(of(2)).wait_at(At::mark(Mark::AnswerStart), &gate),
            ]);
            let client = client_h2(&scenario.url());
            let dropped = tokio::spawn(client.call(METHOD, &charge(1)));
            assert!(peer.wait_for(|log| log.streams.first().is_some_and(|stream| stream.done), BOUND));
            let other = tokio::spawn(client.call(METHOD, &charge(2)));
            assert!(peer.wait_for(|log| log.streams.len() == 2, BOUND));
            dropped.abort();
            assert!(dropped.await.unwrap_err().is_cancelled());
            let is_reset = |log: &peer_h2::Log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL);
            assert!(peer.wait_for(is_reset, BOUND), "the peer sees it");
            gate.open();
            let reply = other.await.unwrap().unwrap();
            assert_eq!((reply.attempts, execution(&reply)), (1, 2));
            let log = peer.log();
            assert_eq!((log.client_reset(&log.streams[1]), log.streams.len(), log.connections.len()), (None, 2, 1));
            // The connection goes on.
            assert_eq!(client.call(METHOD, &charge(3)).await.unwrap().attempts, 1);
            assert_eq!(peer.connections(), 1);
        }
    });
}

/// E30: a stream of updates that is dropped between two events.
#[test]
fn f9_a_stream_dropped_in_the_middle() {
    run(async {
        let peer = peer::Peer::start();
        let stalled =
            peer.scenario([peer::Script::new(events()).cut(At::mark(Mark::AnswerStart), peer::Ending::Stall)]);
        let plain = client(&stalled.url());
        let mut stream = plain.call_with(METHOD, &charge(1), &within(BOUND));
        assert!(matches!(stream.next().await, Some(Ok(Update::Event(_)))));
        drop(stream);
        assert!(stalled.wait_for_client_close(BOUND));
        assert_eq!(stalled.requests().len(), 1);

        let peer = peer_h2::Peer::start();
        let script = peer_h2::Script::new(events()).cut(At::mark(Mark::AnswerStart), peer_h2::Ending::Stall);
        let stalled = peer.scenario([script]);
        let shared = client_h2(&stalled.url());
        let mut stream = shared.call_with(METHOD, &charge(1), &within(BOUND));
        assert!(matches!(stream.next().await, Some(Ok(Update::Event(_)))));
        drop(stream);
        assert!(peer.wait_for(|log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL), BOUND));
        assert_eq!(peer.log().connections[0].client_close, None);
    });
}

#[test]
fn a_call_that_was_never_polled_sends_nothing() {
    run(async {
        let peer = peer::Peer::start();
        let scenario = peer.scenario([peer::Script::whole()]);
        let client = client(&scenario.url());
        drop(client.call(METHOD, &charge(1)));
        drop(client.call_with(METHOD, &charge(1), &within(BOUND)));
        drop(client.notify("notifications/x", &()));
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert_eq!((peer.connections(), scenario.requests().len()), (1, 1));
    });
}

/// F9: where a disconnect is no cancel, the server is told as well; also by a drop.
#[test]
fn f9_a_dropped_legacy_call_tells_the_server() {
    run(async {
        let peer = peer::Peer::start();
        let scenario = peer.scenario([peer::Script::whole().cut(At::byte(0), peer::Ending::Stall)]);
        let config = ClientConfig::default().with_version(ProtocolVersion::V2025_11_25).with_handshake(false);
        let client = builder(&scenario.url()).config(config).build().unwrap();
        let dropped = tokio::spawn(client.call(METHOD, &charge(1)));
        assert!(scenario.wait_for(|log| log.executions.len() == 1, BOUND));
        dropped.abort();
        assert!(scenario.wait_for(|log| log.notifications.len() == 1, BOUND));
        let log = scenario.log();
        assert_eq!(log.notifications[0]["method"], "notifications/cancelled");
        assert_eq!(log.notifications[0]["params"]["requestId"], log.executions[0].id);
        assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND));
    });
}

/// F9: the same over HTTP/2, where it is known too that the request was sent.
#[test]
fn f9_a_dropped_legacy_call_over_http2_tells_the_server() {
    run(async {
        let peer = peer_h2::Peer::start();
        let scenario = peer.scenario([peer_h2::Script::whole().cut(At::byte(0), peer_h2::Ending::Stall)]);
        let config = ClientConfig::default().with_version(ProtocolVersion::V2025_11_25).with_handshake(false);
        let client = builder(&scenario.url())
            .config(config)
            .connections(ConnectionConfig::default().with_http2_prior_knowledge(true))
            .build()
            .unwrap();
        let dropped = tokio::spawn(client.call(METHOD, &charge(1)));
        assert!(peer.wait_for(|log| log.streams.first().is_some_and(|stream| stream.done), BOUND));
        dropped.abort();
        assert!(peer.wait_for(|log| log.notifications[0].len() == 1, BOUND));
        assert_eq!(scenario.notifications()[0]["params"]["requestId"], scenario.executed()[0].id);
        assert!(peer.wait_for(|log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL), BOUND));
        assert_eq!(peer.connections(), 1);
    });
}

/// E2: the caller has its answer while the end of the stream is still to come.
#[test]
fn e2_an_answered_stream_is_drained_in_the_background_and_its_connection_used_again() {
    run(async {
        let peer = peer::Peer::start();
        let gate = peer::Gate::new();
        let slow = peer::Script::whole().wait_at(At::mark(Mark::AnswerTerminated), &gate);
        let scenario = peer.scenario([slow, peer::Script::json()]);
        let client = builder(&scenario.url())
            .connections(ConnectionConfig::default().with_drain_timeout(BOUND))
            .build()
            .unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(!scenario.log().responses[0].done, "the answer came before the end");
        gate.open();
        // The background has the last bytes soon; each call that comes too early takes a connection of its own.
        let mut is_reused = false;
        for _ in 0..500 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            call(&client).await.unwrap();
            let requests = scenario.requests();
            is_reused = requests.iter().skip(1).any(|request| request.connection == requests[0].connection);
            if is_reused {
                break;
            }
        }
        assert!(is_reused);
    });
}

#[test]
fn e2_an_answered_stream_over_http2_is_drained_and_not_reset() {
    run(async {
        let peer = peer_h2::Peer::start();
        let gate = peer_h2::Gate::new();
        let scenario = peer.scenario([peer_h2::Script::whole().wait_at(At::end(), &gate), peer_h2::Script::json()]);
        let client = builder(&scenario.url())
            .connections(ConnectionConfig::default().with_drain_timeout(BOUND).with_http2_prior_knowledge(true))
            .build()
            .unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(!peer.log().streams[0].done);
        gate.open();
        let has_ended = |log: &peer_h2::Log| {
            log.connections[0]
                .sent
                .iter()
                .any(|frame| frame.stream == 1 && frame.kind == FrameKind::Data && frame.ends_stream())
        };
        assert!(peer.wait_for(has_ended, BOUND));
        assert_eq!(execution(&call(&client).await.unwrap()), 2);
        let log = peer.log();
        assert_eq!((log.connections.len(), log.client_reset(&log.streams[0])), (1, None));
    });
}

/// The drain is bounded in time...
#[test]
fn e2_a_stream_that_never_ends_is_closed_after_the_drain() {
    run(async {
        let peer = peer::Peer::start();
        let scenario =
            peer.scenario([peer::Script::whole().cut(At::mark(Mark::AnswerTerminated), peer::Ending::Stall)]);
        let client = builder(&scenario.url())
            .connections(ConnectionConfig::default().with_drain_timeout(SHORT))
            .build()
            .unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(scenario.wait_for_client_close(BOUND));

        let peer = peer_h2::Peer::start();
        let scenario = peer.scenario([peer_h2::Script::whole().then(peer_h2::Ending::Stall)]);
        let client = builder(&scenario.url())
            .connections(ConnectionConfig::default().with_drain_timeout(SHORT).with_http2_prior_knowledge(true))
            .build()
            .unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(peer.wait_for(|log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL), BOUND));
        assert_eq!(peer.log().connections[0].client_close, None);
    });
}

/// ... and in bytes.
#[test]
fn e2_a_stream_that_goes_on_and_on_is_closed_by_the_bytes_of_the_drain() {
    run(async {
        let comments = b": keep-alive\n\n".repeat(200);
        let chunk = [format!("{:x}\r\n", comments.len()).into_bytes(), comments.clone(), b"\r\n".to_vec()].concat();
        let peer = peer::Peer::start();
        let framing = Framing::Chunked(Chunked::new());
        let response = Response::sse([Sse::charged()]).framing(framing);
        let ending = peer::Ending::Repeat { bytes: chunk, every: Duration::ZERO };
        let scenario = peer.scenario([peer::Script::new(response).cut(At::mark(Mark::LastChunkStart), ending)]);
        let client = builder(&scenario.url())
            .connections(ConnectionConfig::default().with_drain_timeout(10 * BOUND))
            .build()
            .unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(scenario.wait_for_client_close(BOUND));

        let peer = peer_h2::Peer::start();
        let scenario = peer.scenario([peer_h2::Script::whole().then(peer_h2::Ending::Repeat(comments))]);
        let client = builder(&scenario.url())
            .connections(ConnectionConfig::default().with_drain_timeout(10 * BOUND).with_http2_prior_knowledge(true))
            .build()
            .unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(peer.wait_for(|log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL), BOUND));
    });
}

/// A client that goes away closes what it kept, and a call under way holds it.
#[test]
fn a_client_that_is_dropped_closes_its_connections_once_its_calls_are_done() {
    run(async {
        let peer = peer::Peer::start();
        let gate = peer::Gate::new();
        let scenario = peer.scenario([peer::Script::json().wait_at(At::byte(0), &gate)]);
        let plain = client(&scenario.url());
        let calling = tokio::spawn(plain.call(METHOD, &charge(1)));
        drop(plain);
        assert!(scenario.wait_for(|log| log.executions.len() == 1, BOUND));
        gate.open();
        assert_eq!(execution(&calling.await.unwrap().unwrap()), 1);
        assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND));
    });
}
