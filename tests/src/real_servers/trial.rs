//! What is tried with one client of one server at one revision.
//!
//! Rules: through the library's ordinary calls; each step says in a word what it saw, or what was wrong. The server's
//! counters tell how often its tools ran.

use std::ops::ControlFlow;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sse_core::client::{CallError, CallEvent, CallOptions, Reply};
use serde_json::{Value, json};

use super::proxy::{Cut, Proxy};
use super::servers::{Asks, Expected, Loss};
use crate::conformance::peer::{Handler, Peer, Protocol, Settings};
use crate::conformance::{elicitation, rounds};

/// Long enough for a busy machine; nothing takes so long unless it fails.
const BOUND: Duration = Duration::from_secs(15);

/// What the steps are called, in the order of [`run`]'s results.
pub const STEPS: [&str; 8] =
    ["program", "era", "call", "progress", "ask", "cancel", "cut on the way", "cut in the answer"];

/// What a step saw, or what was wrong.
pub type Step = Result<&'static str, String>;

/// Tries everything, each step whatever became of those before; only without tools there is nothing to try.
pub fn run<P: Peer>(url: &str, proxy: &Proxy, expected: &Expected) -> Vec<Step> {
    let program = program(P::NAME, url, expected);
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    let answer: Handler = Arc::new(move |params| {
        counter.fetch_add(1, Ordering::SeqCst);
        elicitation::answer("elicitation/create", params)
    });
    let peer = P::new(&Settings {
        url: url.to_owned(),
        protocol: expected.protocol,
        capabilities: json!({"elicitation": {}}),
        handlers: vec![("elicitation/create", answer)],
    });
    let trial = match peer {
        Ok(peer) => Trial { peer, proxy, expected, asked },
        Err(error) => return vec![program, Err(error)],
    };
    let era = trial.era();
    if era.is_err() {
        return vec![program, era];
    }
    let mut steps = vec![program, era, trial.call(), trial.progress(), trial.ask(), trial.cancel()];
    // The first progress has come whole by then, with its event id if there is one.
    steps.push(trial.cut(Cut { pattern: "notifications/progress", occurrence: 2 }));
    steps.push(trial.cut(Cut { pattern: "slow d", occurrence: 1 }));
    if let Err(error) = trial.peer.close() {
        steps.push(Err(format!("close: {error}")));
    }
    steps
}

/// The `call` program of this adapter, where it is to find out what the server speaks.
fn program(adapter: &str, url: &str, expected: &Expected) -> Step {
    if matches!(expected.protocol, Protocol::Fixed(_)) {
        return Ok("-");
    }
    let runner = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(runner.with_file_name(format!("call-{adapter}")));
    command.args(["--protocol", "auto", "--deadline-ms", "15000", url, "tools/call"]);
    let output =
        command.arg(r#"{"name":"add","arguments":{"a":2,"b":3}}"#).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("call: {}, {printed}", output.status));
    }
    let line: Value =
        serde_json::from_str(printed.lines().last().unwrap_or_default()).map_err(|error| error.to_string())?;
    equal(&line["message"]["result"]["content"][0]["text"], &json!("5"))?;
    Ok("5")
}

struct Trial<'a, P> {
    peer: P,
    proxy: &'a Proxy,
    expected: &'a Expected,
    /// How often the handler was asked.
    asked: Arc<AtomicU64>,
}

impl<P: Peer> Trial<'_, P> {
    /// Lists the tools, and looks at which revision was found.
    fn era(&self) -> Step {
        let reply = self.peer.call("tools/list", &Value::Null).map_err(|error| error.to_string())?;
        let list = result(&reply)?;
        let names: Vec<_> = list["tools"].as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect();
        equal(&json!(names), &json!(["echo", "add", "slow", "ask", "hang", "counters"]))?;
        if let Some(version) = self.peer.version() {
            equal(&version, &self.expected.version)?;
        }
        Ok("ok")
    }

    fn call(&self) -> Step {
        equal(&self.text("echo", &json!({"text": "Grüße\n\n🦀"}))?, &"Grüße\n\n🦀".to_owned())?;
        equal(&self.text("add", &json!({"a": 2, "b": 3}))?, &"5".to_owned())?;
        Ok("ok")
    }

    fn progress(&self) -> Step {
        let (reply, events) = self.slow();
        equal(&text(&reply.map_err(|error| error.to_string())?)?, &"slow done".to_owned())?;
        equal(&events, &Events { progress: 3, reissued: 0 })?;
        Ok("3 and ok")
    }

    fn ask(&self) -> Step {
        let before = self.asked.load(Ordering::SeqCst);
        let mut params = json!({"name": "ask", "arguments": {}});
        let asked_by_result = match self.expected.asks {
            Asks::Never => return Ok("-"),
            Asks::ByRequest => false,
            Asks::ByResult => {
                let reply = self.peer.call("tools/call", &params).map_err(|error| error.to_string())?;
                params = rounds::next(&params, &result(&reply)?)?.ok_or("no input was asked for")?;
                true
            }
        };
        let reply = self.peer.call("tools/call", &params).map_err(|error| error.to_string())?;
        equal(&text(&reply)?, &"asked: accept yes".to_owned())?;
        let asked = self.asked.load(Ordering::SeqCst) - before;
        equal(&asked, &u64::from(!asked_by_result))?;
        Ok(if asked_by_result { "by result" } else { "by request" })
    }

    /// Cancels a call that never ends, once it has told of itself.
    fn cancel(&self) -> Step {
        let before = self.counter("cancelled")?;
        let params = json!({"name": "hang", "arguments": {}, "_meta": {"progressToken": "hang"}});
        let options = CallOptions::default().with_timeout(BOUND);
        let cancelled = self.peer.call_with("tools/call", &params, &options, &mut |event| match event {
            CallEvent::Notification { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        match cancelled {
            Ok(_) => return Err("an answer".to_owned()),
            Err(error) => equal(&error.kind(), &"cancelled")?,
        }
        if !self.expected.hears_cancel {
            return Ok("not told");
        }
        let start = Instant::now();
        while self.counter("cancelled")? == before {
            if start.elapsed() > BOUND {
                return Err("the server never heard of it".to_owned());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok("heard")
    }

    /// Cuts the stream of a call, and holds the verdict against what the era says. Afterwards the client must be
    /// of use as before.
    fn cut(&self, cut: Cut) -> Step {
        let before = self.counter("slow")?;
        self.proxy.arm(cut);
        let (reply, events) = self.slow();
        if self.proxy.disarm() {
            return Err("nothing was cut".to_owned());
        }
        let verdict = match self.expected.loss {
            Loss::Reissued => {
                let reply = reply.map_err(|error| error.to_string())?;
                equal(&text(&reply)?, &"slow done".to_owned())?;
                equal(&(events.reissued, reply.attempts, reply.earlier_may_have_run), &(1, 2, true))?;
                "re-issued"
            }
            Loss::Resumed => {
                let reply = reply.map_err(|error| error.to_string())?;
                equal(&text(&reply)?, &"slow done".to_owned())?;
                // Each notification once, whatever is replayed.
                equal(&(events, reply.earlier_may_have_run), &(Events { progress: 3, reissued: 0 }, false))?;
                "resumed"
            }
            Loss::Lost => {
                let error = reply.err().ok_or("an answer")?;
                equal(&(error.kind(), error.may_have_run(), events.reissued), &("lost", true, 0))?;
                "lost"
            }
        };
        let runs = if self.expected.loss == Loss::Reissued { 2 } else { 1 };
        equal(&(self.counter("slow")? - before), &runs)?;
        Ok(verdict)
    }

    fn slow(&self) -> (Result<Reply, CallError>, Events) {
        let mut events = Events::default();
        let params = json!({"name": "slow", "arguments": {}, "_meta": {"progressToken": "slow"}});
        let options = CallOptions::default().with_timeout(BOUND);
        let reply = self.peer.call_with("tools/call", &params, &options, &mut |event| {
            match event {
                CallEvent::Notification { message, .. } if message.method() == Some("notifications/progress") => {
                    events.progress += 1;
                }
                CallEvent::Reissue { .. } => events.reissued += 1,
                _ => {}
            }
            ControlFlow::Continue(())
        });
        (reply, events)
    }

    fn counter(&self, name: &str) -> Result<u64, String> {
        let counters = self.text("counters", &json!({}))?;
        let counters: Value = serde_json::from_str(&counters).map_err(|error| error.to_string())?;
        counters[name].as_u64().ok_or_else(|| format!("no counter {name}"))
    }

    fn text(&self, tool: &str, arguments: &Value) -> Result<String, String> {
        let reply = self.peer.call("tools/call", &json!({"name": tool, "arguments": arguments}));
        reply.map_err(|error| format!("{tool}: {error}")).and_then(|reply| text(&reply))
    }
}

/// What came on the way to an answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Events {
    progress: u32,
    reissued: u32,
}

fn result(reply: &Reply) -> Result<Value, String> {
    if let Err(error) = reply.result() {
        return Err(format!("the server refused: {} {}", error.code, error.message));
    }
    reply.parse_result().map_err(|error| error.to_string())
}

fn text(reply: &Reply) -> Result<String, String> {
    let result = result(reply)?;
    result["content"][0]["text"].as_str().map(str::to_owned).ok_or_else(|| format!("no text: {result}"))
}

fn equal<T: PartialEq + std::fmt::Debug>(got: &T, expected: &T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{got:?} instead of {expected:?}")) }
}
