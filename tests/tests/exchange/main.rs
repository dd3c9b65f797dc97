//! The exchange, one file per behaviour (rows E).

mod accepted;
mod answer;
mod bad_answers;
mod channel;
mod coding;
mod cuts;
mod drain;
mod endings;
mod fuzz_replay;
mod held;
mod ids;
mod limits;
mod listening;
mod loss;
mod messages;
mod misuse;
mod public_faults;
mod public_streams;
mod resumption;
mod sending;
mod status;
mod tail;
mod time;
mod walk;
mod walk_model;
mod words;
