//! Lines as what they mean: what was recorded, and each thing that was told to it.
//!
//! Rules: the words are those that `exchange` and `client` write (`taping` in each); a word or a value that is not known is an
//! error that says what was wanted. Playing is `replay`'s affair.

use alloc::boxed::Box;
use core::str::FromStr;
use core::time::Duration;

use crate::client::{Backoff, CallOptions, ClientConfig, ConnectionConfig, Endpoint, Protocol, ReissuePolicy};
use crate::client::{CallId, ExchangeId, name_of_policy};
use crate::exchange::{
    BreakKind, Carries, Cursor, ExchangeConfig, Framing, Request, TailRule, name_of_break, name_of_framing,
    name_of_tail,
};
use crate::http::{ProtocolVersion, ResponseHead};
use crate::jsonrpc::Id;
use crate::limits::Limits;
use crate::tape::{Line, parse_duration};
use crate::time::Timestamp;

/// What was recorded, and how it was made.
pub(super) enum Subject {
    Client(Box<(Endpoint, ClientConfig)>),
    Exchange(Box<(Request, ExchangeConfig, Timestamp)>),
}

impl Subject {
    /// Reads the two lines; the error says in which of them, the second or not, what was wanted.
    pub(super) fn read(subject: &Line, config: &Line) -> Result<Self, (bool, &'static str)> {
        if config.word != "config" {
            return Err((true, "`config`"));
        }
        match &*subject.word {
            "client" => {
                let url = subject.place(0).ok_or((false, "a URL after `client`"))?;
                let endpoint = Endpoint::parse(url).map_err(|_| (false, "a URL of http or https after `client`"))?;
                Ok(Self::Client(Box::new((endpoint, client_config(config).map_err(|wanted| (true, wanted))?))))
            }
            "exchange" => {
                let begun = timestamp(subject, "begun", "`begun` and a time");
                let begun = begun.and_then(|begun| begun.ok_or("`begun`")).map_err(|wanted| (false, wanted))?;
                let request = request(subject).map_err(|wanted| (false, wanted))?;
                let config = exchange_config(config).map_err(|wanted| (true, wanted))?;
                Ok(Self::Exchange(Box::new((request, config, begun))))
            }
            _ => Err((false, "`client` or `exchange`")),
        }
    }
}

/// Something that was told, or what came out.
pub(super) enum Input<'a> {
    Begin(Begin, &'a str, Option<Payload<'a>>, CallOptions, Timestamp),
    Respond(CallId, Id, Option<i64>, Payload<'a>, Timestamp),
    Cancel(CallId, Timestamp),
    Close(Timestamp),
    ReadToEnd(CallId),
    Lend(ExchangeId),
    Return(ExchangeId, Timestamp),
    Forget(ExchangeId, Timestamp),
    Timeout(Timestamp),
    Poll(Option<CallId>, Timestamp),
    Fact(ExchangeId, Fact<'a>, Timestamp),
    Expect,
}

/// How a call begins.
#[derive(Clone, Copy)]
pub(super) enum Begin {
    Call,
    Notify,
    Listen,
}

/// A fact about an exchange.
pub(super) enum Fact<'a> {
    Connected,
    Reused,
    Sending,
    Sent,
    Head(ResponseHead),
    Body(Payload<'a>),
    End(Framing),
    Broken(BreakKind),
    Timeout,
    Cancel,
    Drain(Timestamp, u64),
}

/// Bytes, unless they were withheld.
pub(super) type Payload<'a> = Option<&'a [u8]>;

impl<'a> Input<'a> {
    pub(super) fn read(line: &'a Line, of_client: bool) -> Result<Self, &'static str> {
        if line.word == "expect" {
            return Ok(Self::Expect);
        }
        let now = line.at.ok_or("a time before the word")?;
        let number = |wanted| line.place(0).and_then(|number| number.parse().ok()).ok_or(wanted);
        let call = || number("the number of a call").map(CallId);
        let exchange = || number("the number of an exchange").map(ExchangeId);
        let begin = |begin| {
            let payload = line.payload.is_some() || line.get("bytes").is_some();
            let method = match begin {
                Begin::Call | Begin::Notify => line.place(0).ok_or("a method")?,
                Begin::Listen => "",
            };
            let payload = payload.then_some(line.payload.as_deref());
            Ok(Self::Begin(begin, method, payload, call_options(line)?, now))
        };
        if of_client {
            return match &*line.word {
                "call" => begin(Begin::Call),
                "notify" => begin(Begin::Notify),
                "listen" => begin(Begin::Listen),
                "respond" => {
                    let id = line.get("id").and_then(Id::parse).ok_or("`id` and the id of a request")?;
                    let error = value(line, "error", "a whole number after `error`")?;
                    Ok(Self::Respond(call()?, id, error, line.payload.as_deref(), now))
                }
                "cancel" => Ok(Self::Cancel(call()?, now)),
                "close" => Ok(Self::Close(now)),
                "read_to_end" => Ok(Self::ReadToEnd(call()?)),
                "lend_exchange" => Ok(Self::Lend(exchange()?)),
                "return_exchange" => Ok(Self::Return(exchange()?, now)),
                "forget_exchange" => Ok(Self::Forget(exchange()?, now)),
                "on_timeout" if line.arguments.is_empty() => Ok(Self::Timeout(now)),
                "poll_step" => Ok(Self::Poll(None, now)),
                "poll_step_of" => Ok(Self::Poll(Some(call()?), now)),
                _ => Ok(Self::Fact(exchange()?, fact(line)?, now)),
            };
        }
        Ok(Self::Fact(exchange()?, fact(line)?, now))
    }
}

fn fact(line: &Line) -> Result<Fact<'_>, &'static str> {
    Ok(match &*line.word {
        "on_connected" => Fact::Connected,
        "on_reused" => Fact::Reused,
        "on_sending" => Fact::Sending,
        "on_sent" => Fact::Sent,
        "on_head" => Fact::Head(head(line)?),
        "on_body" => Fact::Body(line.payload.as_deref()),
        "on_end" => {
            let known = [Framing::Marked, Framing::Unmarked, Framing::Short, Framing::Discarded];
            let framing = known.into_iter().find(|framing| Some(name_of_framing(*framing)) == line.place(1));
            Fact::End(framing.ok_or("marked, unmarked, short or discarded")?)
        }
        "on_broken" => {
            let kind = BREAKS.into_iter().find(|kind| Some(name_of_break(*kind)) == line.place(1));
            Fact::Broken(kind.ok_or("a kind of break, such as reset or closed")?)
        }
        "on_timeout" => Fact::Timeout,
        "cancel_exchange" => Fact::Cancel,
        "drain_until" => {
            let until = timestamp(line, "until", "`until` and a time")?.ok_or("`until`")?;
            Fact::Drain(until, value(line, "bytes", "a whole number after `bytes`")?.ok_or("`bytes`")?)
        }
        _ => return Err("a word that is known"),
    })
}

const BREAKS: [BreakKind; 12] = [
    BreakKind::Resolve,
    BreakKind::Connect,
    BreakKind::ConnectTimeout,
    BreakKind::Proxy,
    BreakKind::ProxyAuthentication,
    BreakKind::Handshake,
    BreakKind::Closed,
    BreakKind::Reset,
    BreakKind::TlsTruncated,
    BreakKind::Malformed,
    BreakKind::HeadTooLarge,
    BreakKind::Io,
];

/// The head in a line.
pub(super) fn head(line: &Line) -> Result<ResponseHead, &'static str> {
    let status = line.place(1).and_then(|status| status.parse().ok()).ok_or("a status")?;
    let mut head = ResponseHead::new(status);
    let mut facts = line.arguments.iter().filter(|(name, _)| !name.is_empty());
    let is_known = facts.all(|(name, value)| head.fact(name, value));
    if is_known { Ok(head) } else { Err("a header that is read, and a value that it can have") }
}

fn request(line: &Line) -> Result<Request, &'static str> {
    let version: Option<ProtocolVersion> = value(line, "version", "a revision after `version`")?;
    let id = |name, wanted| line.get(name).map(|raw| Id::parse(raw).ok_or(wanted)).transpose();
    let mut request = Request::new(line.get("method").unwrap_or_default());
    request.version = version.unwrap_or(request.version);
    request.id = id("id", "an id after `id`")?;
    request.progress_token = id("progress_token", "an id after `progress_token`")?;
    let cursor = match line.get("last_event_id") {
        Some(last_event_id) => {
            let mut cursor = Cursor::new(last_event_id);
            cursor.retry = time(line, "retry", "a duration after `retry`")?;
            Some(cursor)
        }
        None => None,
    };
    request.carries = match (line.get("carries"), cursor) {
        (Some("message"), _) => Carries::Message,
        (Some("resumption"), Some(cursor)) => Carries::Resumption(cursor),
        (Some("listening"), cursor) => Carries::Listening(cursor),
        (Some("channel"), _) => Carries::Channel,
        (Some("deletion"), _) => Carries::Deletion,
        _ => return Err("`carries` and message, resumption (with `last_event_id`), listening, channel or deletion"),
    };
    Ok(request)
}

fn exchange_config(line: &Line) -> Result<ExchangeConfig, &'static str> {
    let default = ExchangeConfig::default();
    let mut config = ExchangeConfig {
        limits: limits(line)?,
        tail: tail(line)?,
        strict_ids: flag(line, "strict_ids")?.unwrap_or(default.strict_ids),
        deadline: timestamp(line, "deadline", "a time after `deadline`")?,
        idle: time(line, "idle", "a duration after `idle`")?,
        follow_redirects: flag(line, "follow_redirects")?.unwrap_or(default.follow_redirects),
        fresh_connection: flag(line, "fresh_connection")?.unwrap_or(default.fresh_connection),
        ..default
    };
    if let Some(time) = time(line, "failed_body_time", "a duration after `failed_body_time`")? {
        config.failed_body_time = time;
    }
    Ok(config)
}

fn client_config(line: &Line) -> Result<ClientConfig, &'static str> {
    let default = ClientConfig::default();
    let protocol = match line.get("protocol") {
        None => default.protocol,
        Some("auto") => Protocol::Auto,
        Some(version) => Protocol::Fixed(version.parse().map_err(|_| "a revision or auto after `protocol`")?),
    };
    let connections = ConnectionConfig::default();
    let drain_timeout = time(line, "drain_timeout", "a duration after `drain_timeout`")?;
    let drain_bytes = value(line, "drain_bytes", "a whole number after `drain_bytes`")?;
    let connections = connections
        .clone()
        .with_drain_timeout(drain_timeout.unwrap_or(connections.drain_timeout))
        .with_drain_bytes(drain_bytes.unwrap_or(connections.drain_bytes));
    let handshake_timeout = time(line, "handshake_timeout", "a duration after `handshake_timeout`")?;
    let listening_timeout = time(line, "listening_timeout", "a duration after `listening_timeout`")?;
    let cancel_timeout = time(line, "cancel_timeout", "a duration after `cancel_timeout`")?;
    let openings = value(line, "max_barren_openings", "a whole number after `max_barren_openings`")?;
    let answers = value(line, "max_answers_in_flight", "a whole number after `max_answers_in_flight`")?;
    let mut config = default
        .clone()
        .with_protocol(protocol)
        .with_handshake(flag(line, "handshake")?.unwrap_or(default.handshake))
        .with_probe(flag(line, "probe")?.unwrap_or(default.probe))
        .with_handshake_timeout(handshake_timeout.unwrap_or(default.handshake_timeout))
        .with_listening_timeout(listening_timeout.unwrap_or(default.listening_timeout))
        .with_max_barren_openings(openings.unwrap_or(default.max_barren_openings))
        .with_allows_foreign_endpoint(flag(line, "allows_foreign_endpoint")?.unwrap_or_default())
        .with_max_answers_in_flight(answers.unwrap_or(default.max_answers_in_flight))
        .with_seed(value(line, "seed", "a whole number after `seed`")?.unwrap_or_default())
        .with_limits(limits(line)?)
        .with_tail(tail(line)?)
        .with_strict_ids(flag(line, "strict_ids")?.unwrap_or(default.strict_ids))
        .with_follow_redirects(flag(line, "follow_redirects")?.unwrap_or(default.follow_redirects))
        .with_trusts_server_hints(flag(line, "trusts_server_hints")?.unwrap_or(default.trusts_server_hints))
        .with_cancel_timeout(cancel_timeout.unwrap_or(default.cancel_timeout))
        .with_connections(connections);
    if let Some(json) = line.get("client_info") {
        config = config.with_client_info(json).map_err(|_| "a JSON object after `client_info`")?;
    }
    if let Some(json) = line.get("capabilities") {
        config = config.with_capabilities(json).map_err(|_| "a JSON object after `capabilities`")?;
    }
    for name in line.all("header") {
        config = config.with_header(name, "not-recorded").map_err(|_| "the name of a header after `header`")?;
    }
    for method in line.all("replay_safe_method") {
        config = config.with_replay_safe_method(method);
    }
    for method in line.all("never_reissued_method") {
        config = config.with_never_reissued_method(method);
    }
    for method in line.all("handled_request") {
        config = config.with_handled_request(method);
    }
    Ok(config)
}

fn call_options(line: &Line) -> Result<CallOptions, &'static str> {
    let default = CallOptions::default();
    let policies = [ReissuePolicy::Always, ReissuePolicy::ReplaySafe, ReissuePolicy::Never];
    let policy = match line.get("reissue") {
        None => default.reissue,
        Some(name) => {
            let policy = policies.into_iter().find(|policy| name_of_policy(*policy) == name);
            policy.ok_or("always, replay_safe or never after `reissue`")?
        }
    };
    let first = time(line, "backoff_first", "a duration after `backoff_first`")?;
    let most = time(line, "backoff_most", "a duration after `backoff_most`")?;
    let reissues = value(line, "max_reissues", "a whole number after `max_reissues`")?;
    let mut options = default
        .clone()
        .with_timeout(time(line, "timeout", "a duration after `timeout`")?)
        .with_reissue(policy)
        .with_max_reissues(reissues.unwrap_or(default.max_reissues))
        .with_backoff(Backoff::new(first.unwrap_or_default(), most.unwrap_or_default()))
        .with_replay_safe(flag(line, "replay_safe")?.unwrap_or(default.replay_safe))
        .with_hinted_idempotent(flag(line, "hinted_idempotent")?.unwrap_or(default.hinted_idempotent));
    options.idle = time(line, "idle", "a duration after `idle`")?;
    Ok(options)
}

fn limits(line: &Line) -> Result<Limits, &'static str> {
    let default = Limits::default();
    let bytes = |name, otherwise| {
        value(line, name, "a whole number after the name of a limit").map(|bytes| bytes.unwrap_or(otherwise))
    };
    let inflated = value(line, "max_inflated_bytes", "a whole number after `max_inflated_bytes`")?;
    Ok(Limits {
        max_event_bytes: bytes("max_event_bytes", default.max_event_bytes)?,
        max_id_bytes: bytes("max_id_bytes", default.max_id_bytes)?,
        max_kind_bytes: bytes("max_kind_bytes", default.max_kind_bytes)?,
        max_json_bytes: bytes("max_json_bytes", default.max_json_bytes)?,
        max_inflated_bytes: inflated.unwrap_or(default.max_inflated_bytes),
        max_excerpt_bytes: bytes("max_excerpt_bytes", default.max_excerpt_bytes)?,
        ..default
    })
}

fn tail(line: &Line) -> Result<TailRule, &'static str> {
    let Some(name) = line.get("tail") else {
        return Ok(TailRule::default());
    };
    let known = [TailRule::Salvage, TailRule::Strict];
    known.into_iter().find(|tail| name_of_tail(*tail) == name).ok_or("salvage or strict after `tail`")
}

fn value<T: FromStr>(line: &Line, name: &str, wanted: &'static str) -> Result<Option<T>, &'static str> {
    line.get(name).map(|value| value.parse().map_err(|_| wanted)).transpose()
}

fn flag(line: &Line, name: &str) -> Result<Option<bool>, &'static str> {
    value(line, name, "true or false")
}

fn time(line: &Line, name: &str, wanted: &'static str) -> Result<Option<Duration>, &'static str> {
    line.get(name).map(|value| parse_duration(value).ok_or(wanted)).transpose()
}

fn timestamp(line: &Line, name: &str, wanted: &'static str) -> Result<Option<Timestamp>, &'static str> {
    Ok(time(line, name, wanted)?.map(Timestamp::new))
}
