//! Results as the caller's types: a result, a JSON-RPC error, a result of another type and a failed call are told apart.

use mcp_sse_blocking::ResultError;
use mcp_sse_tests::blocking::{METHOD, charge, client};
use mcp_sse_tests::peer::{Peer, Response, Script, Text};
use serde_json::Value;

#[test]
fn a_result_as_a_type_of_the_callers() {
    let peer = Peer::start();
    let error = Response::json(Text::error(-32000, "no"));
    let status = Response::raw("busy").status(503);
    let scripts = [Script::whole(), Script::whole(), Script::new(error), Script::new(status)];
    let client = client(&peer, &peer.scenario(scripts));
    let result: Value = client.call_as(METHOD, &charge(1)).unwrap();
    assert_eq!(result["executions"], 1);
    let error = client.call_as::<String>(METHOD, &charge(1)).unwrap_err();
    assert!(matches!(error, ResultError::Parse { .. }), "{error}");
    let error = client.call_as::<Value>(METHOD, &charge(1)).unwrap_err();
    assert!(matches!(error, ResultError::Answered { code: -32000, .. }), "{error}");
    let error = client.call_as::<Value>(METHOD, &charge(1)).unwrap_err();
    assert!(matches!(&error, ResultError::Call(error) if error.status() == Some(503)), "{error}");
}
