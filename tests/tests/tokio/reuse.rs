//! When the tokio adapter uses an HTTP/1.1 connection again, and when it must not. A kept connection that turns out to be
//! closed is no failure (E1).

use std::time::Duration;

use mcp_sse_core::client::{CallEvent, Outcome};
use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{
    At, Chunked, ClientClose, Ending, Framing, Gate, Mark, Peer, Response, Scenario, Script, Sse, Text,
};
use mcp_sse_tests::tokio_client::{BOUND, builder, call, charge, execution, run, told, within};
use mcp_sse_tokio::{Client, ConnectionConfig};
use serde_json::json;

fn peers() -> [Peer; 2] {
    [Peer::start(), Peer::start_tls()]
}

fn client(peer: &Peer, scenario: &Scenario) -> Client {
    let builder = builder(&scenario.url());
    let is_tls = scenario.url().starts_with("https");
    let builder = if is_tls { builder.trust_pem(peer.certificate_pem().as_bytes()) } else { builder };
    builder.build().unwrap()
}

/// Three calls in a row, each read to its end: how many connections they took.
async fn connections_of(peer: &Peer, script: Script) -> usize {
    let scenario = peer.scenario([script]);
    let (client, before) = (client(peer, &scenario), peer.connections());
    for number in 1..=3 {
        let (reply, done) = client.call_to_end(METHOD, &charge(number), &within(BOUND)).await.unwrap();
        assert!(matches!(done.outcome, Outcome::Settled(_)), "{done:?}");
        assert_eq!((reply.attempts, execution(&reply)), (1, number));
    }
    peer.connections() - before
}

fn sse() -> Response {
    Response::sse([Sse::charged()])
}

#[test]
fn a_response_that_was_read_to_its_end_leaves_its_connection_to_the_next_call() {
    run(async {
        for peer in peers() {
            for response in [
                sse(),
                sse().framing(Framing::ContentLength),
                sse().framing(Framing::Chunked(Chunked::new().sizes([5]).extension("a=b").trailer("X-T: 1"))),
                sse().interim(103, &[]),
                Response::json(Text::charged()),
                Response::json(Text::charged()).framing(Framing::Chunked(Chunked::new())),
            ] {
                assert_eq!(connections_of(&peer, Script::new(response.clone())).await, 1, "{response:?}");
            }
        }
    });
}

#[test]
fn connections_are_not_used_again_where_their_end_was_announced_or_ends_the_body() {
    run(async {
        for peer in peers() {
            for response in [sse().close(), Response::json(Text::charged()).close()] {
                // The server forgets to close.
                let script = Script::new(response.clone()).then(Ending::KeepAlive);
                assert_eq!(connections_of(&peer, script).await, 3, "{response:?}");
            }
            let until_close = Script::new(sse().framing(Framing::UntilClose));
            assert_eq!(connections_of(&peer, until_close).await, 3);
        }
    });
}

/// A request's head is kept for those that follow over its connection: each says what is its own all the same.
#[test]
fn each_request_over_a_kept_connection_bears_its_own_headers() {
    run(async {
        for peer in peers() {
            let scenario = peer.scenario([Script::json()]);
            let mut builder = builder(&scenario.url());
            if scenario.url().starts_with("https") {
                builder = builder.trust_pem(peer.certificate_pem().as_bytes());
            }
            let client = builder.header("X-Many", "1").header("X-Many", "2").build().unwrap();
            let named = |name: &str| json!({"name": name});
            let calls = [
                ("tools/call", named("a")),
                ("tools/call", named("a")),
                ("tools/call", named("b")),
                ("tools/list", json!({})),
                ("prompts/list", json!({})),
                ("resources/read", json!({"uri": "é"})),
                ("prompts/get", named("b")),
                ("tools/call", named("a")),
            ];
            for (method, params) in &calls {
                client.call_to_end(method, params, &within(BOUND)).await.unwrap();
            }
            assert_eq!(peer.connections(), 1);
            let names = [Some("a"), Some("a"), Some("b"), None, None, Some("=?base64?w6k=?="), Some("b"), Some("a")];
            for ((request, (method, _)), name) in scenario.requests().iter().zip(&calls).zip(names) {
                assert_eq!((request.header("mcp-method"), request.header("mcp-name")), (Some(*method), name));
                let many = request.headers.iter().filter(|(name, _)| name == "x-many").map(|(_, value)| value.as_str());
                assert_eq!(many.collect::<Vec<_>>(), ["1", "2"]);
                assert_eq!(request.header("content-length"), Some(request.body.len().to_string().as_str()));
                assert_eq!(request.headers.iter().filter(|(name, _)| name == "host").count(), 1);
            }
        }
    });
}

#[test]
fn failures_and_notifications_leave_their_connection_too() {
    run(async {
        for peer in peers() {
            let scenario = peer.scenario([
                Script::new(Response::raw("busy").status(503)),
                Script::new(Response::empty(202)),
                Script::new(Response::json(Text::error(-32601, "no")).status(404)),
                Script::json(),
            ]);
            let client = client(&peer, &scenario);
            assert_eq!(call(&client).await.unwrap_err().status(), Some(503));
            assert_eq!(call(&client).await.unwrap_err().kind(), "no_answer");
            assert!(call(&client).await.unwrap().result().is_err());
            client.notify("notifications/progress", &charge(1)).await.unwrap();
            assert_eq!(execution(&call(&client).await.unwrap()), 4);
            assert_eq!(peer.connections(), 1);
        }
    });
}

/// E1: found out by looking at the socket itself. The runtime has one thread, which is in the test until the peer has
/// closed, so its reactor cannot have heard.
#[test]
fn e1_a_kept_connection_that_was_closed_is_replaced_without_a_word() {
    for peer in peers() {
        for ending in [Ending::Fin, Ending::Reset] {
            let scenario = peer.scenario([Script::json()]);
            let (client, before) = (client(&peer, &scenario), peer.connections());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                assert_eq!(execution(&call(&client).await.unwrap()), 1);
                assert_eq!(peer.close_idle(1, ending.clone()), 1);
                let told = told(client.call_with(METHOD, &charge(2), &within(BOUND))).await;
                let reply = told.result.unwrap();
                assert_eq!((reply.attempts, execution(&reply)), (1, 2), "{ending:?}");
                assert!(!told.events.iter().any(|event| matches!(event, CallEvent::Reissue { .. })), "{ending:?}");
            });
            assert_eq!((scenario.requests().len(), scenario.executions(), peer.connections() - before), (2, 2, 2));
        }
    }
}

/// Bytes that nobody asked for must not become the beginning of the next response.
#[test]
fn a_connection_with_bytes_behind_the_body_is_not_used_again() {
    run(async {
        let text = r#"{"jsonrpc":"2.0","id":{id},"result":{"executions":{executions}}}"#;
        let forged = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n";
        for peer in peers() {
            for extra in ["x", forged] {
                for later in [false, true] {
                    let response = Response::json(format!("{text}{extra}"));
                    let response = response.framing(Framing::WrongLength(-(extra.len() as isize)));
                    let gate = Gate::new();
                    // The peer means to keep the connection.
                    let mut script = Script::new(response).then(Ending::KeepAlive);
                    if later {
                        script = script.wait_at(At::end().plus(-(extra.len() as isize)), &gate);
                    }
                    let scenario = peer.scenario([script, Script::json()]);
                    let (client, before) = (client(&peer, &scenario), peer.connections());
                    assert_eq!(execution(&call(&client).await.unwrap()), 1);
                    gate.open();
                    assert!(scenario.wait_for(|log| log.responses[0].done, BOUND));
                    assert_eq!(execution(&call(&client).await.unwrap()), 2);
                    assert_eq!(peer.connections() - before, 2, "{extra:?}, later {later}");
                }
            }
        }
    });
}

/// E2: the caller has its answer while the end of the stream is still to come; the rest is read behind its back.
#[test]
fn e2_the_rest_of_a_stream_is_read_in_the_background_and_the_connection_kept() {
    run(async {
        let (peer, gate) = (Peer::start(), Gate::new());
        let slow = Script::whole().wait_at(At::mark(Mark::AnswerTerminated), &gate);
        let scenario = peer.scenario([slow, Script::whole()]);
        let connections = ConnectionConfig::default().with_drain_timeout(BOUND);
        let client = builder(&scenario.url()).connections(connections).build().unwrap();
        assert_eq!(execution(&call(&client).await.unwrap()), 1);
        assert!(!scenario.log().responses[0].done, "the answer came before the end");
        gate.open();
        // The background has the last bytes soon; each call that comes too early takes a connection of its own.
        let is_reused = async {
            loop {
                tokio::time::sleep(Duration::from_millis(10)).await;
                client.call_to_end(METHOD, &charge(1), &within(BOUND)).await.unwrap();
                let requests = scenario.requests();
                if requests.iter().skip(1).any(|request| request.connection == requests[0].connection) {
                    return;
                }
            }
        };
        assert!(tokio::time::timeout(BOUND, is_reused).await.is_ok());
    });
}

#[test]
fn dropping_the_last_client_closes_its_kept_connections() {
    run(async {
        for (peer, close) in [(Peer::start(), ClientClose::Fin), (Peer::start_tls(), ClientClose::CloseNotify)] {
            let scenario = peer.scenario([Script::json()]);
            let client = client(&peer, &scenario);
            let other = client.clone();
            call(&client).await.unwrap();
            drop(client);
            call(&other).await.unwrap();
            assert_eq!((peer.connections(), peer.log().connections[0].client_close), (1, None));
            drop(other);
            assert!(peer.wait_for(|log| log.connections[0].client_close == Some(close), BOUND));
        }
    });
}
