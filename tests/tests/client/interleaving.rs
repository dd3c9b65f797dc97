//! Many calls at once in one client, with facts, cancels, time and loans in random order: each call comes to
//! one end, sends no more than it may, and nothing is told of anybody else (F1, F2, F5, F8, F9, E27).

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{
    Backoff, CallEvent, CallId, CallOptions, Client, ClientConfig, Done, Endpoint, ExchangeId, HttpRequest, Outcome,
    Protocol, ReissuePolicy, Step,
};
use mcp_sse_core::exchange::{BreakKind, Exchange, Exposure, FailureKind, Framing};
use mcp_sse_core::http::{ProtocolVersion, ResponseHead};
use mcp_sse_core::jsonrpc::{Id, Message};
use mcp_sse_tests::chunking::Random;
use mcp_sse_tests::loop_driver::ENDPOINT;

/// How many redirects one request may follow (E18).
const REDIRECTS: usize = 3;

/// What is known of a call from outside.
struct Known {
    tag: u64,
    max_reissues: u32,
    is_request: bool,
    /// Requests handed out, by id.
    posts: BTreeMap<Option<Id>, usize>,
    /// How far its requests got, as reported.
    reached: Exposure,
    was_cancelled: bool,
    reissues: u32,
    answers: u32,
    done: Option<Done>,
}

/// An exchange that was handed out.
struct Sent {
    call: CallId,
    id: Option<Id>,
    was_ended: bool,
}

struct World {
    client: Client,
    random: Random,
    now: u64,
    tags: u64,
    calls: BTreeMap<CallId, Known>,
    exchanges: BTreeMap<ExchangeId, Sent>,
    lent: Vec<(ExchangeId, Box<Exchange>)>,
    used_ids: BTreeMap<Id, CallId>,
    /// Background calls, by the id of the request that each is about.
    backgrounds: BTreeMap<Id, CallId>,
    is_modern: bool,
}

impl World {
    fn new(config: ClientConfig, seed: u64) -> Self {
        Self {
            is_modern: config.protocol == Protocol::Fixed(ProtocolVersion::V2026_07_28),
            client: Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), config),
            random: Random::new(seed),
            now: 0,
            tags: 0,
            calls: BTreeMap::new(),
            exchanges: BTreeMap::new(),
            lent: Vec::new(),
            used_ids: BTreeMap::new(),
            backgrounds: BTreeMap::new(),
        }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    fn begin(&mut self) {
        let is_request = self.random.below(8) > 0;
        let max_reissues = self.random.below(4) as u32;
        let wait = Duration::from_millis(self.random.below(60) as u64);
        let mut options = CallOptions::default()
            .with_max_reissues(max_reissues)
            .with_backoff(Backoff::new(wait, wait * 3))
            .with_reissue(self.random.pick(&[ReissuePolicy::Always, ReissuePolicy::Always, ReissuePolicy::ReplaySafe]))
            .with_replay_safe(self.random.below(2) == 0)
            .with_timeout(Duration::from_millis(self.random.below(400) as u64));
        if self.random.below(4) == 0 {
            options = options.with_idle(Duration::from_millis(self.random.below(100) as u64));
        }
        self.tags += 1;
        let params = format!(r#"{{"tag":{}}}"#, self.tags);
        let now = self.time();
        let begun = if is_request {
            let method = self.random.pick(&["tools/list", "vendor/any", "initialize"]);
            self.client.call(method, Some(&params), options, now)
        } else {
            self.client.notify("notifications/other", Some(&params), options, now)
        };
        self.know(begun.expect("a message that can be sent"), self.tags, max_reissues, is_request);
    }

    fn know(&mut self, call: CallId, tag: u64, max_reissues: u32, is_request: bool) {
        let known = Known {
            tag,
            max_reissues: if is_request && self.is_modern { max_reissues } else { 0 },
            is_request,
            posts: BTreeMap::new(),
            reached: Exposure::Unsent,
            was_cancelled: false,
            reissues: 0,
            answers: 0,
            done: None,
        };
        assert!(self.calls.insert(call, known).is_none(), "{call} has a name of its own");
    }

    fn any_exchange(&mut self) -> Option<ExchangeId> {
        // Mostly a late one, which is likely to be under way; sometimes one that ended long ago.
        let back = if self.random.below(10) == 0 { self.exchanges.len() } else { self.exchanges.len().min(5) };
        if back == 0 {
            return None;
        }
        let at = self.random.below(back);
        self.exchanges.keys().rev().nth(at).copied()
    }

    fn any_call(&mut self) -> Option<CallId> {
        let back = self.calls.len().min(12);
        if back == 0 {
            return None;
        }
        let at = self.random.below(back);
        self.calls.keys().rev().nth(at).copied()
    }

    /// Reports something about some exchange, where it is.
    fn fact(&mut self) {
        let Some(name) = self.any_exchange() else { return };
        let now = self.time();
        let Some(sent) = self.exchanges.get(&name) else { return };
        let (call, id) = (sent.call, sent.id.clone());
        let exchange = match self.lent.iter_mut().find(|(lent, _)| *lent == name) {
            Some((_, exchange)) => Some(&mut **exchange),
            None => self.client.exchange(name),
        };
        let Some(exchange) = exchange else { return };
        inform(&mut self.random, exchange, id.as_ref(), now);
        let reached = exchange.exposure();
        let known = self.calls.get_mut(&call).expect("a known call");
        known.reached = known.reached.max(reached);
    }

    fn cancel(&mut self) {
        let Some(call) = self.any_call() else { return };
        let now = self.time();
        self.client.cancel(call, now);
        self.calls.get_mut(&call).expect("a known call").was_cancelled = true;
    }

    fn lend(&mut self) {
        let Some(name) = self.any_exchange() else { return };
        if let Some(exchange) = self.client.lend_exchange(name) {
            assert!(self.client.exchange(name).is_none() && self.client.lend_exchange(name).is_none());
            self.lent.push((name, exchange));
        }
    }

    fn give_back(&mut self) {
        if self.lent.is_empty() {
            return;
        }
        let at = self.random.below(self.lent.len());
        let (name, exchange) = self.lent.swap_remove(at);
        let now = self.time();
        self.client.return_exchange(name, exchange, now);
    }

    fn take_steps(&mut self) {
        let now = self.time();
        if self.random.below(3) == 0 {
            // One call's steps, and no other's.
            let Some(call) = self.any_call() else { return };
            while let Some(step) = self.client.poll_step_of(call, now) {
                assert!(self.owner(&step) == Some(call), "{step:?} is no step of {call}");
                self.step(step);
            }
        } else {
            while let Some(step) = self.client.poll_step(now) {
                self.step(step);
            }
        }
    }

    fn owner(&self, step: &Step) -> Option<CallId> {
        match step {
            Step::Event(call, _) | Step::Done(call, _) | Step::Background(call, _) => Some(*call),
            Step::Close(exchange) | Step::Release(exchange) => self.exchanges.get(exchange).map(|sent| sent.call),
            Step::Send(_, request) => self.sender(request),
            _ => None,
        }
    }

    /// Whose request it is: by the tag in its parameters, or by the request that it says is cancelled.
    fn sender(&self, request: &HttpRequest) -> Option<CallId> {
        let body: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
        if body["method"] == "notifications/cancelled" {
            return self.backgrounds.get(&Id::parse(&body["params"]["requestId"].to_string())?).copied();
        }
        let tag = body["params"]["tag"].as_u64()?;
        self.calls.iter().find(|(_, known)| known.tag == tag).map(|(call, _)| *call)
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send(name, request) => self.on_send(name, &request),
            Step::Close(name) | Step::Release(name) => {
                let sent = self.exchanges.get_mut(&name).expect("a known exchange");
                assert!(!std::mem::replace(&mut sent.was_ended, true), "{name} ends once");
                assert!(self.client.exchange(name).is_none());
            }
            Step::Event(call, event) => self.on_event(call, &event),
            Step::Done(call, done) => self.on_done(call, done),
            Step::Background(call, other) => {
                assert!(!self.is_modern, "modern: closing is the cancel");
                let (id, _) = self.calls[&call].posts.last_key_value().expect("a request that was sent");
                let id = id.clone().expect("a request, not a notification");
                assert!(self.calls[&call].reached.may_have_run(), "only of what was sent");
                assert!(self.backgrounds.insert(id, other).is_none(), "told of once");
                self.know(other, 0, 0, false);
            }
            other => panic!("a step that is not known: {other:?}"),
        }
    }

    fn on_send(&mut self, name: ExchangeId, request: &HttpRequest) {
        let message = Message::from_text(String::from_utf8(request.body.clone()).expect("UTF-8")).expect("a message");
        let id = message.id().cloned();
        let call = self.sender(request).expect("a call that is known");
        let known = self.calls.get_mut(&call).expect("a known call");
        assert!(known.done.is_none(), "{call} sends nothing after its end");
        assert!(!known.was_cancelled || known.tag == 0, "{call} sends nothing after its cancel");
        assert_eq!(id.is_some(), known.is_request);
        if let Some(id) = &id {
            assert!(matches!(id, Id::Integer(1..=9_007_199_254_740_991)));
            let first = *self.used_ids.entry(id.clone()).or_insert(call);
            assert_eq!(first, call, "F8: {id} belongs to one call");
        }
        *known.posts.entry(id.clone()).or_default() += 1;
        assert!(known.posts.len() <= 1 + known.max_reissues as usize, "F5");
        assert!(known.posts.values().all(|times| *times <= 1 + REDIRECTS), "E18");
        let sent = Sent { call, id, was_ended: false };
        assert!(self.exchanges.insert(name, sent).is_none(), "{name} has a name of its own");
    }

    fn on_event(&mut self, call: CallId, event: &CallEvent) {
        let known = self.calls.get_mut(&call).expect("events of known calls only");
        assert!(known.done.is_none(), "nothing is told after the end");
        let attempt = match event {
            CallEvent::Answer { attempt, answer, .. } => {
                known.answers += 1;
                assert_eq!(known.answers, 1, "one answer");
                assert!(known.is_request);
                let (id, times) = known.posts.last_key_value().expect("a request");
                assert!(*times > 0);
                assert_eq!(answer.message.id(), id.as_ref(), "the answer to the last request");
                *attempt
            }
            CallEvent::Reissue { attempt, .. } => {
                known.reissues += 1;
                assert!(known.reissues <= known.max_reissues && known.answers == 0);
                attempt - 1
            }
            CallEvent::Notification { attempt, .. }
            | CallEvent::Request { attempt, .. }
            | CallEvent::Stray { attempt, .. }
            | CallEvent::Oversized { attempt, .. } => *attempt,
            other => panic!("an event that is not known: {other:?}"),
        };
        let attempts = known.reissues + u32::from(!matches!(event, CallEvent::Reissue { .. }));
        assert_eq!(attempt, attempts, "told with its attempt");
    }

    fn on_done(&mut self, call: CallId, done: Done) {
        let known = self.calls.get_mut(&call).expect("a known call");
        assert!(known.done.is_none(), "one end");
        match &done.outcome {
            Outcome::Settled(_) | Outcome::Salvaged { .. } => assert_eq!(known.answers, 1),
            Outcome::Accepted { .. } => assert!(!known.is_request),
            Outcome::Failed(failure) => {
                assert_eq!(known.answers, 0, "what was delivered does not fail");
                assert_eq!(failure.exposure, done.exposure);
                assert_eq!(done.exposure, known.reached, "how far it got: {failure:?}");
                let is_unsent = matches!(failure.kind, FailureKind::Unsent { .. });
                assert!(!(is_unsent && failure.may_have_run()), "F2");
            }
            other => panic!("an outcome that is not known: {other:?}"),
        }
        assert!(done.attempts <= 1 + known.max_reissues);
        assert!(done.attempts as usize >= known.posts.len());
        assert!(!done.earlier_may_have_run || done.attempts > 1);
        known.done = Some(done);
    }

    /// Brings everything up to the present, and checks what is due.
    fn settle(&mut self) {
        let now = self.time();
        self.client.on_timeout(now);
        while let Some(step) = self.client.poll_step(now) {
            self.step(step);
        }
        // A new exchange may have an idle limit of no time at all.
        self.client.on_timeout(now);
        while let Some(step) = self.client.poll_step(now) {
            self.step(step);
        }
        let due = self.client.poll_timeout();
        assert!(due.is_none_or(|due| due > now), "{due:?} is past at {now}");
    }

    fn turn(&mut self) {
        match self.random.below(40) {
            0..=2 => self.begin(),
            3..=27 => self.fact(),
            28 => self.cancel(),
            29 => self.lend(),
            30..=31 => self.give_back(),
            32..=36 => self.take_steps(),
            37 => self.now += self.random.below(15) as u64,
            38 => self.settle(),
            _ => {
                let now = self.time();
                self.client.on_timeout(now);
            }
        }
    }

    fn finish(mut self) -> Tally {
        while !self.lent.is_empty() {
            self.give_back();
        }
        for _ in 0..100 {
            self.settle();
            let Some(due) = self.client.poll_timeout() else { break };
            self.now = u64::try_from(due.since_origin().as_millis()).expect("a time") + 1;
        }
        assert_eq!(self.client.poll_timeout(), None, "nothing is left to do");
        assert!(self.calls.values().all(|known| known.done.is_some()), "each call has its end");
        assert!(self.exchanges.values().all(|sent| sent.was_ended), "each exchange that was handed out has its end");
        let kept = format!("{:?}", self.client);
        assert!(kept.contains("calls: 0, exchanges: 0"), "nothing is kept: {kept}");
        let mut tally = Tally::default();
        for known in self.calls.values() {
            tally.count(known);
        }
        tally
    }
}

/// One random input, or several in a row without anybody polling.
fn inform(random: &mut Random, exchange: &mut Exchange, id: Option<&Id>, now: Timestamp) {
    const STREAM: [(&str, &str); 1] = [("Content-Type", "text/event-stream")];
    let id = id.map_or_else(|| "null".to_owned(), Id::to_json);
    let result = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let sending = |exchange: &mut Exchange| {
        exchange.on_connected(now).ok();
        exchange.on_sending(now).ok();
        exchange.on_sent(now).ok();
    };
    match random.below(24) {
        0 => exchange.on_connected(now).ok(),
        1 => exchange.on_reused(now).ok(),
        2 => exchange.on_sending(now).ok(),
        3 => exchange.on_sent(now).ok(),
        4..=6 => {
            sending(exchange);
            exchange.on_head(&ResponseHead::from_headers(200, STREAM), now).ok()
        }
        7 => exchange.on_head(&ResponseHead::from_headers(200, [("Content-Type", "application/json")]), now).ok(),
        8..=9 => {
            sending(exchange);
            let status = random.pick(&[307, 308]);
            let place = random.pick(&["/b", "x?y", "http://mcp.test/c", "http://other.test/", ""]);
            exchange.on_head(&ResponseHead::from_headers(status, [("Location", place)]), now).ok()
        }
        10 => {
            let status = random.pick(&[100, 202, 204, 400, 404, 500, 503]);
            exchange.on_head(&ResponseHead::from_headers(status, [("Retry-After", "0")]), now).ok()
        }
        11..=13 => feed(random, exchange, &format!("data: {result}\n\n"), now),
        14 => feed(random, exchange, &result, now),
        15 => feed(random, exchange, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n\n", now),
        16 => {
            feed(random, exchange, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n: x\n\n", now)
        }
        17 => feed(random, exchange, &format!("data: {result}"), now),
        18 => exchange.on_end(random.pick(&[Framing::Marked, Framing::Unmarked, Framing::Short]), now).ok(),
        19..=21 => {
            exchange.on_broken(random.pick(&[BreakKind::Connect, BreakKind::Reset, BreakKind::Closed]), now).ok()
        }
        22 => {
            sending(exchange);
            exchange.on_broken(BreakKind::Reset, now).ok()
        }
        _ => exchange.on_timeout(now).ok(),
    };
}

fn feed(random: &mut Random, exchange: &mut Exchange, text: &str, now: Timestamp) -> Option<()> {
    let cut = random.below(text.len() + 1);
    for mut part in [text.get(..cut)?.as_bytes(), text.get(cut..)?.as_bytes()] {
        // Events may wait: then the rest is never given, which is a cut like any other.
        exchange.on_body(&mut part, now).ok();
    }
    Some(())
}

/// What kinds of ends there were, so that a walk that proves nothing is noticed.
#[derive(Default)]
struct Tally {
    settled: u32,
    salvaged: u32,
    accepted: u32,
    failed: BTreeMap<&'static str, u32>,
    replaced: u32,
    redirected: u32,
    ran_twice: u32,
}

impl Tally {
    fn count(&mut self, known: &Known) {
        let Some(done) = &known.done else { return };
        match &done.outcome {
            Outcome::Settled(_) => self.settled += 1,
            Outcome::Salvaged { .. } => self.salvaged += 1,
            Outcome::Accepted { .. } => self.accepted += 1,
            Outcome::Failed(failure) => *self.failed.entry(failure.kind.as_str()).or_default() += 1,
            _ => {}
        }
        self.replaced += u32::from(done.attempts > 1);
        self.redirected += u32::from(known.posts.values().any(|times| *times > 1));
        self.ran_twice += u32::from(done.earlier_may_have_run && known.answers == 1);
    }

    fn add(&mut self, other: &Self) {
        self.settled += other.settled;
        self.salvaged += other.salvaged;
        self.accepted += other.accepted;
        for (kind, times) in &other.failed {
            *self.failed.entry(kind).or_default() += times;
        }
        self.replaced += other.replaced;
        self.redirected += other.redirected;
        self.ran_twice += other.ran_twice;
    }
}

fn walk(config: &ClientConfig, seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut world = World::new(config.clone(), seed);
        for _ in 0..800 {
            world.turn();
        }
        tally.add(&world.finish());
    }
    tally
}

#[test]
fn f5_f8_f9_random_interleavings_in_the_modern_era() {
    let tally = walk(&ClientConfig::default().with_follow_redirects(true), 1..400);
    let Tally { settled, salvaged, accepted, replaced, redirected, ran_twice, failed } = &tally;
    for (what, times) in [
        ("settled", settled),
        ("salvaged", salvaged),
        ("accepted", accepted),
        ("replaced", replaced),
        ("redirected", redirected),
        ("ran twice", ran_twice),
    ] {
        assert!(*times > 20, "{what}: {times}");
    }
    for kind in ["unsent", "lost", "timeout", "status", "cancelled", "id_mismatch", "no_answer"] {
        assert!(failed.get(kind).is_some_and(|times| *times > 5), "{kind}: {failed:?}");
    }
    // Without redirects nothing is sent on.
    assert_eq!(walk(&ClientConfig::default(), 400..500).redirected, 0);
}

#[test]
fn f5_f8_f9_random_interleavings_in_the_legacy_eras() {
    for version in [ProtocolVersion::V2025_03_26, ProtocolVersion::V2025_11_25] {
        let tally = walk(&ClientConfig::default().with_version(version).with_handshake(false), 500..600);
        assert_eq!((tally.replaced, tally.redirected), (0, 0), "{version}");
        assert!(tally.settled > 20 && tally.failed.contains_key("cancelled") && tally.failed.contains_key("timeout"));
    }
}
