//! Response heads as the blocking adapter reads them: limits, malformed heads, interim heads, framing headers, statuses.
//! A head that is no head is a loss (E5); what a good head settles is settled without waiting for the body (E18, E19, E24).

use std::ops::ControlFlow;

use mcp_sse_blocking::core::Limits;
use mcp_sse_blocking::{CallError, ClientConfig, Reply};
use mcp_sse_core::client::Outcome;
use mcp_sse_core::exchange::{BreakKind, Cause, CodingProblem, FailureKind};
use mcp_sse_core::http::RetryAfter;
use mcp_sse_tests::blocking::{BOUND, METHOD, builder, call, charge, client, execution, failure, timed, within};
use mcp_sse_tests::peer::{At, Chunked, Ending, Framing, Mark, Peer, Request, Response, Scenario, Script, Sse, Text};

/// What one call of a fresh peer with these scripts comes to.
fn call_of(scripts: impl IntoIterator<Item = Script>) -> (Result<Reply, CallError>, Scenario, Peer) {
    let peer = Peer::start();
    let scenario = peer.scenario(scripts);
    let result = call(&client(&peer, &scenario));
    (result, scenario, peer)
}

/// E5: a head like this is a loss each time, and the request is sent twice.
fn assert_lost(response: Response, kind: BreakKind) {
    let (result, scenario, _peer) = call_of([Script::new(response.clone())]);
    let error = result.unwrap_err();
    let expected = Cause::Broken(kind);
    assert!(
        matches!(failure(&error).kind, FailureKind::Lost { cause, .. } if cause == expected),
        "{error}: {response:?}"
    );
    assert_eq!((error.attempts(), scenario.executions()), (2, 2), "{response:?}");
    assert!(error.may_have_run());
}

fn verbatim(head: &str) -> Response {
    Response::verbatim(head.as_bytes())
}

#[test]
fn e5_heads_that_are_not_http() {
    for head in [
        "nonsense\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{0}\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nBad name: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n",
    ] {
        assert_lost(verbatim(head), BreakKind::Malformed);
    }
}

#[test]
fn e5_a_head_over_the_limit_is_lost_also_if_it_comes_all_at_once() {
    let limits = Limits::default().with_max_head_bytes(1000);
    let whole = Response::json(Text::charged());
    let sample = |padding: usize| whole.clone().header("X-Pad", &"x".repeat(padding));
    let room = 1000 - Script::new(sample(0)).render(&Request::sample(METHOD, 1)).head_len;
    for (padding, fits) in [(room, true), (room + 1, false), (5000, false), (100_000, false)] {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::new(sample(padding))]);
        let config = ClientConfig::default().with_limits(limits.clone());
        let client = builder(&peer, &scenario).config(config).build().unwrap();
        match call(&client) {
            Ok(reply) => assert!(fits && execution(&reply) == 1, "{padding}"),
            Err(error) => {
                let kind = &failure(&error).kind;
                let is_told = matches!(kind, FailureKind::Lost { cause: Cause::Broken(BreakKind::HeadTooLarge), .. });
                assert!(!fits && is_told, "{padding}: {error}");
                assert_eq!(scenario.executions(), 2);
            }
        }
    }
}

#[test]
fn e5_t110_header_lines_without_end_are_too_large() {
    let ending = Ending::Repeat { bytes: b"X-Pad: 1\r\n".to_vec(), every: std::time::Duration::ZERO };
    let endless = Script::whole().cut(At::mark(Mark::StatusLineEnd), ending);
    let (result, scenario, _peer) = call_of([endless]);
    let error = result.unwrap_err();
    let lost = FailureKind::Lost { cause: Cause::Broken(BreakKind::HeadTooLarge), replacement: None };
    assert_eq!(failure(&error).kind.to_string(), lost.to_string());
    assert_eq!(scenario.executions(), 2);
}

#[test]
fn e5_one_bad_head_is_made_good_by_the_replacement() {
    let (result, scenario, _peer) = call_of([Script::new(verbatim("nonsense\r\n\r\n")), Script::whole()]);
    let reply = result.unwrap();
    assert_eq!((reply.attempts, execution(&reply), scenario.executions()), (2, 2, 2));
}

#[test]
fn interim_heads_are_passed_over() {
    let response = Response::json(Text::charged())
        .interim(100, &[])
        .interim(100, &["X-Odd: header lines in a 100"])
        .interim(102, &[])
        .interim(103, &["Link: </style.css>", "Content-Length: 3"]);
    for script in [Script::new(response.clone()), Script::new(response).drip(1, std::time::Duration::ZERO)] {
        let (result, scenario, _peer) = call_of([script]);
        assert_eq!((execution(&result.unwrap()), scenario.executions()), (1, 1));
    }
}

#[test]
fn heads_as_odd_servers_write_them_are_read() {
    let length = 58;
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{"executions":1,"a":"b"}}"#;
    assert_eq!(body.len(), length);
    for head in [
        format!("HTTP/1.1 200 OK\ncontent-type: application/json\ncontent-length: {length}\n\n"),
        format!("HTTP/1.1 200\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"),
        format!("HTTP/1.1 200 \r\nCONTENT-TYPE:application/json;charset=utf-8\r\nContent-Length:{length}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nContent-Length: {length}\r\n\r\n"),
        format!("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\nX-Latin: caf\u{e9}\r\nContent-Length: {length}\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n".to_owned(),
    ] {
        let response = Response::verbatim(format!("{head}{body}"));
        let (result, ..) = call_of([Script::new(response).then(Ending::Fin)]);
        assert_eq!(execution(&result.unwrap_or_else(|error| panic!("{error}: {head}"))), 1);
    }
}

/// RFC 9112 section 6.3: chunks win over a length, whatever it says.
#[test]
fn e3_a_content_length_beside_chunks_means_nothing() {
    for length in ["3", "100000"] {
        let peer = Peer::start();
        let response = Response::sse([Sse::charged()]).header("Content-Length", length);
        let scenario = peer.scenario([Script::new(response)]);
        let client = client(&peer, &scenario);
        let call = client.call_to_end(METHOD, &charge(1), &within(BOUND), |_| ControlFlow::Continue(()));
        let (reply, done) = call.unwrap();
        assert_eq!(execution(&reply), 1);
        assert!(matches!(done.outcome, Outcome::Settled(_)), "{done:?}");
    }
}

#[test]
fn e18_a_status_of_failure_is_told_and_never_sent_again() {
    for status in [302, 400, 401, 403, 404, 406, 429, 500, 502, 503] {
        let response = Response::raw("<p>the reason\n").status(status).header("Retry-After", "7");
        for script in [
            Script::new(response.clone()),
            Script::new(response.clone()).cut(At::byte(usize::MAX).plus(-3), Ending::Reset),
            Script::new(response.framing(Framing::Chunked(Chunked::new()))),
        ] {
            let (result, scenario, _peer) = call_of([script]);
            let error = result.unwrap_err();
            let FailureKind::Status(told) = &failure(&error).kind else { panic!("{status}: {error}") };
            assert_eq!((told.status(), error.status()), (status, Some(status)));
            assert_eq!((told.is_unauthorized(), told.is_forbidden()), (status == 401, status == 403));
            assert!(told.excerpt.as_bytes().starts_with(b"<p>the reas"), "{}", told.excerpt);
            assert_eq!(error.retry_after(), Some(RetryAfter::Seconds(7)));
            assert_eq!((error.attempts(), scenario.executions()), (1, 1));
        }
    }
}

#[test]
fn e17_a_json_rpc_error_under_a_status_of_failure_is_the_answer() {
    let (result, scenario, _peer) = call_of([Script::new(Response::json(Text::error(-32601, "no")).status(404))]);
    let reply = result.unwrap();
    assert_eq!(reply.result().unwrap_err().code, -32601);
    assert_eq!((reply.answer.info.status, reply.answer.info.proves_modern), (404, true));
    assert_eq!(scenario.executions(), 1);
}

#[test]
fn e19_a_success_without_a_body_is_no_answer() {
    for response in [Response::empty(202), Response::empty(204), Response::empty(200)] {
        let (result, scenario, _peer) = call_of([Script::new(response)]);
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.attempts(), scenario.executions()), ("no_answer", 1, 1));
    }
}

/// The body never comes; the head is enough.
#[test]
fn e13_e24_what_the_head_refuses_is_refused_without_the_body() {
    let stalled = |response: Response| Script::new(response).cut(At::mark(Mark::HeadEnd), Ending::Stall);
    let html = Response::json(Text::charged()).content_type("text/html");
    let coded = Response::json(Text::charged()).header("Content-Encoding", "br");
    for (response, kind) in [(html, "content_type"), (coded, "content_coding")] {
        let (result, elapsed) = timed(|| call_of([stalled(response)]));
        let error = result.0.unwrap_err();
        assert_eq!((error.kind(), error.attempts(), result.1.executions()), (kind, 1, 1));
        assert!(elapsed < BOUND);
        if let FailureKind::ContentCoding { problem } = failure(&error).kind {
            assert_eq!(problem, CodingProblem::Unsupported);
        }
    }
}

#[test]
fn e5_a_malformed_chunk_after_the_answer_costs_nothing_and_before_it_the_attempt() {
    let answer = r#"data: {"jsonrpc":"2.0","id":1,"result":{"executions":1}}"#.to_owned() + "\n\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let after = format!("{head}{:x}\r\n{answer}\r\nnonsense\r\n", answer.len());
    let (result, scenario, _peer) = call_of([Script::new(verbatim(&after))]);
    assert_eq!((execution(&result.unwrap()), scenario.executions()), (1, 1));
    // The data before the malformed end of its chunk counts as well.
    let within = format!("{head}{:x}\r\n{answer}XX", answer.len());
    let (result, scenario, _peer) = call_of([Script::new(verbatim(&within))]);
    assert_eq!((execution(&result.unwrap()), scenario.executions()), (1, 1));
    let before = format!("{head}zz\r\n{answer}\r\n0\r\n\r\n");
    assert_lost(verbatim(&before), BreakKind::Malformed);
}

#[test]
fn the_request_is_what_http_and_the_revision_want() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::json()]);
    let client = builder(&peer, &scenario).header("X-Tenant", "seven").header("Authorization", "Bearer x").build();
    call(&client.unwrap()).unwrap();
    let requests = scenario.requests();
    let request = &requests[0];
    let host = peer.address().to_string();
    let length = request.body.len().to_string();
    for (name, value) in [
        ("host", host.as_str()),
        ("content-length", &length),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "charge"),
        ("x-tenant", "seven"),
        ("authorization", "Bearer x"),
    ] {
        let values: Vec<_> =
            request.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value).collect();
        assert_eq!(values, [value], "{name}");
    }
    assert_eq!((request.http_method.as_str(), request.target.as_str()), ("POST", scenario.path().as_str()));
    assert!(request.header("transfer-encoding").is_none() && request.header("expect").is_none());
}
