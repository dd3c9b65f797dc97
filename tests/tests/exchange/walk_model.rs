//! The rows E1 to E20, and F11, F12 and H2 for the legacy eras' other requests, written again: what an exchange has to tell
//! for a sequence of facts, for scripts of few kinds of bytes.
//!
//! Rule: it knows nothing of how the exchange is built. The walk that holds it against the exchange is in `walk`.

use core::time::Duration;

use mcp_sse_core::exchange::{Carries, Cursor, Misuse, Request};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::result;

use Input::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Connected,
    Reused,
    Sending,
    Sent,
    HeadSse,
    HeadJson,
    Head202,
    Head500,
    Interim,
    /// Bytes of the body without the answer: an event with a notification and an id, or white space.
    Piece,
    /// Bytes with the answer: an event, or a text.
    AnswerPiece,
    /// An answer to something else, in an event or as a text.
    StrayPiece,
    /// An event that is not JSON, or such a text.
    BadPiece,
    /// An event that names an endpoint.
    EndpointPiece,
    Marked,
    Unmarked,
    Short,
    Broken,
    Early,
    Late,
    /// The answer, at the deadline.
    LateAnswer,
    Cancel,
}

/// What an HTTP request is, under which era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Modern,
    Legacy,
    /// A request under 2024-11-05, whose answer comes elsewhere.
    HttpSse,
    ModernNotification,
    LegacyNotification,
    Deletion,
    /// From the cursor `g`, with a `retry` of 50 ms.
    Resumption,
    Listening,
    /// The same, from the cursor `g`, with a `retry` of 50 ms.
    ListeningFrom,
    Channel,
}

impl Kind {
    /// A status is due and no more.
    fn is_status_due(self) -> bool {
        matches!(self, Self::HttpSse | Self::ModernNotification | Self::LegacyNotification | Self::Deletion)
    }

    fn is_listening(self) -> bool {
        matches!(self, Self::Listening | Self::ListeningFrom)
    }

    /// Only an event stream will do.
    fn is_stream_due(self) -> bool {
        matches!(self, Self::Resumption | Self::Channel) || self.is_listening()
    }

    /// Whether a POST of a request is answered by an error under a status of failure (E17).
    fn is_posted_request(self) -> bool {
        matches!(self, Self::Modern | Self::Legacy | Self::HttpSse)
    }

    pub(crate) fn request(self) -> Request {
        let given = || Cursor::new("g").with_retry(Duration::from_millis(50));
        let (version, id, carries) = match self {
            Self::Modern => (ProtocolVersion::LATEST, true, Carries::Message),
            Self::Legacy => (ProtocolVersion::V2025_11_25, true, Carries::Message),
            Self::HttpSse => (ProtocolVersion::V2024_11_05, true, Carries::Message),
            Self::ModernNotification => (ProtocolVersion::LATEST, false, Carries::Message),
            Self::LegacyNotification => (ProtocolVersion::V2025_11_25, false, Carries::Message),
            Self::Deletion => (ProtocolVersion::V2025_11_25, false, Carries::Deletion),
            Self::Resumption => (ProtocolVersion::V2025_11_25, true, Carries::Resumption(given())),
            Self::Listening => (ProtocolVersion::V2025_11_25, false, Carries::Listening(None)),
            Self::ListeningFrom => (ProtocolVersion::V2025_11_25, false, Carries::Listening(Some(given()))),
            Self::Channel => (ProtocolVersion::V2024_11_05, false, Carries::Channel),
        };
        let request = Request::new("tools/call").with_version(version).with_carries(carries);
        if id { request.with_id(7) } else { request }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exposure {
    Unsent,
    PartlySent,
    Sent,
    Headed,
    Streaming,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Sse,
    Json,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Marked,
    Unmarked,
    Short,
    Broken(&'static str),
    TimedOut,
    Cancelled,
}

/// The rows, literally.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    kind: Kind,
    exposure: Exposure,
    is_reused: bool,
    head: Option<Head>,
    /// The body of a JSON or failed response, as the letters of its pieces: white space, answer, stray, bad.
    text: String,
    has_cursor: bool,
    has_answer: bool,
    has_stray: bool,
    has_bad: bool,
    has_endpoint: bool,
    /// Whether a message came that shows that the stream leads somewhere.
    has_progress: bool,
    pub(crate) is_over: bool,
}

impl Model {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            exposure: Exposure::Unsent,
            is_reused: false,
            head: None,
            text: String::new(),
            has_cursor: false,
            has_answer: false,
            has_stray: false,
            has_bad: false,
            has_endpoint: false,
            has_progress: false,
            is_over: false,
        }
    }

    fn exposure_word(&self) -> &'static str {
        match self.exposure {
            Exposure::Unsent => "unsent",
            Exposure::PartlySent => "partly_sent",
            Exposure::Sent => "sent",
            Exposure::Headed => "headed",
            Exposure::Streaming => "streaming",
        }
    }

    /// What the input is answered, and what is told.
    pub(crate) fn apply(&mut self, input: Input) -> (Result<(), Misuse>, Vec<String>) {
        let mut told = Vec::new();
        let result = if self.is_over {
            Err(Misuse::Ended)
        } else if matches!(input, Late | LateAnswer) && !self.has_endpoint {
            // A channel has no deadline once its endpoint came.
            self.end(Ending::TimedOut, &mut told);
            Ok(())
        } else {
            self.take(input, &mut told)
        };
        (result, told)
    }

    fn take(&mut self, input: Input, told: &mut Vec<String>) -> Result<(), Misuse> {
        let before_writing = self.exposure == Exposure::Unsent && !self.is_reused;
        match input {
            Connected if before_writing => {}
            Reused if before_writing => self.is_reused = true,
            Sending if self.exposure == Exposure::Unsent => self.exposure = Exposure::PartlySent,
            Sent if self.exposure < Exposure::Sent => self.exposure = Exposure::Sent,
            // A response may come before the request is whole.
            Sent if self.head.is_some() => {}
            Connected | Reused | Sending | Sent => return Err(Misuse::OutOfOrder),
            Interim | Early | Late => {}
            HeadSse | HeadJson | Head202 | Head500 if self.head.is_some() => return Err(Misuse::SecondHead),
            HeadSse | HeadJson | Head202 | Head500 => self.take_head(input, told),
            Piece | AnswerPiece | StrayPiece | BadPiece | EndpointPiece | LateAnswer => match self.head {
                None => return Err(Misuse::NoHead),
                Some(head) => self.take_piece(head, input, told),
            },
            Marked => self.end(Ending::Marked, told),
            Unmarked => self.end(Ending::Unmarked, told),
            Short => self.end(Ending::Short, told),
            Broken => self.end(Ending::Broken("Reset"), told),
            Cancel => self.end(Ending::Cancelled, told),
        }
        Ok(())
    }

    fn take_head(&mut self, input: Input, told: &mut Vec<String>) {
        self.exposure = Exposure::Headed;
        self.head = Some(match input {
            HeadSse => Head::Sse,
            Head500 => Head::Failed,
            _ => Head::Json,
        });
        let status = if input == Head202 { 202 } else { 200 };
        match input {
            // E20, H3: any 2xx.
            HeadSse | HeadJson | Head202 if self.kind.is_status_due() => told.push(format!("accepted {status}")),
            // E24: a GET is for a stream.
            HeadJson if self.kind.is_stream_due() => {
                told.push("failed content_type \"application/json\" headed".to_owned());
            }
            // E19
            Head202 => told.push("failed no_answer 202 headed".to_owned()),
            _ => return,
        }
        self.is_over = true;
    }

    fn take_piece(&mut self, head: Head, input: Input, told: &mut Vec<String>) {
        self.exposure = Exposure::Streaming;
        if head != Head::Sse {
            self.text.push(match input {
                Piece => ' ',
                AnswerPiece | LateAnswer => 'a',
                StrayPiece => 's',
                _ => 'b',
            });
            return;
        }
        if self.kind == Kind::Channel {
            // H2, H4
            match input {
                EndpointPiece if !self.has_endpoint => {
                    self.has_endpoint = true;
                    told.push("endpoint /m".to_owned());
                }
                Piece if self.has_endpoint => told.push("note n".to_owned()),
                AnswerPiece | LateAnswer if self.has_endpoint => told.push("response {\"ok\":true} 7".to_owned()),
                StrayPiece if self.has_endpoint => told.push("response {\"ok\":true} 8".to_owned()),
                _ => {}
            }
            return;
        }
        // F11, F12: where an answer is awaited a message has to have a new id; `Piece` is the only one with any.
        self.has_progress |= match input {
            Piece => self.kind.is_listening() || !self.has_cursor,
            AnswerPiece | StrayPiece => self.kind.is_listening(),
            _ => false,
        };
        match input {
            Piece => {
                self.has_cursor = true;
                told.push("note n".to_owned());
            }
            EndpointPiece => {}
            AnswerPiece if self.kind.is_listening() => told.push("stray 7".to_owned()),
            // E2; a second one is ignored.
            AnswerPiece if !self.has_answer => {
                self.has_answer = true;
                told.push("answer {\"ok\":true}".to_owned());
            }
            AnswerPiece => {}
            StrayPiece => {
                self.has_stray = true;
                told.push("stray 8".to_owned());
            }
            _ => self.has_bad = true,
        }
    }

    /// What the text of a JSON or failed response is, without its white space.
    fn content(&self) -> &str {
        self.text.trim_matches(' ')
    }

    fn end(&mut self, ending: Ending, told: &mut Vec<String>) {
        // Before the head an end is a break.
        let ending = match (ending, self.head) {
            (Ending::Marked | Ending::Unmarked | Ending::Short, None) => Ending::Broken("Closed"),
            _ => ending,
        };
        // E1
        let is_broken = matches!(ending, Ending::Broken(_));
        if is_broken && self.is_reused && self.exposure == Exposure::Unsent {
            self.is_reused = false;
            return;
        }
        let status = if self.head == Some(Head::Failed) { 500 } else { 200 };
        // A JSON body is judged at its end, but not by who closes it. Under 500 only an error is an answer, under any id.
        if ending != Ending::Cancelled && self.kind.is_posted_request() {
            match (self.head, self.content()) {
                (Some(Head::Json), "a") => {
                    self.has_answer = true;
                    told.push("answer {\"ok\":true}".to_owned());
                }
                (Some(Head::Json), "s") => {
                    self.has_stray = true;
                    told.push("stray 8".to_owned());
                }
                (Some(Head::Failed), "a") => {
                    self.has_answer = true;
                    told.push("answer error -5".to_owned());
                }
                (Some(Head::Failed), "s") => {
                    self.has_answer = true;
                    told.push("answer error -5 foreign".to_owned());
                }
                _ => {}
            }
        }
        told.push(self.verdict(ending, status));
        self.is_over = true;
    }

    fn verdict(&self, ending: Ending, status: u16) -> String {
        let exposure = self.exposure_word();
        // E3, E4, E8
        if self.has_answer {
            return match ending {
                Ending::Marked | Ending::Unmarked | Ending::Cancelled => format!("settled {status}"),
                Ending::Short => format!("salvaged {status} short"),
                Ending::Broken(kind) => format!("salvaged {status} {kind}"),
                Ending::TimedOut => format!("salvaged {status} stalled"),
            };
        }
        // E30, E18, E11
        match ending {
            Ending::Cancelled => return format!("failed cancelled {exposure}"),
            _ if status == 500 => {
                let is_refusal = !self.kind.is_posted_request() && matches!(self.content(), "a" | "s");
                let error = if is_refusal { " error -5" } else { "" };
                return format!("failed status 500{error} {exposure}");
            }
            Ending::TimedOut => return format!("failed timeout {exposure}"),
            // E1; a GET that was not sent lost nothing.
            Ending::Broken(kind) if exposure == "unsent" && !self.can_ask_again() => {
                return format!("failed unsent {kind} unsent");
            }
            _ => {}
        }
        let mut cause = match ending {
            Ending::Broken(kind) => kind,
            Ending::Short => "short",
            _ => "ended",
        };
        let is_json = self.head == Some(Head::Json);
        if cause == "ended" && is_json && ending == Ending::Unmarked {
            cause = "cut";
        }
        let ended = matches!(cause, "ended" | "cut");
        if ended && is_json {
            match (self.content(), ending) {
                // E19
                ("", Ending::Marked) if self.text.is_empty() => return format!("failed no_answer 200 {exposure}"),
                // E10: white space is the beginning of anything.
                ("", Ending::Marked) => return format!("failed invalid_json at {} {exposure}", self.text.len()),
                ("", _) => {}
                ("s", _) => return format!("failed id_mismatch 8 {exposure}"),
                (content, _) => return format!("failed invalid_json at {} {exposure}", self.bad_at(content)),
            }
        } else if ended && !self.kind.is_listening() && self.kind != Kind::Channel {
            // E10, E16
            if self.has_bad {
                return format!("failed invalid_json at 0 {exposure}");
            }
            if self.has_stray {
                return format!("failed id_mismatch 8 {exposure}");
            }
        }
        // E5 to E7, F11, F12
        let progress = if self.has_progress { " progressed" } else { "" };
        match (self.kind, self.has_cursor) {
            (Kind::Modern, _) => format!("reissue {cause} {exposure}"),
            (Kind::Legacy, true) => format!("resume c after 1000 {cause}{progress}"),
            (Kind::Resumption, true) => format!("resume c after 50 {cause}{progress}"),
            (Kind::Resumption, false) => format!("resume g after 50 {cause}{progress}"),
            (Kind::Listening, true) => format!("reopen c after 1000 {cause}{progress}"),
            (Kind::Listening, false) => format!("reopen start after 1000 {cause}{progress}"),
            (Kind::ListeningFrom, true) => format!("reopen c after 50 {cause}{progress}"),
            (Kind::ListeningFrom, false) => format!("reopen g after 50 {cause}{progress}"),
            _ => format!("failed lost {cause} {exposure}"),
        }
    }

    fn can_ask_again(&self) -> bool {
        self.kind == Kind::Resumption || self.kind.is_listening()
    }

    /// Where several texts in a row, or one that is bad, stop being JSON.
    fn bad_at(&self, content: &str) -> usize {
        let lead = self.text.len() - self.text.trim_start().len();
        let first = content.chars().next().unwrap();
        let rest = &content[1..];
        let gap = rest.len() - rest.trim_start().len();
        lead + match first {
            'a' => result("7").len() + gap,
            's' => result("8").len() + gap,
            _ => 0,
        }
    }
}
