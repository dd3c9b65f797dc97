//! What the tests of the blocking adapter share: clients of scenarios, the call they make, and looking at what came of it.
//!
//! Expectations do not belong here.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcp_sse_blocking::{CallError, CallOptions, Client, ClientBuilder, Reply};
use mcp_sse_core::exchange::{Exposure, Failure, FailureKind};
use serde_json::{Value, json};

use crate::peer::{Peer, Scenario};

/// Long enough for a busy machine; nothing takes so long unless it fails.
pub const BOUND: Duration = Duration::from_secs(15);
/// The deadline of calls that are to miss it.
pub const SHORT: Duration = Duration::from_millis(800);

/// Such deadlines, the next of them tried if the machine was too busy for the last: if the call got less far than it should.
pub fn deadlines() -> impl Iterator<Item = Duration> {
    [1, 4, 16].into_iter().map(|factor| factor * SHORT)
}

/// The method that is called.
pub const METHOD: &str = "tools/call";

/// Parameters that tell this call from others.
pub fn charge(number: u64) -> Value {
    json!({"name": "charge", "arguments": {"n": number}})
}

/// Settings of a client of this scenario, which trusts the peer's certificate if it has one.
pub fn builder(peer: &Peer, scenario: &Scenario) -> ClientBuilder {
    let url = scenario.url();
    let builder = Client::builder(&url).options(within(BOUND));
    if url.starts_with("https") { builder.trust_pem(peer.certificate_pem().as_bytes()) } else { builder }
}

/// A client of this scenario.
///
/// # Panics
/// If it cannot be built.
pub fn client(peer: &Peer, scenario: &Scenario) -> Client {
    builder(peer, scenario).build().expect("a client")
}

/// Options with this deadline.
pub fn within(timeout: Duration) -> CallOptions {
    CallOptions::default().with_timeout(timeout)
}

/// Makes the call, under the client's options.
///
/// # Errors
/// What the call came to.
pub fn call(client: &Client) -> Result<Reply, CallError> {
    client.call(METHOD, &charge(1))
}

/// The number of the execution that a reply of the counted tool tells of.
///
/// # Panics
/// If it is no such reply.
pub fn execution(reply: &Reply) -> u64 {
    let result: Value = reply.parse_result().expect("a result");
    result["executions"].as_u64().expect("the number of executions")
}

/// The failure in an error.
///
/// # Panics
/// If there is none.
pub fn failure(error: &CallError) -> &Failure {
    match error {
        CallError::Failed { failure, .. } => failure,
        other => panic!("no failure of the call: {other}"),
    }
}

/// What stood in the way of a call that was not sent.
///
/// # Panics
/// If the error is another, or if it says that the call may have run.
pub fn unsent(error: &CallError) -> mcp_sse_core::exchange::BreakKind {
    let failure = failure(error);
    assert_eq!(failure.exposure, Exposure::Unsent);
    assert!(!error.may_have_run());
    match failure.kind {
        FailureKind::Unsent { cause } => cause,
        ref other => panic!("sent: {other}"),
    }
}

/// A result and the time it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed())
}

/// Does the work in a thread of its own, so that a call that hangs fails its test and does not hold up all others.
///
/// # Panics
/// If the work panics, or takes longer than several times [`BOUND`].
pub fn watched(work: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        sender.send(()).ok();
    });
    match receiver.recv_timeout(4 * BOUND) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        // A panic has dropped the sender.
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => worker.join().expect("the work"),
    }
}

/// Checks that a call ended by its deadline: not before, and not so long after it that it hung.
///
/// # Panics
/// If it did not.
pub fn assert_timed_out(error: &CallError, elapsed: Duration, deadline: Duration) {
    assert_eq!(error.kind(), "timeout", "{error}");
    assert!(elapsed >= deadline, "after {elapsed:?}, before the deadline of {deadline:?}");
    assert!(elapsed < deadline + BOUND, "{elapsed:?} instead of {deadline:?}");
}
