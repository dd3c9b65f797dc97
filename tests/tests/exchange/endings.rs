//! How an exchange reads out what is left when it ends: one item after another, bounded, the verdict last.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallEvent, CallOptions, Client, ClientConfig, Done, Endpoint, ExchangeId, Outcome, Step};
use mcp_sse_core::exchange::{
    BreakKind, Cause, Damage, Exchange, ExchangeConfig, ExchangeEvent, Exposure, FailureKind, Framing, Misuse, Request,
    Verdict, Want,
};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};

const NOW: Timestamp = Timestamp::from_millis(1);

fn exchange(version: ProtocolVersion, status: u16, media_type: &str) -> Exchange {
    let request = Request::new("tools/call").with_id(1).with_version(version);
    let mut exchange = Exchange::new(&request, ExchangeConfig::default(), Timestamp::ZERO);
    exchange.on_head(&ResponseHead::from_headers(status, [("content-type", media_type)]), NOW).unwrap();
    exchange
}

fn feed(exchange: &mut Exchange, mut body: &[u8]) {
    exchange.on_body(&mut body, NOW).unwrap();
    assert!(body.is_empty());
}

/// E25: an array body is read out element by element, so that it never costs more than its text and one message.
#[test]
fn e25_an_array_body_is_told_one_message_at_a_time() {
    let elements = 20_000;
    let notes = r#"{"method":""},"#.repeat(elements);
    let body = format!(r#"[{notes}{{"id":1,"result":true}}]"#);
    let mut exchange = exchange(ProtocolVersion::V2025_03_26, 200, "application/json");
    feed(&mut exchange, body.as_bytes());
    exchange.on_end(Framing::Marked, NOW).unwrap();
    assert_eq!(exchange.on_timeout(NOW), Err(Misuse::Ended), "inputs are over, whatever is still to be polled");
    assert_eq!((exchange.poll_timeout(), exchange.want()), (None, Want::Nothing));
    let mut notifications = 0;
    loop {
        assert!(exchange.held_bytes() <= body.len() + 64, "{} bytes held", exchange.held_bytes());
        match exchange.poll_event() {
            Some(ExchangeEvent::Notification(_)) => notifications += 1,
            Some(ExchangeEvent::Answer(answer)) => assert_eq!((answer.damage, notifications), (None, elements)),
            Some(ExchangeEvent::Ended(verdict)) => {
                assert!(matches!(verdict, Verdict::Settled(_)));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(exchange.poll_event().is_none());
}

/// E9, E25: an answer in an unfinished array is salvaged, wherever in the array it stands.
#[test]
fn e9_an_answer_in_an_unfinished_array_says_that_it_was_salvaged() {
    for tail in [r#"[{"id":1,"result":1},{"method":"n"}]"#, r#"[{"method":"n"},{"id":1,"result":1}]"#] {
        let mut exchange = exchange(ProtocolVersion::V2025_03_26, 200, "text/event-stream");
        feed(&mut exchange, format!("data: {tail}\n").as_bytes());
        exchange.on_broken(BreakKind::Reset, NOW).unwrap();
        let events: Vec<_> = std::iter::from_fn(|| exchange.poll_event()).collect();
        let damages: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                ExchangeEvent::Answer(answer) => Some(answer.damage),
                _ => None,
            })
            .collect();
        assert_eq!(damages, [Some(Damage::UnterminatedEvent)], "{tail}");
        assert_eq!(events.len(), 3, "the notification beside it, and the verdict: {tail}");
        let verdict = events.last().unwrap();
        let ExchangeEvent::Ended(Verdict::Salvaged { damage, .. }) = verdict else { panic!("{verdict:?}") };
        assert_eq!(*damage, Damage::UnterminatedEvent);
    }
}

/// E9 against E23: a type is taken for a cut `message` only if its line was cut.
#[test]
fn e23_an_unfinished_event_of_another_type_is_no_answer() {
    let answer = r#"data: {"id":1,"result":1}"#;
    for (body, is_salvaged) in [
        (format!("event: mess\n{answer}"), false),
        (format!("event: mess\n{answer}\n"), false),
        (format!("{answer}\nevent: mess"), true),
        (format!("{answer}\nevent: message"), true),
        (format!("{answer}\nevent: other"), false),
        (format!("event: message\n{answer}"), true),
    ] {
        let mut exchange = exchange(ProtocolVersion::V2026_07_28, 200, "text/event-stream");
        feed(&mut exchange, body.as_bytes());
        exchange.on_broken(BreakKind::Reset, NOW).unwrap();
        let last = std::iter::from_fn(|| exchange.poll_event()).last();
        let Some(ExchangeEvent::Ended(verdict)) = last else { panic!("{body:?}: {last:?}") };
        assert_eq!(matches!(verdict, Verdict::Salvaged { .. }), is_salvaged, "{body:?}: {verdict:?}");
        assert_eq!(matches!(verdict, Verdict::Reissue { .. }), !is_salvaged, "{body:?}: {verdict:?}");
    }
}

/// E18: a failed response whose body stays open holds nobody up.
#[test]
fn e18_the_body_of_a_failed_response_is_waited_for_within_a_bound() {
    for media_type in ["text/html", "application/json", "text/event-stream"] {
        let mut exchange = exchange(ProtocolVersion::V2026_07_28, 401, media_type);
        let due = NOW.saturating_add(Duration::from_secs(2));
        assert_eq!(exchange.poll_timeout(), Some(due));
        exchange.on_timeout(Timestamp::from_millis(2_000)).unwrap();
        assert!(exchange.poll_event().is_none(), "early");
        exchange.on_timeout(due).unwrap();
        let Some(ExchangeEvent::Ended(Verdict::Failed(failure))) = exchange.poll_event() else { panic!("no end") };
        assert!(matches!(failure.kind, FailureKind::Status(status) if status.is_unauthorized()));
    }
}

fn client() -> (Client, ExchangeId) {
    let mut client = Client::new(Endpoint::parse("http://localhost/mcp").unwrap(), ClientConfig::default());
    client.call("tools/list", None, CallOptions::default(), NOW).unwrap();
    let Some(Step::Send(id, _)) = client.poll_step(NOW) else { panic!("a request was expected") };
    (client, id)
}

/// One outcome for each call, also for one whose exchange was lent to somebody who is gone.
#[test]
fn f9_a_lent_exchange_that_is_lost_ends_its_call() {
    let (mut client, id) = client();
    drop(client.lend_exchange(id));
    client.forget_exchange(id, NOW);
    client.forget_exchange(id, NOW);
    let steps: Vec<_> = std::iter::from_fn(|| client.poll_step(NOW)).collect();
    let [Step::Close(closed), Step::Done(_, Done { outcome: Outcome::Failed(failure), attempts: 1, .. })] =
        steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    assert_eq!((*closed, failure.exposure), (id, Exposure::Sent));
    assert!(matches!(failure.kind, FailureKind::Cancelled));
    assert_eq!(client.poll_timeout(), None);
}

/// Steps are made as they are asked for: what an exchange keeps is not turned into steps all at once.
#[test]
fn e21_events_become_steps_one_by_one() {
    let (mut client, id) = client();
    let exchange = client.exchange(id).unwrap();
    exchange.on_head(&ResponseHead::from_headers(200, [("content-type", "text/event-stream")]), NOW).unwrap();
    let mut body: &[u8] = b"data: {\"method\":\"a\"}\n\ndata: {\"id\":1,\"result\":1}\n\n";
    let mut told = Vec::new();
    while !body.is_empty() {
        client.exchange(id).unwrap().on_body(&mut body, NOW).unwrap();
        while let Some(step) = client.poll_step(NOW) {
            told.push(match step {
                Step::Event(_, CallEvent::Notification { .. }) => "notification",
                Step::Event(_, CallEvent::Answer { earlier_may_have_run: false, .. }) => "answer",
                other => panic!("{other:?}"),
            });
        }
    }
    assert_eq!(told, ["notification", "answer"]);
}

/// E12: what was written before the deadline passed counts, though it is told after: the request may have run.
#[test]
fn e12_what_was_written_is_remembered_though_it_is_told_late() {
    let late = Timestamp::from_millis(1_000);
    for (facts, exposure) in [
        (&[Exchange::on_sending as fn(&mut Exchange, Timestamp) -> Result<(), Misuse>][..], Exposure::PartlySent),
        (&[Exchange::on_sent], Exposure::Sent),
    ] {
        let request = Request::new("tools/call").with_id(1);
        let config = ExchangeConfig::default().with_deadline(late);
        let mut exchange = Exchange::new(&request, config, Timestamp::ZERO);
        for fact in facts {
            fact(&mut exchange, late).unwrap();
        }
        let Some(ExchangeEvent::Ended(Verdict::Failed(failure))) = exchange.poll_event() else { panic!("no end") };
        assert!(matches!(failure.kind, FailureKind::Timeout { .. }));
        assert_eq!(failure.exposure, exposure);
    }
}

/// F1: a replacement does not take a kept connection, which the server that lost the first request may be closing.
#[test]
fn f1_a_replacement_asks_for_a_fresh_connection() {
    let (mut client, first) = client();
    assert_eq!(client.exchange(first).unwrap().want(), Want::Send { fresh: false });
    let exchange = client.exchange(first).unwrap();
    exchange.on_sent(NOW).unwrap();
    exchange.on_broken(BreakKind::Reset, NOW).unwrap();
    let steps: Vec<_> = std::iter::from_fn(|| client.poll_step(NOW)).collect();
    let Some(Step::Send(second, _)) = steps.last() else { panic!("{steps:?}") };
    assert_eq!(client.exchange(*second).unwrap().want(), Want::Send { fresh: true });
}

/// What an ending comes to, behind this head and body.
fn worth(
    version: ProtocolVersion,
    headers: &[(&str, &str)],
    body: &str,
    end: impl FnOnce(&mut Exchange) -> Result<(), Misuse>,
) -> Verdict {
    let request = Request::new("tools/call").with_id(1).with_version(version);
    let mut exchange = Exchange::new(&request, ExchangeConfig::default(), Timestamp::ZERO);
    exchange.on_head(&ResponseHead::from_headers(200, headers.iter().copied()), NOW).unwrap();
    let mut rest = body.as_bytes();
    while !rest.is_empty() {
        exchange.on_body(&mut rest, NOW).unwrap();
        while exchange.poll_event().is_some() {}
    }
    end(&mut exchange).unwrap();
    let last = std::iter::from_fn(|| exchange.poll_event()).last();
    let Some(ExchangeEvent::Ended(verdict)) = last else { panic!("no verdict: {last:?}") };
    verdict
}

/// E8: what was thrown away unread may have been the whole answer, so nothing is sent again; what was complete before is the
/// answer, and in an era with resumption its stream is asked for again.
#[test]
fn e8_a_body_of_which_some_was_discarded() {
    let discarded = |exchange: &mut Exchange| exchange.on_end(Framing::Discarded, NOW);
    let (json, sse) = (("Content-Type", "application/json"), ("Content-Type", "text/event-stream"));
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
        for (head, body) in [(json, ""), (json, &answer[..9]), (sse, ""), (sse, &answer[..9])] {
            let verdict = worth(version, &[head], body, discarded);
            let Verdict::Failed(failure) = &verdict else { panic!("{verdict:?}") };
            assert!(matches!(failure.kind, FailureKind::Lost { cause: Cause::Short, .. }), "{failure}");
            assert!(failure.may_have_run());
        }
        for (head, body) in
            [(json, answer.to_owned()), (sse, format!("data: {answer}\n\n")), (sse, format!("data: {answer}"))]
        {
            let verdict = worth(version, &[head], &body, discarded);
            assert!(matches!(verdict, Verdict::Salvaged { .. }), "{verdict:?}");
        }
    }
    let verdict = worth(ProtocolVersion::V2025_11_25, &[sse], "id: 7\ndata:\n\n", discarded);
    assert!(matches!(verdict, Verdict::Resume { .. }), "{verdict:?}");
}

/// E3, E8: what the end of a connection says of a body, by the body's own framing.
#[test]
fn e8_the_end_of_the_connection_under_each_framing() {
    let sse = ("Content-Type", "text/event-stream");
    let (chunked, length) = (("Transfer-Encoding", "gzip, Chunked"), ("Content-Length", "99"));
    let cause = |headers: &[(&str, &str)], kind: BreakKind, has_last_chunk: bool| {
        let end = |exchange: &mut Exchange| exchange.on_connection_end(kind, has_last_chunk, NOW);
        match worth(ProtocolVersion::LATEST, headers, ": hi\n\n", end) {
            Verdict::Reissue { cause, .. } => cause,
            other => panic!("{other:?}"),
        }
    };
    for (headers, has_last_chunk, closed, truncated) in [
        (&[sse, chunked][..], false, Cause::Short, Cause::Broken(BreakKind::TlsTruncated)),
        (&[sse, chunked], true, Cause::Ended, Cause::Ended),
        (&[sse, length], false, Cause::Short, Cause::Broken(BreakKind::TlsTruncated)),
        // Without chunks there is no last one.
        (&[sse, length], true, Cause::Short, Cause::Broken(BreakKind::TlsTruncated)),
        (&[sse], false, Cause::Ended, Cause::Broken(BreakKind::TlsTruncated)),
        (&[sse, ("Transfer-Encoding", "gzip")], true, Cause::Ended, Cause::Broken(BreakKind::TlsTruncated)),
    ] {
        assert_eq!(cause(headers, BreakKind::Closed, has_last_chunk), closed, "{headers:?}");
        assert_eq!(cause(headers, BreakKind::TlsTruncated, has_last_chunk), truncated, "{headers:?}");
        let reset = Cause::Broken(BreakKind::Reset);
        assert_eq!(cause(headers, BreakKind::Reset, has_last_chunk), reset, "{headers:?}");
    }
}
