//! Shared test tools.

pub mod call_program;
pub mod chunking;
pub mod fuzz;
pub mod oracle;
pub mod peer;
