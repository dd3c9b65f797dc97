//! What happened, line by line, for whoever wants it written down: the paper of a recording.
//!
//! Lives here: [`Line`], its text and how it is read back (`line`), and [`Tape`], which keeps lines within a bound
//! (`roll`). Rules: a line is words and at most one payload; what the words are is said by who writes them (`exchange`
//! and `client` in their `taping`), what they mean to a replay by [`recording`](crate::recording). This room knows
//! nothing of ours but the time.

mod line;
mod roll;

pub(crate) use line::{Line, checksum, duration, millis, parse_duration};
pub use roll::RecordingConfig;
pub(crate) use roll::Tape;
