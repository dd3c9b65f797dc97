//! The decoder's slow twin: HTML 9.2.5 and 9.2.6 done literally, on the whole byte string at once.
//!
//! Rules: std only, no limit, no buffer, nothing shared with the decoder, so that an error of one is no error of the
//! other. Where HTML leaves room, DECISIONS D6 to D8 fill it. How the decoder is driven is told in `chunking.rs`.

/// A dispatched event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub kind: String,
    pub data: String,
    pub last_event_id: String,
}

/// What the end of the stream left unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    Nothing,
    PartialLine,
    PartialEvent,
}

/// All that a stream says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub events: Vec<Event>,
    /// Comments, and blocks without data as `None`, each with the number of events before it.
    pub parts: Vec<(usize, Option<String>)>,
    /// Milliseconds.
    pub retry: Option<u64>,
    pub last_event_id: String,
    pub tail: Tail,
    /// An id, or a type other than the default, was set by the block that the end discarded.
    pub discarded_fields: bool,
    /// The event that a flush dispatches.
    pub flushed: Option<Event>,
    /// `retry` after a flush.
    pub flushed_retry: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Interpreter {
    data_buffer: String,
    event_type_buffer: String,
    last_event_id_buffer: String,
    last_event_id: String,
    retry: Option<u64>,
    events: Vec<Event>,
    parts: Vec<(usize, Option<String>)>,
    // Beyond HTML's buffers: what the current block has shown.
    lines_in_block: usize,
    data_in_block: bool,
    id_in_block: bool,
}

/// Reads a whole stream.
pub fn read(bytes: &[u8]) -> Reading {
    let decoded = String::from_utf8_lossy(bytes);
    let text = decoded.strip_prefix('\u{FEFF}').unwrap_or(&decoded);
    let (lines, unfinished) = split_lines(text);

    let mut interpreter = Interpreter::default();
    for line in lines {
        interpreter.process_line(line);
    }

    // What a flush would make of the rest: the unfinished line counts as a line.
    let mut flush = interpreter.clone();
    if !unfinished.is_empty() {
        flush.process_line(unfinished);
    }
    let flushed_retry = flush.retry;
    let data_at_end = flush.data_in_block;
    let events_before = flush.events.len();
    flush.dispatch();
    let tail = match (data_at_end, unfinished.is_empty()) {
        (true, _) => Tail::PartialEvent,
        (false, false) => Tail::PartialLine,
        (false, true) => Tail::Nothing,
    };

    Reading {
        flushed: flush.events.get(events_before).cloned(),
        flushed_retry,
        discarded_fields: interpreter.id_in_block || !matches!(&*interpreter.event_type_buffer, "" | "message"),
        events: interpreter.events,
        parts: interpreter.parts,
        retry: interpreter.retry,
        last_event_id: interpreter.last_event_id,
        tail,
    }
}

/// `stream = [ bom ] *event`, lines ended by CRLF, LF or CR; and what follows the last end.
fn split_lines(text: &str) -> (Vec<&str>, &str) {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        lines.push(&rest[..at]);
        rest = &rest[at..];
        rest = rest.strip_prefix("\r\n").unwrap_or_else(|| &rest[1..]);
    }
    (lines, rest)
}

impl Interpreter {
    fn process_line(&mut self, line: &str) {
        if line.is_empty() {
            self.dispatch();
            return;
        }
        self.lines_in_block += 1;
        if let Some(comment) = line.strip_prefix(':') {
            let comment = comment.strip_prefix(' ').unwrap_or(comment);
            self.parts.push((self.events.len(), Some(comment.to_owned())));
        } else if let Some((name, value)) = line.split_once(':') {
            self.process_field(name, value.strip_prefix(' ').unwrap_or(value));
        } else {
            self.process_field(line, "");
        }
    }

    fn process_field(&mut self, name: &str, value: &str) {
        match name {
            "event" => self.event_type_buffer = value.to_owned(),
            "data" => {
                self.data_buffer.push_str(value);
                self.data_buffer.push('\n');
                self.data_in_block = true;
            }
            "id" if !value.contains('\0') => {
                self.last_event_id_buffer = value.to_owned();
                self.id_in_block = true;
            }
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                let digits = value.trim_start_matches('0');
                self.retry = Some(match digits.len() {
                    0 => 0,
                    1..=20 => u64::try_from(digits.parse::<u128>().unwrap()).unwrap_or(u64::MAX),
                    _ => u64::MAX,
                });
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        self.last_event_id.clone_from(&self.last_event_id_buffer);
        if self.data_buffer.is_empty() {
            if self.lines_in_block > 0 {
                self.parts.push((self.events.len(), None));
            }
        } else {
            let data = self.data_buffer.strip_suffix('\n').unwrap();
            let named = !self.event_type_buffer.is_empty();
            self.events.push(Event {
                kind: if named { self.event_type_buffer.clone() } else { "message".to_owned() },
                data: data.to_owned(),
                last_event_id: self.last_event_id.clone(),
            });
        }
        self.data_buffer.clear();
        self.event_type_buffer.clear();
        self.lines_in_block = 0;
        self.data_in_block = false;
        self.id_in_block = false;
    }
}

#[cfg(test)]
mod tests {
    use super::{Tail, read};

    /// The example of HTML 9.2.6 with stock prices and the one with ids, word for word.
    #[test]
    fn examples_of_the_standard() {
        let stocks = read(b"data: YHOO\ndata: +2\ndata: 10\n\n");
        assert_eq!(stocks.events[0].data, "YHOO\n+2\n10");

        let ids = read(b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n");
        let seen: Vec<_> = ids.events.iter().map(|event| (&*event.data, &*event.last_event_id)).collect();
        assert_eq!(seen, [("first event", "1"), ("second event", ""), (" third event", "")]);

        let empty = read(b"data\n\ndata\ndata\n\ndata:");
        let seen: Vec<_> = empty.events.iter().map(|event| &*event.data).collect();
        assert_eq!((seen, empty.tail), (vec!["", "\n"], Tail::PartialEvent));
    }
}
