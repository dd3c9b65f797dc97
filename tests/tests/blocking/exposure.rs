//! The blocking adapter tells how far a request got, as facts (E1, E5, F2): what was not sent did not run.

use std::ops::ControlFlow;

use mcp_sse_blocking::{CallError, CallEvent, Client, ReissuePolicy};
use mcp_sse_core::exchange::{BreakKind, Cause, Exposure, FailureKind};
use mcp_sse_tests::blocking::{BOUND, METHOD, builder, call, charge, client, execution, failure, unsent, within};
use mcp_sse_tests::peer::{At, Ending, Mark, OnConnection, Peer, Script, refused_url};
use serde_json::{Value, json};

/// More than the sockets' buffers take in.
fn large() -> Value {
    json!({"name": "charge", "arguments": {"text": "x".repeat(32 << 20)}})
}

#[test]
fn e1_t105_a_refused_port_is_unsent_and_tried_once() {
    let client = Client::new(&refused_url()).unwrap();
    let error = call(&client).unwrap_err();
    assert_eq!(unsent(&error), BreakKind::Connect);
    assert_eq!(error.attempts(), 1);
}

#[test]
fn e1_a_name_that_means_nothing_is_unsent() {
    // RFC 6761: this name never resolves.
    let client = Client::builder("http://nothing.invalid/mcp").options(within(BOUND)).build().unwrap();
    let error = call(&client).unwrap_err();
    assert_eq!(unsent(&error), BreakKind::Resolve);
    assert_eq!(error.attempts(), 1);
}

#[test]
fn e1_t104_a_certificate_that_nobody_trusts_is_unsent_not_lost() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    let error = call(&Client::builder(&scenario.url()).options(within(BOUND)).build().unwrap()).unwrap_err();
    assert_eq!(unsent(&error), BreakKind::Handshake);
    assert_eq!((error.attempts(), peer.connections(), scenario.requests().len()), (1, 1, 0));
}

#[test]
fn e1_a_handshake_that_is_cut_is_unsent() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    let client = client(&peer, &scenario);
    let mut connections = 0;
    for bytes in [0, 1, 4, 5, 60, 100, 400] {
        for ending in [Ending::Fin, Ending::Reset] {
            peer.next_connections([OnConnection::CutHandshake(bytes, ending.clone())]);
            let error = call(&client).unwrap_err();
            assert_eq!(unsent(&error), BreakKind::Handshake, "{ending:?} after {bytes}");
            connections += 1;
            assert_eq!((error.attempts(), peer.connections()), (1, connections), "{ending:?} after {bytes}");
        }
    }
    assert_eq!(scenario.executions(), 0);
    assert_eq!(execution(&call(&client).unwrap()), 1);
}

#[test]
fn e1_plain_bytes_instead_of_a_handshake_are_unsent() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole()]);
    let plain = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    peer.next_connections([OnConnection::WriteThen(plain, Ending::Fin)]);
    let error = call(&client(&peer, &scenario)).unwrap_err();
    assert_eq!(unsent(&error), BreakKind::Handshake);
    assert_eq!((error.attempts(), peer.connections(), scenario.executions()), (1, 1, 0));
}

/// Whether the request got out before the end came is the network's affair; the facts and the count must agree either way.
#[test]
fn e1_e5_a_connection_that_ends_on_acceptance_never_ran_the_call() {
    for ending in [Ending::Fin, Ending::Reset] {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::whole()]);
        peer.next_connections([OnConnection::End(ending)]);
        match call(&client(&peer, &scenario)) {
            Ok(reply) => assert_eq!((reply.attempts, execution(&reply), scenario.executions()), (2, 1, 1)),
            Err(error) => {
                assert!(matches!(unsent(&error), BreakKind::Connect | BreakKind::Reset | BreakKind::Io));
                assert_eq!((error.attempts(), scenario.executions()), (1, 0));
            }
        }
    }
}

#[test]
fn e5_a_large_request_cut_by_the_peer_did_not_run_and_the_facts_say_so() {
    for tls in [false, true] {
        let peer = if tls { Peer::start_tls() } else { Peer::start() };
        let scenario = peer.scenario([Script::cut_request(1000, Ending::Reset)]);
        let options = within(BOUND).with_reissue(ReissuePolicy::Never);
        let client = client(&peer, &scenario);
        let error = client.call_with(METHOD, &large(), &options, |_| ControlFlow::Continue(())).unwrap_err();
        let failure = failure(&error);
        assert!(matches!(failure.kind, FailureKind::Lost { cause: Cause::Broken(_), .. }), "{failure}");
        assert_eq!(failure.exposure, Exposure::PartlySent);
        assert!(!error.may_have_run());
        assert_eq!((scenario.executions(), scenario.log().cut_requests.len()), (0, 1));
    }
}

#[test]
fn e5_a_large_request_cut_by_the_peer_is_sent_again_and_runs_once() {
    for ending in [Ending::Reset, Ending::Fin] {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::cut_request(1000, ending.clone()), Script::whole()]);
        let mut reissued = Vec::new();
        let client = client(&peer, &scenario);
        let reply = client.call_with(METHOD, &large(), &within(BOUND), |event| {
            if let CallEvent::Reissue { exposure, .. } = event {
                reissued.push(exposure);
            }
            ControlFlow::Continue(())
        });
        let reply = reply.unwrap();
        assert_eq!((reply.attempts, execution(&reply), scenario.executions()), (2, 1, 1));
        let expected = if ending == Ending::Reset {
            Exposure::PartlySent..=Exposure::PartlySent
        } else {
            Exposure::PartlySent..=Exposure::Sent
        };
        assert!(matches!(reissued[..], [exposure] if expected.contains(&exposure)), "{ending:?}: {reissued:?}");
    }
}

/// A large request is whole over there although its peer reads it slowly, and the tickets that TLS sends meanwhile are no
/// answer to it.
#[test]
fn a_large_request_arrives_whole_plain_and_over_tls() {
    for tls in [false, true] {
        let builder = if tls { Peer::builder().tls() } else { Peer::builder() };
        let peer = builder.receive_buffer(16 << 10).start();
        let scenario = peer.scenario([Script::whole()]);
        let reply = client(&peer, &scenario).call(METHOD, &large()).unwrap();
        assert_eq!((reply.attempts, execution(&reply)), (1, 1));
        assert_eq!(scenario.executions_with(METHOD, &large()), 1);
    }
}

#[test]
fn f2_a_replacement_that_cannot_be_sent_leaves_the_call_lost_with_both_causes() {
    let peer = Peer::start_tls();
    let scenario = peer.scenario([Script::whole().cut(At::mark(Mark::AnswerStart).plus(3), Ending::Reset)]);
    peer.next_connections([OnConnection::Serve, OnConnection::End(Ending::Reset)]);
    let error = call(&client(&peer, &scenario)).unwrap_err();
    let failure = failure(&error);
    let FailureKind::Lost { cause: Cause::Broken(BreakKind::Reset), replacement: Some(why) } = failure.kind else {
        panic!("{failure}");
    };
    // Whether the reset comes before or after connecting is seen to be done is the network's affair.
    assert!(matches!(why, BreakKind::Handshake | BreakKind::Connect), "{failure}");
    assert_eq!(failure.exposure, Exposure::Streaming);
    assert!(matches!(error, CallError::Failed { attempts: 2, earlier_may_have_run: true, .. }));
    assert_eq!((scenario.executions(), peer.connections()), (1, 2));
}

#[test]
fn f2_t94_a_call_that_is_lost_twice_is_sent_exactly_twice() {
    let broken = Script::whole().cut(At::mark(Mark::AnswerStart), Ending::Fin);
    let peer = Peer::start();
    let scenario = peer.scenario([broken]);
    let error = call(&client(&peer, &scenario)).unwrap_err();
    assert_eq!(error.kind(), "lost");
    assert!(error.may_have_run());
    assert_eq!((error.attempts(), scenario.executions()), (2, 2));

    let options = within(BOUND).with_max_reissues(3);
    let client = builder(&peer, &scenario).options(options).build().unwrap();
    let error = client.call(METHOD, &charge(2)).unwrap_err();
    assert_eq!((error.attempts(), scenario.executions_with(METHOD, &charge(2))), (4, 4));
}
