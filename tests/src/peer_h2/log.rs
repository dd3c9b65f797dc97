//! What the peer saw and did over HTTP/2: connections and their frames, streams, executions; and waiting until it was seen.
//!
//! Rule: a request is logged and its execution counted before a frame of its response is written.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use h2::Reason;
use serde_json::Value;

use super::frame::{Frame, FrameKind};
use super::script::{Hangup, Script};
use crate::peer::{ClientClose, Execution, Kind, Request, Response, Text};

/// One connection.
#[derive(Clone, Debug, Default)]
pub struct ConnectionRecord {
    /// The frames that the peer put on the wire, in order.
    pub sent: Vec<Frame>,
    /// The frames that the client sent, in order.
    pub received: Vec<Frame>,
    /// How the client closed it, if the peer saw that.
    pub client_close: Option<ClientClose>,
    /// Whether the peer is done with it.
    pub ended: bool,
}

/// One request and what was done with it.
#[derive(Clone, Debug)]
pub struct StreamRecord {
    /// The connection's number, from 0.
    pub connection: usize,
    /// The stream's id.
    pub stream: u32,
    /// The scenario's number, if the path belongs to one.
    pub scenario: Option<usize>,
    /// The request.
    pub request: Request,
    /// Whether all that the script wanted was written, up to its ending.
    pub done: bool,
}

/// Everything that came to one peer.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// All connections accepted.
    pub connections: Vec<ConnectionRecord>,
    /// All requests, in order.
    pub streams: Vec<StreamRecord>,
    /// The runs of the side effect, by scenario.
    pub executions: Vec<Vec<Execution>>,
    /// JSON-RPC notifications received, by scenario.
    pub notifications: Vec<Vec<Value>>,
}

impl Log {
    /// The streams of a scenario.
    pub fn streams_of(&self, scenario: usize) -> impl Iterator<Item = &StreamRecord> {
        self.streams.iter().filter(move |stream| stream.scenario == Some(scenario))
    }

    /// The reason with which the client reset a stream, if it did.
    pub fn client_reset(&self, stream: &StreamRecord) -> Option<Reason> {
        let received = &self.connections[stream.connection].received;
        let resets = received.iter().filter(|frame| frame.kind == FrameKind::ResetStream);
        resets.filter(|frame| frame.stream == stream.stream).find_map(|frame| frame.reason)
    }

    /// Bytes of a stream's body that are on the wire; none while there is no such connection yet.
    pub fn sent_data(&self, connection: usize, stream: u32) -> usize {
        let sent = self.connections.get(connection).into_iter().flat_map(|connection| &connection.sent);
        let data = sent.filter(|frame| frame.kind == FrameKind::Data && frame.stream == stream);
        data.map(|frame| frame.length).sum()
    }
}

/// The scripts of one scenario and what they need to know.
#[derive(Debug, Default)]
struct Table {
    scripts: Vec<Script>,
    used: Vec<bool>,
    requests: usize,
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
    /// For the connections to come: after how many frames each is closed.
    cuts: std::collections::VecDeque<Option<(usize, Hangup)>>,
}

/// The log of a peer together with its scripts, so that logging, counting and choosing are one step.
#[derive(Default)]
pub(super) struct Journal {
    state: Mutex<State>,
    changed: Condvar,
    /// The same for tasks.
    changed_for_tasks: tokio::sync::Notify,
}

impl Journal {
    pub(super) fn read<T>(&self, read: impl FnOnce(&Log) -> T) -> T {
        read(&self.state.lock().unwrap_or_else(PoisonError::into_inner).log)
    }

    fn update<T>(&self, update: impl FnOnce(&mut State) -> T) -> T {
        let result = update(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        self.changed_for_tasks.notify_waiters();
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

    /// Waits, as a task, until the condition holds. Not bounded: the task ends with its connection.
    pub(super) async fn until(&self, condition: impl Fn(&Log) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed_for_tasks.notified());
            changed.as_mut().enable();
            if self.read(&condition) {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn add_scenario(&self, scripts: Vec<Script>) -> usize {
        self.update(|state| {
            state.log.executions.push(Vec::new());
            state.log.notifications.push(Vec::new());
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

    pub(super) fn add_cuts(&self, cuts: impl IntoIterator<Item = Option<(usize, Hangup)>>) {
        self.update(|state| state.cuts.extend(cuts));
    }

    /// A new connection: its number, and where it is to be cut.
    pub(super) fn add_connection(&self) -> (usize, Option<(usize, Hangup)>) {
        self.update(|state| {
            state.log.connections.push(ConnectionRecord::default());
            (state.log.connections.len() - 1, state.cuts.pop_front().flatten())
        })
    }

    pub(super) fn on_connection(&self, connection: usize, change: impl FnOnce(&mut ConnectionRecord)) {
        self.update(|state| change(&mut state.log.connections[connection]));
    }

    /// Logs a whole request, chooses its script and runs the side effect, if the script lets it run.
    pub(super) fn on_request(&self, stream: u32, mut request: Request) -> (usize, Request, Script) {
        self.update(|state| {
            let scenario = scenario_of(&request.target).filter(|scenario| *scenario < state.tables.len());
            let script = match scenario {
                None => Script::new(Response::empty(404)),
                Some(scenario) => {
                    let table = &mut state.tables[scenario];
                    table.requests += 1;
                    request.attempt = table.requests;
                    let script = table.choose(&request);
                    for message in &request.messages {
                        let Some(method) = message.get("method").and_then(Value::as_str) else {
                            continue;
                        };
                        if message.get("id").is_none() {
                            state.log.notifications[scenario].push(message.clone());
                        } else if script.executes {
                            *table.counts.entry(method.to_owned()).or_default() += 1;
                            let member = |name: &str| message.get(name).cloned().unwrap_or(Value::Null);
                            let run =
                                Execution { method: method.to_owned(), params: member("params"), id: member("id") };
                            state.log.executions[scenario].push(run);
                        }
                    }
                    let count = request.method().and_then(|method| table.counts.get(method));
                    request.executions = count.copied().unwrap_or(0);
                    script
                }
            };
            let connection = request.connection;
            let record = StreamRecord { connection, stream, scenario, request: request.clone(), done: false };
            state.log.streams.push(record);
            (state.log.streams.len() - 1, request, script)
        })
    }

    pub(super) fn on_done(&self, index: usize) {
        self.update(|state| state.log.streams[index].done = true);
    }
}

/// The scenario whose path the target begins with.
fn scenario_of(target: &str) -> Option<usize> {
    let (_, rest) = target.split_once("/s/")?;
    rest.split(['/', '?']).next()?.parse().ok()
}
