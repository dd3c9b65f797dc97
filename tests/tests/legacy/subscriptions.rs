//! F10: `subscriptions/listen` of 2026-07-28: acknowledged, told, ended gracefully, opened again when it is lost.

use std::ops::ControlFlow;

use mcp_sse_core::client::{CallEvent, Outcome};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings, execution};
use mcp_sse_tests::legacy_peer::{response_to, stream};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Feed, Mark, Peer, Request, Response, Scenario, Script, Sse, Text};
use serde_json::{Value, json};

over_both_adapters![
    f10_a_lost_subscription_is_opened_again_under_a_new_id,
    f10_a_refusal_is_told_and_ends_it,
    f10_acknowledged_told_and_ended_by_a_result,
    f10_ended_by_a_cancellation_that_names_it,
    f10_stopping_closes_the_stream_and_says_nothing,
    f10_what_the_server_leaves_out_is_told,
];

const LISTEN: &str = "subscriptions/listen";
const TAG: &str = "io.modelcontextprotocol/subscriptionId";

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2026_07_28))
}

fn filter() -> Value {
    json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]})
}

fn tagged(request: &Request, method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({TAG: request.id()});
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn acknowledgment(honoured: Value) -> Text {
    Text::with(move |request| {
        let params = json!({"notifications": honoured});
        tagged(request, "notifications/subscriptions/acknowledged", &params).to_string()
    })
}

fn changed() -> Text {
    Text::with(|request| tagged(request, "notifications/tools/list_changed", &json!({})).to_string())
}

/// A subscription that is acknowledged, told of one change, and goes on with these.
fn subscription(rest: impl IntoIterator<Item = Sse>) -> Script {
    let blocks = [Sse::message(acknowledgment(filter())), Sse::message(changed())];
    Script::new(Response::sse(blocks.into_iter().chain(rest))).for_method(LISTEN)
}

/// What it is told, in words.
fn words(event: &CallEvent) -> String {
    match event {
        CallEvent::Acknowledged { attempt, is_whole, .. } => format!("{attempt}: acknowledged {is_whole}"),
        CallEvent::Notification { attempt, message } => format!("{attempt}: {}", message.method().unwrap_or_default()),
        CallEvent::Reissue { attempt, .. } => format!("{attempt}: again"),
        other => format!("{other}"),
    }
}

fn f10_acknowledged_told_and_ended_by_a_result<A: Adapter>() {
    let peer = Peer::start();
    let result = Text::with(|request| response_to(request, &json!({"resultType": "complete"})).to_string());
    let scenario =
        peer.scenario([subscription([Sse::comment("alive"), Sse::message(changed()), Sse::message(result)])]);
    let client = client::<A>(&scenario);
    let mut told = Vec::new();
    let done = client.listen(&filter(), &mut |event| {
        told.push(words(&event));
        ControlFlow::Continue(())
    });
    let done = done.expect("nobody stopped it").expect("no error");
    assert!(matches!(done.outcome, Outcome::Settled(_)), "{done}");
    let change = "1: notifications/tools/list_changed";
    assert_eq!(told, ["1: acknowledged true", change, change]);
    let [request] = &scenario.requests()[..] else { panic!("one request") };
    assert_eq!((request.method(), &request.params()["notifications"]), (Some(LISTEN), &filter()));
    assert_eq!(request.header("mcp-method"), Some(LISTEN));
}

fn f10_ended_by_a_cancellation_that_names_it<A: Adapter>() {
    let peer = Peer::start();
    let goodbye = Text::with(|request| {
        let params = json!({"requestId": request.id(), "reason": "shutting down"});
        tagged(request, "notifications/cancelled", &params).to_string()
    });
    let another =
        Text::with(|request| tagged(request, "notifications/cancelled", &json!({"requestId": 99})).to_string());
    let scenario = peer.scenario([subscription([Sse::message(another), Sse::message(goodbye)])]);
    let mut told = Vec::new();
    let done = client::<A>(&scenario).listen(&filter(), &mut |event| {
        told.push(words(&event));
        ControlFlow::Continue(())
    });
    let done = done.expect("nobody stopped it").expect("no error");
    assert!(matches!(done.outcome, Outcome::ListeningEnded { status: None }), "{done}");
    assert_eq!(told[..2], ["1: acknowledged true", "1: notifications/tools/list_changed"]);
    assert_eq!(scenario.requests().len(), 1);
}

/// However it was lost; and what is told says on which stream.
fn f10_a_lost_subscription_is_opened_again_under_a_new_id<A: Adapter>() {
    let broken = [
        subscription([]).then(Ending::Fin),
        subscription([]).cut(At::mark(Mark::BlockEnd(1)), Ending::Reset),
        subscription([Sse::message(changed())]).cut(At::mark(Mark::DataStart(2)).plus(5), Ending::Fin),
    ];
    for broken in broken {
        let (peer, feed) = (Peer::start(), Feed::new());
        // A change that comes before the acknowledgment of its own stream is none (F10).
        let early = [Sse::message(changed()), Sse::message(acknowledgment(filter())), Sse::message(changed())];
        let again = stream(early, &feed).for_method(LISTEN);
        let scenario = peer.scenario([broken, again]);
        let mut told = Vec::new();
        client::<A>(&scenario).listen(&filter(), &mut |event| {
            told.push(words(&event));
            if told.len() == 6 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(told[..3], ["1: acknowledged true", "1: notifications/tools/list_changed", "2: again"]);
        assert!(told[3].contains("something else"), "{}", told[3]);
        assert_eq!(told[4..], ["2: acknowledged true", "2: notifications/tools/list_changed"]);
        let requests = scenario.requests();
        let [first, second] = &requests[..] else { panic!("two requests") };
        assert_ne!(first.id(), second.id());
        assert_eq!(first.params(), second.params());
    }
}

fn f10_what_the_server_leaves_out_is_told<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let partly = Sse::message(acknowledgment(json!({"toolsListChanged": true})));
    let scenario = peer.scenario([stream([partly], &feed).for_method(LISTEN)]);
    let mut told = Vec::new();
    client::<A>(&scenario).listen(&filter(), &mut |event| {
        told.push(words(&event));
        ControlFlow::Break(())
    });
    assert_eq!(told, ["1: acknowledged false"]);
}

fn f10_a_refusal_is_told_and_ends_it<A: Adapter>() {
    for status in [200, 404] {
        let peer = Peer::start();
        let refusal = Script::new(Response::json(Text::error(-32601, "no subscriptions")).status(status));
        let scenario = peer.scenario([refusal.for_method(LISTEN)]);
        let client = client::<A>(&scenario);
        let done = client.listen(&filter(), &mut |event| match event {
            // In the blocking adapter's closure; tokio has it as its reply.
            CallEvent::Answer { .. } => ControlFlow::Continue(()),
            other => panic!("{other}"),
        });
        let done = done.expect("nobody stopped it").expect("it was answered");
        assert!(matches!(&done.outcome, Outcome::Settled(info) if info.is_error && info.status == status), "{done}");
        assert_eq!(execution(&client.call("tools/call").expect("an answer")), 1);
        assert_eq!(scenario.requests().len(), 2, "it is not opened again");
    }
}

fn f10_stopping_closes_the_stream_and_says_nothing<A: Adapter>() {
    let (peer, feed) = (Peer::start(), Feed::new());
    let open = stream([Sse::message(acknowledgment(filter()))], &feed).for_method(LISTEN);
    let scenario = peer.scenario([open]);
    let client = client::<A>(&scenario);
    client.listen(&filter(), &mut |_| ControlFlow::Break(()));
    assert!(scenario.wait_for_client_close(BOUND), "closing the stream is the cancel");
    assert_eq!(execution(&client.call("tools/call").expect("an answer")), 1);
    assert!(scenario.log().notifications.is_empty());
}
