//! The clients that tests/peers/run installs, and what each speaks.
//!
//! Rules: a revision that a client speaks only if it must is got by a server that speaks no other; what is not tried has its
//! reason here.

/// A client program.
pub(super) struct Client {
    /// Which SDK it is of.
    pub(super) name: &'static str,
    /// The command, relative to the repository.
    pub(super) command: &'static [&'static str],
    /// What is tried with it.
    pub(super) trials: &'static [Trial],
}

/// One run of a client.
pub(super) struct Trial {
    /// How it begins, the last argument of its command.
    pub(super) mode: &'static str,
    /// The revisions that the server speaks; all, if none is named.
    pub(super) spoken: &'static [&'static str],
    /// The revision that is spoken then.
    pub(super) version: &'static str,
    /// Whether the client mirrors a parameter in a header.
    pub(super) mirrors: bool,
}

const fn trial(mode: &'static str, spoken: &'static [&'static str], version: &'static str) -> Trial {
    Trial { mode, spoken, version, mirrors: false }
}

const fn modern(mode: &'static str, spoken: &'static [&'static str]) -> Trial {
    Trial { mirrors: true, ..trial(mode, spoken, "2026-07-28") }
}

const V2025_11: Trial = trial("legacy", &[], "2025-11-25");
const V2025_06: Trial = trial("legacy", &["2025-06-18"], "2025-06-18");
const V2025_03: Trial = trial("legacy", &["2025-03-26"], "2025-03-26");
/// Over the old transport the two sides may agree on the messages of a later revision.
const SSE: Trial = trial("sse", &[], "2025-11-25");
const V2024_11: Trial = trial("sse", &["2024-11-05"], "2024-11-05");

const DUAL_ERA: &[Trial] = &[
    modern("auto", &[]),
    modern("modern", &["2026-07-28"]),
    // It finds out that there is no such era.
    trial("auto", &["2025-11-25", "2024-11-05"], "2025-11-25"),
    V2025_11,
    V2025_06,
    V2025_03,
    SSE,
    V2024_11,
];
const LEGACY: &[Trial] = &[V2025_11, V2025_06, V2025_03, SSE, V2024_11];
/// rmcp has no client for HTTP with SSE.
const DUAL_ERA_WITHOUT_SSE: &[Trial] = DUAL_ERA.split_at(DUAL_ERA.len() - 2).0;

/// All of them.
pub(super) const CLIENTS: &[Client] = &[
    Client {
        name: "python",
        command: &["target/peers/python/bin/python", "tests/peers/python/client.py"],
        trials: DUAL_ERA,
    },
    Client { name: "typescript-v1", command: &["node", "target/peers/typescript-v1/client.mjs"], trials: LEGACY },
    Client { name: "typescript-v2", command: &["node", "target/peers/typescript-v2/client.mjs"], trials: DUAL_ERA },
    Client {
        name: "rmcp",
        command: &["target/peers/rmcp/debug/mcp-sse-peer-rmcp-client"],
        trials: DUAL_ERA_WITHOUT_SSE,
    },
];
