//! Shared test tools.

pub mod blocking;
pub mod call_program;
pub mod chunking;
pub mod fuzz;
pub mod loop_driver;
pub mod matrix;
pub mod oracle;
pub mod peer;
pub mod story;
