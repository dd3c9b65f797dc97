//! Recordings: what happened, written down and played again. That every case of the tests of exchanges and of clients replays,
//! redacted too, is checked where these are played (`story` and `loop_driver`).

mod corpus;
#[cfg(feature = "sockets")]
mod demonstration;
mod format;
mod fuzz_replay;
mod redaction;
mod replaying;
