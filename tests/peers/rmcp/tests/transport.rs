//! rmcp's client on our transport, against our server and rmcp's.

use std::future::Future;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_sse_tests::legacy_peer::{is_modern, opens_sessions_of, refuses_the_modern};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Text};
use mcp_sse_tokio::rmcp::{ClientTransport, Error};
use mcp_sse_tokio::{Call, CallOptions, Client, ReissuePolicy, Server, ServerAnswer, ServerConfig};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorData, Implementation, ProgressNotificationParam, ProtocolVersion,
    SubscriptionFilter,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RequestContext, RunningService,
};
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Nothing takes so long unless it hangs.
const BOUND: Duration = Duration::from_secs(60);

/// A client that answers what it is asked, and keeps what it is told.
#[derive(Clone, Default)]
struct Handler(Arc<Mutex<Vec<String>>>);

impl Handler {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    fn noted(&self, what: &str) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|noted| noted.as_str() == what).count()
    }

    /// Notifications reach a handler in tasks of their own, so some may come behind the answer.
    async fn wait_for(&self, what: &str, count: usize) {
        within(async {
            while self.noted(what) < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("named-by-rmcp", "1"))
    }

    async fn on_progress(&self, _: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.note("progress");
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note("tools changed");
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.note("asked");
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": "yes"})))
    }
}

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.expect("it hangs")
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn auto() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
}

fn transport(url: &str) -> ClientTransport {
    let options = CallOptions::default().with_timeout(BOUND);
    ClientTransport::from_builder(Client::builder(url).proxy_from_env(false).options(options))
}

async fn call(client: &RunningService<RoleClient, Handler>, name: &'static str, arguments: Value) -> String {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments));
    let result = serde_json::to_value(within(result).await.expect("an answer")).expect("JSON");
    result["content"][0]["text"].as_str().expect("text").to_owned()
}

/// rmcp's server, as a program.
struct Program(Child);

impl Program {
    fn start(mode: &str) -> (Self, String) {
        let mut program = Command::new(env!("CARGO_BIN_EXE_mcp-sse-peer-rmcp"));
        let mut child = program.arg(mode).stdout(Stdio::piped()).spawn().expect("the server");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut url).expect("its URL");
        (Self(child), url.trim().to_owned())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

/// Our server: `echo` with two reports of progress, `who` with what the client says of itself, `ask` with a question.
async fn ours() -> (Server, String) {
    let handler = |call: Call| async move { answer(&call).await };
    let config = ServerConfig::new(r#"{"name":"ours","version":"1"}"#).expect("a configuration");
    let config = config.with_capabilities(r#"{"tools":{"listChanged":true}}"#).expect("capabilities");
    let server = Server::new(config, handler);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("its number"));
    let serving = server.clone();
    tokio::spawn(async move { serving.serve(listener).await });
    (server, url)
}

async fn answer(call: &Call) -> ServerAnswer {
    let params: Value = serde_json::from_str(call.params().unwrap_or("{}")).unwrap_or_default();
    let text = match (call.method(), params["name"].as_str().unwrap_or_default()) {
        ("tools/list", _) => {
            let tool = json!({"name": "echo", "inputSchema": {"type": "object"}});
            return ServerAnswer::of(&json!({"tools": [tool], "ttlMs": 0, "cacheScope": "private"}));
        }
        ("tools/call", "echo") => {
            for step in 1..=2 {
                call.progress(f64::from(step), Some(2.0), None).expect("there is room");
            }
            params["arguments"]["text"].as_str().unwrap_or_default().to_owned()
        }
        ("tools/call", "ask") => {
            let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
            let question = json!({"message": "Yes or no?", "requestedSchema": schema});
            let answer = call.ask("elicitation/create", &question).await.expect("an answer");
            answer.result().unwrap_or_default().to_owned()
        }
        _ => return ServerAnswer::method_not_found(),
    };
    ServerAnswer::of(&json!({"content": [{"type": "text", "text": text}]}))
}

#[tokio::test]
async fn our_server_is_called_by_rmcp_in_both_lifecycles() {
    let (_server, url) = ours().await;
    for (lifecycle, version) in [
        (ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25),
        (discover(), ProtocolVersion::V_2026_07_28),
        (auto(), ProtocolVersion::V_2026_07_28),
    ] {
        let handler = Handler::default();
        let client = within(handler.clone().serve_with_lifecycle(transport(&url), lifecycle)).await.expect("a client");
        assert_eq!(client.peer_info().map(|info| info.protocol_version.clone()), Some(version));
        assert_eq!(within(client.list_all_tools()).await.expect("tools").len(), 1);
        assert_eq!(call(&client, "echo", json!({"text": "grüß dich\n"})).await, "grüß dich\n");
        handler.wait_for("progress", 2).await;
        within(client.cancel()).await.expect("an end");
    }
}

#[tokio::test]
async fn what_our_server_asks_and_tells_outside_of_calls_reaches_rmcp() {
    let (server, url) = ours().await;
    let handler = Handler::default();
    let client = within(handler.clone().serve(transport(&url))).await.expect("a client");
    let answer: Value = serde_json::from_str(&call(&client, "ask", json!({})).await).expect("JSON");
    assert_eq!(answer, json!({"action": "accept", "content": {"answer": "yes"}}));
    assert_eq!(handler.noted("asked"), 1);
    assert_eq!(server.broadcast("notifications/tools/list_changed", &()).len(), 1);
    handler.wait_for("tools changed", 1).await;
    within(client.cancel()).await.expect("an end");
    assert!(server.sessions().is_empty(), "the session was not ended");
}

#[tokio::test]
async fn a_subscription_of_2026_07_28_is_told_under_rmcps_id() {
    let (server, url) = ours().await;
    let client = within(().serve_with_lifecycle(transport(&url), discover())).await.expect("a client");
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = within(client.listen(filter)).await.expect("a subscription");
    server.publish(mcp_sse_tokio::Change::ToolsList);
    assert!(within(subscription.next()).await.expect("no error").is_some());
    within(server.shut_down()).await;
    assert!(within(subscription.next()).await.expect("no error").is_none());
    let end = subscription.end().cloned();
    assert!(matches!(end, Some(rmcp::service::SubscriptionEnd::Graceful(_))), "{end:?}");
}

#[tokio::test]
async fn rmcps_server_is_called_by_rmcp_over_our_transport() {
    for (mode, lifecycle) in [
        ("stateful", ClientLifecycleMode::Initialize),
        ("stateless", ClientLifecycleMode::Initialize),
        ("stateful", discover()),
        ("stateless", auto()),
    ] {
        let (_program, url) = Program::start(mode);
        let handler = Handler::default();
        let client = within(handler.clone().serve_with_lifecycle(transport(&url), lifecycle.clone())).await;
        let client = client.expect("a client");
        assert_eq!(within(client.list_all_tools()).await.expect("tools").len(), 6);
        assert_eq!(call(&client, "add", json!({"a": 2, "b": 40})).await, "42");
        assert_eq!(call(&client, "slow", json!({})).await, "slow done");
        handler.wait_for("progress", 3).await;
        if (mode, &lifecycle) == ("stateful", &ClientLifecycleMode::Initialize) {
            assert_eq!(call(&client, "ask", json!({})).await, "asked: accept yes");
            assert_eq!(handler.noted("asked"), 1);
        }
        within(client.cancel()).await.expect("an end");
    }
}

/// F9: rmcp's cancel closes the stream of that call, and the server hears of it; others go on.
#[tokio::test]
async fn a_call_that_rmcp_cancels_is_cancelled_over_there() {
    let (_program, url) = Program::start("stateful");
    let client = within(Handler::default().serve(transport(&url))).await.expect("a client");
    let hang = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("hang")));
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(300));
    let hanging = client.send_cancellable_request(hang, options).await.expect("it is sent");
    let ended = within(hanging.await_response()).await;
    assert!(matches!(ended, Err(ServiceError::Timeout { .. })), "{ended:?}");
    within(async {
        loop {
            let counters: Value = serde_json::from_str(&call(&client, "counters", json!({})).await).expect("JSON");
            if (&counters["hang"], &counters["cancelled"]) == (&json!(1), &json!(1)) {
                break;
            }
        }
    })
    .await;
    within(client.cancel()).await.expect("an end");
}

/// F6: a server that refuses `server/discover`, by an error or by a status alone, is one of an earlier revision, and rmcp
/// begins anew.
#[tokio::test]
async fn auto_falls_back_to_initialize() {
    let peer = Peer::start();
    let bare = Script::new(Response::empty(404)).without_executing().when(is_modern);
    for refusal in [refuses_the_modern(400), bare] {
        let scenario = peer.scenario([refusal, opens_sessions_of("2025-11-25")]);
        let client = within(Handler::default().serve_with_lifecycle(transport(&scenario.url()), auto())).await;
        let client = client.expect("a client");
        assert_eq!(call(&client, "charge", json!({})).await, "charged 1");
        let initialize = scenario.requests().into_iter().find(|request| request.method() == Some("initialize"));
        let initialize = initialize.expect("a handshake");
        assert_eq!(initialize.params()["clientInfo"]["name"], "named-by-rmcp");
        assert_eq!(initialize.params()["protocolVersion"], "2025-11-25");
        assert!(initialize.params()["capabilities"].get("elicitation").is_some());
    }
}

/// Answers `server/discover`, with all that rmcp wants to see there.
fn is_discovered() -> Script {
    let text = r#"{"jsonrpc":"2.0","id":{id},"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"scripted-peer","version":"1"},"ttlMs":0,"cacheScope":"private","resultType":"complete"}}"#;
    Script::new(Response::json(text)).for_method("server/discover")
}

/// F14: what only reads is sent again, a tool's call is not unless the transport is told so; and rmcp hears that it may have
/// run.
#[tokio::test]
async fn only_what_reads_is_sent_again_unless_told_otherwise() {
    let peer = Peer::start();
    let lost = |method: &str| {
        let whole = Script::new(Response::json(Text::standard()));
        [whole.clone().cut(At::mark(Mark::HeadEnd), Ending::Reset), whole].map(|script| script.for_method(method))
    };
    for (policy, runs) in [(ReissuePolicy::ReplaySafe, 1), (ReissuePolicy::Always, 2)] {
        let scenario = peer.scenario([is_discovered()].into_iter().chain(lost("tools/list")).chain(lost("tools/call")));
        let transport = transport(&scenario.url()).reissue(policy);
        let client = within(Handler::default().serve_with_lifecycle(transport, discover())).await.expect("a client");
        assert_eq!(within(client.list_all_tools()).await.expect("tools").len(), 1);
        let called = within(client.call_tool(CallToolRequestParams::new("charge"))).await;
        match called {
            Ok(_) => assert_eq!(runs, 2),
            Err(error) => {
                let Some(Error::Call(error)) = Error::in_call(&error) else { panic!("not ours: {error}") };
                assert!(error.may_have_run() && error.kind() == "lost", "{error}");
            }
        }
        assert_eq!(scenario.executions_of("tools/list"), 2);
        assert_eq!(scenario.executions_of("tools/call"), runs);
    }
}

#[tokio::test]
async fn a_url_that_is_no_endpoint_is_told_when_rmcp_begins() {
    let error = within(().serve(ClientTransport::new("ftp://example.com"))).await.expect_err("no client");
    assert!(matches!(Error::in_startup(&error), Some(Error::Build(_))), "{error}");
}
