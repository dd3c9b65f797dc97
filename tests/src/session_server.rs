//! A scripted server with sessions (2025-03-26 to 2025-11-25) for [`ChannelDriver`]: it opens sessions, takes
//! notifications and DELETE, and leaves the rest to a function.
//!
//! Rules: the n-th `initialize` opens the session `s-n`. What a client should do is not judged here.

use std::time::Duration;

use mcp_sse_core::client::{CallOptions, ClientConfig, Done, Outcome};
use mcp_sse_core::exchange::{BreakKind, FailureKind};
use mcp_sse_core::http::ProtocolVersion;

use crate::channel_driver::{ChannelDriver, Manner, Reply, Sent};
use crate::loop_driver::{ENDPOINT, Fact};

/// A configuration of this revision.
#[must_use]
pub fn legacy(version: ProtocolVersion) -> ClientConfig {
    ClientConfig::default().with_version(version)
}

/// A configuration of 2025-11-25.
#[must_use]
pub fn newest() -> ClientConfig {
    legacy(ProtocolVersion::V2025_11_25)
}

/// What a server does about its own part: sessions, notifications, answers to its requests, DELETE. `initialized` counts
/// the sessions opened so far.
#[must_use]
pub fn house_keeping(sent: &Sent, initialized: &mut usize) -> Option<Reply> {
    match sent.what().as_str() {
        "initialize" => {
            *initialized += 1;
            let version = sent.json()["params"]["protocolVersion"].as_str().unwrap_or_default().to_owned();
            Some(Reply::initialized(&version, Some(&format!("s-{initialized}"))))
        }
        "response" => Some(Reply::accepted()),
        "DELETE" => Some(Reply::status(200)),
        what if what.starts_with("notifications/") => Some(Reply::accepted()),
        _ => None,
    }
}

/// A client of a server that keeps sessions; `rest` answers what is not house-keeping, which it is given with its number,
/// counted from zero among the rest.
pub fn driver(
    config: ClientConfig,
    manner: Manner,
    mut rest: impl FnMut(&Sent, usize) -> Reply + 'static,
) -> ChannelDriver {
    let (mut initialized, mut others) = (0, 0);
    ChannelDriver::new(ENDPOINT, config, manner, move |sent, _| {
        house_keeping(sent, &mut initialized).unwrap_or_else(|| {
            others += 1;
            rest(sent, others - 1)
        })
    })
}

/// A stream with these bytes that ends as it should.
#[must_use]
pub fn closing(bytes: &str) -> Reply {
    Reply::stream().body(bytes).end()
}

/// A stream with these bytes that is reset.
#[must_use]
pub fn reset(bytes: &str) -> Reply {
    Reply::stream().body(bytes).then(Fact::Broken(BreakKind::Reset))
}

/// An event with the answer `{"ok":true}` to the request of this id.
#[must_use]
pub fn answer_to(id: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"ok\":true}}}}\n\n")
}

/// A notification as an event's data.
#[must_use]
pub fn log(text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{text}"}}}}"#)
}

/// Options without a time-out.
#[must_use]
pub fn patient() -> CallOptions {
    CallOptions::default().with_timeout(None)
}

/// Options of this time-out, in milliseconds.
#[must_use]
pub fn within(millis: u64) -> CallOptions {
    CallOptions::default().with_timeout(Duration::from_millis(millis))
}

/// Whether a call was answered, and all was well.
#[must_use]
pub fn is_settled(done: Option<(&Done, u64)>) -> bool {
    matches!(done, Some((Done { outcome: Outcome::Settled(_), .. }, _)))
}

/// The waits between a request's stream and each GET that follows it; replies must take no time.
#[must_use]
pub fn waits(driver: &ChannelDriver, from: u64) -> Vec<u64> {
    let mut last = from;
    let gets = driver.asked("GET").into_iter();
    gets.map(|get| {
        let wait = get.at - last;
        last = get.at;
        wait
    })
    .collect()
}

/// Whether a failure is a loss.
#[must_use]
pub const fn is_lost(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::Lost { .. })
}
