//! The encoder, one file per behaviour (row S1).

mod bytes;
mod faults;
mod fuzz_replay;
