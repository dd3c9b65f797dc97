//! The format: what is refused says where and what was wanted; what is written by hand is read.

use std::time::Duration;

use mcp_sse_core::Timestamp;
use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Endpoint, Step};
use mcp_sse_core::exchange::{Exchange, ExchangeConfig, Request};
use mcp_sse_core::recording::{Bodies, Recording, RecordingConfig, ReplayError};

const HEAD: &str = "mcp-sse recording 1\nbodies whole\nexchange begun=0 method=m id=7 carries=message\nconfig\n";
const CLIENT: &str = "mcp-sse recording 1\nbodies whole\nclient http://mcp.test/mcp\nconfig\n";

#[test]
fn what_is_no_recording_says_in_which_line_what_was_wanted() {
    let of = |head: &str, line: &str| format!("{head}{line}\nend\n");
    let exchange = |line: &str| of(HEAD, line);
    let client = |line: &str| of(CLIENT, line);
    let cases = [
        (String::new(), "line 2: `mcp-sse recording 1` was wanted"),
        ("mcp-sse recording 2\n".to_owned(), "line 1: `mcp-sse recording 1` was wanted"),
        ("# a note\n\nmcp-sse recording 1\nbodies some\n".to_owned(), "line 4: `bodies` and one of"),
        ("mcp-sse recording 1\nbodies whole\nserver x\nconfig\nend\n".to_owned(), "line 3: `client` or `exchange`"),
        ("mcp-sse recording 1\nbodies whole\nclient ftp://x\nconfig\nend\n".to_owned(), "line 3: a URL of http"),
        ("mcp-sse recording 1\nbodies whole\nclient http://x/\nend\n".to_owned(), "line 4: `config`"),
        ("mcp-sse recording 1\nbodies whole\nclient http://x/\nconfig seed=x\nend\n".to_owned(), "line 4: a whole"),
        ("mcp-sse recording 1\nbodies whole\nexchange begun=0\nconfig\nend\n".to_owned(), "line 3: `carries`"),
        (HEAD.to_owned(), "line 6: `end`"),
        (format!("{HEAD}end\n0 on_sent 1\n"), "line 6: nothing after `end`"),
        (exchange("on_connected 1"), "line 5: a time before the word"),
        (exchange("1.1234567 on_connected 1"), "line 5: a time in milliseconds"),
        (exchange("1x on_connected 1"), "line 5: a time in milliseconds"),
        (exchange("0"), "line 5: a word after the time"),
        (exchange("0 on_lost 1"), "line 5: a word that is known"),
        (exchange("0 on_connected one"), "line 5: the number of an exchange"),
        (exchange("0 on_head 1 ok"), "line 5: a status"),
        (exchange("0 on_head 1 200 set-cookie=a"), "line 5: a header that is read"),
        (exchange("0 on_broken 1 sadly"), "line 5: a kind of break"),
        (exchange("0 on_end 1"), "line 5: marked, unmarked, short or discarded"),
        (exchange("0 on_body 1 | \\q"), "line 5: \\\\, \\n, \\r, \\t or \\x after a backslash"),
        (exchange("0 on_body 1 | \\x0"), "line 5: two hexadecimal digits"),
        (exchange("0 on_body 1 | caf\u{e9}"), "line 5: ASCII"),
        (exchange("0 on_body 1 | a\tb"), "line 5: visible characters, or escapes"),
        (exchange("0 drain_until 1 bytes=1"), "line 5: `until`"),
        (client("0 call"), "line 5: a method"),
        (client("0 call m reissue=often"), "line 5: always, replay_safe or never after `reissue`"),
        (client("0 cancel first"), "line 5: the number of a call"),
        (client("0 respond 1 | {}"), "line 5: `id` and the id of a request"),
        (client("0 poll"), "line 5: the number of an exchange"),
    ];
    for (text, wanted) in cases {
        let error = Recording::parse(text.as_bytes()).expect_err(&text);
        assert!(error.to_string().starts_with(wanted), "{text}\n{error}");
    }
    assert!(Recording::parse(b"\xff\xfe").is_err());
}

#[test]
fn a_script_that_is_written_by_hand_may_leave_out_what_is_default_and_what_is_expected() {
    let text = "# The answer, and a break after it.\nmcp-sse recording 1\r\nbodies whole\r\n\nexchange begun=0 method=m id=7 carries=message\nconfig\n\n  \n0 on_connected 1\n0.5 on_sent 1\n1 on_head 1 200 Content-Type=text/event-stream\n2 on_body 1 | data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\\n\\n\nend\n";
    // Names of headers are written in lower case.
    assert_eq!(Recording::parse(text.as_bytes()).unwrap_err().line, 11);
    let recording = Recording::parse(text.replace("Content-Type", "content-type").as_bytes()).unwrap();
    let replayed = recording.replay().unwrap();
    assert_eq!((replayed.inputs, replayed.outputs), (4, 0));
    let mut told = Vec::new();
    let with_event = recording.to_string().replace("end\n", "expect none\nend\n");
    let error =
        Recording::parse(with_event.as_bytes()).unwrap().replay_with(|_, event| told.push(format!("{event:?}")));
    assert!(matches!(error, Err(ReplayError::Difference { line: 9, .. })), "{error:?}");
    assert!(told[0].contains("Answer"), "{told:?}");
}

#[test]
fn every_byte_and_every_time_is_written_and_read_as_it_was() {
    let bytes: Vec<u8> = (0..=255).collect();
    let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    let times = ["0", "0.000001", "1.5", "12.345678", "18446744073709551615999.999999"];
    for time in times {
        let text = format!("{HEAD}{time} on_body 1 | {escaped}\nend full\n");
        let recording = Recording::parse(text.as_bytes()).unwrap();
        assert!(!recording.is_complete());
        let written = recording.to_string();
        assert!(written.is_ascii() && written.contains(&format!("\n{time} on_body 1 | \\x00")), "{written}");
        assert!(written.contains(" !\"#$%&'()*+,-./0123456789:;<=>?@ABC"), "what is visible is shown: {written}");
        assert_eq!(Recording::parse(written.as_bytes()).unwrap(), recording);
    }
}

/// All that happened to an exchange is there: a line for each fact that it took, in their order.
#[test]
fn every_fact_that_was_taken_has_its_line() {
    let at = Timestamp::from_millis;
    let config = ExchangeConfig::default().with_recording(RecordingConfig::default());
    for is_kept in [false, true] {
        let mut exchange = Exchange::new(&Request::new("tools/list").with_id(7), config.clone(), at(0));
        let connected = if is_kept { exchange.on_reused(at(1)) } else { exchange.on_connected(at(1)) };
        connected.and_then(|()| exchange.on_sending(at(2))).and_then(|()| exchange.on_sent(at(3))).expect("in order");
        exchange.drain_until(at(60), 100);
        let recording = exchange.recording(Bodies::Whole).expect("it was asked for");
        let text = recording.to_string();
        let word = if is_kept { "on_reused" } else { "on_connected" };
        let words: Vec<_> = text.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        let first = words.iter().position(|found| *found == word).unwrap_or_else(|| panic!("no {word} in\n{text}"));
        assert_eq!(words[first..first + 4], [word, "on_sending", "on_sent", "drain_until"], "{text}");
        assert!(text.contains("until=60 bytes=100"), "{text}");
        assert_eq!(Recording::parse(text.as_bytes()).expect("it was written so").to_string(), text);
    }
}

/// What changed nothing is not written: a time-out before anything was due.
#[test]
fn a_time_out_that_came_early_has_no_line() {
    let at = Timestamp::from_millis;
    let config = ClientConfig::default().with_recording(RecordingConfig::default());
    let mut client = Client::new(Endpoint::parse("http://mcp.test/mcp").expect("a URL"), config);
    let options = CallOptions::default().with_timeout(Duration::from_millis(100));
    client.call("tools/list", None, options, at(0)).expect("a call");
    assert!(matches!(client.poll_step(at(0)), Some(Step::Send(..))));
    let mut times_out = |now| {
        client.on_timeout(at(now));
        client.recording(Bodies::Whole).expect("it was asked for").to_string().matches("on_timeout").count()
    };
    assert_eq!([times_out(1), times_out(99), times_out(100), times_out(101)], [0, 0, 1, 1]);
}
