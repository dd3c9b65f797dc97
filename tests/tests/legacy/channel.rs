//! H1 to H5: the conversation of 2024-11-05: where to post, answers on a channel that all calls share, and its loss.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{CallError, CallEvent, CallOptions, Reply};
use mcp_sse_core::exchange::{FailureKind, HandshakeProblem};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::adapters::{Adapter, BOUND, Settings, charge, execution};
use mcp_sse_tests::blocking::failure;
use mcp_sse_tests::legacy_peer::{Channel, SESSION, VERSION, log, response_to, what};
use mcp_sse_tests::over_both_adapters;
use mcp_sse_tests::peer::{At, Ending, Gate, Kind, Mark, Peer, Request, Response, Scenario, Script, Text};
use serde_json::{Value, json};

over_both_adapters![
    e11_a_deadline_ends_its_own_call_and_the_channel_goes_on,
    h1_a_foreign_or_empty_endpoint_fails_the_handshake_at_once,
    h1_a_foreign_endpoint_is_taken_if_the_caller_allows_it,
    h1_a_get_that_is_refused_fails_the_handshake,
    h1_an_endpoint_that_never_comes_ends_by_the_handshakes_time_out,
    h1_the_endpoint_is_resolved_against_the_url,
    h2_a_later_endpoint_is_refused_and_so_are_messages_before_the_first,
    h3_an_answer_may_come_before_the_202,
    h3_an_answer_settles_a_call_whatever_becomes_of_its_post,
    h3_many_calls_share_one_channel,
    h4_strays_pings_and_errors_without_an_id_answer_nobody,
    h5_a_channel_that_breaks_loses_its_calls_and_the_next_call_opens_another,
    h5_a_post_that_is_refused_fails_its_call_alone,
    notifications_reach_those_they_are_meant_for,
    over_tls_too,
];

const CALL: &str = "tools/call";

fn client<A: Adapter>(scenario: &Scenario) -> A {
    A::new(Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05))
}

fn gets(scenario: &Scenario) -> usize {
    scenario.requests().iter().filter(|request| request.http_method == "GET").count()
}

fn posts(scenario: &Scenario) -> Vec<Request> {
    scenario.requests().into_iter().filter(|request| request.http_method == "POST").collect()
}

fn number_of(result: Result<Reply, CallError>) -> Value {
    let result: Value = result.expect("an answer").parse_result().expect("a result");
    result["number"].clone()
}

fn handshake_problem(error: &CallError) -> &HandshakeProblem {
    match &failure(error).kind {
        FailureKind::Handshake { problem } => problem,
        other => panic!("no failure of the handshake: {other}"),
    }
}

fn h1_the_endpoint_is_resolved_against_the_url<A: Adapter>() {
    let peer = Peer::start();
    let authority = peer.address().to_string();
    for reference in
        ["/s/{n}/messages?session=1", "http://{authority}/s/{n}/a", "?session=2", "messages", "//{authority}/s/{n}/b"]
    {
        let channel = Channel::new();
        let scenario = peer.scenario([channel.answers("initialize"), channel.answers(CALL)]);
        let n = scenario.path().trim_start_matches("/s/").to_owned();
        let reference = reference.replace("{n}", &n).replace("{authority}", &authority);
        scenario.push([channel.opens_with(Some(&reference))]);
        let url = format!("{}/sse", scenario.url());
        let client = A::new(Settings::fixed(url, ProtocolVersion::V2024_11_05));
        assert_eq!(execution(&client.call(CALL).expect("an answer")), 1, "{reference}");
        let target = match &*reference {
            "messages" => format!("/s/{n}/messages"),
            "?session=2" => format!("/s/{n}/sse?session=2"),
            other => other[other.find("/s/").expect("the path")..].to_owned(),
        };
        let posts = posts(&scenario);
        assert_eq!(posts.iter().map(what).collect::<Vec<_>>(), ["initialize", "notifications/initialized", CALL]);
        for post in posts {
            assert_eq!(post.target, target);
            // This revision has no header for itself, and none for a session.
            assert_eq!((post.header(VERSION), post.header(SESSION)), (None, None));
        }
        let offered = scenario.executed().remove(0).params["protocolVersion"].clone();
        assert_eq!((offered, client.version()), (json!("2024-11-05"), Some(ProtocolVersion::V2024_11_05)));
    }
}

fn h1_a_foreign_or_empty_endpoint_fails_the_handshake_at_once<A: Adapter>() {
    let (peer, other) = (Peer::start(), Peer::start());
    let elsewhere = other.scenario([]);
    let scheme = format!("https://{}/s/0", peer.address());
    for (reference, is_foreign) in
        [(elsewhere.url(), true), (scheme, true), (String::new(), false), ("http://[".into(), false)]
    {
        let channel = Channel::new();
        let scenario = peer.scenario([channel.opens_with(Some(&reference))]);
        let error = client::<A>(&scenario).call(CALL).expect_err("no endpoint");
        let problem = handshake_problem(&error);
        if is_foreign {
            assert!(matches!(problem, HandshakeProblem::ForeignEndpoint), "{reference}: {problem:?}");
        } else {
            assert!(matches!(problem, HandshakeProblem::Endpoint), "{reference}: {problem:?}");
        }
        assert!(!error.may_have_run());
        assert!(posts(&scenario).is_empty());
        assert!(scenario.wait_for_client_close(BOUND), "the channel is closed");
    }
    assert_eq!(other.connections(), 0);
}

/// What was kept of connections to the stream's own host is not used for another, nor its scheme.
fn h1_a_foreign_endpoint_is_taken_if_the_caller_allows_it<A: Adapter>() {
    for (finds_out, other) in [(false, Peer::start()), (true, Peer::start()), (true, Peer::start_tls())] {
        let (peer, channel) = (Peer::start(), Channel::new());
        let elsewhere = other.scenario([channel.answers("initialize"), channel.answers(CALL)]);
        let in_vain = Script::new(Response::empty(405)).when(|request| !request.messages.is_empty());
        let opens = channel.opens_with(Some(&format!("{}/messages", elsewhere.url())));
        let scenario = peer.scenario([in_vain.without_executing(), opens]);
        let settings = match finds_out {
            true => Settings::auto(scenario.url()),
            false => Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05),
        };
        let settings = match elsewhere.url().starts_with("https") {
            true => settings.trusts(other.certificate_pem()),
            false => settings,
        };
        let client = A::new(settings.config(|config| config.with_allows_foreign_endpoint(true)));
        assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
        let refused = if finds_out { 2 } else { 0 };
        assert_eq!((posts(&scenario).len(), posts(&elsewhere).len()), (refused, 3));
    }
}

fn h1_a_get_that_is_refused_fails_the_handshake<A: Adapter>() {
    for status in [401, 404, 405, 500] {
        let peer = Peer::start();
        let scenario = peer.scenario([Script::new(Response::empty(status)).for_http("GET")]);
        let error = client::<A>(&scenario).call(CALL).expect_err("no channel");
        assert_eq!((error.status(), error.may_have_run()), (Some(status), false), "{error}");
        assert_eq!((gets(&scenario), posts(&scenario).len()), (1, 0));
    }
}

fn h1_an_endpoint_that_never_comes_ends_by_the_handshakes_time_out<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario([channel.opens_with(None)]);
    let settings = Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05);
    let client = A::new(settings.config(|config| config.with_handshake_timeout(Duration::from_millis(300))));
    let error = client.call(CALL).expect_err("no endpoint");
    let problem = handshake_problem(&error);
    assert!(matches!(problem, HandshakeProblem::Failed(FailureKind::Timeout { .. })), "{problem:?}");
    assert!(posts(&scenario).is_empty());
}

fn h2_a_later_endpoint_is_refused_and_so_are_messages_before_the_first<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    // Answers to the ids that the client will use, before it has asked for anything.
    for id in 1..=2 {
        channel
            .say(&json!({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2024-11-05", "executions": 99}}));
    }
    let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), channel.answers(CALL)]);
    let client = client::<A>(&scenario);
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    channel.feed().write("event: endpoint\ndata: /s/999/elsewhere\n\n");
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 2);
    assert!(posts(&scenario).iter().all(|post| post.target.ends_with("/messages")));
    assert!(peer.log().lost_requests.is_empty());
}

fn h3_an_answer_may_come_before_the_202<A: Adapter>() {
    let (peer, channel, gate) = (Peer::start(), Channel::new(), Gate::new());
    // The 202 comes only when the call has returned.
    let early = channel.answers_early(CALL).wait_at(At::byte(0), &gate);
    let scenario = peer.scenario([channel.opens(), channel.answers_early("initialize"), early]);
    let client = client::<A>(&scenario);
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    gate.open();
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 2);
    assert_eq!(gets(&scenario), 1);
}

fn h3_an_answer_settles_a_call_whatever_becomes_of_its_post<A: Adapter>() {
    let endings =
        [(At::byte(0), Ending::Reset), (At::mark(Mark::StatusLineEnd), Ending::Fin), (At::byte(0), Ending::Stall)];
    for (at, ending) in endings {
        let (peer, channel) = (Peer::start(), Channel::new());
        let answered = channel.answers_early(CALL).cut(at, ending.clone());
        let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), answered]);
        let client = client::<A>(&scenario);
        for number in 1..=2 {
            assert_eq!(execution(&client.call(CALL).expect("an answer")), number, "{ending:?}");
        }
        assert_eq!((gets(&scenario), scenario.executions_of(CALL)), (1, 2));
    }
    // And an answer that comes after the loss of its POST's response.
    let (peer, channel) = (Peer::start(), Channel::new());
    let late = channel.accepts(CALL).cut(At::byte(0), Ending::Reset);
    let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), late]);
    let client = client::<A>(&scenario);
    let call = thread::spawn({
        let client = client.clone();
        move || client.call(CALL)
    });
    assert!(peer.wait_for(|log| log.scenarios[0].executions_of(CALL) == 1, BOUND));
    let post = scenario.requests().into_iter().find(|request| request.method() == Some(CALL)).expect("the call");
    assert!(peer.wait_for(|log| log.connections[post.connection].ended, BOUND));
    channel.answer(&post);
    assert_eq!(execution(&call.join().expect("the call").expect("an answer")), 1);
}

fn h3_many_calls_share_one_channel<A: Adapter>() {
    const CALLS: usize = 40;
    let (peer, channel) = (Peer::start(), Channel::new());
    let waiting = Arc::new(Mutex::new(Vec::new()));
    let (speaker, asked) = (channel.clone(), Arc::clone(&waiting));
    // Nobody is answered before all have asked; then each is, the last first, before its 202 or after it.
    let together = channel.accepts(CALL).before(move |request| {
        let mut asked = asked.lock().expect("who waits");
        asked.push(request.clone());
        if asked.len() == CALLS {
            for request in asked.drain(..).rev() {
                let number = request.params()["arguments"]["n"].clone();
                speaker.say(&response_to(&request, &json!({"number": number})));
            }
        }
    });
    let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), together]);
    let client = client::<A>(&scenario);
    for (number, result) in (1..).zip(client.call_together(CALL, CALLS as u64)) {
        assert_eq!(number_of(result), number);
    }
    assert_eq!((gets(&scenario), scenario.executions_of("initialize"), scenario.executions_of(CALL)), (1, 1, CALLS));
}

fn h4_strays_pings_and_errors_without_an_id_answer_nobody<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let speaker = channel.clone();
    let noisy = channel.accepts(CALL).after(move |request| {
        speaker
            .feed()
            .write("event: ping\ndata: 2026-01-01\n\n: a comment\n\nevent: other\ndata: {}\n\ndata: not JSON\n\n");
        let error = json!({"code": -32000, "message": "Unauthorized"});
        for id in [json!(99), json!(null), json!(request.id().expect("an id").to_string())] {
            speaker.say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        speaker.say(&json!({"jsonrpc": "2.0", "error": error}));
        speaker.answer(request);
        speaker.say(&response_to(request, &json!({"executions": 98})));
    });
    let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), noisy]);
    let client = client::<A>(&scenario);
    for number in 1..=2 {
        assert_eq!(execution(&client.call(CALL).expect("an answer")), number);
    }
    assert_eq!(gets(&scenario), 1);
}

fn h5_a_channel_that_breaks_loses_its_calls_and_the_next_call_opens_another<A: Adapter>() {
    const CALLS: usize = 8;
    for ending in [Ending::Fin, Ending::Reset, Ending::KeepAlive] {
        let (peer, channel) = (Peer::start(), Channel::new());
        let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), channel.answers("ping")]);
        let client = client::<A>(&scenario);
        client.call("ping").expect("an answer");
        let (breaker, how, seen) = (channel.clone(), ending.clone(), Mutex::new(0));
        // Half of them have their 202 by then, and half have not.
        let gate = Gate::new();
        let opener = gate.clone();
        let unanswered = channel.accepts(CALL).before(move |_| {
            let mut seen = seen.lock().expect("the count");
            *seen += 1;
            if *seen == CALLS {
                breaker.feed().end(how.clone());
                opener.open();
            }
        });
        let held = unanswered.clone().when(|request| {
            what(request) == CALL && request.params()["arguments"]["n"].as_u64().is_some_and(|n| n % 2 == 0)
        });
        scenario.push([held.wait_at(At::byte(0), &gate), unanswered]);
        for result in client.call_together(CALL, CALLS as u64) {
            let error = result.expect_err("lost");
            assert!(matches!(failure(&error).kind, FailureKind::Lost { .. }) && error.may_have_run(), "{error}");
        }
        assert_eq!((scenario.executions_of(CALL), gets(&scenario)), (CALLS, 1), "{ending:?}");
        scenario.push([channel.answers("tools/list")]);
        // Nothing of the old channel's is on the new one.
        client.call("tools/list").expect("an answer");
        assert_eq!((scenario.executions_of(CALL), gets(&scenario)), (CALLS, 2));
        assert_eq!(scenario.executions_of("initialize"), 2, "it starts again at `endpoint` and `initialize`");
    }
}

fn h5_a_post_that_is_refused_fails_its_call_alone<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let refuses = Script::new(Response::json(Text::error(-32602, "no such tool")).status(400));
    let breaks = Script::new(Response::empty(503)).without_executing();
    let scenario = peer.scenario([channel.opens(), channel.answers("initialize"), channel.answers(CALL)]);
    scenario.push([refuses.for_method("tools/none"), breaks.for_method("tools/busy")]);
    let client = client::<A>(&scenario);
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    let reply = client.call("tools/none");
    match reply {
        Ok(reply) => assert_eq!(reply.result().expect_err("an error").code, -32602),
        Err(error) => assert_eq!(error.status(), Some(400), "{error}"),
    }
    assert_eq!(client.call("tools/busy").expect_err("refused").status(), Some(503));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 2);
    assert_eq!(gets(&scenario), 1);
}

fn e11_a_deadline_ends_its_own_call_and_the_channel_goes_on<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    scenario.push([channel.accepts("tools/endless")]);
    let client = client::<A>(&scenario);
    client.call("ping").expect("an answer");
    let error = [400, 1_600, 6_400].into_iter().find_map(|millis| {
        let error = client.call_within("tools/endless", Duration::from_millis(millis)).expect_err("no answer");
        // Else the machine was too busy.
        error.may_have_run().then_some(error)
    });
    let error = error.expect("sent in time");
    assert!(matches!(failure(&error).kind, FailureKind::Timeout { .. }), "{error}");
    let is_cancel = |request: &Request| what(request) == "notifications/cancelled";
    assert!(scenario.wait_for(|log| log.requests.iter().any(is_cancel), BOUND));
    // The answer comes too late, and nobody takes it.
    let late = scenario.requests().into_iter().rfind(|request| request.method() == Some("tools/endless"));
    channel.answer(&late.expect("the call"));
    assert_eq!(execution(&client.call(CALL).expect("an answer")), 1);
    assert_eq!(gets(&scenario), 1);
}

fn notifications_reach_those_they_are_meant_for<A: Adapter>() {
    let (peer, channel) = (Peer::start(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    let speaker = channel.clone();
    scenario.push([channel.accepts("tools/slow").after(move |request| {
        let token = request.params()["_meta"]["progressToken"].clone();
        for (token, progress) in [(json!("another"), 99), (token, 1)] {
            let params = json!({"progressToken": token, "progress": progress});
            speaker.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        }
        speaker.say(&log("for all"));
        speaker.answer(request);
    })]);
    let client = client::<A>(&scenario);
    client.call("ping").expect("an answer");
    let listener = thread::spawn({
        let client = client.clone();
        move || {
            let mut heard = Vec::new();
            client.listen(&json!({}), &mut |event| {
                heard.push(message_of(&event));
                ControlFlow::Break(())
            });
            heard
        }
    });
    let (mut heard, mut params) = (Vec::new(), charge(1));
    params["_meta"] = json!({"progressToken": "mine"});
    let options = CallOptions::default().with_timeout(BOUND);
    // Until the other one listens.
    while !listener.is_finished() {
        heard.clear();
        let reply = client.call_with("tools/slow", &params, &options, &mut |event| {
            heard.push(message_of(&event)["params"]["progress"].clone());
            ControlFlow::Continue(())
        });
        reply.expect("nobody cancelled it").expect("an answer");
        assert_eq!(heard, [1], "its own progress, and nothing else");
    }
    assert_eq!(listener.join().expect("the listener"), [log("for all")]);
    assert_eq!(gets(&scenario), 1);
}

fn message_of(event: &CallEvent) -> Value {
    match event {
        CallEvent::Notification { message, .. } => serde_json::from_str(message.as_json()).expect("JSON"),
        other => panic!("no notification: {other:?}"),
    }
}

fn over_tls_too<A: Adapter>() {
    let (peer, channel) = (Peer::start_tls(), Channel::new());
    let scenario = peer.scenario(channel.serves());
    let settings = Settings::fixed(scenario.url(), ProtocolVersion::V2024_11_05).trusts(peer.certificate_pem());
    let client = A::new(settings);
    for result in client.call_together(CALL, 4) {
        result.expect("an answer");
    }
    client.close().expect("closed");
    assert_eq!((gets(&scenario), scenario.executions_of(CALL)), (1, 4));
    assert!(posts(&scenario).iter().all(|post| post.kind() != Kind::Reply));
}
