//! An exchange under watch: whatever a test feeds it goes through here, so that the rules that hold for every input are
//! checked after every input.

use mcp_sse_core::Timestamp;
use mcp_sse_core::exchange::{
    Answer, Exchange, ExchangeConfig, ExchangeEvent, Exposure, FailureKind, Misuse, Request, State, Verdict, Want,
};
use mcp_sse_core::http::ProtocolVersion;

use super::words::line;

/// An exchange whose every input is followed by the checks that hold for all of them.
pub struct Watched {
    exchange: Exchange,
    request: Request,
    deadline: Option<Timestamp>,
    exposure: Exposure,
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
            lines: Vec::new(),
            answer: None,
            verdict: None,
        }
    }

    /// The exchange itself, to be asked.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
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
            _ => {}
        }
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
        let is_modern = self.request.version >= ProtocolVersion::V2026_07_28;
        match verdict {
            Verdict::Reissue { exposure, .. } => {
                assert!(is_modern && *exposure == self.exposure && *exposure > Exposure::Unsent);
            }
            Verdict::Resume { last_event_id, after, .. } => {
                assert!(!is_modern && self.request.version > ProtocolVersion::V2024_11_05);
                assert!(after.as_millis() >= 10 && (1..=1024).contains(&last_event_id.len()));
                assert!(last_event_id.trim_matches(' ').bytes().all(|byte| (0x20..=0x7E).contains(&byte)));
            }
            Verdict::Failed(failure) => {
                assert_eq!(failure.exposure, self.exposure, "a failure says how far the request got");
                let did_not_run = self.exposure <= Exposure::PartlySent;
                assert_eq!(failure.may_have_run(), !did_not_run);
                assert_eq!(failure.to_string().ends_with("it did not run"), did_not_run);
                if let FailureKind::Unsent { .. } = failure.kind {
                    assert_eq!(failure.exposure, Exposure::Unsent);
                }
            }
            _ => {}
        }
    }
}
