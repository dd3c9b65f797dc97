//! The tokio adapter over HTTP/2: streams reset, connections told to go away or closed, at every place and for every reason;
//! what each is worth (rows E1 to E10), and that no other call on the connection is touched.

use mcp_sse_core::client::{CallError, CallEvent, Outcome};
use mcp_sse_core::exchange::{BreakKind, Cause, Damage, Exposure, FailureKind};
use mcp_sse_tests::matrix::{METHOD, Told};
use mcp_sse_tests::peer::{At, Mark, Response, Sse, Text};
use mcp_sse_tests::peer_h2::{Ending, FrameKind, Gate, Hangup, LastStream, Log, Peer, Reason, Scenario, Script};
use mcp_sse_tests::tokio_client::{
    BOUND, SHORT, builder, call, charge, client_h2, execution, run, told, unsent, within,
};
use mcp_sse_tokio::Client;

const REASONS: [Reason; 4] = [Reason::NO_ERROR, Reason::CANCEL, Reason::INTERNAL_ERROR, Reason::REFUSED_STREAM];

async fn call_to_end(client: &Client) -> Told {
    told(client.call_with(METHOD, &charge(1), &within(BOUND)).until_end()).await
}

/// What was told of the one replacement.
fn reissue(told: &Told) -> (Cause, Exposure) {
    let reissues: Vec<_> = told
        .events
        .iter()
        .filter_map(|event| match event {
            CallEvent::Reissue { attempt: 2, cause, exposure } => Some((*cause, *exposure)),
            _ => None,
        })
        .collect();
    assert_eq!(reissues.len(), 1, "{:?}, {:?}", told.events, told.result);
    reissues[0]
}

/// Checks that the call was answered by this execution, in as many attempts.
fn assert_answered(told: &Told, attempts: u32, scenario: &Scenario) {
    let seen = || scenario.log().connections;
    let reply = told.result.as_ref().unwrap_or_else(|error| panic!("{error}, {:?}, {:#?}", told.events, seen()));
    assert_eq!((reply.attempts, execution(reply)), (attempts, u64::from(attempts)));
    assert_eq!(scenario.executions(), attempts as usize);
    let ids: std::collections::BTreeSet<String> = scenario.executed().iter().map(|run| run.id.to_string()).collect();
    assert_eq!(ids.len(), attempts as usize, "F1: a replacement has a new id");
}

/// A client of this scenario: prior knowledge without TLS; over TLS the handshake agrees on HTTP/2.
fn client_of(peer: &Peer, scenario: &Scenario) -> Client {
    let url = scenario.url();
    if url.starts_with("https") {
        return builder(&url).trust_pem(peer.certificate_pem().as_bytes()).build().unwrap();
    }
    client_h2(&url)
}

async fn whole_answers(peer: &Peer) {
    let scenario = peer.scenario([
        Script::whole(),
        Script::whole().ending_in_last_frame(),
        Script::whole().frames([1]),
        Script::json(),
        Script::json().with_length(),
        Script::new(Response::sse([Sse::comment("a"), Sse::progress(1), Sse::charged()])).with_length(),
    ]);
    let client = client_of(peer, &scenario);
    for number in 1..=6 {
        let told = call_to_end(&client).await;
        let reply = told.result.unwrap();
        assert_eq!((execution(&reply), reply.attempts, reply.damage), (number, 1, None));
        assert!(matches!(told.done.unwrap().outcome, Outcome::Settled(_)));
    }
    assert_eq!(peer.connections(), 1);
}

#[test]
fn whole_answers_share_one_connection() {
    run(async { whole_answers(&Peer::start()).await });
}

#[test]
fn whole_answers_share_one_connection_over_tls() {
    run(async { whole_answers(&Peer::start_tls()).await });
}

/// E2 to E4: what was delivered is the answer, whatever the stream's end is worth.
#[test]
fn e2_e3_e4_an_answer_and_then_a_reset() {
    run(async {
        let (sse, json) = (Response::sse([Sse::charged()]), Response::json(Text::charged()));
        for (response, is_json) in [(sse, false), (json, true)] {
            for reason in REASONS {
                let peer = Peer::start();
                let scenario = peer.scenario([Script::new(response.clone()).then(Ending::ResetStream(reason))]);
                let client = client_h2(&scenario.url());
                let told = call_to_end(&client).await;
                assert_answered(&told, 1, &scenario);
                let damage = Damage::Broken(BreakKind::Reset);
                let reply = told.result.unwrap();
                match told.done.unwrap().outcome {
                    // hyper shows it as an end in order.
                    Outcome::Settled(_) => assert_eq!((reason, reply.damage), (Reason::NO_ERROR, None)),
                    Outcome::Salvaged { damage: told, .. } => {
                        assert!(reason != Reason::NO_ERROR && told == damage, "{reason:?}: {told:?}");
                        // An event has arrived when it is whole, a JSON body only at its end.
                        assert_eq!(reply.damage, is_json.then_some(damage));
                    }
                    other => panic!("{other:?}"),
                }
                // The connection is as good as before.
                assert_eq!(execution(&call(&client).await.unwrap()), 2);
                assert_eq!(peer.connections(), 1);
            }
        }
    });
}

/// E5, E8, E9, E10: reset before, inside and behind the answer.
#[test]
fn e5_e9_e10_a_reset_at_any_place() {
    run(async {
        let sse = Response::sse([Sse::comment("a"), Sse::charged()]);
        let bodies = [
            (Script::new(sse.clone()), false, false),
            (Script::new(sse).with_length(), false, true),
            (Script::json(), true, false),
            (Script::json().with_length(), true, true),
        ];
        let places = [
            (At::byte(0), false),
            (At::mark(Mark::HeadEnd), false),
            (At::mark(Mark::AnswerStart), false),
            (At::mark(Mark::AnswerStart).plus(1), false),
            (At::mark(Mark::AnswerEnd).plus(-1), false),
            (At::mark(Mark::AnswerEnd), true),
        ];
        for (script, is_json, has_length) in bodies {
            for reason in REASONS {
                for (at, is_delivered) in places {
                    let peer = Peer::start();
                    let broken = script.clone().cut(at, Ending::ResetStream(reason));
                    let scenario = peer.scenario([broken, script.clone()]);
                    let client = client_h2(&scenario.url());
                    let told = call_to_end(&client).await;
                    let context = format!("{reason:?} at {at:?}, JSON {is_json}, length {has_length}");
                    // The connection is as good as before: the replacement goes over it too.
                    assert_eq!(peer.connections(), 1, "{context}");
                    if at == At::byte(0) && reason == Reason::REFUSED_STREAM {
                        // The peer lies, since it did run; it says that it did not, and is believed.
                        assert_eq!(unsent(told.result.as_ref().unwrap_err()), BreakKind::Reset, "{context}");
                        continue;
                    }
                    assert_answered(&told, if is_delivered { 1 } else { 2 }, &scenario);
                    if is_delivered {
                        continue;
                    }
                    let (cause, exposure) = reissue(&told);
                    let ended = match (is_json, has_length) {
                        (_, true) => Cause::Short,
                        (true, false) => Cause::Cut,
                        (false, false) => Cause::Ended,
                    };
                    let is_no_error = reason == Reason::NO_ERROR && at != At::byte(0);
                    // hyper shows NO_ERROR as an end in order, behind the head.
                    let causes = if is_no_error { vec![ended] } else { vec![Cause::Broken(BreakKind::Reset)] };
                    assert!(causes.contains(&cause), "{context}: {cause:?}");
                    let exposures = match at {
                        at if at == At::byte(0) => vec![Exposure::Sent],
                        at if at == At::mark(Mark::HeadEnd) => vec![Exposure::Headed],
                        // A JSON answer starts with its body.
                        at if is_json && at == At::mark(Mark::AnswerStart) => vec![Exposure::Headed],
                        _ => vec![Exposure::Streaming],
                    };
                    assert!(exposures.contains(&exposure), "{context}: {exposure}");
                }
            }
        }
    });
}

/// E1: REFUSED_STREAM says that the request was not looked at (RFC 9113, 8.7).
#[test]
fn e1_a_refused_stream_did_not_run() {
    run(async {
        let peer = Peer::start();
        let refused = Script::whole().without_executing().cut(At::byte(0), Ending::ResetStream(Reason::REFUSED_STREAM));
        let scenario = peer.scenario([refused.clone(), Script::whole(), refused, Script::whole()]);
        let client = client_h2(&scenario.url());
        let error = call(&client).await.unwrap_err();
        assert_eq!((unsent(&error), error.attempts(), scenario.executions()), (BreakKind::Reset, 1, 0));
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        // On a connection that carried earlier calls it is as if that had been closed: sent again, within the same attempt.
        match call(&client).await {
            Ok(reply) => assert_eq!((reply.attempts, execution(&reply)), (1, 2)),
            Err(error) => assert_eq!(unsent(&error), BreakKind::Reset),
        }
        let not_run = scenario.streams().len() - scenario.executions();
        assert_eq!(not_run, 2);
    });
}

/// E1: a GOAWAY below our stream says that the request was not looked at.
#[test]
fn e1_a_goaway_below_our_stream() {
    run(async {
        for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
            for ending in [Ending::Stall, Ending::Close(Hangup::Fin), Ending::Close(Hangup::Reset)] {
                let peer = Peer::start();
                let below = Script::whole()
                    .without_executing()
                    .go_away_at(At::byte(0), LastStream::Below, reason)
                    .cut(At::byte(0), ending.clone());
                let scenario = peer.scenario([below.clone(), Script::whole(), below, Script::whole()]);
                let client = client_h2(&scenario.url());
                let error = call(&client).await.unwrap_err();
                assert_eq!(unsent(&error), BreakKind::Closed, "{reason:?}, {ending:?}");
                assert_eq!((error.attempts(), scenario.executions()), (1, 0));
                // The next call has a new connection, and the one after it meets a GOAWAY on a used one.
                assert_eq!(execution(&call(&client).await.unwrap()), 1);
                let reply = call(&client).await.unwrap();
                assert_eq!((reply.attempts, execution(&reply)), (1, 2));
                assert_eq!((peer.connections(), scenario.streams().len()), (3, 4));
            }
        }
    });
}

/// A GOAWAY that lets our stream end: it does, and the next call has a connection of its own.
#[test]
fn e3_a_goaway_at_or_above_our_stream() {
    run(async {
        for last in [LastStream::This, LastStream::Above] {
            for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR] {
                for at in [At::byte(0), At::mark(Mark::HeadEnd), At::mark(Mark::AnswerStart), At::end()] {
                    let peer = Peer::start();
                    let scenario = peer.scenario([Script::whole().go_away_at(at, last, reason), Script::whole()]);
                    let client = client_h2(&scenario.url());
                    let told = call_to_end(&client).await;
                    let context = format!("{last:?}, {reason:?}, {at:?}: {:?} {:?}", told.events, told.done);
                    assert_answered(&told, 1, &scenario);
                    assert_eq!(execution(&call(&client).await.unwrap()), 2);
                    assert_eq!(peer.connections(), 2, "{context}");
                }
            }
        }
    });
}

/// E5: where the peer says that it took our stream up and then closes, the request may have run.
#[test]
fn e5_a_goaway_at_our_stream_and_then_a_close() {
    run(async {
        for last in [LastStream::This, LastStream::Above] {
            for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR] {
                for hangup in [Hangup::Fin, Hangup::Reset] {
                    for (at, exposure) in [
                        (At::byte(0), Exposure::Sent),
                        (At::mark(Mark::HeadEnd), Exposure::Headed),
                        (At::mark(Mark::AnswerStart), Exposure::Streaming),
                    ] {
                        let peer = Peer::start();
                        let broken = Script::whole().go_away_at(at, last, reason).cut(at, Ending::Close(hangup));
                        let scenario = peer.scenario([broken, Script::whole()]);
                        let client = client_h2(&scenario.url());
                        let told = call_to_end(&client).await;
                        let context = format!("{last:?}, {reason:?}, {hangup:?}, {at:?}: {:?}", told.events);
                        assert_answered(&told, 2, &scenario);
                        assert_eq!(reissue(&told).1, exposure, "{context}");
                        assert_eq!(peer.connections(), 2);
                    }
                }
            }
        }
    });
}

/// A GOAWAY between two streams of one connection: the lower one ends, the upper one did not run and is sent elsewhere.
#[test]
fn a_goaway_between_two_calls() {
    run(async {
        let peer = Peer::start();
        let (upper_is_there, lower_may_end) = (Gate::new(), Gate::new());
        let lower = peer.scenario([Script::whole()
            .wait_at(At::byte(0), &upper_is_there)
            .go_away_at(At::byte(0), LastStream::This, Reason::NO_ERROR)
            .wait_at(At::byte(0), &lower_may_end)]);
        let client = client_h2(&lower.url());
        let calling = tokio::spawn(client.call(METHOD, &charge(1)));
        let is_there = |log: &Log| log.streams.len() == 1;
        assert!(peer.wait_for(is_there, BOUND));
        // The scenarios of one client have one URL, so the upper call is told by its parameters.
        let is_upper = |request: &mcp_sse_tests::peer::Request| request.params()["arguments"]["n"] == 2;
        lower.push([
            Script::whole().without_executing().when(is_upper).cut(At::byte(0), Ending::Stall),
            Script::whole().when(is_upper),
        ]);
        let upper = tokio::spawn(client.call(METHOD, &charge(2)));
        assert!(peer.wait_for(|log| log.streams.len() == 2, BOUND));
        upper_is_there.open();
        let upper = upper.await.unwrap();
        lower_may_end.open();
        assert_eq!(execution(&calling.await.unwrap().unwrap()), 1);
        let upper = upper.unwrap();
        assert_eq!((upper.attempts, execution(&upper), lower.executions()), (1, 2, 2));
        let places: Vec<_> = lower.streams().iter().map(|stream| (stream.connection, stream.stream)).collect();
        assert_eq!(places, [(0, 1), (0, 3), (1, 1)]);
    });
}

/// Whether a connection's frames hold the whole answer, for a body of so many bytes.
fn delivered(log: &Log, connection: usize, answer: usize) -> bool {
    log.sent_data(connection, 1) >= answer
}

/// E5 and E9: the connection closed at every frame. The peer's own log says what was on the wire.
async fn closed_at_every_frame(start: fn() -> Peer) {
    let scripts = [
        Script::whole().frames([30]),
        Script::new(Response::sse([Sse::comment("a"), Sse::progress(1), Sse::charged()])),
        Script::json().frames([40]),
        Script::json().with_length().frames([40]),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for script in scripts {
        for hangup in [Hangup::Fin, Hangup::Reset] {
            for frames in 0.. {
                let peer = start();
                let sample = mcp_sse_tests::peer::Request::sample(METHOD, 1);
                let rendered = script.render(&sample);
                let answer_bytes = rendered.answer_delivered_at.unwrap() - rendered.head_len;
                let scenario = peer.scenario([script.clone()]);
                peer.cut_connections([Some((frames, hangup))]);
                let client = client_of(&peer, &scenario);
                let told = call_to_end(&client).await;
                let log = peer.log();
                let context = format!(
                    "{hangup:?} after {frames} frames, {:?}: {:?} {:?}",
                    log.connections[0].sent, told.events, told.result
                );
                let sent = log.connections[0].sent.len();
                let first_ran = log.executions[0].len() - usize::from(peer.connections() == 2);
                if delivered(&log, 0, answer_bytes) {
                    assert_answered(&told, 1, &scenario);
                } else if let Err(error) = &told.result {
                    // Closed before anything of the request went out.
                    assert_eq!((error.exposure(), first_ran), (Exposure::Unsent, 0), "{context}");
                } else {
                    let (cause, exposure) = reissue(&told);
                    let reply = told.result.as_ref().unwrap();
                    assert_eq!(reply.attempts, 2, "{context}");
                    assert_eq!(scenario.executions(), 1 + first_ran, "{context}");
                    assert!(exposure.may_have_run(), "{context}");
                    let has_head = log.connections[0].sent.iter().any(|frame| frame.kind == FrameKind::Headers);
                    let most = match (has_head, log.sent_data(0, 1)) {
                        (false, _) => Exposure::Sent,
                        (true, 0) => Exposure::Headed,
                        (true, _) => Exposure::Streaming,
                    };
                    assert_eq!(exposure, most, "{context}");
                    seen.insert(exposure);
                    assert!(matches!(cause, Cause::Broken(_) | Cause::Short), "{context}");
                }
                if sent < frames {
                    assert!(matches!(told.done.unwrap().outcome, Outcome::Settled(_)), "{context}");
                    break;
                }
                assert!(frames < 40, "{context}");
            }
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [Exposure::Sent, Exposure::Headed, Exposure::Streaming]);
}

#[test]
fn e5_e9_connections_closed_at_every_frame() {
    run(closed_at_every_frame(Peer::start));
}

#[test]
fn e5_e9_connections_closed_at_every_frame_over_tls() {
    run(closed_at_every_frame(Peer::start_tls));
}

/// A call that breaks touches no other on its connection.
#[test]
fn a_second_call_on_the_connection_is_untouched() {
    run(async {
        for reason in REASONS {
            for at in [At::byte(0), At::mark(Mark::HeadEnd), At::mark(Mark::AnswerStart), At::end()] {
                let peer = Peer::start();
                let (both_are_there, broken) = (Gate::new(), Gate::new());
                let of = |number: u64| {
                    move |request: &mcp_sse_tests::peer::Request| request.params()["arguments"]["n"] == number
                };
                let other = Response::sse([Sse::progress(1), Sse::charged()]);
                let scenario = peer.scenario([
                    Script::whole()
                        .when(of(1))
                        .wait_at(At::byte(0), &both_are_there)
                        .cut(at, Ending::ResetStream(reason)),
                    Script::new(other).when(of(2)).wait_at(At::mark(Mark::AnswerStart), &broken),
                    Script::whole().when(of(1)),
                ]);
                let client = client_h2(&scenario.url());
                // The connection is there before they share it.
                client.notify("notifications/x", &()).await.unwrap();
                let first = tokio::spawn(client.call(METHOD, &charge(1)));
                assert!(peer.wait_for(|log| log.executions[0].len() == 1, BOUND));
                let second = tokio::spawn(client.call(METHOD, &charge(2)));
                assert!(peer.wait_for(|log| log.executions[0].len() == 2, BOUND));
                both_are_there.open();
                let first = first.await.unwrap();
                broken.open();
                let second = second.await.unwrap().unwrap();
                assert_eq!((second.attempts, execution(&second), second.damage), (1, 2, None));
                let first = first.unwrap();
                assert_eq!(
                    first.attempts,
                    if at == At::end() || reason == Reason::REFUSED_STREAM && at == At::byte(0) { 1 } else { 2 }
                );
                let log = peer.log();
                let of_second: Vec<_> = log.streams.iter().filter(|stream| of(2)(&stream.request)).collect();
                assert_eq!(of_second.len(), 1);
                assert_eq!((of_second[0].connection, log.client_reset(of_second[0])), (0, None));
            }
        }
    });
}

/// F2: lost twice, and no replacement left.
#[test]
fn f2_resets_without_end() {
    run(async {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole().cut(At::byte(0), Ending::ResetStream(Reason::INTERNAL_ERROR))]);
        let error = call(&client_h2(&scenario.url())).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts(), error.exposure()), ("lost", 2, Exposure::Sent));
        assert_eq!(scenario.executions(), 2);
        // F2: a replacement that is refused does not make the call unsent.
        let refused = Script::whole().without_executing().cut(At::byte(0), Ending::ResetStream(Reason::REFUSED_STREAM));
        let lost = Script::whole().cut(At::byte(0), Ending::Close(Hangup::Fin));
        let scenario = peer.scenario([lost, refused]);
        let error = call(&client_h2(&scenario.url())).await.unwrap_err();
        let CallError::Failed { failure, attempts: 2, .. } = &error else { panic!("{error:?}") };
        assert_eq!((failure.exposure, scenario.executions()), (Exposure::Sent, 1));
        let FailureKind::Lost { replacement: Some(BreakKind::Reset), .. } = failure.kind else { panic!("{error:?}") };
    });
}

/// E8: a body that does not have its declared length, whatever the stream's end says. What was complete before is the answer.
///
/// h2 checks the length frame by frame, before it hands a frame on: the DATA frame with END_STREAM that leaves the body short
/// is dropped with all that it holds, and so is the one that makes it too long. hyper then shows an error that does not tell
/// whether that frame held the whole answer, or nothing. So without an answer such a call ends as lost, which may have run, and
/// is not sent again: the peer had ended its answer, and a second run could be one too many.
#[test]
fn e8_a_body_that_has_not_its_declared_length() {
    run(async {
        let json = || Script::json().frames([1000]);
        let with_comment = || Script::new(Response::sse([Sse::charged(), Sse::comment("a")]));
        // The answer in a frame of its own, and white space in the next.
        let text = r#"{"jsonrpc":"2.0","id":{id},"result":{"executions":{executions},"resultType":"complete"}}"#;
        let padded = Script::new(Response::json(format!("{text}   ")));
        let rendered = padded.render(&mcp_sse_tests::peer::Request::sample(METHOD, 1));
        let padded = padded.frames([rendered.bytes.len() - rendered.head_len - 3, 3]);
        let answer_and_spaces = || padded.clone();
        for (script, is_answered) in [
            // END_STREAM comes alone: all data was shown.
            (json().with_wrong_length(10), true),
            (with_comment().with_wrong_length(10), true),
            (json().with_length().cut(At::mark(Mark::AnswerEnd).plus(-5), Ending::EndStream), false),
            // END_STREAM comes with the last data: that data was dropped.
            (json().with_wrong_length(10).ending_in_last_frame(), false),
            (Script::whole().with_wrong_length(10).ending_in_last_frame(), false),
            (with_comment().with_wrong_length(10).ending_in_last_frame(), true),
            (answer_and_spaces().with_wrong_length(10).ending_in_last_frame(), true),
            // Too long: so was this.
            (json().with_wrong_length(-1), false),
            (with_comment().with_wrong_length(-1), true),
            (answer_and_spaces().with_wrong_length(-1), true),
        ] {
            let peer = Peer::start();
            let scenario = peer.scenario([script.clone()]);
            let client = client_h2(&scenario.url());
            let told = call_to_end(&client).await;
            let context = format!("{:?}: {:?}", peer.log().connections[0].sent, told.result);
            assert_eq!((scenario.executions(), told.events.len()), (1, 0), "{context}");
            match &told.result {
                Ok(reply) => {
                    assert!(is_answered && execution(reply) == 1, "{context}");
                    let outcome = told.done.unwrap().outcome;
                    assert!(
                        matches!(outcome, Outcome::Salvaged { damage: Damage::Short, .. }),
                        "{context}: {outcome:?}"
                    );
                }
                Err(error) => {
                    assert!(!is_answered && error.may_have_run(), "{context}");
                    let CallError::Failed { failure, attempts: 1, .. } = error else { panic!("{context}") };
                    let FailureKind::Lost { cause: Cause::Short, .. } = failure.kind else { panic!("{context}") };
                }
            }
            // The connection is as good as before.
            assert!(client.notify("notifications/x", &()).await.is_ok());
            assert_eq!(peer.connections(), 1, "{context}");
        }
    });
}

#[test]
fn fifty_calls_at_once_share_one_connection() {
    run(async {
        let peer = Peer::start();
        let gate = Gate::new();
        let scenario = peer.scenario([Script::whole().wait_at(At::byte(0), &gate)]);
        let client = client_h2(&scenario.url());
        let calls: Vec<_> = (0..50).map(|number| tokio::spawn(client.call(METHOD, &charge(number)))).collect();
        assert!(peer.wait_for(|log| log.streams.len() == 50, BOUND));
        gate.open();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap().attempts, 1);
        }
        assert_eq!((peer.connections(), scenario.executions()), (1, 50));
        drop(client);
        assert!(peer.wait_for(|log| log.connections[0].client_close.is_some(), BOUND), "the last handle closes it");
    });
}

/// A call that waits for its turn, since the peer allows no more streams at once, has its deadline like any other; one that is
/// said to be unsent never runs.
#[test]
fn e11_calls_that_wait_for_a_stream() {
    run(async {
        let peer = Peer::start_with_streams(1);
        let gate = Gate::new();
        let scenario = peer.scenario([Script::whole().wait_at(At::byte(0), &gate), Script::whole()]);
        let client = client_h2(&scenario.url());
        // The client knows the limit once it has read the peer's settings.
        client.notify("notifications/x", &()).await.unwrap();
        let first = tokio::spawn(client.call(METHOD, &charge(0)));
        assert!(peer.wait_for(|log| log.executions[0].len() == 1, BOUND));
        let waiting: Vec<_> = (1..=3)
            .map(|number| tokio::spawn(client.call_with(METHOD, &charge(number), &within(SHORT)).reply()))
            .collect();
        let mut unsent = Vec::new();
        for (number, call) in (1..).zip(waiting) {
            let error = call.await.unwrap().unwrap_err();
            assert_eq!((error.kind(), error.attempts()), ("timeout", 1));
            match error.exposure() {
                Exposure::Unsent => unsent.push(number),
                exposure => assert_eq!(exposure, Exposure::Sent),
            }
        }
        // hyper takes one request more than there are streams, and may have taken its body too: then it sends it once there is
        // room, although nobody waits for it any more.
        assert!(unsent.len() >= 2, "{unsent:?}");
        gate.open();
        assert_eq!(first.await.unwrap().unwrap().attempts, 1);
        assert_eq!(client.call(METHOD, &charge(4)).await.unwrap().attempts, 1);
        assert_eq!(peer.connections(), 1);
        let ran = scenario.executed();
        let ran = |number: u64| ran.iter().filter(|run| run.params["arguments"]["n"] == number).count();
        assert_eq!((ran(0), ran(4)), (1, 1));
        assert!(unsent.iter().all(|number| ran(*number) == 0), "{unsent:?} did not run");
    });
}
