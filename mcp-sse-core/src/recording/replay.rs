//! Playing a recording: each line told to a new client or exchange, each output held against what came out then.
//!
//! Rules: the first thing that differs ends it, with its line; what cannot be played is said so, and not guessed. A recording of
//! ours holds only what was taken, so that a mistake, or bytes that are not taken, are a difference too.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use super::input::{Begin, Fact, Input, Payload, Subject};
use super::{Recording, facts_of};
use crate::client::{CallId, Client, ErrorReply, ExchangeId, Step, step_words};
use crate::exchange::{Exchange, ExchangeEvent, event_words};
use crate::tape::Line;
use crate::time::Timestamp;

/// What comes out of a replay.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Told<'a> {
    /// A client gave this step.
    Step(&'a Step),
    /// An exchange told this.
    Event(&'a ExchangeEvent),
}

/// What was played, if all came out as it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// How many things were told.
    pub inputs: usize,
    /// How many things came out, and were what they had been.
    pub outputs: usize,
}

/// Why a recording was not played to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The recording does not hold what is needed: a body, parameters or an answer is withheld. Record whole bodies.
    #[error("line {line}: this cannot be replayed, since it is recorded by its size and checksum alone")]
    Withheld {
        /// The line, counted from one.
        line: usize,
    },
    /// What was told was not taken.
    #[error("line {line}: this was not taken: {problem}")]
    NotTaken {
        /// The line, counted from one.
        line: usize,
        /// Why.
        problem: String,
    },
    /// Something else came out.
    #[error("line {line}: `{expected}` was recorded, and `{got}` came out")]
    Difference {
        /// The line, counted from one.
        line: usize,
        /// What came out then.
        expected: String,
        /// What comes out now.
        got: String,
    },
}

/// Whether what payloads say of themselves is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sameness {
    Whole,
    /// All but their checksums and the places of requests.
    ButPayloads,
}

pub(super) fn replay(recording: &Recording, tell: impl FnMut(Timestamp, Told<'_>)) -> Result<Replayed, ReplayError> {
    play(recording, Sameness::Whole, tell, |_, _| {})
}

/// Plays, and hands out what each `expect` line would say, by its place among the lines.
pub(super) fn play(
    recording: &Recording,
    sameness: Sameness,
    mut tell: impl FnMut(Timestamp, Told<'_>),
    mut came_out: impl FnMut(usize, Line),
) -> Result<Replayed, ReplayError> {
    let mut stage = Stage::of(recording);
    let mut replayed = Replayed::default();
    let mut now = Timestamp::ZERO;
    for (place, (number, line)) in recording.lines.iter().enumerate() {
        let number = *number;
        now = line.at.unwrap_or(now);
        let not_taken = |problem: &dyn ToString| ReplayError::NotTaken { line: number, problem: problem.to_string() };
        // It was read before.
        let input = Input::read(line, matches!(stage, Stage::Client { .. }));
        let input = input.map_err(|wanted| not_taken(&wanted))?;
        if let Input::Expect = input {
            let got = stage.expected(now, &mut tell).ok_or_else(|| not_taken(&"nothing comes out here"))?;
            let is_same = match sameness {
                Sameness::Whole => got == *line,
                Sameness::ButPayloads => facts_of(&got) == facts_of(line),
            };
            if !is_same {
                let (expected, got) = (line.to_string(), got.to_string());
                return Err(ReplayError::Difference { line: number, expected, got });
            }
            replayed.outputs += 1;
            came_out(place, got);
            continue;
        }
        stage.tell(input).map_err(|trouble| match trouble {
            Trouble::Withheld => ReplayError::Withheld { line: number },
            Trouble::NotTaken(problem) => ReplayError::NotTaken { line: number, problem },
        })?;
        replayed.inputs += 1;
        stage.show(now, &mut tell);
    }
    Ok(replayed)
}

/// Why an input was not played.
enum Trouble {
    Withheld,
    NotTaken(String),
}

impl<T: ToString> From<T> for Trouble {
    fn from(problem: T) -> Self {
        Self::NotTaken(problem.to_string())
    }
}

/// What is played to.
enum Stage {
    Client {
        client: Box<Client>,
        lent: BTreeMap<ExchangeId, Box<Exchange>>,
        /// What the last poll gave, until it is compared.
        polled: Option<Option<Step>>,
        is_shown: bool,
    },
    Exchange(Box<Exchange>),
}

impl Stage {
    fn of(recording: &Recording) -> Self {
        match Subject::read(&recording.subject, &recording.config) {
            Ok(Subject::Exchange(made)) => {
                let (request, config, begun) = *made;
                Self::Exchange(Box::new(Exchange::new(&request, config, begun)))
            }
            Ok(Subject::Client(made)) => {
                let client = Box::new(Client::new(made.0, made.1));
                Self::Client { client, lent: BTreeMap::new(), polled: None, is_shown: true }
            }
            // It was read before.
            Err(_) => Self::Exchange(
                Exchange::new(&crate::exchange::Request::new(""), <_>::default(), Timestamp::ZERO).into(),
            ),
        }
    }

    /// What came out here, in words; nothing if nothing was asked for.
    fn expected(&mut self, now: Timestamp, tell: &mut impl FnMut(Timestamp, Told<'_>)) -> Option<Line> {
        match self {
            Self::Client { polled, .. } => {
                let step = polled.take()?;
                Some(step.as_ref().map_or_else(|| Line::new("expect").arg("none"), step_words))
            }
            Self::Exchange(exchange) => {
                let event = exchange.poll_event();
                if let Some(event) = &event {
                    tell(now, Told::Event(event));
                }
                Some(event.as_ref().map_or_else(|| Line::new("expect").arg("none"), event_words))
            }
        }
    }

    fn show(&mut self, now: Timestamp, tell: &mut impl FnMut(Timestamp, Told<'_>)) {
        if let Self::Client { polled: Some(Some(step)), is_shown, .. } = self {
            if !core::mem::replace(is_shown, true) {
                tell(now, Told::Step(step));
            }
        }
    }

    fn tell(&mut self, input: Input<'_>) -> Result<(), Trouble> {
        match (self, input) {
            (Self::Client { client, lent, polled, is_shown }, input) => match input {
                Input::Poll(call, now) => {
                    let step = match call {
                        Some(call) => client.poll_step_of(call, now),
                        None => client.poll_step(now),
                    };
                    (*polled, *is_shown) = (Some(step), false);
                }
                Input::Lend(id) => {
                    lent.insert(id, client.lend_exchange(id).ok_or("there is no such exchange")?);
                }
                Input::Return(id, now) => {
                    let exchange = lent.remove(&id).ok_or("this exchange is not lent out")?;
                    client.return_exchange(id, exchange, now);
                }
                Input::Forget(id, now) => {
                    if lent.remove(&id).is_none() {
                        // Nothing happened to it while it was lent, and so that it was lent is not written.
                        client.lend_exchange(id).ok_or("there is no such exchange")?;
                    }
                    client.forget_exchange(id, now);
                }
                Input::Fact(id, fact, now) => {
                    let exchange = match lent.get_mut(&id) {
                        Some(exchange) => exchange,
                        None => client.exchange(id).ok_or("there is no such exchange")?,
                    };
                    report(exchange, fact, now)?;
                }
                input => command(client, input)?,
            },
            (Self::Exchange(exchange), Input::Fact(ExchangeId(1), fact, now)) => report(exchange, fact, now)?,
            (Self::Exchange(_), _) => return Err("there is one exchange, number 1".into()),
        }
        Ok(())
    }
}

fn command(client: &mut Client, input: Input<'_>) -> Result<(), Trouble> {
    match input {
        Input::Begin(begin, method, params, options, now) => {
            let params = params.map(text).transpose()?;
            match begin {
                Begin::Call => client.call(method, params, options, now).map(drop),
                Begin::Notify => client.notify(method, params, options, now).map(drop),
                Begin::Listen => client.listen(params.unwrap_or_default(), options, now).map(drop),
            }?;
        }
        Input::Respond(call, id, error, payload, now) => {
            let payload = text(payload)?;
            let answer = error.map_or(Ok(payload), |code| Err(ErrorReply::new(code, payload)));
            client.respond(call, &id, answer, now)?;
        }
        Input::Cancel(call, now) => client.cancel(call, now),
        Input::Close(now) => drop::<Option<CallId>>(client.close(now)),
        Input::ReadToEnd(call) => client.read_to_end(call),
        Input::Timeout(now) => client.on_timeout(now),
        _ => {}
    }
    Ok(())
}

fn report(exchange: &mut Exchange, fact: Fact<'_>, now: Timestamp) -> Result<(), Trouble> {
    match fact {
        Fact::Connected => exchange.on_connected(now)?,
        Fact::Reused => exchange.on_reused(now)?,
        Fact::Sending => exchange.on_sending(now)?,
        Fact::Sent => exchange.on_sent(now)?,
        Fact::Head(head) => exchange.on_head(&head, now)?,
        Fact::Body(payload) => {
            let mut rest = payload.ok_or(Trouble::Withheld)?;
            exchange.on_body(&mut rest, now)?;
            if !rest.is_empty() {
                return Err(Trouble::NotTaken(alloc::format!("{} bytes are left", rest.len())));
            }
        }
        Fact::End(framing) => exchange.on_end(framing, now)?,
        Fact::Broken(kind) => exchange.on_broken(kind, now)?,
        Fact::Timeout => exchange.on_timeout(now)?,
        Fact::Cancel => exchange.cancel(now)?,
        Fact::Drain(until, bytes) => exchange.drain_until(until, bytes),
    }
    Ok(())
}

fn text(payload: Payload<'_>) -> Result<&str, Trouble> {
    core::str::from_utf8(payload.ok_or(Trouble::Withheld)?).map_err(|_| "it is no UTF-8".into())
}
