//! Recordings held against what they were made of.
//!
//! Rule: whatever was recorded, wherever: its text is read back as it was, it replays to the same, and so it does redacted,
//! unless it says that it cannot.

use mcp_sse_core::recording::{Bodies, Recording, ReplayError, Replayed};

/// Checks a recording in all of its forms; tells whether it can be replayed redacted. `record` gives it with these bodies.
///
/// # Panics
/// If it tells anything else than what was recorded.
pub fn check(mut record: impl FnMut(Bodies) -> Recording) -> bool {
    let whole = record(Bodies::Whole);
    let replayed = replay(&whole);
    let redacted = record(Bodies::Redacted);
    let is_redacted = redacted.bodies() == Bodies::Redacted;
    if is_redacted {
        assert_eq!(replay(&redacted), replayed, "redacted, it tells as much");
    } else {
        refuse(&redacted);
    }
    let sized = record(Bodies::Sized);
    refuse(&sized);
    // Once it is gone it does not come back, and what is there already is not changed.
    assert_eq!(sized.with_bodies(Bodies::Whole), sized);
    assert_eq!(redacted.with_bodies(Bodies::Redacted), redacted);
    is_redacted
}

/// Reads a recording back and replays it.
///
/// # Panics
/// If its text says anything else than it does, or if anything else comes out.
pub fn replay(recording: &Recording) -> Replayed {
    let text = recording.to_string();
    let read = Recording::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&read, recording, "what is read is what was written\n{text}");
    assert_eq!(read.to_string(), text);
    let replayed = read.replay().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let inputs = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let outputs = text.lines().filter(|line| line.starts_with("expect "));
    assert_eq!((replayed.inputs, replayed.outputs), (inputs.count(), outputs.count()));
    replayed
}

/// What withholds a payload says so, and tells nothing else.
fn refuse(recording: &Recording) {
    let text = recording.to_string();
    let read = Recording::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(&read, recording, "what is read is what was written\n{text}");
    match read.replay() {
        // There was nothing to withhold.
        Ok(_) => {}
        Err(ReplayError::Withheld { line }) => {
            let line = text.lines().nth(line - 1).unwrap_or_default();
            assert!(line.contains(" bytes=") && line.contains(" crc=") && !line.contains(" | "), "{line}");
        }
        Err(error) => panic!("{error}\n{text}"),
    }
}
