//! The client in the core, without sockets: one file per behaviour (rows F), and the bytes of its requests.

mod cancel;
mod channel;
mod drain;
mod endpoint;
mod fuzz_tools;
mod handshake_faults;
mod ids;
mod interleaving;
mod ladder;
mod legacy_sessions;
mod lost;
mod notify;
mod policy;
mod public_fault;
mod redirect;
mod reissue;
mod reply;
mod request_body;
mod request_errors;
mod request_headers;
mod subscription;
mod subscriptions;
mod tool_headers;
mod tool_refresh;
mod version_change;
mod versions;
