//! H3 and the DELETE of a session: what only a status is due to, besides a notification (E20, see `status`).

use core::time::Duration;

use mcp_sse_core::exchange::{BreakKind, Want};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, error, event, result};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

fn post() -> Run {
    Run::under(ProtocolVersion::V2024_11_05).sent()
}

/// H3: a 2024-11-05 POST is taken by any 2xx, at its head; the answer comes on the channel.
#[test]
fn h3_a_2024_11_05_request_is_taken_at_the_head() {
    for status in [200, 201, 202, 204, 299] {
        for head in [JSON, &[("Content-Type", "text/event-stream")], &[("Content-Type", "text/html")], &[]] {
            let run = post().head(status, head);
            assert_eq!(run.lines(), [format!("accepted {status}")]);
            assert_eq!(run.once().exchange.exchange().want(), Want::Drain);
            // Its body is nobody's.
            let run = run.body(event(&result("7"))).marked();
            assert_eq!(run.lines(), [format!("accepted {status}")]);
        }
    }
}

/// H3, E1, E7, E11: a POST that was lost is never sent again.
#[test]
fn h3_a_2024_11_05_request_that_was_lost() {
    let unsent = || Run::under(ProtocolVersion::V2024_11_05);
    assert_eq!(unsent().broken(BreakKind::Connect).lines(), ["failed unsent Connect unsent"]);
    assert_eq!(unsent().connected().sending().reset().lines(), ["failed lost Reset partly_sent"]);
    assert_eq!(post().reset().lines(), ["failed lost Reset sent"]);
    assert_eq!(post().marked().lines(), ["failed lost Closed sent"]);
    assert_eq!(post().deadline(9).at(9).timeout().lines(), ["failed timeout sent"]);
    let idle = post().config(|config| config.with_idle(Duration::from_millis(9)));
    assert_eq!(idle.at(9).timeout().lines(), ["failed timeout idle sent"]);
    assert_eq!(post().cancel().lines(), ["failed cancelled sent"]);
}

/// E17, E18: its refusals. An error in the body says what became of the request, as in the other eras.
#[test]
fn h3_a_2024_11_05_request_that_was_refused() {
    for status in [400, 401, 404, 500] {
        assert_eq!(post().head(status, &[]).marked().lines(), [format!("failed status {status} headed")]);
        let text = post().head(status, JSON).body("\"no session\"").marked();
        assert_eq!(text.lines(), [format!("failed status {status} streaming")]);
        let told = post().head(status, JSON).body(error("7", -32600)).marked().lines();
        assert_eq!(told, ["answer error -32600".to_owned(), format!("settled {status}")]);
        let notification = post().notification().head(status, JSON).body(error("null", -32600)).marked();
        assert_eq!(notification.lines(), [format!("failed status {status} error -32600 streaming")]);
    }
}

/// The DELETE of a session: any 2xx, whatever the body; anything else fails with its status.
#[test]
fn e18_e20_a_deletion() {
    for status in [200, 202, 204] {
        assert_eq!(Run::deletion().head(status, JSON).body("{}").marked().lines(), [format!("accepted {status}")]);
        assert_eq!(Run::deletion().id(7).head(status, JSON).lines(), [format!("accepted {status}")]);
    }
    for status in [301, 401, 404, 405, 500] {
        assert_eq!(Run::deletion().head(status, &[]).marked().lines(), [format!("failed status {status} headed")]);
        let refused = Run::deletion().head(status, JSON).body(error("null", -32000)).marked();
        assert_eq!(refused.lines(), [format!("failed status {status} error -32000 streaming")]);
    }
    let moved = Run::deletion().config(|config| config.with_follow_redirects(true));
    assert_eq!(moved.head(308, &[("Location", "/x")]).marked().lines(), ["failed status 308 headed"]);
    assert_eq!(Run::deletion().reset().lines(), ["failed lost Reset sent"]);
    assert_eq!(Run::deletion().deadline(9).at(9).timeout().lines(), ["failed timeout sent"]);
    let unsent = Run::under(ProtocolVersion::V2025_11_25).notification();
    let unsent = unsent.carries(mcp_sse_core::exchange::Carries::Deletion).broken(BreakKind::Resolve);
    assert_eq!(unsent.lines(), ["failed unsent Resolve unsent"]);
}
