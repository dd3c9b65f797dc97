//! What the peer saw and did: connections, requests, executions, responses; and waiting until something has been seen.
//!
//! Rule: a request is logged and its execution counted before a byte of its response is written.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::request::{Kind, Request, is_call};
use super::response::Response;
use super::script::{Ending, Script};
use super::text::Text;

/// How the client's side of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientClose {
    /// close_notify, under TLS.
    CloseNotify,
    /// FIN (under TLS: without close_notify).
    Fin,
    /// RST. A client that closes with unread bytes in its socket sends this too.
    Reset,
}

/// One connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// Whether a TLS handshake was completed on it.
    pub handshake: bool,
    /// How many whole requests came on it.
    pub requests: usize,
    /// How the client closed it, if the peer saw that.
    pub client_close: Option<ClientClose>,
    /// Whether the peer is done with it.
    pub ended: bool,
}

/// One run of the side effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The JSON-RPC method.
    pub method: String,
    /// Its params, or null.
    pub params: Value,
    /// The id of the request that ran.
    pub id: Value,
}

/// What was written in answer to one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseRecord {
    /// Bytes of the response handed to the network so far (before TLS).
    pub written: usize,
    /// Whether all that the script wanted was written, up to its cut.
    pub done: bool,
}

/// What came to one scenario.
#[derive(Clone, Debug, Default)]
pub struct ScenarioLog {
    /// The whole requests, in order, of every kind.
    pub requests: Vec<Request>,
    /// The response to each of them.
    pub responses: Vec<ResponseRecord>,
    /// The runs of the side effect, in order.
    pub executions: Vec<Execution>,
    /// JSON-RPC notifications received.
    pub notifications: Vec<Value>,
    /// JSON-RPC results and errors received.
    pub replies: Vec<Value>,
    /// For each request that a script cut: the bytes of its body that were read.
    pub cut_requests: Vec<Vec<u8>>,
}

impl ScenarioLog {
    /// How often a method ran.
    pub fn executions_of(&self, method: &str) -> usize {
        self.executions.iter().filter(|execution| execution.method == method).count()
    }

    /// How often a method ran with these params (`_meta` aside, which differs between attempts).
    pub fn executions_with(&self, method: &str, params: &Value) -> usize {
        let without_meta = |params: &Value| {
            let mut params = params.clone();
            if let Value::Object(members) = &mut params {
                members.remove("_meta");
            }
            params
        };
        let wanted = without_meta(params);
        let ran = self.executions.iter().filter(|execution| execution.method == method);
        ran.filter(|execution| without_meta(&execution.params) == wanted).count()
    }
}

/// Everything that came to one peer.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// All connections accepted; a request's `connection` is an index here.
    pub connections: Vec<ConnectionRecord>,
    /// All scenarios, in the order made.
    pub scenarios: Vec<ScenarioLog>,
    /// Requests for a path that belongs to no scenario; they are answered 404.
    pub lost_requests: Vec<Request>,
}

/// The scripts of one scenario and what they need to know.
#[derive(Debug, Default)]
struct Table {
    scripts: Vec<Script>,
    used: Vec<bool>,
    latest_call: Option<Value>,
    counts: HashMap<String, usize>,
}

impl Table {
    /// The first unused script that takes the request, else the last used one that does, else what a sound server does.
    fn choose(&mut self, request: &Request) -> Script {
        let unused = (0..self.scripts.len()).find(|index| !self.used[*index] && self.scripts[*index].takes(request));
        if let Some(index) = unused {
            self.used[index] = true;
            return self.scripts[index].clone();
        }
        let repeated = self.scripts.iter().rfind(|script| script.takes(request));
        repeated.cloned().unwrap_or_else(|| standard_script(request.kind()))
    }
}

fn standard_script(kind: Kind) -> Script {
    Script::new(match kind {
        Kind::Call => Response::json(Text::standard()),
        Kind::Notification | Kind::Reply => Response::empty(202),
        Kind::Unreadable => Response::json(Text::error(-32700, "Parse error")).status(400),
        Kind::Other => Response::empty(405).header("Allow", "POST"),
    })
}

#[derive(Default)]
struct State {
    log: Log,
    tables: Vec<Table>,
}

/// The log of a peer together with its scripts, so that logging, counting and choosing are one step.
#[derive(Default)]
pub(super) struct Journal {
    state: Mutex<State>,
    changed: Condvar,
}

/// Where a request stands in the log.
#[derive(Clone, Copy)]
pub(super) struct Place {
    scenario: usize,
    request: usize,
}

impl Journal {
    pub(super) fn read<T>(&self, read: impl FnOnce(&Log) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner).log)
    }

    fn update<T>(&self, update: impl FnOnce(&mut State) -> T) -> T {
        let result = update(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        result
    }

    /// Waits until the condition holds; false if it does not within `bound`.
    pub(super) fn wait_for(&self, condition: impl Fn(&Log) -> bool, bound: Duration) -> bool {
        let end = Instant::now() + bound;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if condition(&state.log) {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn add_scenario(&self, scripts: Vec<Script>) -> usize {
        self.update(|state| {
            state.log.scenarios.push(ScenarioLog::default());
            state.tables.push(Table { used: vec![false; scripts.len()], scripts, ..Table::default() });
            state.tables.len() - 1
        })
    }

    pub(super) fn add_scripts(&self, scenario: usize, scripts: Vec<Script>) {
        self.update(|state| {
            let table = &mut state.tables[scenario];
            table.used.extend(scripts.iter().map(|_| false));
            table.scripts.extend(scripts);
        });
    }

    pub(super) fn add_connection(&self) -> usize {
        self.update(|state| {
            state.log.connections.push(ConnectionRecord::default());
            state.log.connections.len() - 1
        })
    }

    pub(super) fn on_connection(&self, connection: usize, change: impl FnOnce(&mut ConnectionRecord)) {
        self.update(|state| change(&mut state.log.connections[connection]));
    }

    /// The cut that awaits the next request of the scenario, if one does; it is then used.
    pub(super) fn take_request_cut(&self, scenario: Option<usize>) -> Option<(usize, Ending)> {
        self.update(|state| {
            let table = state.tables.get_mut(scenario?)?;
            let index = table.used.iter().position(|used| !used)?;
            let cut = table.scripts[index].request_cut.clone()?;
            table.used[index] = true;
            Some(cut)
        })
    }

    pub(super) fn on_cut_request(&self, scenario: usize, body: Vec<u8>) {
        self.update(|state| state.log.scenarios[scenario].cut_requests.push(body));
    }

    /// Logs a whole request, chooses its script and runs the side effect, if the script lets it run.
    pub(super) fn on_request(&self, scenario: Option<usize>, mut request: Request) -> (Option<Place>, Request, Script) {
        self.update(|state| {
            state.log.connections[request.connection].requests += 1;
            let Some((scenario, table)) = scenario.and_then(|index| Some((index, state.tables.get_mut(index)?))) else {
                state.log.lost_requests.push(request.clone());
                return (None, request, Script::new(Response::empty(404)));
            };
            let log = &mut state.log.scenarios[scenario];
            request.attempt = log.requests.len() + 1;
            request.earlier_call.clone_from(&table.latest_call);
            let script = table.choose(&request);
            for message in &request.messages {
                if is_call(message) {
                    table.latest_call = Some(message.clone());
                    if script.executes {
                        let execution = execution_of(message);
                        *table.counts.entry(execution.method.clone()).or_default() += 1;
                        log.executions.push(execution);
                    }
                } else if message.get("method").is_some() {
                    log.notifications.push(message.clone());
                } else {
                    log.replies.push(message.clone());
                }
            }
            request.executions = request.method().and_then(|method| table.counts.get(method)).copied().unwrap_or(0);
            log.requests.push(request.clone());
            log.responses.push(ResponseRecord::default());
            (Some(Place { scenario, request: request.attempt - 1 }), request, script)
        })
    }

    pub(super) fn on_response(&self, place: Option<Place>, change: impl FnOnce(&mut ResponseRecord)) {
        if let Some(place) = place {
            self.update(|state| change(&mut state.log.scenarios[place.scenario].responses[place.request]));
        }
    }
}

fn execution_of(message: &Value) -> Execution {
    let member = |name: &str| message.get(name).cloned().unwrap_or(Value::Null);
    Execution {
        method: member("method").as_str().unwrap_or_default().to_owned(),
        params: member("params"),
        id: member("id"),
    }
}
