//! A response turned into the bytes of the wire, with the offsets at which something begins, ends or is delivered.
//!
//! Rule: rendering is a pure function of response and request. Offsets count bytes of the response (before TLS) and always mean
//! "with so many bytes written": offset 0 is nothing, the length is everything.

use serde_json::Value;

use super::coding::Coded;
use super::request::Request;
use super::response::{Body, Chunked, Framing, LineEnd, Response, Sse, reason_phrase};

/// A place in a rendered response. Blocks and chunks count from 0. Inside a body a mark lies where all before it has been
/// delivered once framing and coding are undone, at the first such byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mark {
    /// Behind an interim response.
    InterimEnd(usize),
    /// Behind the status line's line end.
    StatusLineEnd,
    /// Behind the head's empty line.
    HeadEnd,
    /// Before an SSE block.
    BlockStart(usize),
    /// Before the first byte of an SSE block's data.
    DataStart(usize),
    /// Behind the last byte of an SSE block's data, before its line end.
    DataEnd(usize),
    /// Behind an SSE block.
    BlockEnd(usize),
    /// Before a chunk's size line.
    ChunkStart(usize),
    /// Before a chunk's data.
    ChunkDataStart(usize),
    /// Behind a chunk's data.
    ChunkDataEnd(usize),
    /// Behind the line end after a chunk's data.
    ChunkEnd(usize),
    /// Before the last chunk (the one of size 0).
    LastChunkStart,
    /// Before the answer's JSON.
    AnswerStart,
    /// Behind the answer's JSON: it is delivered.
    AnswerEnd,
    /// Where the answer has arrived: see [`Rendered::answer_terminated_at`].
    AnswerTerminated,
    /// Behind everything.
    BodyEnd,
}

/// The bytes of a response and what lies where in them.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// All bytes, interim responses included.
    pub bytes: Vec<u8>,
    /// The length up to the head's empty line, that included; the whole length of a response written by hand.
    pub head_len: usize,
    /// The smallest number of bytes with which the answer's JSON is complete once framing and coding are undone. `None` without
    /// an answer, or if the framing or a damaged coding withholds it.
    ///
    /// An answer is an object without `method`, with exactly one of `result` and `error`, under the request's id (also as the
    /// string or integer that spells it), or an error with a null or no id, or under a status other than 2xx any error.
    pub answer_delivered_at: Option<usize>,
    /// The smallest number of bytes with which the answer is also marked as ended: the blank line of its event (CR ends a line at
    /// once, so before the LF of a CR LF), or the end of a JSON body. `None` if nothing marks it. A JSON body framed by the
    /// connection's end has its last offset here, but it takes an orderly close there to mark it.
    pub answer_terminated_at: Option<usize>,
    marks: Vec<(Mark, usize)>,
}

impl Rendered {
    /// The offset of a mark, if the response has it.
    pub fn at(&self, mark: Mark) -> Option<usize> {
        self.marks.iter().find(|(known, _)| *known == mark).map(|(_, offset)| *offset)
    }

    /// All marks, by offset.
    pub fn marks(&self) -> &[(Mark, usize)] {
        &self.marks
    }

    /// The offsets of all marks, ascending, each once, with 0 and the length.
    pub fn boundaries(&self) -> Vec<usize> {
        let mut offsets: Vec<usize> = self.marks.iter().map(|(_, offset)| *offset).collect();
        offsets.extend([0, self.bytes.len()]);
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }
}

/// The body before coding and framing.
#[derive(Default)]
struct Plain {
    bytes: Vec<u8>,
    /// Where each piece ends: each SSE block, or the one body.
    ends: Vec<usize>,
    marks: Vec<(Mark, usize)>,
    answer: Option<Answer>,
}

struct Answer {
    start: usize,
    end: usize,
    /// Where the blank line of its event ends; `None`: it is a JSON body, ended by the framing.
    blank_line: Option<usize>,
    in_event: bool,
}

/// The body after framing.
#[derive(Default)]
struct Framed {
    bytes: Vec<u8>,
    /// For each chunk: the coded offset where its data begins, and where that lies in `bytes`.
    runs: Vec<(usize, usize)>,
    marks: Vec<(Mark, usize)>,
    /// How many coded bytes the framing lets through.
    visible: usize,
    /// The length at which the framing marks the body's end.
    end: Option<usize>,
}

impl Framed {
    /// The length at which `coded` bytes have been delivered.
    fn offset_of(&self, coded: usize) -> Option<usize> {
        if coded > self.visible {
            return None;
        }
        let run = self.runs.iter().rev().find(|(begin, _)| *begin < coded);
        Some(run.map_or(0, |(begin, position)| position + (coded - begin)))
    }
}

pub(super) fn render(response: &Response, request: &Request) -> Rendered {
    if let Body::Verbatim(bytes) = &response.body {
        return Rendered {
            bytes: bytes.clone(),
            head_len: bytes.len(),
            answer_delivered_at: None,
            answer_terminated_at: None,
            marks: vec![(Mark::BodyEnd, bytes.len())],
        };
    }
    let plain = plain_body(response, request);
    let coded = response.coding.encode(&plain.pieces());
    let framed = frame(&response.framing, &coded);
    let (mut bytes, mut marks) = head(response, coded.bytes.len());
    let head_len = bytes.len();

    let wire =
        |plain: usize| coded.offset_of(plain).and_then(|coded| framed.offset_of(coded)).map(|offset| head_len + offset);
    marks.extend(plain.marks.iter().filter_map(|(mark, offset)| Some((*mark, wire(*offset)?))));
    marks.extend(framed.marks.iter().map(|(mark, offset)| (*mark, head_len + offset)));

    let answer = plain.answer.as_ref();
    let delivered = answer.and_then(|answer| wire(answer.end));
    let terminated = delivered.and(answer).and_then(|answer| match answer.in_event {
        true => answer.blank_line.and_then(wire),
        false => framed.end.map(|end| head_len + end),
    });
    if let (Some(answer), Some(delivered)) = (answer, delivered) {
        marks.extend(wire(answer.start).map(|offset| (Mark::AnswerStart, offset)));
        marks.push((Mark::AnswerEnd, delivered));
        marks.extend(terminated.map(|offset| (Mark::AnswerTerminated, offset)));
    }
    bytes.extend(&framed.bytes);
    marks.push((Mark::BodyEnd, bytes.len()));
    marks.sort_by_key(|(mark, offset)| (*offset, *mark));
    Rendered { bytes, head_len, answer_delivered_at: delivered, answer_terminated_at: terminated, marks }
}

fn head(response: &Response, coded_length: usize) -> (Vec<u8>, Vec<(Mark, usize)>) {
    let (mut bytes, mut marks) = (Vec::new(), Vec::new());
    for (index, interim) in response.interim.iter().enumerate() {
        bytes.extend(interim);
        marks.push((Mark::InterimEnd(index), bytes.len()));
    }
    let reason = response.reason.as_deref().unwrap_or_else(|| reason_phrase(response.status));
    bytes.extend(format!("{} {} {reason}\r\n", response.version, response.status).into_bytes());
    marks.push((Mark::StatusLineEnd, bytes.len()));
    let mut line = |line: &[u8]| {
        bytes.extend(line);
        bytes.extend(b"\r\n");
    };
    if let Some(content_type) = &response.content_type {
        line(format!("Content-Type: {content_type}").as_bytes());
    }
    if let Some(coding) = response.coding.announced() {
        line(format!("Content-Encoding: {coding}").as_bytes());
    }
    match &response.framing {
        // RFC 9110 8.6: no Content-Length under 204.
        Framing::ContentLength if response.status == 204 => {}
        Framing::ContentLength => line(format!("Content-Length: {coded_length}").as_bytes()),
        Framing::WrongLength(by) => line(format!("Content-Length: {}", declared(coded_length, *by)).as_bytes()),
        Framing::Chunked(_) => line(b"Transfer-Encoding: chunked"),
        Framing::UntilClose => {}
    }
    response.header_lines.iter().for_each(|header| line(header));
    if response.close {
        line(b"Connection: close");
    }
    line(b"");
    marks.push((Mark::HeadEnd, bytes.len()));
    (bytes, marks)
}

fn declared(length: usize, by: isize) -> usize {
    length.saturating_add_signed(by)
}

fn plain_body(response: &Response, request: &Request) -> Plain {
    let mut plain = Plain::default();
    match &response.body {
        Body::Sse(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                plain.marks.push((Mark::BlockStart(index), plain.bytes.len()));
                plain.block(index, block, response, request);
                plain.marks.push((Mark::BlockEnd(index), plain.bytes.len()));
                plain.ends.push(plain.bytes.len());
            }
        }
        Body::Json(text) => {
            plain.bytes = text.fill(request).into_bytes();
            let text = String::from_utf8_lossy(&plain.bytes);
            if is_answer(&text, request, response.status) {
                let start = text.len() - text.trim_start().len();
                plain.answer = Some(Answer { start, end: text.trim_end().len(), blank_line: None, in_event: false });
            }
            plain.ends.push(plain.bytes.len());
        }
        Body::Raw(bytes) | Body::Verbatim(bytes) => {
            plain.bytes.clone_from(bytes);
            plain.ends.push(plain.bytes.len());
        }
    }
    plain
}

impl Plain {
    fn pieces(&self) -> Vec<&[u8]> {
        let mut start = 0;
        self.ends.iter().map(|end| &self.bytes[std::mem::replace(&mut start, *end)..*end]).collect()
    }

    fn block(&mut self, index: usize, block: &Sse, response: &Response, request: &Request) {
        if let Some(raw) = &block.raw {
            self.bytes.extend(raw);
            return;
        }
        let line_end = response.line_end;
        if let Some(comment) = &block.comment {
            self.line("", comment, block, line_end);
        }
        for (field, value) in [("event", &block.event), ("id", &block.id), ("retry", &block.retry)] {
            if let Some(value) = value {
                self.line(field, value, block, line_end);
            }
        }
        let answer = block.data.as_ref().and_then(|data| {
            let data = data.fill(request);
            // The range of each line's value, to find the first and the last byte of the JSON.
            let spans: Vec<(usize, &str)> =
                data.split('\n').map(|value| (self.line("data", value, block, line_end), value)).collect();
            let (first, (last, value)) = (spans.first()?.0, spans.last()?);
            self.marks.extend([(Mark::DataStart(index), first), (Mark::DataEnd(index), last + value.len())]);
            if self.answer.is_some() || !is_answer(&data, request, response.status) {
                return None;
            }
            let (start, opening) = spans.iter().find(|(_, value)| !value.trim().is_empty())?;
            let (end, closing) = spans.iter().rfind(|(_, value)| !value.trim().is_empty())?;
            Some((start + opening.len() - opening.trim_start().len(), end + closing.trim_end().len()))
        });
        if block.blank_line {
            self.bytes.extend(line_end.bytes());
        }
        if let Some((start, end)) = answer {
            let after_blank_line = match line_end {
                LineEnd::CrLf => self.bytes.len() - 1,
                LineEnd::Lf | LineEnd::Cr => self.bytes.len(),
            };
            self.answer =
                Some(Answer { start, end, blank_line: block.blank_line.then_some(after_blank_line), in_event: true });
        }
    }

    /// Writes one line and tells where its value begins.
    fn line(&mut self, field: &str, value: &str, block: &Sse, line_end: LineEnd) -> usize {
        self.bytes.extend(field.as_bytes());
        self.bytes.extend(if block.space { &b": "[..] } else { b":" });
        let start = self.bytes.len();
        self.bytes.extend(value.as_bytes());
        self.bytes.extend(line_end.bytes());
        start
    }
}

fn is_answer(text: &str, request: &Request, status: u16) -> bool {
    let Ok(Value::Object(message)) = serde_json::from_str(text) else {
        return false;
    };
    let Some(ours) = request.id() else {
        return false;
    };
    let is_error = message.contains_key("error");
    if message.contains_key("method") || message.contains_key("result") == is_error {
        return false;
    }
    let spelled = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match message.get("id") {
        _ if is_error && !(200..300).contains(&status) => true,
        None | Some(Value::Null) => is_error,
        Some(id) => spelled(id) == spelled(ours),
    }
}

fn frame(framing: &Framing, coded: &Coded) -> Framed {
    let length = coded.bytes.len();
    match framing {
        Framing::Chunked(chunked) => frame_chunked(chunked, coded),
        Framing::ContentLength | Framing::UntilClose => plain_frame(coded, length, Some(length)),
        Framing::WrongLength(by) => {
            let declared = declared(length, *by);
            plain_frame(coded, declared.min(length), (declared <= length).then_some(declared))
        }
    }
}

fn plain_frame(coded: &Coded, visible: usize, end: Option<usize>) -> Framed {
    Framed { bytes: coded.bytes.clone(), runs: vec![(0, 0)], marks: Vec::new(), visible, end }
}

fn frame_chunked(chunked: &Chunked, coded: &Coded) -> Framed {
    let mut framed = Framed { visible: coded.bytes.len(), ..Framed::default() };
    let mut begin = 0;
    for (index, end) in chunk_ends(chunked, coded).into_iter().enumerate() {
        framed.marks.push((Mark::ChunkStart(index), framed.bytes.len()));
        framed.bytes.extend(format!("{:x}{}\r\n", end - begin, chunked.extension).into_bytes());
        framed.marks.push((Mark::ChunkDataStart(index), framed.bytes.len()));
        framed.runs.push((begin, framed.bytes.len()));
        framed.bytes.extend(&coded.bytes[begin..end]);
        framed.marks.push((Mark::ChunkDataEnd(index), framed.bytes.len()));
        framed.bytes.extend(b"\r\n");
        framed.marks.push((Mark::ChunkEnd(index), framed.bytes.len()));
        begin = end;
    }
    if !chunked.without_last {
        framed.marks.push((Mark::LastChunkStart, framed.bytes.len()));
        framed.bytes.extend(b"0\r\n");
        for trailer in &chunked.trailers {
            framed.bytes.extend(trailer.as_bytes());
            framed.bytes.extend(b"\r\n");
        }
        framed.bytes.extend(b"\r\n");
        framed.end = Some(framed.bytes.len());
    }
    framed
}

/// Where each chunk ends in the coded body; none is empty, since an empty chunk would be the last.
fn chunk_ends(chunked: &Chunked, coded: &Coded) -> Vec<usize> {
    let length = coded.bytes.len();
    let mut ends = Vec::new();
    match chunked.sizes.last() {
        None => {
            ends.extend(coded.cuts.iter().copied());
            ends.push(length);
        }
        Some(last) => {
            let mut sizes = chunked.sizes.iter();
            let mut end = 0;
            while end < length {
                end = (end + sizes.next().unwrap_or(last)).min(length);
                ends.push(end);
            }
        }
    }
    ends.retain(|end| *end > 0);
    ends.dedup();
    ends
}
