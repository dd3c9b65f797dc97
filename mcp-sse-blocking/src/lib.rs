//! Blocking adapter.
