//! Property 6: a response cut at any byte, in any way, is worth its answer exactly if the answer's bytes are all here.
//!
//! Where the answer is complete is computed here without the code under test: its JSON text is looked for in the
//! plain body by its bytes, and a coded body is inflated with flate2 alone, byte by byte, to learn how much of the plain
//! body each prefix gives back.

use flate2::{Decompress, FlushDecompress, Status};
use mcp_sse_core::exchange::{ExchangeConfig, TailRule};
use mcp_sse_tests::story::{Run, error, gzip, note, progress, result};

/// One response: its head, its bytes, and the places that matter.
struct Response {
    name: &'static str,
    head: Vec<(&'static str, &'static str)>,
    bytes: Vec<u8>,
    is_event_stream: bool,
    /// For each prefix, how much of the plain body it gives back.
    reach: Vec<usize>,
    /// Whether the coded data is complete at each prefix (always, if it is not coded).
    data_complete: Vec<bool>,
    /// Where in the plain body the answer's JSON text ends.
    answer_end: usize,
    /// Where the blank line after it is recognised: with the line end's first byte, for a CR ends its line at once.
    arrival: usize,
    /// Where the first notification's blank line is recognised.
    note: Option<usize>,
    /// Where the id's block ends, if it has one.
    cursor: Option<usize>,
    /// What the answer tells.
    told: &'static str,
}

fn find(text: &str, part: &str) -> usize {
    text.find(part).unwrap() + part.len()
}

/// Where a block that ends at `from` with two line ends is recognised as ended.
fn recognised(from: usize, line_end: &str) -> usize {
    from + line_end.len() + 1
}

fn stream(name: &'static str, line_end: &str, answer: &str, told: &'static str, extra: &str) -> (Response, String) {
    let first = note("notifications/message");
    let plain = [": hi", "", "id: c-1", &format!("data: {first}"), "", &format!("data: {answer}"), "", extra]
        .map(|line| format!("{line}{line_end}"))
        .concat();
    let answer_end = find(&plain, answer);
    let note_end = find(&plain, &first);
    let response = Response {
        name,
        head: vec![("Content-Type", "text/event-stream")],
        bytes: plain.clone().into_bytes(),
        is_event_stream: true,
        reach: (0..=plain.len()).collect(),
        data_complete: vec![true; plain.len() + 1],
        answer_end,
        arrival: recognised(answer_end, line_end),
        note: Some(recognised(note_end, line_end)),
        cursor: Some(recognised(note_end, line_end)),
        told,
    };
    (response, plain)
}

fn json(name: &'static str, answer: &str, told: &'static str) -> (Response, String) {
    let plain = format!(" {answer}\n");
    let response = Response {
        name,
        head: vec![("Content-Type", "application/json")],
        bytes: plain.clone().into_bytes(),
        is_event_stream: false,
        reach: (0..=plain.len()).collect(),
        data_complete: vec![true; plain.len() + 1],
        answer_end: find(&plain, answer),
        arrival: usize::MAX,
        note: None,
        cursor: None,
        told,
    };
    (response, plain)
}

/// The same response, coded: in pieces of seven bytes, so that a prefix gives back much of it.
fn coded(name: &'static str, (mut response, plain): (Response, String)) -> Response {
    let pieces: Vec<&[u8]> = plain.as_bytes().chunks(7).collect();
    response.name = name;
    response.bytes = gzip(&pieces);
    response.head.push(("Content-Encoding", "gzip"));
    let mut inflater = Decompress::new(false);
    let (mut total, mut is_complete) = (0, false);
    let mut output = vec![0; 1024];
    // An empty body is no coded data at all; ten bytes are the header.
    (response.reach, response.data_complete) = (vec![0], vec![true]);
    for (at, byte) in response.bytes.iter().enumerate() {
        if at >= 10 && !is_complete {
            let before = inflater.total_out();
            let status = inflater.decompress(&[*byte], &mut output, FlushDecompress::None).unwrap();
            total += (inflater.total_out() - before) as usize;
            is_complete = status == Status::StreamEnd;
        }
        response.reach.push(total);
        response.data_complete.push(is_complete);
    }
    assert_eq!((total, is_complete), (plain.len(), true));
    response
}

fn responses() -> Vec<Response> {
    let answer = result("7");
    let told = "answer {\"ok\":true}";
    let late = ": bye";
    let text = r#"{"jsonrpc":"2.0","id":7,"result":{"text":"é\n}{ \"}\" 😀"}}"#;
    let text_told = r#"answer {"text":"é\n}{ \"}\" 😀"}"#;
    vec![
        stream("LF", "\n", &answer, told, late).0,
        stream("CRLF", "\r\n", &answer, told, late).0,
        stream("CR", "\r", &answer, told, late).0,
        stream("error", "\n", &error("7", -9), "answer error -9", "").0,
        stream("text", "\n", text, text_told, "").0,
        json("JSON", &answer, told).0,
        json("JSON text", text, text_told).0,
        json("JSON error", &error("\"7\"", -9), "answer error -9 coerced").0,
        coded("gzip LF", stream("", "\n", &answer, told, late)),
        coded("gzip CR", stream("", "\r", &answer, told, late)),
        coded("gzip JSON", json("", &answer, told)),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Break {
    Unmarked,
    Short,
    Broken,
    Deadline,
}

/// What the cut must come to, from the places alone.
fn expected(response: &Response, cut: usize, how: Break, is_modern: bool, tail: TailRule) -> Vec<String> {
    let reach = response.reach[cut];
    let mut told = Vec::new();
    if response.note.is_some_and(|note| reach >= note) {
        told.push("note notifications/message".to_owned());
    }
    let has_arrived = reach >= response.arrival;
    let is_here = reach >= response.answer_end && (!response.is_event_stream || tail == TailRule::Salvage);
    if has_arrived || is_here {
        told.push(response.told.to_owned());
        let is_whole = how == Break::Unmarked && response.data_complete[cut];
        let from_tail = response.is_event_stream && !has_arrived;
        told.push(match how {
            _ if from_tail => "salvaged 200 unterminated".to_owned(),
            _ if is_whole => "settled 200".to_owned(),
            Break::Unmarked | Break::Short => "salvaged 200 short".to_owned(),
            Break::Broken => "salvaged 200 Reset".to_owned(),
            Break::Deadline => "salvaged 200 stalled".to_owned(),
        });
        return told;
    }
    let exposure = if cut == 0 { "headed" } else { "streaming" };
    if how == Break::Deadline {
        told.push(format!("failed timeout {exposure}"));
        return told;
    }
    let cause = match how {
        Break::Broken => "Reset",
        Break::Short => "short",
        _ if !response.data_complete[cut] => "short",
        _ if response.is_event_stream => "ended",
        _ => "cut",
    };
    let has_cursor = response.cursor.is_some_and(|cursor| reach >= cursor);
    told.push(match (is_modern, has_cursor) {
        (true, _) => format!("reissue {cause} {exposure}"),
        (false, true) => format!("resume c-1 after 1000 {cause} progressed"),
        (false, false) => format!("failed lost {cause} {exposure}"),
    });
    told
}

fn ended(run: Run, how: Break) -> Run {
    match how {
        Break::Unmarked => run.unmarked(),
        Break::Short => run.short(),
        Break::Broken => run.reset(),
        Break::Deadline => run.at(100).timeout(),
    }
}

/// E2, E5 to E11, E13: every byte, every break, both eras, both readings of a tail.
#[test]
fn e9_every_cut_of_every_response() {
    for response in responses() {
        for cut in 0..=response.bytes.len() {
            for how in [Break::Unmarked, Break::Short, Break::Broken, Break::Deadline] {
                for (run, is_modern) in Run::both().into_iter().zip([true, false]) {
                    for tail in [TailRule::Salvage, TailRule::Strict] {
                        let config = |config: ExchangeConfig| config.with_tail(tail);
                        let run = run.clone().config(config).deadline(100).head(200, &response.head);
                        let run = ended(run.body(&response.bytes[..cut]), how);
                        let expected = expected(&response, cut, how, is_modern, tail);
                        assert_eq!(run.lines(), expected, "{} cut at {cut}, {how:?}, {tail:?}", response.name);
                    }
                }
            }
        }
    }
}

/// E8: a Content-Length tells the same as the framing, at every byte.
#[test]
fn e8_every_cut_below_the_declared_length() {
    for mut response in responses() {
        let length = response.bytes.len().to_string().leak();
        response.head.push(("Content-Length", length));
        for cut in 0..response.bytes.len() {
            for (run, is_modern) in Run::both().into_iter().zip([true, false]) {
                let run = run.head(200, &response.head).body(&response.bytes[..cut]);
                let expected = expected(&response, cut, Break::Short, is_modern, TailRule::Salvage);
                assert_eq!(run.clone().marked().lines(), expected, "{} cut at {cut}", response.name);
                assert_eq!(run.unmarked().lines(), expected, "{} cut at {cut}", response.name);
            }
        }
        let whole = Run::modern().head(200, &response.head).body(&response.bytes).marked();
        assert_eq!(whole.verdict(), "settled 200");
    }
}

/// E9 with E23: also if the type comes after the data, and its line is cut.
#[test]
fn e9_every_cut_with_the_type_last() {
    let answer = result("7");
    let body = format!("id: c-1\ndata: {answer}\nevent: message\n\n");
    for cut in find(&body, &answer)..body.len() {
        for run in Run::both() {
            let run = run.sse().body(&body[..cut]).reset();
            assert_eq!(run.lines(), ["answer {\"ok\":true}", "salvaged 200 unterminated"], "{:?}", &body[..cut]);
        }
    }
}

/// E12: the same cuts in time: what comes after the deadline is not here.
#[test]
fn e12_every_cut_in_time() {
    for response in responses() {
        for cut in 0..=response.bytes.len() {
            let (in_time, late) = response.bytes.split_at(cut);
            for (run, is_modern) in Run::both().into_iter().zip([true, false]) {
                let run = run.deadline(100).head(200, &response.head).at(99).body(in_time).at(100).body(late).marked();
                let expected = expected(&response, cut, Break::Deadline, is_modern, TailRule::Salvage);
                assert_eq!(run.once().lines(), expected, "{} cut at {cut}", response.name);
            }
        }
    }
}

/// E12: progress at every cut moves the idle limit exactly if its event has ended in time.
#[test]
fn e12_progress_at_every_cut() {
    let body = format!("data: {}\r\n\r\n", progress("\"t\""));
    for cut in 0..=body.len() {
        let run = Run::modern().token("t").config(|config| config.with_idle(core::time::Duration::from_millis(50)));
        let run = run.sse().at(40).body(&body[..cut]).at(50).timeout();
        let is_moved = cut >= body.len() - 1;
        assert_eq!(run.verdict() == "open", is_moved, "{cut}");
    }
}
