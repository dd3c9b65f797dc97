//! One attempt: a request carried over a connection, and everything that happens reported as facts.
//!
//! Rules: [`Attempt::advance`] does one thing that may wait, bounded by what the exchange says, and reports
//! it; what it means is the exchange's affair. Bytes are reported as written under the time at which writing
//! began, so that a deadline that passes meanwhile cannot hide how far the request got. A connection is given
//! back only if it was read to its response's end.

use std::io;
use std::time::Duration;

use mcp_sse_core::client::{ExchangeId, HttpRequest};
use mcp_sse_core::exchange::{BreakKind, Carriage, Exchange, Framing, Misuse, State, Want};
use mcp_sse_core::http::{Chunk, ChunkedReader, MalformedChunk};

use crate::client::Inner;
use crate::connect::Stop;
use crate::http1::{self, BodyFraming, Head};
use crate::stream::{Input, Stream, Wait};

/// The response is read in pieces of at most this many bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// And at first of this many: a head and a short answer, so that nobody clears memory that nothing comes to.
pub(crate) const FIRST_BUFFER_BYTES: usize = 4 << 10;
/// A body up to this size is written together with its head.
const SMALL_BODY: usize = 16 << 10;
/// While a request is written, this often is looked whether the response has come already.
const LOOK_FOR_RESPONSE: Duration = Duration::from_millis(50);

/// Whether [`Attempt::advance`] may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as the exchange allows.
    Some,
    /// Not longer than this at once.
    AtMost(Duration),
    /// Not at all.
    None,
}

/// Whether something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Something; go on.
    Some,
    /// Nothing, and nothing will without waiting.
    None,
}

/// One attempt.
pub(crate) struct Attempt {
    pub(crate) id: ExchangeId,
    request: Box<HttpRequest>,
    stage: Stage,
    /// Received and not yet used: `buffer[start..end]`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes that the next read asks for.
    room: usize,
}

enum Stage {
    Unconnected,
    Writing(Writing),
    ReadingHead(ReadingHead),
    ReadingBody(ReadingBody),
    /// Broken, or of no further use.
    Over,
}

struct Writing {
    stream: Stream,
    unsent: Unsent,
}

/// How much of a request is still to be written.
struct Unsent {
    /// What is written before the request's body: the head, and a copy of the body if it is small.
    head: Vec<u8>,
    /// Whether the body is written on its own, after the head.
    has_body: bool,
    /// Bytes of both that were given to the stream.
    taken: usize,
    carriage: Carriage,
}

struct ReadingHead {
    stream: Stream,
    rest: Rest,
}

/// What became of the part of a request that was not yet written when its response was looked for.
enum Rest {
    /// There is none: the request was sent.
    None,
    /// It will be written if no response is there yet.
    Waits(Unsent),
    /// It cannot be written any more.
    Refused,
}

struct ReadingBody {
    stream: Stream,
    framing: BodyReader,
    keeps_alive: bool,
}

/// What is left of the body.
enum BodyReader {
    Length(u64),
    Chunked(ChunkedReader),
    UntilClose,
    Ended,
}

impl Attempt {
    pub(crate) fn new(id: ExchangeId, request: Box<HttpRequest>, inner: &Inner) -> Self {
        let (buffer, room) = (inner.buffers().pop().unwrap_or_default(), FIRST_BUFFER_BYTES);
        Self { id, request, stage: Stage::Unconnected, buffer, start: 0, end: 0, room }
    }

    /// Does one thing that may wait, and reports what happened.
    pub(crate) fn advance(&mut self, exchange: &mut Exchange, inner: &Inner, patience: Patience) -> Progress {
        let reported = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Unconnected => self.connect(exchange, inner),
            Stage::Writing(writing) => self.write(writing, exchange, inner),
            Stage::ReadingHead(reading) => self.read_head(reading, exchange, inner, patience),
            Stage::ReadingBody(reading) => self.read_body(reading, exchange, inner, patience),
            Stage::Over => Ok(Progress::None),
        };
        // Misuse here means that the exchange ended meanwhile; the steps that follow say so too.
        reported.unwrap_or(Progress::Some)
    }

    fn connect(&mut self, exchange: &mut Exchange, inner: &Inner) -> Result<Progress, Misuse> {
        let clock = inner.clock;
        let now = clock.now();
        self.stage = Stage::Unconnected;
        let wants_fresh = matches!(exchange.want(), Want::Send { fresh: true });
        let kept = if wants_fresh { None } else { inner.idle().take(&self.request.endpoint, now) };
        let stream = match kept {
            Some(mut kept) => {
                exchange.on_reused(now)?;
                if kept.has_news() {
                    // It was closed meanwhile (E1); the exchange asks for a fresh one.
                    exchange.on_broken(BreakKind::Closed, now)?;
                    return Ok(Progress::Some);
                }
                kept
            }
            None => match inner.connector.connect(&self.request.endpoint, exchange.poll_timeout()) {
                Ok(stream) => {
                    exchange.on_connected(clock.now())?;
                    stream
                }
                Err(Stop::Broken(kind)) => {
                    exchange.on_broken(kind, clock.now())?;
                    return Ok(Progress::Some);
                }
                Err(Stop::Deadline) => {
                    exchange.on_timeout(clock.now())?;
                    return Ok(Progress::Some);
                }
            },
        };
        let has_body = self.request.body.len() > SMALL_BODY;
        let room = if has_body { 0 } else { self.request.body.len() };
        let Some(mut head) = http1::write_request(&self.request, room) else {
            // The client checked its endpoint and headers; what HTTP still refuses was not sent.
            exchange.on_broken(BreakKind::Io, clock.now())?;
            return Ok(Progress::Some);
        };
        if !has_body {
            head.extend_from_slice(&self.request.body);
        }
        let unsent = Unsent { head, has_body, taken: 0, carriage: Carriage::of_request(self.request.body.len()) };
        self.stage = Stage::Writing(Writing { stream, unsent });
        Ok(Progress::Some)
    }

    fn write(&mut self, mut writing: Writing, exchange: &mut Exchange, inner: &Inner) -> Result<Progress, Misuse> {
        let clock = inner.clock;
        let before = clock.now();
        exchange.on_timeout(before)?;
        if exchange.state() == State::Ended {
            return Ok(Progress::Some);
        }
        let left = exchange
            .poll_timeout()
            .map_or(LOOK_FOR_RESPONSE, |due| due.saturating_duration_since(before).min(LOOK_FOR_RESPONSE));
        let unsent = &mut writing.unsent;
        let body: &[u8] = if unsent.has_body { &self.request.body } else { &[] };
        let bytes = match unsent.taken.checked_sub(unsent.head.len()) {
            None => unsent.head.get(unsent.taken..),
            Some(taken) => body.get(taken..),
        };
        let bytes = bytes.unwrap_or_default();
        let result = writing.stream.write(bytes, Wait::AtMost(Some(left)));
        match result {
            Ok(output) => {
                unsent.taken += output.taken;
                unsent.carriage.on_taken(bytes.get(..output.taken).unwrap_or_default());
                unsent.carriage.on_written(output.written);
                if output.is_flushed {
                    unsent.carriage.on_flushed();
                }
                unsent.carriage.tell(exchange, before);
                if unsent.carriage.is_sent() {
                    self.request.body = Vec::new();
                    self.stage = Stage::ReadingHead(ReadingHead { stream: writing.stream, rest: Rest::None });
                } else {
                    // A server may refuse a request, and read no more of it, before it is all there.
                    let is_refused = output.written == 0 && unsent.carriage.has_begun() && writing.stream.has_news();
                    self.stage =
                        if is_refused { Self::look_for_response(writing, true) } else { Stage::Writing(writing) };
                }
                exchange.on_timeout(clock.now())?;
                Ok(Progress::Some)
            }
            // It may have answered before it closed.
            Err(_) if unsent.carriage.has_begun() => {
                self.stage = Self::look_for_response(writing, false);
                Ok(Progress::Some)
            }
            Err(error) => {
                self.stage = Stage::Unconnected;
                exchange.on_broken(BreakKind::from(&error), clock.now())?;
                Ok(Progress::Some)
            }
        }
    }

    fn look_for_response(writing: Writing, can_go_on: bool) -> Stage {
        let Writing { stream, unsent } = writing;
        let rest = if can_go_on { Rest::Waits(unsent) } else { Rest::Refused };
        Stage::ReadingHead(ReadingHead { stream, rest })
    }

    /// No response is there yet: goes on writing, if there is something left to write, or waits for more.
    fn await_head(reading: ReadingHead) -> Stage {
        match reading {
            ReadingHead { stream, rest: Rest::Waits(unsent) } => Stage::Writing(Writing { stream, unsent }),
            reading => Stage::ReadingHead(reading),
        }
    }

    fn read_head(
        &mut self,
        mut reading: ReadingHead,
        exchange: &mut Exchange,
        inner: &Inner,
        patience: Patience,
    ) -> Result<Progress, Misuse> {
        let clock = inner.clock;
        let seen = self.end - self.start;
        let input = match self.receive(&mut reading.stream, exchange, inner, patience) {
            Ok(input) => input,
            Err(error) => return self.broken(BreakKind::from(&error), exchange, inner),
        };
        match input {
            Input::Bytes(_) => {}
            Input::Nothing => {
                exchange.on_timeout(clock.now())?;
                self.stage = Self::await_head(reading);
                return Ok(Progress::None);
            }
            Input::End => return self.broken(BreakKind::Closed, exchange, inner),
            Input::Cut => return self.broken(BreakKind::TlsTruncated, exchange, inner),
        }
        // A head ends with a line feed: without a new one there is nothing new to see.
        let mut looks = self.unread().get(seen..).is_some_and(|new| new.contains(&b'\n'));
        while looks {
            match http1::read_head(self.unread()) {
                Ok(Head::More) => looks = false,
                Ok(Head::Interim(bytes)) => self.start += bytes,
                Ok(Head::Final(head)) if head.bytes > inner.max_head_bytes => {
                    return self.broken(BreakKind::HeadTooLarge, exchange, inner);
                }
                Ok(Head::Final(head)) => {
                    self.start += head.bytes;
                    exchange.on_head(&head.head, clock.now())?;
                    let body = ReadingBody {
                        stream: reading.stream,
                        keeps_alive: head.keeps_alive && matches!(reading.rest, Rest::None),
                        framing: match head.framing {
                            BodyFraming::None | BodyFraming::Length(0) => BodyReader::Ended,
                            BodyFraming::Length(bytes) => BodyReader::Length(bytes),
                            BodyFraming::Chunked => BodyReader::Chunked(ChunkedReader::new()),
                            BodyFraming::UntilClose => BodyReader::UntilClose,
                        },
                    };
                    let has_ended = matches!(body.framing, BodyReader::Ended);
                    self.stage = Stage::ReadingBody(body);
                    if has_ended {
                        exchange.on_end(Framing::Marked, clock.now())?;
                    }
                    return Ok(Progress::Some);
                }
                Err(http1::HeadError::TooLarge) => {
                    return self.broken(BreakKind::HeadTooLarge, exchange, inner);
                }
                Err(http1::HeadError::Malformed) => return self.broken(BreakKind::Malformed, exchange, inner),
            }
        }
        if self.unread().len() > inner.max_head_bytes {
            return self.broken(BreakKind::HeadTooLarge, exchange, inner);
        }
        exchange.on_timeout(clock.now())?;
        self.stage = Self::await_head(reading);
        Ok(Progress::Some)
    }

    fn read_body(
        &mut self,
        mut reading: ReadingBody,
        exchange: &mut Exchange,
        inner: &Inner,
        patience: Patience,
    ) -> Result<Progress, Misuse> {
        let clock = inner.clock;
        let chunk = match self.next_chunk(&mut reading.framing) {
            Ok(chunk) => chunk,
            Err(MalformedChunk { .. }) => return self.broken(BreakKind::Malformed, exchange, inner),
        };
        match chunk {
            Chunk::Data(bytes) => {
                let mut rest = self.unread().get(..bytes).unwrap_or_default();
                let result = exchange.on_body(&mut rest, clock.now());
                let used = bytes - rest.len();
                self.start += used;
                reading.framing.take(used);
                self.stage = Stage::ReadingBody(reading);
                return result.map(|()| Progress::Some);
            }
            Chunk::End => {
                reading.framing = BodyReader::Ended;
                self.stage = Stage::ReadingBody(reading);
                exchange.on_end(Framing::Marked, clock.now())?;
                return Ok(Progress::Some);
            }
            _ => {
                let input = match self.receive(&mut reading.stream, exchange, inner, patience) {
                    Ok(input) => input,
                    Err(error) => return self.broken(BreakKind::from(&error), exchange, inner),
                };
                match input {
                    Input::Bytes(_) => exchange.on_timeout(clock.now())?,
                    Input::Nothing => {
                        exchange.on_timeout(clock.now())?;
                        self.stage = Stage::ReadingBody(reading);
                        return Ok(Progress::None);
                    }
                    Input::End | Input::Cut => {
                        let kind = if input == Input::End { BreakKind::Closed } else { BreakKind::TlsTruncated };
                        let has_last_chunk = reading.framing.has_last_chunk();
                        exchange.on_connection_end(kind, has_last_chunk, clock.now())?;
                        return Ok(Progress::Some);
                    }
                }
            }
        }
        self.stage = Stage::ReadingBody(reading);
        Ok(Progress::Some)
    }

    fn broken(&mut self, kind: BreakKind, exchange: &mut Exchange, inner: &Inner) -> Result<Progress, Misuse> {
        self.stage = Stage::Over;
        exchange.on_broken(kind, inner.clock.now())?;
        Ok(Progress::Some)
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Receives more, waiting once at most.
    fn receive(
        &mut self,
        stream: &mut Stream,
        exchange: &Exchange,
        inner: &Inner,
        patience: Patience,
    ) -> io::Result<Input> {
        let wait = match patience {
            Patience::None => Wait::No,
            Patience::Some => Wait::AtMost(exchange.poll_timeout().map(|due| inner.clock.until(due))),
            Patience::AtMost(most) => {
                Wait::AtMost(Some(exchange.poll_timeout().map_or(most, |due| inner.clock.until(due).min(most))))
            }
        };
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        // Only a head that is not complete, or a line of framing, is ever held: both are bounded.
        let most = self.end + self.room;
        // What was cleared once holds nothing that is looked at before it is read anew.
        if self.buffer.len() < most {
            self.buffer.resize(most, 0);
        }
        let input = stream.read(self.buffer.get_mut(self.end..most).unwrap_or_default(), wait)?;
        if let Input::Bytes(bytes) = input {
            self.end += bytes;
            if bytes == self.room {
                self.room = BUFFER_BYTES;
            }
        }
        Ok(input)
    }

    /// Gives the connection back, if its response was read to the end; what is left of a body and has come
    /// already is read. Else the connection is closed.
    pub(crate) fn release(mut self, inner: &Inner) {
        let Stage::ReadingBody(mut reading) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        while reading.keeps_alive {
            match self.next_chunk(&mut reading.framing) {
                Ok(Chunk::Data(bytes)) => {
                    reading.framing.take(bytes);
                    self.start += bytes;
                }
                // Bytes that nobody asked for do not belong on a connection that is to be used again.
                Ok(Chunk::End) => {
                    if self.unread().is_empty() {
                        inner.idle().keep(&self.request.endpoint, reading.stream, inner.clock.now());
                        inner.keep_buffer(self.buffer);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    /// What stands at the front of what is unread, framing taken away.
    fn next_chunk(&mut self, framing: &mut BodyReader) -> Result<Chunk, MalformedChunk> {
        let mut rest = self.unread();
        let before = rest.len();
        let chunk = framing.read(&mut rest);
        self.start += before - rest.len();
        chunk
    }
}

impl BodyReader {
    fn read(&mut self, input: &mut &[u8]) -> Result<Chunk, MalformedChunk> {
        Ok(match self {
            Self::Chunked(chunked) => return chunked.read(input),
            Self::Ended | Self::Length(0) => Chunk::End,
            _ if input.is_empty() => Chunk::More,
            Self::Length(left) => Chunk::Data(usize::try_from(*left).unwrap_or(usize::MAX).min(input.len())),
            Self::UntilClose => Chunk::Data(input.len()),
        })
    }

    fn take(&mut self, bytes: usize) {
        match self {
            Self::Chunked(chunked) => chunked.take(bytes),
            Self::Length(left) => *left = left.saturating_sub(bytes as u64),
            Self::UntilClose | Self::Ended => {}
        }
    }

    fn has_last_chunk(&self) -> bool {
        matches!(self, Self::Chunked(chunked) if chunked.is_complete())
    }
}
