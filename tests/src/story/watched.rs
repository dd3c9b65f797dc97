//! An exchange under watch: whatever a test feeds it goes through here, so that the rules that hold for every input are
//! checked after every input.

use core::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    Answer, Carries, Cursor, Exchange, ExchangeConfig, ExchangeEvent, Exposure, FailureKind, Misuse, Request, State,
    Verdict, Want,
};
use mcp_sse_core::http::Era;
use mcp_sse_core::recording::{Bodies, Recording};

use super::words::line;

/// An exchange whose every input is followed by the checks that hold for all of them.
pub struct Watched {
    exchange: Exchange,
    request: Request,
    deadline: Option<Timestamp>,
    exposure: Exposure,
    has_endpoint: bool,
    /// What it told, as one line each.
    pub lines: Vec<String>,
    /// The answer, if it was given.
    pub answer: Option<Answer>,
    /// The verdict, if it was given.
    pub verdict: Option<Verdict>,
}

impl Watched {
    /// Starts an exchange.
    pub fn new(request: &Request, config: ExchangeConfig, now: Timestamp) -> Self {
        Self {
            request: request.clone(),
            deadline: config.deadline,
            exchange: Exchange::new(request, config, now),
            exposure: Exposure::Unsent,
            has_endpoint: false,
            lines: Vec::new(),
            answer: None,
            verdict: None,
        }
    }

    /// The exchange itself, to be asked.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// What was recorded, if it was asked for.
    pub fn recording(&self, bodies: Bodies) -> Option<Recording> {
        self.exchange.recording(bodies)
    }

    /// One input that is no body, then all it has to tell.
    pub fn input<T>(&mut self, input: impl FnOnce(&mut Exchange) -> Result<T, Misuse>) -> Result<T, Misuse> {
        let was_over = self.exchange.state() == State::Ended;
        let result = input(&mut self.exchange);
        if was_over {
            assert_eq!(result.as_ref().err(), Some(&Misuse::Ended), "an input after the end is answered as one");
        }
        self.drain();
        result
    }

    /// One chunk of the body, then all it has to tell.
    pub fn body(&mut self, chunk: &[u8], now: Timestamp) -> Result<(), Misuse> {
        let mut input = chunk;
        loop {
            let was_over = self.exchange.state() == State::Ended;
            let before = input.len();
            let result = self.exchange.on_body(&mut input, now);
            assert!(input.len() <= before && chunk.ends_with(input), "bytes are taken from the front");
            if was_over {
                assert_eq!((result, input.len()), (Err(Misuse::Ended), 0));
            }
            self.drain();
            if result.is_err() || input.is_empty() {
                return result;
            }
            assert!(input.len() < before, "every call takes bytes");
        }
    }

    fn drain(&mut self) {
        while let Some(event) = self.exchange.poll_event() {
            self.tell(event);
        }
        assert!(self.exchange.poll_event().is_none());
        self.check();
    }

    fn tell(&mut self, event: ExchangeEvent) {
        assert!(self.verdict.is_none(), "nothing comes after the verdict: {event:?}");
        self.lines.push(line(&event));
        match event {
            ExchangeEvent::Answer(answer) => {
                assert!(self.answer.is_none(), "there is one answer");
                assert!(
                    self.deadline.is_none_or(|deadline| answer.info.arrived < deadline),
                    "late bytes are no answer"
                );
                self.answer = Some(*answer);
            }
            ExchangeEvent::Ended(verdict) => self.verdict = Some(verdict),
            ExchangeEvent::Endpoint(_) => {
                assert!(self.is_channel() && !self.has_endpoint, "a channel has one endpoint");
                self.has_endpoint = true;
            }
            ExchangeEvent::Response(_) => assert!(self.is_channel(), "only a channel belongs to all requests"),
            _ => {}
        }
        if self.is_channel() && !self.has_endpoint {
            let before = self.verdict.is_some() || self.lines.last().is_some_and(|line| line.starts_with("oversized "));
            assert!(before, "nothing comes before the endpoint");
        }
    }

    fn is_channel(&self) -> bool {
        self.request.carries == Carries::Channel
    }

    /// The cursor the request begins at, if it is one (E26).
    fn given(&self) -> Option<&Cursor> {
        let cursor = match &self.request.carries {
            Carries::Resumption(cursor) => Some(cursor),
            Carries::Listening(cursor) => cursor.as_ref(),
            _ => None,
        };
        cursor.filter(|cursor| is_usable(cursor) && self.request.version.era() == Era::Legacy)
    }

    /// What holds after every input.
    fn check(&mut self) {
        let exchange = &self.exchange;
        assert!(exchange.exposure() >= self.exposure, "exposure never falls");
        self.exposure = exchange.exposure();
        assert_eq!(exchange.state() == State::Ended, self.verdict.is_some());
        match &self.verdict {
            None => {
                assert!(!matches!(exchange.want(), Want::Close | Want::Nothing));
                assert!(exchange.poll_timeout() <= self.deadline.or(exchange.poll_timeout()));
            }
            Some(verdict) => {
                assert_eq!(exchange.poll_timeout(), None, "no time is waited for after the end");
                assert!(matches!(exchange.want(), Want::Close | Want::Nothing | Want::Drain));
                self.check_verdict(verdict);
            }
        }
        assert_eq!(exchange.state() == State::Open, self.has_endpoint && self.verdict.is_none());
        match exchange.cursor() {
            Some(cursor) => {
                assert!(self.request.version.era() == Era::Legacy && is_usable(&cursor));
                assert_eq!(cursor.retry, exchange.retry());
            }
            None => assert_eq!(self.given(), None, "a cursor is never lost"),
        }
        assert!(exchange.retry().is_none_or(|retry| retry.as_millis() >= 10));
        if self.answer.is_some() {
            assert!(exchange.exposure() == Exposure::Streaming && exchange.head().is_some());
            assert!(matches!(exchange.state(), State::Answered | State::Ended));
        }
    }

    fn check_verdict(&self, verdict: &Verdict) {
        let told = self.answer.as_ref().map(|answer| answer.info);
        match verdict {
            Verdict::Settled(info) | Verdict::Salvaged { answer: info, .. } => assert_eq!(Some(*info), told),
            _ => assert_eq!(told, None, "what was delivered is settled or salvaged"),
        }
        let era = self.request.version.era();
        let is_message = self.request.carries == Carries::Message;
        match verdict {
            Verdict::Settled(_) | Verdict::Salvaged { .. } => {
                assert!(self.request.id.is_some(), "no answer was due");
                assert!(is_message || matches!(self.request.carries, Carries::Resumption(_)));
            }
            Verdict::Reissue { exposure, .. } => {
                assert!(is_message && self.request.id.is_some());
                assert!(era == Era::Modern && *exposure == self.exposure && *exposure > Exposure::Unsent);
            }
            Verdict::Resume { last_event_id, after, retry, exposure, .. } => {
                assert!(era == Era::Legacy && *exposure == self.exposure);
                let is_resumption = matches!(self.request.carries, Carries::Resumption(_));
                assert!((is_message && self.request.id.is_some()) || is_resumption);
                assert!(!is_message || *exposure == Exposure::Streaming, "the id was seen on this very stream");
                self.check_cursor(last_event_id, *retry, *after);
            }
            Verdict::Reopen { cursor, after, .. } => {
                assert!(matches!(self.request.carries, Carries::Listening(_)));
                match cursor {
                    Some(cursor) => {
                        assert_eq!(era, Era::Legacy);
                        self.check_cursor(&cursor.last_event_id, cursor.retry, *after);
                    }
                    None => assert_eq!(self.given(), None, "a cursor is never lost"),
                }
            }
            Verdict::Accepted { status } => {
                assert!((200..300).contains(status));
                let is_due = self.request.id.is_some() && is_message && era != Era::HttpSse;
                assert!((is_message || self.request.carries == Carries::Deletion) && !is_due);
            }
            Verdict::Failed(failure) => {
                assert_eq!(failure.exposure, self.exposure, "a failure says how far the request got");
                let did_not_run = self.exposure <= Exposure::PartlySent;
                assert_eq!(failure.may_have_run(), !did_not_run);
                assert_eq!(failure.to_string().ends_with("it did not run"), did_not_run);
                if let FailureKind::Unsent { .. } | FailureKind::Lost { .. } = failure.kind {
                    assert!(!matches!(self.request.carries, Carries::Listening(_)), "a listening stream is reopened");
                    assert_eq!(self.given(), None, "what can be resumed is not lost");
                }
                if let FailureKind::Unsent { .. } = failure.kind {
                    assert_eq!(failure.exposure, Exposure::Unsent);
                }
            }
            _ => {}
        }
    }

    /// E26, F11: what a stream is to be asked for with, and when.
    fn check_cursor(&self, last_event_id: &str, retry: Option<Duration>, after: Duration) {
        assert!(is_usable(&Cursor::new(last_event_id)), "{last_event_id:?} cannot be sent back");
        let cursor = self.exchange.cursor().expect("it is the exchange's");
        assert_eq!((cursor.last_event_id.as_str(), cursor.retry), (last_event_id, retry));
        assert_eq!(after, retry.unwrap_or(Duration::from_secs(1)));
    }
}

/// E26, written again.
fn is_usable(cursor: &Cursor) -> bool {
    let id = cursor.last_event_id.as_bytes();
    !id.is_empty() && id.len() <= 1024 && id.iter().all(|byte| matches!(byte, b' '..=b'~')) && id.trim_ascii() == id
}
