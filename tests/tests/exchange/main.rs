//! The exchange, one file per behaviour (rows E).

mod answer;
mod bad_answers;
mod coding;
mod cuts;
mod endings;
mod fuzz_replay;
mod ids;
mod limits;
mod loss;
mod messages;
mod misuse;
mod public_faults;
mod sending;
mod status;
mod tail;
mod time;
mod walk;
