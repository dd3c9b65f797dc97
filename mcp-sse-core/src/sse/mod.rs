//! text/event-stream.
