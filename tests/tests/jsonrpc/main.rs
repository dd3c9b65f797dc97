//! The JSON-RPC envelope, one file per behaviour.

mod array;
mod completeness;
mod depth;
mod envelope;
mod fuzz_replay;
mod id;
mod malformed;
mod message;
mod object;
mod random;
mod strings;
