//! The proxy between a server that breaks and a client: nothing is lost that was delivered, nothing is forwarded twice, a break
//! stays a break, and a reader that is slow holds the server up.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use mcp_sse_blocking::{CallOptions, Client};
use mcp_sse_tests::matrix::{METHOD, params, shapes};
use mcp_sse_tests::peer::raw_client::post_bytes;
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Scenario, Script, Sse};
use serde_json::json;

use crate::servers::Serving;

/// Long enough for a busy machine.
const BOUND: Duration = Duration::from_secs(30);
/// So long a number does not change that has stopped.
const QUIET: Duration = Duration::from_millis(400);

struct Proxy {
    _program: Serving,
    url: String,
}

impl Proxy {
    fn start(peer: &Peer) -> Self {
        let server = format!("http://{}", peer.address());
        let mut program = Serving::start(env!("CARGO_BIN_EXE_example-proxy"), &[&server, "127.0.0.1:0"]);
        let url = program.url();
        Self { _program: program, url: url.trim_end_matches('/').to_owned() }
    }

    fn url_of(&self, scenario: &Scenario) -> String {
        format!("{}{}", self.url, scenario.path())
    }

    /// Posts a request, and reads nothing.
    fn post(&self, scenario: &Scenario) -> TcpStream {
        let mut socket = TcpStream::connect(self.url.trim_start_matches("http://")).expect("it listens");
        socket.set_read_timeout(Some(BOUND)).expect("a bound");
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params()});
        socket.write_all(&post_bytes(&scenario.path(), &message)).expect("it reads");
        socket
    }
}

/// E5, E8, E9 through the proxy: each call is answered once, and runs again only if its answer was not delivered.
#[test]
fn a_break_is_worth_the_same_on_both_sides() {
    let peer = Peer::start();
    let proxy = Proxy::start(&peer);
    // Chunks and lengths and neither, events and JSON, coded and not.
    for shape in shapes().into_iter().step_by(4) {
        let delivered_at = shape.rendered.answer_delivered_at.expect("each shape has an answer");
        for offset in shape.offsets_at_boundaries() {
            for ending in [Ending::Fin, Ending::Reset] {
                let broken = shape.script.clone().cut(At::byte(offset), ending.clone());
                let scenario = peer.scenario([broken, shape.script.clone()]);
                let client = Client::new(&proxy.url_of(&scenario)).expect("a URL");
                let runs = if offset >= delivered_at { 1 } else { 2 };
                let told = client.call_with(METHOD, &params(), &CallOptions::default().with_timeout(BOUND), |_| {
                    std::ops::ControlFlow::Continue(())
                });
                let case = format!("{}: {ending:?} after {offset} of {}", shape.name, shape.len());
                let reply = told.unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!((reply.attempts as usize, scenario.executions()), (runs, runs), "{case}");
            }
        }
    }
}

#[test]
fn a_broken_response_has_no_last_chunk_and_a_whole_one_has() {
    let peer = Peer::start();
    let proxy = Proxy::start(&peer);
    let broken = Script::whole().cut(At::mark(Mark::LastChunkStart), Ending::Fin);
    let unanswered = Script::whole().cut(At::byte(0), Ending::Reset);
    let scenario = peer.scenario([Script::whole(), broken, unanswered]);
    let mut responses = [(); 3].map(|()| {
        let mut response = Vec::new();
        proxy.post(&scenario).read_to_end(&mut response).expect("it closes");
        response
    });
    let last = b"\r\n0\r\n\r\n";
    assert!(responses[0].ends_with(last));
    let length = responses[0].len() - (last.len() - 2);
    responses[0].truncate(length);
    let body = |response: &[u8]| {
        let text = String::from_utf8_lossy(response).replace("charged 2", "charged 1");
        text.split_once("\r\n\r\n").map(|(_, body)| body.replace("\"executions\":2", "\"executions\":1"))
    };
    assert_eq!(body(&responses[0]), body(&responses[1]), "the same events, once each");
    // What has not been answered is no answer of the proxy's either.
    assert_eq!(responses[2], b"");
}

/// S5's question, asked of a proxy: what is not read is not kept.
#[test]
fn a_slow_reader_holds_the_server_up() {
    const EVENT: usize = 256 << 10;
    const EVENTS: usize = 256;
    // Far more than the buffers of four sockets, far less than all of it.
    const MOST: usize = 40 << 20;
    let text = "x".repeat(EVENT);
    let note = format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{text}"}}}}"#);
    let notes = (0..EVENTS).map(|_| Sse::message(note.as_str()));
    let flood = Script::new(Response::sse(notes.chain([Sse::charged()]))).drip(64 << 10, Duration::ZERO);
    let peer = Peer::start();
    let proxy = Proxy::start(&peer);
    let scenario = peer.scenario([flood]);
    let mut socket = proxy.post(&scenario);
    let written = || scenario.log().responses.first().map_or(0, |response| response.written);
    let (begun, mut last, mut since) = (Instant::now(), 0, Instant::now());
    while last == 0 || since.elapsed() < QUIET {
        assert!(begun.elapsed() < BOUND, "it goes on: {last}");
        std::thread::sleep(Duration::from_millis(5));
        let now = written();
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    assert!(last < MOST, "{last} bytes were taken, and none was read");
    let mut response = Vec::new();
    socket.read_to_end(&mut response).expect("all of it");
    assert!(response.len() > EVENT * EVENTS && response.ends_with(b"\r\n0\r\n\r\n"));
}

/// F9: closing is the cancel, and it goes on to the server.
#[test]
fn a_client_that_goes_cancels_its_call() {
    let peer = Peer::start();
    let proxy = Proxy::start(&peer);
    let scenario = peer.scenario([Script::whole().cut(At::mark(Mark::HeadEnd), Ending::Stall)]);
    let socket = proxy.post(&scenario);
    assert!(scenario.wait_for(|log| log.responses.iter().any(|response| response.written > 0), BOUND));
    drop(socket);
    assert!(scenario.wait_for_client_close(BOUND));
}
