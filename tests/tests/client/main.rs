//! The client in the core, without sockets: one file per behaviour (rows F), and the bytes of its requests.

mod cancel;
mod drain;
mod endpoint;
mod fuzz_tools;
mod ids;
mod interleaving;
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
mod tool_headers;
mod versions;
