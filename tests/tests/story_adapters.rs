//! Both adapters and the bare loop over `std::net` tell the same story of the same script: the same events, the same answer, the
//! same end of its exchange (the drain run to its bound), the same number of attempts, the same exposure.
//!
//! The scripts are those of the break matrix, at places where something begins or ends, broken in every way.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mcp_sse_core::client::{CallError, CallEvent, CallOptions, ConnectionConfig, Done, Outcome, Reply};
use mcp_sse_core::exchange::{AnswerInfo, FailureKind};
use mcp_sse_tests::bare_loop;
use mcp_sse_tests::matrix::{METHOD, Target, Told, params, shapes};
use mcp_sse_tests::peer::{At, Ending, Mark, Peer, Response, Script, Sse, Text};
use mcp_sse_tests::tokio_client;

/// How long an exchange is read on after its answer.
const DRAIN: Duration = Duration::from_millis(300);
/// The deadline of calls whose answer never comes.
const LOST_AT: Duration = Duration::from_millis(700);
const PATIENCE: Duration = Duration::from_secs(30);
const THREADS: usize = 32;

fn blocking(target: &Target) -> Told {
    let client = mcp_sse_blocking::Client::builder(&target.url)
        .connections(ConnectionConfig::default().with_drain_timeout(DRAIN))
        .build()
        .unwrap();
    let options = CallOptions::default().with_timeout(target.timeout);
    let mut events = Vec::new();
    let result = client.call_to_end(METHOD, &params(), &options, |event| {
        events.push(event);
        ControlFlow::Continue(())
    });
    match result {
        Ok((reply, done)) => Told { result: Ok(reply), events, done: Some(done) },
        Err(error) => Told { result: Err(error), events, done: None },
    }
}

fn event(event: &CallEvent) -> String {
    match event {
        CallEvent::Notification { attempt, message } => format!("{attempt}: notification {}", message.as_json()),
        CallEvent::Request { attempt, message, is_violation, .. } => {
            format!("{attempt}: request {} {is_violation}", message.as_json())
        }
        other => format!("{other:?}"),
    }
}

/// The time of arrival aside.
fn info(info: &AnswerInfo) -> String {
    format!("{} {:?} {} {}", info.status, info.id_match, info.is_error, info.proves_modern)
}

fn reply(reply: &Reply) -> String {
    let Reply { answer, attempts, damage, .. } = reply;
    format!("attempt {attempts}: {} ({}), damage {damage:?}", answer.message.as_json(), info(&answer.info))
}

fn done(done: &Done) -> String {
    let outcome = match &done.outcome {
        Outcome::Settled(answer) => format!("settled {}", info(answer)),
        Outcome::Salvaged { answer, damage } => format!("salvaged {} {damage:?}", info(answer)),
        other => format!("{other:?}"),
    };
    format!("{outcome}, {} attempts, {}, {}", done.attempts, done.exposure, done.earlier_may_have_run)
}

fn error(error: &CallError) -> String {
    match error {
        CallError::Failed { failure, attempts, earlier_may_have_run, .. } => {
            let kind = match &failure.kind {
                FailureKind::Status(failure) => format!("status {} {}", failure.status(), failure.excerpt),
                kind => format!("{kind:?}"),
            };
            format!("{kind}, {attempts} attempts, {}, {earlier_may_have_run}", failure.exposure)
        }
        other => format!("{other:?}"),
    }
}

/// What is compared.
fn story(told: &Told) -> Vec<String> {
    let mut story: Vec<String> = told.events.iter().map(event).collect();
    story.push(match &told.result {
        Ok(given) => reply(given),
        Err(failed) => error(failed),
    });
    story.extend(told.done.as_ref().map(done));
    story
}

struct Scene {
    name: String,
    scripts: Vec<Script>,
    timeout: Duration,
}

/// Runs each scene by all three, each against a scenario of its own. Says how often each of these words was told.
fn compare<const N: usize>(scenes: &[Scene], words: [&str; N]) -> [usize; N] {
    let next = AtomicUsize::new(0);
    let runtime = tokio_client::runtime();
    let work = || {
        let peer = Peer::start();
        let (mut wrong, mut told) = (Vec::new(), [0; N]);
        while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let play = |caller: &dyn Fn(&Target) -> Told| {
                let scenario = peer.scenario(scene.scripts.clone());
                let told = caller(&Target { url: scenario.url(), certificate_pem: None, timeout: scene.timeout });
                let mut story = story(&told);
                story.push(format!("{} executions, {} requests", scenario.executions(), scenario.requests().len()));
                story
            };
            let bare = play(&|target| bare_loop::call(target, &params(), DRAIN));
            for (count, word) in told.iter_mut().zip(words) {
                *count += bare.iter().filter(|line| line.contains(word)).count();
            }
            let blocking = play(&blocking);
            let tokio = play(&|target| runtime.block_on(tokio_client::call_target(target, &params(), true, DRAIN)));
            if bare != blocking || bare != tokio {
                let name = &scene.name;
                wrong.push(format!("{name}:\n  bare     {bare:?}\n  blocking {blocking:?}\n  tokio    {tokio:?}"));
            }
        }
        (wrong, told)
    };
    let (mut wrong, mut told) = (Vec::new(), [0; N]);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let (complaints, counts) = worker.join().unwrap();
            wrong.extend(complaints);
            told.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    });
    let shown = wrong.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} scenes are told differently:\n{shown}", wrong.len(), scenes.len());
    println!("{} scenes, {words:?}: {told:?}", scenes.len());
    told
}

/// The shapes of the matrix, at every so-many-th place next to which something begins or ends.
fn broken(ending: &Ending, timeout: Duration, step: usize) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for shape in shapes() {
        for offset in shape.offsets_at_boundaries().into_iter().step_by(step) {
            let whole = shape.script.clone();
            let name = format!("{}: {ending:?} after {offset} of {} bytes", shape.name, shape.len());
            let scripts = vec![whole.clone().cut(At::byte(offset), ending.clone()), whole];
            scenes.push(Scene { name, scripts, timeout });
        }
    }
    scenes
}

#[test]
fn the_same_story_of_connections_closed() {
    let scenes = broken(&Ending::Fin, PATIENCE, 2);
    let told = compare(&scenes, ["Reissue", "settled", "salvaged", "notification", "2 executions"]);
    assert!(scenes.len() > 600 && told.iter().all(|count| *count > 50), "{} scenes, {told:?}", scenes.len());
}

#[test]
fn the_same_story_of_connections_reset() {
    let scenes = broken(&Ending::Reset, PATIENCE, 3);
    let told = compare(&scenes, ["Reissue", "settled", "salvaged", "notification", "2 executions"]);
    assert!(scenes.len() > 400 && told.iter().all(|count| *count > 50), "{} scenes, {told:?}", scenes.len());
}

#[test]
fn the_same_story_of_silence() {
    let scenes = broken(&Ending::Stall, LOST_AT, 11);
    let told = compare(&scenes, ["Timeout", "settled", "salvaged", "1 executions"]);
    assert!(scenes.len() > 150 && told.iter().all(|count| *count > 5), "{} scenes, {told:?}", scenes.len());
}

#[test]
fn the_same_story_of_answers_whole_and_wrong() {
    let responses = [
        Response::sse([Sse::comment("a"), Sse::progress(1), Sse::charged()]),
        Response::sse([Sse::charged(), Sse::progress(2), Sse::charged()]),
        Response::sse([Sse::message(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#)]),
        Response::sse([Sse::message(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#), Sse::charged()]),
        Response::sse([Sse::message(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#), Sse::charged()]),
        Response::sse([Sse::message("{]")]),
        Response::sse([]),
        Response::json("{}"),
        Response::json("[1"),
        Response::json(Text::error(-32000, "no")),
        Response::json(Text::error(-32601, "no")).status(404),
        Response::json(Text::charged()).status(500),
        Response::raw("<html>").content_type("text/html"),
        Response::raw("busy").status(503).header("Retry-After", "1"),
        Response::empty(202),
        Response::empty(204),
        Response::empty(401).header("WWW-Authenticate", "Bearer"),
        Response::empty(307).header("Location", "/elsewhere"),
        Response::json(Text::charged()).close(),
        Response::json(Text::charged()).interim(103, &["Link: </a>"]),
    ];
    let mut scenes: Vec<Scene> = responses
        .into_iter()
        .map(|response| Scene {
            name: format!("{response:?}"),
            scripts: vec![Script::new(response)],
            timeout: PATIENCE,
        })
        .collect();
    // Lost twice: no replacement is left.
    for at in [At::byte(0), At::mark(Mark::HeadEnd), At::mark(Mark::AnswerStart).plus(3)] {
        let script = Script::whole().cut(at, Ending::Reset);
        scenes.push(Scene { name: format!("lost twice at {at:?}"), scripts: vec![script], timeout: PATIENCE });
    }
    let count = scenes.len();
    let [failures] = compare(&scenes, ["attempts, headed, false"]);
    assert!(count > 20 && failures > 2, "{count} scenes, {failures}");
}
