//! One client of the blocking adapter in many threads (T98): every answer reaches the caller that asked, every call keeps its
//! own arguments through its replacement, and no id is used twice.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use mcp_sse_blocking::CallEvent;
use mcp_sse_core::client::ConnectionConfig;
use mcp_sse_tests::blocking::{BOUND, METHOD, builder, watched, within};
use mcp_sse_tests::peer::{At, Chunked, Coding, Ending, Framing, Mark, Peer, Response, Script, Sse, Text};
use serde_json::{Value, json};

const THREADS: u64 = 16;
const CALLS: u64 = 50;

fn params(thread: u64, number: u64) -> Value {
    json!({"name": "charge", "arguments": {"thread": thread, "number": number}})
}

/// Echoes the arguments.
fn echo() -> Text {
    Text::with(|request| {
        json!({"jsonrpc": "2.0", "id": request.id(), "result": request.params()["arguments"]}).to_string()
    })
}

/// Echoes the arguments in a notification.
fn note() -> Text {
    Text::with(|request| {
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": request.params()["arguments"]})
            .to_string()
    })
}

/// The response depends on the number, so that all shapes are under way at once.
fn response(number: u64) -> Response {
    match number % 5 {
        0 => Response::sse([Sse::message(note()), Sse::message(echo())]),
        1 => Response::json(echo()),
        2 => Response::sse([Sse::message(echo())]).coding(Coding::gzip()),
        3 => Response::sse([Sse::message(echo())]).framing(Framing::Chunked(Chunked::new().sizes([3]))),
        _ => Response::json(echo()).close(),
    }
}

/// How the first attempt of this call is broken, if it is.
fn broken(thread: u64, number: u64) -> Option<Script> {
    let (at, ending) = match (thread + number) % 12 {
        0 => (At::mark(Mark::AnswerStart).plus(1), Ending::Reset),
        4 => (At::byte(0), Ending::Fin),
        8 => (At::mark(Mark::HeadEnd), Ending::Reset),
        _ => return None,
    };
    let script = Script::new(Response::sse([Sse::message(echo())])).cut(at, ending);
    Some(script.when(move |request| request.params()["arguments"] == params(thread, number)["arguments"]))
}

fn storm(peer: &Peer) {
    let all = || (0..THREADS).flat_map(|thread| (0..CALLS).map(move |number| (thread, number)));
    let mut scripts: Vec<Script> = all().filter_map(|(thread, number)| broken(thread, number)).collect();
    let lost = scripts.len() as u64;
    assert!(lost > 150);
    let sound = Script::with(|request| response(request.params()["arguments"]["number"].as_u64().unwrap()));
    scripts.push(sound);
    let scenario = peer.scenario(scripts);
    let client = builder(peer, &scenario)
        .connections(ConnectionConfig::default().with_drain_timeout(Duration::from_millis(100)))
        .build()
        .unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let client = client.clone();
            scope.spawn(move || {
                for number in 0..CALLS {
                    let (mut notes, mut reissues) = (0, 0);
                    let params = params(thread, number);
                    let reply = client.call_with(METHOD, &params, &within(4 * BOUND), |event| {
                        match event {
                            CallEvent::Notification { message, .. } => {
                                let text = message.params().unwrap();
                                assert_eq!(serde_json::from_str::<Value>(text).unwrap(), params["arguments"]);
                                notes += 1;
                            }
                            CallEvent::Reissue { .. } => reissues += 1,
                            other => panic!("{other:?}"),
                        }
                        ControlFlow::Continue(())
                    });
                    let reply = reply.unwrap();
                    assert_eq!(reply.parse_result::<Value>().unwrap(), params["arguments"]);
                    let is_broken = broken(thread, number).is_some();
                    assert_eq!((reply.attempts, reissues), if is_broken { (2, 1) } else { (1, 0) });
                    assert_eq!(notes, u64::from(number % 5 == 0));
                }
            });
        }
    });
    let log = scenario.log();
    assert_eq!(log.executions.len() as u64, THREADS * CALLS + lost);
    let ids: BTreeSet<String> = log.executions.iter().map(|execution| execution.id.to_string()).collect();
    assert_eq!(ids.len(), log.executions.len(), "F8: an id was used twice");
    for (thread, number) in all() {
        let runs = log.executions_with(METHOD, &params(thread, number));
        assert_eq!(runs, if broken(thread, number).is_some() { 2 } else { 1 });
    }
    drop(client);
    assert!(peer.wait_for(|log| log.connections.iter().all(|it| it.ended), BOUND), "all connections are closed");
}

#[test]
fn t98_many_threads_on_one_client() {
    watched(|| storm(&Peer::start()));
}

#[test]
fn t98_many_threads_on_one_client_over_tls() {
    watched(|| storm(&Peer::start_tls()));
}
