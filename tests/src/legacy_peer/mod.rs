//! Scripts of the [scripted peer](crate::peer) for the conversations of earlier revisions: sessions here (2025-03-26 to
//! 2025-11-25), the channel of 2024-11-05 in [`Channel`].
//!
//! ```
//! use mcp_sse_tests::legacy_peer::{opens_sessions, replays, session_is_gone};
//! use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Sse};
//!
//! let peer = Peer::start();
//! // The call's stream breaks behind its first event, and its rest is there for whoever asks for it.
//! let stream = Script::new(Response::sse([Sse::data("").id("e-1"), Sse::charged()]));
//! let broken = stream.for_method("tools/call").cut(At::mark(Mark::BlockEnd(0)), Ending::Reset);
//! let rest = replays("e-1", Response::sse([Sse::charged()]));
//! let scenario = peer.scenario([opens_sessions(), session_is_gone("s-1"), broken, rest]);
//! assert_eq!(scenario.executions_of("tools/call"), 0);
//! ```
//!
//! Rules: each function makes a script that is meant for one kind of request, so that their order does not matter but where
//! they are meant for the same; the log of the peer tells what came, and nothing is judged here. The n-th `initialize` of a
//! scenario opens the session `s-n`.

mod channel;

use serde_json::{Value, json};

use crate::peer::{Chunked, Feed, Framing, Gate, Kind, Request, Response, Script, Sse, Text};

pub use channel::Channel;

/// The header that names the session, in lower case as the log has it.
pub const SESSION: &str = "mcp-session-id";
/// The header that names the revision.
pub const VERSION: &str = "mcp-protocol-version";
/// The header that names the last event that came.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// Answers `initialize`, agreeing to the revision that is offered, and opens a session.
pub fn opens_sessions() -> Script {
    initialize(None, true)
}

/// Answers `initialize` with this revision, and opens a session.
pub fn opens_sessions_of(version: &str) -> Script {
    initialize(Some(version), true)
}

/// Answers `initialize` with this revision, and names no session.
pub fn opens_no_session(version: &str) -> Script {
    initialize(Some(version), false)
}

fn initialize(version: Option<&str>, has_session: bool) -> Script {
    let version = version.map(str::to_owned);
    let script = Script::with(move |request| {
        let offered = request.params()["protocolVersion"].as_str().unwrap_or_default();
        let result = server_of(version.as_deref().unwrap_or(offered));
        let response = Response::json(response_to(request, &result).to_string());
        if has_session { response.header("Mcp-Session-Id", &format!("s-{}", request.executions)) } else { response }
    });
    script.for_method("initialize")
}

/// The result of `initialize` of a server that speaks this revision.
fn server_of(version: &str) -> Value {
    let server = json!({"name": "scripted-peer", "version": "1"});
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server})
}

/// A JSON-RPC response to this request.
pub fn response_to(request: &Request, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.id(), "result": result})
}

/// Knows nothing of this session any more: 404 to every request but DELETE, none of which runs.
pub fn session_is_gone(session: &str) -> Script {
    let session = session.to_owned();
    let script = Script::new(Response::empty(404)).without_executing();
    script.when(move |request| request.http_method != "DELETE" && request.header(SESSION) == Some(&session))
}

/// Takes DELETE with this status.
pub fn ends_sessions(status: u16) -> Script {
    Script::new(Response::empty(status)).for_http("DELETE")
}

/// Answers every request of 2026-07-28 with this status, and runs none: a server that knows no such revision. (In HTTP the
/// name of the header is older than that revision, so its value tells.)
pub fn refuses_the_modern(status: u16) -> Script {
    let response = Response::json(Text::error(-32600, "Bad Request: no such protocol version")).status(status);
    Script::new(response).without_executing().when(is_modern)
}

/// Whether a request is one of 2026-07-28.
pub fn is_modern(request: &Request) -> bool {
    request.header(VERSION) == Some("2026-07-28")
}

/// An open SSE response, whose body is the feed's from here on.
pub fn stream(blocks: impl IntoIterator<Item = Sse>, feed: &Feed) -> Script {
    let framing = Framing::Chunked(Chunked::new().without_last_chunk());
    Script::new(Response::sse(blocks).framing(framing)).feed(feed)
}

/// Answers the GET that asks for no rest of a stream: the listening stream.
pub fn listens(script: Script) -> Script {
    script.when(|request| request.http_method == "GET" && request.header(LAST_EVENT_ID).is_none())
}

/// Answers the GET for what followed this event.
pub fn replays(last_event_id: &str, response: Response) -> Script {
    resumes(last_event_id, Script::new(response))
}

/// Makes a script the answer to the GET for what followed this event.
pub fn resumes(last_event_id: &str, script: Script) -> Script {
    let last_event_id = last_event_id.to_owned();
    script.when(move |request| request.http_method == "GET" && request.header(LAST_EVENT_ID) == Some(&last_event_id))
}

/// Takes the answers to the server's requests, and opens the gate at the first of them.
pub fn takes_replies(gate: &Gate) -> Script {
    let gate = gate.clone();
    Script::new(Response::empty(202)).when(|request| request.kind() == Kind::Reply).before(move |_| gate.open())
}

/// A request of the server's.
pub fn ask(id: impl Into<Value>, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": {"number": 7}})
}

/// A notification of the server's that bears this text.
pub fn log(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}})
}

/// What a request is, in a word: its JSON-RPC method, `reply`, or its HTTP method.
pub fn what(request: &Request) -> String {
    match request.kind() {
        Kind::Reply => "reply".to_owned(),
        Kind::Other => request.http_method.clone(),
        Kind::Unreadable => "unreadable".to_owned(),
        Kind::Call | Kind::Notification => request.method().unwrap_or_default().to_owned(),
    }
}
