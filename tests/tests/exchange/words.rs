//! What went wrong, in words: each says what it is, and no two say the same.

use std::collections::BTreeSet;
use std::io;

use mcp_sse_core::exchange::{BreakKind, Damage, FailureKind, HandshakeProblem};
use mcp_sse_core::http::ProtocolVersion;

fn assert_all_differ(said: &[String]) {
    assert!(said.iter().all(|text| text.len() > 8), "{said:?}");
    assert_eq!(said.iter().collect::<BTreeSet<_>>().len(), said.len(), "{said:?}");
}

#[test]
fn e4_each_damage_has_its_words() {
    let breaks = [BreakKind::Closed, BreakKind::Reset, BreakKind::TlsTruncated, BreakKind::Io];
    let damages = [Damage::UnterminatedEvent, Damage::Stalled, Damage::Short, Damage::Corrupt, Damage::TooLarge];
    let damages = damages.into_iter().chain(breaks.map(Damage::Broken));
    assert_all_differ(&damages.map(|damage| damage.to_string()).collect::<Vec<_>>());
    assert!(Damage::Broken(BreakKind::Reset).to_string().contains(&BreakKind::Reset.to_string()));
}

#[test]
fn f6_each_end_of_a_handshake_has_its_words() {
    let problems = [
        HandshakeProblem::Refused { code: -32000 },
        HandshakeProblem::Version { theirs: Some(ProtocolVersion::V2026_07_28) },
        HandshakeProblem::Version { theirs: None },
        HandshakeProblem::Endpoint,
        HandshakeProblem::ForeignEndpoint,
        HandshakeProblem::Failed(FailureKind::Cancelled),
    ];
    let said: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_all_differ(&said);
    assert!(said[0].contains("-32000") && said[1].contains("2026-07-28"));
    assert_eq!(said[5], FailureKind::Cancelled.to_string());
}

/// What the operating system says of a connection, as far as it matters.
#[test]
fn e5_an_error_of_reading_says_how_the_connection_ended() {
    for (error, kind) in [
        (io::ErrorKind::ConnectionReset, BreakKind::Reset),
        (io::ErrorKind::ConnectionAborted, BreakKind::Reset),
        (io::ErrorKind::BrokenPipe, BreakKind::Reset),
        (io::ErrorKind::UnexpectedEof, BreakKind::TlsTruncated),
        (io::ErrorKind::Other, BreakKind::Io),
    ] {
        assert_eq!(BreakKind::from(&io::Error::from(error)), kind);
    }
}
