//! What the tests of the tokio adapter share: a runtime, clients, the call they make, and looking at what came of it.
//!
//! Rule: a test blocks only the thread that it runs in, never a worker of the runtime, so that the peers' bounded waits can be
//! used as they are. Expectations do not belong here.

use std::future::Future;
use std::time::Duration;

use mcp_sse_core::client::{CallError, ConnectionConfig, Reply};
use mcp_sse_core::exchange::{BreakKind, Exposure, FailureKind};
use mcp_sse_tokio::{CallOptions, CallStream, Client, ClientBuilder, Update};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::matrix::{METHOD, Target, Told};

/// Long enough for a busy machine; nothing takes so long unless it fails.
pub const BOUND: Duration = Duration::from_secs(20);
/// The deadline of calls that are to miss it.
pub const SHORT: Duration = Duration::from_millis(400);

/// A runtime of two workers.
///
/// # Panics
/// If the system gives no threads.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// Runs a test in a runtime of its own, so that one that hangs fails, and checks that it leaves no task behind.
///
/// # Panics
/// If the test panics, takes several times [`BOUND`], or leaves a task.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = runtime();
    runtime.block_on(async {
        tokio::time::timeout(4 * BOUND, test).await.expect("it hangs");
        no_task_is_left().await;
    });
}

/// Waits until this runtime has no task any more.
///
/// # Panics
/// If one is left after [`BOUND`].
pub async fn no_task_is_left() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let all_ended = async {
        while metrics.num_alive_tasks() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(BOUND, all_ended).await;
    assert!(waited.is_ok(), "{} tasks are left", metrics.num_alive_tasks());
}

/// Settings of a client over HTTP/1.1, whatever proxy the environment names.
pub fn builder(url: &str) -> ClientBuilder {
    Client::builder(url).proxy_from_env(false).options(within(BOUND))
}

/// A client over HTTP/1.1.
///
/// # Panics
/// If it cannot be built.
pub fn client(url: &str) -> Client {
    builder(url).build().expect("a client")
}

/// A client over HTTP/2 with prior knowledge.
///
/// # Panics
/// If it cannot be built.
pub fn client_h2(url: &str) -> Client {
    builder(url).connections(ConnectionConfig::default().with_http2_prior_knowledge(true)).build().expect("a client")
}

/// Options with this deadline.
pub fn within(timeout: Duration) -> CallOptions {
    CallOptions::default().with_timeout(timeout)
}

/// Parameters that tell this call from others.
pub fn charge(number: u64) -> Value {
    json!({"name": "charge", "arguments": {"n": number}})
}

/// Makes the call, under the client's options.
///
/// # Errors
/// What the call came to.
pub async fn call(client: &Client) -> Result<Reply, CallError> {
    client.call(METHOD, &charge(1)).await
}

/// The number of the execution that a reply of the counted tool tells of.
///
/// # Panics
/// If it is no such reply.
pub fn execution(reply: &Reply) -> u64 {
    let result: Value = reply.parse_result().expect("a result");
    result["executions"].as_u64().expect("the number of executions")
}

/// What stood in the way of a call that was not sent.
///
/// # Panics
/// If the error is another, or if it says that the call may have run.
pub fn unsent(error: &CallError) -> BreakKind {
    let CallError::Failed { failure, .. } = error else { panic!("no failure of the call: {error}") };
    assert_eq!(failure.exposure, Exposure::Unsent);
    assert!(!error.may_have_run());
    match failure.kind {
        FailureKind::Unsent { cause } => cause,
        ref other => panic!("sent: {other}"),
    }
}

/// All that a stream of updates tells.
///
/// # Panics
/// If it says something after its end, or nothing at all.
pub async fn told(mut stream: CallStream) -> Told {
    let (mut events, mut reply, mut done) = (Vec::new(), None, None);
    loop {
        match stream.next().await {
            Some(Ok(Update::Event(event))) => events.push(event),
            Some(Ok(Update::Reply(given))) => assert!(reply.replace(given).is_none(), "two replies"),
            Some(Ok(Update::Done(given))) => assert!(done.replace(given).is_none(), "two ends"),
            Some(Ok(other)) => panic!("an update that is not known: {other:?}"),
            Some(Err(error)) => {
                assert!(reply.is_none(), "an error after the reply: {error}");
                assert!(stream.next().await.is_none(), "an error is the end");
                return Told { result: Err(error), events, done };
            }
            None => return Told { result: Ok(reply.expect("a reply or an error")), events, done },
        }
    }
}

/// Makes the call of the break matrix by a new client, and follows it to the answer or to the end of the exchange.
///
/// # Panics
/// If the client cannot be built.
pub async fn call_target(target: &Target, params: &Value, to_end: bool, drain: Duration) -> Told {
    let connections = ConnectionConfig::default().with_drain_timeout(drain);
    let mut builder = builder(&target.url).connections(connections);
    if let Some(pem) = &target.certificate_pem {
        builder = builder.trust_pem(pem.as_bytes());
    }
    let client = builder.build().expect("a client");
    let stream = client.call_with(METHOD, params, &within(target.timeout));
    told(if to_end { stream.until_end() } else { stream }).await
}
