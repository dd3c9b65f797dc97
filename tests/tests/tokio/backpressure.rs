//! A slow reader of the tokio adapter's event stream stops the socket being read: what the peer can send stays bounded, no other
//! call is held up, and the deadline still holds. And notifications, which nothing of this concerns.

use std::time::{Duration, Instant};

use mcp_sse_core::exchange::{Exposure, FailureKind};
use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{self, At, Mark, Response, Sse, Text};
use mcp_sse_tests::peer_h2;
use mcp_sse_tests::tokio_client::{BOUND, SHORT, builder, call, charge, client, client_h2, execution, run, within};
use mcp_sse_tokio::{CallError, CallStream, Update};

/// One event.
const EVENT: usize = 256 << 10;
/// So many of them are more than all buffers of two sockets together.
const EVENTS: usize = 256;
/// What the buffers of two sockets may hold: far more than systems allow them, far less than is to be sent.
const MOST: usize = 32 << 20;
/// Of HTTP/2, the window of one stream and the frames under way.
const MOST_H2: usize = 2 << 20;

fn flood() -> Response {
    let text = "x".repeat(EVENT);
    let note = format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{text}"}}}}"#);
    let notes = (0..EVENTS).map(|_| Sse::message(note.as_str()));
    Response::sse(notes.chain([Sse::charged()]))
}

/// Reads one event.
async fn one(stream: &mut CallStream) {
    let update = stream.next().await;
    assert!(matches!(update, Some(Ok(Update::Event(_)))), "{update:?}");
}

/// Waits until a number has stopped growing for a while, and says what it is.
async fn settled(number: impl Fn() -> usize) -> usize {
    let (mut last, mut since) = (number(), Instant::now());
    let end = Instant::now() + BOUND;
    while since.elapsed() < SHORT {
        assert!(Instant::now() < end, "it goes on: {last}");
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = number();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    last
}

#[test]
fn a_slow_reader_stops_the_peer_over_http1() {
    run(async {
        let peer = peer::Peer::start();
        let script = peer::Script::new(flood()).drip(64 << 10, Duration::ZERO);
        let scenario = peer.scenario([script, peer::Script::json()]);
        let client = client(&scenario.url());
        let mut stream = client.call_with(METHOD, &charge(1), &within(BOUND));
        one(&mut stream).await;
        let written = || scenario.log().responses[0].written;
        let held_at = settled(written).await;
        assert!(held_at < MOST, "{held_at} bytes were taken for one event");
        // Reading on lets it go on, and all of it comes.
        let mut events = 1;
        let reply = loop {
            match stream.next().await.unwrap().unwrap() {
                Update::Event(_) => events += 1,
                Update::Reply(reply) => break reply,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((events, execution(&reply)), (EVENTS, 1));
        assert!(scenario.wait_for(|log| log.responses[0].written > EVENT * EVENTS, BOUND));
    });
}

#[test]
fn a_slow_reader_stops_its_own_stream_over_http2_and_no_other() {
    run(async {
        let peer = peer_h2::Peer::start();
        let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n".repeat(100);
        let endless = peer_h2::Script::whole().cut(At::mark(Mark::HeadEnd), peer_h2::Ending::Repeat(event));
        let scenario = peer.scenario([endless.clone(), endless, peer_h2::Script::whole()]);
        let client = client_h2(&scenario.url());
        let mut slow = [0, 1].map(|number| client.call_with(METHOD, &charge(number), &within(BOUND)));
        for stream in &mut slow {
            one(stream).await;
        }
        for stream in [1, 3] {
            let held_at = settled(|| peer.log().sent_data(0, stream)).await;
            assert!(held_at < MOST_H2, "{held_at} bytes were taken for one event");
        }
        // Another call on the same connection.
        let reply = call(&client).await.unwrap();
        assert_eq!((reply.attempts, execution(&reply), peer.connections()), (1, 3, 1));
        // Reading on lets it go on.
        let before = peer.log().sent_data(0, 1);
        for _ in 0..20_000 {
            one(&mut slow[0]).await;
        }
        assert!(peer.wait_for(|log| log.sent_data(0, 1) > before, BOUND));
    });
}

/// E11: the deadline holds while nobody reads; what had come in time is not given out after it.
#[test]
fn e11_e12_the_deadline_holds_for_a_slow_reader() {
    run(async {
        let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n".repeat(100);
        let chunk = [format!("{:x}\r\n", event.len()).into_bytes(), event, b"\r\n".to_vec()].concat();
        for deadline in [1, 4, 16].map(|factor| factor * SHORT) {
            let peer = peer::Peer::start();
            let ending = peer::Ending::Repeat { bytes: chunk.clone(), every: Duration::ZERO };
            let scenario = peer.scenario([peer::Script::whole().cut(At::mark(Mark::HeadEnd), ending)]);
            let client = builder(&scenario.url()).build().unwrap();
            let mut stream = client.call_with(METHOD, &charge(1), &within(deadline));
            match stream.next().await {
                Some(Ok(Update::Event(_))) => {}
                // The machine was too busy.
                Some(Err(error)) if error.kind() == "timeout" => continue,
                other => panic!("{other:?}"),
            }
            tokio::time::sleep(deadline).await;
            // An event that was decoded before may come first; nothing more is read.
            let mut events = 0;
            let error = loop {
                match stream.next().await.unwrap() {
                    Ok(Update::Event(_)) => events += 1,
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => break error,
                }
            };
            assert!(events <= 1, "{events} events after the deadline");
            let CallError::Failed { failure, attempts: 1, .. } = &error else { panic!("{error:?}") };
            assert!(matches!(failure.kind, FailureKind::Timeout { .. }));
            assert_eq!((failure.exposure, scenario.executions()), (Exposure::Streaming, 1));
            assert!(scenario.wait_for_client_close(BOUND));
            return;
        }
        panic!("no event came in time");
    });
}

/// E20: any 2xx takes a notification, anything else is told, and nothing is sent again.
#[test]
fn e20_notifications() {
    run(async {
        let peer = peer::Peer::start();
        let of = |status: u16| peer::Script::new(Response::empty(status)).for_method("notifications/x");
        let broken = of(202).cut(At::byte(0), peer::Ending::Reset);
        let scenario = peer.scenario([of(202), of(204), of(200), of(400), broken]);
        let plain = client(&scenario.url());
        for _ in 0..3 {
            plain.notify("notifications/x", &charge(1)).await.unwrap();
        }
        assert_eq!(plain.notify("notifications/x", &()).await.unwrap_err().status(), Some(400));
        let lost = plain.notify("notifications/x", &()).await.unwrap_err();
        assert_eq!((lost.kind(), lost.attempts(), lost.may_have_run()), ("lost", 1, true));
        assert_eq!((scenario.log().notifications.len(), scenario.executions()), (5, 0));

        let peer = peer_h2::Peer::start();
        let reset = peer_h2::Script::new(Response::empty(202))
            .when(|request| request.kind() == peer::Kind::Notification)
            .cut(At::byte(0), peer_h2::Ending::ResetStream(peer_h2::Reason::INTERNAL_ERROR));
        let scenario = peer.scenario([]);
        let shared = client_h2(&scenario.url());
        shared.notify("notifications/x", &charge(1)).await.unwrap();
        scenario.push([reset]);
        let lost = shared.notify("notifications/x", &()).await.unwrap_err();
        assert_eq!((lost.kind(), lost.attempts(), lost.may_have_run()), ("lost", 1, true));
        assert_eq!((scenario.notifications().len(), peer.connections()), (2, 1));
    });
}

/// The same answers by both versions of HTTP, compressed ones too.
#[test]
fn e13_gzip_over_http2() {
    run(async {
        let peer = peer_h2::Peer::start();
        let coded = Response::sse([Sse::progress(1), Sse::charged()]).coding(peer::Coding::gzip());
        let error = Response::json(Text::error(-32601, "no")).status(404);
        let scenario = peer.scenario([
            peer_h2::Script::new(coded),
            peer_h2::Script::new(error),
            peer_h2::Script::new(Response::raw("busy").status(503).header("Retry-After", "1")),
        ]);
        let client = client_h2(&scenario.url());
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(call(&client).await.unwrap().result().is_err());
        let error = call(&client).await.unwrap_err();
        assert_eq!((error.status(), error.retry_after().is_some()), (Some(503), true));
        assert_eq!(peer.connections(), 1);
    });
}
