//! A bug report that is a file: what went into a client or an exchange, with its times, and what came out of it.
//!
//! Since the core has no clock, no socket and no chance of its own, the facts that it was told decide all that it does.
//! Written down, they are a script that gives the same events and the same verdict again, on any machine, and in a
//! test. [`ClientConfig::with_recording`](crate::client::ClientConfig::with_recording) and
//! [`ExchangeConfig::with_recording`](crate::exchange::ExchangeConfig::with_recording) turn it on; without them nothing is
//! written and nothing is kept. [`Client::recording`](crate::client::Client::recording) and
//! [`Exchange::recording`](crate::exchange::Exchange::recording) give what was written so far.
//!
//! ```
//! use mcp_sse_core::Timestamp;
//! use mcp_sse_core::exchange::{Exchange, ExchangeConfig, Framing, Request};
//! use mcp_sse_core::http::ResponseHead;
//! use mcp_sse_core::recording::{Bodies, Recording, RecordingConfig};
//!
//! let request = Request::new("tools/call").with_id(7);
//! let config = ExchangeConfig::default().with_recording(RecordingConfig::default());
//! let mut exchange = Exchange::new(&request, config, Timestamp::ZERO);
//! exchange.on_connected(Timestamp::from_millis(3))?;
//! exchange.on_sent(Timestamp::from_millis(4))?;
//! let head = ResponseHead::from_headers(200, [("Content-Type", "text/event-stream")]);
//! exchange.on_head(&head, Timestamp::from_millis(9))?;
//! let mut body = &b"data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"balance\":\"EUR 12\"}}\n\n"[..];
//! exchange.on_body(&mut body, Timestamp::from_millis(9))?;
//! while exchange.poll_event().is_some() {}
//! exchange.on_end(Framing::Marked, Timestamp::from_millis(10))?;
//! while exchange.poll_event().is_some() {}
//!
//! // What the body said is not in it, and it comes to the same verdict all the same.
//! let text = exchange.recording(Bodies::Redacted).expect("it was asked for").to_string();
//! assert!(!text.contains("EUR"));
//! assert!(text.contains(r#"9 on_body 1 bytes=62 crc=53b1d4d2 | data: {"jsonrpc":"2.0","id":7,"result":{"#));
//! let replayed = Recording::parse(text.as_bytes())?.replay()?;
//! assert_eq!((replayed.inputs, replayed.outputs), (5, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is in it
//!
//! | [`Bodies`] | bodies, parameters, answers given | replays |
//! |---|---|---|
//! | [`Redacted`](Bodies::Redacted) | of the same size and shape: strings and numbers that are the caller's or the server's own business are replaced | yes, or it says that it does not |
//! | [`Whole`](Bodies::Whole) | as they were | yes |
//! | [`Sized`](Bodies::Sized) | their sizes and checksums alone | no |
//!
//! Never in it, whatever the bodies: values of the client's own headers (their names are), session ids (others of the same
//! length stand for them), cookies and challenges, the query of the client's URL. Of a response's head, what the core
//! reads is kept: `Content-Type`, `Content-Encoding`, `Content-Length`, `Transfer-Encoding`, `Date`, `Retry-After`,
//! `Location` and `MCP-Protocol-Version`.
//!
//! Redacted, a JSON text keeps its punctuation, `true`, `false`, `null`, the names of members that are MCP's or JSON
//! Schema's, and the values by which things are decided: `jsonrpc`, `id`, `method`, an error's `code`, protocol versions,
//! `resultType`, progress tokens, request and subscription ids, `x-mcp-header`. Other strings become fillers of
//! the same length, equal ones the same; other numbers become ones. Of an event stream, comments, unknown fields
//! and event ids are replaced likewise, of a URL everything after the authority. Method names, message ids and host names
//! stay: look at the file before you send it. What was redacted is replayed before it is given out; if it told anything else
//! than the original (a body whose very malformation decided, say), the recording is given as `Sized`.
//!
//! A checksum is a CRC-32. It tells whoever has the original that it is this one. Whoever can guess what was there can also
//! see, from 32 bits, whether the guess may be right.
//!
//! # The format, version 1
//!
//! ASCII text; a line each; empty lines and lines that begin with `#` say nothing. A line is words with single spaces
//! between them, some of them named (`name=value`), and at most one payload after ` | `, to the end of the line. Within
//! words and payloads `\\`, `\n`, `\r`, `\t` and `\xNN` stand for a byte; in a word a space and `|` are written so too.
//! Times are milliseconds since the recording's origin, durations are milliseconds, both with up to six decimals.
//!
//! ```text
//! mcp-sse recording 1               always the first line
//! bodies redacted                   whole | redacted | sized
//! client http://127.0.0.1:8000/mcp  what was recorded: a client of this URL
//! config protocol=2026-07-28 ...    how it was made: the fields of ClientConfig, in their names
//! 0 call tools/call timeout=60000 ... | {"name":"x0"}
//! 0.4 poll_step_of 1
//! expect send 1 POST http://127.0.0.1:8000/mcp headers=... bytes=300 crc=0a1b2c3d
//! 1.25 on_connected 1
//! ...
//! end                               always the last line; `end full`: the bound on the tape was reached
//! ```
//!
//! Of an exchange alone, the third line is `exchange begun=0 method=tools/call version=2026-07-28 id=7 carries=message`
//! (or `resumption`, `listening`, `channel`, `deletion`; with `progress_token`, `last_event_id` and `retry` if there are any), the
//! fourth has the fields of `ExchangeConfig`, and the exchange is number 1.
//!
//! What happens to exchange *x* at a time, in the words of [`Exchange`]: `on_connected x`,
//! `on_reused x`, `on_sending x`, `on_sent x`, `on_head x 200 content-type=text/event-stream ...` (headers by name; a date
//! may be `@` and seconds since 1970), `on_body x | bytes`, `on_end x marked` (`unmarked`, `short`, `discarded`), `on_broken x
//! reset` (any kind of break), `on_timeout x`, `cancel_exchange x`, `drain_until x until=.. bytes=..`.
//!
//! What is asked of a client, in the words of [`Client`]: `call METHOD`, `notify METHOD`, `listen`
//! (each with the fields of `CallOptions`, and the parameters or the filter as payload), `respond c id=.. | result` (or `error=CODE |
//! message`), `cancel c`, `close`, `read_to_end c`, `lend_exchange x`, `return_exchange x`, `forget_exchange x`,
//! `on_timeout`, `poll_step`, `poll_step_of c`. Calls and exchanges are numbered from 1 in the order of their beginning.
//!
//! A payload that was redacted has `bytes=` and `crc=` of the original beside it; one that is withheld has these alone.
//!
//! `expect` says what the poll before it gave, or, of an exchange alone, what the next
//! [`poll_event`](crate::exchange::Exchange::poll_event) gives: its kind and facts, with payloads by size and checksum. It may
//! be left out of a script that is written by hand.
//!
//! A reader of version 1 refuses other versions, and words that it does not know. What `expect` says may be told more
//! precisely by a later release without another version: such a recording then differs there, in words, at that line.

mod input;
mod redact;
mod replay;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use input::{Input, Subject};
pub use replay::{ReplayError, Replayed, Told};

use crate::client::Client;
use crate::exchange::Exchange;
use crate::tape::Line;
pub use crate::tape::RecordingConfig;
use crate::time::Timestamp;

/// The first line.
const VERSION: &str = "mcp-sse recording 1";

/// The number of the first line after those that say what was recorded.
const FIRST: usize = 5;

/// What is shown of bodies, parameters and answers. See the [module](self) for what is never shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bodies {
    /// All of them.
    Whole,
    /// Their shape, without what they say.
    #[default]
    Redacted,
    /// Their sizes and checksums. What a body said decides, so that this cannot be replayed.
    Sized,
}

impl Bodies {
    /// The name in a recording.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Redacted => "redacted",
            Self::Sized => "sized",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Whole, Self::Redacted, Self::Sized].into_iter().find(|bodies| bodies.as_str() == name)
    }
}

/// What went into a client or an exchange, and what came out.
///
/// Its text, by [`Display`](fmt::Display), is the format that the [module](self) describes; [`parse`](Self::parse) reads it.
#[derive(Clone, PartialEq, Eq)]
pub struct Recording {
    bodies: Bodies,
    subject: Line,
    config: Line,
    /// Each with its number in the text.
    lines: Vec<(usize, Line)>,
    is_complete: bool,
}

/// Why a text is no recording. Whoever wrote it erred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {wanted} was wanted")]
#[non_exhaustive]
pub struct RecordingError {
    /// The line, counted from one.
    pub line: usize,
    /// What was wanted there.
    pub wanted: &'static str,
}

impl Recording {
    /// Reads a text. It keeps no more than a few times the text's size.
    ///
    /// # Errors
    /// [`RecordingError`] says in which line what was wanted.
    ///
    /// ```
    /// use mcp_sse_core::recording::Recording;
    ///
    /// let error = Recording::parse(b"mcp-sse recording 1\nbodies hidden\n").unwrap_err();
    /// assert_eq!(error.to_string(), "line 2: `bodies` and one of whole, redacted, sized was wanted");
    /// ```
    pub fn parse(text: &[u8]) -> Result<Self, RecordingError> {
        let mut count = 0;
        let mut rest = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut next = || loop {
            count += 1;
            match rest.next() {
                Some(line) if line.trim_ascii().is_empty() || line.starts_with(b"#") => {}
                line => break (count, line),
            }
        };
        let (line, first) = next();
        if first != Some(VERSION.as_bytes()) {
            return Err(RecordingError { line, wanted: "`mcp-sse recording 1`" });
        }
        let mut header = |wanted| {
            let (number, line) = next();
            let error = |wanted| RecordingError { line: number, wanted };
            let line = Line::parse(line.ok_or_else(|| error(wanted))?).map_err(error)?;
            Ok((number, line))
        };
        let (line, bodies) = header("`bodies`")?;
        let bodies = Some(&bodies).filter(|line| line.word == "bodies").and_then(|line| line.place(0));
        let bodies = bodies.and_then(Bodies::from_name);
        let bodies = bodies.ok_or(RecordingError { line, wanted: "`bodies` and one of whole, redacted, sized" })?;
        let (subject_at, subject) = header("`client` or `exchange`")?;
        let (config_at, config) = header("`config`")?;
        let read = Subject::read(&subject, &config).map_err(|(is_config, wanted)| RecordingError {
            line: if is_config { config_at } else { subject_at },
            wanted,
        })?;
        let subject = match read {
            // As a client writes it, so that what is hidden in it is found where it stands.
            Subject::Client(client) => Line::new("client").arg(client.0.as_str()),
            Subject::Exchange(..) => subject,
        };
        let of_client = subject.word == "client";
        let mut lines = Vec::new();
        loop {
            let (number, line) = next();
            let error = |wanted| RecordingError { line: number, wanted };
            let line = line.ok_or_else(|| error("`end`"))?;
            let line = Line::parse(line).map_err(error)?;
            if line.word == "end" {
                let is_complete = !line.has("full");
                return match next() {
                    (_, None) => Ok(Self { bodies, subject, config, lines, is_complete }),
                    (line, Some(_)) => Err(RecordingError { line, wanted: "nothing after `end`" }),
                };
            }
            Input::read(&line, of_client).map_err(error)?;
            lines.push((number, line));
        }
    }

    fn new(bodies: Bodies, [subject, config]: [Line; 2], tape: &crate::tape::Tape) -> Self {
        let lines = tape.lines().iter().cloned().enumerate().map(|(at, line)| (FIRST + at, line)).collect();
        let whole = Self { bodies: Bodies::Whole, subject, config, lines, is_complete: !tape.is_full() };
        whole.with_bodies(bodies)
    }

    /// What is shown of bodies.
    #[must_use]
    pub const fn bodies(&self) -> Bodies {
        self.bodies
    }

    /// Whether all that happened is in it; if not, the bound on the tape was reached, and it is the beginning.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The same with less shown: what is not there any more does not come back. If a redacted one would not tell the same,
    /// it is [`Bodies::Sized`].
    #[must_use]
    pub fn with_bodies(&self, bodies: Bodies) -> Self {
        redact::with_bodies(self, bodies.max(self.bodies))
    }

    /// Plays it: tells all that was told to a new client or exchange, and holds what comes out against what came out then.
    ///
    /// # Errors
    /// [`ReplayError`], with the first line that cannot be played or tells something else.
    pub fn replay(&self) -> Result<Replayed, ReplayError> {
        self.replay_with(|_, _| {})
    }

    /// As [`replay`](Self::replay), and shows what comes out, and when it had.
    ///
    /// # Errors
    /// As [`replay`](Self::replay).
    pub fn replay_with(&self, tell: impl FnMut(Timestamp, Told<'_>)) -> Result<Replayed, ReplayError> {
        replay::replay(self, tell)
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{VERSION}\nbodies {}\n{}\n{}", self.bodies.as_str(), self.subject, self.config)?;
        self.lines.iter().try_for_each(|(_, line)| writeln!(f, "{line}"))?;
        f.write_str(if self.is_complete { "end\n" } else { "end full\n" })
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Recording");
        shown.field("bodies", &self.bodies).field("lines", &self.lines.len()).finish_non_exhaustive()
    }
}

impl Client {
    /// What was told to this client and what it gave out, so far; nothing unless
    /// [`ClientConfig::recording`](crate::client::ClientConfig::recording) asked for it. Of exchanges that are lent out, what
    /// they were told is there once they are returned.
    pub fn recording(&mut self, bodies: Bodies) -> Option<Recording> {
        let (head, tape) = self.head_lines()?;
        Some(Recording::new(bodies, head, tape))
    }
}

impl Exchange {
    /// What was told to this exchange and what it told, so far; nothing unless
    /// [`ExchangeConfig::recording`](crate::exchange::ExchangeConfig::recording) asked for it.
    #[must_use]
    pub fn recording(&self, bodies: Bodies) -> Option<Recording> {
        let (head, tape) = self.head_lines()?;
        Some(Recording::new(bodies, head, tape))
    }
}

/// The text of a line without what payloads say of themselves.
fn facts_of(line: &Line) -> Vec<(&str, &str)> {
    // The place of a request holds a path.
    let is_send = line.place(0) == Some("send");
    let facts = line.arguments.iter().enumerate().filter(|(at, (name, _))| name != "crc" && !(is_send && *at == 3));
    facts.map(|(_, (name, value))| (&**name, value.as_str())).collect()
}

/// A URL without what stands in its query.
fn without_query(url: &str) -> String {
    match url.split_once('?') {
        Some((place, query)) => alloc::format!("{place}?{}", "x".repeat(query.len())),
        None => String::from(url),
    }
}
