//! Results as the caller's types, told apart as over blocking; and notifications with options of their own.

use mcp_sse_tests::matrix::METHOD;
use mcp_sse_tests::peer::{At, Ending, Peer, Response, Script, Text};
use mcp_sse_tests::tokio_client::{SHORT, charge, client, run, within};
use mcp_sse_tokio::ResultError;
use serde_json::Value;

#[test]
fn a_result_as_a_type_of_the_callers() {
    run(async {
        let peer = Peer::start();
        let error = Response::json(Text::error(-32000, "no"));
        let status = Response::raw("busy").status(503);
        let scripts = [Script::whole(), Script::whole(), Script::new(error), Script::new(status)];
        let client = client(&peer.scenario(scripts).url());
        let result: Value = client.call_as(METHOD, &charge(1)).await.unwrap();
        assert_eq!(result["executions"], 1);
        let error = client.call_as::<String>(METHOD, &charge(1)).await.unwrap_err();
        assert!(matches!(error, ResultError::Parse { .. }), "{error}");
        let error = client.call_as::<Value>(METHOD, &charge(1)).await.unwrap_err();
        assert!(matches!(error, ResultError::Answered { code: -32000, .. }), "{error}");
        let error = client.call_as::<Value>(METHOD, &charge(1)).await.unwrap_err();
        assert!(matches!(&error, ResultError::Call(error) if error.status() == Some(503)), "{error}");
    });
}

/// E20: the options' times count.
#[test]
fn e20_a_notification_with_options_of_its_own() {
    run(async {
        let peer = Peer::start();
        let taken = Script::new(Response::empty(202));
        let scenario = peer.scenario_for("notifications/x", [taken.clone(), taken.cut(At::byte(0), Ending::Stall)]);
        let client = client(&scenario.url());
        client.notify_with("notifications/x", &(), &within(SHORT)).await.unwrap();
        let error = client.notify_with("notifications/x", &(), &within(SHORT)).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts(), scenario.log().notifications.len()), ("timeout", 1, 2));
    });
}
