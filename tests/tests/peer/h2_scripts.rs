//! The scripted peer over HTTP/2 does what its scripts say; and what the h2 crate shows of it on the other side, which the
//! adapter's facts are made of: RST_STREAM, GOAWAY of a last stream below or above ours, a closed connection.
//!
//! Rule: what a client has seen the peer may not have logged yet, since it logs a frame as sent when the socket has all of it. So
//! its log is waited for; only a request and its execution are there before a frame of the response is.

use std::time::Duration;

use mcp_sse_tests::peer::{At, Mark, Response, Sse, Text};
use mcp_sse_tests::peer_h2::raw_client::{Came, RawClient};
use mcp_sse_tests::peer_h2::{Ending, FrameKind, Gate, Hangup, LastStream, Log, Peer, Reason, Script};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(15);
const REASONS: [Reason; 4] = [Reason::NO_ERROR, Reason::CANCEL, Reason::INTERNAL_ERROR, Reason::REFUSED_STREAM];

fn message(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "charge"}})
}

fn answer(id: u64, executions: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"charged {executions}"}}],"executions":{executions},"resultType":"complete"}}}}"#
    )
}

fn event(id: u64, executions: u64) -> String {
    format!("event: message\ndata: {}\n\n", answer(id, executions))
}

/// Whether the peer has put the end of this stream on the wire.
fn has_ended(log: &Log, connection: usize, stream: u32) -> bool {
    log.connections[connection].sent.iter().any(|frame| frame.stream == stream && frame.ends_stream())
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(4 * BOUND, test).await.expect("it hangs") });
}

#[test]
fn whole_responses_on_one_connection() {
    run(async {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole(), Script::json().with_length(), Script::json()]);
        let mut client = RawClient::connect(peer.address()).await.unwrap();
        for (id, body) in [(7, event(7, 1)), (8, answer(8, 2)), (9, answer(9, 3)), (10, answer(10, 4))] {
            let came = client.exchange(&scenario.path(), &message(id)).await;
            assert!(came.error.is_none(), "{came:?}");
            assert_eq!((came.status, String::from_utf8(came.body).unwrap()), (Some(200), body));
        }
        assert_eq!((peer.connections(), scenario.executions()), (1, 4));
        let streams: Vec<u32> = scenario.streams().iter().map(|stream| stream.stream).collect();
        assert_eq!(streams, [1, 3, 5, 7]);
        let lost = client.exchange("/nowhere", &message(1)).await;
        assert_eq!(lost.status, Some(404));
        client.ended().await.unwrap();
        let is_closed = |log: &Log| log.connections[0].ended && log.connections[0].client_close.is_some();
        assert!(peer.wait_for(is_closed, BOUND), "{:?}", peer.log().connections);
    });
}

#[test]
fn frames_are_cut_as_scripted() {
    run(async {
        let peer = Peer::start();
        let length = event(1, 1).len();
        let scenario = peer.scenario([
            Script::whole(),
            Script::whole().ending_in_last_frame(),
            Script::whole().frames([10, 5, 50]),
            Script::new(Response::sse([Sse::comment("a"), Sse::charged()])),
        ]);
        let mut client = RawClient::connect(peer.address()).await.unwrap();
        for id in 1..=4 {
            client.exchange(&scenario.path(), &message(id)).await;
        }
        assert!(peer.wait_for(|log| [1, 3, 5, 7].iter().all(|stream| has_ended(log, 0, *stream)), BOUND));
        let log = peer.log();
        let data = |stream: u32| {
            let sent =
                log.connections[0].sent.iter().filter(move |it| it.stream == stream && it.kind == FrameKind::Data);
            sent.map(|frame| (frame.length, frame.ends_stream())).collect::<Vec<_>>()
        };
        assert_eq!(data(1), [(length, false), (0, true)]);
        assert_eq!(data(3), [(length, true)]);
        assert_eq!(data(5)[..4], [(10, false), (5, false), (50, false), (50, false)]);
        assert_eq!(data(5).iter().map(|(length, _)| length).sum::<usize>(), length);
        assert_eq!(data(7), [(": a\n\n".len(), false), (length, false), (0, true)]);
    });
}

/// What h2 shows of a reset: what came before it, and its reason.
#[test]
fn resets_go_out_behind_all_data_before_them() {
    run(async {
        let peer = Peer::start();
        let places = [
            (At::byte(0), None),
            (At::mark(Mark::HeadEnd), Some(0)),
            (At::mark(Mark::AnswerStart), Some("event: message\ndata: ".len())),
            (At::mark(Mark::AnswerEnd), Some(event(1, 1).len() - 2)),
            (At::end(), Some(event(1, 1).len())),
        ];
        let mut client = RawClient::connect(peer.address()).await.unwrap();
        for reason in REASONS {
            for (at, came_before) in places {
                let scenario = peer.scenario([Script::whole().cut(at, Ending::ResetStream(reason))]);
                let came = client.exchange(&scenario.path(), &message(1)).await;
                let error = came.error.unwrap();
                assert!(error.is_reset() && error.is_remote(), "{error:?}");
                assert_eq!(error.reason(), Some(reason));
                assert_eq!((came.status.map(|_| came.body.len()), scenario.executions()), (came_before, 1));
            }
        }
        assert_eq!(peer.connections(), 1);
    });
}

/// h2 shows no last stream. It shows the GOAWAY itself to streams above the last one, and to no other: those end by what becomes
/// of the connection.
#[test]
fn h2_tells_a_stream_above_the_last_one_by_a_remote_goaway_and_every_other_by_io() {
    run(async {
        for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR, Reason::ENHANCE_YOUR_CALM] {
            for (last, ending, is_go_away) in [
                (LastStream::Below, Ending::Stall, true),
                (LastStream::Below, Ending::Close(Hangup::Fin), true),
                (LastStream::This, Ending::Close(Hangup::Fin), false),
                (LastStream::This, Ending::Close(Hangup::Reset), false),
                (LastStream::Above, Ending::Close(Hangup::Fin), false),
            ] {
                let peer = Peer::start();
                let script = Script::whole().go_away_at(At::byte(0), last, reason).cut(At::byte(0), ending.clone());
                let scenario = peer.scenario([script]);
                let mut client = RawClient::connect(peer.address()).await.unwrap();
                let came = client.exchange(&scenario.path(), &message(1)).await;
                let error = came.error.unwrap();
                let shown = (error.is_go_away() && error.is_remote(), error.is_io());
                assert_eq!(shown, (is_go_away, !is_go_away), "{last:?}, {reason:?}, {ending:?}: {error:?}");
                assert_eq!(came.status, None);
            }
        }
    });
}

/// The same for two streams of one connection: only the upper one is told, at once, and the lower one goes on.
#[test]
fn h2_tells_a_remote_goaway_to_the_streams_above_it_while_those_below_go_on() {
    run(async {
        for (ending, is_whole) in [(Ending::EndStream, true), (Ending::Close(Hangup::Fin), false)] {
            let peer = Peer::start();
            let (upper_is_there, lower_may_end) = (Gate::new(), Gate::new());
            let lower = Script::whole()
                .wait_at(At::byte(0), &upper_is_there)
                .go_away_at(At::byte(0), LastStream::This, Reason::NO_ERROR)
                .wait_at(At::byte(0), &lower_may_end);
            let lower = peer.scenario([if is_whole { lower } else { lower.cut(At::byte(0), ending) }]);
            let upper = peer.scenario([Script::whole().without_executing().cut(At::byte(0), Ending::Stall)]);
            let mut client = RawClient::connect(peer.address()).await.unwrap();
            let below = client.post(&lower.path(), &message(1)).await.unwrap();
            let above = client.post(&upper.path(), &message(2)).await.unwrap();
            assert!(peer.wait_for(|log| log.streams.len() == 2, BOUND));
            upper_is_there.open();
            // The connection is open, and the lower stream waits.
            let told = above.read().await.error.unwrap();
            assert!(told.is_go_away() && told.is_remote(), "{told:?}");
            lower_may_end.open();
            let came = below.read().await;
            assert_eq!(
                came.error.map(|error| (error.is_io(), error.is_go_away())),
                (!is_whole).then_some((true, false))
            );
            assert_eq!(came.body, if is_whole { event(1, 1).into_bytes() } else { Vec::new() });
            assert_eq!((lower.executions(), upper.executions()), (1, 0));
        }
    });
}

#[test]
fn a_goaway_above_a_stream_lets_it_end_and_no_other_begin() {
    run(async {
        let peer = Peer::start();
        for last in [LastStream::This, LastStream::Above] {
            let script = Script::whole().go_away_at(At::mark(Mark::AnswerStart), last, Reason::NO_ERROR);
            let scenario = peer.scenario([script]);
            let mut client = RawClient::connect(peer.address()).await.unwrap();
            let came = client.exchange(&scenario.path(), &message(1)).await;
            assert_eq!((came.body, came.error.is_none()), (event(1, 1).into_bytes(), true));
            let refused = client.exchange(&scenario.path(), &message(2)).await;
            assert!(refused.error.is_some() && refused.status.is_none(), "{refused:?}");
            assert_eq!(scenario.executions(), 1);
        }
    });
}

#[test]
fn a_stalled_stream_sees_its_reset_and_others_do_not() {
    run(async {
        let peer = Peer::start();
        let gate = Gate::new();
        let stalled = peer.scenario([Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Stall)]);
        let other = peer.scenario([Script::whole().wait_at(At::mark(Mark::AnswerStart), &gate)]);
        let mut client = RawClient::connect(peer.address()).await.unwrap();
        let held = client.post(&stalled.path(), &message(1)).await.unwrap().read_some(1).await.unwrap();
        let pending = client.post(&other.path(), &message(2)).await.unwrap();
        drop(held);
        let is_cancelled = |log: &Log| log.client_reset(&log.streams[0]) == Some(Reason::CANCEL);
        assert!(peer.wait_for(is_cancelled, BOUND));
        gate.open();
        assert_eq!(pending.read().await.body, event(2, 1).into_bytes());
        let log = peer.log();
        assert_eq!(log.client_reset(&log.streams[1]), None);
    });
}

/// After FIN the client has all that was put on the wire. After RST it may have less: h2 gives up reading when a write of its own
/// fails, which is a matter of time.
#[test]
fn connections_are_cut_at_every_frame() {
    run(async {
        let peer = Peer::start();
        let whole = event(1, 1);
        for hangup in [Hangup::Fin, Hangup::Reset] {
            let mut seen = Vec::new();
            for frames in 0.. {
                assert!(frames < 20, "the connection goes on for ever");
                let scenario = peer.scenario([Script::whole()]);
                let number = peer.connections();
                peer.cut_connections([Some((frames, hangup))]);
                let came = match RawClient::connect(peer.address()).await {
                    Ok(mut client) => client.exchange(&scenario.path(), &message(1)).await,
                    // The reset was there before the client had written its preface.
                    Err(error) if hangup == Hangup::Reset => {
                        Came { status: None, body: Vec::new(), error: Some(error) }
                    }
                    Err(error) => panic!("{error:?}"),
                };
                // The client is gone, so a connection that was not cut ends as well.
                assert!(peer.wait_for(|log| log.connections.get(number).is_some_and(|it| it.ended), BOUND));
                let log = peer.log();
                let (sent, has_ended) = (log.sent_data(number, 1), has_ended(&log, number, 1));
                assert!(log.connections[number].sent.len() <= frames, "{:?}", log.connections[number]);
                assert!(came.body.len() <= sent && whole.as_bytes().starts_with(&came.body), "{came:?}");
                assert!(came.error.is_some() || has_ended, "{:?}", log.connections[number]);
                if hangup == Hangup::Fin {
                    assert_eq!((came.body.len(), came.error.is_none()), (sent, has_ended), "{came:?}");
                    // Nothing but the end of the connection is shown.
                    assert!(came.error.as_ref().is_none_or(h2::Error::is_io), "{came:?}");
                }
                if has_ended {
                    break;
                }
                assert_eq!(log.connections[number].sent.len(), frames);
                seen.push(sent);
            }
            // Cut before the event, and between it and END_STREAM.
            assert!(seen.contains(&0) && seen.contains(&whole.len()), "{seen:?}");
        }
    });
}

#[test]
fn an_endless_response_is_held_up_by_the_window_of_its_stream_alone() {
    run(async {
        let peer = Peer::start();
        let bytes = vec![b'a'; 16 << 10];
        let endless = peer.scenario([Script::whole().cut(At::mark(Mark::HeadEnd), Ending::Repeat(bytes))]);
        let other = peer.scenario([Script::json()]);
        let mut client = RawClient::connect(peer.address()).await.unwrap();
        let pending = client.post(&endless.path(), &message(1)).await.unwrap();
        // The default window of a stream.
        assert!(peer.wait_for(|log| log.sent_data(0, 1) == 65_535, BOUND));
        let _held = pending.read_some(65_535).await.unwrap();
        assert!(peer.wait_for(|log| log.sent_data(0, 1) > 65_535, BOUND), "what was read makes room for more");
        let came = client.exchange(&other.path(), &message(2)).await;
        assert_eq!(came.body, answer(2, 1).into_bytes());
    });
}

#[test]
fn notifications_and_standard_answers() {
    run(async {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::new(Response::json(Text::charged())).without_executing()]);
        let mut client = RawClient::connect(peer.address()).await.unwrap();
        let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
        assert_eq!(client.exchange(&scenario.path(), &note).await.status, Some(202));
        assert_eq!(client.exchange(&scenario.path(), &message(1)).await.status, Some(200));
        assert_eq!((scenario.notifications(), scenario.executions()), (vec![note], 0));
    });
}
