//! Events and verdicts as one line each, short enough to be written down in a test.

use mcp_sse_core::exchange::{
    Cause, Damage, ExchangeEvent, Failure, FailureKind, IdMatch, MessageProblem, SizeLimit, TimeLimit, Verdict,
};
use mcp_sse_core::jsonrpc::Id;

/// An event as one line.
pub fn line(event: &ExchangeEvent) -> String {
    match event {
        ExchangeEvent::Notification(message) => format!("note {}", message.method().unwrap_or_default()),
        ExchangeEvent::Request { message, is_violation } => {
            let kind = if *is_violation { "violation" } else { "request" };
            format!("{kind} {}", message.method().unwrap_or_default())
        }
        ExchangeEvent::Answer(answer) => {
            let content = match (answer.message.result(), answer.message.error()) {
                (Some(result), _) => result.to_owned(),
                (None, Some(error)) => format!("error {}", error.code),
                (None, None) => panic!("an answer is one or the other"),
            };
            assert_eq!(answer.info.is_error, answer.message.error().is_some());
            assert_eq!(answer.info.status, answer.head.status());
            let id_match = match answer.info.id_match {
                IdMatch::Exact => "",
                IdMatch::Coerced => " coerced",
                IdMatch::Absent => " absent",
                IdMatch::Foreign => " foreign",
                other => panic!("no word for {other:?}"),
            };
            let proof = if answer.info.proves_modern { " modern" } else { "" };
            format!("answer {content}{id_match}{proof}")
        }
        ExchangeEvent::Stray { id, .. } => format!("stray {}", id.as_ref().map_or("none".to_owned(), Id::to_json)),
        ExchangeEvent::Oversized { limit } => format!("oversized {limit}"),
        ExchangeEvent::Endpoint(reference) => format!("endpoint {reference}"),
        ExchangeEvent::Response(message) => {
            let content = match (message.result(), message.error()) {
                (Some(result), _) => result.to_owned(),
                (None, Some(error)) => format!("error {}", error.code),
                (None, None) => panic!("a response is one or the other"),
            };
            format!("response {content} {}", message.id().map_or("none".to_owned(), Id::to_json))
        }
        ExchangeEvent::Ended(verdict) => verdict_line(verdict),
        other => panic!("no word for {other:?}"),
    }
}

/// A verdict as one line.
pub fn verdict_line(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Settled(info) => format!("settled {}", info.status),
        Verdict::Salvaged { answer, damage } => format!("salvaged {} {}", answer.status, damage_word(*damage)),
        Verdict::Reissue { cause, exposure } => format!("reissue {} {exposure}", cause_word(*cause)),
        Verdict::Resume { last_event_id, after, progressed, cause, .. } => {
            let progress = if *progressed { " progressed" } else { "" };
            format!("resume {last_event_id} after {} {}{progress}", after.as_millis(), cause_word(*cause))
        }
        Verdict::Reopen { cursor, after, progressed, cause } => {
            let id = cursor.as_ref().map_or("start", |cursor| &cursor.last_event_id);
            let progress = if *progressed { " progressed" } else { "" };
            format!("reopen {id} after {} {}{progress}", after.as_millis(), cause_word(*cause))
        }
        Verdict::Redirect { location } => format!("redirect {location}"),
        Verdict::Accepted { status } => format!("accepted {status}"),
        Verdict::Failed(failure) => failure_line(failure),
        other => panic!("no word for {other:?}"),
    }
}

fn failure_line(failure: &Failure) -> String {
    let detail = match &failure.kind {
        FailureKind::Unsent { cause } => format!(" {cause:?}"),
        FailureKind::Lost { cause, replacement: None } => format!(" {}", cause_word(*cause)),
        FailureKind::Timeout { limit: TimeLimit::Deadline } | FailureKind::Cancelled => String::new(),
        FailureKind::Timeout { limit: TimeLimit::Idle } => " idle".to_owned(),
        FailureKind::Status(status) => {
            let code = status.error_code.map_or(String::new(), |code| format!(" error {code}"));
            format!(" {}{code}", status.status())
        }
        FailureKind::TooLarge { which: SizeLimit::Event, limit } => format!(" event {limit}"),
        FailureKind::TooLarge { which: SizeLimit::JsonBody, limit } => format!(" json {limit}"),
        FailureKind::TooLarge { which: SizeLimit::Inflated, limit } => format!(" inflated {limit}"),
        FailureKind::InvalidJson { position } => format!(" at {position}"),
        FailureKind::InvalidMessage { problem } => match &**problem {
            MessageProblem::NotAnAnswer => " no answer".to_owned(),
            MessageProblem::Array => " array".to_owned(),
            MessageProblem::Envelope(_) => " envelope".to_owned(),
            other => panic!("no word for {other:?}"),
        },
        FailureKind::ContentType { essence } => format!(" {essence:?}"),
        FailureKind::ContentCoding { problem } => format!(" {problem:?}"),
        FailureKind::IdMismatch { got } => format!(" {}", got.as_ref().map_or("none".to_owned(), Id::to_json)),
        FailureKind::NoAnswer { status } => format!(" {status}"),
        other => panic!("no word for {other:?}"),
    };
    format!("failed {}{detail} {}", failure.kind.as_str(), failure.exposure)
}

fn cause_word(cause: Cause) -> String {
    match cause {
        Cause::Broken(kind) => format!("{kind:?}"),
        Cause::Ended => "ended".to_owned(),
        Cause::Short => "short".to_owned(),
        Cause::Cut => "cut".to_owned(),
        other => panic!("no word for {other:?}"),
    }
}

fn damage_word(damage: Damage) -> String {
    match damage {
        Damage::UnterminatedEvent => "unterminated".to_owned(),
        Damage::Broken(kind) => format!("{kind:?}"),
        other => format!("{other:?}").to_lowercase(),
    }
}
