//! The decoder, one file per behaviour (rows D). What counts allocations is a program of its own,
//! `decoder_memory`.

mod exhaustive;
mod faults;
mod feed;
mod fuzz_replay;
mod held;
mod limits;
mod parts;
mod random;
mod rows;
mod vectors;
