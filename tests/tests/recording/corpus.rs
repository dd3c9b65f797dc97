//! A recording that was sent in stays one that replays: `corpus/recordings`.

use std::fs;
use std::path::Path;

use mcp_sse_core::recording::{Bodies, Recording};

/// Every script of the corpus, and whatever is redacted of it, comes to what it came to.
#[test]
fn every_recording_of_the_corpus_replays() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/recordings");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 12, "{} recordings", paths.len());
    for path in paths {
        let text = fs::read(&path).unwrap();
        let name = path.display();
        let recording = Recording::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let replayed = recording.replay().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(replayed.inputs > 0 && replayed.outputs > 0, "{name}");
        let redacted = recording.with_bodies(Bodies::Redacted);
        assert_eq!(redacted.bodies(), Bodies::Redacted, "{name}");
        assert_eq!(redacted.replay(), Ok(replayed), "{name}");
    }
}
