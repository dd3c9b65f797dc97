//! E13, F16: coded bodies through the blocking adapter; what is offered, what is taken, and that a bad coding is never sent again.

use mcp_sse_blocking::core::Limits;
use mcp_sse_blocking::{CallError, ClientConfig, Reply};
use mcp_sse_core::exchange::{CodingProblem, Damage, FailureKind, SizeLimit};
use mcp_sse_tests::blocking::{builder, call, client, execution, failure};
use mcp_sse_tests::peer::{Chunked, Coding, Ending, Framing, Peer, Response, Scenario, Script, Sse, Text};

fn sse() -> Response {
    Response::sse([Sse::comment("keep-alive"), Sse::charged()])
}

/// One call against this response, which must be sent once.
fn call_once(script: Script) -> (Result<Reply, CallError>, Scenario) {
    let peer = Peer::start();
    let scenario = peer.scenario([script]);
    let result = call(&client(&peer, &scenario));
    assert_eq!((scenario.executions(), scenario.requests().len()), (1, 1));
    (result, scenario)
}

#[test]
fn f16_what_can_be_inflated_is_offered() {
    let (_, scenario) = call_once(Script::json());
    let requests = scenario.requests();
    let offered = requests[0].header("accept-encoding").unwrap();
    assert!(offered.contains("gzip") && offered.contains("deflate") && !offered.contains("br"), "{offered}");
}

#[test]
fn e13_t68_coded_bodies_are_read_in_every_framing() {
    let framings = [
        Framing::ContentLength,
        Framing::UntilClose,
        Framing::Chunked(Chunked::new()),
        Framing::Chunked(Chunked::new().sizes([1])),
    ];
    let codings = [
        Coding::gzip(),
        Coding::gzip_members(),
        Coding::deflate(),
        Coding::raw_deflate(),
        Coding::gzip().unannounced(),
        Coding::gzip().announced_as("x-gzip"),
        Coding::gzip().announced_as("GZIP"),
        Coding::identity().announced_as("identity"),
    ];
    for framing in framings {
        for coding in &codings {
            for response in [sse(), Response::json(Text::charged())] {
                let response = response.coding(coding.clone()).framing(framing.clone());
                let (result, _) = call_once(Script::new(response));
                let reply = result.unwrap_or_else(|error| panic!("{error}: {coding:?}, {framing:?}"));
                assert_eq!(execution(&reply), 1);
            }
        }
    }
}

#[test]
fn e13_t71_a_missing_footer_costs_nothing() {
    for coding in [Coding::gzip(), Coding::deflate()] {
        for response in [sse(), Response::json(Text::charged())] {
            for framing in [Framing::ContentLength, Framing::UntilClose, Framing::Chunked(Chunked::new())] {
                let response = response.clone().coding(coding.clone().without_footer()).framing(framing);
                let (result, _) = call_once(Script::new(response));
                assert_eq!(execution(&result.unwrap()), 1);
            }
        }
    }
}

#[test]
fn e13_t73_t74_corrupt_data_is_told_and_never_sent_again() {
    let long = Response::sse([Sse::comment(&"keep-alive ".repeat(20)), Sse::charged()]);
    for response in [
        long.coding(Coding::gzip().corrupt_after_blocks(1)),
        Response::json(Text::charged()).coding(Coding::gzip().corrupt_after_bytes(20)),
        Response::json(Text::charged()).coding(Coding::gzip().wrong_check()),
        Response::json(Text::charged()).coding(Coding::identity().announced_as("gzip")),
    ] {
        let (result, _) = call_once(Script::new(response.clone()));
        let error = result.unwrap_err();
        let kind = &failure(&error).kind;
        assert!(matches!(kind, FailureKind::ContentCoding { problem: CodingProblem::Corrupt }), "{kind}: {response:?}");
        assert_eq!(error.attempts(), 1);
    }
}

#[test]
fn e13_corruption_behind_the_answer_leaves_the_answer() {
    let response = Response::sse([Sse::charged(), Sse::comment(&"more ".repeat(50))]);
    let response = response.coding(Coding::gzip().corrupt_after_blocks(1));
    let (result, _) = call_once(Script::new(response).then(Ending::Fin));
    let reply = result.unwrap();
    assert_eq!(execution(&reply), 1);
    assert!(matches!(reply.damage, None | Some(Damage::Corrupt)), "{:?}", reply.damage);
}

#[test]
fn e13_t69_t117_a_body_that_inflates_too_far_is_told_and_never_sent_again() {
    let peer = Peer::start();
    let bomb = Response::sse([Sse::comment(&" ".repeat(3 << 20)), Sse::charged()]).coding(Coding::gzip());
    let scenario = peer.scenario([Script::new(bomb)]);
    let limits = Limits::default().with_max_inflated_bytes(1 << 20);
    let config = ClientConfig::default().with_limits(limits);
    let error = call(&builder(&peer, &scenario).config(config).build().unwrap()).unwrap_err();
    let kind = &failure(&error).kind;
    assert!(matches!(kind, FailureKind::TooLarge { which: SizeLimit::Inflated, limit: 1_048_576 }), "{kind}");
    assert_eq!((error.attempts(), scenario.executions()), (1, 1));
}

#[test]
fn a_large_answer_comes_whole() {
    let peer = Peer::start();
    let text = "0123456789abcdef".repeat(1 << 18);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":{{id}},"result":{{"executions":{{executions}},"text":"{text}"}}}}"#);
    for response in [
        Response::json(answer.as_str()),
        Response::sse([Sse::message(answer.as_str())]),
        Response::sse([Sse::message(answer.as_str())]).coding(Coding::gzip()),
        Response::sse([Sse::message(answer.as_str())]).framing(Framing::Chunked(Chunked::new().sizes([4096, 7]))),
    ] {
        let scenario = peer.scenario([Script::new(response)]);
        let reply = call(&client(&peer, &scenario)).unwrap();
        assert_eq!(execution(&reply), 1);
        let result: serde_json::Value = reply.parse_result().unwrap();
        assert_eq!(result["text"], text);
    }
}
