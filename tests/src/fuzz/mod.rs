//! The bodies of the fuzz targets, as plain functions: the fuzzer calls them, and `cargo test` replays the corpus.

pub mod decoder;
pub mod encoder;
pub mod envelope;
pub mod exchange;
pub mod head;
pub mod recording;
pub mod server;
pub mod tools;
