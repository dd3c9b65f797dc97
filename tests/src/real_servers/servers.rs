//! The servers that tests/peers/run installs, and what each can do at each revision.
//!
//! Rules: what a server cannot do is said here, with the reason; everything else must work.

use mcp_sse_core::http::ProtocolVersion;

use crate::conformance::peer::Protocol;

/// A server program in one of its modes.
pub struct Server {
    /// Which SDK it is of.
    pub name: &'static str,
    /// Its mode, the last argument of its command.
    pub mode: &'static str,
    /// The command, relative to the repository.
    pub command: &'static [&'static str],
    /// What to speak to it.
    pub trials: &'static [Expected],
}

/// What a server does when a given revision is asked for.
#[derive(Clone, Copy)]
pub struct Expected {
    /// The revision asked for.
    pub protocol: Protocol,
    /// The revision that is spoken then.
    pub version: ProtocolVersion,
    /// How it asks the client for something.
    pub asks: Asks,
    /// Whether its tool hears of a cancel.
    pub hears_cancel: bool,
    /// What becomes of a call whose stream is cut.
    pub loss: Loss,
}

/// How a server asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// By a request of its own during the call.
    ByRequest,
    /// By a result that wants input (2026-07-28).
    ByResult,
    /// Not at all: without a session it does not know who would answer.
    Never,
}

/// What becomes of a call whose stream is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is sent again, and runs twice.
    Reissued,
    /// Its stream is resumed, and it runs once.
    Resumed,
    /// It fails, and is said to have run perhaps.
    Lost,
}

const fn modern(protocol: Protocol) -> Expected {
    let version = ProtocolVersion::V2026_07_28;
    Expected { protocol, version, asks: Asks::ByResult, hears_cancel: true, loss: Loss::Reissued }
}

const fn session(protocol: Protocol, version: ProtocolVersion) -> Expected {
    Expected { protocol, version, asks: Asks::ByRequest, hears_cancel: true, loss: Loss::Resumed }
}

/// Each request is served alone: nothing leads from a cancel to the call, or from the answer to a question.
const fn sessionless(protocol: Protocol, version: ProtocolVersion) -> Expected {
    Expected { protocol, version, asks: Asks::Never, hears_cancel: false, loss: Loss::Lost }
}

const fn http_sse(protocol: Protocol) -> Expected {
    let version = ProtocolVersion::V2024_11_05;
    Expected { protocol, version, asks: Asks::ByRequest, hears_cancel: true, loss: Loss::Lost }
}

const V2024: ProtocolVersion = ProtocolVersion::V2024_11_05;
const V2025_03: ProtocolVersion = ProtocolVersion::V2025_03_26;
const V2025_06: ProtocolVersion = ProtocolVersion::V2025_06_18;
const V2025_11: ProtocolVersion = ProtocolVersion::V2025_11_25;
const V2026: ProtocolVersion = ProtocolVersion::V2026_07_28;

const fn fixed(version: ProtocolVersion) -> Protocol {
    Protocol::Fixed(version)
}

const DUAL_SESSIONS: &[Expected] = &[
    modern(Protocol::Auto),
    modern(fixed(V2026)),
    session(fixed(V2025_11), V2025_11),
    session(fixed(V2025_06), V2025_06),
    session(fixed(V2025_03), V2025_03),
];
const DUAL_SESSIONLESS: &[Expected] =
    &[modern(Protocol::Auto), sessionless(fixed(V2025_11), V2025_11), sessionless(fixed(V2025_06), V2025_06)];
const LEGACY_SESSIONS: &[Expected] = &[
    session(Protocol::Auto, V2025_11),
    session(fixed(V2025_11), V2025_11),
    session(fixed(V2025_06), V2025_06),
    session(fixed(V2025_03), V2025_03),
];
const LEGACY_SESSIONLESS: &[Expected] =
    &[sessionless(Protocol::Auto, V2025_11), sessionless(fixed(V2025_06), V2025_06)];
const HTTP_SSE: &[Expected] = &[http_sse(Protocol::Auto), http_sse(fixed(V2024))];
/// With an event store rmcp 3.11 lets a call run on whose client has gone, in 2026-07-28 too, where going is the cancel.
const RMCP_SESSIONS: &[Expected] = &[
    Expected { hears_cancel: false, ..modern(Protocol::Auto) },
    Expected { hears_cancel: false, ..modern(fixed(V2026)) },
    session(fixed(V2025_11), V2025_11),
    session(fixed(V2025_06), V2025_06),
    session(fixed(V2025_03), V2025_03),
];
/// An answer that came while nobody was connected is not kept, so each resumed stream is empty, and the budget ends it.
const FORGETFUL: &[Expected] = &[
    Expected { loss: Loss::Lost, ..session(fixed(V2025_11), V2025_11) },
    Expected { loss: Loss::Lost, ..session(fixed(V2025_06), V2025_06) },
];
const MODERN: &[Expected] = &[modern(Protocol::Auto), modern(fixed(V2026))];

const PYTHON: &[&str] = &["target/peers/python/bin/python", "tests/peers/python/server.py"];
const TYPESCRIPT_V1: &[&str] = &["node", "target/peers/typescript-v1/server.mjs"];
const TYPESCRIPT_V2: &[&str] = &["node", "target/peers/typescript-v2/server.mjs"];
const RMCP: &[&str] = &["target/peers/rmcp/debug/mcp-sse-peer-rmcp"];

/// All of them.
pub const SERVERS: &[Server] = &[
    Server { name: "python", mode: "stateful", command: PYTHON, trials: DUAL_SESSIONS },
    Server { name: "python", mode: "stateless", command: PYTHON, trials: DUAL_SESSIONLESS },
    Server { name: "python", mode: "sse", command: PYTHON, trials: HTTP_SSE },
    Server { name: "typescript-v1", mode: "stateful", command: TYPESCRIPT_V1, trials: LEGACY_SESSIONS },
    Server { name: "typescript-v1", mode: "stateless", command: TYPESCRIPT_V1, trials: LEGACY_SESSIONLESS },
    Server { name: "typescript-v1", mode: "sse", command: TYPESCRIPT_V1, trials: HTTP_SSE },
    Server { name: "typescript-v2", mode: "stateful", command: TYPESCRIPT_V2, trials: DUAL_SESSIONS },
    Server { name: "typescript-v2", mode: "stateless", command: TYPESCRIPT_V2, trials: DUAL_SESSIONLESS },
    Server { name: "typescript-v2", mode: "modern", command: TYPESCRIPT_V2, trials: MODERN },
    Server { name: "rmcp", mode: "stateful", command: RMCP, trials: RMCP_SESSIONS },
    Server { name: "rmcp", mode: "forgetful", command: RMCP, trials: FORGETFUL },
    Server { name: "rmcp", mode: "stateless", command: RMCP, trials: DUAL_SESSIONLESS },
];
