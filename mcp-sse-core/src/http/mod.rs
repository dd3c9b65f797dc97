//! Facts of HTTP.
