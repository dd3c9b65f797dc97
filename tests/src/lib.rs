//! Shared test tools.

pub mod chunking;
pub mod fuzz;
pub mod oracle;
pub mod peer;
