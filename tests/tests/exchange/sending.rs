//! E1 and E5 to E7 before the head: what a request is worth that did not get through.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{BreakKind, Exchange, ExchangeConfig, Exposure, Framing, Request, State, Want};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, result};

const BEFORE_A_CONNECTION: [BreakKind; 4] =
    [BreakKind::Resolve, BreakKind::Connect, BreakKind::ConnectTimeout, BreakKind::Handshake];

/// E1: never sent, in every era, for requests and notifications.
#[test]
fn e1_what_was_never_sent_fails_as_unsent() {
    for version in ProtocolVersion::KNOWN {
        for kind in BEFORE_A_CONNECTION {
            for run in [Run::under(version), Run::under(version).notification()] {
                let story = run.broken(kind).story();
                assert_eq!(story.lines(), [format!("failed unsent {kind:?} unsent")]);
                assert!(!story.failure().may_have_run());
            }
        }
        // Connected, and then nothing could be written.
        let story = Run::under(version).connected().reset().story();
        assert_eq!(story.lines(), ["failed unsent Reset unsent"]);
    }
}

/// E1: a kept connection found closed before the first byte is no failure; a fresh one is asked for.
#[test]
fn e1_a_reused_connection_found_closed_asks_for_a_fresh_one() {
    for run in [Run::under(ProtocolVersion::V2026_07_28), Run::under(ProtocolVersion::V2025_11_25)] {
        let asks = run.clone().reused().broken(BreakKind::Closed).story();
        assert_eq!(asks.verdict(), "open");
        let exchange = asks.exchange.exchange();
        assert_eq!((exchange.want(), exchange.state()), (Want::Send { fresh: true }, State::Unsent));

        // The end of the connection told as an end is the same.
        let asks = run.clone().reused().marked().story();
        assert_eq!(asks.exchange.exchange().want(), Want::Send { fresh: true });

        // The fresh one carries the same attempt.
        let story = run.clone().reused().reset().connected().sending().sent().json().body(result("7")).marked().story();
        assert_eq!(story.lines(), ["answer {\"ok\":true}", "settled 200"]);

        // It may fail itself; then nothing was sent.
        let story = run.clone().reused().reset().broken(BreakKind::Connect).story();
        assert_eq!(story.lines(), ["failed unsent Connect unsent"]);

        // After the first byte it is a break like any other.
        let story = run.reused().sending().reset().story();
        assert!(story.verdict().ends_with("Reset partly_sent"), "{}", story.verdict());
    }
}

/// E1: a connection that is not reused is not asked for twice, and a deadline ends the asking.
#[test]
fn e1_only_a_reused_connection_is_replaced() {
    let mut exchange = Exchange::new(&Request::new("ping").with_id(1), ExchangeConfig::default(), Timestamp::ZERO);
    assert_eq!(exchange.want(), Want::Send { fresh: false });
    exchange.on_connected(Timestamp::ZERO).unwrap();
    assert_eq!(exchange.want(), Want::Send { fresh: false });
    exchange.on_broken(BreakKind::Reset, Timestamp::ZERO).unwrap();
    assert_eq!(exchange.want(), Want::Close);

    let story = Run::modern().verdict();
    assert_eq!(story, "open");
    let late = Run::under(ProtocolVersion::LATEST).deadline(10).at(5).reused().at(10).reset().story();
    assert_eq!(late.lines(), ["failed timeout unsent"]);
}

/// E5, E7: a request broken in the middle did not run, but the specification has it sent again all the same.
#[test]
fn e5_e7_a_partly_sent_request_is_lost_and_did_not_run() {
    let modern = Run::under(ProtocolVersion::V2026_07_28).connected().sending().reset().story();
    assert_eq!(modern.lines(), ["reissue Reset partly_sent"]);
    let legacy = Run::under(ProtocolVersion::V2025_11_25).connected().sending().reset().story();
    assert_eq!(legacy.lines(), ["failed lost Reset partly_sent"]);
    assert!(!legacy.failure().may_have_run());
}

/// E5, E7: sent, and no head, or a cut, malformed or oversize one.
#[test]
fn e5_e7_without_a_head_the_answer_is_lost() {
    for kind in [
        BreakKind::Closed,
        BreakKind::Reset,
        BreakKind::TlsTruncated,
        BreakKind::Malformed,
        BreakKind::HeadTooLarge,
        BreakKind::Io,
    ] {
        assert_eq!(Run::modern().broken(kind).lines(), [format!("reissue {kind:?} sent")]);
        let legacy = Run::legacy().broken(kind).story();
        assert_eq!(legacy.lines(), [format!("failed lost {kind:?} sent")]);
        assert!(legacy.failure().may_have_run());
    }
    for framing in [Framing::Marked, Framing::Unmarked, Framing::Short] {
        assert_eq!(Run::modern().end(framing).lines(), ["reissue Closed sent"]);
        assert_eq!(Run::legacy().end(framing).lines(), ["failed lost Closed sent"]);
    }
}

/// Exposure: what the adapter reports, never less, and HTTP/2's coarser facts will do.
#[test]
fn e5_exposure_is_what_was_reported() {
    let exposure = |run: Run| run.once().exchange.exchange().exposure();
    let start = || Run::under(ProtocolVersion::LATEST);
    assert_eq!(exposure(start()), Exposure::Unsent);
    assert_eq!(exposure(start().connected()), Exposure::Unsent);
    assert_eq!(exposure(start().reused()), Exposure::Unsent);
    assert_eq!(exposure(start().sending()), Exposure::PartlySent);
    assert_eq!(exposure(start().sent()), Exposure::Sent);
    assert_eq!(exposure(start().connected().sending().sent()), Exposure::Sent);
    assert_eq!(exposure(start().sse()), Exposure::Headed);
    assert_eq!(exposure(start().sending().sse().sent()), Exposure::Headed);
    assert_eq!(exposure(start().sse().body("")), Exposure::Headed);
    assert_eq!(exposure(start().sse().body(":")), Exposure::Streaming);
    assert_eq!(exposure(start().sse().body(":").reset()), Exposure::Streaming);

    // A head before the request is whole (a refusal by size, say) takes nothing from what follows.
    let early = start().sending().head(413, &[]).marked().story();
    assert_eq!(early.lines(), ["failed status 413 headed"]);
    // Interim heads are no head.
    let interim = Run::modern().head(100, &[]).head(103, &[]);
    assert_eq!(exposure(interim.clone()), Exposure::Sent);
    assert_eq!(interim.sse().body(format!("data:{}\n\n", result("7"))).marked().verdict(), "settled 200");
}
