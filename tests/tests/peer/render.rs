//! The scripted peer's rendering: what lies where in a response, and from which byte on its answer is delivered (the offsets
//! that E4, E5, E8, E9 and E13 are tested at).

use std::io::Read;

use mcp_sse_tests::peer::{Chunked, Coding, Framing, LineEnd, Mark, Rendered, Request, Response, Script, Sse, Text};

fn request() -> Request {
    Request::sample("tools/call", 7)
}

fn render(response: Response) -> Rendered {
    Script::new(response).render(&request())
}

/// The data of all SSE lines, or the body itself if there are none; what a prefix of the response gives, found the slow way.
fn naive_text(prefix: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(head_end) = prefix.windows(4).position(|window| window == b"\r\n\r\n") else {
        return String::new();
    };
    let head = text(&prefix[..head_end]).to_lowercase();
    let mut body = prefix[head_end + 4..].to_vec();
    if head.contains("transfer-encoding: chunked") {
        body = naive_unchunk(&body);
    } else if let Some((_, rest)) = head.split_once("content-length: ") {
        let declared: usize = rest.lines().next().unwrap().parse().unwrap();
        body.truncate(declared);
    }
    let decoder: Option<Box<dyn Read + '_>> = match () {
        () if head.contains("content-encoding: gzip") => Some(Box::new(flate2::read::MultiGzDecoder::new(&body[..]))),
        () if head.contains("content-encoding: deflate") && body.first() == Some(&0x78) => {
            Some(Box::new(flate2::read::ZlibDecoder::new(&body[..])))
        }
        () if head.contains("content-encoding: deflate") => {
            Some(Box::new(flate2::read::DeflateDecoder::new(&body[..])))
        }
        () => None,
    };
    let plain = match decoder {
        None => text(&body),
        Some(mut decoder) => {
            let (mut plain, mut byte) = (Vec::new(), [0]);
            while matches!(decoder.read(&mut byte), Ok(1)) {
                plain.push(byte[0]);
            }
            text(&plain)
        }
    };
    let lines: Vec<&str> = plain
        .split(['\r', '\n'])
        .filter_map(|line| line.strip_prefix("data: ").or(line.strip_prefix("data:")))
        .collect();
    if head.contains("text/event-stream") { lines.join("\n") } else { plain }
}

fn naive_unchunk(mut framed: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line_end) = framed.windows(2).position(|window| window == b"\r\n") {
        let line = String::from_utf8_lossy(&framed[..line_end]).into_owned();
        let size = usize::from_str_radix(line.split(';').next().unwrap(), 16).unwrap();
        let data = &framed[line_end + 2..];
        body.extend(&data[..size.min(data.len())]);
        if size == 0 || data.len() < size + 2 {
            break;
        }
        framed = &data[size + 2..];
    }
    body
}

/// The answer's text over several lines, as a server that prints its JSON prettily sends it.
fn pretty() -> Text {
    Text::from("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": {id},\n  \"result\": {\"executions\": {executions}}\n}")
}

fn bodies() -> Vec<(Response, String)> {
    let charged = Text::charged().fill(&request());
    let pretty_text = pretty().fill(&request());
    let blocks = || [Sse::comment("hello"), Sse::progress(1), Sse::charged(), Sse::comment("bye")];
    vec![
        (Response::sse(blocks()), charged.clone()),
        (Response::sse(blocks()).line_end(LineEnd::CrLf), charged.clone()),
        (Response::sse(blocks()).line_end(LineEnd::Cr), charged.clone()),
        (Response::sse([Sse::data(Text::charged()).without_space().id("a").retry(5)]), charged.clone()),
        (Response::sse([Sse::charged().without_blank_line()]), charged.clone()),
        (Response::sse([Sse::message(pretty())]), pretty_text.clone()),
        (Response::json(Text::charged()), charged),
        (Response::json(pretty()), pretty_text),
    ]
}

fn framings() -> Vec<Framing> {
    vec![
        Framing::ContentLength,
        Framing::UntilClose,
        Framing::WrongLength(9),
        Framing::WrongLength(-3),
        Framing::WrongLength(-60),
        Framing::Chunked(Chunked::new()),
        Framing::Chunked(Chunked::new().without_last_chunk()),
        Framing::Chunked(Chunked::new().sizes([1, 30, 7]).extension("a=b").trailer("X-Sum: 1")),
        Framing::Chunked(Chunked::new().sizes([1])),
    ]
}

fn codings() -> Vec<Coding> {
    vec![
        Coding::identity(),
        Coding::identity().drop_tail(40),
        Coding::gzip(),
        Coding::gzip_members(),
        Coding::deflate(),
        Coding::raw_deflate(),
        Coding::gzip().without_footer(),
        Coding::deflate().without_footer(),
        Coding::gzip().wrong_check(),
        Coding::gzip().drop_tail(20),
        Coding::gzip().drop_tail(60),
        Coding::gzip().corrupt_after_blocks(1),
        Coding::gzip().corrupt_after_blocks(3),
        Coding::deflate().corrupt_after_bytes(50),
    ]
}

#[test]
fn answer_delivered_at_agrees_with_undoing_every_prefix_the_slow_way() {
    let (mut delivered, mut withheld) = (0, 0);
    for (body, answer) in bodies() {
        for framing in framings() {
            for coding in codings() {
                let response = body.clone().framing(framing.clone()).coding(coding.clone());
                let rendered = render(response.clone());
                let naive =
                    (0..=rendered.bytes.len()).find(|length| naive_text(&rendered.bytes[..*length]).contains(&answer));
                assert_eq!(rendered.answer_delivered_at, naive, "{response:?}");
                *if naive.is_some() { &mut delivered } else { &mut withheld } += 1;
            }
        }
    }
    // The table holds enough of both kinds to mean something.
    assert!(delivered > 500 && withheld > 100, "{delivered} {withheld}");
}

#[test]
fn answer_terminated_at_is_the_blank_line_or_the_end_the_framing_marks() {
    for (line_end, blank_line) in [(LineEnd::Lf, 2), (LineEnd::CrLf, 3), (LineEnd::Cr, 2)] {
        let rendered = render(Response::sse([Sse::charged(), Sse::comment("x")]).line_end(line_end));
        let delivered = rendered.answer_delivered_at.unwrap();
        assert_eq!(rendered.answer_terminated_at, Some(delivered + blank_line), "{line_end:?}");
        assert_eq!(rendered.bytes[delivered - 1], b'}');
    }
    let of = |response: Response| {
        let rendered = render(response);
        (rendered.answer_terminated_at, rendered.bytes.len())
    };
    let (terminated, _) = of(Response::sse([Sse::charged().without_blank_line()]));
    assert_eq!(terminated, None);
    let (terminated, length) = of(Response::json(Text::charged()));
    assert_eq!(terminated, Some(length));
    let (terminated, length) = of(Response::json(Text::charged()).framing(Framing::Chunked(Chunked::new())));
    assert_eq!(terminated, Some(length));
    let without_last = Framing::Chunked(Chunked::new().without_last_chunk());
    assert_eq!(of(Response::json(Text::charged()).framing(without_last)).0, None);
    assert_eq!(of(Response::json(Text::charged()).framing(Framing::WrongLength(1))).0, None);
}

#[test]
fn what_is_no_answer_has_no_delivery() {
    let other_id = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
    let both = r#"{"jsonrpc":"2.0","id":{id},"result":{},"error":{}}"#;
    let server_request = r#"{"jsonrpc":"2.0","id":{id},"method":"ping"}"#;
    let no_id = r#"{"jsonrpc":"2.0","result":{}}"#;
    for text in [other_id, both, server_request, no_id, "{", "", "[]", "null"] {
        assert_eq!(render(Response::json(text)).answer_delivered_at, None, "{text}");
        assert_eq!(render(Response::sse([Sse::message(text)])).answer_delivered_at, None, "{text}");
    }
    let spelled = r#"{"jsonrpc":"2.0","id":"7","result":{}}"#;
    let null_id = r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#;
    let other_error = r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":""}}"#;
    assert!(render(Response::json(spelled)).answer_delivered_at.is_some());
    assert!(render(Response::json(null_id)).answer_delivered_at.is_some());
    assert!(render(Response::json(other_error)).answer_delivered_at.is_none());
    assert!(render(Response::json(other_error).status(400)).answer_delivered_at.is_some());
}

#[test]
fn marks_lie_where_they_say() {
    let response = Response::sse([Sse::comment("hi"), Sse::charged()])
        .interim(103, &["Link: </a>"])
        .header("X-Extra", "1")
        .header_line("broken header line");
    let rendered = render(response);
    let text = String::from_utf8(rendered.bytes.clone()).unwrap();
    let at = |mark| rendered.at(mark).unwrap();
    assert!(text[..at(Mark::InterimEnd(0))].ends_with("103 Early Hints\r\nLink: </a>\r\n\r\n"));
    assert!(text[..at(Mark::StatusLineEnd)].ends_with("HTTP/1.1 200 OK\r\n"));
    assert!(text[..at(Mark::HeadEnd)].ends_with("X-Extra: 1\r\nbroken header line\r\n\r\n"));
    assert_eq!(rendered.head_len, at(Mark::HeadEnd));
    assert!(text[at(Mark::ChunkStart(0))..].starts_with("6\r\n: hi\n\n\r\n"));
    assert!(text[at(Mark::ChunkDataStart(1))..].starts_with("event: message\ndata: {"));
    let answer = &text[at(Mark::AnswerStart)..at(Mark::AnswerEnd)];
    assert_eq!(answer, Text::charged().fill(&request()));
    assert_eq!(text[at(Mark::DataStart(1))..at(Mark::DataEnd(1))], *answer);
    assert!(text[..at(Mark::AnswerTerminated)].ends_with("}}\n\n"));
    assert!(text[at(Mark::ChunkDataEnd(1))..].starts_with("\r\n0\r\n\r\n"));
    assert_eq!(&text[at(Mark::LastChunkStart)..], "0\r\n\r\n");
    assert_eq!(at(Mark::BodyEnd), text.len());
    let boundaries = rendered.boundaries();
    assert!(boundaries.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!((boundaries[0], boundaries[boundaries.len() - 1]), (0, text.len()));
}

#[test]
fn heads_are_as_scripted() {
    let head_of = |response: Response| {
        let rendered = render(response);
        String::from_utf8_lossy(&rendered.bytes[..rendered.head_len]).into_owned()
    };
    assert_eq!(head_of(Response::empty(204)), "HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(head_of(Response::raw("ab").status(299)), "HTTP/1.1 299 Scripted\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(
        head_of(Response::json("{}").http10().close().framing(Framing::UntilClose)),
        "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        head_of(Response::json("{}").content_type("text/html").framing(Framing::WrongLength(-1)).reason("Fine")),
        "HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\n"
    );
    assert!(head_of(Response::json("{}").coding(Coding::gzip())).contains("Content-Encoding: gzip\r\n"));
    assert!(!head_of(Response::json("{}").coding(Coding::gzip().unannounced())).contains("Content-Encoding"));
    assert!(
        head_of(Response::json("{}").coding(Coding::identity().announced_as("br"))).contains("Content-Encoding: br")
    );
    assert_eq!(render(Response::verbatim("no HTTP")).bytes, b"no HTTP");
}

#[test]
fn templates_are_filled_from_the_request_in_one_pass() {
    let mut request = Request::sample("tools/call", "{executions}");
    request.messages[0]["params"]["_meta"] = serde_json::json!({"progressToken": "t"});
    request.executions = 3;
    let filled = Text::from("{id} {token} {method} {executions} {attempt} {other} {").fill(&request);
    assert_eq!(filled, r#""{executions}" "t" tools/call 3 1 {other} {"#);
    assert_eq!(Text::from("{token}").fill(&self::request()), "null");
}
