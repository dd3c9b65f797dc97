//! Shared test tools.
