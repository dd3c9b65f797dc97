//! Facts about HTTP: heads, dates, metadata, content codings; one file per behaviour.

mod coding;
mod coding_oracle;
mod date;
mod fuzz_head;
mod head;
mod metadata;
mod version;
